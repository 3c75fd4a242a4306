// The systems' spins lie in StripedMemory, a part of every system with each device; the graph is on
// all of them. A device takes its part of a kernel's work (device_part.hpp), and reads what it
// needs of the others' spins where they lie. All wait for all between two colours of a sweep, and
// between the steps of an update.
#include "src/single/engine_team.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/single/device_graph.hpp"
#include "src/single/labels/swendsen_wang_labels_team.hpp"
#include "src/single/local/local_cuda.hpp"
#include "src/single/local/observe_cuda.hpp"
#include "src/single/single_engine.hpp"
#include "src/single/swendsen_wang/swendsen_wang_team.hpp"
#include "src/single/team.hpp"
#include "src/single/timer_cuda.hpp"

namespace rewise::single {
namespace {

// Work that is queued ends before the memory that it uses goes.
struct Settled {
  const DeviceTeam& team;
  ~Settled() { team.settle(); }
};

}  // namespace

class TeamEngine final : public SingleEngine {
 public:
  TeamEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options);

  std::string_view device() const override { return device_name_; }
  int threads() const override { return 1; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    return advance_systems(options_, schedule, cycles,
                           [this](const Schedule& part, std::uint64_t n) { run(part, n); });
  }
  void measure(Observation& out) override;

 private:
  // What a device has for itself.
  struct Member {
    std::unique_ptr<DeviceGraph> graph;
    std::unique_ptr<LocalCuda> local;
    DeviceBuffer<unsigned long long> measured;  // as CudaEngine has it
  };

  std::uint32_t systems() const { return static_cast<std::uint32_t>(systems_); }
  void check_system() const;
  void check_memory() const;
  void run(const Schedule& schedule, std::uint64_t cycles);
  void prepare_clusters();
  void local_updates(std::uint32_t updates);
  void cluster_updates(std::uint32_t updates);
  void count_steps(std::uint32_t steps) {
    for (DeviceSystems& of_part : shares_) of_part.step += steps;
  }
  void fetch_sums();

  void read_part(std::size_t who, std::span<std::uint8_t> out) const override;
  void write_part(std::size_t who, Bytes spins) override;

  const EngineOptions options_;
  const DeviceTeam team_;
  const std::string device_name_;
  const LabelMethod label_method_;                 // fast or kalentev
  std::vector<Member> members_;                    // [devices]
  std::vector<DeviceSystems> shares_;              // [devices]
  StripedMemory spins_;                            // [systems][stride]
  DeviceBuffer<unsigned long long> pending_sums_;  // first device: [systems], [systems][2]
  std::unique_ptr<TeamSwendsenWang> swendsen_wang_;
  std::unique_ptr<TeamLabels> swendsen_wang_labels_;
  const Settled settled_{team_};  // the last member, so it goes first
};

TeamEngine::TeamEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
    : SingleEngine(graph, spec),
      options_(options),
      team_(options.devices),
      device_name_(fmt::format("cuda:{}", fmt::join(options.devices, "+"))),
      label_method_(parse_label_method(options.label_method, "--label-method")) {
  check_system();
  check_memory();
  const std::uint64_t stride = system_stride(plan_.sites);
  spins_ = StripedMemory(systems_ * stride, stride, team_.devices());
  team_.use(0);
  spins_.clear(team_.stream(0));
  pending_sums_ = DeviceBuffer<unsigned long long>(3 * systems_);
  pending_sums_.clear(team_.stream(0));
  team_.barrier();
  team_.for_each([&](std::size_t part, cudaStream_t stream) {
    Member member;
    member.graph = std::make_unique<DeviceGraph>(plan_, stream);
    member.measured = DeviceBuffer<unsigned long long>(
        systems_ * (1 + measured_counts(plan_.potts, plan_.states)));
    DeviceSystems share;
    share.seed = spec.seed;
    share.systems = systems();
    share.replicas = spec.replicas;
    share.stride = stride;
    share.spins = reinterpret_cast<std::uint8_t*>(spins_.data());
    share.pending = pending_sums_.data();
    share.part = {static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(team_.size())};
    member.local =
        std::make_unique<LocalCuda>(plan_, member.graph->plan(), spec.local, stream, share.part);
    launch_start(member.graph->plan(), share, spec.start, stream);
    members_.push_back(std::move(member));
    shares_.push_back(share);
  });
  team_.wait();
}

void TeamEngine::check_system() const {
  if (plan_.lattice.dim == 0) {
    throw Error(ExitCode::usage,
                fmt::format("--device: {} share lattices, not imported graphs", device_name_));
  }
}

void TeamEngine::check_memory() const {
  const DevicePlan plan = DeviceGraph::outline(plan_);
  const std::uint64_t need =
      DeviceGraph::bytes(plan_) + LocalCuda::bytes(plan_) +
      systems_ * system_stride(plan_.sites) / team_.size() +
      systems_ * (5 + plan_.states) * sizeof(unsigned long long) +
      (label_method_ == LabelMethod::fast
           ? TeamSwendsenWang::bytes(plan, systems(), team_.size())
           : TeamLabels::bytes(plan, systems(), system_stride(plan_.sites), team_.size())) +
      (64u << 20);
  team_.for_each([&](std::size_t part, cudaStream_t) {
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "asking for the device's memory");
    if (need <= free) return;
    throw Error(ExitCode::device,
                fmt::format("cuda:{}: {:.1f} GiB are needed for a part of {} sites x {} systems, "
                            "{:.1f} GiB are free (reduce replicas, temperatures or the size, or "
                            "name more devices)",
                            team_.devices()[part], static_cast<double>(need) / (1ull << 30),
                            plan_.sites, systems_, static_cast<double>(free) / (1ull << 30)));
  });
}

