// Step 1 of a Swendsen-Wang update: open bonds and random bits, turned (swendsen_wang_cuda.hpp). A
// lane draws for a site's bond and 32 replicas, four digits a call, until the whole warp has
// settled: 3.3 calls, some 130 instructions.
#include "src/bundle/rules.hpp"
#include "src/bundle/swendsen_wang/swendsen_wang.cuh"
#include "src/bundle/words.cuh"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

constexpr unsigned kThreads = 256;
constexpr unsigned kStage = kLabelRows + 1;  // words of a replica in shared memory, padded

// One bundle's draws of a step.
struct BondDrawer {
  std::uint32_t low, high, who, step, threshold;

  // Among the replicas that ask, those that draw the bond; by whole warps.
  __device__ __forceinline__ std::uint32_t open(const CallWords* calls, std::uint32_t bond,
                                                std::uint32_t asking) const {
    const SharedItem shared(low, high, static_cast<std::uint32_t>(Stream::bond), step, bond);
    std::uint32_t below = 0, t = threshold;
    for (unsigned call = 0; call < 8; ++call, t <<= 4) {
      const Words4 words = finish_call(shared, calls[call], low, high);
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
  __device__ __forceinline__ std::uint32_t flips(std::uint32_t site) const {
    const Words4 words =
        random_words(std::uint64_t{high} << 32 | low, Stream::cluster_flip, site / 4, who, 0, step);
    const std::uint32_t even = (site & 2u) != 0 ? words.w[2] : words.w[0];
    const std::uint32_t odd = (site & 2u) != 0 ? words.w[3] : words.w[1];
    return (site & 1u) != 0 ? odd : even;
  }
};

// The words of a site and of its neighbours ahead.
template <int kDim>
struct SiteWords {
  std::uint32_t own = 0, ahead[kDim > 0 ? kDim : 1]{};

  __device__ __forceinline__ SiteWords() {}
  __device__ __forceinline__ SiteWords(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                       const LabelItem<kDim>& item, std::uint32_t row,
                                       std::uint32_t site) {
    const DeviceLattice& lattice = g.lattice;
    const auto vec = static_cast<std::uint32_t>(run.vec);
    const std::uint32_t* words =
        run.spins + static_cast<std::size_t>(item.all / vec) * lattice.words * vec + item.all % vec;
    std::uint32_t next[4], colour = 0, stride = 1;
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      std::uint32_t at;
      if (kDim == 1) {
        at = site;
      } else if (k == 0) {
        at = item.at.at[0] * 32 + threadIdx.x % 32;
      } else {
        at = item.at.at[k] * label_length<kDim>(k) + LabelTile<kDim>::coordinate(row, k);
      }
      colour += at;
      next[k] = at + 1 == item.extent[k] ? site + stride - stride * item.extent[k] : site + stride;
      stride *= item.extent[k];
    }
    own = words[static_cast<std::size_t>(lattice.colour_base[colour & 1u] + site / 2) * vec];
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      ahead[k] =
          words[static_cast<std::size_t>(lattice.colour_base[~colour & 1u] + next[k] / 2) * vec];
    }
  }
};

template <int kDim>
__global__ void __launch_bounds__(kThreads) draw_tile(const __grid_constant__ DeviceLabelTiles g,
                                                      const __grid_constant__ DeviceLabelRun run) {
  __shared__ CallWords calls[8];
  __shared__ std::uint32_t stage[kDim + 1][32 * kStage];
  const LabelItem<kDim> item(g, run, blockIdx.x);
  const BondDrawer drawer{g.seeds.low[item.graph], g.seeds.high[item.graph], item.all % g.bundles,
                          *run.first_step + run.step, run.threshold[item.all]};
  if (threadIdx.x < 8) {
    calls[threadIdx.x] = CallWords(drawer.low, drawer.high, drawer.who, threadIdx.x, drawer.step);
  }
  __syncthreads();
  const unsigned lane = threadIdx.x % 32;
  for (unsigned j = threadIdx.x / 32; j < kLabelRows; j += kThreads / 32) {
    const LabelRow row = item.row(g, j);
    const std::uint32_t site = row.site + lane;
    stage[kDim][lane * kStage + j] = turn_bits(row.count > 0 ? drawer.flips(site) : 0);
    if constexpr (kDim > 0) {
      SiteWords<kDim> words;
      if (lane < row.count) words = SiteWords<kDim>(g, run, item, j, site);
      const std::uint32_t* bonds =
          g.bonds +
          (static_cast<std::size_t>(item.graph) * g.count + item.tile) * kDim * kLabelRows + j;
#pragma unroll
      for (int k = 0; k < kDim; ++k) {
        const bool there = (bonds[static_cast<unsigned>(k) * kLabelRows] >> lane & 1u) != 0;
        const std::uint32_t asking = there ? ~(words.own ^ words.ahead[k]) : 0u;
        const std::uint32_t bond = site * static_cast<unsigned>(kDim) + static_cast<unsigned>(k);
        stage[k][lane * kStage + j] = turn_bits(drawer.open(calls, bond, asking));
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k <= kDim; ++k) {
    std::uint32_t* out = item.mask(run, k, 0);
    for (unsigned n = threadIdx.x; n < kLabelSites; n += kThreads) {
      out[n] = stage[k][n / kLabelRows * kStage + n % kLabelRows];
    }
  }
}

// A thread per listed bond of a bundle.
__global__ void __launch_bounds__(kThreads)
    draw_listed(const __grid_constant__ DeviceLabelTiles g,
                const __grid_constant__ DeviceLabelRun run, std::uint32_t blocks_per_bundle) {
  __shared__ CallWords calls[8];
  const std::uint32_t bundle = blockIdx.x / blocks_per_bundle, all = run.first + bundle;
  const std::uint32_t graph = all / g.bundles;
  const BondDrawer drawer{g.seeds.low[graph], g.seeds.high[graph], all % g.bundles,
                          *run.first_step + run.step, run.threshold[all]};
  if (threadIdx.x < 8) {
    calls[threadIdx.x] = CallWords(drawer.low, drawer.high, drawer.who, threadIdx.x, drawer.step);
  }
  __syncthreads();
  const std::uint32_t i = blockIdx.x % blocks_per_bundle * kThreads + threadIdx.x;
  const bool real = i < g.listed_count[graph];
  LabelBond bond{};
  std::uint32_t asking = 0;
  if (real) {
    bond = g.listed[static_cast<std::size_t>(graph) * g.listed_most + i];
    const auto vec = static_cast<std::uint32_t>(run.vec);
    const std::uint32_t* words =
        run.spins + static_cast<std::size_t>(all / vec) * g.lattice.words * vec + all % vec;
    asking = ~(words[static_cast<std::size_t>(bond.a) * vec] ^
               words[static_cast<std::size_t>(bond.b) * vec]);
  }
  const std::uint32_t open = drawer.open(calls, bond.bond, asking);
  if (real) run.listed_open[static_cast<std::size_t>(bundle) * g.listed_most + i] = open;
}

}  // namespace

void launch_label_draw(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream) {
  with_label_dim(g.lattice.dim, [&]<int kDim>() {
    launch(draw_tile<kDim>, LaunchShape{run.bundles * g.count, kThreads}, stream, g, run);
  });
  if (g.listed_most == 0) return;
  const std::uint32_t blocks = (g.listed_most + kThreads - 1) / kThreads;
  launch(draw_listed, LaunchShape{run.bundles * blocks, kThreads}, stream, g, run, blocks);
}

}  // namespace rewise::bundle
