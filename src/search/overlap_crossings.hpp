// Crossings of the overlap curves of consecutive sizes, which tend to the spin-glass transition as
// the sizes grow: of U_q and, if the network has shortcuts (mean field), of N^(2/3) [<q^2>].
#pragma once

#include <string_view>
#include <vector>

#include "analysis/scaling/crossing.hpp"
#include "src/search/size_curves.hpp"

namespace rewise {

// An observable of overlaps and its symbol in tables; Crossing::observable is its index.
struct CrossingObservable {
  std::string_view name, symbol;
};
const std::vector<CrossingObservable>& crossing_observables();

// Empty for sizes without overlaps, with one graph, or with values at fewer than four temperatures.
// `sizes`: ascending in sites; `curves`: [size]. Errors by jackknife over graphs.
std::vector<Crossing> overlap_crossings(double p, const std::vector<SizeData>& sizes,
                                        const std::vector<SizeCurves>& curves);

}  // namespace rewise
