// Modified cells and rewired bonds as the CPU and CUDA versions of the bytespin engine store them.
#pragma once

#include <bit>
#include <cstdint>

#include "graphs/lattice.hpp"
#include "src/base/hd.hpp"

namespace rewise::bytespin {

RW_HD std::uint32_t count_bits(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popc(word));
#else
  return static_cast<std::uint32_t>(std::popcount(word));
#endif
}

// The kinds of 32 sites.
struct alignas(16) SiteMasks {
  std::uint32_t modified;  // bit: modified
  std::uint32_t edge;      // bit: a lattice neighbour is across the periodic boundary
  std::uint32_t colour;    // bit: colour 1 of the lattice
  std::uint32_t before;    // modified sites before these 32

  // Index in graph.modified_sites() of a modified site; `bit` is its bit in the masks.
  RW_HD std::uint32_t index(std::uint32_t bit) const {
    return before + count_bits(modified & (bit - 1));
  }
};

// A bond of a modified cell. Three 32-bit words keep a cell within few cache lines.
struct CellBond {
  Site to;
  std::uint32_t draw_index_low, draw_index_high;
  RW_HD std::uint64_t draw_index() const {
    return std::uint64_t{draw_index_high} << 32 | draw_index_low;
  }
};

struct IndexedBond {
  std::uint64_t draw_index;
  Site a, b;
};

}  // namespace rewise::bytespin
