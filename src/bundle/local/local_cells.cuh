// Local updates on the device, cell by cell (local_cuda.hpp): counts of disagreeing neighbours, bit
// by bit; eight digits of the draws at once; the rest by a queue in shared memory that full warps
// work off. `spins` are the words of kVec bundles side by side, in the device's memory or in a
// block's.
#pragma once

#include <cuda/std/type_traits>

#include "src/bundle/local/local_cuda.hpp"
#include "src/bundle/words.cuh"

namespace rewise::bundle::device {

// Neighbours of a regular cell: place i of its colour. f(k, place in the other colour) for k = 0..
template <int kDim>
struct Around {
  std::uint32_t row, h;
  bool odd;

  __device__ __forceinline__ Around(const DeviceLattice& g, int colour, std::uint32_t i)
      : row(i / g.half_row), h(i - row * g.half_row) {
    odd = ((static_cast<unsigned>(colour) + g.row_parity[row]) & 1u) != 0;
  }
  __device__ __forceinline__ std::uint32_t site(const DeviceLattice& g) const {
    return (row * g.half_row + h) * 2 + (odd ? 1u : 0u);
  }
  __device__ __forceinline__ void places(const DeviceLattice& g, std::uint32_t* at) const {
    const std::uint32_t start = row * g.half_row;
    const std::uint32_t ahead = h + 1 == g.half_row ? 0 : h + 1;
    const std::uint32_t behind = h == 0 ? g.half_row - 1 : h - 1;
    at[0] = start + (odd ? ahead : h);
    at[1] = start + (odd ? h : behind);
#pragma unroll
    for (int k = 0; k < 2 * (kDim - 1); ++k) {
      at[2 + k] =
          g.row_neighbour[row * static_cast<unsigned>(2 * (kDim - 1)) + static_cast<unsigned>(k)] *
              g.half_row +
          h;
    }
  }
};

// Binary planes of the number of set bits among K words.
template <int K>
struct Planes {
  static constexpr int kCount = K == 2 ? 2 : K < 8 ? 3 : 4;
  std::uint32_t p[4];

