// Local updates of single cells on the device (local_cuda.hpp). Unsatisfied bonds are counted
// in binary: word p of a count has bit p of the numbers of 32 replicas. Eight digits of the draws
// are compared at once; words that are still undecided wait in a queue in shared memory, which full
// warps process. `spins` are the words of a pack of kVec word groups, in global or in shared
// memory.
//
// The speed is limited by logical instructions, of which a scheduler issues half a warp per cycle.
// Each digit of a word costs three: one selects the threshold's digit among the classes by the
// bits of the count, two are those of compare().
#pragma once

#include <bit>
#include <cuda/std/type_traits>

#include "src/base/bits.hpp"
#include "src/multispin/local/local_cuda.hpp"
#include "src/multispin/words.cuh"

namespace rewise::multispin::device {

// Neighbours of the regular cell at position i of its colour.
template <int kDim>
struct RegularNeighbours {
  std::uint32_t row, h;
  bool odd;

  __device__ __forceinline__ RegularNeighbours(const DeviceLattice& g, int colour, std::uint32_t i)
      : row(g.per_row.quotient(i)), h(i - row * g.half_row) {
    const std::uint32_t parity = kDim == 1 ? 0 : kDim == 2 ? row : g.row_parity[row];
    odd = ((static_cast<unsigned>(colour) + parity) & 1u) != 0;
  }
  __device__ __forceinline__ std::uint32_t site(const DeviceLattice& g) const {
    return (row * g.half_row + h) * 2 + (odd ? 1u : 0u);
  }
  // The places of these neighbours in the other colour.
  __device__ __forceinline__ void places(const DeviceLattice& g, std::uint32_t* at) const {
    const std::uint32_t start = row * g.half_row;
    const std::uint32_t ahead = h + 1 == g.half_row ? 0 : h + 1;
    const std::uint32_t behind = h == 0 ? g.half_row - 1 : h - 1;
    at[0] = start + (odd ? ahead : h);
    at[1] = start + (odd ? h : behind);
    if constexpr (kDim == 2) {
      at[2] = (row + 1 == g.rows ? 0 : start + g.half_row) + h;
      at[3] = (row == 0 ? (g.rows - 1) * g.half_row : start - g.half_row) + h;
    } else {
#pragma unroll
      for (int k = 0; k < 2 * (kDim - 1); ++k) {
        const std::uint32_t* to = g.row_neighbour + row * static_cast<unsigned>(2 * (kDim - 1));
        at[2 + k] = to[k] * g.half_row + h;
      }
    }
  }
};

constexpr unsigned kCountBits = 4;  // of a count of unsatisfied bonds, up to 15

// The number of unsatisfied bonds (in a field: of neighbours that are up) in each replica.
// open: the replicas that need a draw. bit: the number in binary, valid in these replicas.
struct Count {
  std::uint32_t open = 0;
  std::uint32_t bit[kCountBits] = {};
};
// Number of bits of a count below `classes`.
constexpr int count_width(int classes) {
  return classes <= 1 ? 1 : static_cast<int>(std::bit_width(static_cast<unsigned>(classes - 1)));
}

// The replicas in which a number of four bits is below n, 1 <= n <= 4.
template <int n>
__device__ __forceinline__ std::uint32_t is_below(const std::uint32_t* p) {
  static_assert(n >= 1 && n <= 4);
  const std::uint32_t high = p[2] | p[3];
  if constexpr (n == 1) return ~(high | p[1] | p[0]);
  if constexpr (n == 2) return ~(high | p[1]);
  if constexpr (n == 3) return ~(high | (p[1] & p[0]));
  return ~high;
}

// The replicas in which a number of `width` bits is below n.
__device__ __forceinline__ std::uint32_t is_below(const std::uint32_t* p, unsigned width,
                                                  unsigned n) {
  if (n >> width != 0) return ~0u;
  std::uint32_t below = 0, equal = ~0u;
  for (unsigned k = width; k-- > 0;) {
    if ((n >> k & 1u) != 0) below |= equal & ~p[k];
    equal &= (n >> k & 1u) != 0 ? p[k] : ~p[k];
  }
  return below;
}

// The binary number of set bits among K words.
template <int K>
__device__ __forceinline__ void count_bits(const std::uint32_t* x, std::uint32_t* p) {
  p[2] = p[3] = 0;
  if constexpr (K == 2) {
    p[0] = x[0] ^ x[1];
    p[1] = x[0] & x[1];
    return;
  }
  const std::uint32_t s = xor3(x[0], x[1], x[2]), c = majority(x[0], x[1], x[2]);
  if constexpr (K == 4) {
    p[0] = s ^ x[3];
    p[1] = c ^ (s & x[3]);
    p[2] = c & s & x[3];
  } else if constexpr (K > 4) {
    const std::uint32_t t = xor3(x[3], x[4], x[5]), e = majority(x[3], x[4], x[5]);
    if constexpr (K == 6) {
      p[0] = s ^ t;
      p[1] = xor3(c, e, s & t);
      p[2] = majority(c, e, s & t);
    } else {
      const std::uint32_t u = x[6] ^ x[7], f = x[6] & x[7];
      p[0] = xor3(s, t, u);
      const std::uint32_t g = majority(s, t, u);
      const std::uint32_t v = xor3(c, e, f), h = majority(c, e, f);
      p[1] = v ^ g;
      p[2] = h ^ (v & g);
      p[3] = h & v & g;
    }
  }
}

// The work of a thread block: kVec word groups of one graph in one sweep.
struct Draw {
  PhiloxSeed seed;
  std::uint32_t stream, step;
  std::uint32_t group;  // first word group, within the graph
};

// Updates in a field (DegreeTable).
struct InField {
  std::int32_t field;
  bool heat_bath;

