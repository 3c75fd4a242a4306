// Decides which additional graphs and measurements reduce the error of every observable of one size
// at one p to the target_error with the least work. It is a pure function of the results so far, so
// processes that read the same results take the same step.
//
// The target is the relative error of each of sampling.target_observables at every temperature of
// the size; all of them use the same graphs. Two halves of each graph's replicas determine which
// part of a squared error is thermal noise, which more measurements reduce, and which part is the
// spread between graphs, which only more graphs reduce (at p = 0 all is thermal). meet_goals() of
// analysis/scaling/allocation.hpp finds the additional graphs and measurements with the least work.
// One round adds at most half of the work done so far, because the errors themselves are uncertain.
// If lattice.most_graphs is reached, the target is missed and the step says so. Work is counted in
// attempted single-site updates; see error_source() (target_rounds.hpp).
#pragma once

#include <string>

#include "src/search/target_rounds.hpp"

namespace rewise {

// RoundStep::error is the largest relative error.
struct SweepStep : RoundStep {
  std::string observable;    // of the largest error
  double temperature = 0;    // of the largest error
  double thermal = 0;        // thermal fraction of its square, which more measurements reduce
  std::uint32_t graphs = 0;  // in the next round
  std::uint64_t measure = 0;
};

// For a study with a target_error and target_observables. Needs at least two graphs, all measured
// according to the plan, with `simulated_thermal_noise` if there are two replicas.
SweepStep next_sweep_step(const StudyConfig& config, double p, const SizeData& size);

}  // namespace rewise
