// The graphs and spins of a batch on one CUDA device. Kernels for ranges of graphs are queued on
// one stream; the host waits only when a caller needs numbers.
//
// A few cycles are captured as a CUDA graph and replayed, so that sweeps cost no host time. Step
// numbers are relative to a counter on the device. On small lattices a launch makes several sweeps
// in the shared memory of its blocks; on larger ones the regular and the modified cells of a colour
// are updated concurrently. Short cycles are captured together with the measurements after them.
// The device turns the counts of several measurements into sums, in the order of the series. One
// copy fetches them while the host processes the previous ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/narrow.hpp"
#include "src/cuda/graph.hpp"
#include "src/cuda/pinned_stock.hpp"
#include "src/engine/device_spins.hpp"
#include "src/engine/device_sums.hpp"
#include "src/engine/run_in_pieces.hpp"
#include "src/multispin/batch_cuda.hpp"
#include "src/multispin/device_graphs.hpp"
#include "src/multispin/exchange_cuda.hpp"
#include "src/multispin/swendsen_wang/device_swendsen_wang.hpp"
#include "src/multispin/wolff/device_wolff.hpp"

namespace rewise::multispin {

class DeviceBatch {
 public:
  // Throws Error(device) if the device's memory is too small; the message states the required
  // memory and what to reduce. The objects to which `engines` refer must outlive the batch.
  DeviceBatch(std::vector<EngineView> engines, const EngineOptions& options);
  ~DeviceBatch();

  int device() const { return device_; }
  const EngineOptions& options() const { return options_; }
  StepSeconds step_seconds;  // of the last run
  std::uint32_t graphs() const { return graphs_->graphs(); }

  // Makes the tables of cluster updates, if the schedule needs them and they do not exist yet.
  void prepare(const Schedule& schedule);
  // Frees these tables. Call it before the engines change to another kind of cluster update.
  void drop_cluster_tables();
  // Queues cycles of a range of graphs, beginning at step `step`.
  void run(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
           std::uint64_t cycles);

  // Kinds of sums of measurements, for each graph [measurement][replica]; undefined for graphs that
  // were not measured. Valid until the shelf is used again.
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
  struct Sums {
    const std::byte* data;
    SumLayout layout;
    // Empty if this kind was not measured.
    template <class T>
    NarrowSpan<T> of(std::size_t graph, Kind kind) const {
      if (kind >= layout.kinds) return {};
      return {data + layout.place(graph, kind), std::size_t{layout.slots} * layout.values(kind),
              layout.bytes[kind]};
    }
  };
  // Queues a measurement, which includes the cluster sums since the last one.
  void measure(const GraphRange& range);
  // Queues a measurement of the products of spins of replicas 2k and 2k + 1, with all couplings
  // taken as 1. For replica 2k the sum over bonds is then their link overlap, and the magnetisation
  // is minus their overlap.
  void measure_products(const GraphRange& range);
  // Queues a measurement of the words XORed with a mask. Mask `spins`: Layout::turned, which
  // converts words to spins; the magnetisation is that of the spins. Mask `staggered`: the second
  // sublattice; the magnetisation is the staggered one (EngineSpec::staggered).
  enum class Mask { spins, staggered };
  void measure_masked(const GraphRange& range, Mask mask);
  // Queues a measurement of the cluster sums alone.
  void close_clusters(const GraphRange& range);
  // Waits for the measurements and returns their sums. `updates`: cluster updates in cluster sums.
  // `energies`: in a field, kBondSum is minus the energy; else always the sum over bonds.
  Sums fetch(std::uint64_t updates, bool energies = true);

