// The bytespin engine on a CUDA device. The kernels of all replicas are queued on one stream. The
// host waits at the end of each advance() and when a caller needs results.
#include "src/bytespin/engine_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/base/require_memory.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/bytespin_engine.hpp"
#include "src/bytespin/device_graph.hpp"
#include "src/bytespin/local/local_cuda.hpp"
#include "src/bytespin/local/observe_cuda.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_fused.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_labels_cuda.hpp"
#include "src/bytespin/wolff/few_cluster_cuda.hpp"
#include "src/bytespin/wolff/wolff_cuda.hpp"
#include "src/cuda/device_stream.hpp"
#include "src/cuda/graph.hpp"
#include "src/engine/device_spins.hpp"
#include "src/engine/device_sums.hpp"

namespace rewise::bytespin {
namespace {

// Waits for queued work before the memory that it uses is freed.
struct WaitAtEnd {
  const DeviceStream& device;
  ~WaitAtEnd() { device.finish(); }
};

// Measures the share of cluster updates in the time of a mixed schedule. Only the first kCycles
// cycles are timed, by events on the stream, so the host does not wait for the device.
class PhaseTimer {
 public:
  PhaseTimer(const Schedule& schedule, cudaStream_t stream)
      : pure_cluster_(schedule.local == 0), stream_(stream) {
    if (schedule.local == 0 || schedule.cluster == 0) return;
    for (std::size_t n = 0; n < 3 * kCycles; ++n) events_.emplace_back(true);
  }

  // Call these in this order in every cycle.
  void start_local() { record(); }
  void start_cluster() { record(); }
  void end_cycle() { record(); }

  // The share of cluster updates in the measured time. Call after waiting for the stream.
  double cluster_fraction() const {
    double local = 0, cluster = 0;
    for (std::size_t n = 0; n + 2 < recorded_; n += 3) {
      local += events_[n + 1].seconds_since(events_[n]);
      cluster += events_[n + 2].seconds_since(events_[n + 1]);
    }
    return local + cluster > 0 ? cluster / (local + cluster) : (pure_cluster_ ? 1.0 : 0.0);
  }

 private:
  static constexpr std::size_t kCycles = 4;

  void record() {
    if (recorded_ < events_.size()) events_[recorded_++].record(stream_);
  }

  const bool pure_cluster_;
  const cudaStream_t stream_;
  std::size_t recorded_ = 0;
  std::vector<CudaEvent> events_;  // three per timed cycle
};

}  // namespace

class CudaEngine final : public BytespinEngine, public HasDeviceSpins {
 public:
  CudaEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options);

  std::string_view device() const override { return device_name_; }
  int threads() const override { return 1; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    return advance_replicas(options_, schedule, cycles,
                            [this](const Schedule& part, std::uint64_t n) { run(part, n); });
  }
  void measure(Observation& out) override;

  DeviceSpins device_spins() override;
  std::int64_t* measure_on_device() override;
  void wait_for_readers() override {
    device_.use();
    check_cuda(cudaDeviceSynchronize(), "waiting for readers of spins");
  }

 private:
  std::uint32_t replicas() const { return static_cast<std::uint32_t>(replicas_); }
  UpdateMethods chosen(const EngineOptions& options) const;
  void check_memory() const;
  void run(const Schedule& schedule, std::uint64_t cycles);
  void prepare_clusters();
  // Queue `updates` updates, starting at on_device_.step, and advance that step.
  void local_updates(std::uint32_t updates);
  void cluster_updates(std::uint32_t updates);
  // Adds the cluster sums on the device to those on the host; waits for the device. Returns the
  // number of sites of the clusters found (undefined for Swendsen-Wang).
  std::uint64_t fetch_sums();
  void queue_measurement();  // of all replicas, with results in measured_

  void read_part(std::size_t replica, std::span<std::uint8_t> out) const override;
  void write_part(std::size_t replica, Bytes spins) override;

  const EngineOptions options_;
  const DeviceStream device_;
  const std::string device_name_;
  const UpdateMethods methods_;  // never `automatic`
  std::unique_ptr<DeviceGraph> graph_;
  std::unique_ptr<LocalCuda> local_;
  DeviceBuffer<std::uint8_t> spins_;  // [replicas][stride]
  // `unequal` and `counts` of launch_measure(): [replicas], then [replicas][measured_counts()]
  DeviceBuffer<unsigned long long> measured_;
  DeviceReplicas on_device_;
  // [replicas] sums of cluster sizes (DeviceReplicas::pending), then [replicas][2] the quartic sums
  // of Swendsen-Wang updates, low and high (few-cluster: number of visited sites, 0)
  DeviceBuffer<unsigned long long> pending_sums_;
  DeviceBuffer<std::int64_t> sums_;  // allocated by the first measure_on_device()
  // At most one of these is set: the requested cluster update, from its first use on.
  std::unique_ptr<WolffCuda> wolff_;
  std::unique_ptr<FewClusterCuda> few_cluster_;
  std::unique_ptr<SwendsenWangCuda> swendsen_wang_;
  std::unique_ptr<FusedSwendsenWang> fused_;
  std::unique_ptr<SwendsenWangLabelsCuda> labels_;
  const WaitAtEnd finished_{device_};  // the last member, so it is destroyed first
};

