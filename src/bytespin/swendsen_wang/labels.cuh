// Device functions that the kernels for labels on tiles share (swendsen_wang_cuda.hpp): the work
// space of a replica; spins and modified cells as bits; sums; listing the nodes of a tile; the root
// of a site; flipping or replacing the sites of a tile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/bytespin/cells.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/cuda/bits.cuh"
#include "src/cuda/forest.cuh"
#include "src/cuda/launch.hpp"
#include "src/cuda/warp_sum.cuh"

namespace rewise::bytespin::device {

// One replica's part of DeviceLabels.
struct ReplicaLabels {
  std::uint32_t* drawn;
  std::uint16_t* place;
  std::uint32_t *parent, *size;
  std::uint64_t* nodes;

  __device__ __forceinline__ ReplicaLabels(const DeviceLabels& all, std::uint32_t replica,
                                           std::uint64_t stride)
      : drawn(all.drawn + replica * all.drawn_stride),
        place(all.place + replica * stride),
        parent(all.parent + replica * stride),
        size(all.size + replica * stride),
        nodes(all.nodes + static_cast<std::size_t>(replica) * all.tiles.count * kTileLanes) {}
};

// The position of a kernel's warp whose last parameter is the tiles, or other items for warps, of
// all replicas. `replica` may be past the end.
__device__ __forceinline__ ReplicaBlocks::Position warp_position(const ReplicaBlocks& items) {
  return items.position(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
}

// Launches a kernel with a warp for each of the items of every replica.
template <unsigned kWarps, class... Parameters, class... Arguments>
void launch_warps(void (*kernel)(Parameters...), std::uint64_t items, std::uint32_t replicas,
                  cudaStream_t stream, const Arguments&... arguments) {
  const ReplicaBlocks all(items, replicas);
  const LaunchShape shape{(all.count() + kWarps - 1) / kWarps, 32 * kWarps};
  launch(kernel, shape, stream, arguments..., all);
}

// The masks of drawn bonds of two blocks of 64 draws, which a warp draws together: each half of it
// makes the 16 calls of one block.
class DrawnBlocks {
 public:
  __device__ __forceinline__ DrawnBlocks(const DrawKey& key, std::uint64_t call, Threshold bond) {
    const auto last = static_cast<std::uint32_t>(bond - 1);  // a draw <= last opens the bond
    const Words4 x = key.words(Stream::bytespin_bond, call);
#pragma unroll
    for (unsigned w = 0; w < 4; ++w) {
      ballot_[w] = __ballot_sync(~0u, x.w[w] <= last) & (bond == 0 ? 0 : ~0u);
    }
  }
  // The mask of the first or the second block.
  __device__ __forceinline__ uint2 mask(bool second) const {
    const std::uint32_t half = second ? 0x7632 : 0x5410;
    return make_uint2(__byte_perm(ballot_[0], ballot_[1], half),
                      __byte_perm(ballot_[2], ballot_[3], half));
  }

 private:
  std::uint32_t ballot_[4];
};

// Adds to the sums of one update and replica: n^2, and n^4 in two words with carry.
__device__ __forceinline__ void add_sums(const TileArrays& all, std::uint32_t replicas,
                                         std::uint32_t update, std::uint32_t replica,
                                         std::uint32_t tile, std::uint64_t square, WideSum fourth) {
  const std::size_t row = static_cast<std::size_t>(update) * replicas + replica;
  unsigned long long* sum = all.sums + (row * all.copies + tile % all.copies) * 3;
  atomicAdd(sum, static_cast<unsigned long long>(square));
  atomic_add_wide(sum + 1, sum + 2, fourth);
}

// Adds the sums of the lanes of a warp.
__device__ __forceinline__ void add_warp_sums(const TileArrays& all, std::uint32_t replicas,
                                              std::uint32_t update, std::uint32_t replica,
                                              std::uint32_t tile, std::uint64_t square,
                                              WideSum fourth) {
  if (!__any_sync(~0u, square != 0)) return;
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (threadIdx.x % 32 == 0) add_sums(all, replicas, update, replica, tile, square, fourth);
}

// Packs sixteen bytes of 0 or 1 to bits.
__device__ __forceinline__ std::uint32_t pack(const uint4& v) {
  const std::uint32_t low = __dp4a(v.y, 0x80402010u, __dp4a(v.x, 0x08040201u, 0u));
  const std::uint32_t high = __dp4a(v.w, 0x80402010u, __dp4a(v.z, 0x08040201u, 0u));
  return high << 8 | low;
}

// The spins of a word as bits. kAligned: rows are multiples of 16 sites.
template <bool kAligned>
__device__ __forceinline__ std::uint64_t load_spins(const std::uint8_t* at, std::uint32_t count) {
  std::uint64_t bits = 0;
  if (kAligned) {
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) {
      if (16 * j < count) {
        const auto part = static_cast<std::uint64_t>(pack(reinterpret_cast<const uint4*>(at)[j]));
        bits |= part << 16 * j;
      }
    }
    return bits;
  }
  const auto skip = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(at) & 3u);
  const auto* word = reinterpret_cast<const std::uint32_t*>(at - skip);
  std::uint32_t next = count > 0 ? word[0] : 0;
#pragma unroll 4
  for (unsigned j = 0; j < 16 && 4 * j < count; ++j) {
    const std::uint32_t here = next;
    next = 4 * (j + 1) < count + skip ? word[j + 1] : 0;
    const std::uint32_t four = __funnelshift_r(here, next, 8 * skip);
    bits |= static_cast<std::uint64_t>(__dp4a(four, 0x08040201u, 0u)) << 4 * j;
  }
  return bits & low_bits(count);
}

