// Sparse Wolff updates on the device (wolff_cuda.hpp): the replicas' bits to planes, the growth of
// clusters by a block (candidates, draws, claims, and the pool through which warps share work), the
// planes back to words, and the passage between the sparse and the dense form.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cuda/atomic>

#include "graphs/lattice.hpp"
#include "src/bundle/rules.hpp"
#include "src/bundle/wolff/wolff_cuda.hpp"
#include "src/bundle/words.cuh"
#include "src/cuda/bits.cuh"
#include "src/cuda/launch.hpp"
#include "src/cuda/shared_memory.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

// Bit planes: 32 words of 32 replicas become 32 words of 32 sites, and back.

constexpr unsigned kTileThreads = 1024;

__device__ __forceinline__ std::uint32_t slot_of(const DeviceLattice& g, std::uint32_t site) {
  if (g.dim == 0) return g.colour_base[0] + site;
  const std::uint32_t row = site / (2 * g.half_row);
  const unsigned colour = (g.row_parity[row] + site) & 1u;  // rows have even length
  return (colour != 0 ? g.colour_base[1] : g.colour_base[0]) + site / 2;
}

// A block handles 32 tiles of 32 sites of one bundle, so that both sides move whole lines.
template <bool kToPlanes>
__global__ void __launch_bounds__(kTileThreads) turn(const __grid_constant__ DeviceWolff g, int vec,
                                                     std::uint32_t* spins, std::uint32_t* planes) {
  __shared__ std::uint32_t tile[32][33];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t bundle = blockIdx.y;
  const std::uint32_t first = blockIdx.x * 32;  // plane word
  const std::uint32_t site = (first + warp) * 32 + lane;
  const bool real = site < g.lattice.sites;
  std::uint32_t* word = nullptr;
  if (real) {
    const auto v = static_cast<std::uint32_t>(vec);
    word = spins +
           (static_cast<std::size_t>(bundle / v) * g.lattice.words + slot_of(g.lattice, site)) * v +
           bundle % v;
  }
  std::uint32_t* plane =
      planes + (static_cast<std::size_t>(bundle) * kReplicas + warp) * g.plane_words + first + lane;
  const bool inside = first + lane < g.plane_words;
  if (kToPlanes) {
    tile[lane][warp] = turn_bits(real ? *word : 0u);
    __syncthreads();
    if (inside) *plane = tile[warp][lane];
  } else {
    tile[warp][lane] = inside ? *plane : 0u;
    __syncthreads();
    const std::uint32_t x = turn_bits(tile[lane][warp]);
    if (real) *word = x;
  }
}

template <bool kToPlanes>
void launch_turn(const DeviceWolff& g, std::uint32_t bundles, int vec, std::uint32_t* spins,
                 std::uint32_t* planes, cudaStream_t stream) {
  LaunchShape shape{(g.plane_words + 31) / 32, kTileThreads};
  shape.blocks_y = bundles;
  launch(turn<kToPlanes>, shape, stream, g, vec, spins, planes);
}

// Words that the warps of a block share in shared memory, and a replica's plane of spins there or
// in global memory: relaxed atomic reads and writes, and a flip that says who did it. Addresses in
// shared memory are 32 bits, which saves the instructions that tell memories apart.

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
// Relaxed atomic access to a word in shared memory.
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

// A replica's spins, a bit per site, in shared memory or not.
template <bool kShared>
class Plane;

template <>
class Plane<true> {
 public:
  __device__ __forceinline__ explicit Plane(std::uint32_t* words) : base_(shared_address(words)) {}

