// The tiles of a Swendsen-Wang update on the fast path: new spins of the update before, bonds,
// clusters (swendsen_wang_fused.hpp).
#include "src/cuda/launch.hpp"
#include "src/single/fused_tile.cuh"
#include "src/single/swendsen_wang_kernels.hpp"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kThreads = kFusedThreads;
constexpr unsigned kBlocks = 8;                            // per multiprocessor, at least
constexpr unsigned kPieces = kTileSites / (8 * kThreads);  // a thread's, of eight labels each

template <int kDim>
struct TileMemory {
  FusedTileMemory<kDim> tile;
  SettleMemory settle;
};

// A thread's labels of a tile: pieces of eight sites, kThreads apart.
__device__ __forceinline__ uint4 eight_labels(const FusedSystem& system, std::uint32_t tile,
                                              unsigned piece) {
  const auto* from = reinterpret_cast<const uint4*>(system.label) +
                     static_cast<std::size_t>(tile) * (kTileSites / 8);
  return from[kThreads * piece + threadIdx.x];
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

// The spins of a tile after an update's flips, as rows of bits.
template <int kDim>
__device__ __forceinline__ void load_rows(const FusedSystem& system, std::uint32_t tile,
                                          TileMemory<kDim>& memory) {
  auto* rows = reinterpret_cast<std::uint8_t*>(memory.tile.spins);
#pragma unroll
  for (unsigned n = 0; n < kPieces; ++n) {
    const uint2 eight = eight_spins(memory.settle.flips, eight_labels(system, tile, n));
    const std::uint32_t low = __dp4a(eight.x, 0x08040201u, 0u);
    rows[kThreads * n + threadIdx.x] = static_cast<std::uint8_t>(__dp4a(eight.y, 0x80402010u, low));
  }
}

// Settles the update before, by the whole block; memory.settle.flips is complete after the next
// barrier but the last.
__device__ __forceinline__ void settle_before(NodeSettler& settler, std::uint32_t count) {
  settler.run(count);
  __syncthreads();
  settler.finish();
}

template <int kDim, bool kFirst>
__device__ __forceinline__ void label_tile(const DevicePlan& plan, const FusedLabels& labels,
                                           const DeviceSystems& systems, std::uint32_t update,
                                           std::uint32_t who, std::uint32_t number,
                                           TileMemory<kDim>& memory) {
  const FusedSystem system(labels, who, update), before(labels, who, update + 1);
  FusedTile<kDim> tile(labels, number, memory.tile);
  tile.draw(systems.key(who), plan.bond[systems.temperature(who)]);
  wait_for_kernel_before();
  std::uint64_t spin = 0;
  NodeSettler settler(before, {systems.seed, who, systems.step - 1}, number * labels.capacity,
                      memory.settle);
  if constexpr (kFirst) {
    const TileWord& word = tile.word();
    spin = load_spins<true>(systems.system(who) + word.first, word.count);
    if (threadIdx.x < 32) memory.tile.spins[threadIdx.x] = spin;
    __syncthreads();
  } else {
    settle_before(settler, before.count[number]);
    load_rows<kDim>(before, number, memory);
    __syncthreads();
    spin = memory.tile.spins[threadIdx.x % 32];
  }
  tile.join(spin, plan, system);
  tile.settle(system, labels.common, systems.systems, update, who);
  if constexpr (!kFirst) {
    settler.add_up(labels.common, systems.systems, update - 1, who, number);
  }
}

template <int kDim, bool kFirst>
__global__ void __launch_bounds__(kThreads, kBlocks)
    label_tiles(const __grid_constant__ DevicePlan plan, const __grid_constant__ FusedLabels labels,
                const __grid_constant__ DeviceSystems systems, std::uint32_t update,
                FastDiv tiles_per_system) {
  __shared__ TileMemory<kDim> memory;
  let_next_kernel_begin();
  const std::uint32_t who = tiles_per_system.quotient(blockIdx.x);
  label_tile<kDim, kFirst>(plan, labels, systems, update, who,
                           blockIdx.x - who * tiles_per_system.divisor, memory);
}

template <int kDim>
__device__ __forceinline__ void flip_tile(const FusedLabels& labels, const DeviceSystems& systems,
                                          std::uint32_t update, std::uint32_t who,
                                          std::uint32_t tile, SettleMemory& memory) {
  const FusedSystem system(labels, who, update);
  const Tiles& tiles = labels.common.tiles;
  const TileWord word = tile_word<kDim>(tiles, labels.common.geometry, tile, threadIdx.x % 32);
  NodeSettler settler(system, systems.key(who), tile * labels.capacity, memory);
  wait_for_kernel_before();
  settle_before(settler, system.count[tile]);
  std::uint8_t* spins = systems.system(who);
#pragma unroll
  for (unsigned n = 0; n < kPieces; ++n) {
    const unsigned place = 8 * (kThreads * n + threadIdx.x);
    const auto row = static_cast<int>(place / kWordSites);
    const Site first = __shfl_sync(~0u, word.first, row);
    if (__shfl_sync(~0u, word.count, row) == 0) continue;
    *reinterpret_cast<uint2*>(spins + first + place % kWordSites) =
        eight_spins(memory.flips, eight_labels(system, tile, n));
  }
  settler.add_up(labels.common, systems.systems, update, who, tile);
}

template <int kDim>
__global__ void __launch_bounds__(kThreads)
    flip_tiles(const __grid_constant__ FusedLabels labels,
               const __grid_constant__ DeviceSystems systems, std::uint32_t update,
               FastDiv tiles_per_system) {
  __shared__ SettleMemory memory;
  const std::uint32_t who = tiles_per_system.quotient(blockIdx.x);
  flip_tile<kDim>(labels, systems, update, who, blockIdx.x - who * tiles_per_system.divisor,
                  memory);
}

LaunchShape shape_of(const FusedLabels& labels, const DeviceSystems& systems) {
  LaunchShape shape{labels.common.tiles.count * systems.systems, kThreads};
  shape.early = labels.early;
  return shape;
}

}  // namespace

void launch_fused_tiles(const DevicePlan& plan, const FusedLabels& labels,
                        const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream) {
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim >= 2) {
      launch(update == 0 ? label_tiles<kDim, true> : label_tiles<kDim, false>,
             shape_of(labels, systems), stream, plan, labels, systems, update,
             FastDiv(labels.common.tiles.count));
    }
  });
}

void launch_fused_flip(const DevicePlan& plan, const FusedLabels& labels,
                       const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream) {
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim >= 2) {
      launch(flip_tiles<kDim>, shape_of(labels, systems), stream, labels, systems, update,
             FastDiv(labels.common.tiles.count));
    }
  });
}

}  // namespace rewise::single
