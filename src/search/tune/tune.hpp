// The tuner behind `rewise tune`: finds the schedule M:W with the least variance of U and N^(1/2)
// m^2 per second (TrialFigures::worth), for one graph, temperature, engine and device.
//
//   1. Equilibrium: a mixed schedule runs until replicas with hot and cold start agree and the
//      second half of the run is 10 tau long. Candidates continue from there, because some, such as
//      Wolff alone from a hot start, would not reach equilibrium.
//   2. The race (race.hpp): candidates take turns; hopeless ones are dropped.
//
// With replica exchange between several temperatures, schedules are compared by q^2 of pairs of
// replicas (tune_trial.hpp), so that frustrated systems can be tuned:
//
//   1. Equilibrium: runs of the first candidate, each twice as long as the one before, discard a
//      quarter and measure three quarters, until they pass the checks of `rewise run`
//      (run_check.hpp: starts, halves, doubling windows of q^2 and the link overlap), tau of q^2 is
//      found and at most a tenth of the measurements, and a replica made a round trip.
//   2. The race.
//   3. A last doubling window: q^2 in the race equals that of the equilibration.
//
// If a check fails, there is no result (TuneResult::rejected).
#pragma once

#include <string>
#include <vector>

#include "src/search/tune/tune_trial.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {

// With Wolff: 1:0, 64:1, 16:1, .., 1:1, .., 1:16, 1:64, 1:256, 1:1024, 0:1. A Swendsen-Wang update
// touches every site and costs more than a sweep, so no cycle has several; its optimum is broad:
// 64:1, 16:1, 4:1, 1:1, 0:1. `clusters`: the cluster updates to include.
std::vector<Updates> standard_candidates(std::span<const ClusterUpdate> clusters);
// With replica exchange at the end of each cycle: 1:0, 2:0, 4:0, .., 64:0, then with each of the
// cluster updates 16:1, 4:1, 1:1.
std::vector<Updates> exchange_candidates(std::span<const ClusterUpdate> clusters);
// Cluster updates that an engine supports.
std::vector<ClusterUpdate> clusters_of(EngineKind engine);

struct TuneSetting {
  // One temperature or, if spec.schedule and all candidates have exchange, several. Except exchange
  // and Houdayer moves, its schedule, cluster update and counts are ignored.
  TaskSpec spec;
  std::vector<Updates> candidates;
  EngineOptions options;
  double budget = 30;     // seconds, including equilibration
  RaceRules rules;        // its member `budget` is ignored
  bool improved = false;  // use improved estimators of Swendsen-Wang as control variates (Ising)
};

struct TuneRow {
  Updates candidate;
  TrialFigures figures;
  ContenderRecord record;
  int rank = 0;  // from 1; dropped candidates come last
};

struct TuneResult {
  TaskSpec spec;
  GraphRecord graph;
  std::string device;
  int threads = 0;
  std::vector<TuneRow> rows;      // in the order of the candidates
  std::size_t winner = 0;         // index in rows
  std::vector<std::size_t> tied;  // within two joint errors of the winner
  double seconds = 0, budget = 0;
  std::uint64_t equilibration = 0;  // cycles of the schedule that equilibrated
  Schedule equilibrated_by;
  std::vector<std::string> warnings;
  std::string rejected;  // why the figures are no result: not in equilibrium
  bool exchange() const { return spec.schedule.exchange; }
  const TuneRow& best() const { return rows.at(winner); }
  // Number of candidates that were measured, or dropped because of a too long cycle.
  std::size_t judged() const;
  // Whether best() is a result: it was measured, and so was another candidate, if there is one.
  // With replica exchange, `rejected` must also be empty and its tau known.
  bool has_best() const;
};

// Calls `note` once, after the race, with a line for the user: the best candidate and the number of
// candidates that were dropped or left out. An empty function is not called. Throws
// Error(interrupted) on a stop request; Error(usage, device) as the engines.
TuneResult tune(const TuneSetting& setting, const StopToken& stop,
                const std::function<void(const std::string&)>& note);

// Default number of replicas for tuning: enough to keep the device busy.
std::uint32_t tuning_replicas(const TaskSpec& spec, int device);

}  // namespace rewise
