// A rewired lattice as the bitlattice engine keeps it: which bits are regular cells, and the
// modified cells' lists (modified.hpp). On the host.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/graph.hpp"
#include "src/bitlattice/rewired/modified.hpp"
#include "src/engine/engine.hpp"

namespace rewise::bitlattice {

class RewiredLattice {
 public:
  // Of a lattice laid out so. Error(usage) for too many sites.
  RewiredLattice(const Layout& layout, const Graph& graph);

  std::uint64_t bonds() const { return bonds_; }
  ModifiedCells cells(int colour) const;
  // Bits of sites that are not modified, [2][colour_words], or of one colour.
  const std::vector<std::uint32_t>& regular() const { return regular_; }
  const std::uint32_t* regular(int colour) const {
    return regular_.data() + (colour == 0 ? 0 : regular_.size() / 2);
  }

  // What cells() points to.
  struct Lists {
    std::vector<std::uint32_t> place;
    std::vector<std::uint8_t> near;
    std::vector<std::uint32_t> first, far;
  };
  const Lists& lists(int colour) const { return of_[colour]; }
  std::uint64_t bytes() const;  // of both colours' lists and of regular()

  // Thresholds of all temperatures, [T][2 max_degree + 1] by s h + max_degree.
  std::vector<Threshold> thresholds(const EngineSpec& spec) const;
  std::size_t fields() const { return 2 * std::size_t{max_degree_} + 1; }
  std::size_t no_field() const { return max_degree_; }

 private:
  void add_cell(const Layout& layout, const Graph& graph, std::uint32_t cell, Lists& of);

  std::uint64_t bonds_;
  std::uint32_t max_degree_;
  Lists of_[2];
  std::vector<std::uint32_t> regular_;
};

}  // namespace rewise::bitlattice
