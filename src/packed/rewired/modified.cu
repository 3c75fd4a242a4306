// Modified cells of a rewired lattice (modified.hpp): a warp takes 128 consecutive ones, whose 32
// calls of Philox its lanes make together; a lane visits every 32nd of them, all four at once.
#include "src/cuda/launch.hpp"
#include "src/packed/kernels.hpp"

namespace rewise::packed {
namespace {

constexpr unsigned kThreads = 256, kWarps = kThreads / 32;
constexpr unsigned kAtOnce = 4, kWarpCells = 32 * kAtOnce;
constexpr unsigned kUsual = 4;  // neighbours that most cells have, read without waiting for others

// Lists are read once an update: they leave the second-level cache to the spins.
__device__ __forceinline__ std::uint32_t read_once(const std::uint32_t* at) { return __ldcs(at); }

// Up to kAtOnce cells of a lane, whose reads do not wait for each other.
struct LaneCells {
  std::uint32_t place[kAtOnce], first[kAtOnce], degree[kAtOnce], own[kAtOnce], up[kAtOnce];

  // Cells begin, begin + 32, .. below cells.count; the others have no neighbours.
  __device__ __forceinline__ LaneCells(const ModifiedCells& cells, const std::uint32_t* spins,
                                       std::uint64_t begin) {
    std::uint32_t beside[kAtOnce][kUsual];
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
      const std::uint64_t cell = begin + 32 * n;
      place[n] = first[n] = degree[n] = 0;
      if (cell >= cells.count) continue;
      place[n] = read_once(cells.place + cell);
      first[n] = read_once(cells.first + cell);
      degree[n] = read_once(cells.first + cell + 1) - first[n];
    }
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
#pragma unroll
      for (unsigned k = 0; k < kUsual; ++k) {
        beside[n][k] = k < degree[n] ? read_once(cells.beside + first[n] + k) : 0;
      }
    }
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
      own[n] = bit_at(spins, place[n]);
      up[n] = 0;
#pragma unroll
      for (unsigned k = 0; k < kUsual; ++k) {
        if (k < degree[n]) up[n] += bit_at(spins, beside[n][k]);
      }
    }
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
      for (std::uint32_t k = kUsual; k < degree[n]; ++k) {
        up[n] += bit_at(spins, read_once(cells.beside + first[n] + k));
      }
    }
  }
  __device__ __forceinline__ std::uint32_t unequal(unsigned n) const {
    return own[n] != 0 ? degree[n] - up[n] : up[n];
  }
};

__device__ __forceinline__ std::uint64_t first_of_warp() {
  return (std::uint64_t{blockIdx.x} * kWarps + threadIdx.x / 32) * kWarpCells;
}

__global__ void __launch_bounds__(kThreads)
    update_cells(const __grid_constant__ ModifiedCells cells,
                 const __grid_constant__ ModifiedUpdate update, std::uint32_t* spins) {
  alignas(16) __shared__ std::uint32_t drawn[kWarps][kWarpCells];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::uint64_t begin = first_of_warp();
  if (begin >= cells.count) return;
  const LaneCells mine(cells, spins, begin + lane);
  const Words4 words = update.words(static_cast<std::uint32_t>(begin) + 4 * lane);
  reinterpret_cast<uint4*>(drawn[warp])[lane] =
      make_uint4(words.w[0], words.w[1], words.w[2], words.w[3]);
  __syncwarp();
#pragma unroll
  for (unsigned n = 0; n < kAtOnce; ++n) {
    const auto degree = static_cast<std::int32_t>(mine.degree[n]);
    const auto unequal = static_cast<std::int32_t>(mine.unequal(n));
    if (begin + 32 * n + lane >= cells.count) break;
    if (!happens(drawn[warp][32 * n + lane], update.flip[degree - 2 * unequal])) continue;
    atomicXor(spins + mine.place[n] / 32, 1u << mine.place[n] % 32);
  }
}

__global__ void __launch_bounds__(kThreads)
    count_cells(const __grid_constant__ ModifiedCells cells, const std::uint32_t* spins,
                unsigned long long* sum) {
  __shared__ unsigned total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  const LaneCells mine(cells, spins, first_of_warp() + threadIdx.x % 32);
  unsigned unequal = 0;
#pragma unroll
  for (unsigned n = 0; n < kAtOnce; ++n) unequal += mine.unequal(n);
  unequal = __reduce_add_sync(~0u, unequal);
  if (threadIdx.x % 32 == 0) atomicAdd(&total, unequal);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, static_cast<unsigned long long>(total));
}

LaunchShape shape_of(const ModifiedCells& cells) {
  return cover((std::uint64_t{cells.count} + kAtOnce - 1) / kAtOnce, kThreads);
}

}  // namespace

void launch_modified(const ModifiedCells& cells, const ModifiedUpdate& update, std::uint32_t* spins,
                     cudaStream_t stream) {
  if (cells.count == 0) return;
  launch(update_cells, cover((std::uint64_t{cells.count} + 3) / 4, kThreads), stream, cells, update,
         spins);
}

void launch_count_modified(const ModifiedCells& cells, const std::uint32_t* spins,
                           unsigned long long* sum, cudaStream_t stream) {
  if (cells.count == 0) return;
  launch(count_cells, shape_of(cells), stream, cells, spins, sum);
}

}  // namespace rewise::packed
