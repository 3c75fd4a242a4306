#include "src/bundle/swendsen_wang_label.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace rewise::bundle {
namespace {

// Joins the sets of a and b by Rem's algorithm with splicing (Dijkstra 1976; Patwary, Blair & Manne
// 2010): climbs from the larger parent and hangs what it leaves lower.
void unite(std::uint32_t* parent, std::uint32_t a, std::uint32_t b) {
  std::uint32_t pa = parent[a], pb = parent[b];
  while (pa != pb) {
    if (pa < pb) {
      std::swap(a, b);
      std::swap(pa, pb);
    }
    parent[a] = pb;
    if (a == pa) return;
    a = pa;
    pa = parent[a];
  }
}

// 64 bits of a mask from any bit on.
std::uint64_t bits_from(const std::uint32_t* mask, std::uint64_t bit) {
  const std::uint32_t* word = mask + bit / 32;
  const std::uint64_t low = word[0] | std::uint64_t{word[1]} << 32, shift = bit % 32;
  return shift == 0 ? low : low >> shift | std::uint64_t{word[2]} << (64 - shift);
}

// Writes a mask from its first bit on.
class BitWriter {
 public:
  explicit BitWriter(std::uint32_t* mask) : next_(mask) {}

  // The lowest `count` bits, 1 <= count <= 64; higher ones are zero.
  void put(std::uint64_t bits, unsigned count) {
    held_ |= bits << fill_;
    if (fill_ + count < 64) {
      fill_ += count;
      return;
    }
    *next_++ = static_cast<std::uint32_t>(held_);
    *next_++ = static_cast<std::uint32_t>(held_ >> 32);
    held_ = fill_ == 0 ? 0 : bits >> (64 - fill_);
    fill_ = fill_ + count - 64;
  }
  void close() {
    if (fill_ > 0) *next_++ = static_cast<std::uint32_t>(held_);
    if (fill_ > 32) *next_++ = static_cast<std::uint32_t>(held_ >> 32);
  }

 private:
  std::uint32_t* next_;
  std::uint64_t held_ = 0;
  unsigned fill_ = 0;
};

// The lowest `count` bits, 1 <= count <= 64.
std::uint64_t low_bits(std::uint64_t count) { return ~std::uint64_t{0} >> (64 - count); }

class Labelling {
 public:
  Labelling(const RowLattice& lattice, const OpenBonds& open, LabelScratch& scratch)
      : lattice_(lattice), open_(open), s_(scratch) {}

  void find_runs() {
    std::uint32_t runs = 0;
    for (std::uint32_t row = 0; row < lattice_.rows; ++row) {
      std::uint64_t start = 1;  // the first site of a row starts a run
      for (std::uint32_t w = 0; w < lattice_.row_words; ++w) {
        const std::uint64_t joined = joined_along_x(row, w);
        RowWord& word = s_.words[std::size_t{row} * lattice_.row_words + w];
        word = {(~joined << 1 | start) & low_bits(count_in(w)), runs};
        start = ~joined >> 63;
        runs += static_cast<std::uint32_t>(std::popcount(word.starts));
      }
    }
    std::iota(s_.label.get(), s_.label.get() + runs, 0u);
  }

  void join_rows(bool along_x) {
    for (std::uint32_t row = 0; row < lattice_.rows; ++row) {
      if (along_x) close_row(row);
      for (unsigned k = 0; k < lattice_.directions; ++k) {
        join_row_pair(row, lattice_.ahead[std::size_t{row} * lattice_.directions + k], k + 1);
      }
    }
  }

