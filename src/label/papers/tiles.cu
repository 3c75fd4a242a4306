// Labels within tiles (tiles.hpp), a block per tile in shared memory. `bfs` and `union-find` run on
// one thread, as in the paper; the other 31 threads of its warp help to load and store.
// `self-label` uses a thread for every four sites.
#include <algorithm>

#include "src/cuda/replica_items.cuh"
#include "src/label/papers/kernels_cuda.hpp"

namespace rewise::papers {
namespace {

// Shared memory of a tile's block.
struct TileSpace {
  std::uint32_t* label;  // [sites] index of a site's root
  std::uint32_t* other;  // [sites] queue, or the smallest index of a tree; not for self-label
  std::uint8_t* bonds;   // [sites]
};

constexpr std::size_t shared_bytes(TileMethod method, std::uint32_t sites) {
  return std::size_t{sites} * (method == TileMethod::self_label ? 5 : 9);
}

__device__ __forceinline__ TileSpace tile_space(std::uint32_t* shared, TileMethod method,
                                                std::uint32_t sites) {
  std::uint32_t* other = shared + sites;
  std::uint32_t* end = method == TileMethod::self_label ? other : other + sites;
  return {shared, other, reinterpret_cast<std::uint8_t*>(end)};
}

template <int kDim, TileMethod kMethod>
__device__ __forceinline__ void load_tile(const LabelArrays& arrays, const LabelTiles& tiles,
                                          const TileCorner& corner, std::uint32_t replica,
                                          const TileSpace& space) {
  const std::uint8_t* bonds = arrays.of_replica(arrays.bonds, replica);
  for (std::uint32_t index = threadIdx.x; index < tiles.sites; index += blockDim.x) {
    const TileSite at = tile_site<kDim>(tiles, arrays.geometry, corner, index);
    const std::uint32_t ahead = at.valid ? bonds[at.site] & at.inside : 0;
    space.bonds[index] = static_cast<std::uint8_t>(ahead);
    space.label[index] = kMethod == TileMethod::bfs          ? kUnlabelled
                         : kMethod == TileMethod::union_find ? kRoot + 1
                                                             : index;
    if (kMethod == TileMethod::union_find) space.other[index] = index;
  }
  __syncthreads();
}

// Finds the smallest index of every tree.
__device__ __forceinline__ void name_trees(const LabelTiles& tiles, const TileSpace& space) {
  for (std::uint32_t index = threadIdx.x; index < tiles.sites; index += blockDim.x) {
    const std::uint32_t root = tile_root(space.label, index);
    if (index < root) atomicMin(space.other + root, index);
  }
  __syncthreads();
}

template <int kDim, TileMethod kMethod>
__device__ __forceinline__ void label_tile(const LabelTiles& tiles, const TileSpace& space) {
  if constexpr (kMethod == TileMethod::self_label) {
    bool changed = true;
    while (__syncthreads_or(changed)) {
      changed = relabel_tile<kDim>(tiles, space.bonds, space.label, threadIdx.x, blockDim.x);
    }
    return;
  }
  if (threadIdx.x == 0) {
    if constexpr (kMethod == TileMethod::bfs) {
      search_tile<kDim>(tiles, space.bonds, space.label, space.other);
    } else {
      unite_tile<kDim>(tiles, space.bonds, space.label);
    }
  }
  __syncthreads();
  if (kMethod == TileMethod::union_find) name_trees(tiles, space);
}

template <int kDim, TileMethod kMethod>
__device__ __forceinline__ void store_tile(const LabelArrays& arrays, const LabelTiles& tiles,
                                           const TileCorner& corner, std::uint32_t replica,
                                           const TileSpace& space) {
  std::uint32_t* label = arrays.of_replica(arrays.label, replica);
  std::uint32_t* parent = arrays.of_replica(arrays.parent, replica);
  std::uint32_t* size = arrays.of_replica(arrays.size, replica);
  for (std::uint32_t index = threadIdx.x; index < tiles.sites; index += blockDim.x) {
    const TileSite at = tile_site<kDim>(tiles, arrays.geometry, corner, index);
    if (!at.valid) continue;
    const std::uint32_t root = kMethod == TileMethod::union_find
                                   ? space.other[tile_root(space.label, index)]
                                   : space.label[index];
    parent[at.site] = tile_site<kDim>(tiles, arrays.geometry, corner, root).site;
    label[at.site] = at.site;
    size[at.site] = root == index ? 1 : 0;
  }
}

template <int kDim, TileMethod kMethod>
__global__ void __launch_bounds__(1024)
    label_tiles(const __grid_constant__ LabelArrays arrays,
                const __grid_constant__ LabelTiles tiles, FastDiv tiles_per_replica) {
  extern __shared__ std::uint32_t shared[];
  const std::uint32_t replica = tiles_per_replica.quotient(blockIdx.x);
  const std::uint32_t tile = blockIdx.x - replica * tiles_per_replica.divisor;
  const TileSpace space = tile_space(shared, kMethod, tiles.sites);
  const TileCorner corner = tile_corner<kDim>(tiles, tile);
  load_tile<kDim, kMethod>(arrays, tiles, corner, replica, space);
  label_tile<kDim, kMethod>(tiles, space);
  store_tile<kDim, kMethod>(arrays, tiles, corner, replica, space);
}

template <int kDim, TileMethod kMethod>
void launch_tiles(const LabelArrays& arrays, const LabelTiles& tiles, cudaStream_t stream) {
  const std::uint32_t quarter = (tiles.sites / 4 + 31) / 32 * 32;
  const bool one_thread = kMethod != TileMethod::self_label;
  const unsigned threads = one_thread ? 32u : std::clamp(quarter, 32u, 1024u);
  launch(label_tiles<kDim, kMethod>,
         {tiles.count * arrays.replicas, threads, shared_bytes(kMethod, tiles.sites)}, stream,
         arrays, tiles, FastDiv(tiles.count));
}

}  // namespace

void launch_tile_labels(const LabelArrays& arrays, const LabelTiles& tiles, TileMethod method,
                        cudaStream_t stream) {
  if (arrays.dim == 0) return launch_start(arrays, 1, true, stream);
  with_lattice_dim(arrays.dim, [&]<int kDim>() {
    switch (method) {
      case TileMethod::bfs:
        return launch_tiles<kDim, TileMethod::bfs>(arrays, tiles, stream);
      case TileMethod::union_find:
        return launch_tiles<kDim, TileMethod::union_find>(arrays, tiles, stream);
      case TileMethod::self_label:
        return launch_tiles<kDim, TileMethod::self_label>(arrays, tiles, stream);
    }
  });
}

}  // namespace rewise::papers
