// What the Python module runs: one graph and an engine with its series, and whole runs as
// `rewise run` makes them. Nothing of Python here: bindings.hpp gives it a `listener`.
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
#include "src/store/task_file.hpp"
#include "src/study/halves.hpp"
#include "src/study/task.hpp"

namespace rewise::python {

// As `rewise run` has them, by the same names; words are checked by what the program checks with.
struct Settings {
  std::vector<double> temperatures;  // [T] J = k_B = 1
  ModelWords model;
  std::string schedule = "1:1", local = "auto", cluster;
  std::uint64_t replicas = 32;
  std::string start = "mixed";
  std::uint64_t seed = 1;
  std::string engine = "auto", device = "auto";
  std::uint64_t threads = 0;
  MethodWords methods;
  FewCluster few_cluster;                                 // of restored runs only
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

// Error(usage) for what is out of range; `graph` may be missing where the bitlattice engine needs
// none.
TaskSpec task_spec(const GraphSpec& lattice, const std::shared_ptr<const Graph>& graph,
                   const Settings& settings);
void check_whole(std::uint64_t value, std::uint64_t least, std::uint64_t most, const char* name);
// What files say of a graph that a rule built is the rule, as the program's own do.
TextMap configuration_of(TaskSpec spec);
// `cpu_seconds`: what it takes on the CPU, for device "auto".
EngineOptions engine_options(const TaskSpec& spec, const Settings& settings, double cpu_seconds);
inline bool on_device(const EngineOptions& options) {
  return !options.devices.empty() || options.device >= 0;
}

// What looks wrong with results, as `rewise run` says it.
Notes warnings_of(const TaskData& data);

// `rewise run` without its output: equal settings, equal trajectory hash. Error.
TaskData run(std::shared_ptr<const Graph> graph, const Settings& settings, const Listener& listener,
             Notes& notes);

// A run that its caller advances; who calls has its Turn.
class Simulation {
 public:
  Simulation(std::shared_ptr<const Graph> graph, const Settings& settings);
  // Goes on from a task file or a checkpoint; a cycle that this stands in is brought to its end.
  // Error(data, io).
  static std::unique_ptr<Simulation> restore(const std::string& path, const Settings& settings,
                                             const Listener& listener, Notes& notes);

  const TaskSpec& spec() const { return spec_; }
  // Built where the engine was made without. Error(usage): more sites than graphs have.
  const std::shared_ptr<const Graph>& graph();
  std::uint64_t sites() const { return data_.graph.sites; }
  std::uint64_t cycles() const { return cycles_; }  // without a Turn, too
  std::string device() const { return std::string(engine_->device()); }
  int threads() const { return engine_->threads(); }

  // A cycle that was interrupted is brought to its end first. Error(interrupted).
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
  std::uint64_t measured() const { return data_.bond_sum.time(); }  // and kept
  // The last one that was kept, [T*R] sums of bonds and of spins.
  NarrowSpan<std::int64_t> last_bond_sums() const {
    return data_.bond_sum.measurement(measured() - 1);
  }
  NarrowSpan<std::int64_t> last_magnetisations() const {
    return data_.magnetisation.measurement(measured() - 1);
  }
  void forget() { data_.shape_series(); }  // what was kept
  // All that was kept, with the state.
  TaskData data() const;
  void save(const std::string& path) const;

 private:
  friend class Turn;
  Simulation(std::shared_ptr<const Graph> graph, const TaskSpec& spec, const Settings& settings);
  HasDeviceSpins& device_engine();
  bool under_way() const;
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
  HasDeviceSpins* lent_ = nullptr;  // engine_, once others may read its spins
  std::int64_t* sums_ = nullptr;    // on its device, once measured there
  bool moved_ = false;              // since the last measurement
  std::atomic<std::uint64_t> cycles_{0};
  std::uint64_t every_ = 0;
  double pace_ = 0;   // seconds of a cycle, about
  double spent_ = 0;  // likewise of the one under way, so far
  TaskData data_;

  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};  // of it
  bool open_ = false;                     // the owner calls a listener, who may read
  std::atomic<bool> stop_{false};         // the engine is to stop within its cycle
  std::atomic<double> until_;             // now(), from which on it is, too
  std::mutex rest_mutex_;
  std::condition_variable rested_;
  bool working_ = false;  // the engine, beside the owner
};

// What a call does with a simulation.
enum class Access { reads, changes };

// Alone with a simulation, whatever other threads do. From within a call of the same thread, that
// is, of a signal handler, it can be read: it rests meanwhile, perhaps within a cycle. Error(usage)
// where it is to be changed there.
class Turn {
 public:
  Turn(Simulation& simulation, Access access);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Simulation& simulation_;
  const bool within_;
};

}  // namespace rewise::python
