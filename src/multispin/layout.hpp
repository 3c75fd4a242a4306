// Memory layout of a word group: one 32-bit word per site (bit r = replica r), ordered by colour.
//
// Lattice graphs: slot(site) = base(colour) + site / 2. Sites 2k and 2k + 1 have different colours,
// so that each colour is dense and a row has half_row consecutive words. All neighbours of word i
// of a row have the other colour. Along x they are word i of that row, and word i - 1 (even site)
// or i + 1 (odd site). In other dimensions they are word i of the neighbouring rows. Guard words
// before and after each colour allow vectors to reach beyond its ends. Graphs without a lattice:
// slot(site) = guard + site.
//
// Modified cells are grouped by colour and degree. Their neighbours are stored by columns, so that
// a vector of cells gathers all j-th neighbours at once. The CPU engine lists all cells if rows are
// shorter than a vector, or if most cells are modified, because updates of rows would mostly be
// overwritten. Memory in bytes: 8 per lattice row, 8 + 4 k per modified cell of degree k, 24 per
// rewired bond, and 1 per site with couplings.
//
// Fields of random sign: at sites with field -h the word holds the inverted spins, and the
// couplings of their bonds change sign accordingly. All words therefore have the field h.
//
// Couplings are 1 or -1. Those of lattice bonds are bits of a byte per site, those of listed
// neighbours and bonds the highest bit of their slot.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "graphs/graph.hpp"
#include "src/model/model.hpp"

namespace rewise::multispin {

using Slot = std::uint32_t;
inline constexpr std::uint32_t kGuard = 16;       // words; the widest vector
inline constexpr Slot kNegative = Slot{1} << 31;  // in a list: the coupling is -1

// Modified cells of one colour and degree; cell i's j-th neighbour is neighbour[j * padded + i].
struct ModifiedGroup {
  int colour = 0;
  std::uint32_t degree = 0;
  std::uint32_t cells = 0, padded = 0;  // padded: next multiple of kGuard; padding repeats cell 0
  std::vector<Slot> slot;               // [padded]
  std::vector<Site> site;               // [padded]
  std::vector<Slot> neighbour;          // [degree * padded], | kNegative
  bool has_signs = false;               // whether any coupling is -1
};

// Bonds as pairs of slots, padded with pairs of equal slots (which always agree).
struct BondList {
  std::uint64_t count = 0;
  std::vector<std::uint32_t> number;  // [padded] of the bond, modulo 2^32
  std::vector<Slot> a, b;             // [padded]; a | kNegative
};

struct Layout {
  // Couplings are 1 or -1; fields have one magnitude.
  Layout(const Graph& graph, const Model& model, bool every_cell = false);

  Lattice lattice;  // dim 0: no lattice
  std::uint64_t sites = 0;
  std::uint32_t half_row = 0;                // words of one colour in a row
  std::uint32_t rows = 0;                    // rows along x
  std::uint64_t colour_base[2]{};            // first slot of each colour
  std::uint64_t words = 0;                   // allocated per word group
  std::vector<std::uint8_t> row_parity;      // [rows] parity of the other coordinates
  std::vector<std::uint32_t> row_neighbour;  // [rows][2 (dim - 1)]: forward, backward by direction
  int colours = 2;
  std::vector<ModifiedGroup> modified;  // ordered by colour, then degree
  bool every_cell;                      // `modified` has all cells
  std::uint64_t modified_cells = 0;
  BondList rewired;  // the rewired bonds at their new ends, in the graph's order
  BondList removed;  // the removed lattice bonds at their former ends, ascending
  // Lattices without rows (has_rows()): the lattice bonds that were not removed, ascending.
  BondList narrow;

  // Whether there is a lattice whose rows have at least one vector of each colour.
  bool has_rows() const { return lattice.dim > 0 && half_row >= kGuard; }

  // By colour, [half of the sites, padded]: bit k is 1 where the coupling of neighbour k
  // (rows-inl.hpp) is -1 and the bond is not removed. Empty without a lattice, and where all
  // couplings are 1.
  std::vector<std::uint8_t> sign[2];
  bool has_signs = false;  // whether couplings may be -1

  // [words] ~0 where the word holds the opposite spins, else 0; empty without random fields.
  std::vector<std::uint32_t> flip_mask;
  // Converts the word of a slot to spins, or spins to the word.
  std::uint32_t apply_flip_mask(Slot slot, std::uint32_t word) const {
    return flip_mask.empty() ? word : word ^ flip_mask[slot];
  }

  Slot slot(Site site) const { return slot(site, lattice.dim == 0 ? 0 : lattice.colour(site)); }
  // Faster, if the colour is already available.
  Slot slot(Site site, int colour) const {
    if (lattice.dim == 0) return kGuard + site;
    return static_cast<Slot>(colour_base[colour] + site / 2);
  }
  // Calls f(site, slot) for sites [first, last) in ascending order. Inlined, so that f may use the
  // vector instructions of the caller.
  template <class F>
  __attribute__((always_inline)) inline void for_each_slot(std::uint64_t first, std::uint64_t last,
                                                           const F& f) const {
    const std::uint64_t length = 2 * std::uint64_t{half_row};
    for (std::uint64_t site = first; site < last;) {
      if (lattice.dim == 0) {
        f(static_cast<Site>(site), static_cast<Slot>(kGuard + site));
        ++site;
        continue;
      }
      const std::uint64_t row = site / length, end = std::min(last, (row + 1) * length);
      const unsigned parity = row_parity[row];
      const std::uint64_t base[2] = {colour_base[parity], colour_base[1 - parity]};
      for (; site < end; ++site) {
        f(static_cast<Site>(site), static_cast<Slot>(base[site % 2] + site / 2));
      }
    }
  }
  Site first_site(std::uint32_t row, int colour) const {
    return row * 2 * half_row + ((static_cast<unsigned>(colour) + row_parity[row]) & 1u);
  }
};

// Throws Error(usage) if the graph has more than 2^32 bonds, the limit of addresses of random
// numbers. `updates` names the cluster update in the message.
void check_bond_numbers(const Graph& graph, std::string_view updates);

}  // namespace rewise::multispin