  // The spins that need a draw, by the number of neighbours that are up.
  __device__ __forceinline__ std::uint32_t draws(std::uint32_t own, const std::uint32_t* up,
                                                 unsigned width, std::uint32_t degree) const {
    if (heat_bath) return ~0u;
    return select(own, ~is_below(up, width, least_up(degree)),
                  is_below(up, width, most_down(degree)));
  }
  // A spin that is up needs a draw if at least this many neighbours u are up: 2 u - degree + h > 0.
  __device__ __forceinline__ std::uint32_t least_up(std::uint32_t degree) const {
    return in_range((twice(degree) >> (kFixedBits + 1)) + 1, degree);
  }
  // A spin that is down needs a draw if fewer than this many neighbours u are up: 2 u - degree + h
  // < 0.
  __device__ __forceinline__ std::uint32_t most_down(std::uint32_t degree) const {
    return in_range(-(-twice(degree) >> (kFixedBits + 1)), degree);
  }
  // The old spins, to which flips are added; 0 for the heat bath, whose draw is the new spin.
  __device__ __forceinline__ std::uint32_t kept(std::uint32_t own) const {
    return heat_bath ? 0 : own;
  }

 private:
  __device__ __forceinline__ std::int64_t twice(std::uint32_t degree) const {
    return (static_cast<std::int64_t>(degree) << kFixedBits) - field;
  }
  static __device__ __forceinline__ std::uint32_t in_range(std::int64_t n, std::uint32_t degree) {
    const std::int64_t most = std::int64_t{degree} + 1;
    return static_cast<std::uint32_t>(n < 0 ? 0 : n > most ? most : n);
  }
};

// What a block needs to update a pack of word groups: thresholds, draws and field.
struct BlockUpdate {
  DeviceThresholds thresholds;
  Draw draw;
  InField in_field;
  std::uint32_t pack_index;  // index of the pack in the batch, for words and thresholds
};

// The spins to which flips are added, that is, XORed.
template <CellRule kRule>
__device__ __forceinline__ std::uint32_t kept(const BlockUpdate& s, std::uint32_t own) {
  return kRule == CellRule::in_field ? s.in_field.kept(own) : own;
}

// The count of a regular cell. Counts up neighbours instead of unsatisfied bonds if only counts
// below kDim need a draw, which saves comparing each neighbour with the cell: n up neighbours
// disagree with a spin that is down, 2 kDim - n with one that is up.
template <int kDim, CellRule kRule>
__device__ __forceinline__ Count count_around(std::uint32_t own, const std::uint32_t* near,
                                              const BlockUpdate& update) {
  constexpr bool kDownhill = kRule == CellRule::downhill;
  Count n;
  if constexpr (kRule == CellRule::in_field) {
    count_bits<2 * kDim>(near, n.bit);
    n.open = update.in_field.draws(own, n.bit, kCountBits, 2 * kDim);
  } else if constexpr (kDownhill && kDim == 1) {
    n.open = ~((near[0] ^ own) | (near[1] ^ own));
  } else if constexpr (kDownhill && kDim == 2) {
    const std::uint32_t s = xor3(near[0], near[1], near[2]);
    const std::uint32_t two = majority(near[0], near[1], near[2]);
    const std::uint32_t one = select(own, s | near[3], ~(s & near[3]));
    n.open = one & ~(two ^ own);
    n.bit[0] = s ^ near[3];
  } else if constexpr (kDownhill && kDim == 3) {
    std::uint32_t up[kCountBits];
    count_bits<6>(near, up);
    n.open = ~(own ^ up[2]) & (own | ~(up[1] & up[0]));
    n.bit[0] = up[0];
    n.bit[1] = (up[1] ^ own) & ~up[0];
  } else {
    std::uint32_t x[2 * kDim];
#pragma unroll
    for (int k = 0; k < 2 * kDim; ++k) x[k] = own ^ near[k];
    count_bits<2 * kDim>(x, n.bit);
    n.open = kDownhill ? is_below<kDim>(n.bit) : ~0u;
  }
  return n;
}

// For every bit selects at(n), where n < kCount is given in binary.
template <int kCount, int kFirst = 0, class At>
__device__ __forceinline__ std::uint32_t pick(const std::uint32_t* count_bit, const At& at) {
  if constexpr (kCount == 1) {
    return at(kFirst);
  } else {
    constexpr auto kBit = static_cast<int>(std::bit_width(static_cast<unsigned>(kCount - 1))) - 1;
    constexpr int kHalf = 1 << kBit;
    return select(count_bit[kBit], pick<kCount - kHalf, kFirst + kHalf>(count_bit, at),
                  pick<kHalf, kFirst>(count_bit, at));
  }
}

constexpr unsigned kThreads = 128;
constexpr unsigned kQuickCalls = 2;  // eight digits decide 90% of the words
constexpr unsigned kAllCalls = 8;

// Number of classes of regular cells, and the largest number of classes of modified cells whose
// words may wait in the queue. Cells with more classes are rare. They are decided at once, because
// the additional bits would slow down all others.
constexpr int regular_classes(int dim, CellRule rule) {
  return rule == CellRule::downhill ? dim : 2 * dim + 1;
}
constexpr int most_quick(CellRule rule) { return rule == CellRule::downhill ? 4 : 8; }

// The words of a cell that are undecided after the first digits. All lanes of a warp queue theirs
// together.
template <int kVec>
struct OpenCell {
  std::uint32_t slot, site;
  std::uint32_t thresholds;            // first class in the table, classes in the upper 8 bits
  std::uint32_t undecided[kVec] = {};  // 0: none
  std::uint32_t count_bit[kVec][kCountBits];
};

// The queue of undecided words, with the bits of their counts.
template <unsigned kRoom, int kKept>
struct Queue {
  static constexpr unsigned kSize = kRoom;
  static constexpr int kBitsKept = kKept;
  std::uint32_t word[kSize], site[kSize], undecided[kSize];
  std::uint32_t count_bit[kKept][kSize];
  std::uint32_t thresholds[kSize];  // as in OpenCell
  std::uint8_t word_group[kSize];

