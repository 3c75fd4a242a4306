#include "src/bundle/local.cuh"
#include "src/bundle/measure_cuda.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

constexpr unsigned kThreads = 256;
constexpr unsigned kCells = 8;  // per thread

// A binary counter per bit position.
template <int kPlanes>
struct Counter {
  std::uint32_t plane[kPlanes]{};

  __device__ __forceinline__ void add(std::uint32_t x) {
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) {
      const std::uint32_t carry = plane[p] & x;
      plane[p] ^= x;
      x = carry;
    }
  }
  // Sum over the warp's lanes of bit position `lane`.
  __device__ __forceinline__ unsigned of_lane() const {
    const unsigned lane = threadIdx.x % 32;
    unsigned sum = 0;
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) {
      std::uint32_t x = plane[p], mask = 0x0000FFFFu;
#pragma unroll
      for (unsigned j = 16; j != 0; j >>= 1) {
        const std::uint32_t y = __shfl_xor_sync(~0u, x, j);
        x = (lane & j) == 0 ? (x & mask) | (y & mask) << j : (x & ~mask) | (y & ~mask) >> j;
        mask ^= mask << (j >> 1);
      }
      sum += static_cast<unsigned>(__popc(x)) << p;
    }
    return sum;
  }
};

// Adds a warp's count of replica `lane` to the block's, and the block's to the global sum.
__device__ void add_block(unsigned count, bool negative, unsigned long long* sums) {
  __shared__ unsigned total[32];
  if (threadIdx.x < 32) total[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&total[threadIdx.x % 32], count);
  __syncthreads();
  if (threadIdx.x < 32) {
    const unsigned long long n = total[threadIdx.x];
    atomicAdd(sums + threadIdx.x, negative ? 0ull - n : n);
  }
  __syncthreads();
}

__device__ __forceinline__ const std::uint32_t* bundle_words(const std::uint32_t* spins,
                                                             std::uint32_t words, int vec,
                                                             std::uint32_t bundle) {
  const auto v = static_cast<std::uint32_t>(vec);
  return spins + static_cast<std::size_t>(bundle / v) * words * v + bundle % v;
}

template <int kDim>
__global__ void __launch_bounds__(kThreads)
    count_lattice(const __grid_constant__ DeviceLattice g, int vec, const std::uint32_t* spins,
                  unsigned long long* disagreeing, unsigned long long* up) {
  const std::uint32_t* words = bundle_words(spins, g.words, vec, blockIdx.y);
  const auto v = static_cast<std::size_t>(vec);
  Counter<7> bonds;
  Counter<5> spins_up;
  const std::uint32_t half = g.sites / 2;
  for (unsigned n = 0; n < kCells; ++n) {
    const std::uint32_t i = (blockIdx.x * kCells + n) * kThreads + threadIdx.x;
    if (i >= half) break;
    const Around<kDim> around(g, 0, i);
    std::uint32_t at[2 * kDim];
    around.places(g, at);
    const std::uint32_t own = words[(g.colour_base[0] + i) * v];
#pragma unroll
    for (int k = 0; k < 2 * kDim; ++k) {
      bonds.add(own ^ words[(g.colour_base[1] + at[k]) * v]);
    }
    spins_up.add(own);
    spins_up.add(words[(g.colour_base[1] + i) * v]);
  }
  add_block(bonds.of_lane(), false, disagreeing + std::size_t{blockIdx.y} * kReplicas);
  add_block(spins_up.of_lane(), false, up + std::size_t{blockIdx.y} * kReplicas);
}

__global__ void __launch_bounds__(kThreads)
    count_up(DeviceLattice g, int vec, const std::uint32_t* spins, unsigned long long* up) {
  const std::uint32_t* words = bundle_words(spins, g.words, vec, blockIdx.y);
  Counter<4> count;
  for (unsigned n = 0; n < kCells; ++n) {
    const std::uint32_t i = (blockIdx.x * kCells + n) * kThreads + threadIdx.x;
    if (i < g.sites) count.add(words[(g.colour_base[0] + i) * static_cast<std::size_t>(vec)]);
  }
  add_block(count.of_lane(), false, up + std::size_t{blockIdx.y} * kReplicas);
}

// Removed and rewired bonds: blockIdx.z = 2 graph + kind.
__global__ void __launch_bounds__(kThreads)
    count_pairs(const __grid_constant__ DeviceMeasurement m, std::uint32_t slots) {
  const std::uint32_t graph = blockIdx.z / 2, bundle = graph * m.bundles + blockIdx.y;
  const bool removed = blockIdx.z % 2 == 0;
  const DevicePairs& pairs = m.pairs[removed ? 0 : 1];
  const std::uint32_t first = pairs.first[graph], last = pairs.first[graph + 1];
  if (last - first <= blockIdx.x * kCells * kThreads) return;
  const std::uint32_t* words = bundle_words(m.spins, slots, m.vec, bundle);
  const auto v = static_cast<std::size_t>(m.vec);
  Counter<4> count;
  for (unsigned n = 0; n < kCells; ++n) {
    const std::uint32_t i = first + (blockIdx.x * kCells + n) * kThreads + threadIdx.x;
    if (i < last) count.add(words[pairs.a[i] * v] ^ words[pairs.b[i] * v]);
  }
  add_block(count.of_lane(), removed, m.disagreeing + std::size_t{bundle} * kReplicas);
}

dim3 blocks_for(std::uint32_t items, std::uint32_t bundles, std::uint32_t graphs = 1) {
  const std::uint32_t per = kThreads * kCells;
  return dim3((items + per - 1) / per, bundles, graphs);
}

}  // namespace

void launch_measure(const DeviceLattice& g, const DeviceMeasurement& m, cudaStream_t stream) {
  const std::uint32_t bundles = m.graphs * m.bundles;
  const dim3 lattice = blocks_for(g.sites / 2, bundles);
  const auto count = [&](auto kernel) {
    kernel<<<lattice, kThreads, 0, stream>>>(g, m.vec, m.spins, m.disagreeing, m.up);
  };
  switch (g.dim) {
    case 0:
      count_up<<<blocks_for(g.sites, bundles), kThreads, 0, stream>>>(g, m.vec, m.spins, m.up);
      break;
    case 1:
      count(count_lattice<1>);
      break;
    case 2:
      count(count_lattice<2>);
      break;
    case 3:
      count(count_lattice<3>);
      break;
    default:
      count(count_lattice<4>);
  }
  check_cuda(cudaGetLastError(), "launching a measurement");
  if (m.most == 0) return;
  count_pairs<<<blocks_for(m.most, m.bundles, 2 * m.graphs), kThreads, 0, stream>>>(m, g.words);
  check_cuda(cudaGetLastError(), "launching a measurement of rewired bonds");
}

}  // namespace rewise::bundle