  // Chunks of measurements. A chunk fills the slots of a shelf, one per measurement. There are two
  // shelves: the device fills one while the host reads the other.
  std::size_t slots() const { return slots_; }  // number of slots of a shelf
  void begin_chunk(std::size_t shelf);
  // Queues `every` cycles of a range of graphs and a measurement, `slots` times, beginning at step
  // `step`. `again`: more chunks with the same arguments follow.
  void sample(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
              std::uint64_t every, std::size_t slots, std::size_t shelf, bool again);
  // `updates`: number of cluster updates before each measurement.
  void end_chunk(std::size_t slots, std::size_t shelf, std::uint64_t updates, bool energies = true);
  Sums take_chunk(std::size_t shelf);  // waits for the chunk
  // Number of sites that Wolff updates flipped in one graph of a chunk returned by take_chunk().
  // Call it once per graph.
  std::uint64_t take_flipped(std::size_t graph, const Sums& sums);
  // Seconds that the device spent on a chunk, and on one of its measurements.
  double chunk_seconds(std::size_t shelf) const {
    return shelves_[shelf].ended.seconds_since(shelves_[shelf].begun);
  }
  double measure_seconds(std::size_t shelf) const {
    return shelves_[shelf].measured.seconds_since(shelves_[shelf].measuring);
  }
  void end_chunks();  // call it after the last chunk
  void wait();
  cudaStream_t stream() const { return stream_.get(); }

  // Copy the state of replica exchange of some graphs to the host and back. Both wait.
  using Exchanges = std::span<const std::pair<std::uint32_t, ReplicaExchange*>>;
  void fetch_exchanges(Exchanges of_graphs);
  void send_exchanges(Exchanges of_graphs);

  // Copy the words of one word group, in slot order. `word_group` is its number in the batch. Both
  // wait.
  void read_words(std::size_t word_group, std::span<std::uint32_t> out);
  void write_words(std::size_t word_group, std::span<const std::uint32_t> words);
  // Queues a kernel that sets the first configuration.
  void start(std::size_t word_group, const GroupStart& from);
  // The spins of all word groups of a graph.
  DeviceSpins device_spins(std::uint32_t graph);
  // Measures and waits. Returns device memory, [2][replicas of a graph], valid until the next call
  // (see HasDeviceSpins).
  std::int64_t* measure_on_device(std::uint32_t graph, const SumUnits& units);
  void wait_for_readers() const {
    choose();
    check_cuda(cudaDeviceSynchronize(), "waiting for readers of spins");
  }

 private:
  void check_memory() const;
  void count_clusters(const GraphRange& range, std::uint64_t updates);
  void replay(const GraphRange& range, const Schedule& schedule, std::uint64_t cycles);
  const CudaGraph& captured(const GraphRange& range, const Schedule& schedule,
                            std::uint32_t cycles);
  // The captured chunk without its first measurement; null if it has too many launches.
  const CudaGraph* captured_chunk(const GraphRange& range, const Schedule& schedule,
                                  std::uint64_t every, std::size_t shelf);
  // The key of a captured graph: range, M, W, Houdayer moves, cycles, and shelf + 1 (0 without
  // measurements).
  using Captured =
      std::tuple<GraphRange, std::uint32_t, std::uint32_t, bool, std::uint64_t, std::size_t>;
  template <class F>
  const CudaGraph& captured_as(const Captured& what, const F& queue);
  void queue_cycles(const GraphRange& range, const Schedule& schedule, std::uint32_t cycles);
  // Queues cycles that begin at step *step_ + step. Returns the step after them, relative to
  // *step_; the caller must add it to *step_.
  std::uint32_t queue_steps(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
                            std::uint32_t cycles);
  void queue_sweeps(const GraphRange& range, std::uint32_t step, std::uint32_t count);
  void queue_sweep(const GraphRange& range, std::uint32_t step);
  bool is_swendsen_wang() const {
    return engines_.front().spec.cluster == ClusterUpdate::swendsen_wang;
  }
  // Approximate number of launches of the cluster updates of a cycle, and of its Houdayer move.
  std::uint64_t cluster_launches(std::uint32_t updates) const;
  std::uint64_t cluster_launches(const Schedule& schedule) const {
    return cluster_launches(schedule.cluster) + (schedule.houdayer ? houdayer_->launches() : 0);
  }
  // Number of cluster updates of a cycle that are captured in one CUDA graph.
  std::uint32_t updates_together(std::uint32_t updates) const;
  void queue_measurement(const GraphRange& range, std::size_t slot, std::size_t shelf);
  void make_exchange();
  // Queues the exchange at step *step_ and increments *step_.
  void queue_exchange(const GraphRange& range);
  // Queues a measurement of products_ into the first slot, with all couplings taken as 1.
  void queue_changed(const GraphRange& range);
  void queue_clusters(const GraphRange& range, std::size_t slot, std::size_t shelf);
  // Allocates memory for the sums of all slots and of the current kinds.
  void make_shelves();
  std::size_t kinds() const {
    return swendsen_wang_ ? 2 + swendsen_wang_->kinds() : wolff_ ? 3 : 2;
  }
  SumLayout layout(std::size_t slots, std::uint64_t updates) const;
  // Index of the first count of a kind in a slot.
  std::size_t place(std::size_t slot, std::size_t kind) const {
    return (slot * kinds_ + kind) * replicas_;
  }
  std::uint32_t* words_of(std::size_t word_group);
  void choose() const { check_cuda(cudaSetDevice(device_)); }

