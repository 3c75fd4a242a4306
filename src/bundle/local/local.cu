#include "src/bundle/local/local_cells.cuh"
#include "src/bundle/local/local_cuda.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

template <int kDim, int kVec, bool kGlauber>
__global__ void __launch_bounds__(kThreads, kVec == 4 ? 8 : 1)
    update_regular_cells(const __grid_constant__ DeviceLattice g,
                         const __grid_constant__ DeviceSweep sweep, int colour) {
  __shared__ Block<kVec> block;
  const Settle s = settle_of<kVec>(sweep);
  load_regular_digits<kVec>(s, block.regular, kGlauber ? 2 * kDim + 1 : kDim);
  open_block(s, block);
  std::uint32_t* spins = sweep.spins + static_cast<std::size_t>(s.quad) * g.words * kVec;
  const std::uint32_t i = regular_place(g, colour, blockIdx.x * kThreads + threadIdx.x);
  if (i != kNoPlace) regular_cell<kDim, kVec, kGlauber>(g, s, block, colour, i, spins);
  settle_queue(s, block, spins);
}

template <int kVec>
__global__ void __launch_bounds__(kThreads, kVec == 4 ? 7 : 1)
    update_modified_cells(const __grid_constant__ DeviceCells cells,
                          const __grid_constant__ DeviceSweep sweep, std::uint32_t words,
                          int colour) {
  __shared__ Block<kVec> block;
  const std::uint32_t* range = cells.first + blockIdx.z * (cells.colours + 1) + colour;
  const std::uint32_t cell = range[0] + blockIdx.x * kThreads + threadIdx.x;
  const std::uint32_t last = range[1];
  const Settle s = settle_of<kVec>(sweep);
  open_block(s, block);
  std::uint32_t* spins = sweep.spins + static_cast<std::size_t>(s.quad) * words * kVec;
  if (cell < last) any_modified_cell<kVec>(cells, s, block, cell, spins);
  settle_queue(s, block, spins);
}

dim3 blocks_for(std::uint32_t items, const DeviceSweep& sweep) {
  return dim3((items + kThreads - 1) / kThreads, sweep.bundles / static_cast<unsigned>(sweep.vec),
              sweep.graphs);
}

template <int kDim, int kVec>
void launch_dim(const DeviceLattice& g, const DeviceSweep& sweep, int colour, cudaStream_t stream) {
  const dim3 blocks = blocks_for(g.regular_most[colour], sweep);
  if (sweep.stream == static_cast<std::uint32_t>(Stream::glauber)) {
    update_regular_cells<kDim, kVec, true><<<blocks, kThreads, 0, stream>>>(g, sweep, colour);
  } else {
    update_regular_cells<kDim, kVec, false><<<blocks, kThreads, 0, stream>>>(g, sweep, colour);
  }
}

template <int kVec>
void launch_vec(const DeviceLattice& g, const DeviceSweep& sweep, int colour, cudaStream_t stream) {
  switch (g.dim) {
    case 1:
      return launch_dim<1, kVec>(g, sweep, colour, stream);
    case 2:
      return launch_dim<2, kVec>(g, sweep, colour, stream);
    case 3:
      return launch_dim<3, kVec>(g, sweep, colour, stream);
    default:
      return launch_dim<4, kVec>(g, sweep, colour, stream);
  }
}

}  // namespace

void launch_regular(const DeviceLattice& g, const DeviceSweep& sweep, int colour,
                    cudaStream_t stream) {
  if (g.dim == 0 || g.regular_most[colour] == 0) return;
  if (sweep.vec == 4) {
    launch_vec<4>(g, sweep, colour, stream);
  } else {
    launch_vec<1>(g, sweep, colour, stream);
  }
  check_cuda(cudaGetLastError(), "launching the regular cells");
}

void launch_modified(const DeviceLattice& g, const DeviceCells& cells, const DeviceSweep& sweep,
                     int colour, std::uint32_t most, cudaStream_t stream) {
  if (most == 0) return;
  const dim3 blocks = blocks_for(most, sweep);
  if (sweep.vec == 4) {
    update_modified_cells<4><<<blocks, kThreads, 0, stream>>>(cells, sweep, g.words, colour);
  } else {
    update_modified_cells<1><<<blocks, kThreads, 0, stream>>>(cells, sweep, g.words, colour);
  }
  check_cuda(cudaGetLastError(), "launching the modified cells");
}

}  // namespace rewise::bundle
