// The runs of the Python module: a Simulation, which its caller advances, and whole runs like those
// of `rewise run`. This code does not depend on Python; a Listener connects long calls to the
// interpreter (bindings.hpp).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "src/engine/device_spins.hpp"
#include "src/engine/engine.hpp"
#include "src/engine/factory.hpp"
#include "src/results/hot_cold.hpp"
#include "src/results/run_check.hpp"
#include "src/settings/config.hpp"
#include "src/settings/task_request.hpp"
#include "src/store/task_file.hpp"

namespace rewise::python {

// The settings of `rewise run`, with the same names and checks.
struct Settings {
  TaskRequest task;                       // without its graph
  std::optional<TemperatureRange> range;  // in place of temperatures; only with exchange
  std::string device = "auto";
  std::uint64_t threads = 0;
  MethodTexts methods;
  std::string out;  // path of the task file; "": none
};

// Callbacks of a long call. The calling thread calls `done` between steps with the number of cycles
// since the last call. Any thread may call `interrupted`, between steps and within long ones; it
// returns whether to end early.
struct Listener {
  std::function<void(std::uint64_t cycles)> done;
  std::function<bool()> interrupted;
};

// One warning per line, for users.
using Notes = std::vector<std::string>;

// Throws Error(usage) for invalid settings. Chooses the temperatures of a range by a scan
// (exchange_ladder.hpp).
TaskSpec task_spec(const std::shared_ptr<const Graph>& graph, const Settings& settings);
// The configuration that files store, as those of `rewise run`. A graph that was built by a rule is
// stored as that rule.
TextMap configuration_of(TaskSpec spec);
// `cpu_seconds`: estimated time on the CPU, for device "auto".
EngineOptions engine_options(const TaskSpec& spec, const Settings& settings, double cpu_seconds);
inline bool on_device(const EngineOptions& options) {
  return !options.devices.empty() || options.device >= 0;
}

// Warnings about the results, except undetermined_tau().
Notes notes_of(const CheckedRun& run);

// `rewise run` without its output: equal settings give an equal trajectory hash. Throws Error.
TaskData run(std::shared_ptr<const Graph> graph, const Settings& settings, const Listener& listener,
             Notes& notes);

// Throws Error(usage) unless the name of a task file ends in .h5.
void check_task_path(const std::string& path);

// A run that its caller advances. Callers must hold a SimulationLock.
class Simulation {
 public:
  Simulation(std::shared_ptr<const Graph> graph, const Settings& settings);
  // Continues from a task file or a checkpoint; completes a cycle in progress. Throws Error(data,
  // io).
  static std::unique_ptr<Simulation> restore(const std::string& path, const Settings& settings,
                                             const Listener& listener, Notes& notes);

  const TaskSpec& spec() const { return spec_; }
  // Built on request if the engine does not need a graph. Throws Error(usage) for more sites than a
  // graph can have.
  const std::shared_ptr<const Graph>& graph();
  std::uint64_t sites() const { return data_.graph.sites; }
  std::uint64_t cycles() const { return cycles_; }  // needs no SimulationLock
  std::string device() const { return std::string(engine_->device()); }
  int threads() const { return engine_->threads(); }

  // First completes a cycle that was interrupted. Throws Error(interrupted).
  void advance(std::uint64_t cycles, const Listener& listener);
  // Runs `every` cycles and keeps a measurement, `times` times.
  void record(std::uint64_t times, std::uint64_t every, const Listener& listener);
  // Measures all replicas and starts new cluster sums. The result is not kept.
  Observation measure(const Listener& listener);
  // [sites] of one replica: Ising 0 or 1, Potts 0..q-1.
  void spins(std::uint32_t temperature, std::uint32_t replica, std::span<std::uint8_t> out) const;
  // The spins on a CUDA device. They can be read until the next call that advances the simulation,
  // which waits for readers. Throws Error(device) on the CPU or if several devices share them.
  DeviceSpins device_spins();
  // Measures the sums of all replicas on the device: int64 [2][T][R], always at the same address.
  // Throws Error(device) like the above.
  void measure_on_device(const Listener& listener);
  std::int64_t* device_sums() const { return sums_; }
  std::vector<std::uint32_t> device_slots();  // HasDeviceSpins::device_slots()
  std::uint64_t trajectory_hash() const { return engine_->trajectory_hash(); }
  WorkCounters work() const { return engine_->work(); }
  // Comparison of ordered and random starts in the last `count` kept measurements.
  HotColdTest halves(std::uint64_t count) const;
  std::uint64_t measured() const { return data_.bond_sum.time(); }  // kept measurements
  // The last kept measurement: [T*R] sums of bonds and of spins.
  NarrowSpan<std::int64_t> last_bond_sums() const {
    return data_.bond_sum.measurement(measured() - 1);
  }
  NarrowSpan<std::int64_t> last_magnetisations() const {
    return data_.magnetisation.measurement(measured() - 1);
  }
  void forget() { data_.shape_series(); }  // drops the kept measurements
  // All kept measurements and the state.
  TaskData data() const;
  void save(const std::string& path) const;

 private:
  friend class SimulationLock;
  Simulation(std::shared_ptr<const Graph> graph, const TaskSpec& spec, const Settings& settings);
  HasDeviceSpins& device_engine();
  void arrive(const Listener& listener);
  void step(std::uint64_t cycles, const Listener& listener);
  bool work(std::uint64_t cycles);
  bool work_beside(const Listener& listener);
  template <class F>
  void listen(const F& f);
  bool interrupted(const Listener& listener);
  void rest();

  std::shared_ptr<const Graph> graph_;
  TaskSpec spec_;
  std::unique_ptr<Engine> engine_;
  HasDeviceSpins* lent_ = nullptr;  // engine_, once device_spins() has shared its spins
  std::int64_t* sums_ = nullptr;    // on its device, after measure_on_device()
  bool moved_ = false;              // since the last measurement
  std::atomic<std::uint64_t> cycles_{0};
  std::uint64_t every_ = 0;
  double pace_ = 0;   // estimated seconds of a cycle
  double spent_ = 0;  // seconds spent on the cycle in progress
  TaskData data_;

  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};  // thread that holds mutex_
  bool open_ = false;                     // the owner is calling a listener, which may read
  std::atomic<bool> stop_{false};         // the engine must stop within its cycle
  std::atomic<double> until_;             // now() from which the engine must stop
  std::mutex rest_mutex_;
  std::condition_variable rested_;
  bool working_ = false;  // the engine runs in another thread than the owner
};

// The kind of access of a call.
enum class Access { reads, changes };

// Exclusive access to a simulation. A signal handler or a progress function runs within a call of
// the same thread. It may read the simulation, which pauses meanwhile, possibly within a cycle;
// changing the simulation there throws Error(usage).
class SimulationLock {
 public:
  SimulationLock(Simulation& simulation, Access access);
  ~SimulationLock();
  SimulationLock(const SimulationLock&) = delete;
  SimulationLock& operator=(const SimulationLock&) = delete;

 private:
  Simulation& simulation_;
  const bool within_;
};

}  // namespace rewise::python
