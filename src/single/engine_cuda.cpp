// The single engine on a CUDA device: owns the device's memory, queues the kernels of all systems
// on one stream, waits only where a caller needs numbers. Kernels: local.cu, observe.cu,
// swendsen_wang_*.cu, label_*.cu, wolff_*.cu.
#include "src/single/engine_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/cuda/stream.hpp"
#include "src/cuda/use_device.hpp"
#include "src/single/device_graph.hpp"
#include "src/single/labels/swendsen_wang_labels_cuda.hpp"
#include "src/single/local/local_cuda.hpp"
#include "src/single/local/observe_cuda.hpp"
#include "src/single/single_engine.hpp"
#include "src/single/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/single/timer_cuda.hpp"
#include "src/single/wolff/few_cluster_cuda.hpp"
#include "src/single/wolff/wolff_cuda.hpp"

namespace rewise::single {
class CudaEngine final : public SingleEngine {
 public:
  CudaEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options);

  std::string_view device() const override { return device_name_; }
  int threads() const override { return 1; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    return advance_systems(options_, schedule, cycles,
                           [this](const Schedule& part, std::uint64_t n) { run(part, n); });
  }
  void measure(Observation& out) override;

 private:
  std::uint32_t systems() const { return static_cast<std::uint32_t>(systems_); }
  void use() const { check_cuda(cudaSetDevice(device_), "choosing the device"); }
  void check_memory() const;
  void run(const Schedule& schedule, std::uint64_t cycles);
  void prepare_clusters();
  // `updates` updates from the systems' step on.
  void local_updates(std::uint32_t updates);
  void cluster_updates(std::uint32_t updates);
  // Cluster sums on the device are added to those here. Waits. Returns the sites of the clusters
  // found, of Swendsen-Wang something else.
  std::uint64_t fetch_sums();

  void read_part(std::size_t who, std::span<std::uint8_t> out) const override;
  void write_part(std::size_t who, Bytes spins) override;

  const EngineOptions options_;
  const int device_;
  const std::string device_name_;
  const WolffMethod wolff_method_;
  const LabelMethod label_method_;
  const std::uint32_t label_tile_;
  CudaStream stream_;
  std::unique_ptr<DeviceGraph> graph_;
  std::unique_ptr<LocalCuda> local_;
  std::unique_ptr<WolffCuda> wolff_;
  std::unique_ptr<FewClusterCuda> few_cluster_;
  std::unique_ptr<SwendsenWangCuda> swendsen_wang_;  // LabelMethod::fast, the other one else
  std::unique_ptr<SwendsenWangLabelsCuda> swendsen_wang_labels_;
  DeviceBuffer<std::uint8_t> spins_;  // [systems][stride]
  // [systems] sizes, then [systems][2] quartic (few-cluster: visited sites, 0)
  DeviceBuffer<unsigned long long> pending_sums_;
  DeviceBuffer<unsigned long long> measured_;  // [systems] unequal, [systems][measured_counts()]
  DeviceSystems device_systems_;
};

CudaEngine::CudaEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
    : SingleEngine(graph, spec),
      options_(options),
      device_(use_device(options.devices.empty() ? options.device : options.devices.front())),
      device_name_(fmt::format("cuda:{}", device_)),
      wolff_method_(options.wolff_method.empty()
                        ? default_wolff_method(DeviceGraph::outline(plan_), systems())
                        : parse_wolff_method(options.wolff_method, true)),
      label_method_(parse_label_method(options.label_method, "--label-method")),
      label_tile_(tile_edge(label_method_, plan_.lattice.dim, options.label_tile, "--tile")) {
  check_memory();
  const std::uint64_t stride = system_stride(plan_.sites);
  graph_ = std::make_unique<DeviceGraph>(plan_, stream_.get());
  local_ = std::make_unique<LocalCuda>(plan_, graph_->plan(), spec.local, stream_.get());
  spins_ = DeviceBuffer<std::uint8_t>(systems_ * stride);
  pending_sums_ = DeviceBuffer<unsigned long long>(3 * systems_);
  measured_ =
      DeviceBuffer<unsigned long long>(systems_ * (1 + measured_counts(plan_.potts, plan_.states)));
  spins_.clear(stream_.get());
  pending_sums_.clear(stream_.get());
  device_systems_ = {spec.seed, systems(),     spec.replicas,       0,
                     stride,    spins_.data(), pending_sums_.data()};
  launch_start(graph_->plan(), device_systems_, spec.start, stream_.get());
  stream_.wait();
}