  template <int kVec>
  __device__ __forceinline__ void put(unsigned q, const OpenCell<kVec>& cell, int v) {
    word[q] = cell.slot;
    site[q] = cell.site;
    undecided[q] = cell.undecided[v];
    thresholds[q] = cell.thresholds;
    word_group[q] = static_cast<std::uint8_t>(v);
#pragma unroll
    for (int p = 0; p < kKept; ++p) count_bit[p][q] = cell.count_bit[v][p];
  }
};

// Shared memory of a block: thresholds of kClasses classes of regular cells, and a queue for counts
// of up to kMax classes with room for all words of the block.
template <int kVec, int kClasses, int kMax>
struct Block {
  PhiloxCall call_words[kVec][kAllCalls];
  uint4 regular[kVec][kClasses][kAllCalls];  // digits of the classes
  Queue<kThreads * kVec, count_width(kMax)> queue;
  unsigned waiting;
};

template <int kVec>
__device__ __forceinline__ BlockUpdate block_update(const DeviceSweep& sweep) {
  const unsigned graph = blockIdx.z;
  return {sweep.thresholds,
          {sweep.seeds.of_graph(graph), sweep.stream, *sweep.first_step + sweep.step,
           blockIdx.y * kVec},
          {sweep.field, sweep.heat_bath},
          graph * gridDim.y + blockIdx.y};
}

// Compares one more digit: r is the uniform digit, t the threshold's.
__device__ __forceinline__ void compare(std::uint32_t r, std::uint32_t t, std::uint32_t& undecided,
                                        std::uint32_t& below) {
  below = (undecided & t) | (~undecided & below);
  undecided &= ~(r ^ t);
}

__device__ __forceinline__ std::uint32_t equals(const std::uint32_t* count_bit, unsigned width,
                                                unsigned n) {
  std::uint32_t m = ~0u;
  for (unsigned p = 0; p < width; ++p) m &= n >> p & 1u ? count_bit[p] : ~count_bit[p];
  return m;
}

// Four digits of each class of a degree, as words of zeros or ones: [class * 8 + call].
__device__ __forceinline__ const uint4* digits_of(const DeviceThresholds& t,
                                                  std::uint32_t word_group,
                                                  std::uint32_t first_class) {
  return reinterpret_cast<const uint4*>(t.digit_table) +
         (static_cast<std::size_t>(word_group) * t.stride + first_class) * kAllCalls;
}

// Compares the four digits of a call. digit(c): the four threshold digits of class c.
template <int C, class Digits>
__device__ __forceinline__ void compare_call(const Words4& words, const std::uint32_t* count_bit,
                                             const Digits& digit, std::uint32_t& undecided,
                                             std::uint32_t& below) {
  uint4 digits[C];
#pragma unroll
  for (int c = 0; c < C; ++c) digits[c] = digit(c);
  const auto x = [&](int c) { return digits[c].x; };
  const auto y = [&](int c) { return digits[c].y; };
  const auto z = [&](int c) { return digits[c].z; };
  const auto w = [&](int c) { return digits[c].w; };
  compare(words.w[0], pick<C>(count_bit, x), undecided, below);
  compare(words.w[1], pick<C>(count_bit, y), undecided, below);
  compare(words.w[2], pick<C>(count_bit, z), undecided, below);
  compare(words.w[3], pick<C>(count_bit, w), undecided, below);
}

// Returns the flips of one word that the first digits decide; sets `undecided` to the other bits.
// digit(c, call): four threshold digits of class c.
template <int C, class Digits>
__device__ __forceinline__ std::uint32_t decide_quickly(const BlockUpdate& s,
                                                        const PhiloxItem& shared,
                                                        const PhiloxCall* call_words,
                                                        const Count& count, const Digits& digit,
                                                        std::uint32_t& undecided) {
  undecided = count.open;
  std::uint32_t below = ~undecided;
#pragma unroll
  for (unsigned call = 0; call < kQuickCalls; ++call) {
    const Words4 words = shared.words(s.draw.seed, call_words[call]);
    compare_call<C>(
        words, count.bit, [&](int c) { return digit(c, call); }, undecided, below);
  }
  return below & ~undecided;
}

// Compares the following digits of the undecided bits.
template <int C, class Digits>
__device__ __forceinline__ std::uint32_t decide_later(
    const BlockUpdate& s, const PhiloxItem& shared, const PhiloxCall* call_words,
    const std::uint32_t* count_bit, const Digits& digit, std::uint32_t undecided) {
  std::uint32_t below = 0;
#pragma unroll 1
  for (unsigned call = kQuickCalls; call < kAllCalls && undecided != 0; ++call) {
    const Words4 words = shared.words(s.draw.seed, call_words[call]);
    compare_call<C>(
        words, count_bit, [&](int c) { return digit(c, call); }, undecided, below);
  }
  return below & ~undecided;
}

// Compares the digits of calls [call, end) for any number of classes, counts of `width` bits.
inline __device__ std::uint32_t decide_any(const BlockUpdate& s, const PhiloxItem& shared,
                                           const PhiloxCall* call_words, std::uint32_t word_group,
                                           const std::uint32_t* count_bit, unsigned width,
                                           std::uint32_t first_class, std::uint32_t classes,
                                           unsigned call, unsigned end, std::uint32_t& undecided) {
  const uint4* digits = digits_of(s.thresholds, word_group, first_class);
  std::uint32_t below = 0;
  for (; call < end && undecided != 0; ++call) {
    const Words4 words = shared.words(s.draw.seed, call_words[call]);
    uint4 t = make_uint4(0, 0, 0, 0);
    for (std::uint32_t c = 0; c < classes; ++c) {
      const std::uint32_t m = equals(count_bit, width, c) & undecided;
      if (m == 0) continue;
      const uint4 digit = __ldg(digits + c * kAllCalls + call);
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

// Copies the digits of regular cells to shared memory. The caller synchronises the block.
template <int kVec, int kClasses, int kCalls>
__device__ __forceinline__ void load_regular_digits(const BlockUpdate& s,
                                                    uint4 (&regular)[kVec][kClasses][kCalls]) {
  for (unsigned n = threadIdx.x; n < kVec * kClasses * kCalls; n += blockDim.x) {
    const unsigned call = n % kCalls, c = n / kCalls % kClasses, v = n / kCalls / kClasses;
    regular[v][c][call] =
        __ldg(digits_of(s.thresholds, s.pack_index * kVec + v, s.thresholds.regular) +
              c * kAllCalls + call);
  }
}

template <int kVec, int kClasses, int kMax>
__device__ __forceinline__ void open_block(const BlockUpdate& s,
                                           Block<kVec, kClasses, kMax>& block) {
  if (threadIdx.x < kVec * kAllCalls) {
    const unsigned v = threadIdx.x / kAllCalls, call = threadIdx.x % kAllCalls;
    block.call_words[v][call] = PhiloxCall(s.draw.seed, s.draw.group + v, call, s.draw.step);
  }
  if (threadIdx.x == 0) block.waiting = 0;
  __syncthreads();
}

// The lanes whose word v is undecided.
template <int kVec>
__device__ __forceinline__ unsigned waiting_lanes(const OpenCell<kVec>& cell, int v) {
  return __ballot_sync(~0u, cell.undecided[v] != 0);
}

// Appends the warp's undecided words to the queue of the block.
template <int kVec, int kClasses, int kMax>
__device__ __forceinline__ void queue_up(Block<kVec, kClasses, kMax>& block,
                                         const OpenCell<kVec>& cell) {
  const unsigned before = (1u << threadIdx.x % 32) - 1;
  unsigned place[kVec], all = 0;
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    const unsigned lanes = waiting_lanes(cell, v);
    place[v] = all + static_cast<unsigned>(__popc(lanes & before));
    all += static_cast<unsigned>(__popc(lanes));
  }
  if (all == 0) return;
  unsigned first = 0;
  if (threadIdx.x % 32 == 0) first = atomicAdd(&block.waiting, all);
  first = __shfl_sync(~0u, first, 0);
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    if (cell.undecided[v] != 0) block.queue.put(first + place[v], cell, v);
  }
}

// Calls decide(PhiloxItem, word group of the block, count bits, first class, classes, undecided)
// for the q-th waiting word.
template <int kVec, class AnyQueue, class Decide>
__device__ __forceinline__ void decide_waiting(const BlockUpdate& s, const AnyQueue& queue,
                                               unsigned q, std::uint32_t* spins,
                                               const Decide& decide) {
  const unsigned v = queue.word_group[q];
  std::uint32_t count_bit[kCountBits];
#pragma unroll
  for (int p = 0; p < AnyQueue::kBitsKept; ++p) count_bit[p] = queue.count_bit[p][q];
  const PhiloxItem shared(s.draw.seed, s.draw.stream, s.draw.step, queue.site[q]);
  spins[static_cast<std::size_t>(queue.word[q]) * kVec + v] ^=
      decide(shared, v, count_bit, queue.thresholds[q] & 0xFFFFFFu, queue.thresholds[q] >> 24,
             queue.undecided[q]);
}

// Decides words of any cells with digits from global memory.
template <int kVec, class AnyQueue>
__device__ __forceinline__ void decide_any_waiting(const BlockUpdate& s, const AnyQueue& queue,
                                                   const PhiloxCall (&calls)[kVec][kAllCalls],
                                                   unsigned q, std::uint32_t* spins) {
  decide_waiting<kVec>(
      s, queue, q, spins,
      [&](const PhiloxItem& shared, unsigned v, const std::uint32_t* count_bit,
          std::uint32_t first_class, std::uint32_t classes, std::uint32_t undecided) {
        const std::uint32_t word_group = s.pack_index * kVec + v;
        constexpr int kMax = 1 << AnyQueue::kBitsKept, kFew = 4;
        if (kMax <= kFew || classes <= kFew) {
          const uint4* digits = digits_of(s.thresholds, word_group, first_class);
          const auto digit = [&](int c, unsigned call) {
            const auto wanted = static_cast<std::uint32_t>(c);
            return wanted < classes ? __ldg(digits + wanted * kAllCalls + call) : uint4{};
          };
          return decide_later<kFew>(s, shared, calls[v], count_bit, digit, undecided);
        }
        return decide_any(s, shared, calls[v], word_group, count_bit, AnyQueue::kBitsKept,
                          first_class, classes, kQuickCalls, kAllCalls, undecided);
      });
}

// Synchronises the block and decides all waiting words, of regular or of any cells.
template <bool kRegular, int kVec, int kClasses, int kMax>
__device__ __forceinline__ void decide_queue(const BlockUpdate& s,
                                             const Block<kVec, kClasses, kMax>& block,
                                             std::uint32_t* spins) {
  __syncthreads();
  for (unsigned q = threadIdx.x; q < block.waiting; q += kThreads) {
    if constexpr (!kRegular) {
      decide_any_waiting<kVec>(s, block.queue, block.call_words, q, spins);
    } else {
      decide_waiting<kVec>(s, block.queue, q, spins,
                           [&](const PhiloxItem& shared, unsigned v, const std::uint32_t* count_bit,
                               std::uint32_t, std::uint32_t, std::uint32_t undecided) {
                             const auto digit = [&](int c, unsigned call) {
                               return block.regular[v][c][call];
                             };
                             return decide_later<kClasses>(s, shared, block.call_words[v],
                                                           count_bit, digit, undecided);
                           });
    }
  }
}

// Updates a regular cell by its first digits. In a field g.sign may be null even if kSigned.
template <int kDim, int kVec, CellRule kRule, bool kSigned, class Tables>
__device__ __forceinline__ OpenCell<kVec> regular_cell(const DeviceLattice& g, const BlockUpdate& s,
                                                       const Tables& tables, int colour,
                                                       std::uint32_t i, std::uint32_t* spins) {
  constexpr int kDegree = 2 * kDim, kClasses = regular_classes(kDim, kRule);
  const RegularNeighbours<kDim> around(g, colour, i);
  std::uint32_t at[kDegree];
  around.places(g, at);
  OpenCell<kVec> cell;
  cell.slot = g.colour_base[colour] + i;
  cell.site = around.site(g);
  cell.thresholds = s.thresholds.regular | static_cast<std::uint32_t>(kClasses) << 24;
  std::uint32_t* own_at = spins + static_cast<std::size_t>(cell.slot) * kVec;
  GroupWords<kVec> own = load<kVec>(own_at);
  GroupWords<kVec> neighbour[kDegree];
#pragma unroll
  for (int k = 0; k < kDegree; ++k) {
    const std::uint32_t slot = g.colour_base[1 - colour] + at[k];
    neighbour[k] = load<kVec>(spins + static_cast<std::size_t>(slot) * kVec);
  }
  const bool signed_here = kSigned && (kRule != CellRule::in_field || g.sign[colour] != nullptr);
  const std::uint32_t signs =
      signed_here ? g.sign[colour][std::size_t{blockIdx.z} * (g.sites / 2) + i] : 0;
  const PhiloxItem shared(s.draw.seed, s.draw.stream, s.draw.step, cell.site);
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    std::uint32_t near[kDegree];
#pragma unroll
    for (int k = 0; k < kDegree; ++k) {
      near[k] = neighbour[k].w[v] ^ (kSigned ? 0u - (signs >> k & 1u) : 0u);
    }
    const Count count = count_around<kDim, kRule>(own.w[v], near, s);
    const auto digit = [&](int c, unsigned call) { return tables.regular[v][c][call]; };
    own.w[v] = kept<kRule>(s, own.w[v]) ^ decide_quickly<kClasses>(s, shared, tables.call_words[v],
                                                                   count, digit, cell.undecided[v]);
#pragma unroll
    for (unsigned p = 0; p < kCountBits; ++p) cell.count_bit[v][p] = count.bit[p];
  }
  store<kVec>(own_at, own);
  return cell;
}

// Adds the bits of four words to a count, with three full adders and their carries.
__device__ __forceinline__ void add_four(const std::uint32_t* x, std::uint32_t* count_bit) {
  const std::uint32_t a = majority(count_bit[0], x[0], x[1]);
  count_bit[0] = xor3(count_bit[0], x[0], x[1]);
  const std::uint32_t b = majority(count_bit[0], x[2], x[3]);
  count_bit[0] = xor3(count_bit[0], x[2], x[3]);
  const std::uint32_t c = majority(count_bit[1], a, b);
  count_bit[1] = xor3(count_bit[1], a, b);
  count_bit[3] ^= count_bit[2] & c;
  count_bit[2] ^= c;
}

// Digits of the classes of a warp of modified cells, from global memory.
template <int kVec>
struct DigitsInMemory {
  const BlockUpdate& s;
  const DeviceWarp& warp;

