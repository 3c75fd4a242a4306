// Sparse Wolff updates on the device (wolff_cuda.hpp): the transposition of words into planes and
// back, and the growth of clusters by a block. Warps of a block share candidates through pools.
#include <cuda_pipeline.h>
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cuda/atomic>

#include "graphs/lattice.hpp"
#include "src/cuda/bits.cuh"
#include "src/cuda/launch.hpp"
#include "src/cuda/shared_memory.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/wolff/wolff_cuda.hpp"
#include "src/multispin/words.cuh"

namespace rewise::multispin {
namespace {

using namespace device;

constexpr unsigned kTileThreads = 1024;

// Transposes words into planes or back. A block processes 32 tiles of 32 sites and kVec word
// groups, so that it reads and writes whole cache lines.
template <bool kToPlanes, int kVec>
__global__ void __launch_bounds__(kTileThreads)
    transpose_words(const __grid_constant__ DeviceWolff g, std::uint32_t* spins,
                    std::uint32_t* planes) {
  __shared__ std::uint32_t tile[kVec][32][33];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t first = blockIdx.x * 32;  // plane word
  const std::uint32_t site = (first + warp) * 32 + lane;
  const bool real = site < g.lattice.sites;
  std::uint32_t* words = spins;
  if (real) {
    words += (std::size_t{blockIdx.y} * g.lattice.words + g.lattice.slot_of(site)) * kVec;
  }
  std::uint32_t* plane =
      planes + (std::size_t{blockIdx.y} * kVec * kReplicas + warp) * g.plane_words + first + lane;
  const std::size_t word_group = std::size_t{kReplicas} * g.plane_words;
  const bool inside = first + lane < g.plane_words;
  GroupWords<kVec> pack{};
  if (kToPlanes) {
    if (real) pack = load<kVec>(words);
#pragma unroll
    for (int v = 0; v < kVec; ++v) tile[v][lane][warp] = transpose_bits(pack.w[v]);
    __syncthreads();
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      if (inside) plane[static_cast<std::size_t>(v) * word_group] = tile[v][warp][lane];
    }
  } else {
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      tile[v][warp][lane] = inside ? plane[static_cast<std::size_t>(v) * word_group] : 0u;
    }
    __syncthreads();
#pragma unroll
    for (int v = 0; v < kVec; ++v) pack.w[v] = transpose_bits(tile[v][lane][warp]);
    if (real) store<kVec>(words, pack);
  }
}

template <bool kToPlanes>
void launch_transpose(const DeviceWolff& g, std::uint32_t word_groups, int vec,
                      std::uint32_t* spins, std::uint32_t* planes, cudaStream_t stream) {
  LaunchShape shape{(g.plane_words + 31) / 32, kTileThreads};
  shape.blocks_y = word_groups / static_cast<unsigned>(vec);
  with_vec(vec, [&]<int kVec>() {
    launch(transpose_words<kToPlanes, kVec>, shape, stream, g, spins, planes);
  });
}

// Access to words in shared memory by 32-bit addresses, which saves the instructions of generic
// addresses.
__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
// Relaxed atomic loads and stores of a word in shared memory.
__device__ __forceinline__ std::uint32_t peek_at(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];" : "=r"(value) : "r"(address));
  return value;
}
__device__ __forceinline__ std::uint32_t peek(const std::uint32_t& word) {
  return peek_at(shared_address(&word));
}
__device__ __forceinline__ void poke(std::uint32_t& word, std::uint32_t value) {
  asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" ::"r"(shared_address(&word)), "r"(value));
}

// The spins of a replica, one bit per site, in shared memory, in global memory, or in either.
enum class Home { shared, global, either };
template <Home kHome>
class Plane;

template <>
class Plane<Home::shared> {
 public:
  __device__ __forceinline__ explicit Plane(std::uint32_t* words) : base_(shared_address(words)) {}

  __device__ __forceinline__ std::uint32_t load(std::uint32_t site) const {
    return peek_at(base_ + (site >> 3 & ~3u));
  }
  // If `wanted`, sets (`up`) or clears the bit of the site. Returns whether this call changed it.
  __device__ __forceinline__ bool flip(bool wanted, bool up, std::uint32_t site) const {
    const std::uint32_t one = 1u << site % 32;
    std::uint32_t old = up ? one : 0;
    asm volatile(
        "{ .reg .pred set, clear;\n"
        "setp.ne.u32 set, %3, 0;\n"
        "setp.ne.u32 clear, %4, 0;\n"
        "@set atom.shared.or.b32 %0, [%1], %2;\n"
        "@clear atom.shared.and.b32 %0, [%1], %5; }"
        : "+r"(old)
        : "r"(base_ + (site >> 3 & ~3u)), "r"(one), "r"(wanted && up ? 1 : 0),
          "r"(wanted && !up ? 1 : 0), "r"(~one)
        : "memory");
    return ((old & one) == 0) == up;
  }

