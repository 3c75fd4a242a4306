// Counts unsatisfied bonds and up spins of all replicas (measure_cuda.hpp).
//
// A place is a pair of neighbouring sites 2k and 2k + 1 of a row, one word of each colour. A thread
// walks along a column of places and counts the bonds from them to higher coordinates; the words of
// the next row stay in registers for the next step. Two or four adjacent threads share the word
// groups of a place if there are four, six or eight. Minimum cost: one read of every spin, 4 N
// bytes per word group, and 3 instructions per bond and word of 32 replicas.
#include "graphs/lattice.hpp"
#include "src/cuda/bits.cuh"
#include "src/cuda/launch.hpp"
#include "src/multispin/local/measure_cuda.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/words.cuh"

namespace rewise::multispin {
namespace {

using namespace device;

constexpr unsigned kThreads = 128, kWarps = kThreads / 32;
constexpr unsigned kGroup = 8;     // steps of a walk that are unrolled; pairs per thread
constexpr unsigned kLongest = 32;  // steps of a walk
constexpr unsigned kBlocks = 512;  // enough to fill a device

constexpr int bit_width(unsigned n) { return n == 0 ? 0 : 1 + bit_width(n / 2); }

// The division of work between the blocks of a launch.
struct WalkDivision {
  unsigned steps;  // steps of a walk
  unsigned walks;  // consecutive walks of `steps` rows per line
  unsigned lattice_blocks;
  unsigned pair_blocks;  // blocks for removed and for rewired bonds each
};

// Unsatisfied bonds and up spins of kVec word groups.
template <int kDim, int kVec>
struct Tallies {
  static constexpr int kBits = bit_width(kLongest * (kDim == 0 ? 1 : 2 * kDim));
  CarrySaveCounter<kBits> bonds[kVec], up[kVec];

  // `sign`: ~0 where the coupling is -1, else 0.
  __device__ __forceinline__ void add_bond(unsigned n, const GroupWords<kVec>& x,
                                           const GroupWords<kVec>& y, std::uint32_t sign) {
#pragma unroll
    for (int v = 0; v < kVec; ++v) bonds[v].add(n, xor3(x.w[v], y.w[v], sign));
  }
  __device__ __forceinline__ void add_up(unsigned n, const GroupWords<kVec>& x) {
#pragma unroll
    for (int v = 0; v < kVec; ++v) up[v].add(n, x.w[v]);
  }
  __device__ __forceinline__ void close(unsigned bond_words, unsigned up_words) {
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      bonds[v].close(bond_words);
      up[v].close(up_words);
    }
  }
};

// The words of a thread: kVec adjacent ones.
template <int kVec, int kParts>
struct Words {
  static constexpr std::ptrdiff_t kSide = kVec * kParts;
  const std::uint32_t* first;

  __device__ __forceinline__ const std::uint32_t* at(std::uint32_t slot) const {
    return first + static_cast<std::ptrdiff_t>(slot) * kSide;
  }
};

// The signs of the bonds of a place, from its first and second site to higher coordinates.
struct Signs {
  std::uint32_t first = 0, second = 0;  // DeviceLattice::sign of the two sites

