// Step 3 of a Swendsen-Wang update: joining what tiles left apart.
#include "src/cuda/forest.cuh"
#include "src/cuda/launch.hpp"
#include "src/single/swendsen_wang/labels.cuh"
#include "src/single/swendsen_wang/seams.hpp"
#include "src/single/swendsen_wang/swendsen_wang_kernels.hpp"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kThreads = 256;

struct Pair {
  bool joined = false;
  Site a = 0, b = 0;
};

template <int kDim>
__device__ __forceinline__ void join_bond(const DevicePlan& plan, const DeviceLabels& labels,
                                          const Seams& seams, const DeviceSystems& systems,
                                          std::uint32_t who, std::uint64_t index) {
  const SystemLabels system(labels, who, systems.stride);
  Pair pair;
  if (index >= seams.first[kDim]) {
    const std::uint64_t i = index - seams.first[kDim];
    if (i < plan.rewired_count && labels.rewired_on[who * plan.rewired_count + i] != 0) {
      pair = {true, plan.rewired[i].a, plan.rewired[i].b};
    }
  } else {
    if constexpr (kDim > 0) {
      const SeamBond bond = seam_bond<kDim>(labels.geometry, seams, plan.sites, index);
      const std::uint8_t* spins = systems.system(who);
      pair = {bond.exists &&
                  bit_at(system.drawn, DevicePlan::slot_of<kDim>(bond.a, bond.direction)) &&
                  spins[bond.a] == spins[bond.b],
              bond.a, bond.b};
    }
  }
  std::uint32_t a = 0, b = 0;
  if (pair.joined) {
    a = site_at<kDim>(labels.geometry, pair.a, system.place[pair.a]);
    b = site_at<kDim>(labels.geometry, pair.b, system.place[pair.b]);
  }
  // The bond to the left often joins the same two clusters.
  const bool left_joined = __shfl_up_sync(~0u, pair.joined, 1);
  const std::uint32_t left_a = __shfl_up_sync(~0u, a, 1), left_b = __shfl_up_sync(~0u, b, 1);
  const bool known = threadIdx.x % 32 != 0 && left_joined && left_a == a && left_b == b;
  if (pair.joined && !known) ParentForest{system.parent}.unite(a, b);
}

template <int kDim>
__global__ void __launch_bounds__(kThreads)
    join_bonds(const __grid_constant__ DevicePlan plan, const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ Seams seams, const __grid_constant__ DeviceSystems systems,
               FastDiv blocks_per_system) {
  const std::uint32_t who = blocks_per_system.quotient(blockIdx.x);
  const std::uint64_t block = blockIdx.x - who * blocks_per_system.divisor;
  join_bond<kDim>(plan, labels, seams, systems, who, block * kThreads + threadIdx.x);
}

}  // namespace

void launch_join(const DevicePlan& plan, const DeviceLabels& labels, const DeviceSystems& systems,
                 cudaStream_t stream) {
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    const Seams seams = Seams::make<kDim>(plan, labels.tiles, labels.geometry);
    const auto blocks =
        static_cast<std::uint32_t>((seams.first[kDim + 1] + kThreads - 1) / kThreads);
    if (blocks == 0) return;
    launch(join_bonds<kDim>, {blocks * systems.systems, kThreads}, stream, plan, labels, seams,
           systems, FastDiv(blocks));
  });
}

}  // namespace rewise::single
