// The runs of a lattice's rows, for labelling by union-find over runs (runs-inl.hpp). A run is a
// segment of a row (along x) that occupied bonds join. Runs are numbered in site order, so the
// smallest run of a component starts at its smallest site.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/label/configuration.hpp"

namespace rewise {

struct RunTable {
  // 64 sites of a row.
  struct RowWord {
    std::uint64_t starts;  // bit x: a run starts here
    std::uint64_t before;  // runs that start before this word
  };

  // Without a lattice (dim 0) all sites form one row without bonds.
  RunTable(const Lattice& lattice, std::uint64_t sites)
      : length(lattice.dim > 0 ? lattice.extent[0] : sites),
        rows(sites / length),
        row_words((length + 63) / 64),
        words(rows * row_words),
        parent(std::make_unique_for_overwrite<std::uint32_t[]>(sites)) {}

  // The position of a site: 64 * (index of its row word) + bit.
  std::uint64_t place(Site site) const { return site / length * row_words * 64 + site % length; }
  std::uint32_t run_at(std::uint64_t place_of_site) const {
    return run_at(words[place_of_site / 64], place_of_site % 64);
  }
  static std::uint32_t run_at(const RowWord& word, std::uint64_t bit) {
    const std::uint64_t up_to = word.starts & (~std::uint64_t{0} >> (63 - bit));
    return static_cast<std::uint32_t>(word.before) +
           static_cast<std::uint32_t>(std::popcount(up_to)) - 1;
  }
  // Number of sites in word w of a row.
  std::uint64_t count_in(std::uint64_t w) const {
    return std::min<std::uint64_t>(64, length - 64 * w);
  }
  // The end of the run that starts at site `begin` (one past its last site).
  std::uint64_t run_end(std::uint64_t begin) const {
    const std::uint64_t row = begin / length;
    std::uint64_t x = begin % length + 1;
    while (x < length) {
      const std::uint64_t rest = words[row * row_words + x / 64].starts >> x % 64;
      if (rest != 0) return row * length + x + static_cast<unsigned>(std::countr_zero(rest));
      x = (x / 64 + 1) * 64;
    }
    return (row + 1) * length;
  }

  std::uint64_t length, rows;               // sites of a row (along x); number of rows
  std::uint64_t row_words;                  // 64-site words per row
  std::vector<RowWord> words;               // [rows][row_words]
  std::unique_ptr<std::uint32_t[]> parent;  // [run] a run of the same set; space for [sites]
};

// Method `fast` on the CPU. `runs` is work space for the configuration's lattice.
void label_by_runs(const BondConfiguration& configuration, RunTable& runs, std::span<Site> label);

}  // namespace rewise