  void join_pairs(const std::vector<SitePair>& pairs) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if ((open_.listed[i] >> open_.replica & 1u) == 0) continue;
      unite(s_.label.get(), run_of(pairs[i].a), run_of(pairs[i].b));
    }
  }

  // Numbers the clusters in order of their smallest sites, counts their sizes, and turns random
  // bits into the sites that flip. Returns the number of clusters.
  std::uint32_t flip_clusters(std::uint32_t* flips) {
    std::uint32_t* const label = s_.label.get();
    std::uint32_t* const size = s_.size.get();
    std::uint8_t* const flip = s_.flip.get();
    BitWriter out(flips);
    std::uint32_t clusters = 0, run = 0, open = 0;
    std::uint64_t open_since = 0;  // the site where the open run starts
    std::uint64_t flipping = 0;    // does it flip?
    size[0] = 0;
    for (std::uint32_t row = 0; row < lattice_.rows; ++row) {
      for (std::uint32_t w = 0; w < lattice_.row_words; ++w) {
        const std::uint64_t first = std::uint64_t{row} * lattice_.length + 64 * std::uint64_t{w};
        const std::uint64_t draws = bits_from(flips, first);
        // Bit x is set where flipping changes; then every bit becomes the sum of those below it.
        std::uint64_t change = flipping;
        const RowWord& word = s_.words[std::size_t{row} * lattice_.row_words + w];
        for (std::uint64_t starts = word.starts; starts != 0; starts &= starts - 1) {
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
        const std::uint64_t count = count_in(w);
        out.put(change & low_bits(count), static_cast<unsigned>(count));
      }
    }
    out.close();
    size[open] += static_cast<std::uint32_t>(lattice_.sites - open_since);
    return clusters;
  }

 private:
  using RowWord = LabelScratch::RowWord;

  std::uint64_t count_in(std::uint32_t w) const {
    return std::min<std::uint64_t>(64, lattice_.length - 64 * std::uint64_t{w});
  }

  // Bit x: the bond from site x of a row word to the next site of the row is open.
  std::uint64_t joined_along_x(std::uint32_t row, std::uint32_t w) const {
    const std::uint64_t bonds =
        std::min<std::uint64_t>(64, lattice_.length - 1 - 64 * std::uint64_t{w});
    if (open_.direction[0] == nullptr || bonds == 0) return 0;
    const std::uint64_t first = std::uint64_t{row} * lattice_.length + 64 * std::uint64_t{w};
    return bits_from(open_.direction[0], first) & low_bits(bonds);
  }

  // The run at a bit of a row word.
  static std::uint32_t run_at(const RowWord& word, std::uint64_t bit) {
    const std::uint64_t up_to = word.starts & low_bits(bit + 1);
    return word.before + static_cast<std::uint32_t>(std::popcount(up_to)) - 1;
  }
  std::uint32_t run_of(Site site) const {
    const std::uint32_t row = site / lattice_.length, x = site % lattice_.length;
    return run_at(s_.words[std::size_t{row} * lattice_.row_words + x / 64], x % 64);
  }

  // The bond from the last site of a row to its first.
  void close_row(std::uint32_t row) {
    const Site first = row * lattice_.length, last = first + lattice_.length - 1;
    if ((open_.direction[0][last / 32] >> last % 32 & 1u) == 0) return;
    unite(s_.label.get(), run_of(first), run_of(last));
  }

  // The bonds from a row to the next one in a direction.
  void join_row_pair(std::uint32_t row, std::uint32_t next, unsigned direction) {
    std::uint64_t left = 0;  // bit 0: the bond left of this word joins
    for (std::uint32_t w = 0; w < lattice_.row_words; ++w) {
      const std::uint64_t first = std::uint64_t{row} * lattice_.length + 64 * std::uint64_t{w};
      const RowWord here = s_.words[std::size_t{row} * lattice_.row_words + w];
      const RowWord there = s_.words[std::size_t{next} * lattice_.row_words + w];
      const std::uint64_t bonds =
          bits_from(open_.direction[direction], first) & low_bits(count_in(w));
      // Already joined: the left neighbours are joined and belong to the same two runs.
      const std::uint64_t known = (bonds << 1 | left) & ~here.starts & ~there.starts;
      left = bonds >> 63;
      for (std::uint64_t rest = bonds & ~known; rest != 0; rest &= rest - 1) {
        const auto x = static_cast<std::uint64_t>(std::countr_zero(rest));
        unite(s_.label.get(), run_at(here, x), run_at(there, x));
      }
    }
  }

  const RowLattice& lattice_;
  const OpenBonds& open_;
  LabelScratch& s_;
};

}  // namespace

LabelScratch::LabelScratch(const RowLattice& lattice)
    : words(std::size_t{lattice.rows} * lattice.row_words),
      label(std::make_unique_for_overwrite<std::uint32_t[]>(lattice.sites)),
      size(std::make_unique_for_overwrite<std::uint32_t[]>(lattice.sites + std::size_t{1})),
      flip(std::make_unique_for_overwrite<std::uint8_t[]>(lattice.sites + std::size_t{1})) {}

ClusterSums label_and_flip(const RowLattice& lattice, const std::vector<SitePair>& pairs,
                           const OpenBonds& open, std::uint32_t* flips, LabelScratch& scratch) {
  Labelling labelling(lattice, open, scratch);
  labelling.find_runs();
  labelling.join_rows(open.direction[0] != nullptr);
  labelling.join_pairs(pairs);
  const std::uint32_t clusters = labelling.flip_clusters(flips);
  ClusterSums sums;
  Wide fourth = 0;
  for (std::uint32_t c = 0; c < clusters; ++c) {
    const std::uint64_t n = scratch.size[c], square = n * n;
    sums.square += square;
    fourth += static_cast<Wide>(square) * square;
  }
  sums.quartic = 3 * (static_cast<Wide>(sums.square) * sums.square) - 2 * fourth;
  return sums;
}

}  // namespace rewise::bundle
