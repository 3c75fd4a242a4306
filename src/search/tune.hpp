// `rewise tune` without its options and output: which schedule M:W leaves the least variance of U
// and N^(1/2) m^2 after a second (TrialFigures::worth), for one graph, temperature, engine and
// device.
//
//   1. Equilibrium: a mixed schedule until the replicas that started hot and cold agree and the
//      second half of the run is 10 tau long. Candidates go on from there, so none has to find
//      equilibrium by itself (Wolff alone would not, from a hot start).
//   2. The race (race.hpp): candidates take turns; the hopeless get no more of them.
#pragma once

#include <string>
#include <vector>

#include "src/search/tune_trial.hpp"
#include "src/study/task.hpp"

namespace rewise {

// 1:0, 64:1, 16:1, .., 1:1, .., 1:16, 1:64, 1:256, 1:1024, 0:1 with Wolff. Swendsen-Wang's update
// touches every site and costs more than a sweep, so no cycle has several; and its optimum is
// broad: 64:1, 16:1, 4:1, 1:1, 0:1. `clusters`: which of the two.
std::vector<Candidate> standard_candidates(std::span<const ClusterUpdate> clusters);
// What an engine offers.
std::vector<ClusterUpdate> clusters_of(EngineKind engine);

struct TuneSetting {
  TaskSpec spec;  // one temperature; schedule, cluster and counts are not looked at
  std::vector<Candidate> candidates;
  EngineOptions options;
  double budget = 30;     // seconds, the way to equilibrium included
  RaceRules rules;        // but its budget
  bool improved = false;  // who asks takes Swendsen-Wang's improved estimators as controls (Ising)
};

struct TuneRow {
  Candidate candidate;
  TrialFigures figures;
  ContenderRecord record;
  int rank = 0;  // from 1; dropped candidates come last
};

struct TuneResult {
  TaskSpec spec;
  GraphRecord graph;
  std::string device;
  int threads = 0;
  std::vector<TuneRow> rows;      // as the candidates
  std::size_t winner = 0;         // of rows
  std::vector<std::size_t> tied;  // within two joint errors of the winner
  double seconds = 0, budget = 0;
  std::uint64_t equilibration = 0;  // cycles of the schedule that was used for it
  Schedule equilibrated_by;
  std::vector<std::string> warnings;
  const TuneRow& best() const { return rows.at(winner); }
  // Candidates of which something is known: measured, or dropped for a cycle that is too long.
  std::size_t judged() const;
  // Whether best() is a finding: it was measured, and another one was judged if there is one.
  bool has_best() const;
};

// `note` takes one line for people as candidates drop out (it may be empty). Error(interrupted)
// when told to stop; Error(usage, device) as the engines.
TuneResult tune(const TuneSetting& setting, const StopToken& stop,
                const std::function<void(const std::string&)>& note);

// Replicas that keep a device busy: what tuning takes where it is not told.
std::uint32_t tuning_replicas(const TaskSpec& spec, int device);

}  // namespace rewise