  __device__ __forceinline__ std::uint32_t load(std::uint32_t site) const {
    return peek_at(base_ + (site >> 3 & ~3u));
  }
  // Sets (up) or clears the site's bit where `wanted`; whether it was this thread that changed it.
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
class Plane<false> {
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

// Growth of clusters by a block.

constexpr std::uint32_t kSpecials = 40;  // special sites that wait in a warp's list
// A candidate whose first four digits equal the threshold's: bit of its site.
constexpr std::uint32_t kLate = 1u << 31;

using BlockPair = cuda::atomic_ref<unsigned long long, cuda::thread_scope_block>;

// What the warps of a block share.
struct Shared {
  std::uint32_t step, up;    // of the present update
  std::uint32_t head, tail;  // of the pool, in chunks
  std::uint32_t given;       // chunks that were given away and are not yet worked off
  std::uint32_t idle;        // warps without work
  std::uint32_t claimed;     // sites of the present cluster, where there is a limit
  std::uint32_t over;        // the present cluster outgrew the limit
  std::uint32_t done;        // no more updates in this part
  std::uint32_t item;
  unsigned long long flipped;
};

// A replica's part in the hands of a block; the same in all threads.
struct Replica {
  std::uint32_t* plane;  // [plane_words]
  std::uint32_t who, bit, threshold;
  DeviceWolffGraph graph;
  uint2* pool;
  std::uint32_t* trail;
};

// The step of site numbers along direction `way / 2`.
template <int kDim>
__device__ __forceinline__ std::uint32_t stride_of(const DeviceLattice& g, unsigned way) {
  std::uint32_t stride = 1;
  if (kDim > 1 && way / 2 > 0) stride = g.extent0;
  if (kDim > 2 && way / 2 > 1) stride *= g.extent1;
  if (kDim > 3 && way / 2 > 2) stride *= g.extent2;
  return stride;
}

// One warp at work on one replica. Every member is called by whole warps; counts are the same in
// all lanes.
template <int kDim, bool kShared>
class Grower {
 public:
  __device__ Grower(const DeviceWolff& g, const DeviceWolffRun& run, const Replica& replica,
                    Shared& shared, uint2* buffer, std::uint32_t capacity)
      : g_(g),
        run_(run),
        r_(replica),
        plane_(replica.plane),
        shared_(shared),
        buffer_(buffer),
        specials_(reinterpret_cast<std::uint32_t*>(buffer + capacity)),
        capacity_(capacity),
        lane_(threadIdx.x % 32),
        below_((1u << lane_) - 1) {}

  // Warp 0: grows and flips the cluster of one update; false where it outgrew the limit.
  __device__ __forceinline__ bool update(std::uint32_t step, std::uint32_t seed) {
    const bool up = (plane_.load(seed) >> seed % 32 & 1u) == 0;
    if (lane_ == 0) {
      poke(shared_.step, step);
      poke(shared_.up, up);
      if (run_.limit > 0) poke(shared_.claimed, 0);
    }
    __syncwarp();
    begin(step, up);
    const uint2 word = r_.graph.special[seed / 32];
    collect(plane_.flip(lane_ == 0, up, seed) && lane_ == 0, seed, word);
    __syncwarp();
    while (true) {
      work_off();
      if (run_.limit > 0 && agree(peek(shared_.over) != 0)) return false;
      if (gave_ == 0) return true;
      if (take()) continue;
      if (agree(peek(shared_.given) == 0)) {
        __threadfence_block();
        gave_ = 0;
        return true;
      }
      __nanosleep(40);
    }
  }

  // Other warps: work on what the pool offers until the part is done.
  __device__ __forceinline__ void help() {
    if (lane_ == 0) atomicAdd(&shared_.idle, 1u);
    while (true) {
      __syncwarp();
      if (take()) {
        if (lane_ == 0) atomicSub(&shared_.idle, 1u);
        begin(peek(shared_.step), peek(shared_.up) != 0);
        work_off();
        if (lane_ == 0) atomicAdd(&shared_.idle, 1u);
      } else if (agree(peek(shared_.done) != 0)) {
        break;
      } else {
        while (peek(shared_.head) == peek(shared_.tail) && peek(shared_.done) == 0) {
          __nanosleep(40);
        }
      }
    }
  }

  __device__ unsigned flipped() const { return flipped_; }

