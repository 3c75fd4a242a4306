#include "src/bytespin/swendsen_wang/slab_clusters.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "src/bytespin/draws.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bytespin/swendsen_wang/slab_clusters.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "src/bytespin/swendsen_wang/drawn_bonds-inl.hpp"
#include "src/label/runs-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

// The bonds within a slab. Site 0 is the first site of the slab. Bonds from the last plane to the
// next slab are omitted.
struct SlabBonds {
  DrawnBonds all;
  std::uint64_t first, last_plane;
  int slowest;

  HWY_INLINE std::uint64_t word(std::uint64_t a, std::uint64_t b, int direction,
                                std::uint64_t count, std::uint64_t before) const {
    if (direction == slowest && a >= last_plane) return 0;
    return all.word(first + a, first + b, direction, count, before);
  }
};

void join_slab(const Lattice& slab, std::uint64_t first, std::uint64_t plane,
               const std::uint64_t* drawn, const std::uint8_t* spins,
               const std::vector<std::pair<std::uint64_t, std::uint64_t>>& joins, RunTable& runs) {
  const SlabBonds bonds{{drawn, spins, static_cast<std::uint64_t>(slab.dim)},
                        first,
                        slab.sites() - plane,
                        slab.dim - 1};
  RunJoiner<SlabBonds> joiner(slab, runs, bonds);
  joiner.join();
  for (const auto& [a, b] : joins) joiner.join_places(a, b);
}

// Sets the occupied bonds within the slab: those that were drawn and connect equal spins.
void occupy_slab(const Lattice& slab, std::uint64_t first, std::uint64_t plane,
                 const std::uint64_t* drawn, const std::uint8_t* spins,
                 BondConfiguration& occupied) {
  const SlabBonds bonds{{drawn, spins, static_cast<std::uint64_t>(slab.dim)},
                        first,
                        slab.sites() - plane,
                        slab.dim - 1};
  const std::uint64_t length = slab.extent[0];
  for (std::uint64_t row = 0; row < slab.sites(); row += length) {
    for (int k = 0; k < slab.dim; ++k) {
      const std::uint64_t next = k == 0 ? row + 1 : slab.forward(static_cast<Site>(row), k);
      const std::uint64_t end = k == 0 ? length - 1 : length;
      for (std::uint64_t x = 0; x < end; x += 64) {
        const std::uint64_t count = std::min<std::uint64_t>(64, end - x);
        occupied.add_bits(row + x, k, bonds.word(row + x, next + x, k, count, x));
      }
    }
    occupied.add_bits(row + length - 1, 0, bonds.word(row + length - 1, row, 0, 1, 0));
  }
}