  __device__ __forceinline__ std::uint32_t of_first(int direction) const {
    return 0u - (first >> 2 * direction & 1u);
  }
  __device__ __forceinline__ std::uint32_t of_second(int direction) const {
    return 0u - (second >> 2 * direction & 1u);
  }
};
template <bool kSigned>
__device__ __forceinline__ Signs signs_of(const DeviceLattice& g, unsigned odd,
                                          std::uint32_t place) {
  if constexpr (!kSigned) return {};
  const std::size_t at = std::size_t{blockIdx.z} * (g.sites / 2) + place;
  return {g.sign[odd][at], g.sign[1 - odd][at]};
}

// Counts at the n-th place of a group: the bond between its sites, the bond from its second site to
// the next site, and its up spins. Each site has kDim - 1 further words of bonds.
template <int kDim, int kVec>
__device__ __forceinline__ void count_place(unsigned n, const GroupWords<kVec>& first,
                                            const GroupWords<kVec>& second,
                                            const GroupWords<kVec>& after, const Signs& signs,
                                            Tallies<kDim, kVec>& tallies) {
  tallies.add_bond(2 * kDim * n, first, second, signs.of_first(0));
  tallies.add_bond(2 * kDim * n + 1, second, after, signs.of_second(0));
  tallies.add_up(2 * n, first);
  tallies.add_up(2 * n + 1, second);
}

// Calls step(n, last) for every step of a walk; n is its index within a group.
template <class Step, class Close>
__device__ __forceinline__ void walk(unsigned steps, const Step& step, const Close& close) {
  for (; steps >= kGroup; steps -= kGroup) {
#pragma unroll
    for (unsigned n = 0; n < kGroup; ++n) step(n, n + 1 == kGroup && steps == kGroup);
    close(kGroup);
  }
  for (; steps > 0; --steps) {
    step(0u, steps == 1);
    close(1u);
  }
}

// One row, or a graph without a lattice: places at distances of kThreads / kParts.
template <int kDim, int kVec, int kParts, bool kSigned>
__device__ __forceinline__ void walk_along(const DeviceLattice& g, const Words<kVec, kParts>& words,
                                           const WalkDivision& division,
                                           Tallies<kDim, kVec>& tallies) {
  constexpr unsigned kStride = kThreads / kParts;
  const std::uint32_t end = kDim == 0 ? g.sites : g.half_row;
  std::uint32_t h = blockIdx.x * division.steps * kStride + threadIdx.x / kParts;
  const unsigned steps = h < end ? min(division.steps, (end - h + kStride - 1) / kStride) : 0;
  const auto step = [&](unsigned n, bool) {
    const GroupWords<kVec> first = load<kVec>(words.at(g.colour_base[0] + h));
    if constexpr (kDim == 0) {
      tallies.add_up(n, first);
    } else {
      const std::uint32_t after = h + 1 == g.half_row ? 0 : h + 1;
      count_place<kDim, kVec>(n, first, load<kVec>(words.at(g.colour_base[1] + h)),
                              load<kVec>(words.at(g.colour_base[0] + after)),
                              signs_of<kSigned>(g, 0, h), tallies);
    }
    h += kStride;
  };
  walk(steps, step, [&](unsigned n) { tallies.close(2 * kDim * n, (kDim == 0 ? 1 : 2) * n); });
}

// A walk over rows, up to the end of the line in the second direction. The first site of a place
// has the other colour in the next row of any direction.
template <int kDim, int kVec, int kParts, bool kSigned>
__device__ __forceinline__ void walk_rows(const DeviceLattice& g, const Words<kVec, kParts>& words,
                                          const WalkDivision& division,
                                          Tallies<kDim, kVec>& tallies) {
  const std::uint32_t column = (blockIdx.x * kThreads + threadIdx.x) / kParts;
  const std::uint32_t which = column / g.half_row, h = column % g.half_row;
  const std::uint32_t y = which % division.walks * division.steps;
  const std::uint32_t row = which / division.walks * g.extent[1] + y;
  if (row >= g.rows) return;
  unsigned odd = g.row_parity[row];
  std::uint32_t place = row * g.half_row + h;
  const std::uint32_t* at_first = words.at(g.colour_base[odd] + place);
  const std::uint32_t* at_second = words.at(g.colour_base[1 - odd] + place);
  // Distances to other places, in words.
  const std::ptrdiff_t line = words.kSide * g.half_row;
  const std::ptrdiff_t back = line * (1 - static_cast<std::ptrdiff_t>(g.extent[1]));
  const std::ptrdiff_t after = h + 1 == g.half_row ? words.kSide - line : words.kSide;
  std::ptrdiff_t far[kDim]{};
#pragma unroll
  for (int d = 2; d < kDim; ++d) {
    const std::uint32_t to = g.row_neighbour[row * (2 * (kDim - 1)) + 2 * (d - 1)];
    far[d] = line * (static_cast<std::ptrdiff_t>(to) - static_cast<std::ptrdiff_t>(row));
  }
  const bool to_end = y + division.steps >= g.extent[1];
  GroupWords<kVec> first = load<kVec>(at_first), second = load<kVec>(at_second);
  const auto step = [&](unsigned n, bool last) {
    const std::ptrdiff_t on = last && to_end ? back : line;
    const std::uint32_t* next_first = at_second + on;
    const std::uint32_t* next_second = at_first + on;
    const GroupWords<kVec> on_first = load<kVec>(next_first), on_second = load<kVec>(next_second);
    const Signs signs = signs_of<kSigned>(g, odd, place);
    if constexpr (kSigned) {  // signs of the next row
      odd = 1 - odd;
      place += g.half_row;
    }
    count_place<kDim, kVec>(n, first, second, load<kVec>(at_first + after), signs, tallies);
    const unsigned bond = 2 * kDim * n;
    tallies.add_bond(bond + 2, first, on_first, signs.of_first(1));
    tallies.add_bond(bond + 3, second, on_second, signs.of_second(1));
#pragma unroll
    for (int d = 2; d < kDim; ++d) {
      tallies.add_bond(bond + 2 * d, first, load<kVec>(at_second + far[d]), signs.of_first(d));
      tallies.add_bond(bond + 2 * d + 1, second, load<kVec>(at_first + far[d]), signs.of_second(d));
    }
    at_first = next_first;
    at_second = next_second;
    first = on_first;
    second = on_second;
  };
  walk(min(division.steps, g.extent[1] - y), step,
       [&](unsigned n) { tallies.close(2 * kDim * n, 2 * n); });
}

// Adds the counters of all warps of the block. Each warp processes one of the 2 kVec counters at a
// time and transposes it, so that lane r holds replica r. Every kParts-th lane belongs to the same
// part of the word groups.
template <int kDim, int kVec, int kParts>
__device__ __forceinline__ void add_up(const Tallies<kDim, kVec>& tallies, bool negative,
                                       unsigned long long* unsatisfied, unsigned long long* up) {
  constexpr int kBits = Tallies<kDim, kVec>::kBits, kAll = kBits + 2;
  static_assert(kWarps <= 4);
  __shared__ std::uint32_t count_bit[2][kVec][kWarps][kBits][32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (unsigned v = 0; v < kVec; ++v) {
#pragma unroll
    for (int p = 0; p < kBits; ++p) {
      count_bit[0][v][warp][p][lane] = tallies.bonds[v].bit[p];
      count_bit[1][v][warp][p][lane] = tallies.up[v].bit[p];
    }
  }
  __syncthreads();
  for (unsigned which = warp; which < 2 * kVec; which += kWarps) {
    const unsigned kind = which / kVec, v = which % kVec;
    Counter<kAll> total;
#pragma unroll
    for (unsigned w = 0; w < kWarps; ++w) {
      std::uint32_t number[kBits];
#pragma unroll
      for (int p = 0; p < kBits; ++p) number[p] = count_bit[kind][v][w][p][lane];
      total.template add<kBits>(number);
    }
    unsigned sum[kParts]{};
#pragma unroll
    for (int p = 0; p < kAll; ++p) {
      const std::uint32_t bits = transpose_bits(total.bit[p]);
#pragma unroll
      for (unsigned part = 0; part < kParts; ++part) {
        constexpr std::uint32_t kLanes = ~0u / ((1u << kParts) - 1);
        sum[part] += static_cast<unsigned>(__popc(bits & kLanes << part)) << p;
      }
    }
#pragma unroll
    for (unsigned part = 0; part < kParts; ++part) {
      const unsigned long long n = sum[part];
      if (n == 0) continue;
      atomicAdd((kind == 0 ? unsatisfied : up) + (part * kVec + v) * kReplicas + lane,
                negative ? 0ull - n : n);
    }
  }
}

// Counts removed or rewired bonds of the graph of the block.
template <int kDim, int kVec, int kParts, bool kSigned>
__device__ __forceinline__ void count_pairs(const DevicePairs& pairs,
                                            const Words<kVec, kParts>& words, unsigned block,
                                            Tallies<kDim, kVec>& tallies) {
  constexpr unsigned kStride = kThreads / kParts;
  const std::uint32_t first = pairs.first[blockIdx.z], last = pairs.first[blockIdx.z + 1];
  const std::uint32_t start = first + block * kGroup * kStride + threadIdx.x / kParts;
  GroupWords<kVec> none{};
#pragma unroll
  for (unsigned n = 0; n < kGroup; ++n) {
    const std::uint32_t i = start + n * kStride;
    const bool real = i < last;
    const std::uint32_t a = real ? pairs.a[i] : 0;
    tallies.add_bond(n, real ? load<kVec>(words.at(listed_slot(a))) : none,
                     real ? load<kVec>(words.at(pairs.b[i])) : none, kSigned ? listed_sign(a) : 0u);
  }
  tallies.close(kGroup, 0);
}

// blockIdx.x: blocks for the lattice, then for removed bonds, then for rewired ones. blockIdx.y:
// kVec * kParts word groups of graph blockIdx.z.
template <int kDim, int kVec, int kParts, bool kSigned>
__global__ void __launch_bounds__(kThreads)
    count(const __grid_constant__ DeviceLattice g, const __grid_constant__ DeviceMeasurement m,
          const __grid_constant__ WalkDivision division) {
  const std::size_t which = std::size_t{blockIdx.z} * gridDim.y + blockIdx.y;
  const Words<kVec, kParts> words{m.spins + which * g.words * (kVec * kParts) +
                                  threadIdx.x % kParts * kVec};
  Tallies<kDim, kVec> tallies;
  bool removed = false;
  if (blockIdx.x >= division.lattice_blocks) {
    const unsigned block = blockIdx.x - division.lattice_blocks;
    removed = block < division.pair_blocks;
    count_pairs<kDim, kVec, kParts, kSigned>(m.pairs[removed ? 0 : 1], words,
                                             block % division.pair_blocks, tallies);
  } else if constexpr (kDim < 2) {
    walk_along<kDim, kVec, kParts, kSigned>(g, words, division, tallies);
  } else {
    walk_rows<kDim, kVec, kParts, kSigned>(g, words, division, tallies);
  }
  const std::size_t replica = which * (kVec * kParts) * kReplicas;
  add_up<kDim, kVec, kParts>(tallies, removed, m.unsatisfied + replica, m.up + replica);
}

unsigned blocks_of(std::uint64_t items, unsigned per) {
  return static_cast<unsigned>((items + per - 1) / per);
}

// Number of threads that share a pack of word groups.
constexpr int parts_of(int vec) { return vec == 8 ? 4 : vec >= 4 ? 2 : 1; }

// Chooses the longest walks that still give enough blocks to fill the device.
WalkDivision divide_walks(const DeviceLattice& g, const DeviceMeasurement& m, unsigned parts) {
  const unsigned stride = kThreads / parts;
  const unsigned rows = m.graphs * m.word_groups / static_cast<unsigned>(m.vec);
  WalkDivision s{};
  s.steps = kLongest;
  for (;; s.steps /= 2) {
    if (g.dim < 2) {
      s.lattice_blocks = blocks_of(g.dim == 0 ? g.sites : g.half_row, s.steps * stride);
    } else {
      s.walks = blocks_of(g.extent[1], s.steps);
      s.lattice_blocks =
          blocks_of(std::uint64_t{g.rows / g.extent[1]} * s.walks * g.half_row, stride);
    }
    if (s.steps == kGroup || std::uint64_t{s.lattice_blocks} * rows >= kBlocks) break;
  }
  s.pair_blocks = blocks_of(m.most, kGroup * stride);
  return s;
}

__global__ void change_words(const __grid_constant__ DeviceChange change,
                             const std::uint32_t* spins, std::uint32_t* changed) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= change.words) return;
  const auto slot =
      static_cast<std::uint32_t>(i / static_cast<unsigned>(change.vec) % change.slots);
  std::uint32_t mask = spins[i] >> 1;
  if (change.kind == DeviceChange::Kind::mask) {
    mask = change.mask[i / change.graph_words * change.slots + slot];
  } else if (change.kind == DeviceChange::Kind::second_sublattice) {
    mask = slot >= change.second ? ~0u : 0u;
  }
  changed[i] = spins[i] ^ mask;
}

}  // namespace

void launch_change(const DeviceChange& change, const std::uint32_t* spins, std::uint32_t* changed,
                   cudaStream_t stream) {
  launch(change_words, cover(change.words), stream, change, spins, changed);
}

void launch_measure(const DeviceLattice& g, const DeviceMeasurement& m, cudaStream_t stream) {
  const WalkDivision division = divide_walks(g, m, static_cast<unsigned>(parts_of(m.vec)));
  LaunchShape shape{division.lattice_blocks + 2 * division.pair_blocks, kThreads};
  shape.blocks_y = m.word_groups / static_cast<unsigned>(m.vec);
  shape.blocks_z = m.graphs;
  with_dim(g.dim, [&]<int kDim>() {
    with_vec(m.vec, [&]<int kVec>() {
      constexpr int kParts = parts_of(kVec);
      launch(m.with_signs ? count<kDim, kVec / kParts, kParts, true>
                          : count<kDim, kVec / kParts, kParts, false>,
             shape, stream, g, m, division);
    });
  });
}

}  // namespace rewise::multispin
