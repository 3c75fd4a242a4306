#include "src/single/swendsen_wang.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "src/single/draws.hpp"
#include "src/single/union_find.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/single/swendsen_wang.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "src/single/bits-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

using single::any_state;
using single::BondSlots;
using single::DrawKey;
using single::Plan;
using single::slot_draw;
using single::SwendsenWangScratch;
using single::unite;
using single::wolff_seed;
using single::wolff_state;

// One update; the public member functions are its phases, in order.
class SwendsenWang {
 public:
  SwendsenWang(const Plan& plan, SwendsenWangScratch& scratch, std::uint8_t* spins)
      : lattice_(plan.lattice), slots_(plan.bond_slots), s_(scratch), spins_(spins) {}

  // Rewired bonds that were drawn are noted; where they left the lattice, no bond is drawn.
  void split_rewired(const Plan& plan) {
    for (std::size_t i = 0; i < s_.rewired.size(); ++i) {
      const std::uint64_t slot = s_.rewired[i].slot;
      s_.rewired_on[i] = s_.drawn[slot / 64] >> slot % 64 & 1u;
    }
    for (const std::uint64_t slot : plan.gone) {
      s_.drawn[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
    }
  }

  void find_runs() {
    std::uint64_t runs = 0;
    for (std::uint64_t row = 0; row < s_.rows; ++row) {
      std::uint64_t start = 1;  // the first site of a row starts a run
      for (std::uint64_t w = 0; w < s_.row_words; ++w) {
        const std::uint64_t joined = joined_along_x(row, w), count = count_in(w);
        RowWord& word = s_.words[row * s_.row_words + w];
        word = {(~joined << 1 | start) & (~std::uint64_t{0} >> (64 - count)), runs};
        start = ~joined >> 63;
        runs += static_cast<std::uint64_t>(std::popcount(word.starts));
      }
    }
    std::iota(s_.label.get(), s_.label.get() + runs, 0u);
  }

  void join_rows() {
    for (std::uint64_t row = 0; lattice_.dim > 0 && row < s_.rows; ++row) {
      const auto base = static_cast<Site>(row * s_.length);
      close_row(row);
      for (int k = 1; k < lattice_.dim; ++k) {
        join_row_pair(row, lattice_.forward(base, k) / s_.length, k);
      }
    }
  }

  void join_rewired() {
    for (std::size_t i = 0; i < s_.rewired.size(); ++i) {
      const SwendsenWangScratch::RewiredEnds& r = s_.rewired[i];
      if (s_.rewired_on[i] == 0 || spins_[r.a] != spins_[r.b]) continue;
      unite(s_.label.get(), run_at(s_.words[r.at_a / 64], r.at_a % 64),
            run_at(s_.words[r.at_b / 64], r.at_b % 64));
    }
  }

  // Numbers the clusters in order of their smallest sites, counts their sizes and flips those
  // whose bit in flip_draws says so. Returns the number of clusters.
  std::uint64_t flip_clusters(std::uint64_t sites) {
    std::uint32_t* const label = s_.label.get();
    std::uint32_t* const size = s_.size.get();
    std::uint8_t* const flip = s_.flip.get();
    std::uint32_t clusters = 0, run = 0, open = 0;
    std::uint64_t open_since = 0;  // the site where the open run starts
    std::uint64_t flipping = 0;    // does it flip?
    size[0] = 0;
    for (std::uint64_t row = 0; row < s_.rows; ++row) {
      for (std::uint64_t w = 0; w < s_.row_words; ++w) {
        const std::uint64_t first = row * s_.length + 64 * w;
        const std::uint64_t draws = flip_bits(first);
        // Bit x is set where flipping changes; then every bit becomes the sum of those below it.
        std::uint64_t change = flipping;
        for (std::uint64_t starts = s_.words[row * s_.row_words + w].starts; starts != 0;
             starts &= starts - 1) {
          const auto x = static_cast<unsigned>(std::countr_zero(starts));
          size[open] += static_cast<std::uint32_t>(first + x - open_since);
          open_since = first + x;
          const std::uint32_t parent = label[run];
          const bool root = parent == run;
          open = root ? clusters : label[parent];
          label[run++] = open;
          clusters += root;
          size[clusters] = 0;
          const std::uint64_t now = root ? draws >> x & 1u : flip[open];
          flip[open] = static_cast<std::uint8_t>(now);
          change ^= (flipping ^ now) << x;
          flipping = now;
        }
        for (int shift = 1; shift < 64; shift *= 2) change ^= change << shift;
        xor_bits(spins_ + first, change, count_in(w));
      }
    }
    size[open] += static_cast<std::uint32_t>(sites - open_since);
    return clusters;
  }

  // Wolff: the cluster of one site takes a new state. Returns its size.
  std::uint64_t renew_cluster_of(Site seed, std::uint64_t sites, std::uint8_t state) {
    std::uint32_t* const label = s_.label.get();
    const std::uint64_t row = seed / s_.length, x = seed % s_.length;
    std::uint32_t root = run_at(s_.words[row * s_.row_words + x / 64], x % 64);
    while (label[root] != root) root = label[root];
    std::uint64_t size = 0;
    std::uint32_t run = 0;
    for (std::uint64_t begin = 0; begin < sites; ++run) {
      const std::uint64_t end = run_end(begin);
      label[run] = label[label[run]];
      if (label[run] == root) {
        std::fill(spins_ + begin, spins_ + end, state);
        size += end - begin;
      }
      begin = end;
    }
    return size;
  }

  // Swendsen-Wang of Potts: every cluster takes a new state.
  std::uint64_t renew_clusters(std::uint64_t sites, std::uint32_t states, const DrawKey& key) {
    std::uint32_t* const label = s_.label.get();
    std::uint32_t clusters = 0, run = 0;
    for (std::uint64_t begin = 0; begin < sites; ++run) {
      const std::uint64_t end = run_end(begin);
      const std::uint32_t parent = label[run];
      if (parent == run) {
        s_.flip[clusters] = any_state(slot_draw(key, Stream::single_flip, begin), states);
        s_.size[clusters] = 0;
      }
      const std::uint32_t cluster = parent == run ? clusters++ : label[parent];
      label[run] = cluster;
      s_.size[cluster] += static_cast<std::uint32_t>(end - begin);
      std::fill(spins_ + begin, spins_ + end, s_.flip[cluster]);
      begin = end;
    }
    return clusters;
  }

 private:
  using RowWord = SwendsenWangScratch::RowWord;

  // The site after the run that starts at a site.
  std::uint64_t run_end(std::uint64_t begin) const {
    const std::uint64_t row = begin / s_.length;
    std::uint64_t x = begin % s_.length + 1;
    while (x < s_.length) {
      const RowWord& word = s_.words[row * s_.row_words + x / 64];
      const std::uint64_t rest = word.starts >> x % 64;
      if (rest != 0) return row * s_.length + x + static_cast<unsigned>(std::countr_zero(rest));
      x = (x / 64 + 1) * 64;
    }
    return (row + 1) * s_.length;
  }

  std::uint64_t count_in(std::uint64_t w) const {
    return std::min<std::uint64_t>(64, s_.length - 64 * w);
  }

  // 64 bits from any bit on, of a mask that is kept in halves `step` apart.
  std::uint64_t drawn_bits(std::uint64_t site, unsigned direction) const {
    const auto half = [&](std::uint64_t group) {
      const std::uint64_t index = group * slots_.dim + direction;
      return s_.drawn[index / 2] >> 32 * (index % 2) & 0xffffffffu;
    };
    const std::uint64_t group = site / 32, shift = site % 32;
    const std::uint64_t bits = half(group) | half(group + 1) << 32;
    return shift == 0 ? bits : bits >> shift | half(group + 2) << (64 - shift);
  }

  std::uint64_t flip_bits(std::uint64_t site) const {
    const std::uint64_t* word = s_.flip_draws.data() + site / 64;
    const std::uint64_t shift = site % 64;
    return shift == 0 ? *word : *word >> shift | word[1] << (64 - shift);
  }

  // Bit x: the bond from site x of a row word to the next site of the row joins them.
  std::uint64_t joined_along_x(std::uint64_t row, std::uint64_t w) const {
    if (lattice_.dim == 0) return 0;
    const std::uint64_t first = row * s_.length + 64 * w;
    const std::uint64_t bonds = std::min<std::uint64_t>(64, s_.length - 1 - 64 * w);
    return drawn_bits(first, 0) & equal_bits(spins_ + first, spins_ + first + 1, bonds, 64 * w);
  }

  // The run at a bit of a row word.
  static std::uint32_t run_at(const RowWord& word, std::uint64_t bit) {
    const std::uint64_t up_to = word.starts & (~std::uint64_t{0} >> (63 - bit));
    return static_cast<std::uint32_t>(word.before) +
           static_cast<std::uint32_t>(std::popcount(up_to)) - 1;
  }

  // The bond from the last site of a row to its first.
  void close_row(std::uint64_t row) {
    const std::uint64_t first = row * s_.length, last = first + s_.length - 1;
    if ((drawn_bits(last, 0) & 1u) == 0 || spins_[first] != spins_[last]) return;
    const RowWord* words = s_.words.data() + row * s_.row_words;
    unite(s_.label.get(), run_at(words[0], 0),
          run_at(words[s_.row_words - 1], (s_.length - 1) % 64));
  }

  // The bonds from a row to the next one in a direction.
  void join_row_pair(std::uint64_t row, std::uint64_t next, int direction) {
    std::uint32_t* const label = s_.label.get();
    std::uint64_t left = 0;  // bit 0: the bond left of this word joins
    for (std::uint64_t w = 0; w < s_.row_words; ++w) {
      const std::uint64_t a = row * s_.length + 64 * w, b = next * s_.length + 64 * w;
      const RowWord here = s_.words[row * s_.row_words + w];
      const RowWord there = s_.words[next * s_.row_words + w];
      const std::uint64_t bonds = drawn_bits(a, static_cast<unsigned>(direction)) &
                                  equal_bits(spins_ + a, spins_ + b, count_in(w), 64 * w);
      // Already joined: the left neighbours are joined and belong to the same two runs.
      const std::uint64_t known = (bonds << 1 | left) & ~here.starts & ~there.starts;
      left = bonds >> 63;
      for (std::uint64_t rest = bonds & ~known; rest != 0; rest &= rest - 1) {
        const auto x = static_cast<std::uint64_t>(std::countr_zero(rest));
        unite(label, run_at(here, x), run_at(there, x));
      }
    }
  }

  const Lattice& lattice_;
  const BondSlots slots_;
  SwendsenWangScratch& s_;
  std::uint8_t* spins_;
};

void label(SwendsenWang& update, const Plan& plan) {
  update.split_rewired(plan);
  update.find_runs();
  update.join_rows();
  update.join_rewired();
}

std::uint64_t label_and_flip(const Plan& plan, const DrawKey& key, SwendsenWangScratch& scratch,
                             std::uint8_t* spins) {
  SwendsenWang update(plan, scratch, spins);
  label(update, plan);
  return plan.potts ? update.renew_clusters(plan.sites, plan.states, key)
                    : update.flip_clusters(plan.sites);
}

std::uint64_t label_and_flip_one(const Plan& plan, const DrawKey& key, SwendsenWangScratch& scratch,
                                 std::uint8_t* spins) {
  SwendsenWang update(plan, scratch, spins);
  label(update, plan);
  const Words4 words = random_words(key.seed, Stream::single_seed, 0, key.who, 0, key.step);
  const Site seed = wolff_seed(words, plan.sites);
  return update.renew_cluster_of(seed, plan.sites, wolff_state(words, spins[seed], plan.states));
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise {
HWY_EXPORT(label_and_flip);
HWY_EXPORT(label_and_flip_one);
}  // namespace rewise

namespace rewise::single {

SwendsenWangScratch::SwendsenWangScratch(const Plan& plan)
    : length(plan.lattice.dim > 0 ? plan.lattice.extent[0] : plan.sites),
      rows(plan.sites / length),
      row_words((length + 63) / 64),
      drawn((plan.slots + kSlotsPerBlock - 1) / kSlotsPerBlock + 2 * kMaxDim),
      flip_draws((plan.sites + 127) / 128 * 2 + 2),
      words(rows * row_words),
      rewired_on(plan.rewired.size()),
      label(std::make_unique_for_overwrite<std::uint32_t[]>(plan.sites)),
      size(std::make_unique_for_overwrite<std::uint32_t[]>(plan.sites + 1)),
      flip(std::make_unique_for_overwrite<std::uint8_t[]>(plan.sites + 1)) {
  const auto place = [&](Site site) { return site / length * row_words * 64 + site % length; };
  for (const RewiredSlot& r : plan.rewired) {
    rewired.push_back({r.slot, r.a, r.b, place(r.a), place(r.b)});
  }
}

ClusterSums swendsen_wang_update(const Plan& plan, const Tables& tables, const DrawKey& key,
                                 SwendsenWangScratch& scratch, std::span<std::uint8_t> spins) {
  const std::uint64_t blocks = (plan.slots + kSlotsPerBlock - 1) / kSlotsPerBlock;
  draw_masks(key, Stream::single_bond, tables.bond, 0, blocks, scratch.drawn.data());
  for (std::uint64_t k = 0; !plan.potts && 128 * k < plan.sites; ++k) {
    const Words4 words = random_words(key.seed, Stream::single_flip, k, key.who, 0, key.step);
    scratch.flip_draws[2 * k] = word64(words, 0);
    scratch.flip_draws[2 * k + 1] = word64(words, 1);
  }
  const std::uint64_t clusters =
      HWY_DYNAMIC_DISPATCH(label_and_flip)(plan, key, scratch, spins.data());
  ClusterSums sums;
  Wide fourth = 0;
  for (std::uint64_t c = 0; c < clusters; ++c) {
    const std::uint64_t n = scratch.size[c], square = n * n;
    sums.square += square;
    fourth += Wide{square} * square;
  }
  sums.quartic = 3 * (Wide{sums.square} * sums.square) - 2 * fourth;
  return sums;
}

std::uint64_t wolff_by_labels(const Plan& plan, const Tables& tables, const DrawKey& key,
                              SwendsenWangScratch& scratch, std::span<std::uint8_t> spins) {
  const std::uint64_t blocks = (plan.slots + kSlotsPerBlock - 1) / kSlotsPerBlock;
  draw_masks(key, Stream::single_bond, tables.bond, 0, blocks, scratch.drawn.data());
  return HWY_DYNAMIC_DISPATCH(label_and_flip_one)(plan, key, scratch, spins.data());
}

}  // namespace rewise::single
#endif
