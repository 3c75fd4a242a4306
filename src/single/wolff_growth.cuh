// Growth of Wolff clusters on a CUDA device, shared by the methods that search breadth first
// (wolff_cuda.hpp): spins that threads claim by atomics, the bonds of a site spread over lanes, and
// a frontier that a block keeps in shared memory.
//
// A site joins the cluster when an atomic flips it, so "does not have the new spin" means "not in
// the cluster yet", and a site joins once whoever reaches it first. Which thread that is changes
// the order of the queue and nothing else.
#pragma once

#include <cstdint>
#include <cuda/atomic>

#include "src/single/device_plan.hpp"

namespace rewise::single::device {

// Lanes that share the bonds of a site.
template <int kDim>
constexpr unsigned kWays = kDim == 0 ? 8 : 2 * kDim;

template <cuda::thread_scope kScope>
__device__ __forceinline__ std::uint32_t peek(std::uint32_t& word) {
  return cuda::atomic_ref<std::uint32_t, kScope>(word).load(cuda::memory_order_relaxed);
}

// Sets or clears a bit; whether it was this thread that changed it.
__device__ __forceinline__ bool claim_bit(std::uint32_t* word, std::uint32_t one, bool set) {
  return set ? (atomicOr(word, one) & one) == 0 : (atomicAnd(word, ~one) & one) != 0;
}

// A system's spins as they lie in global memory, a byte each.
struct ByteSpins {
  std::uint32_t* words;  // [sites / 4], the spins' bytes

  __device__ __forceinline__ bool up(Site site) const {
    return (peek<cuda::thread_scope_device>(words[site >> 2]) >> 8 * (site & 3u) & 1u) != 0;
  }
  __device__ __forceinline__ bool claim(Site site, bool to) const {
    return claim_bit(words + (site >> 2), 1u << 8 * (site & 3u), to);
  }
};

// Spins packed to bits: in a block's shared memory, or in global memory for several blocks.
template <cuda::thread_scope kScope>
struct BitSpins {
  std::uint32_t* words;  // [sites / 32]

  __device__ __forceinline__ bool up(Site site) const {
    return (peek<kScope>(words[site >> 5]) >> (site & 31u) & 1u) != 0;
  }
  __device__ __forceinline__ bool claim(Site site, bool to) const {
    return claim_bit(words + (site >> 5), 1u << (site & 31u), to);
  }
};

// One update of one system; `up` is the spin that the cluster takes.
struct Update {
  DrawKey key;
  Threshold bond;
  bool up;

  __device__ __forceinline__ bool drawn(std::uint64_t slot) const {
    return happens(slot_draw(key, Stream::single_bond, slot), bond);
  }
};

__device__ __forceinline__ Site seed_of(const DrawKey& key, std::uint64_t sites) {
  return wolff_seed(random_words(key.seed, Stream::single_seed, 0, key.who, 0, key.step), sites);
}

// Sites that do not find room in shared memory: the system's queue in global memory.
struct Queue {
  Site* sites;      // [sites of the lattice]; every site enters once at most
  unsigned* added;  // put behind `end` so far
  unsigned end;
};

// What a block needs of shared memory to grow a cluster.
inline constexpr unsigned kFrontier = 2048;
struct GrowthShared {
  Site frontier[2][kFrontier];  // of the present and of the next level
  unsigned claimed[3];          // at level k: claimed[k % 3], the next one zero
  unsigned base;
};

// A block at work on one system. Members are called by all threads of the block with the same
// arguments, except visit(). The number of levels only ever grows, so that one barrier per level is
// enough: what a level reads is written again two levels later at the earliest.
template <int kDim>
class BlockGrowth {
 public:
  __device__ BlockGrowth(const DevicePlan& plan, GrowthShared& shared) : g_(plan), shared_(shared) {
    if (threadIdx.x < 3) shared.claimed[threadIdx.x] = 0;
    __syncthreads();
  }

  // One level from any source of sites into the next frontier; returns how many sites joined. The
  // block sees sites `first`, `first + step`, ... of `n` ways (kWays to a site).
  template <class Spins, class Count, class Source>
  __device__ __forceinline__ unsigned level(const Update& update, const Spins& spins, Queue queue,
                                            Count first, Count n, Count step, Source&& source) {
    if (threadIdx.x == 0) shared_.claimed[(turn_ + 1) % 3] = 0;
    for (Count item = first + threadIdx.x; item < n; item += step) {
      visit(update, spins, queue, source(item / kWays<kDim>),
            static_cast<unsigned>(item % kWays<kDim>));
    }
    __syncthreads();
    return shared_.claimed[turn_++ % 3];
  }

