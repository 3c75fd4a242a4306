// Growth of a Wolff cluster by one block (wolff_persistent.cu) through candidates: bonds from the
// cluster to a site of the same spin outside, each with one draw to make.
//
// A thread takes a candidate, draws, claims the site and lists the candidates that the site leads
// to; so every lane draws for a bond that matters, and a level is one barrier. Candidates are kept
// in shared memory; where they find no room they are drawn at once, and the sites that join wait in
// a queue in global memory until there is room again. Order does not matter to the cluster.
#pragma once

#include "src/single/wolff/bond_draws.hpp"
#include "src/single/wolff/wolff_growth.cuh"

namespace rewise::single::device {

// A site and the slot of the bond that leads to it; slots of such systems fit 32 bits.
using Candidate = uint2;

// Modified sites whose bonds are still to be listed, by their place among the modified sites.
inline constexpr unsigned kModified = 512;
// Sites that refill() takes from the queue at a time.
inline constexpr unsigned kRefill = 128;

// What a block shares beside the candidates. Counters of turn t: entry t % 3, the next one zero.
struct CandidateShared {
  unsigned listed[3], queued[3], modified[3];
  std::uint32_t modified_site[2][kModified];
};

// A block at work on one system; public members are called by all threads. A turn is what lies
// between two barriers: it reads one half of the buffers and fills the other.
template <int kDim, class Spins>
class CandidateGrowth {
 public:
  __device__ CandidateGrowth(const DevicePlan& plan, const Geometry& geometry, Spins spins,
                             CandidateShared& shared, Candidate* buffer, unsigned capacity,
                             Site* queue)
      : g_(plan),
        geometry_(geometry),
        spins_(spins),
        shared_(shared),
        now_(buffer),
        next_(buffer + capacity),
        capacity_(capacity),
        queue_(queue) {
    if (threadIdx.x < 3) {
      shared.listed[threadIdx.x] = shared.queued[threadIdx.x] = shared.modified[threadIdx.x] = 0;
    }
    __syncthreads();
  }

  // For the clusters from now on; between two of them.
  __device__ __forceinline__ void set_spins(const Spins& spins) { spins_ = spins; }

  // Starts a cluster: flips the seed and lists where it leads.
  __device__ __forceinline__ void start(const BondDraws& draws, Site seed) {
    draws_ = draws;
    up_ = !spins_.up(seed);
    head_ = tail_ = 0;
    begin_turn();
    __syncthreads();  // all have read the seed's spin before it flips
    if (threadIdx.x == 0) {
      spins_.claim(seed, up_);
      ++flipped_;
      const SiteGroup& group = g_.groups[seed >> 5];
      list(seed, group.modified, group.before);
    }
    end_turn();
  }

  __device__ __forceinline__ bool complete() const {
    return count_ == 0 && modified_ == 0 && tail_ == head_;
  }
  __device__ __forceinline__ unsigned candidates() const { return count_; }
  __device__ __forceinline__ bool up() const { return up_; }
  // Sites that joined through this thread since it was asked before.
  __device__ __forceinline__ unsigned take_flipped() {
    const unsigned flipped = flipped_;
    flipped_ = 0;
    return flipped;
  }

  // The queue: sites that joined and whose bonds nobody has listed.
  __device__ __forceinline__ unsigned queue_begin() const { return head_; }
  __device__ __forceinline__ unsigned queue_end() const { return tail_; }
  __device__ __forceinline__ void set_queue(unsigned begin, unsigned end) {
    head_ = begin;
    tail_ = end;
  }
  __device__ __forceinline__ bool wants_refill() const {
    return tail_ != head_ && count_ + modified_ * kWays<kDim> < blockDim.x;
  }

  // Settles all candidates and lists where the new sites lead. Modified sites are passed on to the
  // next turn, where lanes share their bonds while others settle candidates.
  __device__ __forceinline__ void level() { turn(capacity_); }
  // The same, but the new sites go to the queue, modified ones and their neighbours, too.
  __device__ __forceinline__ void level_into_queue() { turn(0); }

  // Lists where some sites of the queue lead, keeping what is listed.
  __device__ __forceinline__ void refill() {
    begin_turn();
    const unsigned sites = min(tail_ - head_, kRefill);
    for (unsigned k = threadIdx.x; k < count_; k += blockDim.x) next_[k] = now_[k];
    for (unsigned k = threadIdx.x; k < modified_; k += blockDim.x) {
      shared_.modified_site[(half_ ^ 1u)][k] = shared_.modified_site[half_][k];
    }
    kept_ = count_;
    kept_modified_ = modified_;
    room_ = capacity_;
    for (unsigned k = threadIdx.x; k < sites; k += blockDim.x) {
      const Site site = queue_[head_ + k];
      const SiteGroup& group = g_.groups[site >> 5];
      list(site, group.modified, group.before);
    }
    head_ += sites;
    end_turn();
  }

 private:
  __device__ __forceinline__ void turn(unsigned room) {
    begin_turn();
    room_ = room;
    const unsigned first = (count_ + 31u) & ~31u, all = first + modified_ * kWays<kDim>;
    for (unsigned item = threadIdx.x; item < all; item += blockDim.x) {
      if (item >= first) {
        const unsigned place = item - first;
        list_modified(shared_.modified_site[half_][place / kWays<kDim>], place % kWays<kDim>);
      } else if (item < count_) {
        const Candidate candidate = now_[item];
        const SiteGroup* const group = g_.groups + (candidate.x >> 5);
        const std::uint32_t modified = __ldg(&group->modified), before = __ldg(&group->before);
        if (!settle(candidate)) continue;
        if (room_ > 0) {
          list(candidate.x, modified, before);
        } else {
          enqueue(candidate.x);
        }
      }
    }
    end_turn();
  }

