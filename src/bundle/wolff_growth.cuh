// Growth of one Wolff cluster by a block (wolff_cuda.hpp): its queue, claims and draws; small
// frontiers by a thread per site and way, large ones by warps that draw for 32 candidates at a
// time.
#pragma once

#include <cuda/atomic>

#include "src/bundle/local.cuh"
#include "src/bundle/wolff_cuda.hpp"

namespace rewise::bundle::device {

// Digits 4 call .. 4 call + 3 of one replica's fraction for one bond (rules.hpp), as a number.
__device__ __forceinline__ std::uint32_t four_digits(const DeviceWolffRun& run, std::uint32_t bond,
                                                     std::uint32_t who, std::uint32_t step,
                                                     unsigned bit, unsigned call) {
  const Words4 words =
      philox4x32(bond, lane_word(who, call), step, static_cast<std::uint32_t>(Stream::bond),
                 static_cast<std::uint32_t>(run.seed), static_cast<std::uint32_t>(run.seed >> 32));
  std::uint32_t number = 0;
#pragma unroll
  for (unsigned w = 0; w < 4; ++w) number = number << 1 | (words.w[w] >> bit & 1u);
  return number;
}

// The cluster that a block grows.
struct Cluster {
  std::uint32_t* plane;     // [plane_words]
  std::uint32_t* queue;     // [mask + 1] in shared memory
  std::uint32_t* overflow;  // [sites] in global memory
  std::uint32_t mask;
  unsigned* tail;  // in shared memory
  bool up;
  std::uint32_t who, step, threshold;
  unsigned bit;

  // Flips the site unless it is already; whether it was this thread that did.
  __device__ __forceinline__ bool claim(std::uint32_t site) const {
    const std::uint32_t one = 1u << site % 32;
    return up ? (atomicAnd(plane + site / 32, ~one) & one) != 0
              : (atomicOr(plane + site / 32, one) & one) == 0;
  }
  // What other threads claim meanwhile may or may not be seen; claim() decides.
  __device__ __forceinline__ bool unvisited(std::uint32_t site) const {
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_block> word(plane[site / 32]);
    return (word.load(cuda::memory_order_relaxed) >> site % 32 & 1u) == (up ? 1u : 0u);
  }
  // Entries up to head + queue length go to the ring, others to global memory.
  __device__ __forceinline__ void put(unsigned at, std::uint32_t entry, unsigned head) const {
    if (at - head <= mask) {
      queue[at & mask] = entry;
    } else {
      overflow[at] = entry;
    }
  }
  __device__ __forceinline__ std::uint32_t get(unsigned at, unsigned head_when_put) const {
    return at - head_when_put <= mask ? queue[at & mask] : overflow[at];
  }
};

// A queue entry is a site, with this bit where the site is special.
constexpr std::uint32_t kSpecialEntry = 1u << 31;

__device__ __forceinline__ std::uint32_t entry_of(const DeviceWolff& g, std::uint32_t site) {
  return site | (g.special[site / 32] >> site % 32 & 1u) << 31;
}

__device__ __forceinline__ std::uint64_t first_link(const DeviceWolff& g, std::uint32_t site,
                                                    std::uint64_t& end) {
  const std::uint32_t rank =
      g.special_before[site / 32] + __popc(g.special[site / 32] & ((1u << site % 32) - 1));
  end = g.offset[rank + 1];
  return g.offset[rank];
}

// The step of site numbers along direction `way / 2`.
template <int kDim>
__device__ __forceinline__ std::uint32_t stride_of(const DeviceWolff& g, unsigned way) {
  std::uint32_t stride = 1;
  if (kDim > 1 && way / 2 > 0) stride = g.lattice.extent0;
  if (kDim > 2 && way / 2 > 1) stride *= g.lattice.extent1;
  if (kDim > 3 && way / 2 > 2) stride *= g.lattice.extent2;
  return stride;
}

// A small frontier: one thread per site and way, for the least latency.
template <int kDim>
__device__ __forceinline__ void expand_small(const DeviceWolff& g, const DeviceWolffRun& run,
                                             const Cluster& c, unsigned head, unsigned end,
                                             unsigned head_before) {
  constexpr unsigned kWays = kDim == 0 ? 4 : 2 * kDim;
  const auto try_bond = [&](std::uint32_t site, std::uint32_t bond) {
    if (!c.unvisited(site)) return;
    const std::uint32_t entry = entry_of(g, site);  // on its way while the digits are made
    for (unsigned call = 0; call < 8; ++call) {
      const std::uint32_t digits = four_digits(run, bond, c.who, c.step, c.bit, call);
      const std::uint32_t limit = c.threshold >> (28 - 4 * call) & 15u;
      if (digits > limit) return;
      if (digits < limit) {
        if (c.claim(site)) c.put(atomicAdd(c.tail, 1u), entry, head);
        return;
      }
    }
  };
  for (unsigned item = head * kWays + threadIdx.x; item < end * kWays; item += blockDim.x) {
    const std::uint32_t entry = c.get(item / kWays, head_before);
    const std::uint32_t site = entry & ~kSpecialEntry;
    const unsigned way = item % kWays;
    if (kDim != 0 && entry < kSpecialEntry) {
      const std::uint32_t stride = stride_of<kDim>(g, way);
      const std::uint32_t neighbour = way % 2 == 0 ? site + stride : site - stride;
      const std::uint32_t owner = way % 2 == 0 ? site : neighbour;
      try_bond(neighbour, owner * static_cast<unsigned>(kDim) + way / 2);
    } else {
      std::uint64_t last;
      for (std::uint64_t k = first_link(g, site, last) + way; k < last; k += kWays) {
        const uint2 link = g.link[k];
        try_bond(link.x, link.y);
      }
    }
  }
}

// Candidates of one warp: (site, bond) pairs that ask for a draw, and those whose first four digits
// equal the threshold's and that wait for company.
struct WarpBuffer {
  std::uint32_t site[64], bond[64];
  std::uint32_t late_site[64], late_bond[64];
};

// A large frontier: a warp takes 32 sites, gathers their candidates and draws 32 at a time.
template <int kDim>
class WarpGrowth {
 public:
  __device__ WarpGrowth(const DeviceWolff& g, const DeviceWolffRun& run, const Cluster& c,
                        WarpBuffer& buffer, unsigned head)
      : g_(g), run_(run), c_(c), buffer_(buffer), head_(head), lane_(threadIdx.x % 32) {}