 private:
  std::uint32_t base_;
};

template <>
class Plane<Home::global> {
 public:
  __device__ __forceinline__ explicit Plane(std::uint32_t* words) : words_(words) {}

  __device__ __forceinline__ std::uint32_t load(std::uint32_t site) const {
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_block> word(words_[site / 32]);
    return word.load(cuda::memory_order_relaxed);
  }
  __device__ __forceinline__ bool flip(bool wanted, bool up, std::uint32_t site) const {
    const std::uint32_t one = 1u << site % 32;
    if (!wanted) return false;
    return up ? (atomicOr(words_ + site / 32, one) & one) == 0
              : (atomicAnd(words_ + site / 32, ~one) & one) != 0;
  }

 private:
  std::uint32_t* words_;
};

template <>
class Plane<Home::either> {
 public:
  __device__ __forceinline__ explicit Plane(std::uint32_t* words)
      : near_(words), far_(words), is_near_(__isShared(words) != 0) {}

  __device__ __forceinline__ std::uint32_t load(std::uint32_t site) const {
    return is_near_ ? near_.load(site) : far_.load(site);
  }
  __device__ __forceinline__ bool flip(bool wanted, bool up, std::uint32_t site) const {
    return is_near_ ? near_.flip(wanted, up, site) : far_.flip(wanted, up, site);
  }

 private:
  Plane<Home::shared> near_;
  Plane<Home::global> far_;
  bool is_near_;
};

// Growth of clusters by a block.
//
// Each slot of a block holds one replica. Its leading warp grows the clusters; warps without work
// of their own take chunks of candidates from the slot's pool. Shared memory is ordered by fences,
// not by barriers, because leaders and helpers exchange data at any time:
//   - Leader to helper. Lane 0 of the leader writes the slot (lead(), update()) and executes a
//     fence in give() before it stores its candidate into the pool. Lane 0 of the helper loads that
//     candidate and executes a fence in take(), and __syncwarp() extends the order to its warp. The
//     same holds between a helper that adds chunks to the pool and the next helper. Hence a warp
//     that holds a chunk sees the slot and the plane as of the update that the chunk belongs to.
//   - Helper to leader. A helper executes __syncwarp() and a fence before it subtracts its chunks
//     from `given`. The leader ends an update only after its lane 0 has read given == 0 and
//     executed a fence and __syncwarp(). Hence it sees all flips, and no helper still reads the
//     slot when the leader writes the next step or the next replica.
//   - Spins of the plane, `head`, `tail` and `given` change by atomic operations and are read by
//     relaxed loads; an old value costs time, never a wrong decision (flip() decides).
// compute-sanitizer's racecheck ignores fences. For shared planes it reports a read-after-write
// hazard between such a write of lane 0 (or the copy of a plane) and a helper's read. The test
// "helpers of sparse Wolff updates on CUDA, many times" replaces it.

constexpr std::uint32_t kSpecials = 64;  // size of a warp's list of special sites
// Nanoseconds (at most twice as many) that an idle warp sleeps before it polls for work again.
// Frequent polling would take issue slots from working warps.
constexpr unsigned kNap = 1000;
// Flag in the site of a candidate: its first four digits equal those of the threshold.
constexpr std::uint32_t kLate = 1u << 31;

using BlockPair = cuda::atomic_ref<unsigned long long, cuda::thread_scope_block>;

// The replica that a leading warp works on, as shared with the other warps of the block.
struct ClusterSlot {
  std::uint32_t step, up;    // of the current update
  std::uint32_t head, tail;  // of the pool, in chunks
  std::uint32_t given;       // chunks put into the pool and not yet completed
  std::uint32_t group, bit, threshold;
  DeviceWolffGraph graph;
  std::uint32_t* plane;  // [plane_words]
  uint2* pool;
  unsigned long long flipped;  // sites flipped in this part of the updates
};

// Counters shared by all warps of a block.
struct Shared {
  std::uint32_t idle;     // warps without work
  std::uint32_t leaders;  // warps that still lead updates
};