  __device__ __forceinline__ uint4 operator()(int v, int c, unsigned call) const {
    const auto wanted = static_cast<std::uint32_t>(c);
    if (wanted >= warp.classes) return {};
    return __ldg(
        digits_of(s.thresholds, s.pack_index * kVec + static_cast<unsigned>(v), warp.thresholds) +
        wanted * kAllCalls + call);
  }
};

// A block of modified cells, with the first digits of the classes of its warps.
template <int kVec, CellRule kRule>
struct ModifiedBlock : Block<kVec, 1, most_quick(kRule)> {
  static constexpr int kMax = most_quick(kRule);
  uint4 digit[kThreads / 32][kVec][kMax][kQuickCalls];

  // Must be called by all lanes of a warp.
  __device__ __forceinline__ auto digits(const BlockUpdate& s, const DeviceWarp& warp) {
    auto& mine = digit[threadIdx.x / 32];
    const DigitsInMemory<kVec> far{s, warp};
    for (unsigned n = threadIdx.x % 32; n < kVec * kMax * kQuickCalls; n += 32) {
      const unsigned call = n % kQuickCalls, c = n / kQuickCalls % kMax;
      const unsigned v = n / kQuickCalls / kMax;
      mine[v][c][call] = far(static_cast<int>(v), static_cast<int>(c), call);
    }
    __syncwarp();
    return [&mine](int v, int c, unsigned call) { return mine[v][c][call]; };
  }
};

// The replicas whose spins need a draw.
template <CellRule kRule>
__device__ __forceinline__ std::uint32_t draw_mask(const BlockUpdate& s, std::uint32_t own,
                                                   const std::uint32_t* count_bit, unsigned width,
                                                   const DeviceWarp& warp) {
  if constexpr (kRule == CellRule::in_field) {
    return s.in_field.draws(own, count_bit, width, warp.degree);
  }
  return kRule == CellRule::downhill ? is_below(count_bit, width, warp.classes) : ~0u;
}

// Adds kMany neighbours of a modified cell, from the j-th on, to its counts.
template <unsigned kMany, int kVec, bool kField>
__device__ __forceinline__ void count_listed(const std::uint32_t* column, const DeviceWarp& warp,
                                             std::uint32_t slot, const GroupWords<kVec>& own,
                                             std::uint32_t j, const std::uint32_t* spins,
                                             Count (&count)[kVec]) {
  std::uint32_t entry[kMany];
#pragma unroll
  for (unsigned k = 0; k < kMany; ++k) {
    entry[k] = slot;  // padding that does not count
    if (j + k < warp.degree) entry[k] = column[(j + k) * std::size_t{warp.padded}];
  }
  GroupWords<kVec> far[kMany];
#pragma unroll
  for (unsigned k = 0; k < kMany; ++k) {
    far[k] = kField ? GroupWords<kVec>{} : own;
    if (j + k < warp.degree) {
      far[k] = load<kVec>(spins + static_cast<std::size_t>(listed_slot(entry[k])) * kVec);
    }
  }
#pragma unroll
  for (unsigned four = 0; four < kMany; four += 4) {
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      std::uint32_t x[4];
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) {
        x[k] = xor3(kField ? 0 : own.w[v], far[four + k].w[v], listed_sign(entry[four + k]));
      }
      add_four(x, count[v].bit);
    }
  }
}

