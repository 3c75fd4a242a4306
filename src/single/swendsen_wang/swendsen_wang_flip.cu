// Step 5 of a Swendsen-Wang update: sites follow their roots; sums over clusters.
#include "src/cuda/launch.hpp"
#include "src/single/swendsen_wang/flip_sites.cuh"
#include "src/single/swendsen_wang/labels.cuh"
#include "src/single/swendsen_wang/swendsen_wang_kernels.hpp"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kWarps = 8;  // per block

// The flips of a word's sites as if each were a root: right for closed clusters and for nodes that
// are roots; the other nodes take their root's. Sums over the roots.
template <int kDim>
__device__ __forceinline__ std::uint64_t root_flips(const SystemLabels& system,
                                                    const TileWord& word, std::uint64_t nodes,
                                                    std::uint64_t& square, WideSum& fourth) {
  if (word.count == 0) return 0;
  std::uint64_t flips = bits_from(system.flips, 1, word.first);
  for (; nodes != 0; nodes &= nodes - 1) {
    const unsigned x = lowest(nodes);
    const Site node = word.first + x;
    const Site root = system.parent[node];
    if (root == node) {
      const std::uint64_t n = system.size[node], n2 = n * n;
      square += n2;
      fourth += static_cast<WideSum>(n2) * n2;
    } else {
      const auto flip = static_cast<std::uint64_t>(bit_at(system.flips, root));
      flips = (flips & ~(std::uint64_t{1} << x)) | flip << x;
    }
  }
  return flips;
}

template <int kDim, bool kWide>
__global__ void __launch_bounds__(32 * kWarps)
    flip_tiles(const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ DeviceSystems systems, std::uint32_t update,
               FastDiv tiles_per_system) {
  __shared__ std::uint64_t flips[kWarps][kTileLanes];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::uint32_t index = blockIdx.x * kWarps + warp;
  const std::uint32_t who = tiles_per_system.quotient(index);
  if (who >= systems.systems) return;
  const std::uint32_t tile = index - who * tiles_per_system.divisor;
  const SystemLabels system(labels, who, systems.stride);
  const TileWord word = tile_word<kDim>(labels.tiles, labels.geometry, tile, lane);
  const std::uint64_t nodes = system.nodes[static_cast<std::size_t>(tile) * kTileLanes + lane];
  std::uint64_t square = 0;
  WideSum fourth = 0;
  flips[warp][lane] = root_flips<kDim>(system, word, nodes, square, fourth);
  __syncwarp();
  flip_sites<kWide>(system, word, reinterpret_cast<const std::uint32_t*>(flips[warp]),
                    systems.system(who));
  if (!__any_sync(~0u, square != 0)) return;
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (lane == 0) add_sums(labels, systems.systems, update, who, tile, square, fourth);
}

// A block closes a system's batch: eight threads for each of 32 updates at a time.
constexpr unsigned kCloseParts = 8, kCloseThreads = 32 * kCloseParts;

struct BatchSums {
  std::uint64_t size;
  WideSum quartic;
};

__device__ __forceinline__ BatchSums close_updates(const DeviceLabels& labels,
                                                   std::uint32_t systems, std::uint32_t updates,
                                                   std::uint32_t who) {
  const unsigned part = threadIdx.x % kCloseParts;
  BatchSums sums{0, 0};
  for (std::uint32_t begin = 0; begin < updates; begin += kCloseThreads / kCloseParts) {
    const std::uint32_t update = begin + threadIdx.x / kCloseParts;
    std::uint64_t square = 0;
    WideSum fourth = 0;
    if (update < updates) {
      const std::size_t row = static_cast<std::size_t>(update) * systems + who;
      for (std::uint32_t copy = part; copy < labels.copies; copy += kCloseParts) {
        unsigned long long* sum = labels.sums + (row * labels.copies + copy) * 3;
        square += sum[0];
        fourth += static_cast<WideSum>(sum[2]) << 64 | sum[1];
        sum[0] = sum[1] = sum[2] = 0;
      }
    }
    square = warp_sum<kCloseParts>(square);
    fourth = warp_sum<kCloseParts>(fourth);
    if (part == 0) {
      sums.size += square;
      sums.quartic += 3 * (static_cast<WideSum>(square) * square) - 2 * fourth;
    }
  }
  return {warp_sum(sums.size), warp_sum(sums.quartic)};
}

__device__ __forceinline__ void close_system(const DeviceLabels& labels,
                                             const DeviceSystems& systems, std::uint32_t updates,
                                             std::uint32_t who, unsigned long long* quartic,
                                             BatchSums* warps) {
  const BatchSums sums = close_updates(labels, systems.systems, updates, who);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sums;
  __syncthreads();
  if (threadIdx.x != 0) return;
  WideSum total = static_cast<WideSum>(quartic[2 * who + 1]) << 64 | quartic[2 * who];
  for (unsigned warp = 0; warp < kCloseThreads / 32; ++warp) {
    systems.pending[who] += warps[warp].size;
    total += warps[warp].quartic;
  }
  quartic[2 * who] = static_cast<unsigned long long>(total);
  quartic[2 * who + 1] = static_cast<unsigned long long>(total >> 64);
}

__global__ void __launch_bounds__(kCloseThreads)
    close_systems(const __grid_constant__ DeviceLabels labels,
                  const __grid_constant__ DeviceSystems systems, std::uint32_t updates,
                  unsigned long long* quartic) {
  __shared__ BatchSums warps[kCloseThreads / 32];
  close_system(labels, systems, updates, blockIdx.x, quartic, warps);
}

}  // namespace

void launch_flip(const DevicePlan& plan, const DeviceLabels& labels, const DeviceSystems& systems,
                 std::uint32_t update, cudaStream_t stream) {
  const std::uint32_t tiles = labels.tiles.count * systems.systems;
  const LaunchShape shape{(tiles + kWarps - 1) / kWarps, 32 * kWarps};
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    const bool wide = labels.tiles.length % 16 == 0;
    launch(wide ? flip_tiles<kDim, true> : flip_tiles<kDim, false>, shape, stream, labels, systems,
           update, FastDiv(labels.tiles.count));
  });
}

void launch_close(const DeviceLabels& labels, const DeviceSystems& systems, std::uint32_t updates,
                  unsigned long long* quartic, cudaStream_t stream) {
  launch(close_systems, {systems.systems, kCloseThreads}, stream, labels, systems, updates,
         quartic);
}

}  // namespace rewise::single
