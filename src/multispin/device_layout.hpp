// The word groups of one or many tasks on the device, and their graphs as the kernels read them.
//
// A batch is a row of graphs of one geometry with equally many word groups each; its launches cover
// a range of them, a graph per blockIdx.z. Word groups are numbered through the batch. Words of
// kVec word groups of one site lie side by side: word(word group, slot) =
//   ((word group / vec) * words + slot) * vec + word group % vec,     slots as in layout.hpp,
// so a thread has what a site's draws share once for vec word groups, a warp loads whole lines, and
// a modified cell's random neighbours come as 32 bytes, a sector, for eight of them. Plain pointers
// and numbers: passed to kernels by value. Nothing here owns memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "src/base/fast_div.hpp"

namespace rewise::multispin {

// Of one launch: their seeds travel as arguments, so that the keys of Philox stay uniform.
inline constexpr std::uint32_t kMostGraphs = 256;

struct DeviceSeeds {
  std::uint32_t low[kMostGraphs], high[kMostGraphs];
};

// What the graphs of a batch share, and their regular cells; pointers are on the device.
struct DeviceLattice {
  int dim = 0;  // 0: no lattice
  std::uint32_t extent0 = 0, extent1 = 0, extent2 = 0, extent3 = 0;
  std::uint32_t sites = 0;
  std::uint32_t half_row = 0, rows = 0;
  FastDiv per_row;          // of half_row
  std::uint32_t words = 0;  // slots per word group
  std::uint32_t colour_base[2]{};
  const std::uint32_t* row_neighbour = nullptr;  // [rows][2 (dim - 1)]
  const std::uint8_t* row_parity = nullptr;      // [rows]
  // Per colour: [graphs][sites / 2] the places i (slot = colour_base + i) of unmodified cells, then
  // kNoPlace; or nothing where no graph has modified cells.
  const std::uint32_t* regular[2]{};
  std::uint32_t regular_most[2]{};  // of a graph
  // Layout::sign by colour, [graphs][sites / 2]; or nothing where all couplings are 1.
  const std::uint8_t* sign[2]{};
};

// Of a listed neighbour or bond (layout.hpp): its slot, and ~0 where the coupling is -1, else 0.
constexpr std::uint32_t listed_slot(std::uint32_t entry) { return entry & 0x7FFFFFFFu; }
constexpr std::uint32_t listed_sign(std::uint32_t entry) { return 0u - (entry >> 31); }

inline constexpr std::uint32_t kNoPlace = ~0u;

// The widest pack that divides a graph's word groups; more than four where threads still fill a
// device, one for each of a colour's `places` in all graphs and each pack, and no eights where
// `alone`: where an update that takes word groups one by one, and an eighth of every sector, is
// what takes time (as a batch begins; it keeps its packs with another update, too).
inline constexpr std::uint64_t kWidePlaces = 1u << 18;
constexpr int vec_of(std::uint32_t word_groups, std::uint64_t places, bool alone) {
  for (const int vec : {8, 6, 4, 3, 2}) {
    const auto pack = static_cast<std::uint32_t>(vec);
    if (word_groups % pack != 0 || (alone && vec == 8)) continue;
    const std::uint64_t threads = word_groups / pack * places;
    if (vec <= 4 || threads >= (vec == 8 ? kWidePlaces : kWidePlaces / 2)) return vec;
  }
  return 1;
}
// Of these, what a thread takes that has much to keep for each.
constexpr int few_of(int vec) { return vec > 4 ? vec / 2 : vec; }

// Where a word group's word of slot 0 is; the next are vec apart.
constexpr std::size_t first_word(std::uint32_t word_group, std::size_t words, int vec) {
  const auto pack = static_cast<std::uint32_t>(vec);
  return word_group / pack * words * pack + word_group % pack;
}

// Calls f.template operator()<kVec>() (host), of few_of(vec) or vec.
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

// 32 modified cells of one degree, a warp's: what it reads before their neighbours.
struct alignas(16) DeviceWarp {
  std::uint64_t neighbour;  // of neighbour j of lane l: neighbour + j * padded + l
  std::uint32_t padded;
  std::uint32_t degree;
  std::uint32_t thresholds;  // of this degree in a word group's threshold table
  std::uint32_t classes;
  std::uint32_t cells;  // real ones, in the first lanes
  std::uint32_t unused;
};

// The modified cells of all graphs, one list, by graph and colour.
struct DeviceCells {
  const DeviceWarp* warps = nullptr;    // [cells / 32]
  const std::uint32_t* slot = nullptr;  // [cells]
  const std::uint32_t* site = nullptr;  // [cells]
  const std::uint32_t* neighbour = nullptr;
  const std::uint32_t* first = nullptr;  // [graphs][colours + 1], in cells
  std::uint32_t colours = 2;
};

}  // namespace rewise::multispin
