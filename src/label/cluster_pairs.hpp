// Sums over pairs of clusters, one of each of two configurations of the same graph: improved
// estimators of squared correlations. In two independent Swendsen-Wang configurations
// <s_i s_j>^2 is the probability that sites i and j share a cluster in both, so that
//   sum over i, j of <s_i s_j>^2 = < sum over pairs of clusters of n^2 >,  n their common sites.
#pragma once

#include <cstdint>
#include <vector>

#include "src/label/cluster_sums.hpp"
#include "src/label/run_table.hpp"

namespace rewise {

// Method: divides rows into segments of equal labels in both configurations and sorts the segments
// by their first label (a counting sort). For each cluster of the first configuration, an array
// over the clusters of the second one then accumulates the numbers of common sites. Only the loop
// over the starts of segments in a word has branches; a hash table of pairs took three times as
// long, because its branches are unpredictable. The object keeps its memory: at most 28 bytes per
// segment, 4 per cluster of the first configuration and 12 per cluster of the second one.
class ClusterPairs {
 public:
  // Sums over pairs of clusters of two labelled configurations; n: common sites, w: the sum of
  // their weights. Fourth powers are 0. The label of a run is its RunTable::parent.
  // weight_before[s], [sites + 1]: the sum of the weights of all sites before s, modulo 2^32; null:
  // no weights.
  ClusterSums sums(const RunTable& a, const RunTable& b, const std::uint32_t* weight_before);

 private:
  struct Segment {  // of sites of a row with the same two labels
    std::uint32_t a, b, first_site;
  };
  struct Part {  // the same, with its sites and the sum of their weights
    std::uint32_t a, b, sites, weight;
  };
  struct Common {  // of a cluster of b with cluster a
    std::uint32_t a, sites, weight;
  };

  void list(const RunTable& a, const RunTable& b);
  template <bool kWeighted>
  void sort(const std::uint32_t* weight_before);
  template <bool kWeighted>
  ClusterSums add_up();

  std::vector<Segment> segments_;    // [count_ + 1], the last one marks the end
  std::vector<std::uint32_t> next_;  // [labels of a + 1] index in parts_ of a cluster's next part
  std::vector<Part> parts_;          // [count_] by a
  std::vector<Common> common_;       // [labels of b]
  std::size_t count_ = 0;
  std::uint32_t labels_a_ = 0, labels_b_ = 0;
};

}  // namespace rewise
