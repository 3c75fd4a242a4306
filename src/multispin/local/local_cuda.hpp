// Local updates on the device (local.hpp says what they do; same bits).
//
// A block takes 128 sites of one colour, regular or modified, for kVec word groups. Two Philox
// calls (eight digits) decide nine words in ten; the rest is queued in shared memory with the
// planes of its counts and decided by full warps afterwards, so that no warp waits for its slowest
// lane. Modified cells are sorted by degree, which a warp shares, the largest first, since they
// take longest; those of many classes are decided at once. Every thread writes its own cell only
// and reads the other colours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

#include "src/multispin/device_layout.hpp"
#include "src/random/streams.hpp"

namespace rewise::multispin {

// Thresholds of all word groups: table[word group * stride + offset + class], and their 32 binary
// digits as words of zeros or ones: digit_table[(word group * stride + offset + class) * 32 +
// digit].
struct DeviceThresholds {
  const std::uint32_t* table;
  const std::uint32_t* digit_table;
  std::uint32_t stride;
  std::uint32_t regular;  // offset of degree 2 dim
};

// One sweep of a range of graphs; pointers are to the first of them.
struct DeviceSweep {
  DeviceThresholds thresholds;
  std::uint32_t* spins;
  const std::uint32_t* first_step;  // on the device; the sweep is step *first_step + step
  std::uint32_t step;
  std::uint32_t stream;       // of its draws: local_stream()
  bool downhill;              // certain_downhill()
  std::uint32_t graphs;       // at most kMostGraphs
  std::uint32_t word_groups;  // of each
  int vec;
  DeviceSeeds seeds;
};

// The regular cells of one colour, and the modified ones: `most` of a graph. Either order, or both
// at once: they write different cells of the colour and read the other colours.
void launch_regular(const DeviceLattice& lattice, const DeviceSweep& sweep, int colour,
                    cudaStream_t stream);
void launch_modified(const DeviceLattice& lattice, const DeviceCells& cells,
                     const DeviceSweep& sweep, int colour, std::uint32_t most, cudaStream_t stream);

// Sweeps of systems so small that the words of some of a graph's word groups fit in a block's
// shared memory: each block does any number of sweeps by itself.
struct Residence {
  int vec = 0;  // word groups per block, 1 or few_of(vec); 0: one launch per colour is faster, or
                // nothing fits
  unsigned threads = 0;  // of a block
  std::size_t shared_bytes = 0;
};
// On the current device. `most_modified`: listed cells of a graph, by colour; `vec` of the sweep.
Residence plan_residence(const DeviceLattice& lattice, std::span<const std::uint32_t> most_modified,
                         std::uint32_t graphs, std::uint32_t word_groups, int vec);

// Steps sweep.step .. sweep.step + sweeps - 1, all colours.
void launch_resident(const DeviceLattice& lattice, const DeviceCells& cells,
                     const DeviceSweep& sweep, const Residence& residence, std::uint32_t sweeps,
                     cudaStream_t stream);

}  // namespace rewise::multispin
