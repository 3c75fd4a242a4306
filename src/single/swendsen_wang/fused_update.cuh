// The kernels of the fast Swendsen-Wang path that work on tiles (swendsen_wang_fused.hpp): new
// spins of the update before, bonds, clusters.
#pragma once

#include "src/single/launch_share.hpp"
#include "src/single/swendsen_wang/fused_tile.cuh"
#include "src/single/swendsen_wang/swendsen_wang_kernels.hpp"

namespace rewise::single::device {

// Warps of a block: eight where the tiles are too few to fill the device with four each.
inline constexpr unsigned kManyTiles = 1024;
inline constexpr unsigned kMostWarps = 32;  // per multiprocessor, that registers are to suffice for

template <int kDim, unsigned kWarps, class Model>
struct TileMemory {
  FusedTileMemory<kDim, Model> tile;
  SettleMemory<kWarps, Model> settle;
};

__device__ __forceinline__ uint4 eight_labels(const FusedSystem& system, std::uint32_t tile,
                                              unsigned piece) {
  const auto* from = reinterpret_cast<const uint4*>(system.label) +
                     static_cast<std::size_t>(tile) * (kTileSites / 8);
  return from[blockDim.x * piece + threadIdx.x];
}

// The new spins of two labels as bytes.
template <class Model>
__device__ __forceinline__ std::uint32_t two_spins(const typename Model::LabelDraws& draws,
                                                   std::uint32_t labels) {
  return Model::new_spin(draws, labels & 0xffffu) | Model::new_spin(draws, labels >> 16) << 8;
}
template <class Model>
__device__ __forceinline__ uint2 eight_spins(const typename Model::LabelDraws& draws,
                                             const uint4& labels) {
  return make_uint2(two_spins<Model>(draws, labels.x) | two_spins<Model>(draws, labels.y) << 16,
                    two_spins<Model>(draws, labels.z) | two_spins<Model>(draws, labels.w) << 16);
}

template <unsigned kWarps>
struct TileLabels {
  uint4 pieces[kPieces<kWarps>];

