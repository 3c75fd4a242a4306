// Step 2 of a Swendsen-Wang update: the clusters of every tile (swendsen_wang_label.cuh).
#include "src/bundle/swendsen_wang/swendsen_wang_label.cuh"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

constexpr unsigned kWarps = 2;  // per block, of neighbouring replicas

template <int kDim>
__global__ void __launch_bounds__(32 * kWarps)
    label_tiles(const __grid_constant__ DeviceLabelTiles g,
                const __grid_constant__ DeviceLabelRun run) {
  alignas(16) __shared__ std::uint32_t forests[kWarps][kLabelSites];
  __shared__ std::uint32_t queues[kWarps][kLabelQueue];
  const unsigned warp = threadIdx.x / 32;
  const LabelItem<kDim> item(g, run, blockIdx.x / (32 / kWarps));
  TileLabeller<kDim> labeller(g, run, item, blockIdx.x % (32 / kWarps) * kWarps + warp,
                              forests[warp], queues[warp]);
  labeller.join();
  labeller.settle();
  labeller.hand_out();
  if (run.weight != nullptr) labeller.weigh();
}

}  // namespace

void launch_label_tiles(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream) {
  with_label_dim(g.lattice.dim, [&]<int kDim>() {
    launch(label_tiles<kDim>, LaunchShape{run.bundles * g.count * (32 / kWarps), 32 * kWarps},
           stream, g, run);
  });
}

}  // namespace rewise::bundle
