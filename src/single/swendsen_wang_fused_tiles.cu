// The tiles of a Swendsen-Wang update on the fast path: new spins of the update before, bonds,
// clusters (swendsen_wang_fused.hpp).
#include "src/cuda/launch.hpp"
#include "src/single/fused_tile.cuh"
#include "src/single/swendsen_wang_kernels.hpp"

namespace rewise::single {
namespace {

using namespace device;

// Warps of a block: eight where the tiles are too few to fill the device with four each.
constexpr unsigned kManyTiles = 1024;
constexpr unsigned kMostWarps = 32;  // per multiprocessor, that registers are to suffice for

template <int kDim, unsigned kWarps>
struct TileMemory {
  FusedTileMemory<kDim> tile;
  SettleMemory<kWarps> settle;
};

// A block goes over the labels of a tile by pieces of eight for each thread.
template <unsigned kWarps>
constexpr unsigned kPieces = kTileSites / (8 * 32 * kWarps);

__device__ __forceinline__ uint4 eight_labels(const FusedSystem& system, std::uint32_t tile,
                                              unsigned piece) {
  const auto* from = reinterpret_cast<const uint4*>(system.label) +
                     static_cast<std::size_t>(tile) * (kTileSites / 8);
  return from[blockDim.x * piece + threadIdx.x];
}

// The new spins of two labels as bytes.
__device__ __forceinline__ std::uint32_t two_spins(const std::uint32_t* flips,
                                                   std::uint32_t labels) {
  return new_spin(flips, labels & 0xffffu) | new_spin(flips, labels >> 16) << 8;
}
__device__ __forceinline__ uint2 eight_spins(const std::uint32_t* flips, const uint4& labels) {
  return make_uint2(two_spins(flips, labels.x) | two_spins(flips, labels.y) << 16,
                    two_spins(flips, labels.z) | two_spins(flips, labels.w) << 16);
}

template <unsigned kWarps>
struct TileLabels {
  uint4 pieces[kPieces<kWarps>];

