// The first and the last two steps of dense Wolff updates (wolff_dense_cuda.hpp). The flip moves 16
// bytes per reached word and is limited by memory bandwidth.
#include "src/cuda/bits.cuh"
#include "src/cuda/launch.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/wolff/wolff_dense.cuh"
#include "src/multispin/words.cuh"

namespace rewise::multispin {
namespace {

using namespace device;

constexpr unsigned kWarps = 4;  // per block

// Marks and queues the seeds. A warp per word group, a lane per replica.
template <int kDim>
__global__ void begin_update(const __grid_constant__ DeviceTiles g,
                             const __grid_constant__ DenseWolffArgs run) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t b = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (b >= run.word_groups) return;
  const std::uint32_t all = run.first + b, graph = all / g.word_groups;
  const std::uint32_t active = run.active == nullptr ? ~0u : run.active[all];
  const std::uint32_t seed = wolff_seed_site(
      {g.seeds.of_graph(graph), all % g.word_groups, step_of(run)}, lane, g.lattice.sites);
  const TilePlace to = DenseTile<kDim>::place_of(g.lattice.extent, g.along, seed);
  const std::uint32_t word =
      run.spins[first_word(all, g.lattice.words, run.vec) +
                static_cast<std::size_t>(g.lattice.slot_of(seed)) * static_cast<unsigned>(run.vec)];
  const std::uint32_t seed_spin = __ballot_sync(~0u, (word >> lane & 1u) != 0);
  if (lane == 0) {
    run.seed_spin[b] = seed_spin;
    run.bound[b] = 0;
  }
  const bool takes_part = (active >> lane & 1u) != 0;
  const std::uint32_t item = b * g.count + to.tile;
  if (takes_part) {
    atomicOr(run.reached + static_cast<std::size_t>(item) * kTileSites + to.place, 1u << lane);
  }
  TileWorker(run.queue, run.state).wake(takes_part, item, kTileFresh);
}

// Finds the bound clusters. A block per tile and word group, a thread per eight sites.
template <int kDim>
__global__ void __launch_bounds__(kWarps * 32)
    keep_bound(const __grid_constant__ DeviceTiles g, const __grid_constant__ DenseWolffArgs run) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t tile = blockIdx.x, b = blockIdx.y, all = run.first + b;
  const std::size_t item = static_cast<std::size_t>(b) * g.count + tile;
  if (run.state[item] == 0) return;
  const std::uint32_t graph = all / g.word_groups;
  const Address at{g.seeds.of_graph(graph), all % g.word_groups, step_of(run)};
  const GhostBonds ghost = run.ghost[all];
  const std::uint32_t* spins = run.spins + first_word(all, g.lattice.words, run.vec);
  const TileSites<kDim> sites(g, tile);
  std::uint32_t bound = 0;
  for (unsigned j = threadIdx.x / 32; j < 32; j += kWarps) {
    std::uint32_t site, slot;
    if (!sites.find(j, lane, site, slot)) continue;
    const std::uint32_t reached = __ldcg(run.reached + item * kTileSites + j * 32 + lane) & ~bound;
    if (reached == 0) continue;
    const std::uint32_t own =
        spins[static_cast<std::size_t>(slot) * static_cast<unsigned>(run.vec)];
    bound |= ghost.bound(at, site, own, reached);
  }
  bound = __reduce_or_sync(~0u, bound);
  if (lane == 0 && bound != 0) atomicOr(run.bound + b, bound);
}

// Flips and counts the reached spins. A block per tile and pack of word groups, a warp per eight
// rows.
template <int kDim, int kVec>
__global__ void __launch_bounds__(kWarps * 32)
    flip_reached(const __grid_constant__ DeviceTiles g,
                 const __grid_constant__ DenseWolffArgs run) {
  __shared__ unsigned flipped[kVec][32];
  constexpr unsigned kRows = 32 / kWarps;
  const unsigned lane = threadIdx.x % 32, first_row = threadIdx.x / 32 * kRows;
  const std::uint32_t tile = blockIdx.x, b = blockIdx.y * kVec;
  const auto item = [&](int v) {
    return static_cast<std::size_t>(b + static_cast<unsigned>(v)) * g.count + tile;
  };
  bool touched[kVec], any = false;
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    touched[v] = run.state[item(v)] != 0;
    any = any || touched[v];
  }
  if (!any) return;
  if (threadIdx.x < kVec * 32) flipped[threadIdx.x / 32][lane] = 0;
  __syncthreads();
  if (threadIdx.x < kVec) run.state[item(static_cast<int>(threadIdx.x))] = 0;
  std::uint32_t* spins = run.spins + first_word(run.first + b, g.lattice.words, run.vec);
  const auto vec = static_cast<std::size_t>(run.vec);
  Counter<4> count[kVec];
  std::uint32_t free[kVec];
