#include <algorithm>
#include <bit>

#include "src/bundle/wolff/wolff_cuda.hpp"
#include "src/bundle/wolff/wolff_growth.cuh"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

// Updates [begin, end) of one replica, by a block. Returns the first that is not done.
template <int kDim, bool kShared>
__device__ __forceinline__ unsigned run_updates(const DeviceWolff& g, const DeviceWolffRun& run,
                                                const Replica& r, Shared& shared, uint2* buffer,
                                                std::uint32_t capacity, unsigned begin,
                                                unsigned end) {
  Grower<kDim, kShared> grower(g, run, r, shared, buffer, capacity);
  unsigned update = begin;
  if (threadIdx.x >= 32) {
    grower.help();
  } else {
    const std::uint32_t first = *run.first_step + run.step;
    std::uint32_t seed = 0;
    for (bool alive = true; update < end; ++update) {
      const unsigned lane = threadIdx.x % 32, ahead = (update - begin) % 32;
      if (ahead == 0) {  // seeds of 32 updates at once
        seed =
            wolff_seed_site({r.graph.seed, r.who, first + update + lane}, r.bit, g.lattice.sites);
      }
      alive = grower.update(first + update, __shfl_sync(~0u, seed, static_cast<int>(ahead)));
      if (!alive) break;
    }
    if (threadIdx.x == 0) poke(shared.done, 1);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(&shared.flipped, 1ull * grower.flipped());
  return update;
}

// Takes back a cluster that outgrew the limit.
__device__ void take_back(const DeviceWolffRun& run, const Replica& r, Shared& shared) {
  // Chunks that nobody took.
  for (std::uint32_t c = shared.head; c != shared.tail; ++c) {
    const std::size_t slot = c & (run.pool_chunks - 1);
    if (threadIdx.x < kChunk) r.pool[slot * kChunk + threadIdx.x] = make_uint2(~0u, ~0u);
  }
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < shared.claimed; k += blockDim.x) {
    const std::uint32_t site = r.trail[k];
    atomicXor(r.plane + site / 32, 1u << site % 32);
  }
  if (threadIdx.x == 0) shared.flipped -= shared.claimed;
  __syncthreads();
}

// Waits until other blocks have done the earlier parts of the replica's updates.
__device__ __forceinline__ void await(unsigned& done, unsigned parts) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> word(done);
  while (word.load(cuda::memory_order_acquire) < parts) __nanosleep(500);
}

// 28 warps leave each thread the 72 registers that it needs.
constexpr unsigned kMostThreads = 896;

template <int kDim, bool kShared>
__global__ void __launch_bounds__(kMostThreads)
    wolff_clusters(const __grid_constant__ DeviceWolff g,
                   const __grid_constant__ DeviceWolffRun run,
                   const __grid_constant__ WolffLaunch plan) {
  extern __shared__ uint4 dynamic[];
  __shared__ Shared shared;
  const std::uint32_t warp_words = plan.buffer + kSpecials / 2;
  uint2* const buffers = reinterpret_cast<uint2*>(dynamic);
  uint2* const buffer = buffers + std::size_t{threadIdx.x / 32} * warp_words;
  std::uint32_t* const own =
      reinterpret_cast<std::uint32_t*>(buffers + std::size_t{blockDim.x / 32} * warp_words);
  const unsigned length = (run.updates + plan.parts - 1) / plan.parts;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) {
      shared.item = atomicAdd(run.progress, 1u);
      shared.head = shared.tail = shared.given = shared.idle = shared.claimed = 0;
      shared.over = shared.done = 0;
      shared.flipped = 0;
    }
    __syncthreads();
    const unsigned replica = shared.item % run.replicas, part = shared.item / run.replicas;
    if (part >= plan.parts) return;
    if (threadIdx.x == 0 && part > 0) await(run.progress[1 + replica], part);
    __syncthreads();
    const unsigned stop = min(run.updates, (part + 1) * length);
    const unsigned place = run.stopped != nullptr ? run.stopped[replica] : part * length;
    const unsigned start = max(part * length, place);
    // Where start lies in a later part, or the replica stopped in an earlier one.
    const bool idle = start >= stop || place < part * length;
    if (!idle) {
      std::uint32_t* home = run.planes + static_cast<std::size_t>(replica) * g.plane_words;
      if (kShared) {
        for (std::uint32_t w = threadIdx.x; w < g.plane_words; w += blockDim.x) own[w] = home[w];
      }
      const unsigned bundles = run.replicas_per_graph / kReplicas;
      const Replica r{
          kShared ? own : home,
          replica / kReplicas % bundles,
          replica % kReplicas,
          run.threshold[replica / kReplicas],
          run.graphs[replica / run.replicas_per_graph],
          run.pool + std::size_t{blockIdx.x} * run.pool_chunks * kChunk,
          run.limit > 0 ? run.trail + blockIdx.x * plan.trail_length(run.limit) : nullptr};
      __syncthreads();
      const unsigned reached =
          run_updates<kDim, kShared>(g, run, r, shared, buffer, plan.buffer, start, stop);
      __syncthreads();
      if (shared.over != 0) take_back(run, r, shared);
      if (threadIdx.x == 0) {
        run.flipped[replica] += shared.flipped;
        if (run.stopped != nullptr) run.stopped[replica] = reached;
      }
      if (kShared) {
        for (std::uint32_t w = threadIdx.x; w < g.plane_words; w += blockDim.x) home[w] = own[w];
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> done(run.progress[1 + replica]);
      done.store(part + 1, cuda::memory_order_release);
    }
  }
}

