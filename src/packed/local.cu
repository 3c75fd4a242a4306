// A thread per group of 128 sites of one colour (decide.hpp).
#include "src/packed/decide.hpp"
#include "src/packed/groups.cuh"
#include "src/packed/kernels.hpp"

namespace rewise::packed {
namespace {

using namespace device;

template <int kDim, bool kDownhill, bool kPadded, unsigned kZeros>
__device__ __forceinline__ void update_group(const Layout& g, const Draws& draws, int colour,
                                             std::uint32_t row, std::uint32_t j,
                                             std::uint32_t* spins) {
  const std::uint64_t words = g.colour_words();
  std::uint32_t* own_at =
      spins + (colour == 0 ? 0 : words) + row * std::uint64_t{g.stride()} + kGroupWords * j;
  Group own = load(own_at);
  std::uint32_t x[kGroupWords][2 * kDim], flips[kGroupWords];
  disagree<kDim, kPadded>(g, colour, row, j, own, spins + (colour == 0 ? words : 0), x);
  decide_group<kDim, kDownhill, kZeros>(draws, item_of(row * g.groups + j, colour), x, flips);
#pragma unroll
  for (unsigned w = 0; w < kGroupWords; ++w) {
    own.w[w] ^= kPadded ? flips[w] & g.site_bits(kGroupWords * j + w) : flips[w];
  }
  store(own_at, own);
}

// Blocks per multiprocessor, as many as go without spilling registers (2D Metropolis: 8 are 3%
// faster than 7 with more registers, and 5% faster than 10 that spill).
template <int kDim, bool kMore>
constexpr unsigned kBlocks = kDim == 4            ? 4
                             : kDim == 3 || kMore ? 6
                                                  : 8;

template <int kDim, bool kDownhill, bool kPadded, unsigned kZeros>
__global__ void __launch_bounds__(kThreads, kBlocks<kDim, !kDownhill || kPadded>)
    update_groups(const __grid_constant__ Layout g, const __grid_constant__ Draws draws, int colour,
                  std::uint32_t* spins) {
  for_my_groups(g, [&](std::uint32_t row, std::uint32_t j) {
    update_group<kDim, kDownhill, kPadded, kZeros>(g, draws, colour, row, j, spins);
  });
}

__device__ __forceinline__ void start_group(const Layout& g, std::uint64_t seed, std::uint32_t who,
                                            bool hot, std::uint32_t row, std::uint32_t j,
                                            std::uint32_t* spins) {
  for (int colour = 0; colour < 2; ++colour) {
    Words4 random{{~0u, ~0u, ~0u, ~0u}};
    if (hot) {
      random =
          random_words(seed, Stream::packed_start, item_of(row * g.groups + j, colour), who, 0, 0);
    }
    Group own;
#pragma unroll
    for (unsigned w = 0; w < kGroupWords; ++w) {
      own.w[w] = random.w[w] & g.site_bits(kGroupWords * j + w);
    }
    store(spins + (colour == 0 ? 0 : g.colour_words()) + row * std::uint64_t{g.stride()} +
              kGroupWords * j,
          own);
  }
}

__global__ void __launch_bounds__(kThreads)
    start_groups(const __grid_constant__ Layout g, std::uint64_t seed, std::uint32_t who, bool hot,
                 std::uint32_t* spins) {
  for_my_groups(g, [&](std::uint32_t row, std::uint32_t j) {
    start_group(g, seed, who, hot, row, j, spins);
  });
}

template <int kDim, bool kDownhill, bool kPadded, unsigned kZeros>
void sweep(const Layout& g, const Draws& draws, std::uint32_t* spins, cudaStream_t stream) {
  const LaunchShape shape = shape_of(g, kThreads);
  for (int colour = 0; colour < 2; ++colour) {
    launch(update_groups<kDim, kDownhill, kPadded, kZeros>, shape, stream, g, draws, colour, spins);
  }
}

// Digits that are 0 in all thresholds are compared in one go where systems are large and common.
template <int kDim, bool kDownhill>
void sweep_update(const Layout& g, const Draws& draws, std::uint32_t* spins, cudaStream_t stream) {
  if (g.padded()) return sweep<kDim, kDownhill, true, 0>(g, draws, spins, stream);
  if constexpr (kDim == 2 || kDim == 3) {
    const unsigned zeros = common_zeros(draws);
    if (zeros == 1) return sweep<kDim, kDownhill, false, 1>(g, draws, spins, stream);
    if (zeros >= 2) return sweep<kDim, kDownhill, false, 2>(g, draws, spins, stream);
  }
  sweep<kDim, kDownhill, false, 0>(g, draws, spins, stream);
}

}  // namespace

void launch_start(const Layout& g, std::uint64_t seed, std::uint32_t who, bool hot,
                  std::uint32_t* spins, cudaStream_t stream) {
  const LaunchShape shape = shape_of(g, kThreads);
  launch(start_groups, shape, stream, g, seed, who, hot, spins);
}

void launch_sweep(const Layout& g, const Draws& draws, LocalUpdate rule, std::uint32_t* spins,
                  cudaStream_t stream) {
  with_lattice_dim(g.dim, [&]<int kDim>() {
    (certain_downhill(rule) ? sweep_update<kDim, true> : sweep_update<kDim, false>)(g, draws, spins,
                                                                                    stream);
  });
}

}  // namespace rewise::packed