// The difference of site numbers of neighbours along direction `way / 2`.
template <int kDim>
__device__ __forceinline__ std::uint32_t stride_of(const DeviceLattice& g, unsigned way) {
  std::uint32_t stride = 1;
  if (kDim > 1 && way / 2 > 0) stride = g.extent[0];
  if (kDim > 2 && way / 2 > 1) stride *= g.extent[1];
  if (kDim > 3 && way / 2 > 2) stride *= g.extent[2];
  return stride;
}

// The state of one warp, which works on one replica at a time. All lanes call each member function
// together. Counts are equal in all lanes.
template <int kDim, Home kHome>
class Grower {
 public:
  __device__ Grower(const DeviceWolff& g, const SparseWolffArgs& run, Shared& shared, uint2* buffer,
                    std::uint32_t capacity)
      : g_(g),
        run_(run),
        shared_(shared),
        buffer_(buffer),
        specials_(reinterpret_cast<std::uint32_t*>(buffer + capacity)),
        capacity_(capacity),
        lane_(threadIdx.x % 32),
        below_((1u << lane_) - 1) {}

  // Makes the replica of this slot the current one.
  __device__ __forceinline__ void set_slot(ClusterSlot& slot) {
    slot_ = &slot;
    plane_ = Plane<kHome>(slot.plane);
    special_of_ = slot.graph.special;
    row_ = slot.graph.row;
    seed_ = slot.graph.seed;
    bit_ = slot.bit;
    threshold_ = slot.threshold;
  }

  // Called by the leading warp: grows and flips the cluster of one update.
  __device__ __forceinline__ void update(std::uint32_t step, std::uint32_t seed) {
    const bool up = (plane_.load(seed) >> seed % 32 & 1u) == 0;
    if (lane_ == 0) {
      poke(slot_->step, step);
      poke(slot_->up, up);
    }
    __syncwarp();
    begin(step, up);
    const uint2 word = __ldg(special_of_ + seed / 32);
    collect(plane_.flip(lane_ == 0, up, seed) && lane_ == 0, seed, word);
    __syncwarp();
    while (true) {
      work_off();
      if (gave_ == 0) break;
      if (take()) continue;
      if (agree(peek(slot_->given) == 0)) {
        __threadfence_block();
        __syncwarp();
        gave_ = 0;
        break;
      }
      __nanosleep(40);
    }
    if (lane_ == 0) atomicAdd(&slot_->flipped, 1ull * flipped_);
    flipped_ = 0;
  }

  // Takes a chunk of candidates from the pool of some slot and completes it. Returns false if there
  // was none. The search starts at slot `first`.
  __device__ __forceinline__ bool help_one(ClusterSlot* slots, unsigned count, unsigned first) {
    const unsigned lanes = offers(slots, count);
    if (lanes == 0) return false;
    const unsigned later = lanes & ~((1u << first) - 1);
    slot_ = &slots[__ffs(static_cast<int>(later != 0 ? later : lanes)) - 1];
    if (!take()) return false;
    // The replica must be read after take(): the slot may have changed to another one before.
    set_slot(*slot_);
    begin(peek(slot_->step), peek(slot_->up) != 0);
    work_off();
    return true;
  }

  // Completes chunks of any slot until no warp of the block leads. Called by warps that do not lead
  // or have finished leading.
  __device__ __forceinline__ void help(ClusterSlot* slots, unsigned count, unsigned first) {
    if (lane_ == 0) atomicAdd(&shared_.idle, 1u);
    while (agree(peek(shared_.leaders) != 0)) {
      __syncwarp();
      if (offers(slots, count) == 0) {
        __nanosleep(kNap);
        continue;
      }
      if (lane_ == 0) atomicSub(&shared_.idle, 1u);
      help_one(slots, count, first);
      if (lane_ == 0) atomicAdd(&shared_.idle, 1u);
    }
  }

 private:
  // Largest growth of the number of candidates in a round, which removes up to 32 and adds at most
  // 2 d for each.
  static constexpr unsigned kRoundGrowth = kDim == 0 ? 32 : 64 * kDim - 32;
  // kRows: special sites whose rows are read by one load of the warp; kRowLoads: loads in flight;
  // kVisited: sites of all these loads.
  static constexpr unsigned kRow = link_row(kDim), kRows = 32 / kRow;
  static constexpr unsigned kRowLoads = 4, kVisited = kRowLoads * kRows;
  static_assert(kVisited <= 32 && kSpecials >= 64);

