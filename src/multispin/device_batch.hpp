// The graphs of a batch on one CUDA device, with their spins: queues the kernels of whole ranges of
// graphs on one stream and waits only where a caller needs numbers.
//
// A few cycles are captured once, with step numbers counted from a number on the device, and
// replayed: a sweep costs the host nothing. Within them small systems do their sweeps in a row in a
// block's shared memory; of others the regular and the modified cells of a colour run side by side.
// Short cycles are captured with the measurements after them; what several have counted is made
// into sums on the device, in the order in which series keep them, and fetched in one copy, while
// the host has what was measured before.
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
#include "src/engine/pieces.hpp"
#include "src/multispin/batch_cuda.hpp"
#include "src/multispin/device_graphs.hpp"
#include "src/multispin/exchange_cuda.hpp"
#include "src/multispin/swendsen_wang/device_swendsen_wang.hpp"
#include "src/multispin/wolff/device_wolff.hpp"

namespace rewise::multispin {

class DeviceBatch {
 public:
  // Error(device) where the device's memory is too small: how much is needed, what to reduce.
  // What `engines` refer to must outlive the batch's work.
  DeviceBatch(std::vector<EngineView> engines, const EngineOptions& options);
  ~DeviceBatch();

  int device() const { return device_; }
  const EngineOptions& options() const { return options_; }
  Pace pace;  // of whatever ran last
  std::uint32_t graphs() const { return graphs_->graphs(); }

  // The tables of cluster updates, where the schedule has some and there are none yet.
  void prepare(const Schedule& schedule);
  // Before updates of another kind, which the engines say.
  void drop_cluster_tables();
  // Queues `cycles` cycles of a range of graphs from step `step` on.
  void run(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
           std::uint64_t cycles);

  // Sums of some measurements, of each graph [measurement][replica]; those of graphs that were not
  // measured mean nothing. Valid until the next ones on that shelf.
  enum Kind : std::size_t {
    kBondSum,
    kMagnetisation,
    kClusters,  // sites flipped by Wolff updates; or of Swendsen-Wang updates sum n^2
    kQuarticLow,
    kQuarticHigh,  // the halves of 3 (sum n^2)^2 - 2 sum n^4
    kCross,        // with weights: sum n w
    kWeightSquare  // and sum w^2
  };
  struct Sums {
    const std::byte* data;
    SumLayout layout;
    // Empty where there are none of this kind.
    template <class T>
    NarrowSpan<T> of(std::size_t graph, Kind kind) const {
      if (kind >= layout.kinds) return {};
      return {data + layout.place(graph, kind), std::size_t{layout.slots} * layout.replicas,
              layout.bytes[kind]};
    }
  };
  // Queues a measurement, which takes over the cluster sums so far.
  void measure(const GraphRange& range);
  // The same of the products of replicas 2k and 2k + 1, all couplings taken as 1: of replica 2k the
  // sum over bonds is their link overlap, the magnetisation minus their overlap.
  void measure_products(const GraphRange& range);
  // Queues the taking over of the cluster sums alone.
  void close_clusters(const GraphRange& range);
  // Of the measurements, and of cluster sums over so many updates. Waits.
  Sums fetch(std::uint64_t updates);

  // Measurements by the group: each is a slot of one of two shelves, of which one is filled while
  // the host reads the other.
  std::size_t slots() const { return slots_; }  // of a shelf
  void begin_group(std::size_t shelf);
  // Queues, `slots` times, `every` cycles of a range of graphs, from step `step` on, and a
  // measurement. `again`: groups like this one follow.
  void sample(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
              std::uint64_t every, std::size_t slots, std::size_t shelf, bool again);
  // `updates`: cluster updates of a measurement.
  void end_group(std::size_t slots, std::size_t shelf, std::uint64_t updates);
  Sums take_group(std::size_t shelf);  // waits for it
  // Sites that Wolff updates flipped in a graph, of a group that was taken: once for each of its
  // graphs.
  std::uint64_t take_flipped(std::size_t graph, const Sums& sums);
  // The device's time for a group that was taken, and for one of its measurements.
  double group_seconds(std::size_t shelf) const {
    return shelves_[shelf].ended.seconds_since(shelves_[shelf].begun);
  }
  double measure_seconds(std::size_t shelf) const {
    return shelves_[shelf].measured.seconds_since(shelves_[shelf].measuring);
  }
  void end_groups();  // after the last one
  void wait();
  cudaStream_t stream() const { return stream_.get(); }

  // Replica exchange of some graphs: what the device counts, to the host and back. They wait.
  using Exchanges = std::span<const std::pair<std::uint32_t, ReplicaExchange*>>;
  void fetch_exchanges(Exchanges of_graphs);
  void send_exchanges(Exchanges of_graphs);

  // One word group's words, in slot order; `word_group` counts through the batch. They wait.
  void read_words(std::size_t word_group, std::span<std::uint32_t> out);
  void write_words(std::size_t word_group, std::span<const std::uint32_t> words);
  void start(std::size_t word_group, const GroupStart& from);  // queues it
  // All word groups of a graph.
  DeviceSpins device_spins(std::uint32_t graph);
  // Waits. [2][replicas of a graph] on the device, until the next call: HasDeviceSpins.
  std::int64_t* measure_on_device(std::uint32_t graph, const SumUnits& units);
  void wait_for_readers() const {
    choose();
    check_cuda(cudaDeviceSynchronize(), "waiting for readers of spins");
  }

