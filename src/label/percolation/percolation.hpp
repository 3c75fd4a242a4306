// Site and bond percolation on regular and rewired lattices: wrapping probabilities, the largest
// cluster and the mean size of the others as functions of the occupation, sampled directly.
//
// A sample has one draw per bond or site (occupy.hpp) which all occupations share: curves are
// smooth, errors are those of every point alone. Samples are kept in blocks; errors are jackknife
// over blocks. On rewired lattices every block has a graph of its own, so that errors hold the
// spread between graphs. Where none or all of n samples wrap, blocks do not differ: the error is
// then the standard deviation of a share of which 0 or n were seen, all shares being equally
// likely before (Laplace: Beta(1, n + 1)), sqrt((n + 1)/(n + 3))/(n + 2), about 1/n; it is towards
// the inside. Where nothing is left to chance, at occupations of 0 and 1, it is 0.
//
// Wrapping (cluster_counts.hpp) means something on regular lattices only. On the square torus at
// p_c it is exact in the limit of large sizes: either direction 0.690473725, both 0.351642855, one
// given direction 0.521058290 (Pinson 1994; Newman & Ziff 2001), for bonds (p_c = 1/2) and sites
// (p_c = 0.59274605) alike. Elsewhere sizes are compared by the ratio <s_max>^2 / <s_max^2>.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/scaling/crossing.hpp"
#include "analysis/series/statistics.hpp"
#include "graphs/graph.hpp"

namespace rewise {

enum class PercolationKind { bond, site };

struct PercolationSpec {
  PercolationKind kind = PercolationKind::bond;
  std::vector<GraphSpec> sizes;    // seed: of the first block's graph, the others' follow
  std::vector<double> occupation;  // ascending, 0..1
  std::uint32_t blocks = 32;       // 2 or more; rewired: graphs per size
  std::uint32_t samples = 32;      // per block
  std::uint64_t seed = 1;
  int threads = 1;
};

// Per size and occupation. Shares are of all sites.
struct PercolationPoint {
  Value one, either, all;  // a cluster wraps: a given direction (mean over them), any, every one
  Value largest;           // <s_max> / N
  Value largest_ratio;     // <s_max>^2 / <s_max^2>
  Value mean_size;         // <sum of n^2 over the clusters but the largest> / <occupied sites>
  Value clusters;          // number of clusters / N
};

struct PercolationCurves {
  std::vector<std::uint32_t> extents;
  std::vector<PercolationPoint> points;  // [occupation]
  JackknifeCurve crossing;               // `either`, rewired: `largest_ratio`; over -occupation
};

// `done` is called after each block, from one thread at a time, with the share of all work;
// returning false ends the sampling, and nothing is returned.
std::optional<std::vector<PercolationCurves>> sample_percolation(
    const PercolationSpec& spec, const std::function<bool(double)>& done);

// Where the curves of two sizes cross, and the height there.
struct PercolationCrossing {
  std::size_t smaller = 0, larger = 0;  // indices of the sizes
  CrossingStatus status = CrossingStatus::none;
  Value occupation, height;
};
// Of consecutive sizes; needs 4 occupations.
std::vector<PercolationCrossing> percolation_crossings(
    const std::vector<PercolationCurves>& curves);

// Thresholds of hypercubic lattices from the literature, where known (d = 2..4), and the exponent
// nu that scales the width of the transition, L^(-1/nu).
struct KnownPercolation {
  double threshold, nu;
};
std::optional<KnownPercolation> known_percolation(PercolationKind kind, int dim);

inline constexpr double kWrapsEither = 0.690473725, kWrapsBoth = 0.351642855,
                        kWrapsOne = 0.521058290;

}  // namespace rewise