  // Bit mask of the slots whose pools contain chunks.
  __device__ __forceinline__ unsigned offers(ClusterSlot* slots, unsigned count) const {
    return __ballot_sync(~0u, lane_ < count && peek(slots[lane_].head) != peek(slots[lane_].tail));
  }

  // Returns the value of lane 0 in all lanes. Lanes may read different values of a shared word,
  // because other warps change it.
  static __device__ __forceinline__ bool agree(bool seen) {
    return __shfl_sync(~0u, seen ? 1 : 0, 0) != 0;
  }

  __device__ __forceinline__ void begin(std::uint32_t step, bool up) {
    step_ = step;
    up_ = up;
    spin_ = up ? ~0u : 0u;
    first_ = PhiloxCall(seed_, slot_->group, 0, step);
    second_ = PhiloxCall(seed_, slot_->group, 1, step);
    // Prevents the compiler from recomputing these for each draw.
    asm volatile("" : "+r"(first_.hi), "+r"(first_.lo), "+r"(second_.hi), "+r"(second_.lo));
  }

  // Works until this warp has no candidates left. Then reports the chunks that it took from the
  // pool as completed.
  __device__ __forceinline__ void work_off() {
    while ((count_ | special_count_) != 0) {
      if (count_ >= 32 ? special_count_ < kVisited : special_count_ == 0) {
        round();
      } else {
        visit_specials();
      }
      if (count_ >= 48) give_away();
    }
    __syncwarp();
    if (held_ > 0 && lane_ == 0) {
      atomicAdd(&slot_->flipped, 1ull * flipped_);
      __threadfence_block();
      atomicSub(&slot_->given, held_);
    }
    if (held_ > 0) flipped_ = 0;
    held_ = 0;
  }

  // Whether the site still has the spin of the cluster. The answer may be out of date, because
  // other threads claim sites; flip() decides.
  __device__ __forceinline__ bool unvisited(std::uint32_t site) const {
    return ((plane_.load(site) ^ spin_) >> site % 32 & 1u) != 0;
  }

  // The four digits of the replica in this call, as a number.
  __device__ __forceinline__ std::uint32_t digits(const PhiloxItem& item,
                                                  const PhiloxCall& call) const {
    const Words4 words = item.words(seed_, call);
    std::uint32_t number = 0;
#pragma unroll
    for (unsigned w = 0; w < 4; ++w) {
      number = __funnelshift_l(words.w[w] << (31 - bit_), number, 1);
    }
    return number;
  }

  // Draws up to 32 candidates and adds the candidates of the accepted sites. A candidate that four
  // digits do not decide is put back and continues with the next four.
  __device__ __forceinline__ void round() {
    const unsigned taken = min(count_, 32u);
    count_ -= taken;
    const uint2 candidate = lane_ < taken ? buffer_[count_ + lane_] : make_uint2(0, 0);
    __syncwarp();
    const std::uint32_t site = candidate.x & ~kLate;
    const bool late = candidate.x >= kLate;
    const bool live = lane_ < taken && unvisited(site);
    uint2 word = make_uint2(0, 0);
    if (live) word = __ldg(special_of_ + site / 32);
    const PhiloxItem item(seed_, static_cast<std::uint32_t>(Stream::bond), step_, candidate.y);
    PhiloxCall call = first_;
    if (late) call = second_;
    const std::uint32_t number = digits(item, call);
    const std::uint32_t limit = threshold_ >> (late ? 24 : 28) & 15u;
    bool hit = live && number < limit;
    bool open = live && number == limit;
    if (__any_sync(~0u, open && late)) {
      if (open && late) hit = decide(item);
      open = open && !late;
    }
    push(open, make_uint2(site | kLate, candidate.y));
    const bool claimed = plane_.flip(hit, up_, site) && hit;
    collect(claimed, site, word);
    __syncwarp();
  }

  // Completes a draw with the digits from the ninth on.
  __device__ __forceinline__ bool decide(const PhiloxItem& item) const {
#pragma unroll 1
    for (unsigned call = 2; call < 8; ++call) {
      const PhiloxCall words(seed_, slot_->group, call, step_);
      const std::uint32_t number = digits(item, words);
      const std::uint32_t limit = threshold_ >> (28 - 4 * call) & 15u;
      if (number != limit) return number < limit;
    }
    return false;
  }