  __device__ __forceinline__ TileLabels(const FusedSystem& system, std::uint32_t tile) {
#pragma unroll
    for (unsigned n = 0; n < kPieces<kWarps>; ++n) pieces[n] = eight_labels(system, tile, n);
  }
};

// The spins of a tile after an update.
template <int kDim, unsigned kWarps, class Model>
__device__ __forceinline__ void take_spins(const TileLabels<kWarps>& labels, const TileWord& word,
                                           TileMemory<kDim, kWarps, Model>& memory,
                                           std::uint8_t* spins) {
#pragma unroll
  for (unsigned n = 0; n < kPieces<kWarps>; ++n) {
    Model::take(memory.tile.spins, word, 32 * kWarps * n + threadIdx.x,
                eight_spins<Model>(memory.settle.draws, labels.pieces[n]), spins);
  }
}

// Settles the update before, by the whole block; memory.settle.draws is complete after the next
// barrier but the last.
template <unsigned kWarps, class Model>
__device__ __forceinline__ void settle_before(NodeSettler<kWarps, Model>& settler,
                                              std::uint32_t count) {
  settler.run(count);
  __syncthreads();
  settler.finish();
}

template <int kDim, bool kFirst, unsigned kWarps, class Model>
__device__ __forceinline__ void label_tile(const Model& model, const DevicePlan& plan,
                                           const FusedLabels& labels, const DeviceSystems& systems,
                                           std::uint32_t update, std::uint32_t who,
                                           std::uint32_t number,
                                           TileMemory<kDim, kWarps, Model>& memory) {
  const FusedSystem system(labels, who, update), before(labels, who, update + 1);
  FusedTile<kDim, kWarps, Model> tile(labels, number, memory.tile);
  tile.draw(model, systems.key(who), plan.bond[systems.temperature(who)]);
  wait_for_kernel_before();
  NodeSettler<kWarps, Model> settler(model, before, {systems.seed, who, systems.step - 1},
                                     number * labels.capacity, memory.settle);
  if constexpr (kFirst) {
    Model::load(memory.tile.spins, tile.word(), systems.system(who));
  } else {
    const TileLabels<kWarps> sites(before, number);  // on their way while the nodes are settled
    settle_before(settler, before.count[number]);
    take_spins(sites, tile.word(), memory, systems.system(who));
  }
  __syncthreads();
  tile.join(plan, system);
  tile.settle(system, labels.common, systems.systems, update, who);
  if constexpr (!kFirst) {
    settler.add_up(labels.common, systems.systems, update - 1, who, number);
  }
}

template <int kDim, bool kFirst, unsigned kWarps, class Model>
__global__ void __launch_bounds__(32 * kWarps, kMostWarps / kWarps)
    label_tiles(const __grid_constant__ Model model, const __grid_constant__ DevicePlan plan,
                const __grid_constant__ FusedLabels labels,
                const __grid_constant__ DeviceSystems systems, std::uint32_t update,
                const __grid_constant__ SystemBlocks tiles) {
  __shared__ TileMemory<kDim, kWarps, Model> memory;
  let_next_kernel_begin();
  const auto [who, tile] = tiles.place(blockIdx.x);
  label_tile<kDim, kFirst>(model, plan, labels, systems, update, who, tile, memory);
}

template <int kDim, unsigned kWarps, class Model>
__device__ __forceinline__ void flip_tile(const Model& model, const FusedLabels& labels,
                                          const DeviceSystems& systems, std::uint32_t update,
                                          std::uint32_t who, std::uint32_t tile,
                                          SettleMemory<kWarps, Model>& memory) {
  const FusedSystem system(labels, who, update);
  const Tiles& tiles = labels.common.tiles;
  const TileWord word = tile_word<kDim>(tiles, labels.common.geometry, tile, threadIdx.x % 32);
  NodeSettler<kWarps, Model> settler(model, system, systems.key(who), tile * labels.capacity,
                                     memory);
  wait_for_kernel_before();
  settle_before(settler, system.count[tile]);
  std::uint8_t* spins = systems.system(who);
#pragma unroll
  for (unsigned n = 0; n < kPieces<kWarps>; ++n) {
    const unsigned place = 8 * (32 * kWarps * n + threadIdx.x);
    const auto row = static_cast<int>(place / kWordSites);
    const Site first = __shfl_sync(~0u, word.first, row);
    if (__shfl_sync(~0u, word.count, row) == 0) continue;
    *reinterpret_cast<uint2*>(spins + first + place % kWordSites) =
        eight_spins<Model>(memory.draws, eight_labels(system, tile, n));
  }
  settler.add_up(labels.common, systems.systems, update, who, tile);
}

template <int kDim, unsigned kWarps, class Model>
__global__ void __launch_bounds__(32 * kWarps)
    flip_tiles(const __grid_constant__ Model model, const __grid_constant__ FusedLabels labels,
               const __grid_constant__ DeviceSystems systems, std::uint32_t update,
               const __grid_constant__ SystemBlocks tiles) {
  __shared__ SettleMemory<kWarps, Model> memory;
  const auto [who, tile] = tiles.place(blockIdx.x);
  flip_tile<kDim, kWarps>(model, labels, systems, update, who, tile, memory);
}

// Launches kernel<kWarps>() for the tiles of the systems' share.
template <class Kernel, class... Arguments>
void launch_for_tiles(const FusedLabels& labels, const DeviceSystems& systems, cudaStream_t stream,
                      const Kernel& kernel, const Arguments&... arguments) {
  const std::uint32_t tiles = labels.common.tiles.count;
  const auto with = [&]<unsigned kWarps>() {
    LaunchShape shape{1, 32 * kWarps};
    shape.early = labels.early;
    launch_share(kernel.template operator()<kWarps>(), tiles, shape, systems, stream, arguments...);
  };
  if (tiles / systems.share.parts * systems.systems < kManyTiles) {
    with.template operator()<8>();
  } else {
    with.template operator()<4>();
  }
}

template <class Model>
void launch_label_tiles(const DevicePlan& plan, const FusedLabels& labels,
                        const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream) {
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim >= 2) {
      const auto kernel = [&]<unsigned kWarps>() {
        return update == 0 ? label_tiles<kDim, true, kWarps, Model>
                           : label_tiles<kDim, false, kWarps, Model>;
      };
      launch_for_tiles(labels, systems, stream, kernel, Model(plan), plan, labels, systems, update);
    }
  });
}

template <class Model>
void launch_flip_tiles(const DevicePlan& plan, const FusedLabels& labels,
                       const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream) {
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim >= 2) {
      const auto kernel = [&]<unsigned kWarps>() { return flip_tiles<kDim, kWarps, Model>; };
      launch_for_tiles(labels, systems, stream, kernel, Model(plan), labels, systems, update);
    }
  });
}

}  // namespace rewise::single::device
