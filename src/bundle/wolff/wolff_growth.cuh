// Growth of Wolff clusters by a block (wolff_cuda.hpp): candidates, draws, claims, and the pool
// through which warps share work.
#pragma once

#include <cuda/atomic>

#include "src/bundle/local/local.cuh"
#include "src/bundle/wolff/wolff_cuda.hpp"
#include "src/bundle/wolff/wolff_plane.cuh"

namespace rewise::bundle::device {

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
      if (count_ >= 48) share();
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
      if (open && late) hit = settle(item);
      open = open && !late;
    }
    push(open, make_uint2(site | kLate, candidate.y));
    const bool claimed = plane_.flip(hit, up_, site) && hit;
    collect(claimed, site, word);
    __syncwarp();
  }

  // Digits from the ninth on.
  __device__ __forceinline__ bool settle(const SharedItem& item) const {
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
  __device__ __forceinline__ void share() {
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

}  // namespace rewise::bundle::device