UpdateMethods CudaEngine::chosen(const EngineOptions& options) const {
  UpdateMethods methods = options.methods;
  if (methods.wolff == WolffMethod::automatic) {
    methods.wolff = default_wolff_method(outline(plan_), replicas());
  }
  // The tiles of an imported graph contain no bonds, so `fast` has no advantage. `union_find_sew`,
  // which unites the bonds one by one, is 1.4 times as fast.
  if (methods.label == LabelMethod::fast && plan_.lattice.dim == 0) {
    methods.label = LabelMethod::union_find_sew;
  }
  methods.label_tile = tile_edge(methods.label, plan_.lattice.dim, methods.label_tile);
  return methods;
}

CudaEngine::CudaEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
    : BytespinEngine(graph, spec),
      options_(options),
      device_(options.device),
      device_name_(fmt::format("cuda:{}", options.device)),
      methods_(chosen(options)) {
  check_memory();
  const cudaStream_t stream = device_.get();
  const std::uint64_t stride = replica_stride(plan_.sites);
  spins_ = DeviceBuffer<std::uint8_t>(replicas_ * stride);
  spins_.clear(stream);
  pending_sums_ = DeviceBuffer<unsigned long long>(3 * replicas_);
  pending_sums_.clear(stream);
  graph_ = std::make_unique<DeviceGraph>(plan_, stream);
  local_ = std::make_unique<LocalCuda>(plan_, graph_->plan(), spec.local, stream);
  measured_ = DeviceBuffer<unsigned long long>(replicas_ *
                                               (1 + measured_counts(plan_.potts, plan_.states)));
  on_device_ = {spec.seed, replicas(),    spec.replicas,       0,
                stride,    spins_.data(), pending_sums_.data()};
  launch_start(graph_->plan(), on_device_, spec.start, stream);
  device_.wait();
}

void CudaEngine::check_memory() const {
  const std::uint64_t stride = replica_stride(plan_.sites);
  std::uint64_t need = DeviceGraph::bytes(plan_) + LocalCuda::bytes(plan_) + replicas_ * stride +
                       replicas_ * (5 + plan_.states) * sizeof(unsigned long long) + (64u << 20);
  const DevicePlan plan = outline(plan_);
  if (is_wolff()) {
    need += wolff_bytes(methods_.wolff, plan, replicas(), stride);
  } else if (is_few_cluster()) {
    need += FewClusterCuda::bytes(plan, replicas(), stride);
  } else if (methods_.label != LabelMethod::fast) {
    need += SwendsenWangLabelsCuda::bytes(plan, replicas(), stride, methods_.label,
                                          methods_.label_tile);
  } else if (FusedSwendsenWang::takes(plan)) {
    need += FusedSwendsenWang::bytes(plan, replicas());
  } else {
    need += SwendsenWangCuda::bytes(plan, replicas(), stride);
  }
  require_memory(device_name_, fmt::format("{} sites x {} replicas", plan_.sites, replicas_), need,
                 free_device_memory(), "reduce replicas, temperatures or the size");
}

void CudaEngine::prepare_clusters() {
  if (wolff_ || few_cluster_ || swendsen_wang_ || fused_ || labels_) return;
  const DevicePlan& plan = graph_->plan();
  if (is_wolff()) {
    wolff_ = make_wolff_cuda(methods_.wolff, plan, on_device_, device_.get());
  } else if (is_few_cluster()) {
    few_cluster_ = std::make_unique<FewClusterCuda>(plan, FewClusterRule(plan_.graph, spec_),
                                                    on_device_, device_.get());
  } else if (methods_.label != LabelMethod::fast) {
    labels_ = std::make_unique<SwendsenWangLabelsCuda>(device_, plan, replicas(), on_device_.stride,
                                                       methods_.label, methods_.label_tile);
  } else if (FusedSwendsenWang::takes(plan)) {
    fused_ = std::make_unique<FusedSwendsenWang>(device_, plan, replicas());
  } else {
    swendsen_wang_ = std::make_unique<SwendsenWangCuda>(plan, on_device_, device_.get());
  }
}

void CudaEngine::local_updates(std::uint32_t updates) {
  for (std::uint32_t m = 0; m < updates; ++m, ++on_device_.step) {
    for (int colour = 0; colour < local_->colours(); ++colour) {
      local_->sweep_colour(colour, on_device_, device_.get());
    }
  }
}

