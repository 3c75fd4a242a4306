#include "src/python/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <utility>

#include "graphs/graph_io.hpp"
#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/memory_need.hpp"
#include "src/study/build_info.hpp"
#include "src/study/make_engine.hpp"
#include "src/study/task.hpp"

namespace rewise::python {
namespace {

constexpr double kSlice = 0.02;  // seconds of cycles between two calls of the listener
constexpr double kLong = 0.2;    // seconds of a cycle above which the listener is called meanwhile
constexpr std::chrono::milliseconds kLook{20};  // interval of these calls

}  // namespace

Simulation::Simulation(std::shared_ptr<const Graph> graph, const TaskSpec& spec,
                       const Settings& settings)
    : graph_(std::move(graph)), spec_(spec) {
  EngineOptions options = engine_options(spec_, settings, HUGE_VAL);
  check_memory(memory_need(spec_, options.threads, on_device(options), false));
  options.stop = [this] { return stop_ || now() > until_; };
  engine_ = make_engine(spec_.engine, needs_graph(spec_) ? graph_.get() : nullptr,
                        spec_.graph.extents, engine_spec(spec_), options);
  if (spec_.start_spins) engine_->write_spins(*spec_.start_spins);
  data_.configuration = configuration_of(spec_);
  data_.graph = needs_graph(spec_) ? graph_record(*graph_) : regular_record(spec_);
  data_.temperature = spec_.temperatures;
  data_.replicas = spec_.replicas;
  data_.shape_series();
  data_.provenance["start"] = utc_time();
}

Simulation::Simulation(std::shared_ptr<const Graph> graph, const Settings& settings)
    : Simulation(graph, task_spec(graph, settings), settings) {}

const std::shared_ptr<const Graph>& Simulation::graph() {
  if (!graph_) graph_ = std::make_shared<const Graph>(build_graph(spec_.graph));
  return graph_;
}

std::unique_ptr<Simulation> Simulation::restore(const std::string& path, const Settings& settings,
                                                const Listener& listener, Notes& notes) {
  auto stored = load_task(path, OpenAs::reader);
  if (!stored) throw Error(ExitCode::io, fmt::format("'{}' does not exist", path));
  for (const auto& warning : stored->warnings) notes.push_back("warning: " + warning);
  TaskData& data = stored->task;
  if (data.state.engine.empty()) {
    throw Error(ExitCode::data, fmt::format("'{}' has no state from which a simulation can "
                                            "continue",
                                            path));
  }
  TaskSpec spec = stored_spec(data);
  if (data.state.cycles < spec.warm_up.cycles) {
    throw Error(ExitCode::data, fmt::format("'{}' was written during its warm-up, which a "
                                            "Simulation cannot continue",
                                            path));
  }
  std::shared_ptr<const Graph> graph;
  spec.graph.extents = data.graph.extents;
  const bool regular = !spec.graph.extents.empty() && data.graph.p == 0;
  if (!regular || needs_graph(spec)) {
    std::ifstream file(stored->source, std::ios::binary);
    graph = std::make_shared<const Graph>(read_graph_h5(file, stored->source.string()));
    spec.graph = graph->spec();
    spec.imported = graph;
  } else {
    spec.graph.rule = parse_rule(data.graph.rule);
    spec.graph.seed = data.graph.seed;
  }
  check_task_engine(spec, SettingNames::arguments());
  // The caller decides what is measured.
  spec.equilibrate = spec.measure = 0;
  spec.cluster_pairs = false;
  std::unique_ptr<Simulation> simulation(new Simulation(graph, spec, settings));
  simulation->engine_->restore({data.state.engine, data.state.step, data.state.bytes});
  simulation->cycles_ = data.state.cycles;
  simulation->moved_ = true;
  if (data.bond_sum.time() > 0) simulation->every_ = spec.every;
  simulation->data_ = std::move(data);
  simulation->data_.state = {};
  simulation->data_.configuration.erase("sampling.within_cycle");  // of earlier versions
  simulation->arrive(listener);
  return simulation;
}

// Calls the listener, which may read the simulation.
template <class F>
void Simulation::listen(const F& f) {
  struct Open {
    explicit Open(bool& is) : open(is) { open = true; }
    ~Open() { open = false; }
    bool& open;
  };
  const Open open(open_);
  f();
}

bool Simulation::interrupted(const Listener& listener) {
  bool ended = false;
  if (listener.interrupted) listen([&] { ended = listener.interrupted(); });
  return ended;
}

// Runs the engine. Returns false if it was stopped within a cycle.
bool Simulation::work(std::uint64_t cycles) {
  const double start = now();
  const bool done = engine_->advance(spec_.schedule, cycles);
  spent_ += now() - start;
  if (!done) return false;
  pace_ = std::exchange(spent_, 0) / static_cast<double>(cycles);
  moved_ = true;
  cycles_ += cycles;
  return true;
}

// Runs a cycle in another thread, while this thread calls the listener, which may call rest().
bool Simulation::work_beside(const Listener& listener) {
  bool done = false;
  std::exception_ptr thrown;
  working_ = true;
  std::jthread worker([&] {
    try {
      done = work(1);
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(rest_mutex_);
    working_ = false;
    rested_.notify_all();
  });
  std::unique_lock lock(rest_mutex_);
  while (!rested_.wait_for(lock, kLook, [this] { return !working_; })) {
    lock.unlock();
    if (interrupted(listener)) stop_ = true;
    lock.lock();
  }
  lock.unlock();
  worker.join();
  if (thrown) std::rethrow_exception(thrown);
  return done;
}

void Simulation::rest() {
  stop_ = true;
  std::unique_lock lock(rest_mutex_);
  rested_.wait(lock, [this] { return !working_; });
}

// Throws Error(interrupted) after the cycles, or within one.
void Simulation::step(std::uint64_t cycles, const Listener& listener) {
  for (bool done = false; !done;) {
    if (lent_ != nullptr) lent_->wait_for_readers();
    const bool one = cycles == 1 && listener.interrupted;
    const bool takes_long = pace_ > kLong || spent_ > 0;
    stop_ = false;
    until_ = one && !takes_long ? now() + kLong : HUGE_VAL;
    done = one && takes_long ? work_beside(listener) : work(cycles);
    if (done && listener.done) listen([&] { listener.done(cycles); });
    if (interrupted(listener)) throw Error(ExitCode::interrupted, "interrupted");
  }
}

// Completes a cycle that was interrupted, or the cycles in progress of a checkpoint.
void Simulation::arrive(const Listener& listener) {
  while (engine_->is_mid_advance()) step(1, listener);
}

void Simulation::advance(std::uint64_t cycles, const Listener& listener) {
  arrive(listener);
  const std::uint64_t end = cycles_ + cycles;
  while (cycles_ < end) {
    const double fitting = pace_ > 0 ? kSlice / pace_ : 1;
    step(fitting < 2
             ? 1
             : static_cast<std::uint64_t>(std::min(fitting, static_cast<double>(end - cycles_))),
         listener);
  }
}

Observation Simulation::measure(const Listener& listener) {
  arrive(listener);
  Observation observation;
  engine_->measure(observation);
  moved_ = false;
  return observation;
}

void Simulation::record(std::uint64_t times, std::uint64_t every, const Listener& listener) {
  check_limits(every, "every", SettingNames::arguments());
  if (every_ != every && data_.bond_sum.time() > 0) {
    throw Error(ExitCode::usage,
                fmt::format("every: {}, but the stored measurements are {} cycles apart (forget() "
                            "removes them)",
                            every, every_));
  }
  every_ = every;
  Observation observation;
  arrive(listener);
  if (moved_) engine_->measure(observation);  // discards earlier cluster sums
  for (std::uint64_t k = 0; k < times; ++k) {
    advance(every, listener);
    engine_->measure(observation);
    moved_ = false;
    append(data_, spec_.schedule, observation);
  }
}

void Simulation::spins(std::uint32_t temperature, std::uint32_t replica,
                       std::span<std::uint8_t> out) const {
  engine_->spins(temperature, replica, out);
}

HasDeviceSpins& Simulation::device_engine() {
  auto* const found = dynamic_cast<HasDeviceSpins*>(engine_.get());
  if (found == nullptr) {
    throw Error(
        ExitCode::device,
        fmt::format("the spins of this simulation are on {}, not on a CUDA device", device()));
  }
  return *found;
}

DeviceSpins Simulation::device_spins() {
  DeviceSpins spins = device_engine().device_spins();
  lent_ = &device_engine();
  return spins;
}

void Simulation::measure_on_device(const Listener& listener) {
  HasDeviceSpins& engine = device_engine();
  arrive(listener);
  if (sums_ != nullptr) engine.wait_for_readers();
  sums_ = engine.measure_on_device();
}

std::vector<std::uint32_t> Simulation::device_slots() { return device_engine().device_slots(); }

HotColdTest Simulation::halves(std::uint64_t count) const {
  const std::uint64_t times = data_.bond_sum.time(), taken = std::min(count, times);
  const HotColdDifference halves = hot_cold_difference(data_, times - taken, taken);
  return compare_halves(std::span(&halves, 1));
}

TaskData Simulation::data() const {
  TaskData data = data_;
  EngineState state = engine_->save();
  data.state = {std::move(state.engine), state.step, cycles_, std::move(state.bytes)};
  const std::uint64_t measured = data.bond_sum.time(), every = std::max<std::uint64_t>(every_, 1);
  TextMap& key = data.configuration;
  key["sampling.measure"] = fmt::format("{}", measured);
  key["sampling.every"] = fmt::format("{}", every);
  key["sampling.equilibrate"] = fmt::format("{}", cycles() - std::min(cycles(), measured * every));
  TextMap& note = data.provenance;
  const WorkCounters work = engine_->work();
  const double seconds = work.local_seconds + work.cluster_seconds;
  note["work.seconds"] = fmt::format("{:.17g}", seconds + work.measure_seconds);
  note["work.update_seconds"] = fmt::format("{:.17g}", seconds);
  note["work.updates"] =
      fmt::format("{:.17g}", static_cast<double>(work.local_attempts + work.cluster_sites));
  note_origin(note, *engine_, engine_->trajectory_hash());
  return data;
}

void check_task_path(const std::string& path) {
  if (std::filesystem::path(path).extension() == ".h5") return;
  throw Error(ExitCode::usage, fmt::format("path: '{}' does not end in .h5", path));
}

void Simulation::save(const std::string& path) const {
  check_task_path(path);
  save_task(path, data());
}

SimulationLock::SimulationLock(Simulation& simulation, Access access)
    : simulation_(simulation), within_(simulation.owner_ == std::this_thread::get_id()) {
  if (!within_) {
    simulation.mutex_.lock();
    simulation.owner_ = std::this_thread::get_id();
    return;
  }
  if (access == Access::changes || !simulation.open_) {
    throw Error(ExitCode::usage,
                "a simulation cannot be changed from within one of its own calls; there it can "
                "only be read and saved between steps");
  }
  simulation.rest();
}

SimulationLock::~SimulationLock() {
  if (within_) return;
  simulation_.owner_ = std::thread::id();
  simulation_.mutex_.unlock();
}

}  // namespace rewise::python
