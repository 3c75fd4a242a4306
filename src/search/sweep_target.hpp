// What brings every observable of one size at one p within a target_error for the least work: a
// pure function of the graphs so far, so that every process that sees the same results does the
// same next.
//
// The target is the relative error of every one of sampling.target_observables at every temperature
// of the size. All of them rest on the same graphs. Two halves of each graph's replicas tell how
// much of a squared error is thermal noise, which more measurements lower, and how much the spread
// between graphs, which only graphs do; meet_goals() of analysis/scaling/allocation.hpp finds the
// cheapest growth with which the last of them reaches the target. One round takes at most half as
// much work again as was done, since the errors are only as good as the graphs so far. Adding
// graphs ends with lattice.most_graphs; the target is missed then, and the step says so. Work is
// that of error_source() (rounds.hpp).
#pragma once

#include <string>

#include "src/search/rounds.hpp"

namespace rewise {

// `error`: the largest of all.
struct SweepStep : RoundStep {
  std::string observable;    // of the largest error
  double temperature = 0;    // of the largest error
  double thermal = 0;        // of its square, what more measurements would lower
  std::uint32_t graphs = 0;  // of the next round
  std::uint64_t measure = 0;
};

// Of a study with a target_error and target_observables. Two graphs or more, all measured as the
// plan says, with `simulated_thermal` where there are two replicas.
SweepStep next_sweep_step(const StudyConfig& config, double p, const SizeData& size);

}  // namespace rewise
