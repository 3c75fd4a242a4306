// The sums of measurements of a batch. A shelf has the counts of several measurements, into
// which kernels count; the device converts them into sums, and one copy fetches these. There are
// two shelves: the device fills one while the host reads the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/narrow.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/graph.hpp"
#include "src/cuda/pinned_buffer.hpp"
#include "src/multispin/batch_cuda.hpp"
#include "src/multispin/device_graphs_cuda.hpp"

namespace rewise::multispin {

class MeasuredSums {
 public:
  // Kinds of sums, for each graph [measurement][replica]; undefined for graphs that were not
  // measured.
  enum Kind : std::size_t {
    kBondSum,
    kMagnetisation,
    kClusters,  // Wolff: sites flipped; Swendsen-Wang: sum of n^2 over clusters
    kQuarticLow,
    kQuarticHigh,   // low and high 64 bits of 3 (sum n^2)^2 - 2 sum n^4
    kCross,         // graphs with weights w: sum of n w
    kWeightSquare,  // likewise, sum of w^2
    kPairSize,      // of pairs of replicas: sum of n^2 over pairs of clusters
    kPairCross,     // likewise, graphs with weights: sum of n w
    kPairWeight     // likewise, sum of w^2
  };
  // Valid until the shelf is used again.
  struct Sums {
    const std::byte* data;
    SumLayout layout;
    // Empty if this kind was not measured.
    template <class T>
    NarrowSpan<T> values(std::size_t graph, Kind kind) const {
      if (kind >= layout.kinds) return {};
      return {data + layout.place(graph, kind),
              std::size_t{layout.measurements} * layout.values(kind), layout.bytes[kind]};
    }
  };

  // Waits for the stream. `engines` and `graphs` must outlive this object.
  MeasuredSums(std::span<const EngineView> engines, const DeviceGraphs& graphs,
               cudaStream_t stream);
  // The stream must have ended.
  ~MeasuredSums();
  MeasuredSums(const MeasuredSums&) = delete;
  MeasuredSums& operator=(const MeasuredSums&) = delete;

  // Bytes of the counts of a batch.
  static std::uint64_t bytes(std::uint64_t replicas);
  std::size_t measurements() const { return measurements_; }   // of a shelf
  const std::int64_t* bonds() const { return bonds_.data(); }  // [graphs] on the device

  // Makes room for `kinds` kinds. Returns whether the counts have new addresses.
  bool make_room(std::size_t kinds);
  // Lets the next make_room() choose a smaller number of kinds.
  void forget_kinds() { kinds_ = 0; }
  // The counts of a kind, [replicas of the batch], to which kernels add.
  unsigned long long* counts(std::size_t shelf, std::size_t measurement, std::size_t kind) {
    return shelves_[shelf].counts.data() + (measurement * kinds_ + kind) * replicas_;
  }

  // A chunk of measurements in a shelf: begin(), kernels that count, end(), which queues the sums,
  // and take(), which waits for them. `updates`: number of cluster updates before each measurement.
  // `energies`: in a field, kBondSum is minus the energy; else always the sum over bonds.
  void begin(std::size_t shelf) { shelves_[shelf].begun.record(stream_); }
  void end(std::size_t shelf, std::size_t measurements, std::uint64_t updates, bool energies);
  Sums take(std::size_t shelf) const;
  // Enclose one measurement of a chunk.
  void begin_one(std::size_t shelf) { shelves_[shelf].measuring.record(stream_); }
  void end_one(std::size_t shelf) { shelves_[shelf].measured.record(stream_); }
  // Seconds that the device spent on a chunk, and on this measurement.
  double chunk_seconds(std::size_t shelf) const {
    return shelves_[shelf].ended.seconds_since(shelves_[shelf].begun);
  }
  double measure_seconds(std::size_t shelf) const {
    return shelves_[shelf].measured.seconds_since(shelves_[shelf].measuring);
  }

 private:
  SumLayout layout(std::size_t measurements, std::uint64_t updates) const;

  struct Shelf {
    DeviceBuffer<unsigned long long> counts;  // [measurements_][kinds_][replicas_]
    SumLayout layout{};
    DeviceBuffer<std::byte> sums;
    PinnedBuffer<std::byte> fetched;  // copy of `sums` on the host; may be larger
    CudaEvent begun{true}, ended{true}, measuring{true}, measured{true}, copied;
  };
  const std::span<const EngineView> engines_;
  const DeviceGraphs& graphs_;
  const cudaStream_t stream_;
  const std::size_t replicas_;  // of the whole batch
  const std::size_t measurements_;
  std::size_t kinds_ = 0;
  DeviceBuffer<std::int64_t> bonds_;  // [graphs]
  std::int64_t most_bonds_ = 0;       // largest number of bonds of a graph
  Shelf shelves_[2];
};

}  // namespace rewise::multispin