  const EngineOptions options_;
  const int device_;
  const std::vector<EngineView> engines_;
  CudaStream stream_;
  CudaBranch branch_;                 // for modified cells, concurrent with the regular ones
  bool has_outside_readers_ = false;  // code outside of the engine has addresses of the spins
  std::unique_ptr<DeviceGraphs> graphs_;
  std::unique_ptr<DeviceWolffBatch> wolff_;
  std::unique_ptr<SwendsenWangBatch> swendsen_wang_, houdayer_;
  std::size_t replicas_ = 0;  // of the whole batch
  DeviceBuffer<std::uint32_t> spins_, step_;
  DeviceBuffer<std::uint32_t> unpacked_group_;  // [words] of one word group, in slot order
  std::optional<std::uint32_t> next_step_;      // value of *step_ after all queued work
  struct Shelf {
    DeviceBuffer<unsigned long long> counts;  // [slots()][kinds_][replicas]
    SumLayout layout{};
    DeviceBuffer<std::byte> sums;
    PinnedBuffer<std::byte> fetched;  // copy of `sums` on the host; may be larger
    CudaEvent begun{true}, ended{true}, measuring{true}, measured{true}, copied;
  };
  Shelf shelves_[2];
  std::size_t slots_ = 0, kinds_ = 0;        // for which the shelves have memory
  DeviceBuffer<std::int64_t> bonds_;         // [graphs]
  std::int64_t most_bonds_ = 0;              // largest number of bonds of a graph
  std::vector<unsigned long long> flipped_;  // [replicas] sites flipped by Wolff updates
  // For measure_on_device(), allocated by its first call: counts, [2][replicas], and their sums.
  DeviceBuffer<unsigned long long> counted_;
  DeviceBuffer<std::int64_t> of_graph_;
  // products_: the words that measure_products() or measure_masked() computes and measures. masks_:
  // [graphs][slots], one array for each Mask. Allocated on first use.
  DeviceBuffer<std::uint32_t> products_, masks_[2];
  struct Exchange {
    DeviceBuffer<ExchangeRule> rules;               // [graphs][T - 1]
    DeviceBuffer<std::uint32_t> mask, walker;       // DeviceExchange
    DeviceBuffer<unsigned long long> counts, sums;  // sums: [2][replicas]
    std::vector<std::uint32_t> walkers;             // copy of `walker` on the host
    std::vector<unsigned long long> counted;
  } exchange_;
  // By key and form of the Wolff updates.
  std::map<std::pair<Captured, unsigned>, CudaGraph> captured_;
};

}  // namespace rewise::multispin
