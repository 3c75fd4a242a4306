// Step 1 of Swendsen-Wang updates on the device (swendsen_wang_cuda.hpp): open bonds and random
// bits, transposed. A lane draws one bond of a site for 32 replicas. It compares random digits with
// the threshold, four binary digits per Philox call, until all bonds of the warp are decided: 3.3
// calls, some 130 instructions. Houdayer moves draw no bonds.
#include "src/multispin/rules.hpp"
#include "src/multispin/swendsen_wang/label_item.cuh"

namespace rewise::multispin {
namespace {

using namespace device;

constexpr unsigned kDrawThreads = 256;

// The draws of one word group in a step.
struct BondDrawer {
  PhiloxSeed seed;
  std::uint32_t group, step, threshold;

  // `all`: the word group's number in all graphs. Called by all threads of a block; fills `calls`.
  __device__ __forceinline__ BondDrawer(const DeviceLabelTiles& g, const LabelArgs& run,
                                        std::uint32_t all, PhiloxCall (&calls)[8])
      : seed(g.seeds.of_graph(all / g.word_groups)),
        group(all % g.word_groups),
        step(*run.first_step + run.step),
        threshold(run.threshold[all]) {
    if (threadIdx.x < 8) calls[threadIdx.x] = PhiloxCall(seed, group, threadIdx.x, step);
    __syncthreads();
  }
  // Returns those replicas of `asking` in which the bond opens. Called by whole warps.
  __device__ __forceinline__ std::uint32_t open(const PhiloxCall* calls, std::uint32_t bond,
                                                std::uint32_t asking) const {
    const PhiloxItem shared(seed, static_cast<std::uint32_t>(Stream::bond), step, bond);
    std::uint32_t below = 0, t = threshold;
    for (unsigned call = 0; call < 8; ++call, t <<= 4) {
      const Words4 words = shared.words(seed, calls[call]);
#pragma unroll
      for (unsigned n = 0; n < 4; ++n) {
        const std::uint32_t digit = 0u - (t >> (31 - n) & 1u);
        const std::uint32_t left = asking & ~(words.w[n] ^ digit);
        below |= (asking ^ left) & digit;
        asking = left;
      }
      if (!__any_sync(~0u, asking != 0)) break;
    }
    return below;
  }
  template <bool kHoudayer>
  __device__ __forceinline__ std::uint32_t flips(std::uint32_t site) const {
    constexpr Stream stream = kHoudayer ? Stream::houdayer : Stream::cluster_flip;
    const Words4 words = random_words(seed, stream, site / 4, group, 0, step);
    const std::uint32_t even = (site & 2u) != 0 ? words.w[2] : words.w[0];
    const std::uint32_t odd = (site & 2u) != 0 ? words.w[3] : words.w[1];
    return (site & 1u) != 0 ? odd : even;
  }
};

// Houdayer moves: the replicas in which a bond is open, from the words of its two ends. Only the
// bits of the first replica of each Houdayer pair are meaningful.
__device__ __forceinline__ std::uint32_t equal_products(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t differ = a ^ b;
  return ~(differ ^ differ >> kPartnerDistance);
}

// Word n of the masks of all replicas, [32][64], from a stage of [32][kStage] words.
__device__ __forceinline__ std::uint32_t staged(const std::uint32_t* stage, unsigned n) {
  return stage[n / kLabelRows * kStage + n % kLabelRows];
}

// The words of a site and of its next neighbour in each direction.
template <int kDim>
struct SiteWords {
  std::uint32_t own = 0, ahead[kDim]{};

  __device__ __forceinline__ SiteWords() {}
  __device__ __forceinline__ SiteWords(const DeviceLabelTiles& g, const LabelArgs& run,
                                       const LabelItem<kDim>& item, std::uint32_t row,
                                       std::uint32_t site) {
    const DeviceLattice& lattice = g.lattice;
    const auto vec = static_cast<std::uint32_t>(run.vec);
    const std::uint32_t* words = run.spins + first_word(item.all, lattice.words, run.vec);
    std::uint32_t next[4], colour = 0, stride = 1;
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      std::uint32_t at;
      if (kDim == 1) {
        at = site;
      } else if (k == 0) {
        at = item.at.at[0] * 32 + threadIdx.x % 32;
      } else {
        at = item.at.at[k] * LabelTile<kDim>::length(k) + LabelTile<kDim>::coordinate(row, k);
      }
      colour += at;
      const std::uint32_t extent = lattice.extent[k];
      next[k] = at + 1 == extent ? site + stride - stride * extent : site + stride;
      stride *= extent;
    }
    own = words[static_cast<std::size_t>(lattice.colour_base[colour & 1u] + site / 2) * vec];
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      ahead[k] =
          words[static_cast<std::size_t>(lattice.colour_base[~colour & 1u] + next[k] / 2) * vec];
    }
  }
};

