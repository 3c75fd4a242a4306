#include "src/bytespin/engine_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/clock.hpp"
#include "src/bytespin/local/local_cuda.hpp"
#include "src/bytespin/local/observe_cuda.hpp"
#include "src/cuda/graph.hpp"
#include "src/cuda/require_memory.hpp"
#include "src/engine/device_spins.hpp"
#include "src/engine/device_sums_cuda.hpp"

namespace rewise::bytespin {
namespace {

// Measures the share of cluster updates in the time of a mixed schedule. Only the first kCycles
// cycles are timed, by events on the stream, so the host does not wait for the device.
class PhaseTimer {
 public:
  PhaseTimer(const Schedule& schedule, cudaStream_t stream)
      : pure_cluster_(schedule.local == 0), stream_(stream) {
    if (schedule.local == 0 || schedule.cluster == 0) return;
    for (std::size_t n = 0; n < 3 * kCycles; ++n) events_.emplace_back(true);
  }

  // Call three times per cycle: before the local updates, after them, and after cluster updates.
  void mark() {
    if (marked_ < events_.size()) events_[marked_++].record(stream_);
  }

  // The share of cluster updates in the measured time. Call after waiting for the stream.
  double cluster_fraction() const {
    double local = 0, cluster = 0;
    for (std::size_t n = 0; n + 2 < marked_; n += 3) {
      local += events_[n + 1].seconds_since(events_[n]);
      cluster += events_[n + 2].seconds_since(events_[n + 1]);
    }
    return local + cluster > 0 ? cluster / (local + cluster) : (pure_cluster_ ? 1.0 : 0.0);
  }

 private:
  static constexpr std::size_t kCycles = 4;

  const bool pure_cluster_;
  const cudaStream_t stream_;
  std::size_t marked_ = 0;
  std::vector<CudaEvent> events_;  // three per timed cycle
};

}  // namespace

CudaEngine::CudaEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
    : BytespinEngine(graph, spec),
      options_(options),
      device_(options.device),
      device_name_(fmt::format("cuda:{}", options.device)) {}

void CudaEngine::start(std::uint64_t more_bytes) {
  const std::uint64_t stride = replica_stride(tables_.sites);
  const std::uint64_t need = DeviceGraph::bytes(tables_) + replicas_ * stride +
                             replicas_ * (5 + tables_.states) * sizeof(unsigned long long) +
                             kDriverBytes + more_bytes;
  require_device_memory(device_.device(),
                        fmt::format("{} sites x {} replicas", tables_.sites, replicas_), need,
                        "reduce replicas, temperatures or the size");
  spins_ = DeviceBuffer<std::uint8_t>(replicas_ * stride);
  spins_.clear(stream());
  sums_ = DeviceBuffer<unsigned long long>(3 * replicas_);
  sums_.clear(stream());
  graph_ = std::make_unique<DeviceGraph>(tables_, stream());
  measured_ = DeviceBuffer<unsigned long long>(
      replicas_ * (1 + measured_counts(tables_.potts, tables_.states)));
  on_device_ = {.seed = spec_.seed,
                .count = static_cast<std::uint32_t>(replicas_),
                .per_temperature = spec_.replicas,
                .stride = stride,
                .spins = spins_.data(),
                .pending = sums_.data(),
                .quartic = sums_.data() + replicas_};
  launch_start(graph_->view(), on_device_, spec_.start, stream());
  device_.wait();
}

bool CudaEngine::advance(const Schedule& schedule, std::uint64_t cycles) {
  check_schedule(schedule);
  return advance_replicas(options_, schedule, cycles,
                          [this](const Schedule& part, std::uint64_t n) { run(part, n); });
}

void CudaEngine::run(const Schedule& schedule, std::uint64_t cycles) {
  device_.use();
  on_device_.step = static_cast<std::uint32_t>(step_);
  const double start = now();
  PhaseTimer timer(schedule, stream());
  // Consecutive Swendsen-Wang updates are queued together, because the fast path keeps spins in its
  // own format between the updates of a run.
  const bool pure = schedule.local == 0 && schedule.closing_steps() == 0 && is_swendsen_wang();
  const std::uint64_t together = pure ? cycles : 1;
  for (std::uint64_t cycle = 0; cycle < cycles; cycle += together) {
    timer.mark();
    for (std::uint32_t m = 0; m < schedule.local; ++m, ++on_device_.step) sweep();
    timer.mark();
    if (schedule.cluster > 0) {
      const auto updates = static_cast<std::uint32_t>(schedule.cluster * together);
      clusters().run(on_device_, updates, stream());
      on_device_.step += updates;
    }
    timer.mark();
    close_cycle(schedule);
  }
  std::uint64_t found = 0;
  if (schedule.cluster > 0) {
    found = fetch_sums();
    clusters().report(work_, stream());
  }
  device_.wait();
  const double seconds = now() - start, fraction = timer.cluster_fraction();
  work_.cluster_seconds += fraction * seconds;
  work_.local_seconds += (1 - fraction) * seconds;
  count(schedule, cycles, found);
}

std::uint64_t CudaEngine::fetch_sums() {
  const auto sums = sums_.to_host(stream());
  sums_.clear(stream());
  std::uint64_t sites = 0;
  for (std::size_t replica = 0; replica < replicas_; ++replica) {
    const unsigned long long* quartic = sums.data() + replicas_ + 2 * replica;
    sites += is_few_cluster() ? quartic[0] : sums[replica];
    if (!has_cluster_sums()) continue;
    cluster_size_[replica] += sums[replica];
    if (is_swendsen_wang()) {
      cluster_quartic_[replica] += WideSum{quartic[1]} << 64 | quartic[0];
    }
  }
  return sites;
}

void CudaEngine::queue_measurement() {
  device_.use();
  measured_.clear(stream());
  launch_measure(graph_->view(), Geometry::make(tables_.lattice), on_device_, measured_.data(),
                 measured_.data() + replicas_, stream());
}

CudaEngine::Counts CudaEngine::count_spins() {
  queue_measurement();
  Counts counts{measured_.to_host(stream()), std::vector<unsigned long long>(replicas_)};
  const std::size_t each = counts.unequal.size() / replicas_ - 1;
  for (std::size_t replica = 0; replica < replicas_; ++replica) {
    const auto* state_counts = counts.unequal.data() + replicas_ + replica * each;
    counts.largest[replica] = *std::max_element(state_counts, state_counts + each);
  }
  counts.unequal.resize(replicas_);
  return counts;
}

void CudaEngine::read_part(std::size_t replica, std::span<std::uint8_t> out) const {
  device_.use();
  spins_.copy_out(out, stream(), replica * on_device_.stride);
  device_.wait();
}

void CudaEngine::write_part(std::size_t replica, Bytes spins) {
  device_.use();
  spins_.copy_in(spins, stream(), replica * on_device_.stride);
  device_.wait();
}

namespace {

class FerromagnetCudaEngine final : public CudaEngine, public HasDeviceSpins {
 public:
  FerromagnetCudaEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
      : CudaEngine(graph, spec, options), method_(choose_clusters(tables_, spec, options.methods)) {
    start(LocalCuda::bytes(tables_) + method_.bytes);
    local_ = std::make_unique<LocalCuda>(tables_, graph_->view(), spec.local, stream());
  }