// A modified cell of degree below 16. Counts its neighbours eight or four at a time, then decides
// by the number of classes. `digit` gives the first digits of a class.
template <int kVec, CellRule kRule, class Tables, class Digit>
__device__ __forceinline__ OpenCell<kVec> modified_cell(const DeviceCells& cells,
                                                        const DeviceWarp& warp,
                                                        const BlockUpdate& s, const Tables& tables,
                                                        const Digit& digit, std::uint32_t number,
                                                        std::uint32_t* spins) {
  constexpr bool kDownhill = kRule == CellRule::downhill, kField = kRule == CellRule::in_field;
  OpenCell<kVec> cell;
  cell.slot = cells.slot[number];
  cell.site = cells.site[number];
  cell.thresholds = warp.thresholds | warp.classes << 24;
  GroupWords<kVec> own = load<kVec>(spins + static_cast<std::size_t>(cell.slot) * kVec);
  Count count[kVec];
  const std::uint32_t* column = cells.neighbour + warp.neighbour + number % 32;
  std::uint32_t j = 0;
  if (warp.degree > 4) {
    count_listed<8, kVec, kField>(column, warp, cell.slot, own, 0, spins, count);
    j = 8;
  }
  for (; j < warp.degree; j += 4) {
    count_listed<4, kVec, kField>(column, warp, cell.slot, own, j, spins, count);
  }
  const PhiloxItem shared(s.draw.seed, s.draw.stream, s.draw.step, cell.site);
  const auto decide = [&]<int C>(cuda::std::integral_constant<int, C>) {
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      const auto mine = [&](int c, unsigned call) { return digit(v, c, call); };
      if constexpr (kDownhill) {
        count[v].open = is_below<C>(count[v].bit);
      } else if constexpr (kField) {
        count[v].open = s.in_field.draws(own.w[v], count[v].bit, kCountBits, warp.degree);
      } else {
        count[v].open = ~0u;
      }
      own.w[v] = kept<kRule>(s, own.w[v]) ^ decide_quickly<C>(s, shared, tables.call_words[v],
                                                              count[v], mine, cell.undecided[v]);
#pragma unroll
      for (unsigned p = 0; p < kCountBits; ++p) cell.count_bit[v][p] = count[v].bit[p];
    }
  };
  const auto decide_many = [&] {
    const bool may_wait = warp.classes <= Tables::kMax;
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      std::uint32_t* count_bit = count[v].bit;
      std::uint32_t undecided = draw_mask<kRule>(s, own.w[v], count_bit, kCountBits, warp);
      own.w[v] = kept<kRule>(s, own.w[v]) ^ ~undecided;
      own.w[v] ^= decide_any(s, shared, tables.call_words[v],
                             s.pack_index * kVec + static_cast<unsigned>(v), count_bit, kCountBits,
                             warp.thresholds, warp.classes, 0, may_wait ? kQuickCalls : kAllCalls,
                             undecided);
      if (may_wait) cell.undecided[v] = undecided;
#pragma unroll
      for (unsigned p = 0; p < kCountBits; ++p) cell.count_bit[v][p] = count_bit[p];
    }
  };
  if constexpr (kDownhill) {
    switch (warp.classes) {
      case 0:  // an isolated site always flips
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
        decide_many();
    }
  } else if (warp.classes <= 4) {  // one instance for every number of classes
    decide(cuda::std::integral_constant<int, 4>{});
  } else if (warp.classes <= 6) {
    decide(cuda::std::integral_constant<int, 6>{});
  } else if (warp.classes <= 8) {
    decide(cuda::std::integral_constant<int, 8>{});
  } else {
    decide_many();
  }
  store<kVec>(spins + static_cast<std::size_t>(cell.slot) * kVec, own);
  return cell;
}

