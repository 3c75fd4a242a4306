#include "src/bytespin/swendsen_wang/slab_clusters.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>

namespace rewise::bytespin {

std::vector<LabelPair> unite_labels(std::span<const LabelPair> edges) {
  std::vector<Site> labels;
  for (const LabelPair& edge : edges) labels.insert(labels.end(), {edge.label, edge.other});
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  std::vector<std::uint32_t> parent(labels.size());
  std::iota(parent.begin(), parent.end(), 0u);
  const auto root_of = [&](Site label) {
    auto at = static_cast<std::uint32_t>(std::lower_bound(labels.begin(), labels.end(), label) -
                                         labels.begin());
    while (parent[at] != at) at = parent[at] = parent[parent[at]];
    return at;
  };
  for (const LabelPair& edge : edges) {
    const std::uint32_t a = root_of(edge.label), b = root_of(edge.other);
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::vector<LabelPair> united;
  for (const Site label : labels) united.push_back({label, labels[root_of(label)]});
  return united;
}

SlabClusters::SlabClusters(const GraphTables& tables, IndexRange slab, std::uint64_t plane,
                           LabelMethod method)
    : tables_(tables),
      first_(slab.first),
      last_(slab.last),
      plane_(plane),
      labels_(tables, slab, method, 0),
      flip_bits_((last_ + 127) / 128 * 2 - first_ / 128 * 2),
      label_(std::make_unique_for_overwrite<Site[]>(slab.size())),
      size_(std::make_unique_for_overwrite<std::uint32_t[]>(slab.size())),
      flip_(std::make_unique_for_overwrite<std::uint8_t[]>(slab.size())) {}

void SlabClusters::label(const Thresholds& thresholds, const DrawKey& key,
                         const std::uint8_t* spins) {
  const EngineOptions to_the_end;
  std::atomic<bool> stopped{false};
  StopPoll poll(to_the_end, stopped);
  WorkCounters work;
  labels_.label(thresholds, key, poll, spins, work);
  std::uint32_t* const parent = labels_.runs.parent.get();
  std::uint32_t run = 0;
  for (std::uint64_t site = first_; site < last_; ++run) {
    const std::uint64_t after = first_ + labels_.runs.run_end(site - first_);
    const std::uint32_t root = parent[run] = parent[parent[run]];
    if (root == run) {
      label_[run] = static_cast<Site>(site);
      size_[run] = 0;
    }
    size_[root] += static_cast<std::uint32_t>(after - site);
    site = after;
  }
}

void SlabClusters::join_to_next_slab(const std::uint8_t* spins, std::span<const Site> next_labels,
                                     std::vector<LabelPair>& edges) const {
  const std::uint64_t length = labels_.runs.length, next = last_ % tables_.sites;
  for (std::uint64_t at = 0; at < plane_; at += length) {
    for (std::uint64_t x = 0; x < length; x += 64) {
      const std::uint64_t from = at + x, a = last_ - plane_ + from;
      std::uint64_t bits = labels_.bonds_to_next_part(spins, a, next + from,
                                                      std::min<std::uint64_t>(64, length - x), x);
      for (; bits != 0; bits &= bits - 1) {
        const auto bit = static_cast<std::uint64_t>(std::countr_zero(bits));
        const LabelPair edge{label_of(static_cast<Site>(a + bit)), next_labels[from + bit]};
        if (edges.empty() || edges.back() != edge) edges.push_back(edge);
      }
    }
  }
}

SlabClusters::Sums SlabClusters::flip(const DrawKey& key, std::span<const LabelPair> united,
                                      std::uint8_t* spins, std::vector<LabelPair>& parts) {
  auto pair =
      std::lower_bound(united.begin(), united.end(), LabelPair{static_cast<Site>(first_), 0});
  for (; pair != united.end() && pair->label < last_; ++pair) {
    const std::uint32_t run =
        labels_.runs.run_at(labels_.runs.place(static_cast<Site>(pair->label - first_)));  // a root
    parts.push_back({pair->other, size_[run]});
    label_[run] = pair->other;
    size_[run] = 0;
  }
  // Draws the bits of all labels of this slab at once: most clusters lie within it.
  for (std::uint64_t item = first_ / 128; !tables_.potts && 128 * item < last_; ++item) {
    const Words4 words = key.words(Stream::bytespin_flip, item);
    flip_bits_[2 * (item - first_ / 128)] = word64(words, 0);
    flip_bits_[2 * (item - first_ / 128) + 1] = word64(words, 1);
  }
  const auto flip_bit = [&](Site label) {
    if (label < first_) return std::uint64_t{bit_draw(key, Stream::bytespin_flip, label)};
    const std::uint64_t bit = label - first_ / 128 * 128;
    return flip_bits_[bit / 64] >> bit % 64 & 1u;
  };
  Sums sums;
  std::uint32_t run = 0;
  for (std::uint64_t site = first_; site < last_; ++run) {
    const std::uint64_t after = first_ + labels_.runs.run_end(site - first_);
    const std::uint32_t root = labels_.runs.parent[run];
    if (root == run) {
      const Site label = label_[run];
      const std::uint64_t square = std::uint64_t{size_[run]} * size_[run];
      sums.square += square;
      sums.fourth += WideSum{square} * square;
      if (tables_.potts) {
        flip_[run] = any_state(draw_at(key, Stream::bytespin_flip, label), tables_.states);
      } else {
        flip_[run] = static_cast<std::uint8_t>(flip_bit(label));
      }
    }
    const std::uint8_t flip = flip_[root];
    if (tables_.potts) {
      std::fill(spins + site, spins + after, flip);
    } else if (flip != 0) {
      for (std::uint64_t s = site; s < after; ++s) spins[s] ^= 1;
    }
    site = after;
  }
  return sums;
}

}  // namespace rewise::bytespin
