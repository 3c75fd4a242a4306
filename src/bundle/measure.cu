#include "src/bundle/counter.cuh"
#include "src/bundle/local.cuh"
#include "src/bundle/measure_cuda.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

constexpr unsigned kThreads = 128;
constexpr unsigned kCells = 8;  // per thread

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

// Adds up the counters of the block's warps, one counter of kVec bundles and two kinds per warp.
template <int kPlanes, int kVec>
__device__ __forceinline__ void add_counters(const Counter<kPlanes> (&counter)[2][kVec],
                                             unsigned long long* const (&sums)[2]) {
  constexpr unsigned kWarps = kThreads / 32;
  constexpr int kAll = kPlanes + 2;
  static_assert(kWarps <= 4);
  __shared__ std::uint32_t plane[2 * kVec][kWarps][kPlanes][32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (unsigned kind = 0; kind < 2; ++kind) {
#pragma unroll
    for (unsigned v = 0; v < kVec; ++v) {
#pragma unroll
      for (int p = 0; p < kPlanes; ++p) {
        plane[kind * kVec + v][warp][p][lane] = counter[kind][v].plane[p];
      }
    }
  }
  __syncthreads();
  for (unsigned which = warp; which < 2 * kVec; which += kWarps) {
    Counter<kAll> total;
#pragma unroll
    for (unsigned w = 0; w < kWarps; ++w) {
      std::uint32_t number[kPlanes];
#pragma unroll
      for (int p = 0; p < kPlanes; ++p) number[p] = plane[which][w][p][lane];
      total.template add<kPlanes>(number);
    }
    atomicAdd(sums[which / kVec] + which % kVec * kReplicas + lane,
              static_cast<unsigned long long>(total.of_lane()));
  }
}

constexpr int bit_width(unsigned n) { return n == 0 ? 0 : 1 + bit_width(n / 2); }

// Sites of colour 0 with all their lattice bonds, and the spins of both colours.
template <int kDim, int kVec>
__global__ void __launch_bounds__(kThreads)
    count_lattice(const __grid_constant__ DeviceLattice g, const std::uint32_t* spins,
                  unsigned long long* disagreeing, unsigned long long* up) {
  constexpr int kDegree = 2 * kDim;
  const std::uint32_t* words = spins + static_cast<std::size_t>(blockIdx.y) * g.words * kVec;
  const auto pack = [&](int colour, std::uint32_t place) {
    return load<kVec>(words + (static_cast<std::size_t>(g.colour_base[colour]) + place) * kVec);
  };
  Counter<bit_width(kCells * kDegree)> counter[2][kVec];
  const std::uint32_t half = g.sites / 2;
#pragma unroll 2
  for (unsigned n = 0; n < kCells; ++n) {
    const std::uint32_t i = (blockIdx.x * kCells + n) * kThreads + threadIdx.x;
    if (i >= half) break;
    const Around<kDim> around(g, 0, i);
    std::uint32_t at[kDegree];
    around.places(g, at);
    const Pack<kVec> own = pack(0, i), beside = pack(1, i);
    Pack<kVec> neighbour[kDegree];
#pragma unroll
    for (int k = 0; k < kDegree; ++k) neighbour[k] = pack(1, at[k]);
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      std::uint32_t x[kDegree];
#pragma unroll
      for (int k = 0; k < kDegree; ++k) x[k] = own.w[v] ^ neighbour[k].w[v];
      const Planes<kDegree> planes(x);
      counter[0][v].template add<Planes<kDegree>::kCount>(planes.p);
      const std::uint32_t both[2] = {own.w[v] ^ beside.w[v], own.w[v] & beside.w[v]};
      counter[1][v].template add<2>(both);
    }
  }
  const std::size_t first = std::size_t{blockIdx.y} * kVec * kReplicas;
  unsigned long long* const sums[2] = {disagreeing + first, up + first};
  add_counters(counter, sums);
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
  const dim3 lattice = blocks_for(g.sites / 2, m.vec == 4 ? bundles / 4 : bundles);
  const auto count = [&](auto four, auto one) {
    (m.vec == 4 ? four : one)<<<lattice, kThreads, 0, stream>>>(g, m.spins, m.disagreeing, m.up);
  };
  switch (g.dim) {
    case 0:
      count_up<<<blocks_for(g.sites, bundles), kThreads, 0, stream>>>(g, m.vec, m.spins, m.up);
      break;
    case 1:
      count(count_lattice<1, 4>, count_lattice<1, 1>);
      break;
    case 2:
      count(count_lattice<2, 4>, count_lattice<2, 1>);
      break;
    case 3:
      count(count_lattice<3, 4>, count_lattice<3, 1>);
      break;
    default:
      count(count_lattice<4, 4>, count_lattice<4, 1>);
  }
  check_cuda(cudaGetLastError(), "launching a measurement");
  if (m.most == 0) return;
  count_pairs<<<blocks_for(m.most, m.bundles, 2 * m.graphs), kThreads, 0, stream>>>(m, g.words);
  check_cuda(cudaGetLastError(), "launching a measurement of rewired bonds");
}

}  // namespace rewise::bundle