void TeamEngine::local_updates(std::uint32_t updates) {
  for (std::uint32_t m = 0; m < updates; ++m) {
    for (int colour = 0; colour < members_.front().local->colours(); ++colour) {
      team_.for_each([&](std::size_t part, cudaStream_t stream) {
        members_[part].local->sweep_colour(colour, shares_[part], stream);
      });
      team_.barrier();
    }
    count_steps(1);
  }
}

void TeamEngine::prepare_clusters() {
  if (swendsen_wang_ || swendsen_wang_labels_) return;
  const std::span extents(plan_.lattice.extent.data(), static_cast<std::size_t>(plan_.lattice.dim));
  const std::string why_not = why_no_team(extents, spec_.cluster, to_string(label_method_));
  if (!why_not.empty()) {
    throw Error(ExitCode::usage, fmt::format("--device: {} {}", device_name_, why_not));
  }
  std::vector<DevicePlan> plans;
  for (const Member& member : members_) plans.push_back(member.graph->plan());
  if (label_method_ == LabelMethod::fast) {
    swendsen_wang_ = std::make_unique<TeamSwendsenWang>(team_, plans, systems());
  } else {
    swendsen_wang_labels_ =
        std::make_unique<TeamLabels>(team_, plans, systems(), shares_.front().stride);
  }
}

void TeamEngine::cluster_updates(std::uint32_t updates) {
  unsigned long long* quartic = pending_sums_.data() + systems_;
  if (swendsen_wang_) {
    swendsen_wang_->run(shares_, updates, quartic);
  } else {
    swendsen_wang_labels_->run(shares_, updates, quartic);
  }
  count_steps(updates);
}

void TeamEngine::run(const Schedule& schedule, std::uint64_t cycles) {
  if (schedule.cluster > 0) prepare_clusters();
  for (DeviceSystems& share : shares_) share.step = static_cast<std::uint32_t>(step_);
  const double start = now();
  team_.use(0);
  PhaseTimer timer(schedule, team_.stream(0));
  // As in CudaEngine: Swendsen-Wang updates alone are made in one go.
  const std::uint64_t together = schedule.local == 0 ? cycles : 1;
  for (std::uint64_t cycle = 0; cycle < cycles; cycle += together) {
    timer.start_local();
    if (schedule.local > 0) local_updates(schedule.local);
    timer.start_cluster();
    if (schedule.cluster > 0) {
      cluster_updates(static_cast<std::uint32_t>(schedule.cluster * together));
    }
    timer.end_cycle();
  }
  if (schedule.cluster > 0) fetch_sums();
  if (swendsen_wang_labels_) {
    const LabelTimes times = swendsen_wang_labels_->take_times();
    work_.steps += times.steps;
    work_.label_passes += times.passes;
  }
  team_.wait();
  const double seconds = now() - start, share = timer.cluster_share();
  work_.cluster_seconds += share * seconds;
  work_.local_seconds += (1 - share) * seconds;
  count(schedule, cycles, 0);
}

void TeamEngine::fetch_sums() {
  team_.use(0);
  const auto sums = pending_sums_.to_host(team_.stream(0));
  pending_sums_.clear(team_.stream(0));
  for (std::size_t who = 0; who < systems_; ++who) {
    const unsigned long long* quartic = sums.data() + systems_ + 2 * who;
    cluster_size_[who] += sums[who];
    cluster_quartic_[who] += WideSum{quartic[1]} << 64 | quartic[0];
  }
}

void TeamEngine::measure(Observation& out) {
  const double start = now();
  const Geometry geometry = Geometry::make(plan_.lattice);
  team_.for_each([&](std::size_t part, cudaStream_t stream) {
    Member& member = members_[part];
    member.measured.clear(stream);
    launch_measure(member.graph->plan(), geometry, shares_[part], member.measured.data(),
                   member.measured.data() + systems_, stream);
  });
  std::vector<unsigned long long> sums(members_.front().measured.size());
  team_.for_each([&](std::size_t part, cudaStream_t stream) {
    const auto counted = members_[part].measured.to_host(stream);
    std::transform(counted.begin(), counted.end(), sums.begin(), sums.begin(), std::plus<>());
  });
  report(sums.data(), largest_counts(sums, systems_).data(), out);
  work_.measure_seconds += now() - start;
}

void TeamEngine::read_part(std::size_t who, std::span<std::uint8_t> out) const {
  team_.use(0);
  spins_.copy_out(std::as_writable_bytes(out), team_.stream(0), who * shares_.front().stride);
  team_.wait();
}

void TeamEngine::write_part(std::size_t who, Bytes spins) {
  team_.use(0);
  spins_.copy_in(std::as_bytes(spins), team_.stream(0), who * shares_.front().stride);
  team_.wait();
}

std::unique_ptr<Engine> make_team_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options) {
  return std::make_unique<TeamEngine>(graph, spec, options);
}

}  // namespace rewise::single