  __device__ __forceinline__ void push(bool mine, uint2 candidate) {
    const unsigned lanes = __ballot_sync(~0u, mine);
    if (mine) buffer_[count_ + __popc(lanes & below_)] = candidate;
    count_ += static_cast<unsigned>(__popc(lanes));
  }

  // Adds the candidates of newly claimed sites. `word`: their entry of special[].
  __device__ __forceinline__ void collect(bool claimed, std::uint32_t site, uint2 word) {
    const unsigned lanes = __ballot_sync(~0u, claimed);
    if (lanes == 0) return;
    const auto news = static_cast<unsigned>(__popc(lanes));
    flipped_ += news;
    const bool special = claimed && (kDim == 0 || (word.x >> site % 32 & 1u) != 0);
    if constexpr (kDim > 0) {
      const bool regular = claimed && !special;
      std::uint32_t neighbour[2 * kDim], word_of[2 * kDim];
#pragma unroll
      for (unsigned way = 0; way < 2 * kDim; ++way) {
        const std::uint32_t stride = regular ? stride_of<kDim>(g_.lattice, way) : 0;
        neighbour[way] = way % 2 == 0 ? site + stride : site - stride;
        word_of[way] = plane_.load(neighbour[way]);
      }
#pragma unroll
      for (unsigned way = 0; way < 2 * kDim; ++way) {
        const std::uint32_t owner = way % 2 == 0 ? site : neighbour[way];
        const bool open = ((word_of[way] ^ spin_) >> neighbour[way] % 32 & 1u) != 0;
        push(regular && open,
             make_uint2(neighbour[way], owner * static_cast<unsigned>(kDim) + way / 2));
      }
    }
    const unsigned listed = __ballot_sync(~0u, special);
    if (special) {
      specials_[special_count_ + __popc(listed & below_)] =
          word.y + __popc(word.x & ((1u << site % 32) - 1));
    }
    special_count_ += static_cast<unsigned>(__popc(listed));
  }

  // Adds the candidates of several special sites from their rows of links. A lane reads one link
  // per load; the loads of all sites are in flight together.
  __device__ __forceinline__ void visit_specials() {
    const unsigned sites = min(special_count_, kVisited);
    special_count_ -= sites;
    make_room(32 * kRowLoads);
    uint2 link[kRowLoads];
#pragma unroll
    for (unsigned k = 0; k < kRowLoads; ++k) {
      link[k] = make_uint2(kNoLink, 0);
      const unsigned site = k * kRows + lane_ / kRow;
      if (site < sites) {
        const std::size_t rank = specials_[special_count_ + site];
        link[k] = __ldg(row_ + rank * kRow + lane_ % kRow);
      }
    }
#pragma unroll
    for (unsigned k = 0; k < kRowLoads; ++k) {
      if (k * kRows >= sites) break;
      push(link[k].x < kMoreLinks && unvisited(link[k].x), link[k]);
    }
    __syncwarp();
    bool more = false;
#pragma unroll
    for (unsigned k = 0; k < kRowLoads; ++k) more = more || link[k].x == kMoreLinks;
    if (!__any_sync(~0u, more)) return;
#pragma unroll 1
    for (unsigned k = 0; k < kRowLoads; ++k) {
      uint2 one = link[0];
#pragma unroll
      for (unsigned j = 1; j < kRowLoads; ++j) one = k == j ? link[j] : one;
      unsigned todo = __ballot_sync(~0u, one.x == kMoreLinks);
      for (; todo != 0; todo &= todo - 1) {
        visit_more(__shfl_sync(~0u, one.y, __ffs(static_cast<int>(todo)) - 1));
      }
    }
    __syncwarp();
  }

  __device__ __forceinline__ void visit_more(std::uint32_t first) {
    const std::uint32_t links = __ldg(slot_->graph.more + first).x;
    for (std::uint32_t k = 0; k < links; k += 32) {
      make_room(32);
      uint2 link = make_uint2(0, 0);
      const bool mine = k + lane_ < links;
      if (mine) link = __ldg(slot_->graph.more + first + 1 + k + lane_);
      push(mine && unvisited(link.x), link);
    }
  }

  // Moves chunks of candidates to the pool if warps are idle or if the buffer is nearly full.
  __device__ __forceinline__ void give_away() {
    const std::uint32_t waiting = peek(slot_->tail) - peek(slot_->head);
    if (agree(waiting < peek(shared_.idle))) give();
    make_room(kRoundGrowth);
  }

  __device__ __forceinline__ void make_room(unsigned news) {
    while (count_ + news > capacity_) give();
  }