  __device__ __forceinline__ Planes() {}
  __device__ __forceinline__ explicit Planes(const std::uint32_t* x) {
    p[2] = p[3] = 0;
    if constexpr (K == 2) {
      p[0] = x[0] ^ x[1];
      p[1] = x[0] & x[1];
    } else if constexpr (K == 4) {
      const std::uint32_t s = xor3(x[0], x[1], x[2]), c = majority(x[0], x[1], x[2]);
      p[0] = s ^ x[3];
      p[1] = c ^ (s & x[3]);
      p[2] = c & s & x[3];
    } else if constexpr (K == 6) {
      const std::uint32_t s = xor3(x[0], x[1], x[2]), c = majority(x[0], x[1], x[2]);
      const std::uint32_t t = xor3(x[3], x[4], x[5]), e = majority(x[3], x[4], x[5]);
      p[0] = s ^ t;
      p[1] = xor3(c, e, s & t);
      p[2] = majority(c, e, s & t);
    } else {
      const std::uint32_t s = xor3(x[0], x[1], x[2]), c = majority(x[0], x[1], x[2]);
      const std::uint32_t t = xor3(x[3], x[4], x[5]), e = majority(x[3], x[4], x[5]);
      const std::uint32_t u = x[6] ^ x[7], f = x[6] & x[7];
      p[0] = xor3(s, t, u);
      const std::uint32_t g = majority(s, t, u);
      const std::uint32_t v = xor3(c, e, f), h = majority(c, e, f);
      p[1] = v ^ g;
      p[2] = h ^ (v & g);
      p[3] = h & v & g;
    }
  }
  __device__ __forceinline__ std::uint32_t equal(unsigned n) const {
    std::uint32_t m = n & 1 ? p[0] : ~p[0];
    m &= n & 2 ? p[1] : ~p[1];
    if constexpr (kCount > 2) m &= n & 4 ? p[2] : ~p[2];
    if constexpr (kCount > 3) m &= n & 8 ? p[3] : ~p[3];
    return m;
  }
};

constexpr unsigned kThreads = 128;
constexpr unsigned kQueue = 128;     // words of a block that may wait; about 60 of 512 do
constexpr unsigned kQuickCalls = 2;  // eight digits decide nine words in ten
constexpr unsigned kPlanes = 4;      // counts up to 15
constexpr unsigned kMostRegularClasses = 9;

// Words that need more digits than the quick ones, to be decided by full warps.
template <unsigned kRoom>
struct Queue {
  static constexpr unsigned kSize = kRoom;
  std::uint32_t word[kSize], site[kSize], undecided[kSize];
  std::uint32_t plane[kPlanes][kSize];
  std::uint32_t thresholds[kSize];  // first class in the table, classes in the upper 8 bits
  std::uint8_t bundle[kSize];
  unsigned count;
};

// What a block knows of its bundles.
template <int kVec>
struct Block {
  CallWords call_words[kVec][8];
  uint4 regular[kVec][kMostRegularClasses][kQuickCalls];  // digits of the classes of regular cells
  Queue<kQueue> queue;
};

// What a thread block works on: kVec bundles of one graph in one sweep.
struct Draw {
  std::uint32_t seed_low, seed_high, stream, step;
  std::uint32_t who;  // first bundle, within the graph
};

// The same, with the thresholds.
struct BlockUpdate {
  DeviceThresholds thresholds;
  Draw draw;
  std::uint32_t quad;  // within the batch: its words and thresholds
};

template <int kVec>
__device__ __forceinline__ BlockUpdate block_update(const DeviceSweep& sweep) {
  const unsigned graph = blockIdx.z;
  return {sweep.thresholds,
          {sweep.seeds.low[graph], sweep.seeds.high[graph], sweep.stream,
           *sweep.first_step + sweep.step, blockIdx.y * kVec},
          graph * gridDim.y + blockIdx.y};
}

// One more digit: r uniform, t the threshold's.
__device__ __forceinline__ void compare(std::uint32_t r, std::uint32_t t, std::uint32_t& undecided,
                                        std::uint32_t& below) {
  below = (undecided & t) | (~undecided & below);
  undecided &= ~(r ^ t);
}

__device__ __forceinline__ std::uint32_t equals(const std::uint32_t* plane, unsigned planes,
                                                unsigned n) {
  std::uint32_t m = ~0u;
  for (unsigned p = 0; p < planes; ++p) m &= n >> p & 1u ? plane[p] : ~plane[p];
  return m;
}

// Four digits of every class of a degree, as words of zeros or ones.
__device__ __forceinline__ uint4 digits(const DeviceThresholds& t, std::uint32_t bundle,
                                        std::uint32_t first_class, std::uint32_t c, unsigned call) {
  return __ldg(reinterpret_cast<const uint4*>(t.digit_table) +
               (static_cast<std::size_t>(bundle) * t.stride + first_class + c) * 8 + call);
}

// Digits from `call` on, for a count held in planes and classes that need not be known at compile
// time.
inline __device__ std::uint32_t finish_word(const BlockUpdate& s, const SharedItem& shared,
                                            const CallWords* call_words, std::uint32_t bundle,
                                            const std::uint32_t* plane, unsigned planes,
                                            std::uint32_t first_class, std::uint32_t classes,
                                            unsigned call, std::uint32_t undecided) {
  std::uint32_t below = 0;
  for (; call < 8 && undecided != 0; ++call) {
    const Words4 words = finish_call(shared, call_words[call], s.draw.seed_low, s.draw.seed_high);
    uint4 t = make_uint4(0, 0, 0, 0);
    for (std::uint32_t c = 0; c < classes; ++c) {
      const std::uint32_t m = equals(plane, planes, c) & undecided;
      if (m == 0) continue;
      const uint4 digit = digits(s.thresholds, bundle, first_class, c, call);
      t.x |= m & digit.x;
      t.y |= m & digit.y;
      t.z |= m & digit.z;
      t.w |= m & digit.w;
    }
    compare(words.w[0], t.x, undecided, below);
    compare(words.w[1], t.y, undecided, below);
    compare(words.w[2], t.z, undecided, below);
    compare(words.w[3], t.w, undecided, below);
  }
  return below & ~undecided;
}

// The quick digits of regular cells into shared memory; the block waits elsewhere.
template <int kVec>
__device__ __forceinline__ void load_regular_digits(
    const BlockUpdate& s, uint4 (&regular)[kVec][kMostRegularClasses][kQuickCalls],
    unsigned classes) {
  for (unsigned n = threadIdx.x; n < kVec * kMostRegularClasses * kQuickCalls; n += blockDim.x) {
    const unsigned c = n / kQuickCalls % kMostRegularClasses;
    const unsigned v = n / kQuickCalls / kMostRegularClasses;
    const unsigned call = n % kQuickCalls;
    if (c >= classes) continue;
    regular[v][c][call] = digits(s.thresholds, s.quad * kVec + v, s.thresholds.regular, c, call);
  }
}

// Flips of one word whose disagreements are counted in `plane`, for C classes. A word that stays
// open after the quick digits is queued, or, where the queue is full, decided on the spot.
// `block`: with the members of Block.
template <int C, int kVec, bool kRegular = false, class Known>
__device__ __forceinline__ std::uint32_t decide_word(const BlockUpdate& s, Known& block, int v,
                                                     std::uint32_t slot, std::uint32_t site,
                                                     std::uint32_t first_class,
                                                     const SharedItem& shared,
                                                     const std::uint32_t* plane, unsigned used) {
  const std::uint32_t bundle = s.quad * kVec + static_cast<unsigned>(v);
  std::uint32_t mask[C];
  std::uint32_t undecided = 0;
#pragma unroll
  for (int c = 0; c < C; ++c) {
    mask[c] = equals(plane, used, static_cast<unsigned>(c));
    undecided |= mask[c];
  }
  std::uint32_t below = ~undecided;
#pragma unroll
  for (unsigned call = 0; call < kQuickCalls; ++call) {
    const Words4 words =
        finish_call(shared, block.call_words[v][call], s.draw.seed_low, s.draw.seed_high);
    uint4 t = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int c = 0; c < C; ++c) {
      const uint4 digit =
          kRegular ? block.regular[v][c][call]
                   : digits(s.thresholds, bundle, first_class, static_cast<std::uint32_t>(c), call);
      t.x |= mask[c] & digit.x;
      t.y |= mask[c] & digit.y;
      t.z |= mask[c] & digit.z;
      t.w |= mask[c] & digit.w;
    }
    compare(words.w[0], t.x, undecided, below);
    compare(words.w[1], t.y, undecided, below);
    compare(words.w[2], t.z, undecided, below);
    compare(words.w[3], t.w, undecided, below);
  }
  std::uint32_t flips = below & ~undecided;
  if (undecided == 0) return flips;
  const unsigned q = atomicAdd(&block.queue.count, 1u);
  if (q < block.queue.kSize) {
    block.queue.word[q] = slot;
    block.queue.site[q] = site;
    block.queue.undecided[q] = undecided;
    block.queue.thresholds[q] = first_class | static_cast<std::uint32_t>(C) << 24;
    block.queue.bundle[q] = static_cast<std::uint8_t>(v);
#pragma unroll
    for (unsigned p = 0; p < kPlanes; ++p) block.queue.plane[p][q] = plane[p];
    return flips;
  }
  return flips ^ finish_word(s, shared, block.call_words[v], bundle, plane, kPlanes, first_class, C,
                             kQuickCalls, undecided);
}