 private:
  // A round takes 32 candidates if there are as many, and each leads to 2 d new ones at most.
  static constexpr unsigned kRoundGrowth = kDim == 0 ? 32 : 64 * kDim - 32;

  // What lane 0 saw: other warps may change a shared word between two lanes' reads.
  static __device__ __forceinline__ bool agree(bool seen) {
    return __shfl_sync(~0u, seen ? 1 : 0, 0) != 0;
  }

  __device__ __forceinline__ void begin(std::uint32_t step, bool up) {
    step_ = step;
    up_ = up;
    spin_ = up ? ~0u : 0u;
    const auto low = static_cast<std::uint32_t>(r_.graph.seed);
    const auto high = static_cast<std::uint32_t>(r_.graph.seed >> 32);
    first_ = CallWords(low, high, r_.who, 0, step);
    second_ = CallWords(low, high, r_.who, 1, step);
    // Kept, not made anew for every draw.
    asm volatile("" : "+r"(first_.hi), "+r"(first_.lo), "+r"(second_.hi), "+r"(second_.lo));
  }

  // Until this warp has nothing left; then what it took from the pool counts as worked off.
  __device__ __forceinline__ void work_off() {
    while ((count_ | special_count_) != 0) {
      if (count_ >= 32 ? special_count_ < 8 : special_count_ == 0) {
        round();
      } else {
        visit_specials();
      }
      if (count_ >= 48) give_away();
      if (run_.limit > 0 && agree(peek(shared_.over) != 0)) count_ = special_count_ = 0;
    }
    __syncwarp();
    if (held_ > 0 && lane_ == 0) {
      __threadfence_block();
      atomicSub(&shared_.given, held_);
    }
    held_ = 0;
  }

  // Whether the site holds the cluster's spin. What other threads claim meanwhile may or may not be
  // seen; flip() decides.
  __device__ __forceinline__ bool unvisited(std::uint32_t site) const {
    return ((plane_.load(site) ^ spin_) >> site % 32 & 1u) != 0;
  }

  // One replica's next four digits, as a number.
  __device__ __forceinline__ std::uint32_t digits(const SharedItem& item,
                                                  const CallWords& call) const {
    const Words4 words = finish_call(item, call, static_cast<std::uint32_t>(r_.graph.seed),
                                     static_cast<std::uint32_t>(r_.graph.seed >> 32));
    std::uint32_t number = 0;
#pragma unroll
    for (unsigned w = 0; w < 4; ++w) {
      number = __funnelshift_l(words.w[w] << (31 - r_.bit), number, 1);
    }
    return number;
  }

