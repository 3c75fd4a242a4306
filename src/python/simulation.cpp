#include "src/python/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>

#include "experiments/console/build_info.hpp"
#include "experiments/console/device.hpp"
#include "experiments/console/engine_choice.hpp"
#include "experiments/run/run_options.hpp"
#include "experiments/run/run_report.hpp"
#include "experiments/study/costs.hpp"
#include "experiments/tasks/need.hpp"
#include "experiments/tasks/packed_task.hpp"
#include "graphs/graph_io.hpp"
#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/bundle/bundle.hpp"
#include "src/single/single.hpp"

namespace rewise::python {
namespace {

constexpr double kSlice = 0.02;  // seconds of cycles between two looks at the listener

void check_whole(std::uint64_t value, std::uint64_t least, std::uint64_t most, const char* name) {
  if (value >= least && value <= most) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: {} is out of range ({}..{})", name, value, least, most));
}

TaskSpec task_spec(const std::shared_ptr<const Graph>& graph, const Settings& settings) {
  TaskSpec spec;
  spec.graph = graph->spec();
  spec.imported = graph;
  spec.model = parse_model(settings.model, "model");
  check_states(spec.model, settings.q, "q");
  check_whole(settings.q, 2, 255, "q");
  spec.q = static_cast<std::uint32_t>(settings.q);
  spec.local = choose_local_update(settings.local, graph->lattice().dim, "local");
  const auto schedule = parse_schedule(settings.schedule, "schedule");
  spec.cluster = choose_cluster(settings.cluster, schedule, "cluster").value();
  spec.engine = choose_engine(settings.engine, spec.model, spec.cluster, "engine", true);
  if (settings.temperatures.empty()) {
    throw Error(ExitCode::usage, "temperature: is missing (one or more, such as [2.3, 2.4])");
  }
  for (const double t : settings.temperatures) {
    if (std::isfinite(t) && t > 0) continue;
    throw Error(ExitCode::usage, fmt::format("temperature: {} is not above 0 and finite", t));
  }
  spec.temperatures = settings.temperatures;
  check_whole(settings.replicas, 1, 1u << 20, "replicas");
  check_replicas(spec.engine, settings.replicas, "replicas");
  spec.replicas = static_cast<std::uint32_t>(settings.replicas);
  spec.start = parse_start(settings.start, "start");
  spec.seed = settings.seed;
  spec.schedule = schedule;
  spec.equilibrate = settings.equilibrate;
  spec.measure = settings.measure;
  spec.every = settings.every;
  constexpr std::uint64_t most = std::uint64_t{1} << 32;
  check_whole(spec.equilibrate, 0, most, "equilibrate");
  check_whole(spec.measure, 0, most, "measure");
  check_whole(spec.every, 1, most, "every");
  if (is_packed(spec)) {
    if (graph->lattice().dim > 0 && graph->rewired_bonds().empty()) spec.imported = nullptr;
    check_packed_task(spec);
  }
  return spec;
}

// What files say of a graph that a rule built is the rule, as the program's own do.
TextMap configuration_of(TaskSpec spec) {
  const bool by_rule = spec.imported != nullptr && spec.imported->lattice().dim > 0 &&
                       spec.imported->spec().rule != Rule::imported;
  if (by_rule) spec.imported = nullptr;
  return task_configuration(spec);
}

EngineOptions engine_options(const TaskSpec& spec, const Settings& settings, double cpu_seconds) {
  RunOptions words;
  words.wolff_method = settings.wolff_method;
  words.label_method = settings.label_method;
  EngineOptions options = run_engine_options(words, spec);
  check_whole(settings.threads, 0, 4096, "threads");
  options.threads = settings.threads > 0 ? static_cast<int>(settings.threads)
                                         : useful_threads(spec, thread_count(0));
  const DeviceChoice device =
      choose_device(settings.device, spec.engine, "device", cpu_seconds, Teams::allowed);
  device.devices.front().choose(options);
  return options;
}

bool on_device(const EngineOptions& options) {
  return !options.devices.empty() || options.device >= 0;
}

std::unique_ptr<Engine> make_engine(const Graph& graph, const TaskSpec& spec,
                                    const EngineOptions& options) {
  if (is_packed(spec)) return make_packed_task(spec, &graph, options);
  const auto make = spec.engine == EngineKind::single ? make_single_engine : make_bundle_engine;
  return make(graph, engine_spec(spec), options);
}

}  // namespace

TaskData run(std::shared_ptr<const Graph> graph, const Settings& settings, const Listener& listener,
             Notes& notes) {
  check_whole(settings.measure, 1, std::uint64_t{1} << 32, "measure");
  TaskSpec spec = task_spec(graph, settings);
  TaskRun task;
  const int threads = settings.threads > 0 ? static_cast<int>(settings.threads)
                                           : useful_threads(spec, thread_count(0));
  task.engine = engine_options(spec, settings, cpu_seconds(spec, threads));
  const auto paths = run_paths(settings.out);
  check_memory(memory_need(spec, task.engine.threads, on_device(task.engine), paths.has_value()));
  if (paths && configuration_of(spec) != task_configuration(spec)) spec.imported = nullptr;
  task.progress = listener.done;  // whether it is to end is asked by stop_asked() (long_call.cpp)
  task.note = [&](const std::string& line) { notes.push_back(line); };
  TaskResult result = run_task(spec, paths, task);
  if (result.outcome == TaskOutcome::held) {
    throw Error(ExitCode::held, fmt::format("'{}' is held by {}", settings.out, result.message));
  }
  if (result.outcome == TaskOutcome::lost || result.outcome == TaskOutcome::interrupted) {
    throw Error(ExitCode::interrupted, fmt::format("stopped after {}", result.message));
  }
  result.data.configuration = configuration_of(spec);
  const std::string warnings = result_warnings(result.data);
  for (std::size_t at = 0; at < warnings.size();) {
    const std::size_t end = warnings.find('\n', at);
    notes.push_back(warnings.substr(at, end - at));
    at = end == std::string::npos ? end : end + 1;
  }
  return std::move(result.data);
}

Simulation::Simulation(std::shared_ptr<const Graph> graph, TaskSpec spec, EngineOptions options)
    : graph_(std::move(graph)), spec_(std::move(spec)) {
  check_memory(memory_need(spec_, options.threads, on_device(options), false));
  options.stop = [this] { return interrupted_ && interrupted_(); };
  engine_ = make_engine(*graph_, spec_, options);
  data_.configuration = configuration_of(spec_);
  data_.graph = needs_graph(spec_) ? graph_record(*graph_) : packed_record(spec_);
  data_.temperature = spec_.temperatures;
  data_.replicas = spec_.replicas;
  data_.shape_series();
  data_.provenance["start"] = utc_time();
}

Simulation::Simulation(std::shared_ptr<const Graph> graph, const Settings& settings)
    : Simulation(graph, task_spec(graph, settings),
                 engine_options(task_spec(graph, settings), settings, HUGE_VAL)) {}

std::unique_ptr<Simulation> Simulation::restore(const std::string& path, const Settings& how) {
  auto stored = load_task(path, OpenAs::reader);
  if (!stored) throw Error(ExitCode::io, fmt::format("'{}' does not exist", path));
  TaskData& data = stored->task;
  const auto text = [&](const char* key, const char* otherwise) -> std::string {
    const auto found = data.configuration.find(key);
    return found == data.configuration.end() ? otherwise : found->second;
  };
  if (data.state.engine.empty()) {
    throw Error(ExitCode::data, fmt::format("'{}' holds no state to go on from", path));
  }
  const auto warm_up = std::strtoull(text("sampling.warm_up", "0").c_str(), nullptr, 10);
  if (data.state.cycles < warm_up) {
    throw Error(ExitCode::data, fmt::format("'{}' stands in its warm-up", path));
  }
  Settings settings = how;
  settings.temperatures = data.temperature;
  settings.model = text("sampling.model", "ising");
  settings.q = std::strtoull(text("sampling.q", "2").c_str(), nullptr, 10);
  settings.schedule = text("sampling.schedule", "1:1");
  settings.local = text("sampling.local", "metropolis");
  settings.cluster = text("sampling.cluster", "wolff");
  settings.replicas = data.replicas;
  settings.start = text("sampling.start", "mixed");
  settings.seed = std::strtoull(text("sampling.seed", "1").c_str(), nullptr, 10);
  settings.engine = text("sampling.engine", "bundle");
  settings.every = std::strtoull(text("sampling.every", "1").c_str(), nullptr, 10);
  auto simulation =
      std::make_unique<Simulation>(std::make_shared<const Graph>(read_graph(path)), settings);
  simulation->spec_.few_cluster_flip =
      std::strtod(text("sampling.few_cluster_flip", "0.9").c_str(), nullptr);
  simulation->engine_->restore({data.state.engine, data.state.step, data.state.bytes});
  simulation->cycles_ = data.state.cycles;
  simulation->moved_ = true;
  simulation->within_cycle_ = text("sampling.within_cycle", "0") == "1";
  if (data.energy.time() > 0) simulation->every_ = settings.every;
  simulation->data_ = std::move(data);
  simulation->data_.state = {};
  return simulation;
}

// False where it was interrupted within a cycle: only where `cycles` is 1.
bool Simulation::advance_one(std::uint64_t cycles, const Listener& listener) {
  interrupted_ = cycles == 1 ? listener.interrupted : nullptr;
  if (lent_ != nullptr) lent_->wait_for_readers();
  const double start = now();
  bool done = false;
  try {
    done = engine_->advance(spec_.schedule, cycles);
  } catch (...) {
    interrupted_ = nullptr;
    throw;
  }
  interrupted_ = nullptr;
  within_cycle_ = !done;
  if (!done) return false;
  cycles_ += cycles;
  moved_ = true;
  pace_ = (now() - start) / static_cast<double>(cycles);
  if (listener.done) listener.done(cycles);
  return true;
}

void Simulation::advance(std::uint64_t cycles, const Listener& listener) {
  const std::uint64_t end = cycles_ + cycles + (within_cycle_ ? 1 : 0);
  while (cycles_ < end) {
    const double fitting = pace_ > 0 ? kSlice / pace_ : 1;
    const auto slice =
        within_cycle_ || fitting < 2
            ? std::uint64_t{1}
            : static_cast<std::uint64_t>(std::min(fitting, static_cast<double>(end - cycles_)));
    if (!advance_one(slice, listener) || (listener.interrupted && listener.interrupted())) {
      throw Error(ExitCode::interrupted, "interrupted");
    }
  }
}

Observation Simulation::measure(const Listener& listener) {
  if (within_cycle_) advance(0, listener);
  Observation observation;
  engine_->measure(observation);
  moved_ = false;
  return observation;
}

void Simulation::record(std::uint64_t times, std::uint64_t every, const Listener& listener) {
  check_whole(every, 1, std::uint64_t{1} << 32, "every");
  if (every_ != every && data_.energy.time() > 0) {
    throw Error(ExitCode::usage,
                fmt::format("every: {} after measurements kept every {} cycles (forget() drops "
                            "these)",
                            every, every_));
  }
  every_ = every;
  Observation observation;
  if (within_cycle_) advance(0, listener);
  if (moved_) engine_->measure(observation);  // drops the cluster sums of what came before
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
    throw Error(ExitCode::device,
                fmt::format("the spins of this simulation are on {}: there is no array of them on "
                            "a CUDA device",
                            device()));
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
  if (within_cycle_) advance(0, listener);
  if (sums_ != nullptr) engine.wait_for_readers();
  sums_ = engine.measure_on_device();
}

std::vector<std::uint32_t> Simulation::device_slots() { return device_engine().device_slots(); }

HotCold Simulation::halves(std::uint64_t count) const {
  const std::uint64_t times = data_.energy.time(), taken = std::min(count, times);
  const Halves halves = halves_of(data_, times - taken, taken);
  return compare_halves(std::span(&halves, 1));
}

TaskData Simulation::data() const {
  TaskData data = data_;
  EngineState state = engine_->save();
  data.state = {std::move(state.engine), state.step, cycles_, std::move(state.bytes)};
  const std::uint64_t measured = data.energy.time(), every = std::max<std::uint64_t>(every_, 1);
  TextMap& key = data.configuration;
  key["sampling.measure"] = fmt::format("{}", measured);
  key["sampling.every"] = fmt::format("{}", every);
  key["sampling.equilibrate"] = fmt::format("{}", cycles_ - std::min(cycles_, measured * every));
  if (within_cycle_) key["sampling.within_cycle"] = std::string("1");
  TextMap& note = data.provenance;
  const Work work = engine_->work();
  const double seconds = work.local_seconds + work.cluster_seconds;
  note["work.seconds"] = fmt::format("{:.17g}", seconds + work.measure_seconds);
  note["work.update_seconds"] = fmt::format("{:.17g}", seconds);
  note["work.updates"] =
      fmt::format("{:.17g}", static_cast<double>(work.local_attempts + work.cluster_sites));
  note_origin(note, *engine_);
  return data;
}

void Simulation::save(const std::string& path) const {
  if (std::filesystem::path(path).extension() != ".h5") {
    throw Error(ExitCode::usage, fmt::format("'{}' does not end in .h5", path));
  }
  save_task(path, data());
}

}  // namespace rewise::python
