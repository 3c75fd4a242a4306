// Sweeps of large graphs: for each colour one launch for its regular cells and one for its modified
// cells.
#include "graphs/lattice.hpp"
#include "src/cuda/launch.hpp"
#include "src/multispin/local/local_cells.cuh"
#include "src/multispin/local/local_cuda.hpp"

namespace rewise::multispin {
namespace {

using namespace device;

// Blocks per multiprocessor, which limits the number of registers. Chosen by measurements of
// Metropolis in two dimensions; in four dimensions fewer fit.
constexpr unsigned regular_blocks(int dim, int vec) {
  return vec > 4 ? (dim == 4 ? 5 : 6) : vec > 1 ? 8 : 1;
}
constexpr unsigned modified_blocks(int vec) {
  return vec == 8 ? 4 : vec == 6 ? 5 : vec > 1 ? 7 : 1;
}

template <int kDim, int kVec, CellRule kRule, bool kSigned>
__global__ void __launch_bounds__(kThreads, regular_blocks(kDim, kVec))
    update_regular_cells(const __grid_constant__ DeviceLattice g,
                         const __grid_constant__ DeviceSweep sweep, int colour) {
  constexpr int kClasses = regular_classes(kDim, kRule);
  __shared__ Block<kVec, kClasses, kClasses> block;
  const BlockUpdate s = block_update<kVec>(sweep);
  load_regular_digits(s, block.regular);
  open_block(s, block);
  std::uint32_t* spins = sweep.spins + static_cast<std::size_t>(s.pack_index) * g.words * kVec;
  const std::uint32_t i = regular_place(g, colour, blockIdx.x * kThreads + threadIdx.x);
  OpenCell<kVec> open;
  if (i != kNoPlace) {
    open = regular_cell<kDim, kVec, kRule, kSigned>(g, s, block, colour, i, spins);
  }
  queue_up(block, open);
  decide_queue<true>(s, block, spins);
}

template <int kVec, CellRule kRule>
__global__ void __launch_bounds__(kThreads, modified_blocks(kVec))
    update_modified_cells(const __grid_constant__ DeviceCells cells,
                          const __grid_constant__ DeviceSweep sweep, std::uint32_t words,
                          int colour) {
  __shared__ ModifiedBlock<kVec, kRule> block;
  const std::uint32_t* range = cells.first + blockIdx.z * (cells.colours + 1) + colour;
  const std::uint32_t cell = range[0] + blockIdx.x * kThreads + threadIdx.x;
  const std::uint32_t last = range[1];
  const BlockUpdate s = block_update<kVec>(sweep);
  open_block(s, block);
  std::uint32_t* spins = sweep.spins + static_cast<std::size_t>(s.pack_index) * words * kVec;
  OpenCell<kVec> open;
  if (cell < last) open = any_modified_cell<kVec, kRule>(cells, s, block, cell, spins);
  queue_up(block, open);
  decide_queue<false>(s, block, spins);
}

LaunchShape shape_for(std::uint32_t items, const DeviceSweep& sweep) {
  LaunchShape shape{(items + kThreads - 1) / kThreads, kThreads};
  shape.blocks_y = sweep.word_groups / static_cast<unsigned>(sweep.vec);
  shape.blocks_z = sweep.graphs;
  return shape;
}

// In a field one kernel serves lattices with and without signs.
template <int kDim, int kVec>
auto regular_kernel(CellRule rule, bool is_signed) {
  return with_rule(rule, [&]<CellRule kRule>() {
    return is_signed || kRule == CellRule::in_field
               ? update_regular_cells<kDim, kVec, kRule, true>
               : update_regular_cells<kDim, kVec, kRule, kRule == CellRule::in_field>;
  });
}
template <int kVec>
auto modified_kernel(CellRule rule) {
  return with_rule(rule, [&]<CellRule kRule>() { return update_modified_cells<kVec, kRule>; });
}

}  // namespace

void launch_regular(const DeviceLattice& g, const DeviceSweep& sweep, int colour,
                    cudaStream_t stream) {
  if (g.dim == 0 || g.regular_most[colour] == 0) return;
  with_lattice_dim(g.dim, [&]<int kDim>() {
    with_vec(sweep.vec, [&]<int kVec>() {
      const auto kernel = regular_kernel<kDim, kVec>(sweep.rule, g.sign[0] != nullptr);
      launch(kernel, shape_for(g.regular_most[colour], sweep), stream, g, sweep, colour);
    });
  });
}

void launch_modified(const DeviceLattice& g, const DeviceCells& cells, const DeviceSweep& sweep,
                     int colour, std::uint32_t most, cudaStream_t stream) {
  if (most == 0) return;
  with_vec(sweep.vec, [&]<int kVec>() {
    launch(modified_kernel<kVec>(sweep.rule), shape_for(most, sweep), stream, cells, sweep, g.words,
           colour);
  });
}

}  // namespace rewise::multispin
