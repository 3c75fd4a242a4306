#include "src/bundle/counter.cuh"
#include "src/bundle/local.cuh"
#include "src/bundle/rules.hpp"
#include "src/bundle/tile_queue.cuh"
#include "src/bundle/wolff_dense.cuh"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

constexpr unsigned kWarps = 4;  // per block

// What a warp needs to know of the tile it visits.
template <int kDim>
struct Visit {
  const DeviceTiles& g;
  const DeviceDenseRun& run;
  std::uint32_t item, tile;
  std::uint32_t* board;
  std::size_t bundle_item;  // of the bundle's tile 0
  unsigned lane;

  __device__ __forceinline__ Visit(const DeviceTiles& tiles, const DeviceDenseRun& r,
                                   std::uint32_t what, std::uint32_t* words)
      : g(tiles), run(r), item(what), tile(what % tiles.count), board(words) {
    bundle_item = item - tile;
    lane = threadIdx.x % 32;
  }
  __device__ __forceinline__ std::uint32_t* reached(std::uint32_t of_tile) const {
    return run.reached + (bundle_item + of_tile) * kTileSites;
  }
  __device__ __forceinline__ std::size_t direction_stride() const {
    return static_cast<std::size_t>(g.count) * kTileSites;
  }
  __device__ __forceinline__ const std::uint32_t* open(int k, std::uint32_t of_tile) const {
    return run.open + bundle_item * kTileSites * kDim +
           static_cast<std::size_t>(k) * direction_stride() +
           static_cast<std::size_t>(of_tile) * kTileSites;
  }
  __device__ __forceinline__ const std::uint32_t* open_end() const {
    return run.open_end + bundle_item / g.count * g.ends;
  }
  __device__ __forceinline__ void wake(std::uint32_t of_tile) const {
    wake_tile(run.queue, run.state, item - tile + of_tile);
  }

  // Calls f(own local number, what the bond lets through, the neighbour's tile) for this lane's
  // share of the bonds to neighbouring tiles; f must not diverge.
  template <class F>
  __device__ __forceinline__ void for_each_border(F&& f) const {
    if constexpr (kDim >= 2) {
      const TileAt<kDim> at(g, tile);
      const std::uint32_t left = at.tile_with(0, at.behind(0)),
                          right = at.tile_with(0, at.ahead(0));
      const unsigned left_last = at.last(0, at.behind(0)), last = at.last(0, at.at[0]);
      f(lane * 32, __ldcg(reached(left) + lane * 32 + left_last),
        open(0, left)[left_last * 32 + lane], left);
      f(lane * 32 + last, __ldcg(reached(right) + lane * 32), open(0, tile)[last * 32 + lane],
        right);
#pragma unroll
      for (int k = 1; k < kDim; ++k) {
        using Shape = TileShape<kDim>;
        const std::uint32_t low = at.tile_with(k, at.behind(k)),
                            high = at.tile_with(k, at.ahead(k));
        const unsigned low_up = at.last(k, at.behind(k)) * Shape::stride(k);
        const unsigned up = at.last(k, at.at[k]) * Shape::stride(k);
#pragma unroll
        for (unsigned face = 0; face < 32 / Shape::length(k); ++face) {
          const unsigned row = Shape::face_row(k, face);
          f(row * 32 + lane, __ldcg(reached(low) + (row + low_up) * 32 + lane),
            open(k, low)[(row + low_up) * 32 + lane], low);
          f((row + up) * 32 + lane, __ldcg(reached(high) + row * 32 + lane),
            open(k, tile)[(row + up) * 32 + lane], high);
        }
      }
    }
  }

  // Adds what the neighbours have reached; whether that is new here.
  __device__ __forceinline__ bool pull() const {
    std::uint32_t gained = 0;
    for_each_border(
        [&](std::uint32_t local, std::uint32_t far, std::uint32_t through, std::uint32_t) {
          const std::uint32_t gain = far & through;
          // Lanes of one call have words of their own; a later call may have the same word.
          gained |= gain & ~atomicOr(&on_board(board, local), gain);
        });
    const std::uint32_t last = g.end_first[2 * tile + 2];
    for (std::uint32_t e = g.end_first[2 * tile + 1] + lane; e < last; e += 32) {
      const TileEnd end = g.end[e];
      const std::uint32_t gain =
          open_end()[e] & __ldcg(reached(end.far_tile) + (end.near_far >> 10));
      if (gain != 0) gained |= gain & ~atomicOr(&on_board(board, end.near_far & 1023u), gain);
    }
    __syncwarp();
    return __any_sync(~0u, gained);
  }

  // Once over the listed bonds within the tile; whether any was crossed.
  __device__ __forceinline__ bool cross_inner() const {
    std::uint32_t gained = 0;
    const std::uint32_t last = g.end_first[2 * tile + 1];
    for (std::uint32_t e = g.end_first[2 * tile] + lane; e < last; e += 32) {
      std::uint32_t& near = on_board(board, g.end[e].near_far & 1023u);
      std::uint32_t& far = on_board(board, g.end[e].near_far >> 10);
      const std::uint32_t a = atomicOr(&near, 0u), b = atomicOr(&far, 0u);
      const std::uint32_t gain = (a ^ b) & open_end()[e];
      if (gain == 0) continue;
      atomicOr(&near, gain);
      atomicOr(&far, gain);
      gained = 1;
    }
    __syncwarp();
    return __any_sync(~0u, gained);
  }

