// Sums over the clusters of one configuration, for improved estimators.
#pragma once

#include <cstdint>
#include <span>

#include "src/base/wide_sum.hpp"

namespace rewise {

// n are the clusters' sizes, w the sums of their sites' weights (graphs/bare.hpp).
struct ClusterSums {
  std::uint64_t square = 0;         // sum n^2
  WideSum quartic = 0;              // 3 (sum n^2)^2 - 2 sum n^4
  std::uint64_t cross = 0;          // sum n w
  std::uint64_t weight_square = 0;  // sum w^2

  ClusterSums& operator+=(const ClusterSums& other) {
    square += other.square;
    quartic += other.quartic;
    cross += other.cross;
    weight_square += other.weight_square;
    return *this;
  }
};

// Sums for clusters of these sizes; zeros do not count.
inline ClusterSums cluster_sums(std::span<const std::uint32_t> sizes) {
  ClusterSums sums;
  WideSum fourth = 0;
  for (const std::uint64_t n : sizes) {
    const std::uint64_t square = n * n;
    sums.square += square;
    fourth += WideSum{square} * square;
  }
  sums.quartic = 3 * (WideSum{sums.square} * sums.square) - 2 * fourth;
  return sums;
}

}  // namespace rewise