  __device__ __forceinline__ void expand(unsigned end, unsigned head_before) {
    for (unsigned first = head_ + threadIdx.x / 32 * 32; first < end; first += blockDim.x) {
      const bool live = first + lane_ < end;
      const std::uint32_t entry = live ? c_.get(first + lane_, head_before) : 0;
      const std::uint32_t site = entry & ~kSpecialEntry;
      const bool special = live && (kDim == 0 || entry >= kSpecialEntry);
      if constexpr (kDim > 0) {
        const bool regular = live && !special;
#pragma unroll
        for (unsigned way = 0; way < 2 * kDim; ++way) {
          const std::uint32_t stride = stride_of<kDim>(g_, way);
          const std::uint32_t neighbour = way % 2 == 0 ? site + stride : site - stride;
          const std::uint32_t owner = way % 2 == 0 ? site : neighbour;
          offer(regular && c_.unvisited(neighbour), neighbour,
                owner * static_cast<unsigned>(kDim) + way / 2);
        }
      }
      for (unsigned todo = __ballot_sync(~0u, special); todo != 0; todo &= todo - 1) {
        const std::uint32_t whose = __shfl_sync(~0u, site, __ffs(static_cast<int>(todo)) - 1);
        std::uint64_t last;
        for (std::uint64_t k = first_link(g_, whose, last); k < last; k += 32) {
          uint2 link = make_uint2(0, 0);
          if (k + lane_ < last) link = g_.link[k + lane_];
          offer(k + lane_ < last && c_.unvisited(link.x), link.x, link.y);
        }
      }
    }
    if (waiting_ > 0) draw(waiting_);
    if (late_ > 0) draw_late(late_);
  }

 private:
  __device__ __forceinline__ void offer(bool asks, std::uint32_t site, std::uint32_t bond) {
    const unsigned who = __ballot_sync(~0u, asks);
    if (asks) {
      const unsigned at = waiting_ + __popc(who & ((1u << lane_) - 1));
      buffer_.site[at] = site;
      buffer_.bond[at] = bond;
    }
    waiting_ += __popc(who);
    __syncwarp();
    if (waiting_ >= 32) draw(32);
  }

  __device__ __forceinline__ void draw(unsigned count) {
    waiting_ -= count;
    const bool mine = lane_ < count;
    const std::uint32_t site = mine ? buffer_.site[waiting_ + lane_] : 0;
    const std::uint32_t bond = mine ? buffer_.bond[waiting_ + lane_] : 0;
    __syncwarp();
    const std::uint32_t entry = mine ? entry_of(g_, site) : 0;
    const std::uint32_t digits = four_digits(run_, bond, c_.who, c_.step, c_.bit, 0);
    const std::uint32_t limit = c_.threshold >> 28;
    take(mine && digits < limit, site, entry);
    const bool open = mine && digits == limit;
    const unsigned who = __ballot_sync(~0u, open);
    if (open) {
      const unsigned at = late_ + __popc(who & ((1u << lane_) - 1));
      buffer_.late_site[at] = site;
      buffer_.late_bond[at] = bond;
    }
    late_ += __popc(who);
    __syncwarp();
    if (late_ >= 32) draw_late(32);
  }

  __device__ void draw_late(unsigned count) {
    late_ -= count;
    const bool mine = lane_ < count;
    const std::uint32_t site = mine ? buffer_.late_site[late_ + lane_] : 0;
    const std::uint32_t bond = mine ? buffer_.late_bond[late_ + lane_] : 0;
    __syncwarp();
    const std::uint32_t entry = mine ? entry_of(g_, site) : 0;
    bool open = mine, below = false;
    for (unsigned call = 1; call < 8 && __any_sync(~0u, open); ++call) {
      const std::uint32_t digits = four_digits(run_, bond, c_.who, c_.step, c_.bit, call);
      const std::uint32_t limit = c_.threshold >> (28 - 4 * call) & 15u;
      below = below || (open && digits < limit);
      open = open && digits == limit;
    }
    take(below, site, entry);
  }

  __device__ __forceinline__ void take(bool accepted, std::uint32_t site, std::uint32_t entry) {
    const bool claimed = accepted && c_.claim(site);
    const unsigned who = __ballot_sync(~0u, claimed);
    if (who == 0) return;
    unsigned base = 0;
    if (lane_ == 0) base = atomicAdd(c_.tail, static_cast<unsigned>(__popc(who)));
    base = __shfl_sync(~0u, base, 0);
    if (claimed) c_.put(base + __popc(who & ((1u << lane_) - 1)), entry, head_);
  }

  const DeviceWolff& g_;
  const DeviceWolffRun& run_;
  const Cluster& c_;
  WarpBuffer& buffer_;
  const unsigned head_;
  const unsigned lane_;
  unsigned waiting_ = 0, late_ = 0;
};

}  // namespace rewise::bundle::device