// Cells of degree 16 to 255. They count in eight bits, process one word group after the other,
// and compare all digits at once, without the queue.
constexpr unsigned kWideCountBits = 8;
template <int kVec, CellRule kRule, class Tables>
__device__ void wide_cell(const DeviceCells& cells, const DeviceWarp& warp, const BlockUpdate& s,
                          const Tables& tables, std::uint32_t number, std::uint32_t* spins) {
  std::uint32_t* own = spins + static_cast<std::size_t>(cells.slot[number]) * kVec;
  const std::uint32_t* neighbour = cells.neighbour + warp.neighbour + number % 32;
  const PhiloxItem shared(s.draw.seed, s.draw.stream, s.draw.step, cells.site[number]);
#pragma unroll 1
  for (unsigned v = 0; v < kVec; ++v) {
    std::uint32_t count_bit[kWideCountBits] = {};
#pragma unroll 4
    for (std::uint32_t j = 0; j < warp.degree; ++j) {
      const std::uint32_t entry = neighbour[static_cast<std::size_t>(j) * warp.padded];
      const std::size_t far = listed_slot(entry);
      std::uint32_t carry =
          xor3(spins[far * kVec + v], kRule == CellRule::in_field ? 0 : own[v], listed_sign(entry));
#pragma unroll
      for (unsigned p = 0; p < kWideCountBits; ++p) {
        const std::uint32_t both = count_bit[p] & carry;
        count_bit[p] ^= carry;
        carry = both;
      }
    }
    std::uint32_t undecided = draw_mask<kRule>(s, own[v], count_bit, kWideCountBits, warp);
    const std::uint32_t at_once = ~undecided;
    own[v] = kept<kRule>(s, own[v]) ^
             (at_once | decide_any(s, shared, tables.call_words[v], s.pack_index * kVec + v,
                                   count_bit, kWideCountBits, warp.thresholds, warp.classes, 0,
                                   kAllCalls, undecided));
  }
}

