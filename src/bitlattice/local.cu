// A thread per group of 128 sites of one colour (decide.hpp).
#include "src/bitlattice/decide.hpp"
#include "src/bitlattice/groups.cuh"
#include "src/bitlattice/kernels_cuda.hpp"

namespace rewise::bitlattice {
namespace {

using namespace device;

// The colour to update. `number` refers to the parities of the layout, which are inverted in a slab
// whose first row is odd.
struct Colour {
  int number;
  std::uint32_t first_item;  // of the layout's first group
  std::uint32_t* own;
  const std::uint32_t* other;
};

template <int kDim, bool kDownhill, bool kPadded, unsigned kZeros>
__device__ __forceinline__ void update_group(const Layout& g, const Draws& draws,
                                             const Colour& colour, std::uint32_t row,
                                             std::uint32_t j) {
  const std::uint64_t at = row * std::uint64_t{g.stride()} + kGroupWords * j;
  std::uint32_t* own_at = colour.own + at;
  Group own = load(own_at);
  std::uint32_t x[kGroupWords][2 * kDim], flips[kGroupWords];
  disagree<kDim, kPadded>(g, colour.number, row, j, own, colour.other, x);
  decide_group<kDim, kDownhill, kZeros>(draws, colour.first_item + 2 * (row * g.groups + j), x,
                                        flips);
#pragma unroll
  for (unsigned w = 0; w < kGroupWords; ++w) {
    own.w[w] ^= kPadded ? flips[w] & g.site_bits(kGroupWords * j + w) : flips[w];
  }
  store(own_at, own);
}

// Blocks per multiprocessor, as many as possible without spilling registers (2D Metropolis: 8 are
// 3% faster than 7 with more registers, and 5% faster than 10 with spills).
template <int kDim, bool kMore>
constexpr unsigned kBlocks = kDim == 4            ? 4
                             : kDim == 3 || kMore ? 6
                                                  : 8;

template <int kDim, bool kDownhill, bool kPadded, unsigned kZeros>
__global__ void __launch_bounds__(kThreads, kBlocks<kDim, !kDownhill || kPadded>)
    update_groups(const __grid_constant__ Layout g, Rows rows, const __grid_constant__ Draws draws,
                  Colour colour) {
  for_my_groups(g, rows, [&](std::uint32_t row, std::uint32_t j) {
    update_group<kDim, kDownhill, kPadded, kZeros>(g, draws, colour, row, j);
  });
}

__device__ __forceinline__ void start_group(const Layout& g, std::uint64_t seed,
                                            std::uint32_t replica, bool hot, std::uint32_t row,
                                            std::uint32_t j, std::uint32_t* spins) {
  for (int colour = 0; colour < 2; ++colour) {
    Words4 random{{~0u, ~0u, ~0u, ~0u}};
    if (hot) {
      random = random_words(seed, Stream::bitlattice_start,
                            item_of(g.first_group + row * g.groups + j, colour), replica, 0, 0);
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
    start_groups(const __grid_constant__ Layout g, Rows rows, std::uint64_t seed,
                 std::uint32_t replica, bool hot, std::uint32_t* spins) {
  for_my_groups(g, rows, [&](std::uint32_t row, std::uint32_t j) {
    start_group(g, seed, replica, hot, row, j, spins);
  });
}

// The kernel for a layout and thresholds. In two and three dimensions without padding, up to two
// leading digits that are 0 in all thresholds are compared together.
template <int kDim, bool kDownhill>
auto kernel_of(const Layout& g, const Draws& draws) {
  if (g.padded()) return update_groups<kDim, kDownhill, true, 0>;
  if constexpr (kDim == 2 || kDim == 3) {
    const unsigned zeros = common_zeros(draws);
    if (zeros == 1) return update_groups<kDim, kDownhill, false, 1>;
    if (zeros >= 2) return update_groups<kDim, kDownhill, false, 2>;
  }
  return update_groups<kDim, kDownhill, false, 0>;
}

}  // namespace

void launch_start(const Layout& g, Rows rows, std::uint64_t seed, std::uint32_t replica, bool hot,
                  std::uint32_t* spins, cudaStream_t stream) {
  launch(start_groups, shape_of(g, rows, kThreads), stream, g, rows, seed, replica, hot, spins);
}

void launch_update(const Layout& g, Rows rows, const Draws& draws, LocalUpdate rule, int colour,
                   std::uint32_t* spins, cudaStream_t stream) {
  const std::uint64_t words = g.colour_words();
  const Colour updated{(colour != 0) != g.first_odd ? 1 : 0, item_of(g.first_group, colour),
                       spins + (colour == 0 ? 0 : words), spins + (colour == 0 ? words : 0)};
  with_lattice_dim(g.dim, [&]<int kDim>() {
    const auto kernel =
        certain_downhill(rule) ? kernel_of<kDim, true>(g, draws) : kernel_of<kDim, false>(g, draws);
    launch(kernel, shape_of(g, rows, kThreads), stream, g, rows, draws, updated);
  });
}

}  // namespace rewise::bitlattice
