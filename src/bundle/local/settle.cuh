// How a block decides its words (local_cuda.hpp): eight digits at once, the rest by a queue in
// shared memory that full warps settle.
#pragma once

#include "src/bundle/local/local.cuh"
#include "src/bundle/local/local_cuda.hpp"

namespace rewise::bundle::device {

constexpr unsigned kThreads = 128;
constexpr unsigned kQueue = 128;     // words of a block that may wait; about 60 of 512 do
constexpr unsigned kQuickCalls = 2;  // eight digits settle nine words in ten
constexpr unsigned kPlanes = 4;      // counts up to 15
constexpr unsigned kMostRegularClasses = 9;

// Words that need more digits than the quick ones, to be settled by full warps.
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

struct Settle {
  DeviceThresholds thresholds;
  Draw draw;
  std::uint32_t quad;  // within the batch: its words and thresholds
};

template <int kVec>
__device__ __forceinline__ Settle settle_of(const DeviceSweep& sweep) {
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
inline __device__ std::uint32_t finish_word(const Settle& s, const SharedItem& shared,
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
    const Settle& s, uint4 (&regular)[kVec][kMostRegularClasses][kQuickCalls], unsigned classes) {
  for (unsigned n = threadIdx.x; n < kVec * kMostRegularClasses * kQuickCalls; n += blockDim.x) {
    const unsigned c = n / kQuickCalls % kMostRegularClasses;
    const unsigned v = n / kQuickCalls / kMostRegularClasses;
    const unsigned call = n % kQuickCalls;
    if (c >= classes) continue;
    regular[v][c][call] = digits(s.thresholds, s.quad * kVec + v, s.thresholds.regular, c, call);
  }
}

// Flips of one word whose disagreements are counted in `plane`, for C classes. A word that stays
// open after the quick digits is queued, or, where the queue is full, settled on the spot.
// `block`: with the members of Block.
template <int C, int kVec, bool kRegular = false, class Known>
__device__ __forceinline__ std::uint32_t settle_word(const Settle& s, Known& block, int v,
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
__device__ __forceinline__ void open_block(const Settle& s, Block<kVec>& block) {
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
__device__ __forceinline__ void settle_waiting(const Settle& s, const Known& block, unsigned q,
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
__device__ __forceinline__ void settle_queue(const Settle& s, Block<kVec>& block,
                                             std::uint32_t* spins) {
  __syncthreads();
  const unsigned waiting = min(block.queue.count, kQueue);
  for (unsigned q = threadIdx.x; q < waiting; q += kThreads) {
    settle_waiting<kVec>(s, block, q, spins);
  }
}

}  // namespace rewise::bundle::device
