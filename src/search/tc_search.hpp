// Runs the tasks of `tc`: finds each p's temperature window by itself, then fills it with graphs.
//
//   1. A coarse scan of the two smallest sizes over all temperatures at which any rewired lattice
//      could order. The crossing of Binder's U of the two is the first estimate.
//   2. Size by size, smallest first: a short run measures tau_int of m^2, from which equilibration
//      and measurements follow; 16 graphs locate the crossing with the size before, and the window
//      moves until the crossing is well inside; the remaining graphs fill the window, beside the
//      next size's first ones. The crossing is the centre of the next size's window.
//   3. Under a target_error, rounds add graphs, measurements and sizes (tc_target.hpp).
// All p go through these steps together, or on a CPU in several searches side by side, so that
// there is work for all threads at the end of a step, too.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "src/search/size_curves.hpp"
#include "src/study/study.hpp"

namespace rewise {

// One size's part in the error of Tc, as of the last round, and what the target added to it.
struct SizeTarget {
  double share = 0;    // of the statistical variance of Tc
  double thermal = 0;  // of that share, what more measurements of the same graphs would lower
  std::uint32_t graphs_before = 0;  // 0: the size itself was added
  std::uint64_t measurements_before = 0;
};

// How far one p has come towards the target.
struct TargetState {
  double asked = 0;                                           // relative error
  double reached = std::numeric_limits<double>::quiet_NaN();  // as of now
  bool done = false;  // reached, by more than the error's own uncertainty
  int rounds = 0;
  std::string stopped;  // why the target is missed; "": it is reached, or the study goes on
  std::vector<SizeTarget> sizes;
};

struct PointData {
  double p = 0;
  std::vector<SizeData> sizes;        // ascending in sites; none where nothing is to be found
  std::vector<std::string> warnings;  // one line each
  std::string window;                 // why the last size's window holds no crossing, or ""
  std::optional<TargetState> target;
};

// Sees all points, by one call at a time, from whichever search comes to a round of its target with
// something new, once all have come to their first.
using TcInterim = std::function<void(const std::vector<PointData>&)>;

// Whether there is something to be found at p: not in one dimension at p = 0, and not where
// sizes = "auto" gives lattices with fewer than 100 shortcuts.
bool crossings_reach(const StudyConfig& config, double p);

// Error(usage), naming the file, with fewer than two sizes or fixed temperatures.
void check_tc_config(const StudyConfig& config, const std::string& file);

// One per p of the configuration. Error(interrupted) as Study::run, after `interrupted` has seen
// the points as they are then: with graphs that are not measured, and sizes without any.
std::vector<PointData> search_tc(Study& study, const StopToken& stop, Progress& progress,
                                 const TcInterim& interim = {}, const TcInterim& interrupted = {});

}  // namespace rewise
