// Modified cells of a rewired lattice (modified.hpp): a warp takes 128 consecutive ones, whose 32
// calls of Philox its lanes make together; a lane visits every 32nd of them, all four at once.
#include "src/bitlattice/kernels.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bitlattice {
namespace {

constexpr unsigned kThreads = 256, kWarps = kThreads / 32;
constexpr unsigned kAtOnce = 4, kWarpCells = 32 * kAtOnce;
constexpr unsigned kUsual = 2;  // far neighbours that are read without waiting for others

// Lists are read once an update: they leave the second-level cache to the spins.
template <class T>
__device__ __forceinline__ T read_once(const T* at) {
  return __ldcs(at);
}

// Up to kAtOnce cells of a lane, whose reads do not wait for each other.
struct LaneCells {
  std::uint32_t place[kAtOnce], own[kAtOnce];
  Neighbours around[kAtOnce];
};

// Cells begin, begin + 32, .. below cells.count; the others have no neighbours.
template <int kDim>
__device__ __forceinline__ LaneCells read_cells(const Layout& g, const ModifiedCells& cells,
                                                const std::uint32_t* spins, std::uint64_t begin) {
  LaneCells out;
  std::uint32_t there[kAtOnce], first[kAtOnce], count[kAtOnce];
#pragma unroll
  for (unsigned n = 0; n < kAtOnce; ++n) {
    const std::uint64_t cell = begin + 32 * n;
    out.place[n] = there[n] = first[n] = count[n] = 0;
    if (cell >= cells.count) continue;
    out.place[n] = read_once(cells.place + cell);
    there[n] = read_once(cells.near + cell);
    first[n] = read_once(cells.first + cell);
    count[n] = read_once(cells.first + cell + 1) - first[n];
  }
  std::uint32_t far[kAtOnce][kUsual];
#pragma unroll
  for (unsigned n = 0; n < kAtOnce; ++n) {
#pragma unroll
    for (unsigned k = 0; k < kUsual; ++k) {
      far[n][k] = k < count[n] ? read_once(cells.far + first[n] + k) : 0;
    }
  }
#pragma unroll
  for (unsigned n = 0; n < kAtOnce; ++n) {
    std::uint32_t near[2 * kDim];
    near_places<kDim>(g, out.place[n], near);
    out.own[n] = bit_at(spins, out.place[n]);
    Neighbours& around = out.around[n];
    around.degree = static_cast<std::uint32_t>(__popc(there[n])) + count[n];
#pragma unroll
    for (int k = 0; k < 2 * kDim; ++k) around.up += there[n] >> k & bit_at(spins, near[k]);
#pragma unroll
    for (unsigned k = 0; k < kUsual; ++k) {
      if (k < count[n]) around.up += bit_at(spins, far[n][k]);
    }
  }
#pragma unroll
  for (unsigned n = 0; n < kAtOnce; ++n) {
    for (std::uint32_t k = kUsual; k < count[n]; ++k) {
      out.around[n].up += bit_at(spins, read_once(cells.far + first[n] + k));
    }
  }
  return out;
}

__device__ __forceinline__ std::uint64_t first_of_warp() {
  return (std::uint64_t{blockIdx.x} * kWarps + threadIdx.x / 32) * kWarpCells;
}

template <int kDim>
__global__ void __launch_bounds__(kThreads)
    update_cells(const __grid_constant__ Layout g, const __grid_constant__ ModifiedCells cells,
                 const __grid_constant__ ModifiedUpdate update, std::uint32_t* spins) {
  alignas(16) __shared__ std::uint32_t drawn[kWarps][kWarpCells];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::uint64_t begin = first_of_warp();
  if (begin >= cells.count) return;
  const LaneCells mine = read_cells<kDim>(g, cells, spins, begin + lane);
  const Words4 words = update.words(static_cast<std::uint32_t>(begin) + 4 * lane);
  reinterpret_cast<uint4*>(drawn[warp])[lane] =
      make_uint4(words.w[0], words.w[1], words.w[2], words.w[3]);
  __syncwarp();
#pragma unroll
  for (unsigned n = 0; n < kAtOnce; ++n) {
    if (begin + 32 * n + lane >= cells.count) break;
    if (!update.flips(mine.around[n], mine.own[n], drawn[warp][32 * n + lane])) continue;
    atomicXor(spins + mine.place[n] / 32, 1u << mine.place[n] % 32);
  }
}

template <int kDim>
__global__ void __launch_bounds__(kThreads)
    count_cells(const __grid_constant__ Layout g, const __grid_constant__ ModifiedCells cells,
                const std::uint32_t* spins, unsigned long long* sum) {
  __shared__ unsigned total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  const LaneCells mine = read_cells<kDim>(g, cells, spins, first_of_warp() + threadIdx.x % 32);
  unsigned unequal = 0;
#pragma unroll
  for (unsigned n = 0; n < kAtOnce; ++n) {
    unequal += mine.around[n].unequal(mine.own[n]);
  }
  unequal = __reduce_add_sync(~0u, unequal);
  if (threadIdx.x % 32 == 0) atomicAdd(&total, unequal);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, static_cast<unsigned long long>(total));
}

LaunchShape shape_of(const ModifiedCells& cells) {
  return cover((std::uint64_t{cells.count} + kAtOnce - 1) / kAtOnce, kThreads);
}

}  // namespace

void launch_modified(const Layout& g, const ModifiedCells& cells, const ModifiedUpdate& update,
                     std::uint32_t* spins, cudaStream_t stream) {
  if (cells.count == 0) return;
  with_lattice_dim(g.dim, [&]<int kDim>() {
    launch(update_cells<kDim>, shape_of(cells), stream, g, cells, update, spins);
  });
}

void launch_count_modified(const Layout& g, const ModifiedCells& cells, const std::uint32_t* spins,
                           unsigned long long* sum, cudaStream_t stream) {
  if (cells.count == 0) return;
  with_lattice_dim(g.dim, [&]<int kDim>() {
    launch(count_cells<kDim>, shape_of(cells), stream, g, cells, spins, sum);
  });
}

}  // namespace rewise::bitlattice
