// Crossings of the overlap curves of consecutive sizes, which tend to the spin-glass transition as
// the sizes grow: of U_q and of N^x [<q^2>]. x = 2/3 with shortcuts (mean field); x = (1 + eta)/3
// on the cubic lattice (glass_eta in analysis/scaling/regular_lattice.hpp).
#pragma once

#include <vector>

#include "analysis/scaling/crossing.hpp"
#include "src/search/study_point.hpp"

namespace rewise {

// What crossings of the overlaps of consecutive sizes mean for the couplings of a study:
//   none       nothing (no couplings of both signs, or a field: there is no spin glass, or
//              overlaps scale differently)
//   glass      T_SG (couplings of mean 0)
//   any_order  the temperature of the first order to set in, ferromagnetic or spin glass
enum class OverlapCrossings { none, glass, any_order };
OverlapCrossings overlap_crossings_of(const StudyConfig& config);

// Empty for sizes without overlaps, with one graph, or with values at fewer than four temperatures.
// `sizes`: ascending in sites; `curves`: [size]. Errors by jackknife over graphs.
std::vector<Crossing> overlap_crossings(double p, const std::vector<SizeData>& sizes,
                                        const std::vector<SizeAverages>& averages);

}  // namespace rewise