  // Queues the tiles that lack something that this one has.
  __device__ __forceinline__ void push() const {
    for_each_border([&](std::uint32_t local, std::uint32_t far, std::uint32_t through,
                        std::uint32_t neighbour) {
      const bool gains = (on_board(board, local) & through & ~far) != 0;
      if (__any_sync(~0u, gains) && lane == 0) wake(neighbour);
    });
    const std::uint32_t last = g.end_first[2 * tile + 2];
    for (std::uint32_t e = g.end_first[2 * tile + 1] + lane; e < last; e += 32) {
      const TileEnd end = g.end[e];
      const std::uint32_t out = open_end()[e] & on_board(board, end.near_far & 1023u);
      if (out == 0) continue;
      if ((out & ~__ldcg(reached(end.far_tile) + (end.near_far >> 10))) != 0) wake(end.far_tile);
    }
  }

  __device__ __forceinline__ void run_to_fixed_point(bool fresh) const {
    std::uint32_t* own = reached(tile);
#pragma unroll
    for (unsigned j = 0; j < 32; ++j) {
      board[j * 33 + lane] = __ldcg(own + j * 32 + lane);
    }
    TileBonds<kDim> bonds;
    if constexpr (kDim > 0) bonds.load(open(0, tile), direction_stride());
    __syncwarp();
    bool grew = pull();
    do {
      if constexpr (kDim > 0) grew = close_tile<kDim>(board, bonds) || grew;
      if (!cross_inner()) break;
      grew = true;
    } while (true);
    if (!grew && !fresh) return;
    if (grew) {
#pragma unroll
      for (unsigned j = 0; j < 32; ++j) __stcg(own + j * 32 + lane, board[j * 33 + lane]);
    }
    __threadfence();
    __syncwarp();
    push();
    __syncwarp();
  }
};

template <int kDim>
__global__ void __launch_bounds__(kWarps * 32, kDim <= 2   ? 4
                                               : kDim == 3 ? 3
                                                           : 2)
    grow_tiles(const __grid_constant__ DeviceTiles g, const __grid_constant__ DeviceDenseRun run) {
  __shared__ std::uint32_t boards[kWarps][kBoard];
  std::uint32_t item;
  bool fresh;
  while (take_tile(run.queue, run.state, item, fresh)) {
    Visit<kDim>(g, run, item, boards[threadIdx.x / 32]).run_to_fixed_point(fresh);
    leave_tile(run.queue, run.state, item);
  }
}

struct SitePlace {
  std::uint32_t tile, local, slot;
};

__device__ SitePlace place_site(const DeviceTiles& g, std::uint32_t site) {
  const DeviceLattice& lattice = g.lattice;
  if (lattice.dim == 0) {
    return {site / kTileSites, site % kTileSites, lattice.colour_base[0] + site};
  }
  const std::uint32_t extent[4] = {lattice.extent0, lattice.extent1, lattice.extent2,
                                   lattice.extent3};
  const std::uint32_t along[4] = {g.along0, g.along1, g.along2, g.along3};
  const std::uint32_t rows[3] = {lattice.dim == 2 ? 32u : lattice.dim == 3 ? 8u : 4u, 4u, 2u};
  SitePlace place{0, 0, 0};
  std::uint32_t rest = site, colour = 0, tile_stride = 1, local_stride = 1;
  for (int k = 0; k < lattice.dim; ++k) {
    const std::uint32_t at = rest % extent[k];
    const std::uint32_t length = lattice.dim == 1 ? kTileSites : k == 0 ? 32u : rows[k - 1];
    rest /= extent[k];
    colour += at;
    place.tile += at / length * tile_stride;
    place.local += at % length * local_stride;
    tile_stride *= along[k];
    local_stride *= length;
  }
  place.slot = lattice.colour_base[colour & 1u] + site / 2;
  return place;
}

// A warp per bundle, a lane per replica.
__global__ void begin_update(const __grid_constant__ DeviceTiles g,
                             const __grid_constant__ DeviceDenseRun run) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t b = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (b >= run.bundles) return;
  const std::uint32_t who = run.first + b;
  const std::uint32_t active = run.active == nullptr ? ~0u : run.active[who];
  const std::uint32_t step = run.steps == nullptr ? run.step : run.steps[who];
  const std::uint32_t seed = wolff_seed_site({run.seed, who, step}, lane, g.lattice.sites);
  const SitePlace place = place_site(g, seed);
  const auto vec = static_cast<std::uint32_t>(run.vec);
  const std::uint32_t word =
      run.spins[(static_cast<std::size_t>(who / vec) * g.lattice.words + place.slot) * vec +
                who % vec];
  const std::uint32_t seed_spin = __ballot_sync(~0u, (word >> lane & 1u) != 0);
  if (lane == 0) run.seed_spin[b] = seed_spin;
  if ((active >> lane & 1u) == 0) return;
  const std::uint32_t item = b * g.count + place.tile;
  atomicOr(run.reached + static_cast<std::size_t>(item) * kTileSites + place.local, 1u << lane);
  wake_tile(run.queue, run.state, item, kTileFresh);
}

