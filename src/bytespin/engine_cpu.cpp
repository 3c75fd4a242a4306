#include "src/bytespin/engine_cpu.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>

#include "src/base/all_cores.hpp"
#include "src/base/clock.hpp"
#include "src/base/stop.hpp"
#include "src/bytespin/local/local.hpp"
#include "src/bytespin/local/observe.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang.hpp"
#include "src/bytespin/wolff/few_cluster.hpp"
#include "src/bytespin/wolff/wolff.hpp"

namespace rewise::bytespin {

CpuEngine::CpuEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
    : BytespinEngine(graph, spec),
      options_(options),
      threads_(options.threads > 0 ? options.threads : omp_get_max_threads()),
      spins_(replicas_ * tables_.sites),
      workers_(static_cast<std::size_t>(threads_)) {
  on_threads(threads_to_use(), replicas_, [&](std::size_t replica, int) {
    check_stop();
    const bool hot = starts_hot(spec_.start, static_cast<std::uint32_t>(replica % spec_.replicas));
    start_spins(tables_, spec_.seed, static_cast<std::uint32_t>(replica), hot, 0, tables_.sites,
                spins_of(replica).data());
  });
}

bool CpuEngine::local_update(std::size_t t, const DrawKey& key, StopPoll& poll,
                             LocalScratch& scratch, std::span<std::uint8_t> spins,
                             SweepPosition& position) const {
  return local_sweep(tables_, tables_.thresholds[t], spec_.local, key, poll, scratch, spins,
                     position);
}

std::unique_ptr<ClusterUpdater> CpuEngine::make_cluster_updater() const {
  const UpdateMethods& methods = options_.methods;
  if (is_few_cluster()) return make_few_cluster(tables_, FewClusterRule(tables_.graph, spec_));
  if (is_wolff() && methods.wolff != WolffMethod::ccl) return make_wolff(tables_);
  return make_labelled_clusters(tables_, is_wolff(), methods.label, methods.label_tile);
}

ClusterUpdater& CpuEngine::updater_of(int thread) {
  Worker& worker = workers_[static_cast<std::size_t>(thread)];
  if (!worker.clusters) worker.clusters = make_cluster_updater();
  return *worker.clusters;
}

// Advances a replica to `steps` steps beyond step_, unless stopped.
void CpuEngine::advance_replica(std::size_t replica, const Schedule& schedule, std::uint64_t steps,
                                StopPoll& poll, int thread) {
  Worker& worker = workers_[static_cast<std::size_t>(thread)];
  const std::size_t t = replica / spec_.replicas;
  const std::span<std::uint8_t> spins = spins_of(replica);
  SweepPosition position = positions_[replica];
  ClusterSums sums;
  std::uint32_t done = steps_ahead_[replica];
  DrawKey key{spec_.seed, static_cast<std::uint32_t>(replica),
              static_cast<std::uint32_t>(step_ + done)};
  bool stopped = false;
  while (done < steps && !stopped) {
    const std::uint64_t in_cycle = done % schedule.steps_per_cycle();
    auto begin = now();
    for (std::uint64_t m = in_cycle; m < schedule.local && !stopped; ++m, ++done, ++key.step) {
      stopped = !local_update(t, key, poll, worker.local, spins, position);
      if (stopped) break;
      worker.work.local_attempts += tables_.sites;
      stopped = poll.stopped();
    }
    worker.work.local_seconds += now() - begin;
    if (stopped) break;
    begin = now();
    for (std::uint64_t w = std::max<std::uint64_t>(in_cycle, schedule.local);
         w < schedule.updates_per_cycle() && !stopped; ++w, ++done, ++key.step) {
      const auto update_sums = updater_of(thread).update(t, key, poll, spins, worker.work);
      stopped = !update_sums;
      if (stopped) break;
      sums += *update_sums;
      ++worker.work.cluster_updates;
      stopped = poll.must_stop(is_wolff() ? 64 : tables_.sites / 64);
    }
    worker.work.cluster_seconds += now() - begin;
  }
  steps_ahead_[replica] = done;
  positions_[replica] = position;
  cluster_size_[replica] += sums.square;
  if (is_swendsen_wang()) cluster_quartic_[replica] += sums.quartic;
}

bool CpuEngine::advance_to(const Schedule& schedule, std::uint64_t steps) {
  const auto begin = now();
  std::atomic<bool> stopped{false};
  on_threads(threads_to_use(), replicas_, [&](std::size_t replica, int thread) {
    StopPoll poll(options_, stopped);
    if (!poll.stopped()) advance_replica(replica, schedule, steps, poll, thread);
  });
  // The threads' times overlap, so they only give the ratio that divides the wall-clock time.
  WorkCounters sum;
  for (Worker& worker : workers_) {
    sum.local_seconds += worker.work.local_seconds;
    sum.cluster_seconds += worker.work.cluster_seconds;
    sum.phases += worker.work.phases;
    work_.local_attempts += worker.work.local_attempts;
    work_.cluster_updates += worker.work.cluster_updates;
    work_.cluster_sites += worker.work.cluster_sites;
    work_.label_passes += worker.work.label_passes;
    worker.work = {};
  }
  const double busy = sum.local_seconds + sum.cluster_seconds;
  const double fraction = busy > 0 ? (now() - begin) / busy : 0;
  work_.local_seconds += fraction * sum.local_seconds;
  work_.cluster_seconds += fraction * sum.cluster_seconds;
  work_.phases += fraction * sum.phases;
  return *std::min_element(steps_ahead_.begin(), steps_ahead_.end()) >= steps;
}

bool CpuEngine::advance(const Schedule& schedule, std::uint64_t cycles) {
  check_schedule(schedule);
  const std::uint64_t steps = check_steps(schedule, cycles);
  const std::uint64_t closing = schedule.closing_steps();
  const auto to = [&](std::uint64_t end) { return advance_to(schedule, end); };
  const auto close = [&](std::uint32_t step) { close_cycle(schedule, step); };
  const bool arrived =
      closing == 0 ? to(steps) : advance_and_close(options_, schedule, steps, closing, to, close);
  if (!arrived || !all_arrived(steps)) return false;
  step_ += steps;
  if (has_cluster_sums()) cluster_updates_ += cycles * schedule.cluster;
  return true;
}

void CpuEngine::measure(Observation& out) {
  const auto begin = now();
  std::vector<unsigned long long> unequal(replicas_), largest(replicas_);
  on_threads(threads_to_use(), replicas_, [&](std::size_t replica, int) {
    std::vector<std::uint64_t> counts(1 + tables_.states);
    count_spins(tables_, spins_of(replica).data(), 0, tables_.sites, counts);
    unequal[replica] = counts[0];
    largest[replica] = largest_count(tables_, counts);
  });
  fill_observation(unequal.data(), largest.data(), out);
  work_.measure_seconds += now() - begin;
}

}  // namespace rewise::bytespin
