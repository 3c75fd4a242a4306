// Network metrics of a graph. Degrees, components and modified cells are exact. Path lengths and
// clustering are means over randomly sampled sites (the same sites for the same graph seed), and
// exact if all sites are sampled.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/graph.hpp"

namespace rewise {

struct MetricsOptions {
  std::uint64_t path_sources = 16;         // sites from which all distances are taken; 0: none
  std::uint64_t clustering_sites = 10000;  // sites whose 4-cycles are counted; 0: none
};

struct GraphMetrics {
  std::vector<std::uint64_t> degree_counts;  // [max degree + 1] number of sites of each degree
  double mean_degree = 0, degree_variance = 0;
  double modified_share = 0;  // modified cells / sites; undefined without a lattice
  double rewired_share = 0;   // rewired bonds / bonds; undefined without a lattice

  std::uint64_t components = 0, largest_component = 0;

  std::uint64_t path_sources = 0;  // sources used; == sites: exact
  double mean_path = 0;            // mean distance of connected pairs of different sites; 0: none
  double mean_path_error = 0;  // standard error over the sources; 0 if exact, NaN with one source
  std::uint32_t diameter = 0;  // longest distance found: a lower bound unless exact

  std::uint64_t clustering_sites = 0;
  double clustering = 0;  // mean over sites of SiteClustering::triangles; errors as for mean_path
  double clustering_error = 0;
  double square_clustering = 0;  // mean over sites of SiteClustering::squares
  double square_clustering_error = 0;
};

// Cost: sites + bonds per path source (distances from one site) and for the components.
GraphMetrics metrics_of(const Graph& graph, const MetricsOptions& options = {});

// Both are 0 for a site of degree below 2.
struct SiteClustering {
  // Joined pairs of neighbours over all pairs (Watts & Strogatz, Nature 393, 440 (1998)). 0 on
  // bipartite graphs, such as rewired lattices of parity `checkerboard`.
  double triangles = 0;
  // Squares that contain the site, over the possible ones given its neighbours' degrees (Zhang et
  // al., Physica A 387, 6869 (2008), eq. 2).
  double squares = 0;
};

class ClusteringCounter {
 public:
  explicit ClusteringCounter(const Graph& graph)
      : graph_(graph), paths_(graph.sites(), 0), near_(graph.sites(), 0) {}
  // Cost: the sum of the degrees of the site's neighbours.
  SiteClustering at(Site site);

 private:
  const Graph& graph_;
  std::vector<std::uint32_t> paths_;  // [sites] two-step paths from the site; 0 between calls
  std::vector<std::uint8_t> near_;    // [sites] 1: a neighbour of the site; 0 between calls
};

// Distances from a site [sites]; 0xFFFFFFFF if there is no path.
std::vector<std::uint32_t> distances_from(const Graph& graph, Site source);

}  // namespace rewise