__device__ __forceinline__ std::uint64_t modified_bits(const SiteMasks* site_masks, Site site) {
  const SiteMasks* masks = site_masks + (site >> 5);
  const std::uint32_t shift = site & 31u;
  std::uint32_t low = masks[0].modified, high = masks[1].modified;
  if (shift != 0) {
    low = __funnelshift_r(low, high, shift);
    high = __funnelshift_r(high, masks[2].modified, shift);
  }
  return static_cast<std::uint64_t>(high) << 32 | low;
}

// A warp lists the nodes together. Most nodes of a tile lie in its first and last rows, so if each
// lane visited its own row, all would wait for two of them.
__device__ __forceinline__ unsigned list_nodes(std::uint64_t nodes, std::uint16_t* out) {
  const unsigned lane = threadIdx.x % 32;
  const auto count = static_cast<unsigned>(__popcll(nodes));
  unsigned up_to = count;
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned before = __shfl_up_sync(~0u, up_to, step);
    if (lane >= step) up_to += before;
  }
  for (unsigned at = up_to - count; nodes != 0; nodes &= nodes - 1) {
    out[at++] = static_cast<std::uint16_t>(kWordSites * lane + lowest(nodes));
  }
  return __shfl_sync(~0u, up_to, 31);
}

// Calls f(there, node, place) on all lanes, for 32 nodes of the list at a time; `there` is false on
// lanes beyond its end. `first`: the first site of the lane's row.
template <class F>
__device__ __forceinline__ void for_each_node(const std::uint16_t* list, unsigned count, Site first,
                                              F&& f) {
  for (unsigned begin = 0; begin < count; begin += 32) {
    const unsigned k = begin + threadIdx.x % 32;
    const std::uint32_t place = list[k < count ? k : 0];
    const Site row = __shfl_sync(~0u, first, static_cast<int>(place / kWordSites));
    f(k < count, row + place % kWordSites, place);
  }
}

inline constexpr Site kNone = 0xFFFFFFFFu;

// Adds sizes to the words of roots, or of labels, by grow(root, size). Near and below Tc most of
// them belong to one large cluster, and additions to its word would be the bottleneck. Therefore
// each warp first sums the sizes for one root, the most frequent one in its first call.
template <class Grow>
class RootSums {
 public:
  __device__ __forceinline__ explicit RootSums(const Grow& grow) : grow_(grow) {}

  // Called by all lanes; a lane without a root passes kNone.
  __device__ __forceinline__ void add(Site root, std::uint32_t size) {
    const std::uint32_t peers = __match_any_sync(~0u, root);
    if (kept_ == kNone) choose(root, peers);
    const std::uint32_t total = __reduce_add_sync(peers, size);
    if (root == kept_) {
      sum_ += size;
    } else if (root != kNone && threadIdx.x % 32 == lowest(peers)) {
      grow_(root, total);
    }
  }
  __device__ __forceinline__ void close() {
    const std::uint32_t total = __reduce_add_sync(~0u, sum_);
    if (threadIdx.x % 32 == 0 && total > 0) grow_(kept_, total);
  }