template <int kVec>
__device__ __forceinline__ void open_block(const BlockUpdate& s, Block<kVec>& block) {
  if (threadIdx.x < kVec * 8u) {
    const unsigned v = threadIdx.x / 8, call = threadIdx.x % 8;
    block.call_words[v][call] =
        CallWords(s.draw.seed_low, s.draw.seed_high, s.draw.who + v, call, s.draw.step);
  }
  if (threadIdx.x == 0) block.queue.count = 0;
  __syncthreads();
}

// The q-th word that waits.
template <int kVec, class Known>
__device__ __forceinline__ void decide_waiting(const BlockUpdate& s, const Known& block, unsigned q,
                                               std::uint32_t* spins) {
  const auto& queue = block.queue;
  const unsigned v = queue.bundle[q];
  std::uint32_t plane[kPlanes];
#pragma unroll
  for (unsigned p = 0; p < kPlanes; ++p) plane[p] = queue.plane[p][q];
  const SharedItem shared(s.draw.seed_low, s.draw.seed_high, s.draw.stream, s.draw.step,
                          queue.site[q]);
  spins[static_cast<std::size_t>(queue.word[q]) * kVec + v] ^= finish_word(
      s, shared, block.call_words[v], s.quad * kVec + v, plane, kPlanes,
      queue.thresholds[q] & 0xFFFFFFu, queue.thresholds[q] >> 24, kQuickCalls, queue.undecided[q]);
}