void CudaEngine::cluster_updates(std::uint32_t updates) {
  unsigned long long* quartic = pending_sums_.data() + replicas_;
  if (wolff_) {
    wolff_->run(on_device_, updates, device_.get());
  } else if (few_cluster_) {
    few_cluster_->run(on_device_, updates, quartic, device_.get());
  } else if (swendsen_wang_) {
    swendsen_wang_->run(on_device_, updates, quartic, device_.get());
  } else if (fused_) {
    fused_->run(on_device_, updates, quartic);
  } else {
    labels_->run(on_device_, updates, quartic);
  }
  on_device_.step += updates;
}

void CudaEngine::run(const Schedule& schedule, std::uint64_t cycles) {
  device_.use();
  if (schedule.cluster > 0) prepare_clusters();
  on_device_.step = static_cast<std::uint32_t>(step_);
  const double start = now();
  PhaseTimer timer(schedule, device_.get());
  // Consecutive Swendsen-Wang updates are queued together, because the fast path keeps spins in its
  // own format between the updates of a run.
  const std::uint64_t together = schedule.local == 0 && is_swendsen_wang() ? cycles : 1;
  for (std::uint64_t cycle = 0; cycle < cycles; cycle += together) {
    timer.start_local();
    if (schedule.local > 0) local_updates(schedule.local);
    timer.start_cluster();
    if (schedule.cluster > 0) {
      cluster_updates(static_cast<std::uint32_t>(schedule.cluster * together));
    }
    timer.end_cycle();
  }
  const std::uint64_t found = schedule.cluster > 0 ? fetch_sums() : 0;
  if (labels_) {
    const LabelTimes times = labels_->take_times();
    work_.phases += times.phases;
    work_.label_passes += times.passes;
  }
  device_.wait();
  const double seconds = now() - start, fraction = timer.cluster_fraction();
  work_.cluster_seconds += fraction * seconds;
  work_.local_seconds += (1 - fraction) * seconds;
  count(schedule, cycles, found);
}

std::uint64_t CudaEngine::fetch_sums() {
  device_.use();
  const auto sums = pending_sums_.to_host(device_.get());
  pending_sums_.clear(device_.get());
  std::uint64_t sites = 0;
  for (std::size_t replica = 0; replica < replicas_; ++replica) {
    const unsigned long long* quartic = sums.data() + replicas_ + 2 * replica;
    sites += is_few_cluster() ? quartic[0] : sums[replica];
    cluster_size_[replica] += sums[replica];
    if (is_swendsen_wang()) {
      cluster_quartic_[replica] += WideSum{quartic[1]} << 64 | quartic[0];
    }
  }
  return sites;
}

void CudaEngine::queue_measurement() {
  measured_.clear(device_.get());
  launch_measure(graph_->plan(), Geometry::make(plan_.lattice), on_device_, measured_.data(),
                 measured_.data() + replicas_, device_.get());
}

void CudaEngine::measure(Observation& out) {
  device_.use();
  const double start = now();
  queue_measurement();
  const std::vector<unsigned long long> sums = measured_.to_host(device_.get());
  const std::size_t counts = sums.size() / replicas_ - 1;
  std::vector<unsigned long long> largest(replicas_);
  for (std::size_t replica = 0; replica < replicas_; ++replica) {
    const auto* of_replica = sums.data() + replicas_ + replica * counts;
    largest[replica] = *std::max_element(of_replica, of_replica + counts);
  }
  fill_observation(sums.data(), largest.data(), out);
  work_.measure_seconds += now() - start;
}

void CudaEngine::read_part(std::size_t replica, std::span<std::uint8_t> out) const {
  device_.use();
  spins_.copy_out(out, device_.get(), replica * replica_stride(plan_.sites));
  device_.wait();
}

void CudaEngine::write_part(std::size_t replica, Bytes spins) {
  device_.use();
  spins_.copy_in(spins, device_.get(), replica * replica_stride(plan_.sites));
  device_.wait();
}

std::int64_t* CudaEngine::measure_on_device() {
  device_.use();
  if (sums_.empty()) sums_ = DeviceBuffer<std::int64_t>(2 * replicas_);
  queue_measurement();
  const std::size_t states = measured_.size() / replicas_ - 1;
  launch_report({measured_.data(), 1, measured_.data() + replicas_, states,
                 static_cast<std::uint32_t>(states)},
                sum_units(), replicas(), sums_.data(), device_.get());
  device_.wait();
  return sums_.data();
}

DeviceSpins CudaEngine::device_spins() {
  const std::uint64_t replicas = spec_.replicas;
  const auto stride = static_cast<std::int64_t>(replica_stride(plan_.sites));
  return {spins_.data(),
          device_.device(),
          false,
          {spec_.betas.size(), replicas, plan_.sites},
          {static_cast<std::int64_t>(replicas) * stride, stride, 1}};
}

std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options) {
  return std::make_unique<CudaEngine>(graph, spec, options);
}

}  // namespace rewise::bytespin
