// The single engine on CUDA devices: owns their memory, queues the kernels of all systems on a
// stream of each, waits only where a caller needs numbers.
//
// Several devices work on every system together (Komura & Okabe 2013): the systems' spins lie in
// StripedMemory, a part of every system with each device; the graph is on all of them. A device
// makes its part of a kernel's work (device_part.hpp), and reads what it needs of the others' spins
// where they lie. All wait for all between two colours of a sweep, and between the steps of an
// update. One device is a team of one, which waits for nobody.
#include "src/single/engine_cuda.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/cuda/device_team.hpp"
#include "src/cuda/graph.hpp"
#include "src/cuda/striped_memory.hpp"
#include "src/engine/device_spins.hpp"
#include "src/engine/device_sums.hpp"
#include "src/single/device_graph.hpp"
#include "src/single/local/local_cuda.hpp"
#include "src/single/local/observe_cuda.hpp"
#include "src/single/single.hpp"
#include "src/single/single_engine.hpp"
#include "src/single/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/single/swendsen_wang/swendsen_wang_fused.hpp"
#include "src/single/swendsen_wang/swendsen_wang_labels_cuda.hpp"
#include "src/single/wolff/few_cluster_cuda.hpp"
#include "src/single/wolff/wolff_cuda.hpp"

namespace rewise::single {
namespace {

// Work that is queued ends before the memory that it uses goes.
struct Finished {
  const DeviceTeam& team;
  ~Finished() { team.finish(); }
};

// How a mixed schedule's time divides between its two kinds of updates: the first cycles are timed
// by events on the stream, without waiting for the device in between.
class PhaseTimer {
 public:
  PhaseTimer(const Schedule& schedule, cudaStream_t stream)
      : pure_cluster_(schedule.local == 0), stream_(stream) {
    if (schedule.local == 0 || schedule.cluster == 0) return;
    for (std::size_t n = 0; n < 3 * kCycles; ++n) events_.emplace_back(true);
  }

  // In this order in every cycle.
  void start_local() { record(); }
  void start_cluster() { record(); }
  void end_cycle() { record(); }

  // Of the time that the updates took; the stream has been waited for.
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

std::vector<int> devices_of(const EngineOptions& options) {
  return options.devices.empty() ? std::vector<int>{options.device} : options.devices;
}

}  // namespace

class CudaEngine final : public SingleEngine, public HasDeviceSpins {
 public:
  CudaEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options);

  std::string_view device() const override { return device_name_; }
  int threads() const override { return 1; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    return advance_systems(options_, schedule, cycles,
                           [this](const Schedule& part, std::uint64_t n) { run(part, n); });
  }
  void measure(Observation& out) override;

  DeviceSpins device_spins() override;
  std::int64_t* measure_on_device() override;
  void wait_for_readers() override {
    team_.use(0);
    check_cuda(cudaDeviceSynchronize(), "waiting for readers of spins");
  }

 private:
  // What a device has for itself.
  struct Member {
    std::unique_ptr<DeviceGraph> graph;
    std::unique_ptr<LocalCuda> local;
    DeviceBuffer<unsigned long long> measured;  // [systems] unequal, [systems][measured_counts()]
    DeviceSystems systems;
  };

  std::uint32_t systems() const { return static_cast<std::uint32_t>(systems_); }
  void check_memory() const;
  void run(const Schedule& schedule, std::uint64_t cycles);
  void prepare_clusters();
  // `updates` updates from the systems' step on.
  void local_updates(std::uint32_t updates);
  void cluster_updates(std::uint32_t updates);
  void count_steps(std::uint32_t steps) {
    for (Member& member : members_) member.systems.step += steps;
  }
  // Cluster sums on the device are added to those here. Waits. Returns the sites of the clusters
  // found, of Swendsen-Wang something else.
  std::uint64_t fetch_sums();
  void count_parts();       // queues what measurements begin with
  void one_device() const;  // Error(device) of several

