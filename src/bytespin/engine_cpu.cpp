// The bytespin engine: T * R replicas side by side, each advanced by one thread at a time.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <atomic>

#include "src/base/all_cores.hpp"
#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/base/stop.hpp"
#include "src/bytespin/wolff/few_cluster.hpp"
#include "src/engine/registry.hpp"
#if defined(REWISE_HAVE_CUDA)
#include "src/bytespin/engine_cuda.hpp"
#endif
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/bytespin_engine.hpp"
#include "src/bytespin/interactions/interaction_engine.hpp"
#include "src/bytespin/local/local.hpp"
#include "src/bytespin/local/observe.hpp"
#include "src/bytespin/methods.hpp"
#include "src/bytespin/shared.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_labels.hpp"
#include "src/bytespin/wolff/wolff.hpp"
#include "src/cuda/devices.hpp"

namespace rewise {
namespace {

using namespace bytespin;

// Work space and counters of a thread.
struct Worker {
  LocalScratch local;
  std::unique_ptr<WolffScratch> wolff;
  std::unique_ptr<SwendsenWangScratch> swendsen_wang;
  std::unique_ptr<FewClusterScratch> few_cluster;
  WorkCounters work;
  // Per replica: its position within a sweep and the cluster sums of this call.
  SweepPosition position;
  std::uint64_t cluster_size = 0;
  WideSum cluster_quartic = 0;
};

class CpuEngine final : public BytespinEngine {
 public:
  CpuEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options);

  std::string_view device() const override { return "cpu"; }
  int threads() const override { return threads_; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) override;
  void measure(Observation& out) override;

 private:
  std::span<std::uint8_t> spins_of(std::size_t replica) {
    return {spins_.data() + replica * plan_.sites, plan_.sites};
  }
  void read_part(std::size_t replica, std::span<std::uint8_t> out) const override {
    std::copy_n(spins_.data() + replica * plan_.sites, plan_.sites, out.begin());
  }
  void write_part(std::size_t replica, Bytes spins) override {
    std::copy(spins.begin(), spins.end(), spins_of(replica).begin());
  }
  void start();
  std::uint32_t advance_replica(std::size_t replica, const Schedule& schedule, std::uint64_t steps,
                                StopPoll& poll, Worker& worker);
  // Makes one update. Returns false if it was stopped.
  bool local_update(std::size_t replica, const DrawKey& key, StopPoll& poll, Worker& worker);
  bool cluster_update(std::size_t replica, const DrawKey& key, StopPoll& poll, Worker& worker);
  bool few_clusters(std::size_t replica, const DrawKey& key, StopPoll& poll, Worker& worker);
  // Calls f(replica, worker) for all replicas, spread over the threads.
  template <class F>
  void for_each_replica(F&& f);