void CudaEngine::check_memory() const {
  const std::uint64_t stride = system_stride(plan_.sites);
  std::uint64_t need = DeviceGraph::bytes(plan_) + LocalCuda::bytes(plan_) +
                       systems_ * (stride + (5 + plan_.states) * sizeof(unsigned long long)) +
                       (64u << 20);
  const DevicePlan plan = DeviceGraph::outline(plan_);
  if (is_wolff()) {
    need += wolff_bytes(wolff_method_, plan, systems(), stride);
  } else if (is_few_cluster()) {
    need += FewClusterCuda::bytes(plan, systems(), stride);
  } else if (label_method_ == LabelMethod::fast) {
    need += SwendsenWangCuda::bytes(plan, systems(), stride);
  } else {
    need += SwendsenWangLabelsCuda::bytes(plan, systems(), stride, label_method_, label_tile_);
  }
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for the device's memory");
  if (need <= free) return;
  throw Error(ExitCode::device,
              fmt::format("{}: {:.1f} GiB are needed for {} sites x {} systems, {:.1f} GiB are "
                          "free (reduce replicas, temperatures or the size)",
                          device_name_, static_cast<double>(need) / (1ull << 30), plan_.sites,
                          systems_, static_cast<double>(free) / (1ull << 30)));
}

void CudaEngine::prepare_clusters() {
  if (wolff_ || few_cluster_ || swendsen_wang_ || swendsen_wang_labels_) return;
  if (is_wolff()) {
    wolff_ = make_wolff_cuda(wolff_method_, graph_->plan(), device_systems_, stream_.get());
  } else if (is_few_cluster()) {
    few_cluster_ = std::make_unique<FewClusterCuda>(
        graph_->plan(), FewClusterRule(plan_.graph, spec_), device_systems_, stream_.get());
  } else if (label_method_ == LabelMethod::fast) {
    swendsen_wang_ =
        std::make_unique<SwendsenWangCuda>(graph_->plan(), device_systems_, stream_.get());
  } else {
    swendsen_wang_labels_ = std::make_unique<SwendsenWangLabelsCuda>(
        graph_->plan(), device_systems_, label_method_, label_tile_, stream_.get());
  }
}

void CudaEngine::local_updates(std::uint32_t updates) {
  for (std::uint32_t m = 0; m < updates; ++m, ++device_systems_.step) {
    for (int colour = 0; colour < local_->colours(); ++colour) {
      local_->sweep_colour(colour, device_systems_, stream_.get());
    }
  }
}

void CudaEngine::cluster_updates(std::uint32_t updates) {
  unsigned long long* quartic = pending_sums_.data() + systems_;
  if (is_wolff()) {
    wolff_->run(device_systems_, updates, stream_.get());
  } else if (few_cluster_) {
    few_cluster_->run(device_systems_, updates, quartic, stream_.get());
  } else if (swendsen_wang_) {
    swendsen_wang_->run(device_systems_, updates, quartic, stream_.get());
  } else {
    swendsen_wang_labels_->run(device_systems_, updates, quartic, stream_.get());
  }
  device_systems_.step += updates;
}

void CudaEngine::run(const Schedule& schedule, std::uint64_t cycles) {
  use();
  if (schedule.cluster > 0) prepare_clusters();
  device_systems_.step = static_cast<std::uint32_t>(step_);
  const double start = now();
  PhaseTimer timer(schedule, stream_.get());
  // Swendsen-Wang updates alone are made in one go: the fast path keeps spins in a form of its own
  // from one update of a run to the next.
  const std::uint64_t together = schedule.local == 0 && swendsen_wang_ ? cycles : 1;
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
  if (swendsen_wang_labels_) {
    const LabelTimes times = swendsen_wang_labels_->take_times(stream_.get());
    work_.steps += times.steps;
    work_.label_passes += times.passes;
  }
  stream_.wait();
  const double seconds = now() - start, share = timer.cluster_share();
  work_.cluster_seconds += share * seconds;
  work_.local_seconds += (1 - share) * seconds;
  count(schedule, cycles, found);
}

std::uint64_t CudaEngine::fetch_sums() {
  const auto sums = pending_sums_.to_host(stream_.get());
  pending_sums_.clear(stream_.get());
  std::uint64_t sites = 0;
  for (std::size_t who = 0; who < systems_; ++who) {
    const unsigned long long* quartic = sums.data() + systems_ + 2 * who;
    sites += is_few_cluster() ? quartic[0] : sums[who];
    cluster_size_[who] += sums[who];
    if (is_swendsen_wang()) {
      cluster_quartic_[who] += WideSum{quartic[1]} << 64 | quartic[0];
    }
  }
  return sites;
}

void CudaEngine::measure(Observation& out) {
  use();
  const double start = now();
  measured_.clear(stream_.get());
  const Geometry geometry = Geometry::make(plan_.lattice);
  launch_measure(graph_->plan(), geometry, device_systems_, measured_.data(),
                 measured_.data() + systems_, stream_.get());
  const auto sums = measured_.to_host(stream_.get());
  report(sums.data(), largest_counts(sums, systems_).data(), out);
  work_.measure_seconds += now() - start;
}

void CudaEngine::read_part(std::size_t who, std::span<std::uint8_t> out) const {
  use();
  spins_.copy_out(out, stream_.get(), who * device_systems_.stride);
  stream_.wait();
}

void CudaEngine::write_part(std::size_t who, Bytes spins) {
  use();
  spins_.copy_in(spins, stream_.get(), who * device_systems_.stride);
  stream_.wait();
}

std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options) {
  return std::make_unique<CudaEngine>(graph, spec, options);
}

}  // namespace rewise::single
