// Growth of Wolff clusters on a CUDA device, shared by the methods that search breadth first
// (wolff_cuda.hpp): spins that threads claim by atomics, the bonds of a site spread over lanes, and
// a frontier that a block keeps in shared memory.
//
// A site joins the cluster when an atomic flips it, so "does not have the new spin" means "not in
// the cluster yet", and a site joins exactly once. Which thread claims it changes the order of the
// queue and nothing else.
#pragma once

#include <cstdint>
#include <cuda/atomic>

#include "graphs/geometry.hpp"
#include "src/bytespin/graph_view.hpp"

namespace rewise::bytespin::device {

// Lanes that share the bonds of a site.
template <int kDim>
constexpr unsigned kWays = kDim == 0 ? 8 : 2 * kDim;

template <cuda::thread_scope kScope>
__device__ __forceinline__ std::uint32_t peek(std::uint32_t& word) {
  return cuda::atomic_ref<std::uint32_t, kScope>(word).load(cuda::memory_order_relaxed);
}
// Reads a word in shared memory; with a generic address the compiler would emit slower
// instructions.
__device__ __forceinline__ std::uint32_t peek_shared(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];"
               : "=r"(value)
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(word)))
               : "memory");
  return value;
}

// Sets or clears a bit. Returns whether this thread changed it.
__device__ __forceinline__ bool claim_bit(std::uint32_t* word, std::uint32_t one, bool set) {
  return set ? (atomicOr(word, one) & one) == 0 : (atomicAnd(word, ~one) & one) != 0;
}

// A replica's spins in global memory, a byte each. A site counts as "up" unless it has the old
// state of the cluster. It is claimed by setting the new state. `change`: old state, new state
// << 8.
struct StateSpins {
  std::uint32_t* words = nullptr;  // [sites / 4], the spins' bytes
  std::uint32_t old = 0, state = 0;

  StateSpins() = default;
  __device__ __forceinline__ StateSpins(std::uint8_t* spins, std::uint32_t change)
      : words(reinterpret_cast<std::uint32_t*>(spins)), old(change & 0xffu), state(change >> 8) {}
  __device__ __forceinline__ static std::uint32_t change(const Words4& seed_words,
                                                         std::uint32_t old, std::uint32_t q) {
    return old | std::uint32_t{wolff_state(seed_words, old, q)} << 8;
  }
  __device__ __forceinline__ bool up(Site site) const {
    const std::uint32_t word = peek<cuda::thread_scope_device>(words[site >> 2]);
    return (word >> 8 * (site & 3u) & 0xffu) != old;
  }
  __device__ __forceinline__ bool claim(Site site, bool) const {
    const unsigned shift = 8 * (site & 3u);
    std::uint32_t* const word = words + (site >> 2);
    std::uint32_t now = peek<cuda::thread_scope_device>(*word);
    while ((now >> shift & 0xffu) == old) {
      const std::uint32_t seen = atomicCAS(word, now, now ^ (old ^ state) << shift);
      if (seen == now) return true;
      now = seen;
    }
    return false;
  }
};

// Spins packed to bits, in shared memory (block scope) or, for several blocks, in global memory.
template <cuda::thread_scope kScope>
struct BitSpins {
  std::uint32_t* words;  // [sites / 32]

  __device__ __forceinline__ bool up(Site site) const {
    std::uint32_t* const word = words + (site >> 5);
    const std::uint32_t bits =
        kScope == cuda::thread_scope_block ? peek_shared(word) : peek<kScope>(*word);
    return (bits >> (site & 31u) & 1u) != 0;
  }
  __device__ __forceinline__ bool claim(Site site, bool to) const {
    return claim_bit(words + (site >> 5), 1u << (site & 31u), to);
  }
};

// Lattice neighbours: `way` 2 k is a step forward in direction k, `way` 2 k + 1 a step back.
template <int kDim>
struct Ways {
  Site to[2 * kDim];

  __device__ __forceinline__ Ways(const Geometry& geometry, Site site) {
    std::uint32_t c[kDim];
    geometry.coordinates<kDim>(site, c);
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      to[2 * k] = geometry.forward(site, c[k], k);
      to[2 * k + 1] = geometry.backward(site, c[k], k);
    }
  }
  // Selects by comparison, because an array indexed at run time would be in memory.
  __device__ __forceinline__ Site operator[](unsigned way) const {
    Site site = to[0];
#pragma unroll
    for (unsigned k = 1; k < 2 * kDim; ++k) site = way == k ? to[k] : site;
    return site;
  }
};

// The draw index of a lattice bond from one end and its way.
template <int kDim>
__device__ __forceinline__ std::uint64_t way_draw_index(Site site, Site to, unsigned way) {
  return GraphView::draw_index_of<kDim>(way % 2 == 0 ? site : to, static_cast<int>(way / 2));
}

// One update of one replica; `up` is the new spin of the cluster, of StateSpins true.
struct Update {
  DrawKey key;
  Threshold bond;
  bool up;

  __device__ __forceinline__ bool drawn(std::uint64_t draw_index) const {
    return is_below(draw_at(key, Stream::bytespin_bond, draw_index), bond);
  }
};