  const EngineOptions options_;
  const UpdateMethods methods_;
  int threads_;
  const FewClusterRule few_cluster_rule_;
  std::vector<std::uint8_t> spins_;  // [T][R][sites]
  std::vector<Worker> workers_;      // [threads]
};

CpuEngine::CpuEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
    : BytespinEngine(graph, spec),
      options_(options),
      methods_(options.methods),
      threads_(options.threads > 0 ? options.threads : omp_get_max_threads()),
      few_cluster_rule_(graph, spec),
      spins_(replicas_ * plan_.sites),
      workers_(static_cast<std::size_t>(threads_)) {
  start();
}

template <class F>
void CpuEngine::for_each_replica(F&& f) {
  on_threads(threads_now(options_, threads_), replicas_, [&](std::size_t replica, int thread) {
    f(replica, workers_[static_cast<std::size_t>(thread)]);
  });
}

void CpuEngine::start() {
  for_each_replica([&](std::size_t replica, Worker&) {
    check_stop();
    const bool hot = starts_hot(spec_.start, static_cast<std::uint32_t>(replica % spec_.replicas));
    start_spins(plan_, spec_.seed, static_cast<std::uint32_t>(replica), hot, 0, plan_.sites,
                spins_of(replica).data());
  });
}

bool CpuEngine::local_update(std::size_t replica, const DrawKey& key, StopPoll& poll,
                             Worker& worker) {
  const Tables& tables = plan_.tables[replica / spec_.replicas];
  return local_sweep(plan_, tables, spec_.local, key, poll, worker.local, spins_of(replica),
                     worker.position);
}

bool CpuEngine::cluster_update(std::size_t replica, const DrawKey& key, StopPoll& poll,
                               Worker& worker) {
  const Tables& tables = plan_.tables[replica / spec_.replicas];
  if (spec_.cluster == ClusterUpdate::few_cluster) return few_clusters(replica, key, poll, worker);
  const bool by_labels = !is_wolff() || methods_.wolff == WolffMethod::ccl;
  if (by_labels && !worker.swendsen_wang) {
    worker.swendsen_wang =
        std::make_unique<SwendsenWangScratch>(plan_, methods_.label, methods_.label_tile);
  }
  if (is_wolff()) {
    if (!by_labels && !worker.wolff) worker.wolff = std::make_unique<WolffScratch>(plan_);
    const std::uint64_t size =
        by_labels ? wolff_by_labels(plan_, tables, key, poll, *worker.swendsen_wang,
                                    spins_of(replica), worker.work.phases)
                  : wolff_update(plan_, tables, key, poll, *worker.wolff, spins_of(replica));
    worker.cluster_size += size;
    worker.work.cluster_sites += size;
    return size > 0;
  }
  const auto sums = swendsen_wang_update(plan_, tables, key, poll, *worker.swendsen_wang,
                                         spins_of(replica), worker.work.phases);
  if (!sums) return false;
  worker.cluster_size += sums->square;
  worker.cluster_quartic += sums->quartic;
  worker.work.cluster_sites += plan_.sites;
  return true;
}

bool CpuEngine::few_clusters(std::size_t replica, const DrawKey& key, StopPoll& poll,
                             Worker& worker) {
  if (!worker.few_cluster) worker.few_cluster = std::make_unique<FewClusterScratch>(plan_);
  const FewClusterSums sums =
      few_cluster_update(plan_, few_cluster_rule_, plan_.tables[replica / spec_.replicas], key,
                         poll, *worker.few_cluster, spins_of(replica));
  worker.cluster_size += sums.square;
  worker.work.cluster_sites += sums.visited;
  return sums.visited > 0;
}

// Advances a replica to `steps` steps beyond step_, unless stopped. Returns the steps made.
std::uint32_t CpuEngine::advance_replica(std::size_t replica, const Schedule& schedule,
                                         std::uint64_t steps, StopPoll& poll, Worker& worker) {
  std::uint32_t done = steps_ahead_[replica];
  DrawKey key{spec_.seed, static_cast<std::uint32_t>(replica),
              static_cast<std::uint32_t>(step_ + done)};
  bool stopped = false;
  while (done < steps && !stopped) {
    const std::uint64_t in_cycle = done % schedule.steps_per_cycle();
    auto begin = now();
    for (std::uint64_t m = in_cycle; m < schedule.local && !stopped; ++m) {
      if (!local_update(replica, key, poll, worker)) return done;
      ++done;
      ++key.step;
      worker.work.local_attempts += plan_.sites;
      stopped = poll.stopped();
    }
    worker.work.local_seconds += now() - begin;
    if (stopped) break;
    begin = now();
    for (std::uint64_t w = std::max<std::uint64_t>(in_cycle, schedule.local);
         w < schedule.steps_per_cycle() && !stopped; ++w) {
      if (!cluster_update(replica, key, poll, worker)) return done;
      ++done;
      ++key.step;
      ++worker.work.cluster_updates;
      stopped = poll.must_stop(is_wolff() ? 64 : plan_.sites / 64);
    }
    worker.work.cluster_seconds += now() - begin;
  }
  return done;
}

bool CpuEngine::advance(const Schedule& schedule, std::uint64_t cycles) {
  const std::uint64_t steps = check_steps(schedule, cycles);
  const auto begin = now();
  std::atomic<bool> stopped{false};
  for_each_replica([&](std::size_t replica, Worker& worker) {
    StopPoll poll(options_, stopped);
    if (poll.stopped()) return;
    worker.position = positions_[replica];
    worker.cluster_size = 0;
    worker.cluster_quartic = 0;
    steps_ahead_[replica] = advance_replica(replica, schedule, steps, poll, worker);
    positions_[replica] = worker.position;
    cluster_size_[replica] += worker.cluster_size;
    if (is_swendsen_wang()) cluster_quartic_[replica] += worker.cluster_quartic;
  });
  // The threads' times overlap, so they only give the ratio that divides the wall-clock time.
  WorkCounters sum;
  std::uint64_t passes = 0;
  for (Worker& worker : workers_) {
    sum.local_seconds += worker.work.local_seconds;
    sum.cluster_seconds += worker.work.cluster_seconds;
    sum.phases += worker.work.phases;
    work_.local_attempts += worker.work.local_attempts;
    work_.cluster_updates += worker.work.cluster_updates;
    work_.cluster_sites += worker.work.cluster_sites;
    worker.work = {};
    if (worker.swendsen_wang && worker.swendsen_wang->labels) {
      passes += worker.swendsen_wang->labels->labeller.passes();
    }
  }
  work_.label_passes = passes;
  const double busy = sum.local_seconds + sum.cluster_seconds;
  const double fraction = busy > 0 ? (now() - begin) / busy : 0;
  work_.local_seconds += fraction * sum.local_seconds;
  work_.cluster_seconds += fraction * sum.cluster_seconds;
  work_.phases += fraction * sum.phases;
  if (!all_arrived(steps)) return false;
  step_ += steps;
  cluster_updates_ += cycles * schedule.cluster;
  return true;
}

void CpuEngine::measure(Observation& out) {
  const auto begin = now();
  out.clear();
  out.bond_sum.resize(replicas_);
  out.magnetisation.resize(replicas_);
  for_each_replica([&](std::size_t replica, Worker&) {
    out.bond_sum[replica] = bond_sum(plan_, spins_of(replica));
    out.magnetisation[replica] = magnetisation(plan_, spins_of(replica));
  });
  move_cluster_sums(out);
  work_.measure_seconds += now() - begin;
}

}  // namespace

