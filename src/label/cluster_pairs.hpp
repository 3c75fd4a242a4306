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

// Lists the segments of rows with the same two labels, sorts them by the first label (a counting
// sort), and adds the common sites of each cluster of the first configuration with those of the
// second one in an array over these. All loops but that over the starts of segments in a word are
// free of branches: a hash table of pairs took three times as long, because of branches that cannot
// be predicted. Keeps its memory: at most 28 bytes per segment, 4 per cluster of the first
// configuration and 12 per cluster of the second one.
class ClusterPairs {
 public:
  // The sums of two labelled configurations, of n common sites and the sum w of their weights; no
  // fourth powers. Labels: RunTable::parent of each run, at most the number of runs.
  // weight_before: [sites + 1] weights of all sites before one, modulo 2^32, or null: no weights.
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
  std::vector<std::uint32_t> next_;  // [labels of a + 1] place of a cluster's next part
  std::vector<Part> parts_;          // [count_] by a
  std::vector<Common> common_;       // [labels of b]
  std::size_t count_ = 0;
  std::uint32_t labels_a_ = 0, labels_b_ = 0;
};

}  // namespace rewise
