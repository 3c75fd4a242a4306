#include <algorithm>
#include <bit>

#include "src/bundle/local.cuh"
#include "src/bundle/wolff_cuda.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

constexpr unsigned kTileThreads = 1024;

__device__ __forceinline__ std::uint32_t slot_of(const DeviceLattice& g, std::uint32_t site) {
  if (g.dim == 0) return g.colour_base[0] + site;
  const std::uint32_t row = site / (2 * g.half_row);
  const unsigned colour = (g.row_parity[row] + site) & 1u;  // rows have even length
  return (colour != 0 ? g.colour_base[1] : g.colour_base[0]) + site / 2;
}

// Transposes the 32 x 32 bits that a warp holds, one word per lane.
__device__ __forceinline__ std::uint32_t transpose(std::uint32_t x) {
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t mask = 0x0000FFFFu;
#pragma unroll
  for (unsigned j = 16; j != 0; j >>= 1) {
    const std::uint32_t y = __shfl_xor_sync(~0u, x, j);
    x = (lane & j) == 0 ? (x & mask) | (y & mask) << j : (x & ~mask) | (y & ~mask) >> j;
    mask ^= mask << (j >> 1);
  }
  return x;
}

// A block handles 32 tiles of 32 sites of one bundle, so that both sides move whole lines.
template <bool kToPlanes>
__global__ void __launch_bounds__(kTileThreads) turn(const __grid_constant__ DeviceWolff g, int vec,
                                                     std::uint32_t* spins, std::uint32_t* planes) {
  __shared__ std::uint32_t tile[32][33];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t bundle = blockIdx.y;
  const std::uint32_t first = blockIdx.x * 32;  // plane word
  const std::uint32_t site = (first + warp) * 32 + lane;
  const bool real = site < g.lattice.sites;
  std::uint32_t* word = nullptr;
  if (real) {
    const auto v = static_cast<std::uint32_t>(vec);
    word = spins +
           (static_cast<std::size_t>(bundle / v) * g.lattice.words + slot_of(g.lattice, site)) * v +
           bundle % v;
  }
  std::uint32_t* plane =
      planes + (static_cast<std::size_t>(bundle) * kReplicas + warp) * g.plane_words + first + lane;
  const bool inside = first + lane < g.plane_words;
  if (kToPlanes) {
    tile[lane][warp] = transpose(real ? *word : 0u);
    __syncthreads();
    if (inside) *plane = tile[warp][lane];
  } else {
    tile[warp][lane] = inside ? *plane : 0u;
    __syncthreads();
    const std::uint32_t x = transpose(tile[lane][warp]);
    if (real) *word = x;
  }
}

// One replica's draw for one bond (rules.hpp).
__device__ __forceinline__ bool drawn(const DeviceWolffRun& run, std::uint32_t bond,
                                      std::uint32_t who, std::uint32_t step, unsigned bit,
                                      std::uint32_t t) {
#pragma unroll 1
  for (unsigned call = 0; call < 8; ++call) {
    const Words4 words = philox4x32(
        bond, lane_word(who, call), step, static_cast<std::uint32_t>(Stream::bond),
        static_cast<std::uint32_t>(run.seed), static_cast<std::uint32_t>(run.seed >> 32));
    std::uint32_t fraction = 0;
#pragma unroll
    for (unsigned w = 0; w < 4; ++w) fraction = fraction << 1 | (words.w[w] >> bit & 1u);
    const std::uint32_t limit = t >> (28 - 4 * call) & 15u;
    if (fraction != limit) return fraction < limit;
  }
  return false;
}

struct Cluster {
  std::uint32_t* plane;     // [plane_words]
  std::uint32_t* queue;     // [mask + 1] in shared memory
  std::uint32_t* overflow;  // [sites] in global memory
  std::uint32_t mask;
  unsigned* tail;  // in shared memory
  bool up;

  // Flips the site unless it is already; whether it was this thread that did.
  __device__ __forceinline__ bool claim(std::uint32_t site) const {
    const std::uint32_t bit = 1u << site % 32;
    return up ? (atomicAnd(plane + site / 32, ~bit) & bit) != 0
              : (atomicOr(plane + site / 32, bit) & bit) == 0;
  }
  __device__ __forceinline__ bool unvisited(std::uint32_t site) const {
    return (*static_cast<volatile std::uint32_t*>(plane + site / 32) >> site % 32 & 1u) ==
           (up ? 1u : 0u);
  }
  // Entries up to head + queue length go to the ring, others to global memory.
  __device__ __forceinline__ void push(std::uint32_t site, unsigned head) const {
    const unsigned at = atomicAdd(tail, 1u);
    if (at - head <= mask) {
      queue[at & mask] = site;
    } else {
      overflow[at] = site;
    }
  }
  __device__ __forceinline__ std::uint32_t get(unsigned at, unsigned head_when_pushed) const {
    return at - head_when_pushed <= mask ? queue[at & mask] : overflow[at];
  }
};

