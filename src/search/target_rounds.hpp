// Rounds of a target_error, for `tc` and `sweep`.
//
// Each round decides for every open item what to add (tc/crossings_target.hpp,
// tc/glass_criterion.hpp, sweep/sweep_criterion.hpp) and adds it for all items together, until each
// has reached the target or cannot reach it. A round uses exactly the graphs and measurements that
// the previous round planned, even if the folder contains more. Processes that share or continue a
// folder therefore make the same rounds. For the same reason, cost is counted in work, not in
// seconds.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "analysis/scaling/allocation.hpp"
#include "src/search/size_curves.hpp"
#include "src/settings/config.hpp"

namespace rewise {

// The step of one item in one round: the part common to all searches.
struct RoundStep {
  double error = std::numeric_limits<double>::quiet_NaN();  // relative error so far
  bool reached = false;
  std::string stopped;   // why the target cannot be reached; "": it is reached or may be
  double work_left = 0;  // relative to the work done, until the target or lattice.most_graphs

  bool ended() const { return reached || !stopped.empty(); }
};

// Progress of an item towards target_error.
struct TargetProgress {
  double requested = 0;                                       // relative error
  double reached = std::numeric_limits<double>::quiet_NaN();  // so far
  bool done = false;                                          // RoundStep::reached, last step
  int rounds = 0;
  std::string stopped;  // why the target is missed; "": it is reached, or the study continues

  void note(const RoundStep& step) {
    reached = step.error;
    done = step.reached;
    stopped = step.stopped;
  }
};

// Graphs and measurements of a size before the first round.
struct SizeBefore {
  std::uint32_t graphs = 0;
  std::uint64_t measurements = 0;

  SizeBefore() = default;
  explicit SizeBefore(const SizeData& size)
      : graphs(static_cast<std::uint32_t>(size.samples.graphs.size())),
        measurements(size.plan.measure) {}
};

// `decide(items)` sets the `step` of each item. `before_round(ended)` is called before each round
// and, with true, after the last one. `add(items)` executes the steps.
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

inline constexpr double kGrowth = 1.5;  // maximum growth of the work in one round
// The same if the errors are known well enough to show that more work is needed.
inline constexpr double kCertainGrowth = 4;
// The last step aims slightly below the target, because predictions have errors.
inline constexpr double kAim = 0.94;  // fraction of the variance that the target allows
// Likely growth of the initial work under a target; used to judge whether tuning pays off.
inline constexpr double kLikelyGrowth = 8;

// A size as a source of errors: its graphs and measurements, the cost of more, and their limits.
// The caller sets covariance and thermal share. Work is counted in attempted single-site updates;
// other updates count by their measured cost (EngineCosts).
ErrorSource error_source(const StudyConfig& config, const SizeData& size);

}  // namespace rewise
