// Engines that run at the same time, such as tasks of a study that fill a device together. On the
// CPU, and for engines that cannot share launches, a batch is a loop over its engines. The
// multispin engine on CUDA runs many graphs per launch. Results equal those of each engine alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/base/narrow.hpp"
#include "src/engine/engine.hpp"

namespace rewise {

// Consecutive measurements of an engine, as views of external arrays. Each column is [count][values
// of one measurement], or empty.
struct Samples : Columns<NarrowSpan> {
  Samples() = default;
  Samples(const Observation& one)  // NOLINT: a single measurement
      : cluster_updates(one.cluster_updates) {
    for_each_column([](const ColumnInfo&, auto& view, const auto& values) { view = values; }, *this,
                    one);
  }

  std::size_t count = 1;
  std::uint64_t cluster_updates = 0;  // per measurement
};

// Receives the measurements of the engine with index `i` in `engines`, in order, while the engines
// compute the next ones.
using SampleSink = std::function<void(std::size_t i, const Samples& some)>;

struct BatchTask {
  const Graph& graph;
  EngineSpec spec;
};

// Limits of a batch whose graphs share launches on a CUDA device.
inline constexpr std::size_t kMaxBatch = 256;       // graphs
inline constexpr std::uint32_t kMaxGroups = 65535;  // word groups of 32 replicas, over all graphs

class EngineBatch {
 public:
  virtual ~EngineBatch() = default;

  virtual std::size_t size() const = 0;
  virtual Engine& engine(std::size_t k) = 0;

  // Changes the cluster update of all engines, which must have no pending cluster sums. The result
  // equals that of new engines with the restored states. Returns false if new engines are required.
  virtual bool change_cluster(ClusterUpdate) { return false; }

  // Prepares the data for updates of this schedule. Without this call the first update prepares
  // them.
  virtual void prepare(const Schedule&) {}

  // Runs `cycles` cycles of the engines with indices `engines` (ascending). Returns which of them
  // finished. After one engine has been stopped, others may not start.
  virtual std::vector<bool> advance(std::span<const std::size_t> engines, const Schedule& schedule,
                                    std::uint64_t cycles);
  // Runs `every` cycles and a measurement, `count` times, of the engines with indices `engines`.
  // Returns the number of measurements of each, which is less than `count` if it was stopped.
  virtual std::vector<std::size_t> sample(std::span<const std::size_t> engines,
                                          const Schedule& schedule, std::uint64_t every,
                                          std::size_t count, const SampleSink& sink);
  // sample() that returns the measurements, [engines][number].
  std::vector<std::vector<Observation>> sample(std::span<const std::size_t> engines,
                                               const Schedule& schedule, std::uint64_t every,
                                               std::size_t count);
};

// A batch whose engines run one after the other.
std::unique_ptr<EngineBatch> make_plain_batch(std::vector<std::unique_ptr<Engine>> engines);

}  // namespace rewise