  void measure(Observation& out) override {
    const double begin = now();
    const Counts counts = count_spins();
    fill_observation(counts.unequal.data(), counts.largest.data(), out);
    work_.measure_seconds += now() - begin;
  }

  DeviceSpins device_spins() override {
    const std::uint64_t replicas = spec_.replicas;
    const auto stride = static_cast<std::int64_t>(on_device_.stride);
    return {spins_.data(),
            device_.device(),
            false,
            {spec_.betas.size(), replicas, tables_.sites},
            {static_cast<std::int64_t>(replicas) * stride, stride, 1}};
  }
  std::int64_t* measure_on_device() override {
    device_.use();
    if (report_.empty()) report_ = DeviceBuffer<std::int64_t>(2 * replicas_);
    queue_measurement();
    const std::size_t states = measured_.size() / replicas_ - 1;
    launch_report({measured_.data(), 1, measured_.data() + replicas_, states,
                   static_cast<std::uint32_t>(states)},
                  sum_units(), on_device_.count, report_.data(), stream());
    device_.wait();
    return report_.data();
  }
  void wait_for_readers() override { device_.wait_for_readers(); }

 private:
  void sweep() override {
    for (int colour = 0; colour < local_->colours(); ++colour) {
      local_->sweep_colour(colour, on_device_, stream());
    }
  }
  std::unique_ptr<ClusterUpdaterCuda> make_cluster_updater() const override {
    return method_.make(graph_->view(), on_device_, stream());
  }

  const ClusterMethodCuda method_;
  std::unique_ptr<LocalCuda> local_;
  DeviceBuffer<std::int64_t> report_;  // allocated by the first measure_on_device()
  const WaitAtEnd finished_{device_};  // the last member, so it is destroyed first
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options) {
  return std::make_unique<FerromagnetCudaEngine>(graph, spec, options);
}

}  // namespace rewise::bytespin
