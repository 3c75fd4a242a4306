// Layout of word groups and graphs in device memory. The structs hold pointers and numbers only,
// are passed to kernels by value and own no memory.
//
// The graphs of a batch have the same geometry and the same number of word groups. A launch covers
// a range of graphs, one per blockIdx.z. Word groups are numbered through the whole batch. A pack
// is `vec` consecutive word groups whose words of a site are adjacent: the word of a slot
// (layout.hpp) has index
//   ((word group / vec) * words + slot) * vec + word group % vec.
// A thread updates a pack, so that the word groups share a part of the random number generation, a
// warp loads whole lines, and a random neighbour of eight word groups is one sector of 32 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "src/base/fast_div.hpp"
#include "src/random/philox_shared.hpp"

namespace rewise::multispin {

// Maximum number of graphs per launch. Their seeds are kernel arguments, so that Philox keys are
// uniform over a warp.
inline constexpr std::uint32_t kMaxGraphs = 256;

struct DeviceSeeds {
  std::uint64_t seed[kMaxGraphs];

  RW_HD PhiloxSeed of_graph(std::uint32_t graph) const { return seed[graph]; }
};

// The common lattice of the graphs of a batch, and their regular cells. Pointers are to device
// memory.
struct DeviceLattice {
  int dim = 0;  // 0: no lattice
  std::uint32_t extent[4]{};
  std::uint32_t sites = 0;
  std::uint32_t half_row = 0, rows = 0;
  FastDiv per_row;          // of half_row
  std::uint32_t words = 0;  // slots per word group
  std::uint32_t colour_base[2]{};
  const std::uint32_t* row_neighbour = nullptr;  // [rows][2 (dim - 1)]
  const std::uint8_t* row_parity = nullptr;      // [rows]
  // Per colour, [graphs][sites / 2]: the places i (slot = colour_base + i) of unmodified cells,
  // padded with kNoPlace. Null if no graph has modified cells.
  const std::uint32_t* regular[2]{};
  std::uint32_t regular_most[2]{};  // largest number of unmodified cells of a graph
  // Layout::sign per colour, [graphs][sites / 2]. Null if all couplings are 1.
  const std::uint8_t* sign[2]{};

  RW_HD std::uint32_t slot_of(std::uint32_t site) const {
    if (dim == 0) return colour_base[0] + site;
    const unsigned colour = (row_parity[per_row.quotient(site / 2)] + site) & 1u;
    return (colour != 0 ? colour_base[1] : colour_base[0]) + site / 2;
  }
  RW_HD std::uint32_t site_of(std::uint32_t slot) const {
    if (dim == 0) return slot - colour_base[0];
    const unsigned colour = slot >= colour_base[1] ? 1 : 0;
    const std::uint32_t place = slot - colour_base[colour];
    return 2 * place + ((colour + row_parity[per_row.quotient(place)]) & 1u);
  }
};

// An entry of a list (layout.hpp) holds the slot of a neighbour or bond and, in bit 31, its sign.
constexpr std::uint32_t listed_slot(std::uint32_t entry) { return entry & 0x7FFFFFFFu; }
constexpr std::uint32_t listed_sign(std::uint32_t entry) { return 0u - (entry >> 31); }

inline constexpr std::uint32_t kNoPlace = ~0u;

// The width of packs: the largest that divides the number of word groups of a graph. Widths of six
// and eight require enough threads to fill a device (one per pack and cell; `places`: cells of a
// colour, all graphs). `alone`: most time is spent in updates of single word groups. These use one
// eighth of the loaded sectors in packs of eight, so that width is excluded. A batch keeps its
// width when its updates change.
inline constexpr std::uint64_t kMinThreadsOfWidePacks = 1u << 18;
constexpr int vec_of(std::uint32_t word_groups, std::uint64_t places, bool alone) {
  for (const int vec : {8, 6, 4, 3, 2}) {
    const auto pack = static_cast<std::uint32_t>(vec);
    if (word_groups % pack != 0 || (alone && vec == 8)) continue;
    const std::uint64_t threads = word_groups / pack * places;
    if (vec <= 4 || threads >= (vec == 8 ? kMinThreadsOfWidePacks : kMinThreadsOfWidePacks / 2))
      return vec;
  }
  return 1;
}
// The number of word groups per thread in kernels that need many registers per word group.
constexpr int few_of(int vec) { return vec > 4 ? vec / 2 : vec; }

// Index of the word of slot 0 of a word group; consecutive slots are vec apart.
constexpr std::size_t first_word(std::uint32_t word_group, std::size_t words, int vec) {
  const auto pack = static_cast<std::uint32_t>(vec);
  return word_group / pack * words * pack + word_group % pack;
}

// Call f.template operator()<kVec>() on the host: with_few() with kVec = few_of(vec), with_vec()
// with kVec = vec.
template <class F>
void with_few(int vec, F&& f) {
  const int few = few_of(vec);
  if (few == 4) return f.template operator()<4>();
  if (few == 3) return f.template operator()<3>();
  if (few == 2) return f.template operator()<2>();
  f.template operator()<1>();
}
template <class F>
void with_vec(int vec, F&& f) {
  if (vec == 8) return f.template operator()<8>();
  if (vec == 6) return f.template operator()<6>();
  with_few(vec, f);
}

// A warp of 32 modified cells of equal degree.
struct alignas(16) DeviceWarp {
  std::uint64_t neighbour;  // neighbour j of lane l has index neighbour + j * padded + l
  std::uint32_t padded;
  std::uint32_t degree;
  std::uint32_t thresholds;  // offset of this degree in the threshold table of a word group
  std::uint32_t classes;
  std::uint32_t cells;  // number of lanes that are not padding
  std::uint32_t unused;
};

// A list of the modified cells of all graphs, ordered by graph and colour.
struct DeviceCells {
  const DeviceWarp* warps = nullptr;    // [cells / 32]
  const std::uint32_t* slot = nullptr;  // [cells]
  const std::uint32_t* site = nullptr;  // [cells]
  const std::uint32_t* neighbour = nullptr;
  const std::uint32_t* first = nullptr;  // [graphs][colours + 1] index of the first cell
  std::uint32_t colours = 2;
};

}  // namespace rewise::multispin
