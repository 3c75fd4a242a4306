// Sizes of Wolff clusters: `rewise clusters` without its options and its output (Hawick, Leist &
// Playne 2010, fig. 11).
//
// Cluster by cluster: a cycle has one cluster update, and each is measured. Table "sizes": size,
// density (share per whole number, over logarithmic bins), error. Table "shares": the same in 100
// equal bins, as in the paper. Metrics: the power law density ~ size^-exponent between two sizes
// (exponent of the density of clusters as grown, each in proportion to its size: tau - 1 in
// percolation's terms, so 16/15 at the square lattice's Tc), the mean cluster over N, <m^2> (equal
// in equilibrium), and the shares of clusters above N/2 and below N/100.
#pragma once

#include "src/curves/curve_spec.hpp"
#include "src/study/progress.hpp"

namespace rewise {

// Error(usage) unless every mix has one Wolff update a cycle.
CurveSet measure_clusters(const CurveSpec& spec, const StopToken& stop, Progress& progress);

}  // namespace rewise
