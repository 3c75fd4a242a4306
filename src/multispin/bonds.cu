// Marks removed lattice bonds (bonds_cuda.hpp).
#include "src/multispin/bonds_cuda.hpp"

namespace rewise::multispin {
namespace {

__global__ void mark_gone(const __grid_constant__ DeviceBonds bonds, const std::uint32_t* bond,
                          const std::uint32_t* first, std::uint32_t* gone) {
  const std::uint32_t graph = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= first[graph + 1] - first[graph]) return;
  const std::uint32_t number = bond[first[graph] + i];
  if (number >= bonds.lattice.bonds()) return;
  atomicOr(gone + graph * bonds.gone_words + number / 32, 1u << number % 32);
}

}  // namespace

void launch_mark_gone(const DeviceBonds& bonds, const std::uint32_t* bond,
                      const std::uint32_t* first, std::uint32_t most, std::uint32_t* gone,
                      cudaStream_t stream) {
  if (most == 0 || bonds.lattice.dim == 0) return;
  launch(mark_gone, cover_each(bonds, most), stream, bonds, bond, first, gone);
}

}  // namespace rewise::multispin
