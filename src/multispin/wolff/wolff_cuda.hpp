// Sparse Wolff updates on the device, equal to those of wolff.hpp bit for bit.
//
// The bits of the replicas are transposed into planes. There is one block per multiprocessor. It
// processes as many replicas at a time as have room for their planes in shared memory (at L = 1024
// in two dimensions: one, and two more in global memory). Each replica occupies a slot, which is
// led by one warp. A candidate is a bond from a site of the cluster to an unvisited site of the
// same spin. A warp makes the draws of 32 of its candidates at a time, adds the accepted sites to
// the cluster by an atomic operation on a word of the plane, and collects their candidates. There
// are no barriers and no levels. The leading warp starts the updates one after the other. Surplus
// candidates go to the pool of the slot, from which warps without work take chunks of 32, of any
// replica.
//
// Cost: about 1000 cycles of latency per step from site to site, more for shortcuts, hidden by
// several clusters in progress; about 12 warp instructions per flipped site.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/base/hd.hpp"
#include "src/multispin/bonds_cuda.hpp"
#include "src/multispin/layout_cuda.hpp"
#include "src/random/threshold.hpp"

namespace rewise::multispin {

// The geometry of planes, the same for all graphs of a launch.
struct DeviceWolff {
  DeviceLattice lattice;
  std::uint32_t plane_words = 0;
};

// WolffGeometry on the device. The links (site, bond) of a special site are stored in a row, padded
// with kNoLink, that several lanes read in one load. If a site has more links, its row ends with
// (kMoreLinks, k); more[k] holds the number of further links, which follow it.
struct DeviceWolffGraph {
  std::uint64_t seed;
  const uint2* special;  // [plane_words] (bit per site, special sites in earlier words)
  const uint2* row;      // [specials][link_row(dim)]
  const uint2* more;
};

RW_HD constexpr std::uint32_t link_row(int dim) { return dim == 4 ? 16 : 8; }
inline constexpr std::uint32_t kNoLink = ~0u, kMoreLinks = ~0u - 1;

// Number of candidates of a chunk of the pool. An entry of all ones is no candidate.
inline constexpr std::uint32_t kChunk = 32;

struct SparseWolffArgs {
  const DeviceWolffGraph* graphs;    // [replicas / replicas_per_graph]
  std::uint32_t replicas_per_graph;  // 32 * word groups
  std::uint32_t replicas;            // total of all graphs
  const std::uint32_t* first_step;   // on the device; the first update is step *first_step + step
  std::uint32_t step;
  std::uint32_t updates;           // per replica
  const std::uint32_t* threshold;  // [word groups of all graphs] below kCertain
  std::uint32_t* planes;           // [replicas][plane_words]
  // [slots of all blocks][pool_chunks][kChunk], all ones between launches
  uint2* pool;
  std::uint32_t pool_chunks;    // a power of two
  unsigned long long* flipped;  // [replicas] += flipped sites
  unsigned* progress;           // [1 + replicas] zero at the start
  // [word groups of all graphs] nonzero: the word group uses the dense form and is skipped. Null:
  // none is skipped.
  const std::uint32_t* dense;
};

// The launch configuration on the current device for planes of this size.
struct WolffLaunch {
  unsigned blocks = 0, threads = 0;
  unsigned slots = 1;        // replicas per block at a time
  unsigned near = 0;         // number of slots with planes in shared memory
  std::uint32_t buffer = 0;  // candidates per warp
  std::uint32_t parts = 1;   // the updates of a replica are divided into parts
  std::size_t shared_bytes = 0;
  std::uint32_t pool_chunks = 0;

  RW_HD std::size_t pool_of_slot() const { return std::size_t{pool_chunks} * kChunk; }
  // Reduces slots per block, then blocks, so that there are at most `most` slots in total.
  void restrict_slots(std::size_t most);
};
// `bonds`: number of bonds of the largest graph. `special_share`: share of special sites.
WolffLaunch choose_wolff_launch(int dim, std::uint32_t plane_words, std::uint32_t replicas,
                                std::uint64_t bonds, double special_share);

void launch_words_to_planes(const DeviceWolff& g, std::uint32_t word_groups, int vec,
                            const std::uint32_t* spins, std::uint32_t* planes, cudaStream_t stream);
void launch_planes_to_words(const DeviceWolff& g, std::uint32_t word_groups, int vec,
                            const std::uint32_t* planes, std::uint32_t* spins, cudaStream_t stream);
void launch_wolff(const DeviceWolff& g, const SparseWolffArgs& run, const WolffLaunch& shape,
                  cudaStream_t stream);

// Input and output of launch_wolff_rows(). The host makes the rows of sites that have more links
// than fit in a row; the device makes all others.
struct WolffRows {
  DeviceBonds bonds;
  const uint2* special = nullptr;        // [graphs][plane_words]
  const std::uint64_t* first = nullptr;  // [graphs] number of rows of earlier graphs
  std::uint32_t plane_words = 0;
  uint2* row = nullptr;            // output: [rows of all graphs][link_row(dim)]
  std::uint32_t* links = nullptr;  // output: [rows of all graphs] number of links
  // [made_rows][link_row(dim)] rows made by the host, and [made_rows] their row numbers.
  const uint2* made = nullptr;
  const std::uint64_t* made_to = nullptr;
  std::size_t made_rows = 0;
};
// `rows`: total number of rows.
void launch_wolff_rows(const WolffRows& g, std::size_t rows, cudaStream_t stream);

}  // namespace rewise::multispin
