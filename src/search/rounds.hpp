// Rounds of a target_error, for `tc` and `sweep`.
//
// Each round decides for every open item what to add (tc_target.hpp, sweep_target.hpp), and adds it
// for all of them together, until each has reached the target or cannot. A round starts from all
// graphs that the round before planned, measured as planned, whatever more the folder may hold:
// processes that share a folder, or continue it, go through the same rounds. The cost of an item is
// therefore counted in work, not in seconds.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "analysis/scaling/allocation.hpp"
#include "src/search/size_curves.hpp"
#include "src/study/config.hpp"

namespace rewise {

// What one round adds to one item, as far as all searches have it in common.
struct RoundStep {
  double error = std::numeric_limits<double>::quiet_NaN();  // relative, as of now
  bool reached = false;
  std::string stopped;   // why the target cannot be reached; "": it is reached, or may be
  double work_left = 0;  // relative to what was done, to the target or as far as graphs may grow

  bool ended() const { return reached || !stopped.empty(); }
};

// `decide(items)` sets the `step` of each item, `before_round(ended)` is called before each round
// and, with true, after the last one; `add(items)` runs what the steps say.
template <class Item, class Decide, class BeforeRound, class Add>
void run_rounds(std::vector<Item> open, const Decide& decide, const BeforeRound& before_round,
                const Add& add) {
  while (true) {
    decide(open);
    std::erase_if(open, [](const Item& item) { return item.step.ended(); });
    before_round(open.empty());
    if (open.empty()) return;
    add(open);
  }
}

inline constexpr double kGrowth = 1.5;  // of all work, in one round at most
// The same where what is known of the errors says with some certainty that more is needed.
inline constexpr double kCertainGrowth = 4;
// The step that should reach the target aims a little below it: predictions have errors, too.
inline constexpr double kAim = 0.94;  // of the variance that the target leaves
// What a target is likely to make of the graphs that it begins with: what tuning is worth.
inline constexpr double kLikelyGrowth = 8;

// A size as a source of errors, all but covariance and thermal share: what it holds, what more
// graphs and measurements cost and how much more there may be. Work is counted in attempted
// single-site updates; other updates count by their measured cost (EngineCosts).
ErrorSource error_source(const StudyConfig& config, const SizeData& size);

}  // namespace rewise
