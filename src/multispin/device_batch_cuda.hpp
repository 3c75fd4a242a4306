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

#include "src/cuda/device_stream.hpp"
#include "src/cuda/graph.hpp"
#include "src/engine/device_spins.hpp"
#include "src/engine/device_sums_cuda.hpp"
#include "src/engine/run_in_pieces.hpp"
#include "src/multispin/batch_exchange_cuda.hpp"
#include "src/multispin/measured_sums_cuda.hpp"
#include "src/multispin/swendsen_wang/swendsen_wang_batch_cuda.hpp"
#include "src/multispin/wolff/wolff_batch_cuda.hpp"

namespace rewise::multispin {

class DeviceBatch {
 public:
  // Throws Error(device) if the device's memory is too small; the message states the required
  // memory and what to reduce. The objects to which `engines` refer must outlive the batch.
  DeviceBatch(std::vector<EngineView> engines, const EngineOptions& options);
  ~DeviceBatch();

  int device() const { return device_.device(); }
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

  // The sums of measurements; those below are the first measurement of the first shelf.
  MeasuredSums& sums() {
    device_.use();
    return *sums_;
  }
  // Queues a measurement, which includes the cluster sums since the last one.
  void measure(const GraphRange& range);
  // Queues a measurement of the products of spins of replicas 2k and 2k + 1, with all couplings
  // taken as 1. For replica 2k the sum over bonds is then their link overlap, and the magnetisation
  // is minus their overlap.
  void measure_products(const GraphRange& range);
  // Queues a measurement of the words XORed with a mask. Mask `spins`: Layout::flip_mask, which
  // converts words to spins; the magnetisation is that of the spins. Mask `staggered`: the second
  // sublattice; the magnetisation is the staggered one (EngineSpec::staggered).
  enum class Mask { spins, staggered };
  void measure_masked(const GraphRange& range, Mask mask);
  // Queues a measurement of the cluster sums alone.
  void close_clusters(const GraphRange& range);
  // Waits for these measurements and returns their sums (MeasuredSums::end()).
  MeasuredSums::Sums fetch(std::uint64_t updates, bool energies = true);

  // Queues `every` cycles of a range of graphs and a measurement, `measurements` times, beginning
  // at step `step`, within a chunk of sums(). `again`: more chunks with the same arguments follow.
  void sample(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
              std::uint64_t every, std::size_t measurements, std::size_t shelf, bool again);
  // Number of sites that Wolff updates flipped in one graph of a chunk. Call it once per graph.
  std::uint64_t take_flipped(std::size_t graph, const MeasuredSums::Sums& sums);
  void end_chunks();  // call it after the last chunk
  void wait();
  cudaStream_t stream() const { return device_.get(); }

  // With replica exchange (EngineSpec::exchange) only.
  BatchExchange& exchange() {
    device_.use();
    return *exchange_;
  }

  // Copy the words of one word group, in slot order. `word_group` is its number in the batch. Both
  // wait.
  void read_words(std::size_t word_group, std::span<std::uint32_t> out);
  void write_words(std::size_t word_group, std::span<const std::uint32_t> words);
  // Queues kernels that set the first configuration of a graph.
  void start(std::uint32_t graph, std::uint32_t hot_replicas);
  // The spins of all word groups of a graph.
  DeviceSpins device_spins(std::uint32_t graph);
  // Measures and waits. Returns device memory, [2][replicas of a graph], valid until the next call
  // (see HasDeviceSpins).
  std::int64_t* measure_on_device(std::uint32_t graph, const SumUnits& units);
  void wait_for_readers() const { device_.wait_for_readers(); }

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
  void queue_measurement(const GraphRange& range, std::size_t measurement, std::size_t shelf);
  // Queues a measurement of words of the whole batch.
  void queue_counts(const GraphRange& range, const std::uint32_t* words, std::size_t measurement,
                    std::size_t shelf, bool with_signs);
  void measure_changed(const GraphRange& range, DeviceChange change);
  void queue_clusters(const GraphRange& range, std::size_t measurement, std::size_t shelf);
  // Allocates memory for the current kinds of sums.
  void make_room_for_sums();
  std::size_t kinds() const {
    return swendsen_wang_ ? 2 + swendsen_wang_->kinds() : wolff_ ? 3 : 2;
  }
  std::uint32_t* words_of(std::size_t word_group);

  const EngineOptions options_;
  const DeviceStream device_;
  const std::vector<EngineView> engines_;
  CudaBranch branch_;                 // for modified cells, concurrent with the regular ones
  bool has_outside_readers_ = false;  // code outside of the engine has addresses of the spins
  std::unique_ptr<DeviceGraphs> graphs_;
  std::unique_ptr<DeviceWolffBatch> wolff_;
  std::unique_ptr<SwendsenWangBatch> swendsen_wang_, houdayer_;
  std::size_t replicas_ = 0;  // of the whole batch
  DeviceBuffer<std::uint32_t> spins_, step_;
  DeviceBuffer<std::uint32_t> unpacked_group_;  // [words] of one word group, in slot order
  std::optional<std::uint32_t> next_step_;      // value of *step_ after all queued work
  std::optional<MeasuredSums> sums_;
  std::optional<BatchExchange> exchange_;
  std::vector<unsigned long long> flipped_;  // [replicas] sites flipped by Wolff updates
  // For measure_on_device(), allocated by its first call: counts, [2][replicas], and their sums.
  DeviceBuffer<unsigned long long> counted_;
  DeviceBuffer<std::int64_t> graph_sums_;
  // changed_: the words that measure_products() or measure_masked() computes and measures. masks_:
  // [graphs][slots], one array for each Mask. Allocated on first use.
  DeviceBuffer<std::uint32_t> changed_, masks_[2];
  // By key and form of the Wolff updates.
  std::map<std::pair<Captured, unsigned>, CudaGraph> captured_;
};

}  // namespace rewise::multispin
