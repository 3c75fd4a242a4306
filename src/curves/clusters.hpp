// Size distribution of Wolff clusters (Hawick, Leist & Playne 2010, fig. 11). This is the
// computation of `rewise clusters`; its options and output are in
// experiments/commands/clusters_command.cpp.
//
// A cycle has one cluster update, and each cluster is measured. Table "sizes": size, density
// (fraction per unit of size, in logarithmic bins), error. Table "shares": the same in 100 equal
// bins, as in the paper. Metrics: the power law density ~ size^-exponent between two sizes (a grown
// cluster is chosen in proportion to its size, so exponent = tau - 1 of percolation: 16/15 at the
// square lattice's Tc), the mean cluster over N and <m^2> (equal in equilibrium), and the fractions
// of clusters above N/2 and below N/100.
#pragma once

#include "src/curves/curve_spec.hpp"
#include "src/study/progress.hpp"

namespace rewise {

// Throws Error(usage) unless every mix has one Wolff update per cycle.
CurveSet measure_clusters(const CurveSpec& spec, const StopToken& stop, Progress& progress);

}  // namespace rewise