  __device__ __forceinline__ void give() {
    unsigned chunk = 0;
    if (lane_ == 0) {
      atomicAdd(&slot_->given, 1u);
      __threadfence_block();
      chunk = atomicAdd(&slot_->tail, 1u) & (run_.pool_chunks - 1);
    }
    chunk = __shfl_sync(~0u, chunk, 0);
    __syncwarp();
    count_ -= kChunk;
    gave_ = 1;
    const uint2 candidate = buffer_[count_ + lane_];
    BlockPair place(
        *reinterpret_cast<unsigned long long*>(slot_->pool + chunk * std::size_t{kChunk} + lane_));
    while (place.load(cuda::memory_order_relaxed) != ~0ull) __nanosleep(20);
    place.store(static_cast<unsigned long long>(candidate.y) << 32 | candidate.x,
                cuda::memory_order_relaxed);
    __syncwarp();
  }

  // Takes a chunk from the pool into the buffer. Returns false if the pool is empty.
  __device__ __forceinline__ bool take() {
    unsigned chunk = ~0u;
    if (lane_ == 0) {
      std::uint32_t head = peek(slot_->head);
      while (head != peek(slot_->tail)) {
        const std::uint32_t seen = atomicCAS(&slot_->head, head, head + 1);
        if (seen == head) {
          chunk = head & (run_.pool_chunks - 1);
          break;
        }
        head = seen;
      }
    }
    chunk = __shfl_sync(~0u, chunk, 0);
    if (chunk == ~0u) return false;
    BlockPair place(
        *reinterpret_cast<unsigned long long*>(slot_->pool + chunk * std::size_t{kChunk} + lane_));
    unsigned long long pair = place.load(cuda::memory_order_relaxed);
    while (pair == ~0ull) {
      __nanosleep(20);
      pair = place.load(cuda::memory_order_relaxed);
    }
    place.store(~0ull, cuda::memory_order_relaxed);
    buffer_[count_ + lane_] =
        make_uint2(static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(pair >> 32));
    count_ += kChunk;
    ++held_;
    __threadfence_block();
    __syncwarp();
    return true;
  }

  const DeviceWolff& g_;
  const SparseWolffArgs& run_;
  Shared& shared_;
  ClusterSlot* slot_ = nullptr;
  Plane<kHome> plane_{nullptr};
  const uint2 *special_of_ = nullptr, *row_ = nullptr;
  PhiloxSeed seed_{0};
  std::uint32_t bit_ = 0, threshold_ = 0;
  uint2* const buffer_;            // [capacity_]
  std::uint32_t* const specials_;  // [kSpecials] ranks
  const std::uint32_t capacity_;
  const unsigned lane_, below_;  // below_: mask of the lanes below this one
  PhiloxCall first_, second_;
  std::uint32_t step_ = 0;
  bool up_ = false;         // the new spin of claimed sites
  std::uint32_t spin_ = 0;  // all ones if unvisited sites have bit 0
  unsigned count_ = 0, special_count_ = 0, held_ = 0, gave_ = 0, flipped_ = 0;
};

// Waits until `parts` parts of a replica's updates are complete.
__device__ __forceinline__ void await(unsigned& done, unsigned parts) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> word(done);
  while (word.load(cuda::memory_order_acquire) < parts) __nanosleep(500);
}

// With 28 warps each thread has the 72 registers that it needs.
constexpr unsigned kMaxThreads = 896;