// Cells of any degree, one replica at a time. Used for degrees above 255, which are rare.
template <int kVec, CellRule kRule>
__device__ void hub(const DeviceCells& cells, const DeviceWarp& warp, const BlockUpdate& s,
                    std::uint32_t number, std::uint32_t* spins) {
  const std::size_t slot = cells.slot[number];
  const std::uint32_t* neighbour = cells.neighbour + warp.neighbour + number % 32;
  for (unsigned v = 0; v < kVec; ++v) {
    const std::uint32_t word_group = s.pack_index * kVec + v;
    const Address at{s.draw.seed, s.draw.group + v, s.draw.step};
    const std::uint32_t own = spins[slot * kVec + v];
    std::uint32_t flips = 0;
    for (unsigned r = 0; r < kReplicas; ++r) {
      std::uint32_t count = 0;  // of neighbours that disagree; in a field, that are up
      for (std::uint32_t j = 0; j < warp.degree; ++j) {
        const std::uint32_t entry = neighbour[static_cast<std::size_t>(j) * warp.padded];
        const std::size_t far = listed_slot(entry);
        count += xor3(spins[far * kVec + v], kRule == CellRule::in_field ? 0 : own,
                      listed_sign(entry)) >>
                     r &
                 1u;
      }
      bool certain = count >= warp.classes;
      if (kRule == CellRule::in_field && !s.in_field.heat_bath) {
        certain = (own >> r & 1u) != 0 ? count < s.in_field.least_up(warp.degree)
                                       : count >= s.in_field.most_down(warp.degree);
      }
      const bool accepted =
          certain ||
          replica_draw(
              at, static_cast<Stream>(s.draw.stream), cells.site[number], r,
              s.thresholds.table[static_cast<std::size_t>(word_group) * s.thresholds.stride +
                                 warp.thresholds + count]);
      flips |= (accepted ? 1u : 0u) << r;
    }
    spins[slot * kVec + v] = kept<kRule>(s, own) ^ flips;
  }
}