  void read_part(std::size_t who, std::span<std::uint8_t> out) const override;
  void write_part(std::size_t who, Bytes spins) override;

  const EngineOptions options_;
  const DeviceTeam team_;
  const std::string device_name_;
  const WolffMethod wolff_method_;
  const LabelMethod label_method_;
  const std::uint32_t label_tile_;
  std::vector<Member> members_;  // [devices]
  StripedMemory spins_;          // [systems][stride]
  // First device: [systems] sizes, then [systems][2] quartic (few-cluster: visited sites, 0)
  DeviceBuffer<unsigned long long> pending_sums_;
  DeviceBuffer<std::int64_t> sums_;  // once measure_on_device() was called
  // Of the cluster updates the one that is asked for. One device:
  std::unique_ptr<WolffCuda> wolff_;
  std::unique_ptr<FewClusterCuda> few_cluster_;
  std::unique_ptr<SwendsenWangCuda> swendsen_wang_;
  // Several, too; the other labelling methods:
  std::unique_ptr<FusedSwendsenWang> fused_;
  std::unique_ptr<SwendsenWangLabelsCuda> labels_;
  const Finished finished_{team_};  // the last member, so it goes first
};

CudaEngine::CudaEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
    : SingleEngine(graph, spec),
      options_(options),
      team_(devices_of(options)),
      device_name_(fmt::format("cuda:{}", fmt::join(team_.devices(), "+"))),
      wolff_method_(options.wolff_method == WolffMethod::automatic
                        ? default_wolff_method(DeviceGraph::outline(plan_), systems())
                        : options.wolff_method),
      label_method_(options.label_method),
      label_tile_(tile_edge(label_method_, plan_.lattice.dim, options.label_tile)) {
  if (team_.size() > 1 && plan_.lattice.dim == 0) {
    throw Error(ExitCode::usage,
                fmt::format("{} share lattices, not imported graphs", device_name_));
  }
  check_memory();
  const std::uint64_t stride = system_stride(plan_.sites);
  team_.use(0);
  spins_ = StripedMemory(systems_ * stride, stride, team_.devices());
  spins_.clear(team_.stream(0));
  pending_sums_ = DeviceBuffer<unsigned long long>(3 * systems_);
  pending_sums_.clear(team_.stream(0));
  team_.barrier();
  team_.for_each([&](std::size_t part, cudaStream_t stream) {
    Member member;
    member.graph = std::make_unique<DeviceGraph>(plan_, stream);
    member.measured = DeviceBuffer<unsigned long long>(
        systems_ * (1 + measured_counts(plan_.potts, plan_.states)));
    member.systems = {spec.seed,
                      systems(),
                      spec.replicas,
                      0,
                      stride,
                      reinterpret_cast<std::uint8_t*>(spins_.data()),
                      pending_sums_.data(),
                      {static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(team_.size())}};
    member.local = std::make_unique<LocalCuda>(plan_, member.graph->plan(), spec.local, stream,
                                               member.systems.part);
    launch_start(member.graph->plan(), member.systems, spec.start, stream);
    members_.push_back(std::move(member));
  });
  team_.wait();
}

void CudaEngine::check_memory() const {
  const std::uint64_t stride = system_stride(plan_.sites);
  const std::size_t devices = team_.size();
  std::uint64_t need = DeviceGraph::bytes(plan_) + LocalCuda::bytes(plan_) +
                       systems_ * stride / devices +
                       systems_ * (5 + plan_.states) * sizeof(unsigned long long) + (64u << 20);
  const DevicePlan plan = DeviceGraph::outline(plan_);
  if (is_wolff()) {
    if (devices == 1) need += wolff_bytes(wolff_method_, plan, systems(), stride);
  } else if (is_few_cluster()) {
    if (devices == 1) need += FewClusterCuda::bytes(plan, systems(), stride);
  } else if (label_method_ != LabelMethod::fast) {
    need +=
        SwendsenWangLabelsCuda::bytes(plan, systems(), stride, label_method_, label_tile_, devices);
  } else if (FusedSwendsenWang::takes(plan)) {
    need += FusedSwendsenWang::bytes(plan, systems(), devices);
  } else if (devices == 1) {
    need += SwendsenWangCuda::bytes(plan, systems(), stride);
  }
  const auto gib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1ull << 30); };
  for (std::size_t part = 0; part < devices; ++part) {
    team_.use(part);
    const std::size_t free = free_device_memory();
    if (need <= free) continue;
    throw Error(
        ExitCode::device,
        fmt::format("cuda:{}: {:.1f} GiB are needed for {}{} sites x {} systems, {:.1f} GiB "
                    "are free (reduce replicas, temperatures or the size{})",
                    team_.devices()[part], gib(need), devices > 1 ? "a part of " : "", plan_.sites,
                    systems_, gib(free), devices > 1 ? ", or name more devices" : ""));
  }
}