// A warp per tile and pack of bundles.
template <int kDim, int kVec>
__global__ void __launch_bounds__(kWarps * 32)
    flip_reached(const __grid_constant__ DeviceTiles g,
                 const __grid_constant__ DeviceDenseRun run) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t tile = blockIdx.x * kWarps + threadIdx.x / 32;
  if (tile >= g.count) return;
  const std::uint32_t b = blockIdx.y * kVec;
  bool touched[kVec], any = false;
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    touched[v] = run.state[(b + static_cast<unsigned>(v)) * g.count + tile] != 0;
    any = any || touched[v];
  }
  if (!any) return;
  std::uint32_t* spins =
      run.spins + static_cast<std::size_t>((run.first + b) / kVec) * g.lattice.words * kVec;
  Counter<6> count[kVec];
  const TileSites<kDim> sites(g, tile);
#pragma unroll 4
  for (unsigned j = 0; j < 32; ++j) {
    Pack<kVec> gain;
    std::uint32_t any_gain = 0;
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      std::uint32_t* at =
          run.reached +
          (static_cast<std::size_t>(b + static_cast<unsigned>(v)) * g.count + tile) * kTileSites +
          j * 32 + lane;
      gain.w[v] = touched[v] ? __ldcg(at) : 0;
      if (gain.w[v] != 0) *at = 0;
      any_gain |= gain.w[v];
    }
    std::uint32_t site, slot;
    if (!sites.find(j, lane, site, slot)) any_gain = 0;
    if (any_gain != 0) {
      Pack<kVec> own = load<kVec>(spins + static_cast<std::size_t>(slot) * kVec);
#pragma unroll
      for (int v = 0; v < kVec; ++v) {
        own.w[v] ^= gain.w[v];
        count[v].add(gain.w[v]);
      }
      store<kVec>(spins + static_cast<std::size_t>(slot) * kVec, own);
    }
  }
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    if (!touched[v]) continue;
    const unsigned flipped = count[v].of_lane();
    if (flipped != 0) {
      atomicAdd(run.flipped +
                    static_cast<std::size_t>(run.first + b + static_cast<unsigned>(v)) * kReplicas +
                    lane,
                static_cast<unsigned long long>(flipped));
    }
    __syncwarp();
    if (lane == 0) run.state[(b + static_cast<unsigned>(v)) * g.count + tile] = 0;
  }
}

template <int kDim>
void grow(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream) {
  int device = 0, multiprocessors = 0, per = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, grow_tiles<kDim>, kWarps * 32, 0));
  const std::uint64_t most = (std::uint64_t{run.bundles} * g.count + kWarps - 1) / kWarps;
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(
      most, static_cast<std::uint64_t>(multiprocessors) * static_cast<unsigned>(std::max(per, 1))));
  launch(grow_tiles<kDim>, {blocks, kWarps * 32}, stream, g, run);
}

template <int kDim>
void flip(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream) {
  const auto vec = static_cast<unsigned>(run.vec);
  const dim3 blocks((g.count + kWarps - 1) / kWarps, run.bundles / vec);
  if (vec == 4) {
    flip_reached<kDim, 4><<<blocks, kWarps * 32, 0, stream>>>(g, run);
  } else {
    flip_reached<kDim, 1><<<blocks, kWarps * 32, 0, stream>>>(g, run);
  }
  check_cuda(cudaGetLastError(), "launching the flips of Wolff clusters");
}

}  // namespace

void launch_dense_begin(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream) {
  for (std::uint32_t* counter : {run.queue.head, run.queue.tail, run.queue.busy}) {
    check_cuda(cudaMemsetAsync(counter, 0, sizeof(*counter), stream), "clearing a queue");
  }
  launch(begin_update, cover(std::uint64_t{run.bundles} * 32, 128), stream, g, run);
}

void launch_dense_grow(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream) {
  switch (g.lattice.dim) {
    case 0:
      return grow<0>(g, run, stream);
    case 1:
      return grow<1>(g, run, stream);
    case 2:
      return grow<2>(g, run, stream);
    case 3:
      return grow<3>(g, run, stream);
    default:
      return grow<4>(g, run, stream);
  }
}

void launch_dense_flip(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream) {
  switch (g.lattice.dim) {
    case 0:
      return flip<0>(g, run, stream);
    case 1:
      return flip<1>(g, run, stream);
    case 2:
      return flip<2>(g, run, stream);
    case 3:
      return flip<3>(g, run, stream);
    default:
      return flip<4>(g, run, stream);
  }
}

void launch_dense_wolff(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream) {
  launch_dense_begin(g, run, stream);
  launch_dense_draw(g, run, stream);
  launch_dense_grow(g, run, stream);
  launch_dense_flip(g, run, stream);
}

}  // namespace rewise::bundle