// Copy a plane to shared memory and back with one warp. Planes are padded to kGuard words.
__device__ __forceinline__ void fetch_plane(std::uint32_t* own, const std::uint32_t* home,
                                            std::uint32_t words) {
  for (std::uint32_t w = threadIdx.x % 32 * 4; w < words; w += 128) {
    __pipeline_memcpy_async(own + w, home + w, 16);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncwarp();
}
__device__ __forceinline__ void return_plane(const std::uint32_t* own, std::uint32_t* home,
                                             std::uint32_t words) {
  __syncwarp();
#pragma unroll 8
  for (std::uint32_t w = threadIdx.x % 32 * 4; w < words; w += 128) {
    *reinterpret_cast<uint4*>(home + w) = *reinterpret_cast<const uint4*>(own + w);
  }
}

// The work of a warp that leads a slot. A replica's updates are divided into parts; the warp
// processes one part after the other, of any replica, until none is left.
template <int kDim, Home kHome>
__device__ __forceinline__ void lead(const DeviceWolff& g, const SparseWolffArgs& run,
                                     const WolffLaunch& shape, Grower<kDim, kHome>& grower,
                                     ClusterSlot* slots, ClusterSlot& slot, std::uint32_t* own) {
  const unsigned lane = threadIdx.x % 32;
  const bool near =
      kHome == Home::shared || (kHome == Home::either && threadIdx.x / 32 < shape.near);
  const unsigned length = (run.updates + shape.parts - 1) / shape.parts;
  const std::uint32_t first = *run.first_step + run.step;
  while (true) {
    // Updates in progress have priority over new ones.
    while (grower.help_one(slots, shape.slots, threadIdx.x / 32 % shape.slots)) {
    }
    unsigned item = 0;
    if (lane == 0) item = atomicAdd(run.progress, 1u);
    item = __shfl_sync(~0u, item, 0);
    const unsigned replica = item % run.replicas, part = item / run.replicas;
    if (part >= shape.parts) return;
    if (lane == 0 && part > 0) await(run.progress[1 + replica], part);
    __syncwarp();
    const unsigned start = part * length, stop = min(run.updates, start + length);
    const bool sparse = run.dense == nullptr || run.dense[replica / kReplicas] == 0;
    if (start < stop && sparse) {
      std::uint32_t* home = run.planes + static_cast<std::size_t>(replica) * g.plane_words;
      if (near) fetch_plane(own, home, g.plane_words);
      if (lane == 0) {
        slot.group = replica / kReplicas % (run.replicas_per_graph / kReplicas);
        slot.bit = replica % kReplicas;
        slot.threshold = run.threshold[replica / kReplicas];
        slot.graph = run.graphs[replica / run.replicas_per_graph];
        slot.plane = near ? own : home;
        slot.flipped = 0;
        __threadfence_block();
      }
      __syncwarp();
      grower.set_slot(slot);
      std::uint32_t seed = 0;
      for (unsigned update = start; update < stop; ++update) {
        const unsigned ahead = (update - start) % 32;
        if (ahead == 0) {  // seeds of 32 updates at once
          seed = wolff_seed_site({slot.graph.seed, slot.group, first + update + lane}, slot.bit,
                                 g.lattice.sites);
        }
        grower.update(first + update, __shfl_sync(~0u, seed, static_cast<int>(ahead)));
      }
      if (lane == 0) run.flipped[replica] += slot.flipped;
      if (near) return_plane(own, home, g.plane_words);
    }
    __syncwarp();
    if (lane == 0) {
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> done(run.progress[1 + replica]);
      done.store(part + 1, cuda::memory_order_release);
    }
  }
}

template <int kDim, Home kHome>
__global__ void __launch_bounds__(kMaxThreads, 1)
    wolff_clusters(const __grid_constant__ DeviceWolff g,
                   const __grid_constant__ SparseWolffArgs run,
                   const __grid_constant__ WolffLaunch shape) {
  extern __shared__ uint4 dynamic[];
  __shared__ Shared shared;
  __shared__ ClusterSlot slots[kMaxThreads / 32];
  const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
  auto* const planes = reinterpret_cast<std::uint32_t*>(dynamic);
  auto* const buffers = reinterpret_cast<uint2*>(planes + std::size_t{shape.near} * g.plane_words);
  uint2* const buffer = buffers + std::size_t{warp} * (shape.buffer + kSpecials / 2);
  if (threadIdx.x < shape.slots) {
    const std::size_t number = std::size_t{blockIdx.x} * shape.slots + threadIdx.x;
    ClusterSlot& slot = slots[threadIdx.x];
    slot.head = slot.tail = slot.given = 0;
    slot.pool = run.pool + number * shape.pool_of_slot();
  }
  if (threadIdx.x == 0) shared = {0, shape.slots};
  __syncthreads();
  Grower<kDim, kHome> grower(g, run, shared, buffer, shape.buffer);
  if (warp < shape.slots) {
    lead(g, run, shape, grower, slots, slots[warp], planes + std::size_t{warp} * g.plane_words);
    __syncwarp();
    if (threadIdx.x % 32 == 0) atomicSub(&shared.leaders, 1u);
  }
  grower.help(slots, shape.slots, warp * shape.slots / warps);
}

using Kernel = void (*)(DeviceWolff, SparseWolffArgs, WolffLaunch);

Kernel kernel_for(int dim, const WolffLaunch& shape) {
  return with_dim(dim, [&shape]<int kDim>() -> Kernel {
    if (shape.near == shape.slots) return wolff_clusters<kDim, Home::shared>;
    return shape.near == 0 ? wolff_clusters<kDim, Home::global>
                           : wolff_clusters<kDim, Home::either>;
  });
}

}  // namespace

