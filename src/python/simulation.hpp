// What the Python module runs: one graph and an engine with its series, and whole runs as
// `rewise run` makes them. Nothing of Python here: bindings.hpp gives it a `listener`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/tasks/halves.hpp"
#include "experiments/tasks/task.hpp"
#include "src/engine/device_spins.hpp"
#include "src/engine/engine.hpp"
#include "src/store/task_file.hpp"

namespace rewise::python {

// As `rewise run` has them, by the same names; words are checked by what the program checks with.
struct Settings {
  std::vector<double> temperatures;  // [T] J = k_B = 1
  std::string model = "ising";
  std::uint64_t q = 2;
  std::string schedule = "1:1", local = "auto", cluster;
  std::uint64_t replicas = 32;
  std::string start = "mixed";
  std::uint64_t seed = 1;
  std::string engine = "auto", device = "auto";
  std::uint64_t threads = 0;
  std::string wolff_method, label_method;
  std::uint64_t equilibrate = 0, measure = 0, every = 1;  // of whole runs
  std::string out;                                        // task file to keep; "": none
};

// What a long call tells, between steps and by the thread that made it: cycles just done; and what
// it asks, between steps and within long ones, by any thread: whether it is to end early.
struct Listener {
  std::function<void(std::uint64_t cycles)> done;
  std::function<bool()> interrupted;
};

// One warning a line, for people.
using Notes = std::vector<std::string>;

// `rewise run` without its output: equal settings, equal trajectory hash. Error.
TaskData run(std::shared_ptr<const Graph> graph, const Settings& settings, const Listener& listener,
             Notes& notes);

// A run that its caller advances.
class Simulation {
 public:
  Simulation(std::shared_ptr<const Graph> graph, const Settings& settings);
  // Goes on from a task file or a checkpoint. Error(data, io).
  static std::unique_ptr<Simulation> restore(const std::string& path, const Settings& settings);

  const TaskSpec& spec() const { return spec_; }
  const std::shared_ptr<const Graph>& graph() const { return graph_; }
  std::uint64_t cycles() const { return cycles_; }
  std::string device() const { return std::string(engine_->device()); }
  int threads() const { return engine_->threads(); }

  // A cycle that was interrupted is brought to its end first.
  void advance(std::uint64_t cycles, const Listener& listener);
  // `times` times: `every` cycles, and a measurement that is kept.
  void record(std::uint64_t times, std::uint64_t every, const Listener& listener);
  // All replicas as they are; starts new cluster sums. Nothing is kept.
  Observation measure(const Listener& listener);
  // [sites] of one replica: Ising 0 or 1, Potts 0..q-1.
  void spins(std::uint32_t temperature, std::uint32_t replica, std::span<std::uint8_t> out) const;
  // Where they lie on a CUDA device, to be read there until the next call that advances, which
  // waits for readers. Error(device) on the CPU, and where several devices share them.
  DeviceSpins device_spins();
  // Sums of all replicas as they are, measured and left there: int64 [2][T][R], always in the same
  // place. Error(device) likewise.
  void measure_on_device(const Listener& listener);
  std::int64_t* device_sums() const { return sums_; }
  std::vector<std::uint32_t> device_slots();  // HasDeviceSpins::device_slots()
  std::uint64_t trajectory_hash() const { return engine_->trajectory_hash(); }
  Work work() const { return engine_->work(); }
  // Whether hot and cold starts agree in the last `count` measurements that were kept.
  HotCold halves(std::uint64_t count) const;
  std::uint64_t measured() const { return data_.energy.time(); }  // and kept
  // The last one that was kept, [T*R] sums of bonds and of spins.
  NarrowSpan<std::int64_t> last_bond_sums() const {
    return data_.energy.measurement(measured() - 1);
  }
  NarrowSpan<std::int64_t> last_magnetisations() const {
    return data_.magnetisation.measurement(measured() - 1);
  }
  void forget() { data_.shape_series(); }  // what was kept
  // All that was kept, with the state.
  TaskData data() const;
  void save(const std::string& path) const;

  std::mutex& mutex() { return mutex_; }

 private:
  Simulation(std::shared_ptr<const Graph> graph, TaskSpec spec, EngineOptions options);
  HasDeviceSpins& device_engine();
  bool advance_one(std::uint64_t cycles, const Listener& listener);

  std::shared_ptr<const Graph> graph_;
  TaskSpec spec_;
  std::unique_ptr<Engine> engine_;
  HasDeviceSpins* lent_ = nullptr;     // engine_, once others may read its spins
  std::int64_t* sums_ = nullptr;       // on its device, once measured there
  std::function<bool()> interrupted_;  // of the call under way; none: cycles are not interrupted
  bool within_cycle_ = false;          // the last one was interrupted
  bool moved_ = false;                 // since the last measurement
  std::uint64_t cycles_ = 0, every_ = 0;
  double pace_ = 0;  // seconds of a cycle, about
  TaskData data_;
  mutable std::mutex mutex_;
};

}  // namespace rewise::python
