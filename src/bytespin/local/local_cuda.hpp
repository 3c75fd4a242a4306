// Metropolis and Glauber sweeps on a CUDA device, equal bit for bit to those of local.hpp.
//
// Two kernels per colour (Hawick, Leist & Playne 2010, section 4). Unmodified cells compute their
// neighbours; a thread makes one Philox call and updates the four sites whose draws it holds, 32
// sites apart. Modified cells are sorted by degree and cut into slices of 32; the neighbours of a
// slice are stored column-wise, so that a warp reads whole cache lines and has one loop length.
// Here a Philox call serves one site. Potts needs two calls where Ising needs one; in its heat bath
// a warp processes each modified cell of large degree. A thread writes sites of one colour and
// reads those of the other.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "graphs/geometry.hpp"
#include "src/bytespin/graph_tables.hpp"
#include "src/bytespin/graph_view.hpp"
#include "src/cuda/device_arrays.hpp"

namespace rewise::bytespin {

// Modified cells by colour and degree, padded to whole slices of 32 per colour.
struct CellSlices {
  const Site* site = nullptr;             // [32 slices], kNoCell where padded
  const std::uint32_t* degree = nullptr;  // [32 slices]
  const std::uint64_t* offset =
      nullptr;  // [slices] neighbour j of cell 32 s + i: offset + 32 j + i
  const Site* neighbour = nullptr;
};
inline constexpr Site kNoCell = 0xFFFFFFFFu;  // site counts end at 2^32 - 1

// Potts, heat bath: the largest degree at which a thread keeps the neighbours sorted.
inline constexpr std::uint32_t kFewNeighbours = 8;

class LocalCuda {
 public:
  // `device` is the graph on the device; the constructor synchronises with the
  // stream. Stores the modified cells of `part`; its replicas must have this part.
  LocalCuda(const GraphTables& tables, const GraphView& device, LocalUpdate update,
            cudaStream_t stream, const DevicePart& part = {});

  // Bytes on the device.
  static std::uint64_t bytes(const GraphTables& tables);

  // Queues an update of the sites of one colour in the replicas' part. A sweep is all colours in
  // order.
  void sweep_colour(int colour, const DeviceReplicas& replicas, cudaStream_t stream) const;
  int colours() const { return colours_; }

  // sweep_colour() in two steps that may overlap, for a rank's part of a lattice: first the
  // modified cells and the planes of `plane` sites at both ends of the part, then all sites
  // between. Both steps process whole blocks of draws.
  void sweep_outer(int colour, const DeviceReplicas& replicas, std::uint64_t plane,
                   cudaStream_t stream) const;
  void sweep_inner(int colour, const DeviceReplicas& replicas, std::uint64_t plane,
                   cudaStream_t stream) const;

 private:
  void sort_cells(const GraphTables& tables, const DevicePart& part, cudaStream_t stream);
  // Calls f.operator()<Rule>() with the model's and the update's rule.
  template <class F>
  void with_rule(const F& f) const;
  template <class Rule>
  void sweep_regular(int colour, const DeviceReplicas& replicas, const ReplicaBlocks& blocks,
                     cudaStream_t stream) const;
  template <class Rule>
  void sweep_modified(int colour, const DeviceReplicas& replicas, cudaStream_t stream) const;

  const LocalUpdate update_;
  GraphView graph_;
  Geometry geometry_;
  int colours_;
  std::vector<std::uint32_t> first_slice_;  // [colours + 1]
  std::vector<std::uint32_t> first_wide_;   // [colours] the first cell of more than kFewNeighbours
  bool any_regular_ = false;
  CellSlices cells_;
  DeviceArrays memory_;  // to which cells_ points
};

}  // namespace rewise::bytespin
