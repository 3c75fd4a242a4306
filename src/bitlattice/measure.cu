// Counts over groups: a thread per group of colour 0, with the bonds that end there.
#include "src/bitlattice/groups.cuh"
#include "src/bitlattice/kernels_cuda.hpp"

namespace rewise::bitlattice {
namespace {

using namespace device;

constexpr unsigned kCountThreads = 256;

template <int kDim, bool kPadded>
__device__ __forceinline__ void count_group(const Layout& g, std::uint32_t row, std::uint32_t j,
                                            const std::uint32_t* spins, unsigned& unequal,
                                            unsigned& up) {
  const std::uint32_t* other = spins + g.colour_words();
  const std::uint64_t at = row * std::uint64_t{g.stride()} + kGroupWords * j;
  const Group own = load(spins + at), beside = load(other + at);
  std::uint32_t x[kGroupWords][2 * kDim];
  disagree<kDim, kPadded>(g, g.first_odd ? 1 : 0, row, j, own, other, x);
#pragma unroll
  for (unsigned w = 0; w < kGroupWords; ++w) {
    up += __popc(own.w[w]) + __popc(beside.w[w]);
    const std::uint32_t sites = kPadded ? g.site_bits(kGroupWords * j + w) : ~0u;
#pragma unroll
    for (int k = 0; k < 2 * kDim; ++k) unequal += __popc(x[w][k] & sites);
  }
}

__device__ __forceinline__ void add_block(unsigned unequal, unsigned up, unsigned long long* sums) {
  __shared__ unsigned total[2];
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  if (thread < 2) total[thread] = 0;
  __syncthreads();
  unequal = __reduce_add_sync(~0u, unequal);
  up = __reduce_add_sync(~0u, up);
  if (thread % 32 == 0) {
    atomicAdd(&total[0], unequal);
    atomicAdd(&total[1], up);
  }
  __syncthreads();
  if (thread < 2) atomicAdd(sums + thread, static_cast<unsigned long long>(total[thread]));
}

template <int kDim, bool kPadded>
__global__ void __launch_bounds__(kCountThreads)
    count_groups(const __grid_constant__ Layout g, Rows rows, const std::uint32_t* spins,
                 unsigned long long* sums) {
  unsigned unequal = 0, up = 0;
  for_my_groups(g, rows, [&](std::uint32_t row, std::uint32_t j) {
    count_group<kDim, kPadded>(g, row, j, spins, unequal, up);
  });
  add_block(unequal, up, sums);
}

}  // namespace

void launch_count(const Layout& g, Rows rows, const std::uint32_t* spins, unsigned long long* sums,
                  cudaStream_t stream) {
  with_lattice_dim(g.dim, [&]<int kDim>() {
    launch(g.padded() ? count_groups<kDim, true> : count_groups<kDim, false>,
           shape_of(g, rows, kCountThreads), stream, g, rows, spins, sums);
  });
}

}  // namespace rewise::bitlattice