// The bonds that step 1 opens: drawn bonds between equal spins, drawn bonds that are satisfied
// (couplings of both signs), or all bonds between equal products (Houdayer moves).
enum class Opens { equal, satisfied, products };

template <int kDim, Opens kOpens>
__global__ void __launch_bounds__(kDrawThreads, 4)
    draw_tile(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  __shared__ PhiloxCall calls[8];
  __shared__ std::uint32_t stage[kDim + 1][32 * kStage];
  const LabelItem<kDim> item(g, run, blockIdx.x);
  const BondDrawer drawer(g, run, item.all, calls);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned j = threadIdx.x / 32; j < kLabelRows; j += kDrawThreads / 32) {
    const TileRow row = item.row(g, j);
    const std::uint32_t site = row.site + lane;
    stage[kDim][lane * kStage + j] =
        transpose_bits(row.count > 0 ? drawer.flips<kOpens == Opens::products>(site) : 0);
    if constexpr (kDim > 0) {
      SiteWords<kDim> words;
      if (lane < row.count) words = SiteWords<kDim>(g, run, item, j, site);
      const std::size_t first =
          (static_cast<std::size_t>(item.graph) * g.count + item.tile) * kDim * kLabelRows + j;
      const std::uint32_t* bonds = g.bonds + first;
#pragma unroll
      for (int k = 0; k < kDim; ++k) {
        const bool there = (bonds[static_cast<unsigned>(k) * kLabelRows] >> lane & 1u) != 0;
        if constexpr (kOpens == Opens::products) {
          stage[k][lane * kStage + j] =
              transpose_bits(there ? equal_products(words.own, words.ahead[k]) : 0u);
        } else {
          std::uint32_t asking = there ? ~(words.own ^ words.ahead[k]) : 0u;
          if constexpr (kOpens == Opens::satisfied) {
            const std::uint32_t negative =
                g.negative[first + static_cast<unsigned>(k) * kLabelRows] >> lane & 1u;
            if (there) asking ^= 0u - negative;
          }
          const std::uint32_t bond = site * static_cast<unsigned>(kDim) + static_cast<unsigned>(k);
          stage[k][lane * kStage + j] = transpose_bits(drawer.open(calls, bond, asking));
        }
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k <= kDim; ++k) {
    std::uint32_t* out = item.mask(run, item.tile, k, 0);
    for (unsigned n = threadIdx.x; n < kLabelTileSites; n += kDrawThreads) {
      out[n] = staged(stage[k], n);
    }
  }
}

// One thread per listed bond of a word group.
template <Opens kOpens>
__global__ void __launch_bounds__(kDrawThreads)
    draw_listed(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run,
                std::uint32_t blocks_per_group) {
  __shared__ PhiloxCall calls[8];
  const std::uint32_t word_group = blockIdx.x / blocks_per_group, all = run.first + word_group;
  const std::uint32_t graph = all / g.word_groups;
  const BondDrawer drawer(g, run, all, calls);
  const std::uint32_t i = blockIdx.x % blocks_per_group * kDrawThreads + threadIdx.x;
  const bool real = i < g.listed_count[graph];
  LabelBond bond{};
  std::uint32_t asking = 0;
  if (real) {
    bond = g.listed[static_cast<std::size_t>(graph) * g.listed_most + i];
    const auto vec = static_cast<std::uint32_t>(run.vec);
    const std::uint32_t* words = run.spins + first_word(all, g.lattice.words, run.vec);
    const Slot first = kOpens == Opens::equal ? bond.a : listed_slot(bond.a);
    const std::uint32_t a = words[static_cast<std::size_t>(first) * vec],
                        b = words[static_cast<std::size_t>(bond.b) * vec];
    asking = kOpens == Opens::products ? equal_products(a, b) : ~(a ^ b);
    if constexpr (kOpens == Opens::satisfied) asking ^= listed_sign(bond.a);
  }
  const std::uint32_t open =
      kOpens == Opens::products ? asking : drawer.open(calls, bond.bond, asking);
  if (real) run.listed_open[static_cast<std::size_t>(word_group) * g.listed_most + i] = open;
}

// Marks the sites with an open listed bond and transposes the masks. One block per tile of a word
// group.
__global__ void __launch_bounds__(kDrawThreads)
    mark_ends(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  __shared__ std::uint32_t stage[32 * kStage];
  const std::uint32_t word_group = blockIdx.x / g.count, tile = blockIdx.x - word_group * g.count;
  const std::uint32_t graph = (run.first + word_group) / g.word_groups;
  for (unsigned n = threadIdx.x; n < 32 * kStage; n += kDrawThreads) stage[n] = 0;
  __syncthreads();
  const std::size_t at = static_cast<std::size_t>(graph) * (g.count + 1) + tile;
  const TileBondEnd* ends = g.tile_ends + static_cast<std::size_t>(graph) * 2 * g.listed_most;
  const std::uint32_t* open =
      run.listed_open + static_cast<std::size_t>(word_group) * g.listed_most;
  const std::uint32_t last = g.ends_first[at + 1];
  for (std::uint32_t i = g.ends_first[at] + threadIdx.x; i < last; i += kDrawThreads) {
    const TileBondEnd end = ends[i];
    atomicOr(stage + end.place % 32 * kStage + end.place / 32, open[end.listed]);
  }
  __syncthreads();
  for (unsigned j = threadIdx.x / 32; j < kLabelRows; j += kDrawThreads / 32) {
    std::uint32_t& word = stage[threadIdx.x % 32 * kStage + j];
    word = transpose_bits(word);
  }
  __syncthreads();
  const std::uint32_t masks = masks_per_tile(g.lattice.dim, true, run.ghost != nullptr);
  const std::uint32_t own = masks_per_tile(g.lattice.dim, true, false) - 1;
  std::uint32_t* out =
      run.masks + (static_cast<std::size_t>(blockIdx.x) * masks + own) * kLabelTileSites;
  for (unsigned n = threadIdx.x; n < kLabelTileSites; n += kDrawThreads) out[n] = staged(stage, n);
}

// In a field: draws the sites that are bound to the ghost spin and transposes the masks. Houdayer
// moves: clears the random bits of sites with equal spins. One block per tile of a word group.
template <int kDim, bool kHoudayer>
__global__ void __launch_bounds__(kDrawThreads)
    draw_bound(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  __shared__ std::uint32_t stage[32 * kStage];
  const LabelItem<kDim> item(g, run, blockIdx.x);
  const Address at{g.seeds.of_graph(item.graph), item.all % g.word_groups,
                   *run.first_step + run.step};
  const GhostBonds ghost = run.ghost[item.all];
  const std::uint32_t* words = run.spins + first_word(item.all, g.lattice.words, run.vec);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned j = threadIdx.x / 32; j < kLabelRows; j += kDrawThreads / 32) {
    const TileRow row = item.row(g, j);
    const std::uint32_t site = row.site + lane;
    std::uint32_t own = 0, marked = 0;
    if (lane < row.count) {
      own = words[std::size_t{g.lattice.slot_of(site)} * static_cast<unsigned>(run.vec)];
      marked = kHoudayer ? own ^ own >> kPartnerDistance : ghost.bound(at, site, own, ~0u);
    }
    stage[lane * kStage + j] = transpose_bits(marked);
  }
  __syncthreads();
  std::uint32_t* out = item.mask(run, item.tile, kHoudayer ? kDim : bound_mask<kDim>(g), 0);
  for (unsigned n = threadIdx.x; n < kLabelTileSites; n += kDrawThreads) {
    const std::uint32_t word = staged(stage, n);
    out[n] = kHoudayer ? out[n] & word : word;
  }
}

template <Opens kOpens>
void draw_as(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream) {
  with_dim(g.lattice.dim, [&]<int kDim>() {
    launch(draw_tile<kDim, kOpens>, LaunchShape{run.word_groups * g.count, kDrawThreads}, stream, g,
           run);
    if (run.ghost != nullptr) {
      launch(draw_bound<kDim, kOpens == Opens::products>,
             LaunchShape{run.word_groups * g.count, kDrawThreads}, stream, g, run);
    }
  });
  if (g.listed_most == 0) return;
  const std::uint32_t blocks = (g.listed_most + kDrawThreads - 1) / kDrawThreads;
  launch(draw_listed<kOpens>, LaunchShape{run.word_groups * blocks, kDrawThreads}, stream, g, run,
         blocks);
  launch(mark_ends, LaunchShape{run.word_groups * g.count, kDrawThreads}, stream, g, run);
}

}  // namespace

void launch_bond_draws(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream) {
  if (run.houdayer) return draw_as<Opens::products>(g, run, stream);
  if (run.signs) return draw_as<Opens::satisfied>(g, run, stream);
  draw_as<Opens::equal>(g, run, stream);
}

}  // namespace rewise::multispin
