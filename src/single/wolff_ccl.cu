// Wolff's cluster by labelling: all bonds are drawn, sets that a bond joins are united, and the
// sites whose set is the seed's flip (DESIGN's method `ccl`).
//
// Union-find over sites in global memory: a site's parent is never larger than itself, a root is
// hooked below a smaller one by compare-and-swap, and finds halve the paths they walk (Jaiganesh &
// Burtscher 2018). Three kernels per update over all sites of all systems, whatever the cluster's
// size; no wait.
#include <cuda/atomic>

#include "src/cuda/device_buffer.hpp"
#include "src/cuda/launch.hpp"
#include "src/single/wolff_cuda.hpp"
#include "src/single/wolff_growth.cuh"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kThreads = 256;

struct LabelRun {
  DevicePlan plan;
  DeviceSystems systems;
  Site* parents;    // [systems][sites]
  unsigned blocks;  // per system
};

// Which sites a thread takes, and of which system.
struct Share {
  std::uint32_t who;
  std::uint64_t first, step;

  __device__ explicit Share(const LabelRun& run)
      : who(blockIdx.x / run.blocks),
        first(std::uint64_t{blockIdx.x % run.blocks} * blockDim.x + threadIdx.x),
        step(std::uint64_t{run.blocks} * blockDim.x) {}
};

__device__ __forceinline__ Site parent_of(Site* parents, Site site) {
  return peek<cuda::thread_scope_device>(parents[site]);
}

// The root as far as it can be seen; every second site on the way is hung below its grandparent.
__device__ __forceinline__ Site find(Site* parents, Site site) {
  Site parent = parent_of(parents, site);
  while (parent != site) {
    const Site above = parent_of(parents, parent);
    if (above != parent) atomicMin(parents + site, above);
    site = parent;
    parent = above;
  }
  return site;
}

__device__ __forceinline__ void unite(Site* parents, Site a, Site b) {
  a = find(parents, a);
  b = find(parents, b);
  while (a != b) {
    if (a < b) {
      const Site low = a;
      a = b;
      b = low;
    }
    const Site seen = atomicCAS(parents + a, a, b);
    if (seen == a) return;
    a = find(parents, seen);
    b = find(parents, b);
  }
}

__global__ void alone(const __grid_constant__ LabelRun run) {
  const Share share(run);
  Site* const parents = run.parents + share.who * run.plan.sites;
  for (std::uint64_t k = share.first; k < run.plan.sites; k += share.step) {
    parents[k] = static_cast<Site>(k);
  }
}

// Every bond is seen from both ends and taken from the smaller one.
template <int kDim>
__global__ void join(const __grid_constant__ LabelRun run, std::uint32_t ahead) {
  const Share share(run);
  Site* const parents = run.parents + share.who * run.plan.sites;
  const std::uint8_t* const spins = run.systems.system(share.who);
  const Update update{run.systems.key(share.who, ahead),
                      run.plan.bond[run.systems.temperature(share.who)], false};
  for (std::uint64_t k = share.first; k < run.plan.sites; k += share.step) {
    const auto site = static_cast<Site>(k);
    const std::uint8_t spin = spins[site];
    run.plan.for_each_neighbour<kDim>(site, [&](Site to, std::uint64_t slot) {
      if (site < to && spins[to] == spin && update.drawn(slot)) unite(parents, site, to);
    });
  }
}

__global__ void flip_one(const __grid_constant__ LabelRun run, std::uint32_t ahead) {
  const Share share(run);
  Site* const parents = run.parents + share.who * run.plan.sites;
  std::uint8_t* const spins = run.systems.system(share.who);
  __shared__ Site root;
  __shared__ unsigned flipped;
  if (threadIdx.x == 0) {
    root = find(parents, seed_of(run.systems.key(share.who, ahead), run.plan.sites));
    flipped = 0;
  }
  __syncthreads();
  unsigned mine = 0;
  for (std::uint64_t k = share.first; k < run.plan.sites; k += share.step) {
    if (find(parents, static_cast<Site>(k)) != root) continue;
    spins[k] ^= 1u;
    ++mine;
  }
  if (mine > 0) atomicAdd(&flipped, mine);
  __syncthreads();
  if (threadIdx.x == 0 && flipped > 0) {
    atomicAdd(run.systems.pending + share.who, static_cast<unsigned long long>(flipped));
  }
}

using Kernel = void (*)(LabelRun, std::uint32_t);

class Ccl final : public WolffCuda {
 public:
  Ccl(const DevicePlan& plan, std::uint32_t systems)
      : parents_(plan.sites * systems),
        join_(with_dim(plan.lattice.dim, [&]<int kDim>() -> Kernel { return join<kDim>; })) {
    run_.plan = plan;
    run_.parents = parents_.data();
    // As many blocks as sites ask for, within what a grid may have.
    const std::uint64_t most = (1u << 30) / systems;
    run_.blocks = static_cast<unsigned>(
        std::clamp<std::uint64_t>((plan.sites + kThreads - 1) / kThreads, 1, most));
  }

  void run(const DeviceSystems& systems, std::uint32_t updates, cudaStream_t stream) override {
    run_.systems = systems;
    const LaunchShape shape{systems.systems * run_.blocks, kThreads};
    for (std::uint32_t ahead = 0; ahead < updates; ++ahead) {
      launch(alone, shape, stream, run_);
      launch(join_, shape, stream, run_, ahead);
      launch(flip_one, shape, stream, run_, ahead);
    }
  }

 private:
  DeviceBuffer<Site> parents_;
  Kernel join_;
  LabelRun run_{};
};

}  // namespace

std::unique_ptr<WolffCuda> make_wolff_ccl(const DevicePlan& plan, std::uint32_t systems) {
  return std::make_unique<Ccl>(plan, systems);
}

}  // namespace rewise::single
