#include "src/label/cluster_pairs.hpp"

#include <bit>
#include <utility>

namespace rewise {

// Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
void ClusterPairs::add(const Pair& part) {
  if (2 * used_ >= table_.size()) grow();
  std::size_t at = (part.labels * 0x9E3779B97F4A7C15u) >> shift_;
  while (table_[at].labels != part.labels) {
    if (table_[at].labels == kNone) {
      table_[at] = part;
      ++used_;
      return;
    }
    at = (at + 1) & (table_.size() - 1);
  }
  table_[at].sites += part.sites;
  table_[at].weight += part.weight;
}

void ClusterPairs::grow() {
  const std::vector<Pair> before = std::exchange(
      table_, std::vector<Pair>(table_.empty() ? 1024 : 2 * table_.size(), Pair{kNone, 0, 0}));
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(table_.size()));
  used_ = 0;
  for (const Pair& pair : before) {
    if (pair.labels != kNone) add(pair);
  }
}

ClusterSums ClusterPairs::sums(const RunTable& a, const RunTable& b,
                               const std::uint32_t* weight_before) {
  const auto weight = [weight_before](std::uint64_t site) {
    return weight_before == nullptr ? 0 : weight_before[site];
  };
  std::uint64_t run_a = 0, run_b = 0, since = 0;
  Pair open{kNone, 0, 0};  // current pair of clusters, with its common sites before `since`
  const auto extend = [&](std::uint64_t end) {
    open.sites += static_cast<std::uint32_t>(end - since);
    open.weight += weight(end) - weight(since);
    since = end;
  };
  for (std::uint64_t row = 0; row < a.rows; ++row) {
    for (std::uint64_t w = 0; w < a.row_words; ++w) {
      const std::uint64_t at = row * a.row_words + w;
      const std::uint64_t starts_a = a.words[at].starts, starts_b = b.words[at].starts;
      for (std::uint64_t rest = starts_a | starts_b; rest != 0; rest &= rest - 1) {
        const auto x = static_cast<unsigned>(std::countr_zero(rest));
        run_a += starts_a >> x & 1u;  // the runs that have begun
        run_b += starts_b >> x & 1u;
        const std::uint64_t labels = std::uint64_t{a.parent[run_a - 1]} << 32 | b.parent[run_b - 1];
        if (labels == open.labels) continue;
        extend(row * a.length + 64 * w + x);
        if (open.labels != kNone) add(open);
        open = {labels, 0, 0};
      }
    }
  }
  extend(a.rows * a.length);
  add(open);
  ClusterSums sums;
  for (Pair& pair : table_) {
    if (pair.labels == kNone) continue;
    const std::uint64_t n = pair.sites, of_pair = pair.weight;
    sums += {n * n, 0, n * of_pair, of_pair * of_pair};
    pair.labels = kNone;
  }
  used_ = 0;
  return sums;
}

}  // namespace rewise
