#include "src/label/cluster_pairs.hpp"

#include <algorithm>
#include <bit>

namespace rewise {
namespace {

// Makes room for at least `size` elements. The contents are lost if the vector grows.
template <class T>
void make_room(std::vector<T>& list, std::size_t size) {
  if (list.size() >= size) return;
  list.clear();
  list.resize(size + size / 8);
}

}  // namespace

void ClusterPairs::list(const RunTable& a, const RunTable& b) {
  std::size_t most = 1;
  for (std::size_t at = 0; at < a.words.size(); ++at) {
    most += static_cast<std::size_t>(std::popcount(a.words[at].starts | b.words[at].starts));
  }
  make_room(segments_, most);
  Segment* out = segments_.data();
  const std::uint32_t *of_a = a.parent.get(), *of_b = b.parent.get();
  std::uint32_t most_a = 0, most_b = 0;
  for (std::uint64_t row = 0; row < a.rows; ++row) {
    for (std::uint64_t w = 0; w < a.row_words; ++w) {
      const std::uint64_t at = row * a.row_words + w;
      const std::uint64_t starts_a = a.words[at].starts, starts_b = b.words[at].starts;
      std::uint64_t runs_a = a.words[at].before, runs_b = b.words[at].before;  // that have begun
      const std::uint64_t site = row * a.length + 64 * w;
      for (std::uint64_t rest = starts_a | starts_b; rest != 0; rest &= rest - 1) {
        const auto x = static_cast<unsigned>(std::countr_zero(rest));
        runs_a += starts_a >> x & 1u;
        runs_b += starts_b >> x & 1u;
        const std::uint32_t label_a = of_a[runs_a - 1], label_b = of_b[runs_b - 1];
        *out++ = {label_a, label_b, static_cast<std::uint32_t>(site + x)};
        most_a = std::max(most_a, label_a);
        most_b = std::max(most_b, label_b);
      }
    }
  }
  *out = {0, 0, static_cast<std::uint32_t>(a.rows * a.length)};
  count_ = static_cast<std::size_t>(out - segments_.data());
  labels_a_ = most_a + 1;
  labels_b_ = most_b + 1;
}

template <bool kWeighted>
void ClusterPairs::sort(const std::uint32_t* weight_before) {
  make_room(next_, std::size_t{labels_a_} + 1);
  make_room(parts_, count_);
  std::fill_n(next_.data(), std::size_t{labels_a_} + 1, 0u);
  for (std::size_t i = 0; i < count_; ++i) ++next_[segments_[i].a + 1];
  for (std::uint32_t k = 0; k < labels_a_; ++k) next_[k + 1] += next_[k];
  for (std::size_t i = 0; i < count_; ++i) {
    const Segment& one = segments_[i];
    const std::uint32_t end = segments_[i + 1].first_site;
    std::uint32_t weight = 0;
    if constexpr (kWeighted) weight = weight_before[end] - weight_before[one.first_site];
    parts_[next_[one.a]++] = {one.a, one.b, end - one.first_site, weight};
  }
}

// The sum of squares grows by 2 n d + d^2 when d sites are added to n.
template <bool kWeighted>
ClusterSums ClusterPairs::add_up() {
  make_room(common_, labels_b_);
  std::fill_n(common_.data(), labels_b_, Common{~0u, 0, 0});
  std::uint64_t square = 0, cross = 0, weight_square = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const Part& part = parts_[i];
    Common& with = common_[part.b];
    const std::uint32_t keep = with.a == part.a ? ~0u : 0;
    const std::uint64_t sites = with.sites & keep, more = part.sites;
    square += more * (2 * sites + more);
    with.sites = static_cast<std::uint32_t>(sites + more);
    with.a = part.a;
    if constexpr (kWeighted) {
      const std::uint64_t weight = with.weight & keep, heavier = part.weight;
      cross += more * (weight + heavier) + sites * heavier;
      weight_square += heavier * (2 * weight + heavier);
      with.weight = static_cast<std::uint32_t>(weight + heavier);
    }
  }
  return {square, 0, cross, weight_square};
}

ClusterSums ClusterPairs::sums(const RunTable& a, const RunTable& b,
                               const std::uint32_t* weight_before) {
  list(a, b);
  if (weight_before == nullptr) {
    sort<false>(nullptr);
    return add_up<false>();
  }
  sort<true>(weight_before);
  return add_up<true>();
}

}  // namespace rewise
