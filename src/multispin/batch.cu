#include "src/multispin/batch_cuda.hpp"

#include <algorithm>

#include "src/cuda/launch.hpp"
#include "src/multispin/rules.hpp"

namespace rewise::multispin {
namespace {

__global__ void set_step(std::uint32_t* step, std::uint32_t value) { *step = value; }
__global__ void add_steps(std::uint32_t* step, std::uint32_t steps) { *step += steps; }

__global__ void unpack_word_group(const std::uint32_t* packed, std::uint32_t words, int vec,
                                  std::uint32_t* unpacked) {
  const std::uint32_t slot = blockIdx.x * blockDim.x + threadIdx.x;
  if (slot < words) unpacked[slot] = packed[std::size_t{slot} * static_cast<unsigned>(vec)];
}
__global__ void pack_word_group(std::uint32_t* packed, std::uint32_t words, int vec,
                                const std::uint32_t* unpacked) {
  const std::uint32_t slot = blockIdx.x * blockDim.x + threadIdx.x;
  if (slot < words) packed[std::size_t{slot} * static_cast<unsigned>(vec)] = unpacked[slot];
}

__global__ void start_group(std::uint32_t* packed, int vec,
                            const __grid_constant__ DeviceLattice lattice, std::uint64_t seed,
                            std::uint32_t group, std::uint32_t hot_replicas) {
  const std::uint32_t site = blockIdx.x * blockDim.x + threadIdx.x;
  if (site >= lattice.sites) return;
  packed[std::size_t{lattice.slot_of(site)} * static_cast<unsigned>(vec)] =
      start_word(seed, group, site, hot_replicas);
}

__device__ __forceinline__ void put(const SumLayout& layout, std::byte* sums,
                                    std::uint32_t measurement, std::uint32_t graph,
                                    std::uint32_t kind, std::uint32_t which, std::int64_t value) {
  std::byte* const first = sums + layout.place(graph, kind);
  const std::size_t at = std::size_t{measurement} * layout.values(kind) + which;
  if (layout.bytes[kind] == 2) {
    reinterpret_cast<std::int16_t*>(first)[at] = static_cast<std::int16_t>(value);
  } else if (layout.bytes[kind] == 4) {
    reinterpret_cast<std::int32_t*>(first)[at] = static_cast<std::int32_t>(value);
  } else {
    reinterpret_cast<std::int64_t*>(first)[at] = value;
  }
}

// One value per thread; blockIdx.y is measurement and kind, blockIdx.z the graph.
__global__ void lay_out(const __grid_constant__ SumLayout layout, SumUnits units,
                        const std::int64_t* bonds, unsigned long long* counts, std::byte* sums) {
  const std::uint32_t r = blockIdx.x * blockDim.x + threadIdx.x, graph = blockIdx.z;
  if (r >= layout.replicas) return;
  const std::uint32_t measurement = blockIdx.y / layout.kinds, kind = blockIdx.y % layout.kinds;
  unsigned long long& count =
      counts[(std::size_t{blockIdx.y} * layout.graphs + graph) * layout.replicas + r];
  units.bonds = bonds[graph];
  std::int64_t value = kind == 0   ? units.bond_sum(count)
                       : kind == 1 ? units.magnetisation(count)
                                   : static_cast<std::int64_t>(count);
  if (units.unit != 1 && kind < 2) {  // with a field
    // The energy needs both counts: one thread clears them.
    if (kind == 1) return;
    unsigned long long& up = (&count)[std::size_t{layout.graphs} * layout.replicas];
    value = units.energy_sum(count, up);
    put(layout, sums, measurement, graph, 1, r, units.magnetisation(up));
    up = 0;
  }
  count = 0;
  const bool is_of_pairs = kind >= layout.pairs_from;
  if (is_of_pairs && r % 2 != 0) return;
  put(layout, sums, measurement, graph, kind, is_of_pairs ? r / 2 : r, value);
}

}  // namespace

void launch_set_step(std::uint32_t* step, std::uint32_t value, cudaStream_t stream) {
  launch(set_step, LaunchShape{1, 1}, stream, step, value);
}

void launch_add_steps(std::uint32_t* step, std::uint32_t steps, cudaStream_t stream) {
  launch(add_steps, LaunchShape{1, 1}, stream, step, steps);
}

void launch_unpack_word_group(const std::uint32_t* packed, std::uint32_t words, int vec,
                              std::uint32_t* unpacked, cudaStream_t stream) {
  launch(unpack_word_group, cover(words), stream, packed, words, vec, unpacked);
}

void launch_pack_word_group(std::uint32_t* packed, std::uint32_t words, int vec,
                            const std::uint32_t* unpacked, cudaStream_t stream) {
  launch(pack_word_group, cover(words), stream, packed, words, vec, unpacked);
}

void launch_start_group(std::uint32_t* packed, int vec, const DeviceLattice& lattice,
                        std::uint64_t seed, std::uint32_t group, std::uint32_t hot_replicas,
                        cudaStream_t stream) {
  launch(start_group, cover(lattice.sites), stream, packed, vec, lattice, seed, group,
         hot_replicas);
}

void launch_lay_out(const SumLayout& layout, SumUnits units, const std::int64_t* bonds,
                    unsigned long long* counts, std::byte* sums, cudaStream_t stream) {
  LaunchShape shape = cover(layout.replicas, std::min(layout.replicas, 256u));
  shape.blocks_y = layout.measurements * layout.kinds;
  shape.blocks_z = layout.graphs;
  launch(lay_out, shape, stream, layout, units, bonds, counts, sums);
}

}  // namespace rewise::multispin