template <int kDim, bool kShared>
__global__ void wolff_clusters(const __grid_constant__ DeviceWolff g,
                               const __grid_constant__ DeviceWolffRun run,
                               std::uint32_t queue_size) {
  extern __shared__ std::uint32_t shared[];
  __shared__ unsigned tail, replica_shared;
  __shared__ std::uint32_t seed_shared;
  constexpr unsigned kWays = kDim == 0 ? 4 : 2 * kDim;
  std::uint32_t* queue = shared;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) replica_shared = atomicAdd(run.next, 1u);
    __syncthreads();
    const unsigned replica = replica_shared;
    if (replica >= run.replicas) return;
    std::uint32_t* home = run.planes + static_cast<std::size_t>(replica) * g.plane_words;
    std::uint32_t* plane = kShared ? shared + queue_size : home;
    if (kShared) {
      for (std::uint32_t w = threadIdx.x; w < g.plane_words; w += blockDim.x) plane[w] = home[w];
    }
    const std::uint32_t who = replica / kReplicas;
    const unsigned bit = replica % kReplicas;
    const std::uint32_t threshold = run.threshold[who];
    unsigned long long flipped = 0;
    for (std::uint32_t update = 0; update < run.updates; ++update) {
      const std::uint32_t step = run.step + update;
      if (threadIdx.x == 0) {
        seed_shared = wolff_seed_site({run.seed, who, step}, bit, g.lattice.sites);
        tail = 0;
      }
      __syncthreads();
      const std::uint32_t seed = seed_shared;
      Cluster cluster{
          plane,
          queue,
          run.overflow + static_cast<std::size_t>(blockIdx.x) * g.lattice.sites,
          queue_size - 1,
          &tail,
          (*static_cast<volatile std::uint32_t*>(plane + seed / 32) >> seed % 32 & 1u) != 0};
      __syncthreads();
      if (threadIdx.x == 0) {
        cluster.claim(seed);
        cluster.push(seed, 0);
      }
      unsigned head = 0, head_before = 0;
      while (true) {
        __syncthreads();
        const unsigned end = tail;
        __syncthreads();
        if (head == end) break;
        for (unsigned item = head * kWays + threadIdx.x; item < end * kWays; item += blockDim.x) {
          const std::uint32_t site = cluster.get(item / kWays, head_before);
          const unsigned way = item % kWays;
          const std::uint32_t word = g.special[site / 32];
          if (kDim != 0 && (word >> site % 32 & 1u) == 0) {
            std::uint32_t stride = 1;
            if (kDim > 1 && way / 2 > 0) stride = g.lattice.extent0;
            if (kDim > 2 && way / 2 > 1) stride *= g.lattice.extent1;
            if (kDim > 3 && way / 2 > 2) stride *= g.lattice.extent2;
            const std::uint32_t neighbour = way % 2 == 0 ? site + stride : site - stride;
            const std::uint32_t owner = way % 2 == 0 ? site : neighbour;
            if (cluster.unvisited(neighbour) &&
                drawn(run, owner * static_cast<unsigned>(kDim) + way / 2, who, step, bit,
                      threshold) &&
                cluster.claim(neighbour)) {
              cluster.push(neighbour, head);
            }
          } else {
            const std::uint32_t rank =
                g.special_before[site / 32] + __popc(word & ((1u << site % 32) - 1));
            for (std::uint64_t k = g.offset[rank] + way; k < g.offset[rank + 1]; k += kWays) {
              const uint2 link = g.link[k];
              if (cluster.unvisited(link.x) && drawn(run, link.y, who, step, bit, threshold) &&
                  cluster.claim(link.x)) {
                cluster.push(link.x, head);
              }
            }
          }
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

template <bool kToPlanes>
void launch_turn(const DeviceWolff& g, std::uint32_t bundles, int vec, std::uint32_t* spins,
                 std::uint32_t* planes, cudaStream_t stream) {
  const dim3 blocks((g.plane_words + 31) / 32, bundles);
  turn<kToPlanes><<<blocks, kTileThreads, 0, stream>>>(g, vec, spins, planes);
  check_cuda(cudaGetLastError(), "launching the transposition of spins");
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
  WolffLaunch plan;
  plan.plane_shared = plane_bytes + 4 * 1024 * 4 <= room;
  const std::size_t left = plan.plane_shared ? room - plane_bytes : room / 4;
  plan.queue = static_cast<std::uint32_t>(
      std::bit_floor(std::min<std::size_t>(left / 4, std::bit_ceil(plane_words * std::size_t{8}))));
  plan.shared_bytes = plan.queue * std::size_t{4} + (plan.plane_shared ? plane_bytes : 0);
  const auto fit = static_cast<unsigned>(static_cast<std::size_t>(per_multiprocessor) /
                                         (plan.shared_bytes + 1024));
  plan.threads = fit >= 8 ? 128 : fit >= 4 ? 256 : fit >= 2 ? 512 : 1024;
  const unsigned per = std::min(fit, 2048 / plan.threads);
  plan.blocks = std::min(static_cast<unsigned>(multiprocessors) * std::max(per, 1u), replicas);
  return plan;
}

void launch_words_to_planes(const DeviceWolff& g, std::uint32_t bundles, int vec,
                            const std::uint32_t* spins, std::uint32_t* planes,
                            cudaStream_t stream) {
  launch_turn<true>(g, bundles, vec, const_cast<std::uint32_t*>(spins), planes, stream);
}

void launch_planes_to_words(const DeviceWolff& g, std::uint32_t bundles, int vec,
                            const std::uint32_t* planes, std::uint32_t* spins,
                            cudaStream_t stream) {
  launch_turn<false>(g, bundles, vec, spins, const_cast<std::uint32_t*>(planes), stream);
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