void CudaEngine::prepare_clusters() {
  if (wolff_ || few_cluster_ || swendsen_wang_ || fused_ || labels_) return;
  const std::span extents(plan_.lattice.extent.data(), static_cast<std::size_t>(plan_.lattice.dim));
  const std::string why_not =
      team_.size() > 1 ? why_no_team(extents, spec_.cluster, label_method_) : "";
  if (!why_not.empty()) {
    throw Error(ExitCode::usage, fmt::format("{} {}", device_name_, why_not));
  }
  std::vector<DevicePlan> plans;
  for (const Member& member : members_) plans.push_back(member.graph->plan());
  const DevicePlan& plan = plans.front();
  const DeviceSystems& all = members_.front().systems;
  if (is_wolff()) {
    wolff_ = make_wolff_cuda(wolff_method_, plan, all, team_.stream(0));
  } else if (is_few_cluster()) {
    few_cluster_ = std::make_unique<FewClusterCuda>(plan, FewClusterRule(plan_.graph, spec_), all,
                                                    team_.stream(0));
  } else if (label_method_ != LabelMethod::fast) {
    labels_ = std::make_unique<SwendsenWangLabelsCuda>(team_, plans, systems(), all.stride,
                                                       label_method_, label_tile_);
  } else if (FusedSwendsenWang::takes(plan)) {
    fused_ = std::make_unique<FusedSwendsenWang>(team_, plans, systems());
  } else {
    swendsen_wang_ = std::make_unique<SwendsenWangCuda>(plan, all, team_.stream(0));
  }
}

void CudaEngine::local_updates(std::uint32_t updates) {
  for (std::uint32_t m = 0; m < updates; ++m) {
    for (int colour = 0; colour < members_.front().local->colours(); ++colour) {
      team_.for_each([&](std::size_t part, cudaStream_t stream) {
        members_[part].local->sweep_colour(colour, members_[part].systems, stream);
      });
      team_.barrier();
    }
    count_steps(1);
  }
}

void CudaEngine::cluster_updates(std::uint32_t updates) {
  unsigned long long* quartic = pending_sums_.data() + systems_;
  const DeviceSystems& all = members_.front().systems;
  std::vector<DeviceSystems> parts;
  for (const Member& member : members_) parts.push_back(member.systems);
  if (wolff_) {
    wolff_->run(all, updates, team_.stream(0));
  } else if (few_cluster_) {
    few_cluster_->run(all, updates, quartic, team_.stream(0));
  } else if (swendsen_wang_) {
    swendsen_wang_->run(all, updates, quartic, team_.stream(0));
  } else if (fused_) {
    fused_->run(std::move(parts), updates, quartic);
  } else {
    labels_->run(std::move(parts), updates, quartic);
  }
  count_steps(updates);
}

