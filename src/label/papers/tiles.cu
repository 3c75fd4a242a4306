// Labels within tiles (tiles.hpp), a block per tile in shared memory. `bfs` and `union-find` run on
// one thread, as in the paper; the other 31 threads of its warp help to load and store.
// `self-label` uses a thread for every four sites.
#include <algorithm>

#include "src/cuda/replica_items.cuh"
#include "src/label/papers/kernels.hpp"

namespace rewise::papers {
namespace {

// Shared memory of a tile's block.
struct TileSpace {
  std::uint32_t* label;  // [places] place of a site's root
  std::uint32_t* other;  // [places] queue, or the smallest place of a tree; not for self-label
  std::uint8_t* bonds;   // [places]
};

constexpr std::size_t shared_bytes(TileMethod method, std::uint32_t places) {
  return std::size_t{places} * (method == TileMethod::self_label ? 5 : 9);
}

__device__ __forceinline__ TileSpace tile_space(std::uint32_t* shared, TileMethod method,
                                                std::uint32_t places) {
  std::uint32_t* other = shared + places;
  std::uint32_t* end = method == TileMethod::self_label ? other : other + places;
  return {shared, other, reinterpret_cast<std::uint8_t*>(end)};
}

template <int kDim, TileMethod kMethod>
__device__ __forceinline__ void load_tile(const LabelArrays& field, const LabelTiles& tiles,
                                          const TileCorner& corner, std::uint32_t replica,
                                          const TileSpace& space) {
  const std::uint8_t* bonds = field.of(field.bonds, replica);
  for (std::uint32_t place = threadIdx.x; place < tiles.places; place += blockDim.x) {
    const TileSite at = tile_site<kDim>(tiles, field.geometry, corner, place);
    const std::uint32_t ahead = at.valid ? bonds[at.site] & at.inside : 0;
    space.bonds[place] = static_cast<std::uint8_t>(ahead);
    space.label[place] = kMethod == TileMethod::bfs          ? kUnlabelled
                         : kMethod == TileMethod::union_find ? kRoot + 1
                                                             : place;
    if (kMethod == TileMethod::union_find) space.other[place] = place;
  }
  __syncthreads();
}

// Finds the smallest place of every tree.
__device__ __forceinline__ void name_trees(const LabelTiles& tiles, const TileSpace& space) {
  for (std::uint32_t place = threadIdx.x; place < tiles.places; place += blockDim.x) {
    const std::uint32_t root = tile_root(space.label, place);
    if (place < root) atomicMin(space.other + root, place);
  }
  __syncthreads();
}

template <int kDim, TileMethod kMethod>
__device__ __forceinline__ void label_places(const LabelTiles& tiles, const TileSpace& space) {
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
__device__ __forceinline__ void store_tile(const LabelArrays& field, const LabelTiles& tiles,
                                           const TileCorner& corner, std::uint32_t replica,
                                           const TileSpace& space) {
  std::uint32_t* label = field.of(field.label, replica);
  std::uint32_t* parent = field.of(field.parent, replica);
  std::uint32_t* size = field.of(field.size, replica);
  for (std::uint32_t place = threadIdx.x; place < tiles.places; place += blockDim.x) {
    const TileSite at = tile_site<kDim>(tiles, field.geometry, corner, place);
    if (!at.valid) continue;
    const std::uint32_t root = kMethod == TileMethod::union_find
                                   ? space.other[tile_root(space.label, place)]
                                   : space.label[place];
    parent[at.site] = tile_site<kDim>(tiles, field.geometry, corner, root).site;
    label[at.site] = at.site;
    size[at.site] = root == place ? 1 : 0;
  }
}

template <int kDim, TileMethod kMethod>
__global__ void __launch_bounds__(1024)
    label_tiles(const __grid_constant__ LabelArrays field, const __grid_constant__ LabelTiles tiles,
                FastDiv tiles_per_replica) {
  extern __shared__ std::uint32_t shared[];
  const std::uint32_t replica = tiles_per_replica.quotient(blockIdx.x);
  const std::uint32_t tile = blockIdx.x - replica * tiles_per_replica.divisor;
  const TileSpace space = tile_space(shared, kMethod, tiles.places);
  const TileCorner corner = tile_corner<kDim>(tiles, tile);
  load_tile<kDim, kMethod>(field, tiles, corner, replica, space);
  label_places<kDim, kMethod>(tiles, space);
  store_tile<kDim, kMethod>(field, tiles, corner, replica, space);
}

__device__ __forceinline__ void start_site(const LabelArrays& field, const Item& item) {
  const auto site = static_cast<Site>(item.index);
  field.of(field.label, item.replica)[site] = site;
  field.of(field.parent, item.replica)[site] = site;
  field.of(field.size, item.replica)[site] = 1;
}

__global__ void start_sites(const __grid_constant__ LabelArrays field, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) start_site(field, item);
}

template <int kDim, TileMethod kMethod>
void launch_tiles(const LabelArrays& field, const LabelTiles& tiles, cudaStream_t stream) {
  const std::uint32_t quarter = (tiles.places / 4 + 31) / 32 * 32;
  const bool one_thread = kMethod != TileMethod::self_label;
  const unsigned threads = one_thread ? 32u : std::clamp(quarter, 32u, 1024u);
  launch(label_tiles<kDim, kMethod>,
         {tiles.count * field.replicas, threads, shared_bytes(kMethod, tiles.places)}, stream,
         field, tiles, FastDiv(tiles.count));
}

}  // namespace

void launch_tile_labels(const LabelArrays& field, const LabelTiles& tiles, TileMethod method,
                        cudaStream_t stream) {
  if (field.dim == 0) {
    const ReplicaItems items(field.sites, field.replicas);
    launch(start_sites, items, stream, field);
    return;
  }
  with_dim(field.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      switch (method) {
        case TileMethod::bfs:
          return launch_tiles<kDim, TileMethod::bfs>(field, tiles, stream);
        case TileMethod::union_find:
          return launch_tiles<kDim, TileMethod::union_find>(field, tiles, stream);
        case TileMethod::self_label:
          return launch_tiles<kDim, TileMethod::self_label>(field, tiles, stream);
      }
    }
  });
}

}  // namespace rewise::papers
