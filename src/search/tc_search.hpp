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

#include "src/search/size_curves.hpp"
#include "src/search/target_rounds.hpp"
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

struct TcData {
  double p = 0;
  std::vector<SizeData> sizes;        // ascending in sites; empty if p has no crossings
  std::vector<std::string> warnings;  // one line each
  std::string window;                 // why the last size's window contains no crossing, or ""
  std::optional<TargetState> target;
};

// Receives all points before a round of a target_error, if there are new results. The first call
// comes once every search has begun its first round. Calls do not overlap.
using TcInterim = std::function<void(const std::vector<TcData>&)>;

// Whether crossings or peaks can give Tc(p). Crossings cannot if Tc = 0 (one dimension, p = 0), or
// if sizes = "auto" and the smallest lattice has fewer than 100 shortcuts.
bool crossings_reach(const StudyConfig& config, double p);

// Whether `tc` uses crossings of overlaps (glass_tc.hpp): for models with couplings, if the
// configuration requests it or the tree condition does not apply.
bool by_glass_crossings(const StudyConfig& config);

// Throws Error(usage), with the name of the file, if there are fewer than two sizes or
// temperatures, or if a key is for `sweep` only.
void check_tc_config(const StudyConfig& config, const std::string& file);

// The method of the configuration. The default is both methods if the target error is so small that
// the tree condition costs little compared with the crossings; otherwise crossings.
TcMethod tc_method(const StudyConfig& config);

// The configuration of `tc`: checked, with one schedule and cluster update per p. With couplings,
// its method is the tree condition, unless it uses crossings of overlaps.
StudyConfig tc_config(const StudyConfig& config, const std::string& file);

// Returns the data of each p of the configuration. On a stop request, calls `interrupted` with the
// graphs that were measured, without sizes that have fewer than two of them and without p that have
// fewer than two such sizes. Then throws Error(interrupted), as Study::run() does.
std::vector<TcData> search_tc(Study& study, const StopToken& stop, Progress& progress,
                              const TcInterim& interim, const TcInterim& interrupted);

}  // namespace rewise