 private:
  __device__ __forceinline__ void choose(Site root, std::uint32_t peers) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned votes = root == kNone ? 0 : static_cast<unsigned>(__popc(peers)) << 5 | lane;
    kept_ = __shfl_sync(~0u, root, static_cast<int>(__reduce_max_sync(~0u, votes) & 31u));
  }

  const Grow grow_;
  Site kept_ = kNone;  // the same on all lanes
  std::uint32_t sum_ = 0;
};

// The location of a cluster's root after tiles are labelled and joined.
struct SiteRoot {
  Site root;
  std::uint32_t tile, place;  // tile and place of the root in the site's tile
  bool open;                  // false: the cluster lies within the tile
};

// Open clusters of a tile have their root in the lattice's forest, closed ones in the tile.
template <int kDim>
__device__ __forceinline__ SiteRoot site_root(const DeviceLabels& labels,
                                              const ReplicaLabels& arrays, Site site) {
  const std::uint32_t place = arrays.place[site];
  const std::uint32_t tile = site_in_tile<kDim>(labels.tiles, labels.geometry, site).tile;
  const Site root = site_at<kDim>(labels.geometry, site, place);
  const std::uint64_t nodes = arrays.nodes[std::size_t{tile} * kTileLanes + place / kWordSites];
  const bool open = (nodes >> place % kWordSites & 1u) != 0;
  return {open ? ParentForest{arrays.parent}.find(root) : root, tile, place, open};
}

__device__ __forceinline__ std::uint32_t flip_of(const std::uint32_t* flips, std::uint32_t place) {
  return flips[place >> 5] >> (place & 31u) & 1u;
}

// Called by a warp whose lanes hold the words of a tile. Each lane calls f(site, left) for the
// first of two sites that it processes at a time; `left`: sites in the row from there on. kWide:
// rows are multiples of 16 sites; a lane processes eight sites of four rows at a time.
template <bool kWide, class F>
__device__ __forceinline__ void for_each_piece(const TileWord& word, F&& f) {
  constexpr unsigned kSites = kWide ? 8 : 2;
  constexpr unsigned kRows = 32 * kSites / kWordSites;
  const unsigned lane = threadIdx.x % 32;
  const unsigned x = kSites * (lane % (kWordSites / kSites));
#pragma unroll 4
  for (unsigned n = 0; n < kTileLanes; n += kRows) {
    const unsigned row = n + lane / (kWordSites / kSites);
    const std::uint32_t count = __shfl_sync(~0u, word.count, row);
    const Site first = __shfl_sync(~0u, word.first, row);
    if (x < count) f(first + x, count - x);
  }
}

// Sets every spin to take(place of its root, spin), as for_each_piece().
template <bool kWide, class Take>
__device__ __forceinline__ void renew_sites(const ReplicaLabels& arrays, const TileWord& word,
                                            std::uint8_t* spins, Take&& take) {
  for_each_piece<kWide>(word, [&](Site site, std::uint32_t left) {
    if constexpr (kWide) {
      const uint4 places = *reinterpret_cast<const uint4*>(arrays.place + site);
      auto* out = reinterpret_cast<uint2*>(spins + site);
      const uint2 old = *out;
      const auto two = [&](std::uint32_t pair, std::uint32_t before, unsigned shift) {
        return std::uint32_t{take(pair & 0xffffu, static_cast<std::uint8_t>(before >> shift))}
                   << shift |
               std::uint32_t{take(pair >> 16, static_cast<std::uint8_t>(before >> (shift + 8)))}
                   << (shift + 8);
      };
      *out = make_uint2(two(places.x, old.x, 0) | two(places.y, old.x, 16),
                        two(places.z, old.y, 0) | two(places.w, old.y, 16));
    } else {
      for (unsigned j = 0; j < 2 && j < left; ++j) {
        spins[site + j] = take(arrays.place[site + j], spins[site + j]);
      }
    }
  });
}

}  // namespace rewise::bytespin::device