using Kernel = void (*)(DeviceWolff, DeviceWolffRun, WolffLaunch);

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

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

}  // namespace

WolffLaunch plan_wolff(int dim, std::uint32_t plane_words, std::uint32_t replicas,
                       std::uint64_t bonds) {
  const auto multiprocessors = static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount));
  const auto room =
      static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) - 1024;
  const auto room_of_all =
      static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  WolffLaunch plan;
  plan.buffer = 160 + 64 * static_cast<std::uint32_t>(dim);
  const std::size_t per_warp = std::size_t{plan.buffer} * 8 + kSpecials * 4;
  const std::size_t plane_bytes = std::size_t{plane_words} * 4;
  plan.plane_shared = plane_bytes + 8 * per_warp <= room;
  // Small planes share a multiprocessor, large ones take it whole.
  plan.threads = !plan.plane_shared     ? 256
                 : plane_bytes <= 4096  ? 32
                 : plane_bytes <= 10240 ? 64
                 : plane_bytes <= 20480 ? 128
                 : plane_bytes <= 36864 ? 256
                 : plane_bytes <= 81920 ? 512
                                        : kMostThreads;
  const std::size_t plane_part = plan.plane_shared ? plane_bytes : 0;
  while (plane_part + plan.threads / 32 * per_warp > room) plan.threads /= 2;
  plan.shared_bytes = plane_part + plan.threads / 32 * per_warp;
  const auto fit = static_cast<unsigned>(room_of_all / (plan.shared_bytes + 1024));
  const unsigned per = std::clamp(std::min(fit, 2048 / plan.threads), 1u, 32u);
  plan.blocks = std::min(multiprocessors * per, replicas);
  // Parts so that blocks end at about the same time.
  plan.parts = plan.blocks == replicas ? 1 : std::clamp(64 * plan.blocks / replicas, 1u, 8u);
  plan.pool_chunks = std::bit_ceil(static_cast<std::uint32_t>(bonds / kChunk) + 64);
  return plan;
}

void launch_wolff(const DeviceWolff& g, const DeviceWolffRun& run, const WolffLaunch& plan,
                  cudaStream_t stream) {
  const Kernel kernel = kernel_for(g.lattice.dim, plan.plane_shared);
  // Only ever raised: captured launches of a larger plan may still be replayed.
  cudaFuncAttributes now{};
  check_cuda(cudaFuncGetAttributes(&now, kernel));
  const auto wanted = static_cast<int>(plan.shared_bytes);
  if (now.maxDynamicSharedSizeBytes < wanted) {
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, wanted));
  }
  WolffLaunch part = plan;
  part.parts = std::clamp(run.updates / 8, 1u, plan.parts);
  kernel<<<plan.blocks, plan.threads, plan.shared_bytes, stream>>>(g, run, part);
  check_cuda(cudaGetLastError(), "launching Wolff clusters");
}

}  // namespace rewise::bundle