  __device__ __forceinline__ TileLabels(const FusedSystem& system, std::uint32_t tile) {
#pragma unroll
    for (unsigned n = 0; n < kPieces<kWarps>; ++n) pieces[n] = eight_labels(system, tile, n);
  }
};

// The spins of a tile after an update's flips, as rows of bits.
template <int kDim, unsigned kWarps>
__device__ __forceinline__ void make_rows(const TileLabels<kWarps>& labels,
                                          TileMemory<kDim, kWarps>& memory) {
  auto* rows = reinterpret_cast<std::uint8_t*>(memory.tile.spins);
#pragma unroll
  for (unsigned n = 0; n < kPieces<kWarps>; ++n) {
    const uint2 eight = eight_spins(memory.settle.flips, labels.pieces[n]);
    const std::uint32_t low = __dp4a(eight.x, 0x08040201u, 0u);
    rows[32 * kWarps * n + threadIdx.x] =
        static_cast<std::uint8_t>(__dp4a(eight.y, 0x80402010u, low));
  }
}

// Settles the update before, by the whole block; memory.settle.flips is complete after the next
// barrier but the last.
template <unsigned kWarps>
__device__ __forceinline__ void settle_before(NodeSettler<kWarps>& settler, std::uint32_t count) {
  settler.run(count);
  __syncthreads();
  settler.finish();
}

template <int kDim, bool kFirst, unsigned kWarps>
__device__ __forceinline__ void label_tile(const DevicePlan& plan, const FusedLabels& labels,
                                           const DeviceSystems& systems, std::uint32_t update,
                                           std::uint32_t who, std::uint32_t number,
                                           TileMemory<kDim, kWarps>& memory) {
  const FusedSystem system(labels, who, update), before(labels, who, update + 1);
  FusedTile<kDim, kWarps> tile(labels, number, memory.tile);
  tile.draw(systems.key(who), plan.bond[systems.temperature(who)]);
  wait_for_kernel_before();
  std::uint64_t spin = 0;
  NodeSettler<kWarps> settler(before, {systems.seed, who, systems.step - 1},
                              number * labels.capacity, memory.settle);
  if constexpr (kFirst) {
    const TileWord& word = tile.word();
    spin = load_spins<true>(systems.system(who) + word.first, word.count);
    if (threadIdx.x < 32) memory.tile.spins[threadIdx.x] = spin;
    __syncthreads();
  } else {
    const TileLabels<kWarps> sites(before, number);  // on their way while the nodes are settled
    settle_before(settler, before.count[number]);
    make_rows(sites, memory);
    __syncthreads();
    spin = memory.tile.spins[threadIdx.x % 32];
  }
  tile.join(spin, plan, system);
  tile.settle(system, labels.common, systems.systems, update, who);
  if constexpr (!kFirst) {
    settler.add_up(labels.common, systems.systems, update - 1, who, number);
  }
}

template <int kDim, bool kFirst, unsigned kWarps>
__global__ void __launch_bounds__(32 * kWarps, kMostWarps / kWarps)
    label_tiles(const __grid_constant__ DevicePlan plan, const __grid_constant__ FusedLabels labels,
                const __grid_constant__ DeviceSystems systems, std::uint32_t update,
                FastDiv tiles_per_system) {
  __shared__ TileMemory<kDim, kWarps> memory;
  let_next_kernel_begin();
  const std::uint32_t who = tiles_per_system.quotient(blockIdx.x);
  label_tile<kDim, kFirst, kWarps>(plan, labels, systems, update, who,
                                   blockIdx.x - who * tiles_per_system.divisor, memory);
}

template <int kDim, unsigned kWarps>
__device__ __forceinline__ void flip_tile(const FusedLabels& labels, const DeviceSystems& systems,
                                          std::uint32_t update, std::uint32_t who,
                                          std::uint32_t tile, SettleMemory<kWarps>& memory) {
  const FusedSystem system(labels, who, update);
  const Tiles& tiles = labels.common.tiles;
  const TileWord word = tile_word<kDim>(tiles, labels.common.geometry, tile, threadIdx.x % 32);
  NodeSettler<kWarps> settler(system, systems.key(who), tile * labels.capacity, memory);
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
        eight_spins(memory.flips, eight_labels(system, tile, n));
  }
  settler.add_up(labels.common, systems.systems, update, who, tile);
}

template <int kDim, unsigned kWarps>
__global__ void __launch_bounds__(32 * kWarps)
    flip_tiles(const __grid_constant__ FusedLabels labels,
               const __grid_constant__ DeviceSystems systems, std::uint32_t update,
               FastDiv tiles_per_system) {
  __shared__ SettleMemory<kWarps> memory;
  const std::uint32_t who = tiles_per_system.quotient(blockIdx.x);
  flip_tile<kDim, kWarps>(labels, systems, update, who, blockIdx.x - who * tiles_per_system.divisor,
                          memory);
}

// Launches kernel<kWarps>() for all tiles of all systems.
template <class Kernel, class... Arguments>
void launch_tiles(const FusedLabels& labels, const DeviceSystems& systems, cudaStream_t stream,
                  const Kernel& kernel, const Arguments&... arguments) {
  const FastDiv tiles(labels.common.tiles.count);
  const auto with = [&]<unsigned kWarps>() {
    LaunchShape shape{tiles.divisor * systems.systems, 32 * kWarps};
    shape.early = labels.early;
    launch(kernel.template operator()<kWarps>(), shape, stream, arguments..., tiles);
  };
  if (tiles.divisor * systems.systems < kManyTiles) {
    with.template operator()<8>();
  } else {
    with.template operator()<4>();
  }
}

}  // namespace

void launch_fused_tiles(const DevicePlan& plan, const FusedLabels& labels,
                        const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream) {
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim >= 2) {
      const auto kernel = [&]<unsigned kWarps>() {
        return update == 0 ? label_tiles<kDim, true, kWarps> : label_tiles<kDim, false, kWarps>;
      };
      launch_tiles(labels, systems, stream, kernel, plan, labels, systems, update);
    }
  });
}

void launch_fused_flip(const DevicePlan& plan, const FusedLabels& labels,
                       const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream) {
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim >= 2) {
      const auto kernel = [&]<unsigned kWarps>() { return flip_tiles<kDim, kWarps>; };
      launch_tiles(labels, systems, stream, kernel, labels, systems, update);
    }
  });
}

}  // namespace rewise::single
