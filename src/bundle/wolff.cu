#include <algorithm>
#include <bit>

#include "src/bundle/wolff_cuda.hpp"
#include "src/bundle/wolff_growth.cuh"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

template <int kDim, bool kShared>
__global__ void wolff_clusters(const __grid_constant__ DeviceWolff g,
                               const __grid_constant__ DeviceWolffRun run,
                               std::uint32_t queue_size) {
  extern __shared__ std::uint32_t shared[];
  __shared__ unsigned tail, replica_shared;
  __shared__ std::uint32_t seed_shared;
  WarpBuffer* buffers = reinterpret_cast<WarpBuffer*>(shared);
  std::uint32_t* queue = shared + blockDim.x / 32 * (sizeof(WarpBuffer) / 4);
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) replica_shared = atomicAdd(run.next, 1u);
    __syncthreads();
    const unsigned replica = replica_shared;
    if (replica >= run.replicas) return;
    std::uint32_t* home = run.planes + static_cast<std::size_t>(replica) * g.plane_words;
    std::uint32_t* plane = kShared ? queue + queue_size : home;
    if (kShared) {
      for (std::uint32_t w = threadIdx.x; w < g.plane_words; w += blockDim.x) plane[w] = home[w];
    }
    Cluster c{};
    c.plane = plane;
    c.queue = queue;
    c.overflow = run.overflow + static_cast<std::size_t>(blockIdx.x) * g.lattice.sites;
    c.mask = queue_size - 1;
    c.tail = &tail;
    c.who = replica / kReplicas;
    c.bit = replica % kReplicas;
    c.threshold = run.threshold[c.who];
    unsigned long long flipped = 0;
    for (std::uint32_t update = 0; update < run.updates; ++update) {
      c.step = run.step + update;
      if (threadIdx.x == 0) {
        seed_shared = wolff_seed_site({run.seed, c.who, c.step}, c.bit, g.lattice.sites);
      }
      __syncthreads();
      const std::uint32_t seed = seed_shared;
      c.up = false;
      c.up = c.unvisited(seed) ? false : true;
      __syncthreads();
      if (threadIdx.x == 0) {
        c.claim(seed);
        tail = 1;
        c.put(0, entry_of(g, seed), 0);
      }
      unsigned head = 0, head_before = 0;
      while (true) {
        __syncthreads();
        const unsigned end = tail;
        __syncthreads();
        if (head == end) break;
        if (end - head < blockDim.x) {
          expand_small<kDim>(g, run, c, head, end, head_before);
        } else {
          WarpGrowth<kDim> growth(g, run, c, buffers[threadIdx.x / 32], head);
          growth.expand(end, head_before);
        }
        head_before = head;
        head = end;
      }
      flipped += head;
    }
    if (threadIdx.x == 0) run.flipped[replica] += flipped;
    if (kShared) {
      for (std::uint32_t w = threadIdx.x; w < g.plane_words; w += blockDim.x) home[w] = plane[w];
    }
  }
}

using Kernel = void (*)(DeviceWolff, DeviceWolffRun, std::uint32_t);

template <bool kShared>
Kernel kernel_of(int dim) {
  switch (dim) {
    case 0:
      return wolff_clusters<0, kShared>;
    case 1:
      return wolff_clusters<1, kShared>;
    case 2:
      return wolff_clusters<2, kShared>;
    case 3:
      return wolff_clusters<3, kShared>;
    default:
      return wolff_clusters<4, kShared>;
  }
}

Kernel kernel_for(int dim, bool shared) {
  return shared ? kernel_of<true>(dim) : kernel_of<false>(dim);
}

}  // namespace

WolffLaunch plan_wolff(std::uint32_t plane_words, std::uint32_t replicas) {
  int device = 0, multiprocessors = 0, most = 0, per_multiprocessor = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  check_cuda(cudaDeviceGetAttribute(&per_multiprocessor,
                                    cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  const std::size_t room = static_cast<std::size_t>(most) - 1024;
  const std::size_t plane_bytes = std::size_t{plane_words} * 4;
  // Small planes share a multiprocessor, large ones take it whole.
  const auto buffers = [](unsigned threads) { return threads / 32 * sizeof(WarpBuffer); };
  WolffLaunch plan;
  plan.plane_shared = plane_bytes + buffers(1024) + 4 * 1024 * 4 <= room;
  const std::size_t plane_part = plan.plane_shared ? plane_bytes : 0;
  plan.threads = !plan.plane_shared    ? 512
                 : plane_part <= 10240 ? 128
                 : plane_part <= 36864 ? 256
                 : plane_part <= 81920 ? 512
                                       : 1024;
  const std::size_t share = std::min<std::size_t>(
      room, static_cast<std::size_t>(per_multiprocessor) * plan.threads / 2048 - 1024);
  const std::size_t most_room = plan.threads == 1024 ? room : share;
  const std::size_t fixed = plane_part + buffers(plan.threads);
  const std::size_t left = most_room > fixed + 4096 ? most_room - fixed : 4096;
  plan.queue = static_cast<std::uint32_t>(
      std::bit_floor(std::min<std::size_t>(left / 4, std::bit_ceil(plane_words * std::size_t{8}))));
  plan.shared_bytes = plan.queue * std::size_t{4} + fixed;
  const auto fit = static_cast<unsigned>(static_cast<std::size_t>(per_multiprocessor) /
                                         (plan.shared_bytes + 1024));
  const unsigned per = std::min(fit, 2048 / plan.threads);
  plan.blocks = std::min(static_cast<unsigned>(multiprocessors) * std::max(per, 1u), replicas);
  return plan;
}

void launch_wolff(const DeviceWolff& g, const DeviceWolffRun& run, const WolffLaunch& plan,
                  cudaStream_t stream) {
  const Kernel kernel = kernel_for(g.lattice.dim, plan.plane_shared);
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(plan.shared_bytes)));
  kernel<<<plan.blocks, plan.threads, plan.shared_bytes, stream>>>(g, run, plan.queue);
  check_cuda(cudaGetLastError(), "launching Wolff clusters");
}

}  // namespace rewise::bundle
