// Owns the graphs of a batch in device memory, in the layout of layout_cuda.hpp, for sweeps and
// measurements. All graphs have the same lattice, or no lattice and the same number of sites.
// Memory per graph, in bytes: 4 per site if cells are modified, 1 per site with couplings of -1,
// 16 + 4 k per modified cell of degree k (padded to whole warps per degree), 16 per rewired bond;
// and 128 per threshold and word group.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "src/cuda/device_arrays.hpp"
#include "src/multispin/local/local_cuda.hpp"
#include "src/multispin/local/measure_cuda.hpp"
#include "src/multispin/multispin_engine.hpp"

namespace rewise::multispin {

// Graphs [first, first + count) of a batch.
struct GraphRange {
  std::uint32_t first = 0, count = 1;
  auto operator<=>(const GraphRange&) const = default;
};

class DeviceGraphs {
 public:
  // Copies all it needs and waits for the stream.
  DeviceGraphs(std::span<const EngineView> engines, cudaStream_t stream);

  std::uint32_t graphs() const { return static_cast<std::uint32_t>(seeds_.size()); }
  std::uint32_t word_groups() const { return word_groups_; }           // per graph
  std::uint32_t replicas() const { return word_groups_ * kReplicas; }  // per graph
  int vec() const { return vec_; }
  int colours() const { return colours_; }
  std::uint64_t sites() const { return lattice_.sites; }
  // Number of words of one graph; the first word of a graph has index graph * words().
  std::size_t words() const { return first_word(word_groups_, lattice_.words, vec_); }

  DeviceLattice lattice(const GraphRange& range) const;
  DeviceCells cells(const GraphRange& range) const;
  // The sweep at step *first_step + step. `spins`: those of the whole batch.
  DeviceSweep sweep(const GraphRange& range, std::uint32_t* spins, const std::uint32_t* first_step,
                    std::uint32_t step) const;
  // How sweeps run in shared memory, if the graphs are small enough.
  Residence residence(const GraphRange& range) const;
  std::uint32_t most_modified(int colour) const {
    return most_modified_[static_cast<std::size_t>(colour)];
  }
  // Queues the counts of a range of graphs: adds unsatisfied bonds and up spins,
  // [graphs][replicas], beginning with the first graph of the range. `spins`: words of the whole
  // batch. If not `with_signs`, all couplings count as 1.
  void measure(const GraphRange& range, const std::uint32_t* spins, unsigned long long* unsatisfied,
               unsigned long long* up, cudaStream_t stream, bool with_signs = true) const;
  DeviceSeeds seeds(const GraphRange& range) const;
  DevicePairs rewired_ends() const { return measurement_.pairs[1]; }

 private:
  void lay_lattice(std::span<const EngineView> engines, cudaStream_t stream);
  void lay_signs(std::span<const EngineView> engines, cudaStream_t stream);
  void lay_cells(std::span<const EngineView> engines, cudaStream_t stream);
  void lay_thresholds(std::span<const EngineView> engines, cudaStream_t stream);
  void lay_pairs(std::span<const EngineView> engines, cudaStream_t stream);

  std::uint32_t word_groups_ = 0;
  int vec_ = 1, colours_ = 2;
  LocalUpdate rule_;
  Model model_;
  std::vector<std::uint64_t> seeds_;
  DeviceLattice lattice_;
  DeviceCells cells_;
  DeviceThresholds thresholds_{};
  DeviceMeasurement measurement_;
  std::map<std::uint32_t, std::uint32_t> offset_of_degree_;  // in the thresholds of a word group
  std::vector<std::uint32_t> most_modified_;                 // [colours]
  DeviceArrays memory_;                                      // to which the structs above point
};

}  // namespace rewise::multispin