  // Draws for up to 32 candidates and collects what the hit ones lead to. A draw that four digits
  // leave open is put back to go on with the next four.
  __device__ __forceinline__ void round() {
    const unsigned taken = min(count_, 32u);
    count_ -= taken;
    const uint2 candidate = lane_ < taken ? buffer_[count_ + lane_] : make_uint2(0, 0);
    __syncwarp();
    const std::uint32_t site = candidate.x & ~kLate;
    const bool late = candidate.x >= kLate;
    const bool live = lane_ < taken && unvisited(site);
    uint2 word = make_uint2(0, 0);
    if (live) word = __ldg(r_.graph.special + site / 32);
    const SharedItem item(static_cast<std::uint32_t>(r_.graph.seed),
                          static_cast<std::uint32_t>(r_.graph.seed >> 32),
                          static_cast<std::uint32_t>(Stream::bond), step_, candidate.y);
    CallWords call = first_;
    if (late) call = second_;
    const std::uint32_t number = digits(item, call);
    const std::uint32_t limit = r_.threshold >> (late ? 24 : 28) & 15u;
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

  // Digits from the ninth on.
  __device__ __forceinline__ bool decide(const SharedItem& item) const {
#pragma unroll 1
    for (unsigned call = 2; call < 8; ++call) {
      const CallWords words(static_cast<std::uint32_t>(r_.graph.seed),
                            static_cast<std::uint32_t>(r_.graph.seed >> 32), r_.who, call, step_);
      const std::uint32_t number = digits(item, words);
      const std::uint32_t limit = r_.threshold >> (28 - 4 * call) & 15u;
      if (number != limit) return number < limit;
    }
    return false;
  }

  __device__ __forceinline__ void push(bool mine, uint2 candidate) {
    const unsigned who = __ballot_sync(~0u, mine);
    if (mine) buffer_[count_ + __popc(who & below_)] = candidate;
    count_ += static_cast<unsigned>(__popc(who));
  }

  // Candidates of newly claimed sites; `word` is their entry of special[].
  __device__ __forceinline__ void collect(bool claimed, std::uint32_t site, uint2 word) {
    const unsigned who = __ballot_sync(~0u, claimed);
    if (who == 0) return;
    const auto news = static_cast<unsigned>(__popc(who));
    flipped_ += news;
    if (run_.limit > 0) leave_trail(claimed, who, site);
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

  __device__ __forceinline__ void leave_trail(bool claimed, unsigned who, std::uint32_t site) {
    unsigned base = 0;
    if (lane_ == 0) base = atomicAdd(&shared_.claimed, static_cast<unsigned>(__popc(who)));
    base = __shfl_sync(~0u, base, 0);
    if (claimed) r_.trail[base + __popc(who & below_)] = site;
    if (lane_ == 0 && base + static_cast<unsigned>(__popc(who)) > run_.limit) poke(shared_.over, 1);
  }

  // Candidates of a few special sites, whose neighbours are listed: a lane per place in their rows.
  __device__ __forceinline__ void visit_specials() {
    constexpr unsigned kRow = link_row(kDim);
    const unsigned sites = min(special_count_, 32 / kRow);
    special_count_ -= sites;
    make_room(32);
    uint2 link = make_uint2(kNoLink, 0);
    if (lane_ / kRow < sites) {
      const std::size_t rank = specials_[special_count_ + lane_ / kRow];
      link = __ldg(r_.graph.row + rank * kRow + lane_ % kRow);
    }
    push(link.x < kMoreLinks && unvisited(link.x), link);
    for (unsigned todo = __ballot_sync(~0u, link.x == kMoreLinks); todo != 0; todo &= todo - 1) {
      visit_more(__shfl_sync(~0u, link.y, __ffs(static_cast<int>(todo)) - 1));
    }
    __syncwarp();
  }

  __device__ __forceinline__ void visit_more(std::uint32_t first) {
    const std::uint32_t links = __ldg(r_.graph.more + first).x;
    for (std::uint32_t k = 0; k < links; k += 32) {
      make_room(32);
      uint2 link = make_uint2(0, 0);
      const bool mine = k + lane_ < links;
      if (mine) link = __ldg(r_.graph.more + first + 1 + k + lane_);
      push(mine && unvisited(link.x), link);
    }
  }

  // Gives candidates away: where warps wait for some, and where the buffer grows full.
  __device__ __forceinline__ void give_away() {
    const std::uint32_t waiting = peek(shared_.tail) - peek(shared_.head);
    if (agree(waiting < peek(shared_.idle))) give();
    make_room(kRoundGrowth);
  }

  __device__ __forceinline__ void make_room(unsigned news) {
    while (count_ + news > capacity_) give();
  }

  __device__ __forceinline__ void give() {
    unsigned slot = 0;
    if (lane_ == 0) {
      atomicAdd(&shared_.given, 1u);
      __threadfence_block();
      slot = atomicAdd(&shared_.tail, 1u) & (run_.pool_chunks - 1);
    }
    slot = __shfl_sync(~0u, slot, 0);
    __syncwarp();
    count_ -= kChunk;
    gave_ = 1;
    const uint2 candidate = buffer_[count_ + lane_];
    BlockPair place(
        *reinterpret_cast<unsigned long long*>(r_.pool + slot * std::size_t{kChunk} + lane_));
    while (place.load(cuda::memory_order_relaxed) != ~0ull) __nanosleep(20);
    place.store(static_cast<unsigned long long>(candidate.y) << 32 | candidate.x,
                cuda::memory_order_relaxed);
    __syncwarp();
  }

  // A chunk from the pool into the empty buffer.
  __device__ __forceinline__ bool take() {
    unsigned slot = ~0u;
    if (lane_ == 0) {
      std::uint32_t head = peek(shared_.head);
      while (head != peek(shared_.tail)) {
        const std::uint32_t seen = atomicCAS(&shared_.head, head, head + 1);
        if (seen == head) {
          slot = head & (run_.pool_chunks - 1);
          break;
        }
        head = seen;
      }
    }
    slot = __shfl_sync(~0u, slot, 0);
    if (slot == ~0u) return false;
    BlockPair place(
        *reinterpret_cast<unsigned long long*>(r_.pool + slot * std::size_t{kChunk} + lane_));
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
  const DeviceWolffRun& run_;
  const Replica& r_;
  const Plane<kShared> plane_;
  Shared& shared_;
  uint2* const buffer_;            // [capacity_]
  std::uint32_t* const specials_;  // [kSpecials] ranks
  const std::uint32_t capacity_;
  const unsigned lane_, below_;  // below_: lanes before this one
  CallWords first_, second_;
  std::uint32_t step_ = 0;
  bool up_ = false;         // the state that claimed sites take
  std::uint32_t spin_ = 0;  // all ones where unvisited sites are 0
  unsigned count_ = 0, special_count_ = 0, held_ = 0, gave_ = 0, flipped_ = 0;
};

// Updates [begin, end) of one replica, by a block. Returns the first that is not done.
template <int kDim, bool kShared>
__device__ __forceinline__ unsigned run_updates(const DeviceWolff& g, const DeviceWolffRun& run,
                                                const Replica& r, Shared& shared, uint2* buffer,
                                                std::uint32_t capacity, unsigned begin,
                                                unsigned end) {
  Grower<kDim, kShared> grower(g, run, r, shared, buffer, capacity);
  unsigned update = begin;
  if (threadIdx.x >= 32) {
    grower.help();
  } else {
    const std::uint32_t first = *run.first_step + run.step;
    std::uint32_t seed = 0;
    for (bool alive = true; update < end; ++update) {
      const unsigned lane = threadIdx.x % 32, ahead = (update - begin) % 32;
      if (ahead == 0) {  // seeds of 32 updates at once
        seed =
            wolff_seed_site({r.graph.seed, r.who, first + update + lane}, r.bit, g.lattice.sites);
      }
      alive = grower.update(first + update, __shfl_sync(~0u, seed, static_cast<int>(ahead)));
      if (!alive) break;
    }
    if (threadIdx.x == 0) poke(shared.done, 1);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(&shared.flipped, 1ull * grower.flipped());
  return update;
}

// Takes back a cluster that outgrew the limit.
__device__ void take_back(const DeviceWolffRun& run, const Replica& r, Shared& shared) {
  // Chunks that nobody took.
  for (std::uint32_t c = shared.head; c != shared.tail; ++c) {
    const std::size_t slot = c & (run.pool_chunks - 1);
    if (threadIdx.x < kChunk) r.pool[slot * kChunk + threadIdx.x] = make_uint2(~0u, ~0u);
  }
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < shared.claimed; k += blockDim.x) {
    const std::uint32_t site = r.trail[k];
    atomicXor(r.plane + site / 32, 1u << site % 32);
  }
  if (threadIdx.x == 0) shared.flipped -= shared.claimed;
  __syncthreads();
}

// Waits until other blocks have done the earlier parts of the replica's updates.
__device__ __forceinline__ void await(unsigned& done, unsigned parts) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> word(done);
  while (word.load(cuda::memory_order_acquire) < parts) __nanosleep(500);
}

// 28 warps leave each thread the 72 registers that it needs.
constexpr unsigned kMostThreads = 896;

template <int kDim, bool kShared>
__global__ void __launch_bounds__(kMostThreads)
    wolff_clusters(const __grid_constant__ DeviceWolff g,
                   const __grid_constant__ DeviceWolffRun run,
                   const __grid_constant__ WolffLaunch plan) {
  extern __shared__ uint4 dynamic[];
  __shared__ Shared shared;
  const std::uint32_t warp_words = plan.buffer + kSpecials / 2;
  uint2* const buffers = reinterpret_cast<uint2*>(dynamic);
  uint2* const buffer = buffers + std::size_t{threadIdx.x / 32} * warp_words;
  std::uint32_t* const own =
      reinterpret_cast<std::uint32_t*>(buffers + std::size_t{blockDim.x / 32} * warp_words);
  const unsigned length = (run.updates + plan.parts - 1) / plan.parts;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) {
      shared.item = atomicAdd(run.progress, 1u);
      shared.head = shared.tail = shared.given = shared.idle = shared.claimed = 0;
      shared.over = shared.done = 0;
      shared.flipped = 0;
    }
    __syncthreads();
    const unsigned replica = shared.item % run.replicas, part = shared.item / run.replicas;
    if (part >= plan.parts) return;
    if (threadIdx.x == 0 && part > 0) await(run.progress[1 + replica], part);
    __syncthreads();
    const unsigned stop = min(run.updates, (part + 1) * length);
    const unsigned place = run.stopped != nullptr ? run.stopped[replica] : part * length;
    const unsigned start = max(part * length, place);
    // Where start lies in a later part, or the replica stopped in an earlier one.
    const bool idle = start >= stop || place < part * length;
    if (!idle) {
      std::uint32_t* home = run.planes + static_cast<std::size_t>(replica) * g.plane_words;
      if (kShared) {
        for (std::uint32_t w = threadIdx.x; w < g.plane_words; w += blockDim.x) own[w] = home[w];
      }
      const unsigned bundles = run.replicas_per_graph / kReplicas;
      const Replica r{
          kShared ? own : home,
          replica / kReplicas % bundles,
          replica % kReplicas,
          run.threshold[replica / kReplicas],
          run.graphs[replica / run.replicas_per_graph],
          run.pool + std::size_t{blockIdx.x} * run.pool_chunks * kChunk,
          run.limit > 0 ? run.trail + blockIdx.x * plan.trail_length(run.limit) : nullptr};
      __syncthreads();
      const unsigned reached =
          run_updates<kDim, kShared>(g, run, r, shared, buffer, plan.buffer, start, stop);
      __syncthreads();
      if (shared.over != 0) take_back(run, r, shared);
      if (threadIdx.x == 0) {
        run.flipped[replica] += shared.flipped;
        if (run.stopped != nullptr) run.stopped[replica] = reached;
      }
      if (kShared) {
        for (std::uint32_t w = threadIdx.x; w < g.plane_words; w += blockDim.x) home[w] = own[w];
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> done(run.progress[1 + replica]);
      done.store(part + 1, cuda::memory_order_release);
    }
  }
}

using Kernel = void (*)(DeviceWolff, DeviceWolffRun, WolffLaunch);

Kernel kernel_for(int dim, bool shared) {
  return with_dim(dim, [shared]<int kDim>() -> Kernel {
    return shared ? wolff_clusters<kDim, true> : wolff_clusters<kDim, false>;
  });
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

__global__ void start_forms(const std::uint32_t* dense, std::uint32_t replicas,
                            std::uint32_t updates, std::uint32_t* stopped) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica >= replicas) return;
  const std::uint32_t in_dense = dense == nullptr ? 0 : dense[replica / kReplicas];
  stopped[replica] = (in_dense >> replica % kReplicas & 1u) != 0 ? updates : 0;
}

// A warp per bundle, a lane per replica.
__global__ void pick_stopped(std::uint32_t bundles, std::uint32_t updates, std::uint32_t* stopped,
                             std::uint32_t* later, std::uint32_t* active) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica / kReplicas >= bundles) return;
  const std::uint32_t at = stopped[replica];
  const std::uint32_t least = __reduce_min_sync(~0u, at);
  const bool picked = at == least && at < updates;
  const std::uint32_t who = __ballot_sync(~0u, picked);
  if (picked) stopped[replica] = at + 1;
  if (replica % kReplicas != 0) return;
  later[replica / kReplicas] = least;
  active[replica / kReplicas] = who;
}

}  // namespace

