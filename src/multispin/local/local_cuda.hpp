// Local updates on the device. The results equal those of local.hpp bit for bit.
//
// A block updates 128 sites of one colour, regular or modified, in kVec word groups. Two Philox
// calls (eight digits) decide nine of ten words. The other words are queued in shared memory with
// the bits of their counts and are decided by full warps afterwards, so that no warp waits for
// its slowest lane. Modified cells are sorted by degree: all lanes of a warp have the same degree,
// and the largest degrees, which take longest, come first. Cells with many classes do not use the
// queue. A thread writes its own cells and reads cells of other colours only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

#include "src/multispin/layout_cuda.hpp"
#include "src/multispin/rules.hpp"
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

// One sweep of a range of graphs. Pointers are to the data of the first graph.
struct DeviceSweep {
  DeviceThresholds thresholds;
  std::uint32_t* spins;
  const std::uint32_t* first_step;  // on the device; the sweep is step *first_step + step
  std::uint32_t step;
  std::uint32_t stream;  // random stream: local_stream()
  CellRule rule;
  std::int32_t field;         // h in units of 2^-20
  bool heat_bath;             // CellRule::in_field: Glauber, else Metropolis
  std::uint32_t graphs;       // at most kMaxGraphs
  std::uint32_t word_groups;  // of each graph
  int vec;
  DeviceSeeds seeds;
};

// Update the regular or the modified cells of one colour. `most`: largest number of modified cells
// of a graph. The two launches may run in any order or at the same time, because they write
// different cells of the colour and read other colours only.
void launch_regular(const DeviceLattice& lattice, const DeviceSweep& sweep, int colour,
                    cudaStream_t stream);
void launch_modified(const DeviceLattice& lattice, const DeviceCells& cells,
                     const DeviceSweep& sweep, int colour, std::uint32_t most, cudaStream_t stream);

// The launch configuration of resident sweeps: for small graphs, a block keeps the words of one or
// a few word groups in shared memory and makes any number of sweeps without another launch.
struct Residence {
  int vec = 0;  // word groups per block, 1 or few_of(vec); 0: do not use, because one launch per
                // colour is faster or the words do not fit
  unsigned threads = 0;  // per block
  std::size_t shared_bytes = 0;
};
// Chooses the configuration for the current device. `most_modified`: [colours] largest number of
// listed cells of a graph. `vec`: DeviceSweep::vec.
Residence choose_residence(const DeviceLattice& lattice,
                           std::span<const std::uint32_t> most_modified, std::uint32_t graphs,
                           std::uint32_t word_groups, int vec);

// Makes the sweeps of steps sweep.step .. sweep.step + sweeps - 1.
void launch_resident(const DeviceLattice& lattice, const DeviceCells& cells,
                     const DeviceSweep& sweep, const Residence& residence, std::uint32_t sweeps,
                     cudaStream_t stream);

}  // namespace rewise::multispin