  __device__ __forceinline__ void begin_turn() {
    const unsigned coming = phase_ == 2 ? 0 : phase_ + 1;
    if (threadIdx.x == 0) {
      shared_.listed[coming] = shared_.queued[coming] = shared_.modified[coming] = 0;
    }
    kept_ = kept_modified_ = 0;
    room_ = capacity_;
  }
  __device__ __forceinline__ void end_turn() {
    __syncthreads();
    count_ = min(room_, kept_ + shared_.listed[phase_]);
    modified_ = min(kModified, kept_modified_ + shared_.modified[phase_]);
    tail_ += shared_.queued[phase_];
    phase_ = phase_ == 2 ? 0 : phase_ + 1;
    half_ ^= 1u;
    Candidate* const other = now_;
    now_ = next_;
    next_ = other;
  }

  __device__ __forceinline__ bool outside(Site site) const { return spins_.up(site) != up_; }

  __device__ __forceinline__ bool settle(const Candidate& candidate) {
    const bool joins =
        outside(candidate.x) && draws_.drawn(candidate.y) && spins_.claim(candidate.x, up_);
    flipped_ += joins;
    return joins;
  }

  __device__ __forceinline__ void enqueue(Site site) {
    queue_[tail_ + atomicAdd(&shared_.queued[phase_], 1u)] = site;
  }

  // A candidate for place `at`, or settled at once where there is no such place.
  __device__ __forceinline__ void offer(const Candidate& candidate, unsigned at) {
    if (at < room_) {
      next_[at] = candidate;
    } else if (settle(candidate)) {
      enqueue(candidate.x);
    }
  }

  // Where a site leads; `modified` and `before` are its group's.
  __device__ __forceinline__ void list(Site site, std::uint32_t modified, std::uint32_t before) {
    const std::uint32_t bit = 1u << (site & 31u);
    if constexpr (kDim > 0) {
      if ((modified & bit) == 0) {
        list_cell(site);
        return;
      }
    }
    const unsigned at = kept_modified_ + atomicAdd(&shared_.modified[phase_], 1u);
    if (at < kModified) {
      shared_.modified_site[half_ ^ 1u][at] = before + __popc(modified & (bit - 1));
    } else {
      enqueue(site);
    }
  }

  __device__ __forceinline__ void list_cell(Site site) {
    const Ways<kDim> ways(geometry_, site);
    unsigned open = 0;
#pragma unroll
    for (unsigned way = 0; way < kWays<kDim>; ++way) {
      open |= (outside(ways.to[way]) ? 1u : 0u) << way;
    }
    unsigned at = kept_ + atomicAdd(&shared_.listed[phase_], static_cast<unsigned>(__popc(open)));
    if (at + kWays<kDim> <= room_) {
#pragma unroll
      for (unsigned way = 0; way < kWays<kDim>; ++way) {
        const Site to = ways.to[way];
        if ((open >> way & 1u) != 0) next_[at++] = make_uint2(to, slot(site, to, way));
      }
      return;
    }
#pragma unroll 1
    for (unsigned way = 0; way < kWays<kDim>; ++way) {
      const Site to = ways[way];
      if ((open >> way & 1u) != 0) offer(make_uint2(to, slot(site, to, way)), at++);
    }
  }

  // Bond `way` of a modified site, and every kWays-th from it on.
  __device__ __forceinline__ void list_modified(std::uint32_t index, unsigned way) {
    const std::uint64_t begin = __ldg(g_.offsets + index), end = __ldg(g_.offsets + index + 1);
    for (std::uint64_t k = begin + way; k < end; k += kWays<kDim>) {
      const Candidate candidate =
          make_uint2(__ldg(&g_.entries[k].to), __ldg(&g_.entries[k].slot_low));
      if (!outside(candidate.x)) continue;
      if (room_ > 0) {
        offer(candidate, kept_ + atomicAdd(&shared_.listed[phase_], 1u));
      } else if (settle(candidate)) {
        enqueue(candidate.x);
      }
    }
  }

  __device__ __forceinline__ static std::uint32_t slot(Site site, Site to, unsigned way) {
    const Site owner = way % 2 == 0 ? site : to;
    return ((owner >> 5) * static_cast<unsigned>(kDim) + way / 2) << 5 | (owner & 31u);
  }

  const DevicePlan& g_;
  const Geometry& geometry_;
  Spins spins_;
  CandidateShared& shared_;
  Candidate *now_, *next_;  // [capacity_] each
  const unsigned capacity_;
  Site* const queue_;  // [sites]; every site enters once at most
  BondDraws draws_;
  bool up_ = false;
  unsigned phase_ = 0, half_ = 0;          // of the counters; of modified_site
  unsigned count_ = 0, modified_ = 0;      // present candidates and modified sites
  unsigned kept_ = 0, kept_modified_ = 0;  // of them, at the start of the next half
  unsigned room_ = 0;                      // for candidates in the next half
  unsigned head_ = 0, tail_ = 0;           // of the queue
  unsigned flipped_ = 0;
};

}  // namespace rewise::single::device