void launch_words_to_planes(const DeviceWolff& g, std::uint32_t word_groups, int vec,
                            const std::uint32_t* spins, std::uint32_t* planes,
                            cudaStream_t stream) {
  launch_transpose<true>(g, word_groups, vec, const_cast<std::uint32_t*>(spins), planes, stream);
}

void launch_planes_to_words(const DeviceWolff& g, std::uint32_t word_groups, int vec,
                            const std::uint32_t* planes, std::uint32_t* spins,
                            cudaStream_t stream) {
  launch_transpose<false>(g, word_groups, vec, spins, const_cast<std::uint32_t*>(planes), stream);
}

WolffLaunch choose_wolff_launch(int dim, std::uint32_t plane_words, std::uint32_t replicas,
                                std::uint64_t bonds, double special_share) {
  constexpr unsigned warps = kMaxThreads / 32;
  constexpr std::size_t kept =
      sizeof(Shared) + warps * sizeof(ClusterSlot) + 1024;  // 1024: for CUDA
  // Number of slots with planes in global memory: kFarBeside in addition to one slot in shared
  // memory, kFarAlone if no plane fits there. With few shortcuts their words are mostly in the
  // second-level cache.
  constexpr unsigned kFarBeside = 2, kFarAlone = 3;
  constexpr double kFewSpecials = 0.2;
  const auto multiprocessors =
      static_cast<unsigned>(device_attribute(cudaDevAttrMultiProcessorCount));
  const auto room =
      static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) - kept;
  WolffLaunch shape;
  shape.threads = kMaxThreads;
  shape.buffer = 160 + 64 * static_cast<std::uint32_t>(dim);
  const std::size_t per_warp = std::size_t{shape.buffer} * 8 + kSpecials * 4;
  const std::size_t plane_bytes = std::size_t{plane_words} * 4;
  // Uses fewer warps if that makes room for a plane in shared memory.
  const auto planes_of = [&](unsigned threads) {
    const std::size_t buffers = threads / 32 * per_warp;
    return buffers > room ? 0 : (room - buffers) / plane_bytes;
  };
  while (shape.threads > 256 && planes_of(shape.threads) == 0) shape.threads -= 32;
  if (planes_of(shape.threads) == 0) shape.threads = kMaxThreads;
  while (shape.threads / 32 * per_warp > room) shape.threads -= 32;
  const unsigned wanted = (replicas + multiprocessors - 1) / multiprocessors;
  shape.near = static_cast<unsigned>(
      std::min<std::size_t>({planes_of(shape.threads), wanted, shape.threads / 32}));
  shape.slots = shape.near;
  if (shape.near == 0) shape.slots = std::min(wanted, kFarAlone);
  if (shape.near == 1 && special_share < kFewSpecials) {
    shape.slots = std::min(wanted, 1 + kFarBeside);
  }
  shape.shared_bytes = shape.near * plane_bytes + shape.threads / 32 * per_warp;
  shape.blocks = std::min(multiprocessors, (replicas + shape.slots - 1) / shape.slots);
  // Updates are divided into parts so that all slots end at about the same time.
  const unsigned at_once = shape.blocks * shape.slots;
  shape.parts = at_once >= replicas ? 1 : std::clamp(64 * at_once / replicas, 1u, 8u);
  shape.pool_chunks = std::bit_ceil(static_cast<std::uint32_t>(bonds / kChunk) + 64);
  return shape;
}

void WolffLaunch::restrict_slots(std::size_t most) {
  if (std::size_t{blocks} * slots <= most) return;
  slots = static_cast<unsigned>(std::clamp<std::size_t>(most / blocks, 1, slots));
  near = std::min(near, slots);
  blocks = static_cast<unsigned>(std::clamp<std::size_t>(most / slots, 1, blocks));
}

void launch_wolff(const DeviceWolff& g, const SparseWolffArgs& run, const WolffLaunch& shape,
                  cudaStream_t stream) {
  const Kernel kernel = kernel_for(g.lattice.dim, shape);
  allow_shared_memory(kernel);
  WolffLaunch part = shape;
  part.parts = std::clamp(run.updates / 8, 1u, shape.parts);
  launch(kernel, {shape.blocks, shape.threads, shape.shared_bytes}, stream, g, run, part);
}

}  // namespace rewise::multispin
