// Union-find over runs (run_table.hpp): the fastest labelling on one core. Rows are bit masks, and
// a bond across rows is skipped where its left neighbour has already joined the same two runs.
// (Included once per instruction set, for popcount.)
//
// `Bonds` provides std::uint64_t word(a, b, direction, count, before): bit x < count <= 64 is set
// if the bond from site a + x to b + x is occupied; other bits are 0. word() may also read the
// `before` sites that precede a and those that precede b.
#if defined(RW_RUNS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_RUNS_INL_HPP_
#undef RW_RUNS_INL_HPP_
#else
#define RW_RUNS_INL_HPP_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstdint>
#include <numeric>

#include "src/label/run_table.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

// Joins the sets of a and b in an array of parents. Invariant: a parent is never larger than its
// child, so a root is the smallest of its set and an ascending pass visits parents before children.
// Rem's algorithm with splicing (Dijkstra 1976; the fastest according to Patwary, Blair & Manne
// 2010): it climbs from the larger parent and attaches the nodes that it leaves to the smaller one.
inline void unite(std::uint32_t* parent, std::uint32_t a, std::uint32_t b) {
  std::uint32_t pa = parent[a], pb = parent[b];
  while (pa != pb) {
    if (pa < pb) {
      parent[b] = pa;
      if (b == pb) return;
      b = pb;
      pb = parent[b];
    } else {
      parent[a] = pb;
      if (a == pa) return;
      a = pa;
      pa = parent[a];
    }
  }
}

// unite() for distant a and b. The order of their parents is unpredictable, so this form is
// branch-free. For neighbours unite() is faster, because its branch is mostly predicted.
inline void unite_far(std::uint32_t* parent, std::uint32_t a, std::uint32_t b) {
  std::uint32_t pa = parent[a], pb = parent[b];
  while (pa != pb) {
    const std::uint32_t turned = pa < pb ? 0u : ~0u;
    const std::uint32_t sets = (a ^ b) & turned, parents = (pa ^ pb) & turned;
    a ^= sets;
    b ^= sets;
    pa ^= parents;
    pb ^= parents;
    parent[b] = pa;
    if (b == pb) return;
    b = pb;
    pb = parent[b];
  }
}

template <class Bonds>
class RunJoiner {
 public:
  RunJoiner(const Lattice& lattice, RunTable& runs, const Bonds& bonds)
      : lattice_(lattice), runs_(runs), bonds_(bonds) {}

  // Finds the runs and joins them by the bonds of the lattice.
  void join() {
    find_runs();
    for (std::uint64_t row = 0; lattice_.dim > 0 && row < runs_.rows; ++row) {
      const auto base = static_cast<Site>(row * runs_.length);
      close_row(row);
      for (int k = 1; k < lattice_.dim; ++k) {
        join_row_pair(row, lattice_.forward(base, k) / runs_.length, k);
      }
    }
  }

  // Joins the runs at two positions (RunTable::place) by one more bond.
  void join_places(std::uint64_t a, std::uint64_t b) {
    unite_far(runs_.parent.get(), runs_.run_at(a), runs_.run_at(b));
  }

 private:
  using RowWord = RunTable::RowWord;

  void find_runs() {
    std::uint64_t found = 0;
    for (std::uint64_t row = 0; row < runs_.rows; ++row) {
      std::uint64_t start = 1;  // the first site of a row starts a run
      for (std::uint64_t w = 0; w < runs_.row_words; ++w) {
        const std::uint64_t joined = joined_along_x(row, w), count = runs_.count_in(w);
        RowWord& word = runs_.words[row * runs_.row_words + w];
        word = {(~joined << 1 | start) & (~std::uint64_t{0} >> (64 - count)), found};
        start = ~joined >> 63;
        found += static_cast<std::uint64_t>(std::popcount(word.starts));
      }
    }
    std::iota(runs_.parent.get(), runs_.parent.get() + found, 0u);
  }

  // Bit x is set if site x of a row word is joined to the next site of the row.
  std::uint64_t joined_along_x(std::uint64_t row, std::uint64_t w) const {
    if (lattice_.dim == 0) return 0;
    const std::uint64_t first = row * runs_.length + 64 * w;
    const std::uint64_t count = std::min<std::uint64_t>(64, runs_.length - 1 - 64 * w);
    return count == 0 ? 0 : bonds_.word(first, first + 1, 0, count, 64 * w);
  }

  // Joins the first and last run of a row if its closing bond is occupied.
  void close_row(std::uint64_t row) {
    const std::uint64_t first = row * runs_.length, last = first + runs_.length - 1;
    if (bonds_.word(last, first, 0, 1, 0) == 0) return;
    const RowWord* words = runs_.words.data() + row * runs_.row_words;
    unite(runs_.parent.get(), RunTable::run_at(words[0], 0),
          RunTable::run_at(words[runs_.row_words - 1], (runs_.length - 1) % 64));
  }

  // Joins the runs of two rows by the bonds in a direction.
  void join_row_pair(std::uint64_t row, std::uint64_t next, int direction) {
    std::uint32_t* const parent = runs_.parent.get();
    std::uint64_t left = 0;  // bit 0: the bond to the left of this word is occupied
    for (std::uint64_t w = 0; w < runs_.row_words; ++w) {
      const std::uint64_t a = row * runs_.length + 64 * w, b = next * runs_.length + 64 * w;
      const RowWord here = runs_.words[row * runs_.row_words + w];
      const RowWord there = runs_.words[next * runs_.row_words + w];
      const std::uint64_t bonds = bonds_.word(a, b, direction, runs_.count_in(w), 64 * w);
      // Skipped: the left neighbours are joined and belong to the same two runs.
      const std::uint64_t known = (bonds << 1 | left) & ~here.starts & ~there.starts;
      left = bonds >> 63;
      for (std::uint64_t rest = bonds & ~known; rest != 0; rest &= rest - 1) {
        const auto x = static_cast<std::uint64_t>(std::countr_zero(rest));
        unite(parent, RunTable::run_at(here, x), RunTable::run_at(there, x));
      }
    }
  }

  const Lattice& lattice_;
  RunTable& runs_;
  const Bonds& bonds_;
};

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();
#endif