// Occupied bonds from the last plane to the first plane of the next slab: bit k is set if the bond
// from site a + k to site b + k is occupied.
std::uint64_t bonds_to_next_slab(int dim, const std::uint64_t* drawn, const std::uint8_t* spins,
                                 std::uint64_t a, std::uint64_t b, std::uint64_t count,
                                 std::uint64_t before) {
  return DrawnBonds{drawn, spins, static_cast<std::uint64_t>(dim)}.word(a, b, dim - 1, count,
                                                                        before);
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise {
HWY_EXPORT(join_slab);
HWY_EXPORT(occupy_slab);
HWY_EXPORT(bonds_to_next_slab);
}  // namespace rewise

namespace rewise::bytespin {
namespace {

Lattice slab_lattice(const Lattice& lattice, std::uint32_t planes) {
  Lattice slab = lattice;
  slab.extent[static_cast<unsigned>(lattice.dim - 1)] = planes;
  return slab;
}

}  // namespace

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

SlabClusters::SlabClusters(const Plan& plan, std::uint64_t first, std::uint64_t last,
                           std::uint32_t planes, LabelMethod method)
    : plan_(plan),
      first_(first),
      last_(last),
      plane_((last - first) / planes),
      slab_(slab_lattice(plan.lattice, planes)),
      runs_(slab_, last - first),
      drawn_(std::make_unique_for_overwrite<std::uint64_t[]>(plan.slots / 64 + 2 * kMaxDim + 1)),
      flip_bits_((last + 127) / 128 * 2 - first / 128 * 2),
      label_(std::make_unique_for_overwrite<Site[]>(last - first)),
      size_(std::make_unique_for_overwrite<std::uint32_t[]>(last - first)),
      flip_(std::make_unique_for_overwrite<std::uint8_t[]>(last - first)) {
  const auto own = [&](Site site) { return site >= first && site < last; };
  const auto place = [&](Site site) { return runs_.place(static_cast<Site>(site - first)); };
  for (const RewiredSlot& r : plan.rewired) {
    if (own(r.a) && own(r.b)) rewired_.push_back({r.slot, r.a, r.b, place(r.a), place(r.b)});
  }
  if (method == LabelMethod::fast) return;
  labelling_ = std::make_unique<Labelling>(Labelling{BondConfiguration(slab_, last - first),
                                                     Labeller(method, slab_, last - first),
                                                     std::vector<Site>(last - first)});
}

// Converts the labels of sites to runs. Here, a run consists of consecutive sites of a row with
// equal labels.
void SlabClusters::label_by_method(const std::uint8_t* spins) {
  auto& [occupied, labeller, label] = *labelling_;
  HWY_DYNAMIC_DISPATCH(occupy_slab)(slab_, first_, plane_, drawn_.get(), spins, occupied);
  labeller.run(occupied, label);
  std::uint64_t found = 0;
  for (std::uint64_t row = 0; row < runs_.rows; ++row) {
    for (std::uint64_t w = 0; w < runs_.row_words; ++w) {
      const std::uint64_t site = row * runs_.length + 64 * w;
      std::uint64_t starts = w == 0 ? 1 : 0;
      for (std::uint64_t x = w == 0 ? 1 : 0; x < runs_.count_in(w); ++x) {
        if (label[site + x] != label[site + x - 1]) starts |= std::uint64_t{1} << x;
      }
      runs_.words[row * runs_.row_words + w] = {starts, found};
      found += static_cast<std::uint64_t>(std::popcount(starts));
    }
  }
  std::uint32_t run = 0;
  for (std::uint64_t site = 0; site < label.size(); site = runs_.run_end(site)) {
    runs_.parent[run++] = runs_.run_at(runs_.place(label[site]));
  }
}

void SlabClusters::label(const Tables& tables, const DrawKey& key, const std::uint8_t* spins) {
  const std::uint64_t begin = plan_.bond_slots.lattice_slot(static_cast<Site>(first_ / 32 * 32), 0);
  const std::uint64_t end =
      plan_.bond_slots.lattice_slot(static_cast<Site>((last_ - 1) / 32 * 32), 0) +
      32 * plan_.bond_slots.dim;
  const std::uint64_t block = begin / kSlotsPerBlock;
  const std::uint64_t blocks = (end + kSlotsPerBlock - 1) / kSlotsPerBlock - block;
  draw_masks(key, Stream::bytespin_bond, tables.bond, block, blocks, drawn_.get() + block);
  const auto& gone = plan_.gone;
  for (auto slot = std::lower_bound(gone.begin(), gone.end(), block * kSlotsPerBlock);
       slot != gone.end() && *slot < (block + blocks) * kSlotsPerBlock; ++slot) {
    drawn_[*slot / 64] &= ~(std::uint64_t{1} << *slot % 64);
  }
  joins_.clear();
  if (labelling_) labelling_->occupied.clear();
  for (const Joined& r : rewired_) {
    if (spins[r.a] != spins[r.b]) continue;
    if (!is_below(slot_draw(key, Stream::bytespin_bond, r.slot), tables.bond)) continue;
    joins_.emplace_back(r.at_a, r.at_b);
    if (labelling_) {
      labelling_->occupied.extra.push_back(
          {static_cast<Site>(r.a - first_), static_cast<Site>(r.b - first_)});
    }
  }
  if (labelling_) {
    label_by_method(spins);
  } else {
    HWY_DYNAMIC_DISPATCH(join_slab)(slab_, first_, plane_, drawn_.get(), spins, joins_, runs_);
  }
  std::uint32_t run = 0;
  for (std::uint64_t site = first_; site < last_; ++run) {
    const std::uint64_t after = first_ + runs_.run_end(site - first_);
    const std::uint32_t root = runs_.parent[run] = runs_.parent[runs_.parent[run]];
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
  const std::uint64_t length = runs_.length, next = last_ % plan_.sites;
  for (std::uint64_t at = 0; at < plane_; at += length) {
    for (std::uint64_t x = 0; x < length; x += 64) {
      const std::uint64_t from = at + x, a = last_ - plane_ + from;
      std::uint64_t bits =
          HWY_DYNAMIC_DISPATCH(bonds_to_next_slab)(slab_.dim, drawn_.get(), spins, a, next + from,
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
        runs_.run_at(runs_.place(static_cast<Site>(pair->label - first_)));  // a root
    parts.push_back({pair->other, size_[run]});
    label_[run] = pair->other;
    size_[run] = 0;
  }
  // Draws the bits of all labels of this slab at once: most clusters lie within it.
  for (std::uint64_t item = first_ / 128; !plan_.potts && 128 * item < last_; ++item) {
    const Words4 words =
        random_words(key.seed, Stream::bytespin_flip, item, key.replica, 0, key.step);
    flip_bits_[2 * (item - first_ / 128)] = word64(words, 0);
    flip_bits_[2 * (item - first_ / 128) + 1] = word64(words, 1);
  }
  const auto flip_bit = [&](Site label) {
    if (label < first_) {
      const Words4 words =
          random_words(key.seed, Stream::bytespin_flip, bit_item(label), key.replica, 0, key.step);
      return std::uint64_t{bit_of(words, label)};
    }
    const std::uint64_t bit = label - first_ / 128 * 128;
    return flip_bits_[bit / 64] >> bit % 64 & 1u;
  };
  Sums sums;
  std::uint32_t run = 0;
  for (std::uint64_t site = first_; site < last_; ++run) {
    const std::uint64_t after = first_ + runs_.run_end(site - first_);
    const std::uint32_t root = runs_.parent[run];
    if (root == run) {
      const Site label = label_[run];
      const std::uint64_t square = std::uint64_t{size_[run]} * size_[run];
      sums.square += square;
      sums.fourth += WideSum{square} * square;
      if (plan_.potts) {
        flip_[run] = any_state(slot_draw(key, Stream::bytespin_flip, label), plan_.states);
      } else {
        flip_[run] = static_cast<std::uint8_t>(flip_bit(label));
      }
    }
    const std::uint8_t flip = flip_[root];
    if (plan_.potts) {
      std::fill(spins + site, spins + after, flip);
    } else if (flip != 0) {
      for (std::uint64_t s = site; s < after; ++s) spins[s] ^= 1;
    }
    site = after;
  }
  return sums;
}

}  // namespace rewise::bytespin
#endif