 private:
  void check_memory() const;
  void begin_piece();  // what the device is busy with until a wait, for a profile
  void end_piece();
  void count_clusters(const GraphRange& range, std::uint64_t updates);
  void replay(const GraphRange& range, const Schedule& schedule, std::uint64_t cycles);
  const CudaGraph& captured(const GraphRange& range, const Schedule& schedule,
                            std::uint32_t cycles);
  // All of a group but its first measurement, where that is few enough launches; or nothing.
  const CudaGraph* captured_group(const GraphRange& range, const Schedule& schedule,
                                  std::uint64_t every, std::size_t shelf);
  // By range, M, W, cycles; shelf + 1 with measurements.
  using Captured = std::tuple<GraphRange, std::uint32_t, std::uint32_t, std::uint64_t, std::size_t>;
  template <class F>
  const CudaGraph& captured_as(const Captured& what, const F& queue);
  void queue_cycles(const GraphRange& range, const Schedule& schedule, std::uint32_t cycles);
  // Cycles from step *step_ + step on; their end, which is left for others to add to *step_.
  std::uint32_t queue_steps(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
                            std::uint32_t cycles);
  void queue_sweeps(const GraphRange& range, std::uint32_t step, std::uint32_t count);
  void queue_sweep(const GraphRange& range, std::uint32_t step);
  bool is_swendsen_wang() const {
    return engines_.front().spec.cluster == ClusterUpdate::swendsen_wang;
  }
  // Launches, about, of the cluster updates of a cycle.
  std::uint64_t cluster_launches(std::uint32_t updates) const;
  // Of a cycle's cluster updates as many as are captured in one CUDA graph.
  std::uint32_t updates_together(std::uint32_t updates) const;
  void queue_measurement(const GraphRange& range, std::size_t slot, std::size_t shelf);
  void make_exchange();
  // The exchange step *step_, which it adds to it.
  void queue_exchange(const GraphRange& range);
  void queue_clusters(const GraphRange& range, std::size_t slot, std::size_t shelf);
  // Room for the sums of all slots, of the kinds that there are now.
  void make_shelves();
  std::size_t kinds() const {
    return swendsen_wang_ ? 2 + swendsen_wang_->kinds() : wolff_ ? 3 : 2;
  }
  SumLayout layout(std::size_t slots, std::uint64_t updates) const;
  // Where a kind of counts of a slot begins.
  std::size_t place(std::size_t slot, std::size_t kind) const {
    return (slot * kinds_ + kind) * replicas_;
  }
  std::uint32_t* group_words(std::size_t word_group);
  void choose() const { check_cuda(cudaSetDevice(device_)); }

  const EngineOptions options_;
  const int device_;
  const std::vector<EngineView> engines_;
  CudaStream stream_;
  CudaBranch branch_;  // modified cells, beside the regular ones
  CudaEvent begun_{true}, ended_{true};
  bool busy_ = false;  // begun_ is recorded
  bool lent_ = false;  // spins, to readers outside
  std::unique_ptr<DeviceGraphs> graphs_;
  std::unique_ptr<DeviceWolffBatch> wolff_;
  std::unique_ptr<SwendsenWangBatch> swendsen_wang_;
  std::size_t replicas_ = 0;  // of the whole batch
  DeviceBuffer<std::uint32_t> spins_, step_, apart_;
  std::optional<std::uint32_t> next_step_;  // what step_ will hold after what is queued
  struct Shelf {
    DeviceBuffer<unsigned long long> counts;  // [slots()][kinds_][replicas]
    SumLayout layout{};
    DeviceBuffer<std::byte> sums;
    PinnedBuffer<std::byte> fetched;  // likewise, on the host; or more
    CudaEvent begun{true}, ended{true}, measuring{true}, measured{true}, copied;
  };
  Shelf shelves_[2];
  std::size_t slots_ = 0, kinds_ = 0;         // that they have room for
  DeviceBuffer<std::int64_t> bonds_;          // [graphs]
  std::int64_t most_bonds_ = 0;               // of a graph
  std::vector<unsigned long long> flipped_;   // by Wolff updates of groups, [replicas]
  DeviceBuffer<unsigned long long> counted_;  // once measure_on_device() was called: [2][replicas]
  DeviceBuffer<std::int64_t> of_graph_;       // of a graph, the sums from these
  DeviceBuffer<std::uint32_t> products_;      // once measured
  struct Exchange {
    DeviceBuffer<ExchangeRule> rules;               // [graphs][T - 1]
    DeviceBuffer<std::uint32_t> mask, walker;       // DeviceExchange
    DeviceBuffer<unsigned long long> counts, sums;  // sums: [2][replicas]
    std::vector<std::uint32_t> walkers;             // as fetched
    std::vector<unsigned long long> counted;
  } exchange_;
  std::map<std::pair<Captured, unsigned>, CudaGraph> captured_;  // and forms of Wolff updates
};

}  // namespace rewise::multispin