void CudaEngine::run(const Schedule& schedule, std::uint64_t cycles) {
  team_.use(0);
  if (schedule.cluster > 0) prepare_clusters();
  team_.use(0);
  for (Member& member : members_) member.systems.step = static_cast<std::uint32_t>(step_);
  const double start = now();
  PhaseTimer timer(schedule, team_.stream(0));
  // Swendsen-Wang updates alone are made in one go: the fast path keeps spins in a form of its own
  // from one update of a run to the next.
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
    work_.steps += times.steps;
    work_.label_passes += times.passes;
  }
  team_.wait();
  const double seconds = now() - start, fraction = timer.cluster_fraction();
  work_.cluster_seconds += fraction * seconds;
  work_.local_seconds += (1 - fraction) * seconds;
  count(schedule, cycles, found);
}

std::uint64_t CudaEngine::fetch_sums() {
  team_.use(0);
  const auto sums = pending_sums_.to_host(team_.stream(0));
  pending_sums_.clear(team_.stream(0));
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

void CudaEngine::count_parts() {
  const Geometry geometry = Geometry::make(plan_.lattice);
  team_.for_each([&](std::size_t part, cudaStream_t stream) {
    Member& member = members_[part];
    member.measured.clear(stream);
    launch_measure(member.graph->plan(), geometry, member.systems, member.measured.data(),
                   member.measured.data() + systems_, stream);
  });
}

void CudaEngine::measure(Observation& out) {
  team_.use(0);
  const double start = now();
  count_parts();
  std::vector<unsigned long long> sums(members_.front().measured.size());
  team_.for_each([&](std::size_t part, cudaStream_t stream) {
    const auto counted = members_[part].measured.to_host(stream);
    std::transform(counted.begin(), counted.end(), sums.begin(), sums.begin(), std::plus<>());
  });
  // The state that is the most frequent of all parts together need not be that of one.
  const std::size_t counts = sums.size() / systems_ - 1;
  std::vector<unsigned long long> largest(systems_);
  for (std::size_t who = 0; who < systems_; ++who) {
    const auto* of_system = sums.data() + systems_ + who * counts;
    largest[who] = *std::max_element(of_system, of_system + counts);
  }
  report(sums.data(), largest.data(), out);
  work_.measure_seconds += now() - start;
}

void CudaEngine::read_part(std::size_t who, std::span<std::uint8_t> out) const {
  team_.use(0);
  spins_.copy_out(std::as_writable_bytes(out), team_.stream(0), who * system_stride(plan_.sites));
  team_.wait();
}

void CudaEngine::write_part(std::size_t who, Bytes spins) {
  team_.use(0);
  spins_.copy_in(std::as_bytes(spins), team_.stream(0), who * system_stride(plan_.sites));
  team_.wait();
}

void CudaEngine::one_device() const {
  if (team_.size() == 1) return;
  throw Error(ExitCode::device, fmt::format("the spins are spread over {}", device_name_));
}

std::int64_t* CudaEngine::measure_on_device() {
  one_device();
  team_.use(0);
  if (sums_.empty()) sums_ = DeviceBuffer<std::int64_t>(2 * systems_);
  count_parts();
  const auto& counted = members_.front().measured;
  const std::size_t states = counted.size() / systems_ - 1;
  launch_report(
      {counted.data(), 1, counted.data() + systems_, states, static_cast<std::uint32_t>(states)},
      sum_units(), systems(), sums_.data(), team_.stream(0));
  team_.wait();
  return sums_.data();
}

DeviceSpins CudaEngine::device_spins() {
  one_device();
  const std::uint64_t replicas = spec_.replicas;
  const auto stride = static_cast<std::int64_t>(system_stride(plan_.sites));
  return {spins_.data(),
          team_.devices().front(),
          false,
          {spec_.betas.size(), replicas, plan_.sites},
          {static_cast<std::int64_t>(replicas) * stride, stride, 1}};
}

std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options) {
  return std::make_unique<CudaEngine>(graph, spec, options);
}

}  // namespace rewise::single