  // A level from the frontier of `n` <= kFrontier sites that the level before has left.
  template <class Spins>
  __device__ __forceinline__ unsigned next_level(const Update& update, const Spins& spins,
                                                 Queue queue, unsigned n) {
    const Site* const sites = frontier();
    return level(update, spins, queue, 0u, n * kWays<kDim>, blockDim.x,
                 [sites](unsigned k) { return sites[k]; });
  }

  // Where next_level() reads.
  __device__ __forceinline__ Site* frontier() { return shared_.frontier[turn_ & 1u]; }

  // Puts the frontier of the level before, of which `claimed` joined, behind the system's queue.
  __device__ __forceinline__ void flush(Queue queue, unsigned claimed) {
    const unsigned here = min(claimed, kFrontier);
    if (threadIdx.x == 0) shared_.base = queue.end + atomicAdd(queue.added, here);
    __syncthreads();
    const unsigned base = shared_.base;
    for (unsigned k = threadIdx.x; k < here; k += blockDim.x) queue.sites[base + k] = frontier()[k];
    __syncthreads();
  }

 private:
  // Bond `way` of a site, and every kWays-th from it on where the site has more. What a plain
  // lattice cell needs is fetched before it is known that the cell is one: the loads and the draw
  // run side by side.
  template <class Spins>
  __device__ __forceinline__ void visit(const Update& update, const Spins& spins,
                                        const Queue& queue, Site site, unsigned way) {
    const SiteGroup* const group = g_.groups + (site >> 5);
    const std::uint32_t bit = 1u << (site & 31u);
    const std::uint32_t modified = __ldg(&group->modified);
    if constexpr (kDim > 0) {
      const std::uint32_t edge = __ldg(&group->edge);
      const unsigned direction = way / 2;
      const std::uint32_t stride = stride_of(direction);
      const Site to = way % 2 == 0 ? site + stride : site - stride;
      const bool same = spins.up(to < g_.sites ? to : site) != update.up;
      const bool drawn = update.drawn(
          DevicePlan::slot_of<kDim>(way % 2 == 0 ? site : to, static_cast<int>(direction)));
      if (((modified | edge) & bit) == 0) {
        if (same && drawn && spins.claim(to, update.up)) put(queue, to);
        return;
      }
    }
    if (kDim > 0 && (modified & bit) == 0) {
      visit_edge(update, spins, queue, site, way);
    } else {
      const std::uint32_t index = group->index(bit);
      const std::uint64_t end = g_.offsets[index + 1];
      for (std::uint64_t k = g_.offsets[index] + way; k < end; k += kWays<kDim>) {
        const Entry entry = g_.entries[k];
        try_bond(update, spins, queue, entry.to, entry.slot());
      }
    }
  }

  // An unmodified cell at the periodic boundary.
  template <class Spins>
  __device__ __forceinline__ void visit_edge(const Update& update, const Spins& spins,
                                             const Queue& queue, Site site, unsigned way) {
    const auto direction = static_cast<int>(way / 2);
    if (way % 2 == 0) {
      try_bond(update, spins, queue, g_.lattice.forward(site, direction),
               DevicePlan::slot_of<kDim>(site, direction));
    } else {
      const Site back = g_.lattice.backward(site, direction);
      try_bond(update, spins, queue, back, DevicePlan::slot_of<kDim>(back, direction));
    }
  }

  template <class Spins>
  __device__ __forceinline__ void try_bond(const Update& update, const Spins& spins,
                                           const Queue& queue, Site to, std::uint64_t slot) {
    const bool same = spins.up(to) != update.up;
    if (same && update.drawn(slot) && spins.claim(to, update.up)) put(queue, to);
  }

  __device__ __forceinline__ void put(const Queue& queue, Site site) {
    const unsigned at = atomicAdd(&shared_.claimed[turn_ % 3], 1u);
    if (at < kFrontier) {
      shared_.frontier[(turn_ + 1) & 1u][at] = site;
    } else {
      queue.sites[queue.end + atomicAdd(queue.added, 1u)] = site;
    }
  }

  // Without an array that would be indexed at run time.
  __device__ __forceinline__ std::uint32_t stride_of(unsigned direction) const {
    std::uint32_t stride = 1;
    if (kDim > 1 && direction == 1) stride = g_.stride[1];
    if (kDim > 2 && direction == 2) stride = g_.stride[2];
    if (kDim > 3 && direction == 3) stride = g_.stride[3];
    return stride;
  }

  const DevicePlan& g_;
  GrowthShared& shared_;
  unsigned turn_ = 0;
};

}  // namespace rewise::single::device