template <int kVec>
__device__ __forceinline__ void decide_queue(const BlockUpdate& s, Block<kVec>& block,
                                             std::uint32_t* spins) {
  __syncthreads();
  const unsigned waiting = min(block.queue.count, kQueue);
  for (unsigned q = threadIdx.x; q < waiting; q += kThreads) {
    decide_waiting<kVec>(s, block, q, spins);
  }
}

template <int kDim, int kVec, bool kDownhill, class Known>
__device__ __forceinline__ void regular_cell(const DeviceLattice& g, const BlockUpdate& s,
                                             Known& block, int colour, std::uint32_t i,
                                             std::uint32_t* spins) {
  constexpr int kDegree = 2 * kDim;
  const Around<kDim> around(g, colour, i);
  std::uint32_t at[kDegree];
  around.places(g, at);
  const std::uint32_t slot = g.colour_base[colour] + i;
  std::uint32_t* own_at = spins + static_cast<std::size_t>(slot) * kVec;
  const std::uint32_t* other = spins + static_cast<std::size_t>(g.colour_base[1 - colour]) * kVec;
  Pack<kVec> own = load<kVec>(own_at);
  Pack<kVec> neighbour[kDegree];
#pragma unroll
  for (int k = 0; k < kDegree; ++k) {
    neighbour[k] = load<kVec>(other + static_cast<std::size_t>(at[k]) * kVec);
  }
  constexpr int kClasses = kDownhill ? kDegree / 2 : kDegree + 1;
  const std::uint32_t site = around.site(g);
  const SharedItem shared(s.draw.seed_low, s.draw.seed_high, s.draw.stream, s.draw.step, site);
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    std::uint32_t x[kDegree];
#pragma unroll
    for (int k = 0; k < kDegree; ++k) x[k] = own.w[v] ^ neighbour[k].w[v];
    const Planes<kDegree> planes(x);
    own.w[v] ^= decide_word<kClasses, kVec, true>(s, block, v, slot, site, s.thresholds.regular,
                                                  shared, planes.p, Planes<kDegree>::kCount);
  }
  store<kVec>(own_at, own);
}

// A modified cell of degree below 16: counts in a ripple of planes, then by the number of classes.
template <int kVec, class Known>
__device__ __forceinline__ void modified_cell(const DeviceCells& cells, const DeviceGroup& group,
                                              const BlockUpdate& s, Known& block,
                                              std::uint32_t cell, std::uint32_t i,
                                              std::uint32_t* spins) {
  const std::uint32_t slot = cells.slot[cell];
  const std::uint32_t site = cells.site[cell];
  Pack<kVec> own = load<kVec>(spins + static_cast<std::size_t>(slot) * kVec);
  std::uint32_t plane[kVec][kPlanes];
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
#pragma unroll
    for (unsigned p = 0; p < kPlanes; ++p) plane[v][p] = 0;
  }
  const std::uint32_t* column = cells.neighbour + group.neighbour + i;