std::unique_ptr<Engine> make_bytespin_engine(const Graph& graph, const EngineSpec& spec,
                                             const EngineOptions& options) {
  check_spec(graph, spec);
  const UpdateMethods& methods = options.methods;
  tile_edge(methods.label, graph.lattice().dim, methods.label_tile);
  if (options.threads < 0) {
    throw Error(ExitCode::usage, fmt::format("{} threads: out of range (0 or more; 0 = all cores)",
                                             options.threads));
  }
  const bool interacting = !spec.model.is_ferromagnet() || spec.exchange;
  if (interacting && !options.devices.empty()) {
    throw Error(
        ExitCode::usage,
        "several devices cannot share replicas with couplings, fields or replica exchange (use one "
        "device)");
  }
  if (options.device >= 0 || !options.devices.empty()) {
#if defined(REWISE_HAVE_CUDA)
    if (interacting) return make_interaction_cuda_engine(graph, spec, options);
    if (!options.devices.empty()) return make_bytespin_on_threads(graph, spec, options);
    return make_cuda_engine(graph, spec, options);
#else
    no_cuda();
#endif
  }
  if (options.ranks > 1) return make_bytespin_on_threads(graph, spec, options);
  if (const std::string why = kMethods.why_not(options.methods, false, false); !why.empty()) {
    throw Error(ExitCode::usage, why);
  }
  if (interacting) return make_interaction_engine(graph, spec, options);
  return std::make_unique<CpuEngine>(graph, spec, options);
}

}  // namespace rewise