#pragma unroll
  for (int v = 0; v < kVec; ++v) free[v] = ~run.bound[b + static_cast<unsigned>(v)];
  const TileSites<kDim> sites(g, tile);
#pragma unroll
  for (unsigned j = first_row; j < first_row + kRows; ++j) {
    GroupWords<kVec> gain;
    std::uint32_t any_gain = 0;
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      std::uint32_t* at = run.reached + item(v) * kTileSites + j * 32 + lane;
      gain.w[v] = touched[v] ? __ldcg(at) : 0;
      if (gain.w[v] != 0) *at = 0;
      gain.w[v] &= free[v];
      any_gain |= gain.w[v];
    }
    std::uint32_t site, slot;
    if (!sites.find(j, lane, site, slot) || any_gain == 0) continue;
    GroupWords<kVec> own = load<kVec>(spins + slot * vec);
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      own.w[v] ^= gain.w[v];
      count[v].add(gain.w[v]);
    }
    store<kVec>(spins + slot * vec, own);
  }
  __syncwarp();
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    if (!touched[v]) continue;
    if (kDim >= 2 && threadIdx.x < 64) run.edge[item(v) * 64 + threadIdx.x] = 0;
    atomicAdd(&flipped[v][lane], count[v].of_lane());
  }
  __syncthreads();
  if (threadIdx.x < kVec * 32 && flipped[threadIdx.x / 32][lane] != 0) {
    atomicAdd(run.flipped + static_cast<std::size_t>(run.first + b) * kReplicas + threadIdx.x,
              static_cast<unsigned long long>(flipped[threadIdx.x / 32][lane]));
  }
}

template <int kDim>
void flip(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream) {
  LaunchShape shape{g.count, kWarps * 32};
  shape.blocks_y = run.word_groups / static_cast<unsigned>(few_of(run.vec));
  with_few(run.vec, [&]<int kVec>() { launch(flip_reached<kDim, kVec>, shape, stream, g, run); });
}

}  // namespace

void launch_dense_begin(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream) {
  check_cuda(cudaMemsetAsync(run.queue.head, 0, sizeof(std::uint32_t), stream), "clearing a queue");
  check_cuda(cudaMemsetAsync(run.queue.added_done, 0, sizeof(unsigned long long), stream),
             "clearing a queue");
  if (g.ends > 0) {
    const std::size_t bytes = static_cast<std::size_t>(run.word_groups) * g.ends * 4;
    check_cuda(cudaMemsetAsync(run.sent, 0, bytes, stream), "clearing what was sent");
    check_cuda(cudaMemsetAsync(run.mail, 0, bytes, stream), "clearing mail");
  }
  with_dim(g.lattice.dim, [&]<int kDim>() {
    launch(begin_update<kDim>, cover(std::uint64_t{run.word_groups} * 32, 128), stream, g, run);
  });
}

void launch_dense_keep(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream) {
  if (run.ghost == nullptr) return;
  LaunchShape shape{g.count, kWarps * 32};
  shape.blocks_y = run.word_groups;
  with_dim(g.lattice.dim, [&]<int kDim>() { launch(keep_bound<kDim>, shape, stream, g, run); });
}

void launch_dense_flip(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream) {
  with_dim(g.lattice.dim, [&]<int kDim>() { flip<kDim>(g, run, stream); });
}

void launch_dense_wolff(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream) {
  launch_dense_begin(g, run, stream);
  launch_dense_draw(g, run, stream);
  launch_dense_grow(g, run, stream);
  launch_dense_keep(g, run, stream);
  launch_dense_flip(g, run, stream);
}

}  // namespace rewise::multispin
