// Runs the tasks of `tc`: finds each p's temperature windows and fills them with graphs.
//
//   1. A coarse scan of the two smallest sizes covers all temperatures at which a rewired lattice
//      could order. The crossing of Binder's U of the two is the first estimate.
//   2. Size by size, smallest first: a short run measures tau_int of m^2, which sets equilibration
//      and measurements; 16 graphs locate the crossing with the previous size, and the window moves
//      until the crossing is well inside. The other graphs of the window run together with the
//      first graphs of the next size. The crossing is the centre of the next size's window.
//   3. With a target_error, rounds add graphs, measurements and sizes (tc_target.hpp).
//
// All p take these steps together or, on a CPU, in several concurrent searches, so that no thread
// is idle at the end of a step.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/search/rounds.hpp"
#include "src/search/size_curves.hpp"
#include "src/study/study.hpp"

namespace rewise {

// Contribution of one size to the error of Tc after the last round, and what the rounds added to
// it.
struct SizeTarget {
  double share = 0;    // fraction of the statistical variance of Tc
  double thermal = 0;  // part of `share` that more measurements of the same graphs reduce
  std::uint32_t graphs_before = 0;  // 0: the target added this size
  std::uint64_t measurements_before = 0;
};

// Progress of one p; `done` includes the margin of tc_target.hpp.
struct TargetState : TargetProgress {
  std::vector<SizeTarget> sizes;
};

struct PointData {
  double p = 0;
  std::vector<SizeData> sizes;        // ascending in sites; empty if p has no crossings
  std::vector<std::string> warnings;  // one line each
  std::string window;                 // why the last size's window contains no crossing, or ""
  std::optional<TargetState> target;
};

// Receives all points when a search with new results begins a round of its target, after all
// searches have begun their first. Calls do not overlap.
using TcInterim = std::function<void(const std::vector<PointData>&)>;

// Whether crossings or peaks can give Tc(p). Crossings cannot in one dimension at p = 0, and not if
// sizes = "auto" gives lattices with fewer than 100 shortcuts.
bool crossings_reach(const StudyConfig& config, double p);

// Whether `tc` uses crossings of overlaps (glass_tc.hpp): for models with couplings, if the
// configuration requests it or the tree condition does not apply.
bool by_glass_crossings(const StudyConfig& config);

// Throws Error(usage), with the file, for fewer than two sizes or temperatures and for keys of
// sweep.
void check_tc_config(const StudyConfig& config, const std::string& file);

// The default method: both, if a target error is given for which the tree condition costs little
// compared with the crossings.
TcMethod tc_method(const StudyConfig& config);

// The configuration of `tc`: checked, with one schedule and cluster update per p. With couplings,
// its method is the tree condition, unless it uses crossings of overlaps. Sums over pairs of
// clusters are computed on the CPU only.
StudyConfig tc_config(const StudyConfig& config, const std::string& file);

// Returns the data of each p of the configuration. Throws Error(interrupted) as Study::run(), after
// calling `interrupted` with measured graphs, sizes with at least two of them, and p with at least
// two such sizes.
std::vector<PointData> search_tc(Study& study, const StopToken& stop, Progress& progress,
                                 const TcInterim& interim = {}, const TcInterim& interrupted = {});

}  // namespace rewise