void launch_words_to_planes(const DeviceWolff& g, std::uint32_t bundles, int vec,
                            const std::uint32_t* spins, std::uint32_t* planes,
                            cudaStream_t stream) {
  launch_turn<true>(g, bundles, vec, const_cast<std::uint32_t*>(spins), planes, stream);
}

void launch_planes_to_words(const DeviceWolff& g, std::uint32_t bundles, int vec,
                            const std::uint32_t* planes, std::uint32_t* spins,
                            cudaStream_t stream) {
  launch_turn<false>(g, bundles, vec, spins, const_cast<std::uint32_t*>(planes), stream);
}

WolffLaunch plan_wolff(int dim, std::uint32_t plane_words, std::uint32_t replicas,
                       std::uint64_t bonds) {
  const auto multiprocessors = static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount));
  const auto room =
      static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) - 1024;
  const auto room_of_all =
      static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  WolffLaunch plan;
  plan.buffer = 160 + 64 * static_cast<std::uint32_t>(dim);
  const std::size_t per_warp = std::size_t{plan.buffer} * 8 + kSpecials * 4;
  const std::size_t plane_bytes = std::size_t{plane_words} * 4;
  plan.plane_shared = plane_bytes + 8 * per_warp <= room;
  // Small planes share a multiprocessor, large ones take it whole.
  plan.threads = !plan.plane_shared     ? 256
                 : plane_bytes <= 4096  ? 32
                 : plane_bytes <= 10240 ? 64
                 : plane_bytes <= 20480 ? 128
                 : plane_bytes <= 36864 ? 256
                 : plane_bytes <= 81920 ? 512
                                        : kMostThreads;
  const std::size_t plane_part = plan.plane_shared ? plane_bytes : 0;
  while (plane_part + plan.threads / 32 * per_warp > room) plan.threads /= 2;
  plan.shared_bytes = plane_part + plan.threads / 32 * per_warp;
  const auto fit = static_cast<unsigned>(room_of_all / (plan.shared_bytes + 1024));
  const unsigned per = std::clamp(std::min(fit, 2048 / plan.threads), 1u, 32u);
  plan.blocks = std::min(multiprocessors * per, replicas);
  // Parts so that blocks end at about the same time.
  plan.parts = plan.blocks == replicas ? 1 : std::clamp(64 * plan.blocks / replicas, 1u, 8u);
  plan.pool_chunks = std::bit_ceil(static_cast<std::uint32_t>(bonds / kChunk) + 64);
  return plan;
}

void launch_wolff(const DeviceWolff& g, const DeviceWolffRun& run, const WolffLaunch& plan,
                  cudaStream_t stream) {
  const Kernel kernel = kernel_for(g.lattice.dim, plan.plane_shared);
  allow_shared_memory(kernel);
  WolffLaunch part = plan;
  part.parts = std::clamp(run.updates / 8, 1u, plan.parts);
  launch(kernel, {plan.blocks, plan.threads, plan.shared_bytes}, stream, g, run, part);
}

void launch_start_forms(const std::uint32_t* dense, std::uint32_t replicas, std::uint32_t updates,
                        std::uint32_t* stopped, cudaStream_t stream) {
  launch(start_forms, cover(replicas), stream, dense, replicas, updates, stopped);
}

void launch_pick_stopped(std::uint32_t bundles, std::uint32_t updates, std::uint32_t* stopped,
                         std::uint32_t* later, std::uint32_t* active, cudaStream_t stream) {
  launch(pick_stopped, cover(std::uint64_t{bundles} * kReplicas), stream, bundles, updates, stopped,
         later, active);
}

}  // namespace rewise::bundle
