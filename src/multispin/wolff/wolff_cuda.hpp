// Sparse Wolff updates on the device (wolff.hpp says what they do; same bits).
//
// The replicas' bits are transposed into planes; a block, a multiprocessor's only one, then has as
// many replicas at a time as fit with their planes in shared memory (one of L = 1024 in 2D does,
// and two more stay in global memory), in slots that a warp each leads. What waits to be done are
// candidates: bonds from a site of the cluster to an unvisited one of the same spin. A warp draws
// for 32 of its candidates at a time, claims the sites that were hit by an atomic on their plane's
// word, and collects their candidates in turn; there is no barrier and no level. Who leads starts
// the updates, one after the other; surplus candidates go to the slot's pool, from which warps
// without work take them 32 at a time, whosever they are. No replica waits for another.
//
// Cost: some 1000 cycles of latency per step from site to site, more where links lead away, which
// several clusters at a time hide; about 12 warp instructions per flipped site.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/base/hd.hpp"
#include "src/multispin/device_layout.hpp"
#include "src/random/threshold.hpp"

namespace rewise::multispin {

// What the planes of all graphs of a launch share.
struct DeviceWolff {
  DeviceLattice lattice;
  std::uint32_t plane_words = 0;
};

// WolffGeometry on the device. Links (site, bond) of a special site fill a row, which one load of
// some lanes reads; its rest is kNoLink. A site with more links ends its row with (kMoreLinks, k),
// and more[k] holds their number, the links behind it.
struct DeviceWolffGraph {
  std::uint64_t seed;
  const uint2* special;  // [plane_words] (bit per site, special sites in earlier words)
  const uint2* row;      // [specials][link_row(dim)]
  const uint2* more;
};

RW_HD constexpr std::uint32_t link_row(int dim) { return dim == 4 ? 16 : 8; }
inline constexpr std::uint32_t kNoLink = ~0u, kMoreLinks = ~0u - 1;

// Candidates and pool chunks; all ones is no candidate.
inline constexpr std::uint32_t kChunk = 32;

struct DeviceWolffRun {
  const DeviceWolffGraph* graphs;    // [replicas / replicas_per_graph]
  std::uint32_t replicas_per_graph;  // 32 * word groups
  std::uint32_t replicas;            // of all graphs
  const std::uint32_t* first_step;   // on the device; the first update is step *first_step + step
  std::uint32_t step;
  std::uint32_t updates;           // of every replica
  const std::uint32_t* threshold;  // [word groups of all graphs] below certainty
  std::uint32_t* planes;           // [replicas][plane_words]
  // [slots of all blocks][pool_chunks][kChunk], all ones between launches
  uint2* pool;
  std::uint32_t pool_chunks;    // a power of two
  unsigned long long* flipped;  // [replicas] += flipped sites
  unsigned* progress;           // [1 + replicas] zero at the start
  // [word groups of all graphs] nonzero: the word group takes the dense form and is skipped; null:
  // none is.
  const std::uint32_t* dense;
};

// How the kernel runs on the current device for planes of this size.
struct WolffLaunch {
  unsigned blocks = 0, threads = 0;
  unsigned slots = 1;        // replicas that a block has at a time
  unsigned near = 0;         // the first of these have their planes in shared memory
  std::uint32_t buffer = 0;  // candidates per warp
  std::uint32_t parts = 1;   // a replica's updates are dealt out in so many parts
  std::size_t shared_bytes = 0;
  std::uint32_t pool_chunks = 0;

  RW_HD std::size_t pool_of_slot() const { return std::size_t{pool_chunks} * kChunk; }
  // As many slots as `most` allows, as many blocks as may be.
  void restrict_slots(std::size_t most);
};
// `bonds`: of the largest graph; `special_share`: of the sites, whose neighbours are listed.
WolffLaunch plan_wolff(int dim, std::uint32_t plane_words, std::uint32_t replicas,
                       std::uint64_t bonds, double special_share);

void launch_words_to_planes(const DeviceWolff& g, std::uint32_t word_groups, int vec,
                            const std::uint32_t* spins, std::uint32_t* planes, cudaStream_t stream);
void launch_planes_to_words(const DeviceWolff& g, std::uint32_t word_groups, int vec,
                            const std::uint32_t* planes, std::uint32_t* spins, cudaStream_t stream);
void launch_wolff(const DeviceWolff& g, const DeviceWolffRun& run, const WolffLaunch& plan,
                  cudaStream_t stream);

}  // namespace rewise::multispin
