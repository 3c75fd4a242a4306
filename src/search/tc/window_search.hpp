// Runs the tasks of `tc` by crossings or peaks: finds each p's temperature windows and fills them
// with graphs.
//
//   1. A coarse scan of the two smallest sizes covers all temperatures at which a rewired lattice
//      could order. The crossing of Binder's U of the two is the first estimate.
//   2. Size by size, smallest first: a short run measures tau_int of m^2, which sets equilibration
//      and measurements; 16 graphs locate the crossing with the previous size, and the window moves
//      until the crossing is well inside. The other graphs of the window run together with the
//      first graphs of the next size. The crossing is the centre of the next size's window.
//   3. With a target_error, rounds add graphs, measurements and sizes (crossings_target.hpp).
//
// For peaks, read "peaks of C and chi" in place of "crossing"; the scan has the smallest size only.
//
// All p take these steps together or, on a CPU, in several concurrent searches, so that no thread
// is idle at the end of a step.
#pragma once

#include <vector>

#include "src/search/study_analysis.hpp"
#include "src/search/tc/window_criterion.hpp"

namespace rewise {

// Returns the data of each p of the configuration. `criterion` decides on the windows. The first
// call of `seen.interim` comes once every search has begun its first round. On a stop request,
// `seen.interrupted` receives the graphs that were measured, without sizes that have fewer than two
// of them and without p that have fewer than two such sizes.
std::vector<WindowPoint> search_windows(Study& study, const StopToken& stop, Progress& progress,
                                        const WindowCriterion& criterion,
                                        const DataHandlers<std::vector<WindowPoint>>& seen);

}  // namespace rewise