// Sites that do not fit into shared memory: the replica's queue in global memory.
struct Queue {
  Site* sites;      // [sites of the lattice]; every site enters at most once
  unsigned* added;  // number appended behind `end` so far
  unsigned end;
};

// The shared memory of a block that grows a cluster.
inline constexpr unsigned kFrontier = 2048;
struct GrowthFrontier {
  Site sites[2][kFrontier];  // [2]: the current and the next level
};
struct GrowthCounts {
  unsigned claimed[3];  // at level k: claimed[k % 3], the next one zero
  unsigned base;
};

// The growth of a cluster by one block. All threads of the block call the public functions with
// equal arguments. Levels are numbered through all clusters. One barrier per level is enough: what
// a level reads is not written again until two levels later.
template <int kDim>
class BlockGrowth {
 public:
  __device__ BlockGrowth(const GraphView& graph, const Geometry& geometry, GrowthFrontier& frontier,
                         GrowthCounts& counts)
      : g_(graph), geometry_(geometry), frontier_(frontier), counts_(counts) {
    if (threadIdx.x < 3) counts_.claimed[threadIdx.x] = 0;
    __syncthreads();
  }

  // One level from any source of sites into the next frontier; returns how many sites joined. The
  // block visits sites `first`, `first + step`, ... of `n` ways (kWays per site).
  template <class Spins, class Count, class Source>
  __device__ __forceinline__ unsigned level(const Update& update, const Spins& spins, Queue queue,
                                            Count first, Count n, Count step, Source&& source) {
    if (threadIdx.x == 0) counts_.claimed[(level_ + 1) % 3] = 0;
    for (Count item = first + threadIdx.x; item < n; item += step) {
      visit(update, spins, queue, source(item / kWays<kDim>),
            static_cast<unsigned>(item % kWays<kDim>));
    }
    __syncthreads();
    return counts_.claimed[level_++ % 3];
  }

  // A level from the frontier of `n` <= kFrontier sites of the previous level.
  template <class Spins>
  __device__ __forceinline__ unsigned next_level(const Update& update, const Spins& spins,
                                                 Queue queue, unsigned n) {
    const Site* const sites = frontier();
    return level(update, spins, queue, 0u, n * kWays<kDim>, blockDim.x,
                 [sites](unsigned k) { return sites[k]; });
  }

  // The frontier that next_level() reads.
  __device__ __forceinline__ Site* frontier() { return frontier_.sites[level_ & 1u]; }

  // Appends the frontier of the previous level, of which `claimed` joined, to the replica's queue.
  __device__ __forceinline__ void flush(Queue queue, unsigned claimed) {
    const unsigned here = min(claimed, kFrontier);
    if (threadIdx.x == 0) counts_.base = queue.end + atomicAdd(queue.added, here);
    __syncthreads();
    const unsigned base = counts_.base;
    for (unsigned k = threadIdx.x; k < here; k += blockDim.x) queue.sites[base + k] = frontier()[k];
    __syncthreads();
  }

 private:
  // Visits bond `way` of a site and, if it has more, every kWays-th from there. Data of lattice
  // cells are loaded before the kind of the cell is known, so that loads and the draw overlap.
  template <class Spins>
  __device__ __forceinline__ void visit(const Update& update, const Spins& spins,
                                        const Queue& queue, Site site, unsigned way) {
    const SiteMasks* const masks = g_.site_masks + (site >> 5);
    const std::uint32_t bit = 1u << (site & 31u);
    const std::uint32_t modified = __ldg(&masks->modified);
    if constexpr (kDim > 0) {
      const Site to = Ways<kDim>(geometry_, site)[way];
      const bool same = spins.up(to) != update.up;
      const bool drawn = update.drawn(way_draw_index<kDim>(site, to, way));
      if ((modified & bit) == 0) {
        if (same && drawn && spins.claim(to, update.up)) put(queue, to);
        return;
      }
    }
    const std::uint32_t index = masks->index(bit);
    const std::uint64_t end = g_.offsets[index + 1];
    for (std::uint64_t k = g_.offsets[index] + way; k < end; k += kWays<kDim>) {
      const CellBond entry = g_.entries[k];
      try_bond(update, spins, queue, entry.to, entry.draw_index());
    }
  }

  template <class Spins>
  __device__ __forceinline__ void try_bond(const Update& update, const Spins& spins,
                                           const Queue& queue, Site to, std::uint64_t draw_index) {
    const bool same = spins.up(to) != update.up;
    if (same && update.drawn(draw_index) && spins.claim(to, update.up)) put(queue, to);
  }

  __device__ __forceinline__ void put(const Queue& queue, Site site) {
    const unsigned at = atomicAdd(&counts_.claimed[level_ % 3], 1u);
    if (at < kFrontier) {
      frontier_.sites[(level_ + 1) & 1u][at] = site;
    } else {
      queue.sites[queue.end + atomicAdd(queue.added, 1u)] = site;
    }
  }

  const GraphView& g_;
  const Geometry& geometry_;
  GrowthFrontier& frontier_;
  GrowthCounts& counts_;
  unsigned level_ = 0;
};

}  // namespace rewise::bytespin::device