// The place of regular cell `index` of a colour in the block's graph.
__device__ __forceinline__ std::uint32_t regular_place(const DeviceLattice& g, int colour,
                                                       std::uint32_t index) {
  if (index >= g.regular_most[colour]) return kNoPlace;
  const std::uint32_t* list = g.regular[colour];
  return list == nullptr ? index : list[std::size_t{blockIdx.z} * (g.sites / 2) + index];
}

// A modified cell of any degree, given by its index in the list; does nothing for padding. Must be
// called by all lanes of a warp.
template <int kVec, CellRule kRule, class Tables>
__device__ __forceinline__ OpenCell<kVec> any_modified_cell(const DeviceCells& cells,
                                                            const BlockUpdate& s, Tables& tables,
                                                            std::uint32_t number,
                                                            std::uint32_t* spins) {
  const DeviceWarp warp = cells.warps[number / 32];
  const auto digit = tables.digits(s, warp);
  if (number % 32 >= warp.cells) return {};
  if (warp.degree < 1u << kCountBits) {
    return modified_cell<kVec, kRule>(cells, warp, s, tables, digit, number, spins);
  }
  if (warp.degree < 1u << kWideCountBits) {
    wide_cell<kVec, kRule>(cells, warp, s, tables, number, spins);
  } else {
    hub<kVec, kRule>(cells, warp, s, number, spins);
  }
  return {};
}

}  // namespace rewise::multispin::device
