// The graph as the updates read it, in the host's memory (graph_tables.hpp) or a device's
// (device_graph_cuda.hpp), and the replicas on a device. Views, passed to kernels by value: nothing
// here owns memory.
//
// Spins are bytes, 0 or 1 (Potts: 0 to q - 1), in site order. `stride` is the distance between
// replicas in bytes, a multiple of 256.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/bytespin/cells.hpp"
#include "src/bytespin/rules.hpp"
#include "src/cuda/device_part.hpp"

namespace rewise::bytespin {

// The numbers of a graph and its model.
struct GraphNumbers {
  Lattice lattice;                  // dim 0: imported, every site is modified
  std::uint32_t stride[kMaxDim]{};  // distance in sites between neighbours in each direction
  std::uint64_t sites = 0;
  std::uint32_t max_degree = 0;
  bool potts = false;
  std::uint32_t states = 2;  // 2, or the q of Potts
  BondDrawIndex bond_draw_index;
  SiteDrawIndex site_draw_index;
  std::uint64_t bond_draws = 0;  // number of draw indices of bonds
};

struct GraphView : GraphNumbers {
  const SiteMasks* site_masks = nullptr;   // [sites / 32 + 1]
  const std::uint64_t* offsets = nullptr;  // [modified + 1] into entries
  const CellBond* entries = nullptr;
  const IndexedBond* rewired = nullptr;  // [rewired_count]
  std::uint64_t rewired_count = 0;
  // On a device, per temperature t: bond[t]; flip[t * (2 max_degree + 1) + field_index()]; Potts:
  // flip and weight [t * (max_degree + 1) + n], as in Thresholds.
  const Threshold* flip = nullptr;
  const std::uint64_t* weight = nullptr;
  const Threshold* bond = nullptr;

  // Calls f(neighbour, draw index of the bond) for every bond of a site, the same from both ends.
  // kDim is lattice.dim, as a compile-time constant if the caller has one (with_dim() below).
  template <int kDim, class F>
  RW_HD void for_each_neighbour(Site site, F&& f) const {
    const SiteMasks masks = site_masks[site >> 5];
    const std::uint32_t bit = 1u << (site & 31u);
    if ((masks.modified & bit) != 0) {
      const std::uint32_t index = masks.index(bit);
      const std::uint64_t end = offsets[index + 1];
      for (std::uint64_t k = offsets[index]; k < end; ++k) {
        const CellBond entry = entries[k];
        f(entry.to, entry.draw_index());
      }
      return;
    }
    const bool edge = (masks.edge & bit) != 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k < kDim; ++k) {
      const Site ahead = edge ? lattice.forward(site, k) : site + stride[k];
      const Site back = edge ? lattice.backward(site, k) : site - stride[k];
      f(ahead, draw_index_of<kDim>(site, k));
      f(back, draw_index_of<kDim>(back, k));
    }
  }

  // The draw index of a lattice bond, as BondDrawIndex::lattice_bond().
  template <int kDim>
  static RW_HD std::uint64_t draw_index_of(Site site, int direction) {
    return (std::uint64_t{site >> 5} * kDim + static_cast<unsigned>(direction)) << 5 | (site & 31u);
  }
};

// Bytes between the spins of two replicas.
inline std::uint64_t replica_stride(std::uint64_t sites) { return (sites + 255) / 256 * 256; }

// The replicas of a task, numbered t * per_temperature + r, and their current step.
struct DeviceReplicas {
  std::uint64_t seed = 0;
  std::uint32_t count = 0;  // replicas
  std::uint32_t per_temperature = 1;
  std::uint32_t step = 0;         // of the first update that a kernel makes
  std::uint64_t stride = 0;       // bytes between the spins of two replicas
  std::uint8_t* spins = nullptr;  // [replicas][stride], the first `sites` of a stride are spins
  // [replicas] cluster sums since the last measurement. Wolff: sizes of flipped clusters;
  // Swendsen-Wang: sum n^2; few-cluster: its estimate.
  unsigned long long* pending = nullptr;
  // [replicas][low, high] Swendsen-Wang: 3 (sum n^2)^2 - 2 sum n^4 likewise; few-cluster: number of
  // visited sites, 0.
  unsigned long long* quartic = nullptr;
  DevicePart part = {};  // the part of every replica that the device updates

  // These replicas without the restriction to a part.
  DeviceReplicas whole() const {
    DeviceReplicas all = *this;
    all.part = {};
    return all;
  }
  // Converts the block index of a launch with `of_replica` blocks per whole replica.
  ReplicaBlocks blocks(std::uint64_t of_replica) const { return {of_replica, count, part}; }

  RW_HD std::uint8_t* spins_of(std::uint32_t replica) const {
    return spins + static_cast<std::size_t>(replica) * stride;
  }
  RW_HD std::uint32_t temperature(std::uint32_t replica) const { return replica / per_temperature; }
  // The key of draws in the update `ahead` steps after `step`.
  RW_HD DrawKey key(std::uint32_t replica, std::uint32_t ahead = 0) const {
    return {seed, replica, step + ahead};
  }
};

}  // namespace rewise::bytespin
