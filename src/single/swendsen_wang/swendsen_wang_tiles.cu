// Step 2 of a Swendsen-Wang update: the clusters of every tile (tile_labeller.cuh).
#include "src/cuda/launch.hpp"
#include "src/single/swendsen_wang/swendsen_wang_kernels.hpp"
#include "src/single/swendsen_wang/tile_labeller.cuh"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kWarps = 4;  // per block

template <int kDim, bool kAligned>
__global__ void __launch_bounds__(32 * kWarps)
    label_tiles(const __grid_constant__ DevicePlan plan,
                const __grid_constant__ DeviceLabels labels,
                const __grid_constant__ DeviceSystems systems, std::uint32_t update,
                FastDiv tiles_per_system) {
  alignas(16) __shared__ std::uint32_t forests[kWarps][kTileSites];
  const std::uint32_t index = blockIdx.x * kWarps + threadIdx.x / 32;
  const std::uint32_t who = tiles_per_system.quotient(index);
  if (who >= systems.systems) return;
  const std::uint32_t tile = index - who * tiles_per_system.divisor;
  const SystemLabels system(labels, who, systems.stride);
  TileLabeller<kDim> labeller(plan, labels, system, tile, forests[threadIdx.x / 32]);
  labeller.template join<kAligned>(systems.system(who));
  labeller.settle();
  std::uint64_t square = 0, fourth = 0;
  labeller.hand_out(square, fourth);
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (threadIdx.x % 32 == 0 && square != 0) {
    add_sums(labels, systems.systems, update, who, tile, square, fourth);
  }
}

}  // namespace

void launch_label_tiles(const DevicePlan& plan, const DeviceLabels& labels,
                        const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream) {
  const std::uint32_t tiles = labels.tiles.count * systems.systems;
  const LaunchShape shape{(tiles + kWarps - 1) / kWarps, 32 * kWarps};
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    const bool aligned = labels.tiles.length % 16 == 0;
    launch(aligned ? label_tiles<kDim, true> : label_tiles<kDim, false>, shape, stream, plan,
           labels, systems, update, FastDiv(labels.tiles.count));
  });
}

}  // namespace rewise::single