#pragma unroll 4
  for (std::uint32_t j = 0; j < group.degree; ++j, column += group.padded) {
    const Pack<kVec> far = load<kVec>(spins + static_cast<std::size_t>(*column) * kVec);
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      std::uint32_t x = own.w[v] ^ far.w[v];
#pragma unroll
      for (unsigned p = 0; p < kPlanes; ++p) {
        const std::uint32_t carry = plane[v][p] & x;
        plane[v][p] ^= x;
        x = carry;
      }
    }
  }
  const SharedItem shared(s.draw.seed_low, s.draw.seed_high, s.draw.stream, s.draw.step, site);
  const auto decide = [&](auto classes) {
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      own.w[v] ^= decide_word<decltype(classes)::value, kVec>(
          s, block, v, slot, site, group.thresholds, shared, plane[v], kPlanes);
    }
  };
  switch (group.classes) {
    case 0:  // an isolated site under Metropolis
#pragma unroll
      for (int v = 0; v < kVec; ++v) own.w[v] = ~own.w[v];
      break;
    case 1:
      decide(cuda::std::integral_constant<int, 1>{});
      break;
    case 2:
      decide(cuda::std::integral_constant<int, 2>{});
      break;
    case 3:
      decide(cuda::std::integral_constant<int, 3>{});
      break;
    case 4:
      decide(cuda::std::integral_constant<int, 4>{});
      break;
    default:
#pragma unroll
      for (int v = 0; v < kVec; ++v) {
        std::uint32_t open = 0;
        for (std::uint32_t c = 0; c < group.classes; ++c) open |= equals(plane[v], kPlanes, c);
        own.w[v] ^= ~open | finish_word(s, shared, block.call_words[v],
                                        s.quad * kVec + static_cast<unsigned>(v), plane[v], kPlanes,
                                        group.thresholds, group.classes, 0, open);
      }
  }
  store<kVec>(spins + static_cast<std::size_t>(slot) * kVec, own);
}

// Any degree, replica by replica: hubs are rare.
template <int kVec>
__device__ void hub(const DeviceCells& cells, const DeviceGroup& group, const BlockUpdate& s,
                    std::uint32_t cell, std::uint32_t i, std::uint32_t* spins) {
  const std::size_t slot = cells.slot[cell];
  const std::uint32_t* neighbour = cells.neighbour + group.neighbour + i;
  for (unsigned v = 0; v < kVec; ++v) {
    const std::uint32_t bundle = s.quad * kVec + v;
    const Address at{static_cast<std::uint64_t>(s.draw.seed_high) << 32 | s.draw.seed_low,
                     s.draw.who + v, s.draw.step};
    const std::uint32_t own = spins[slot * kVec + v];
    std::uint32_t flips = 0;
    for (unsigned r = 0; r < kReplicas; ++r) {
      std::uint32_t disagreeing = 0;
      for (std::uint32_t j = 0; j < group.degree; ++j) {
        const std::size_t far = neighbour[static_cast<std::size_t>(j) * group.padded];
        disagreeing += (spins[far * kVec + v] ^ own) >> r & 1u;
      }
      const bool accepted =
          disagreeing >= group.classes ||
          replica_draw(at, static_cast<Stream>(s.draw.stream), cells.site[cell], r,
                       s.thresholds.table[static_cast<std::size_t>(bundle) * s.thresholds.stride +
                                          group.thresholds + disagreeing]);
      flips |= (accepted ? 1u : 0u) << r;
    }
    spins[slot * kVec + v] = own ^ flips;
  }
}

// The index-th regular cell of a colour in the block's graph.
__device__ __forceinline__ std::uint32_t regular_place(const DeviceLattice& g, int colour,
                                                       std::uint32_t index) {
  if (index >= g.regular_most[colour]) return kNoPlace;
  const std::uint32_t* list = g.regular[colour];
  return list == nullptr ? index : list[std::size_t{blockIdx.z} * (g.sites / 2) + index];
}

// A modified cell of any degree, by its place in the list; nothing where that is padding.
template <int kVec, class Known>
__device__ __forceinline__ void any_modified_cell(const DeviceCells& cells, const BlockUpdate& s,
                                                  Known& block, std::uint32_t cell,
                                                  std::uint32_t* spins) {
  const DeviceGroup group = cells.groups[cells.group_of_warp[cell / 32]];
  const std::uint32_t i = cell - group.first;
  if (i >= group.cells) return;
  if (group.degree < 1u << kPlanes) {
    modified_cell<kVec>(cells, group, s, block, cell, i, spins);
  } else {
    hub<kVec>(cells, group, s, cell, i, spins);
  }
}

}  // namespace rewise::bundle::device
