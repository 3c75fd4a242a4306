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

// Sums the common sites of each pair of labels in a hash table with linear probing, which keeps its
// memory: at most 64 bytes per stretch of a row with the same two labels.
class ClusterPairs {
 public:
  // The sums of two labelled configurations, of n common sites and the sum w of their weights; no
  // fourth powers. Labels: RunTable::parent of each run, below 2^32 - 1.
  // weight_before: [sites + 1] weights of all sites before one, modulo 2^32, or null: no weights.
  ClusterSums sums(const RunTable& a, const RunTable& b, const std::uint32_t* weight_before);

 private:
  struct Pair {
    std::uint64_t labels;  // kNone: free
    std::uint32_t sites, weight;
  };
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  void add(const Pair& part);
  void grow();

  std::vector<Pair> table_;  // a power of two
  std::size_t used_ = 0;
  unsigned shift_ = 0;
};

}  // namespace rewise
