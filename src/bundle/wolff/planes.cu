// Bit planes on the device: 32 words of 32 replicas become 32 words of 32 sites, and back.
#include "src/bundle/rules.hpp"
#include "src/bundle/wolff/wolff_cuda.hpp"
#include "src/cuda/launch.hpp"
#include "src/cuda/turn_bits.cuh"

namespace rewise::bundle {
namespace {

constexpr unsigned kTileThreads = 1024;

__device__ __forceinline__ std::uint32_t slot_of(const DeviceLattice& g, std::uint32_t site) {
  if (g.dim == 0) return g.colour_base[0] + site;
  const std::uint32_t row = site / (2 * g.half_row);
  const unsigned colour = (g.row_parity[row] + site) & 1u;  // rows have even length
  return (colour != 0 ? g.colour_base[1] : g.colour_base[0]) + site / 2;
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
    tile[lane][warp] = turn_bits(real ? *word : 0u);
    __syncthreads();
    if (inside) *plane = tile[warp][lane];
  } else {
    tile[warp][lane] = inside ? *plane : 0u;
    __syncthreads();
    const std::uint32_t x = turn_bits(tile[lane][warp]);
    if (real) *word = x;
  }
}

template <bool kToPlanes>
void launch_turn(const DeviceWolff& g, std::uint32_t bundles, int vec, std::uint32_t* spins,
                 std::uint32_t* planes, cudaStream_t stream) {
  const dim3 blocks((g.plane_words + 31) / 32, bundles);
  turn<kToPlanes><<<blocks, kTileThreads, 0, stream>>>(g, vec, spins, planes);
  check_cuda(cudaGetLastError(), "launching the transposition of spins");
}

}  // namespace

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

}  // namespace rewise::bundle
