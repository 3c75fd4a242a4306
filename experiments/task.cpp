#include "experiments/task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "experiments/build_info.hpp"
#include "experiments/config.hpp"
#include "experiments/options.hpp"
#include "src/base/error.hpp"
#include "src/bundle/bundle.hpp"
#include "src/single/single.hpp"
#include "src/store/lease.hpp"

namespace rewise {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A number kept in provenance across restarts.
double kept_number(const TextMap& provenance, const std::string& key) {
  const auto found = provenance.find(key);
  return found == provenance.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
}

// One task while it runs: engine, data so far, clocks.
class Runner {
 public:
  Runner(const TaskSpec& spec, const std::optional<TaskPaths>& paths, const TaskRun& run,
         std::optional<TaskData> stored)
      : spec_(spec), paths_(paths), run_(run), graph_(task_graph(spec)) {
    engine_ = make_engine(spec_, *graph_, run_.engine);
    if (stored) {
      data_ = std::move(*stored);
      EngineState state;
      state.engine = data_.state.engine;
      state.step = data_.state.step;
      state.bytes = data_.state.bytes;
      engine_->restore(state);
      cycles_ = data_.state.cycles;
    } else {
      data_.graph = graph_record(*graph_);
      data_.temperature = spec_.temperatures;
      data_.replicas = spec_.replicas;
      data_.shape_series();
      data_.provenance["start"] = utc_time();
    }
    data_.configuration = task_configuration(spec_);
  }

  // Returns false when it was told to stop.
  bool run() {
    // At least one step each time, so that the shortest time limit comes to an end some day.
    while (measurements() < spec_.measure) {
      advance_to(next_stop());
      if (measurements() < spec_.measure && run_.stop.stop_requested()) return false;
      if (paths_ && seconds_since(saved_) >= run_.checkpoint) save(paths_->checkpoint);
    }
    return true;
  }

  void save(const std::filesystem::path& file) {
    pack();
    save_task(file, data_);
    saved_ = Clock::now();
  }
  void save_new(const std::filesystem::path& file) {
    pack();
    save_new_task(file, data_);
  }

  TaskData& data() { return data_; }
  std::uint64_t measurements() const { return data_.energy.time(); }

  // State and provenance into data_.
  void pack() {
    data_.configuration["sampling.measure"] =
        fmt::format("{}", std::max(spec_.measure, measurements()));
    EngineState state = engine_->save();
    data_.state.engine = std::move(state.engine);
    data_.state.step = state.step;
    data_.state.bytes = std::move(state.bytes);
    data_.state.cycles = cycles_;
    note_provenance();
  }

 private:
  // The next cycle number with something to do at it.
  std::uint64_t next_stop() const {
    if (cycles_ < spec_.equilibrate) return spec_.equilibrate;
    return spec_.equilibrate + (measurements() + 1) * spec_.every;
  }

  // Runs about a tenth of a second towards `target`; at the target, measures.
  void advance_to(std::uint64_t target) {
    const auto begin = Clock::now();
    const std::uint64_t step = std::min(target - cycles_, step_);
    engine_->advance(spec_.schedule, step);
    cycles_ += step;
    const double seconds = std::max(seconds_since(begin), 1e-9);
    step_ = std::clamp<std::uint64_t>(
        static_cast<std::uint64_t>(0.1 * static_cast<double>(step) / seconds), 1, 2 * step_);
    if (run_.progress) run_.progress(step);
    if (cycles_ < target) return;
    engine_->measure(observation_);
    if (cycles_ > spec_.equilibrate) append();
  }

  void append() {
    data_.energy.append(observation_.bond_sum);
    data_.magnetisation.append(observation_.magnetisation);
    if (spec_.schedule.cluster == 0) return;
    data_.cluster_size.append(observation_.cluster_size);
    if (observation_.cluster_quartic_low.empty()) return;
    data_.cluster_quartic_low.append(observation_.cluster_quartic_low);
    data_.cluster_quartic_high.append(observation_.cluster_quartic_high);
  }

  void note_provenance() {
    TextMap& note = data_.provenance;
    const Work work = engine_->work();
    const auto add = [&](const char* key, double now, double& counted) {
      note[key] = fmt::format("{:.17g}", kept_number(note, key) + now - counted);
      counted = now;
    };
    add("work.seconds", seconds_since(begun_), counted_.seconds);
    add("work.update_seconds", work.local_seconds + work.cluster_seconds, counted_.updating);
    add("work.measure_seconds", work.measure_seconds, counted_.measuring);
    add("work.updates", static_cast<double>(work.local_attempts + work.cluster_sites),
        counted_.updates);
    note["trajectory_hash"] = fmt::format("{:016x}", engine_->trajectory_hash());
    note["device"] = engine_->device();
    note["threads"] = fmt::format("{}", engine_->threads());
    note["version"] = build_info().version;
    note["revision"] = build_info().revision;
    note["compiler"] = build_info().compiler;
    note["host"] = host_name();
    note["end"] = utc_time();
  }

  const TaskSpec& spec_;
  const std::optional<TaskPaths>& paths_;
  const TaskRun& run_;
  std::shared_ptr<const Graph> graph_;
  std::unique_ptr<Engine> engine_;
  TaskData data_;
  Observation observation_;
  std::uint64_t cycles_ = 0;
  std::uint64_t step_ = 1;  // cycles per call of the engine
  Clock::time_point begun_ = Clock::now(), saved_ = Clock::now();
  struct {
    double seconds = 0, updating = 0, measuring = 0, updates = 0;
  } counted_;  // already in the provenance
};

void say(const TaskRun& run, const std::string& line) {
  if (run.note) run.note(line);
}

std::optional<TaskData> load(const std::filesystem::path& file, const TaskRun& run) {
  auto loaded = load_task(file, OpenAs::owner);
  if (!loaded) return std::nullopt;
  for (const auto& warning : loaded->warnings) say(run, "warning: " + warning);
  return std::move(loaded->task);
}

// What was stored, if anything: the finished file or the checkpoint, whichever went further.
std::optional<TaskData> load_furthest(const TextMap& wanted, std::uint64_t measure,
                                      const TaskPaths& paths, const TaskRun& run) {
  auto finished = load(paths.finished, run);
  if (finished) {
    try {
      check_same_physics(finished->configuration, wanted, kMayGrow, paths.finished.string());
    } catch (const Error& error) {
      throw Error(ExitCode::held,
                  fmt::format("{}; it would be overwritten: choose another name", error.what()));
    }
  }
  // A complete result wins over whatever a checkpoint holds.
  if (finished && finished->energy.time() >= measure) return finished;
  auto part = load(paths.checkpoint, run);
  if (part) check_same_physics(part->configuration, wanted, kMayGrow, paths.checkpoint.string());
  if (!finished) return part;
  return part && part->state.cycles > finished->state.cycles ? std::move(part)
                                                             : std::move(finished);
}

}  // namespace

TextMap task_configuration(const TaskSpec& spec) {
  TextMap map;
  if (spec.imported != nullptr) {
    map["graph.hash"] = graph_hash(*spec.imported);
  } else {
    map["lattice.size"] = extents_text(spec.graph.extents);
    map["lattice.p"] = number_text(spec.graph.p);
    map["lattice.rule"] = to_string(spec.graph.rule);
    map["lattice.graph_seed"] = fmt::format("{}", spec.graph.seed);
  }
  std::vector<std::string> temperatures;
  for (const double t : spec.temperatures) temperatures.push_back(number_text(t));
  map["sampling.engine"] = spec.engine;
  map["sampling.model"] = to_string(spec.model);
  map["sampling.q"] = fmt::format("{}", spec.q);
  map["sampling.local"] = to_string(spec.local);
  map["sampling.cluster"] = to_string(spec.cluster);
  map["sampling.temperatures"] = fmt::format("{}", fmt::join(temperatures, ","));
  map["sampling.replicas"] = fmt::format("{}", spec.replicas);
  map["sampling.start"] = to_string(spec.start);
  map["sampling.seed"] = fmt::format("{}", spec.seed);
  map["sampling.schedule"] = to_string(spec.schedule);
  map["sampling.equilibrate"] = fmt::format("{}", spec.equilibrate);
  map["sampling.measure"] = fmt::format("{}", spec.measure);
  map["sampling.every"] = fmt::format("{}", spec.every);
  return map;
}

std::string task_id(const TaskSpec& spec) { return task_id(task_configuration(spec), kMayGrow); }

std::shared_ptr<const Graph> task_graph(const TaskSpec& spec) {
  if (spec.imported != nullptr) return spec.imported;
  return std::make_shared<const Graph>(build_graph(spec.graph));
}

GraphRecord graph_record(const Graph& graph) {
  GraphRecord record;
  const GraphSpec& spec = graph.spec();
  record.extents = spec.extents;
  record.p = spec.p;
  record.rule = to_string(spec.rule);
  record.seed = spec.seed;
  record.source = graph.source();
  record.sites = graph.sites();
  record.bonds = graph.bonds();
  record.modified = graph.modified_sites().size();
  for (const RewiredBond& bond : graph.rewired_bonds()) {
    record.bond.push_back(bond.bond);
    record.a.push_back(bond.a);
    record.b.push_back(bond.b);
  }
  return record;
}

std::unique_ptr<Engine> make_engine(const TaskSpec& spec, const Graph& graph,
                                    const EngineOptions& options) {
  EngineSpec engine;
  engine.model = spec.model;
  engine.q = spec.q;
  for (const double t : spec.temperatures) engine.betas.push_back(1 / t);
  engine.replicas = spec.replicas;
  engine.seed = spec.seed;
  engine.local = spec.local;
  engine.cluster = spec.cluster;
  engine.start = spec.start;
  check_engine_name(spec.engine, "engine");
  check_spec(graph, engine);
  return spec.engine == "single" ? make_single_engine(graph, engine, options)
                                 : make_bundle_engine(graph, engine, options);
}

int useful_threads(const TaskSpec& spec, int available) {
  double sites = 1;
  if (spec.imported != nullptr) {
    sites = static_cast<double>(spec.imported->sites());
  } else {
    for (const auto extent : spec.graph.extents) sites *= extent;
  }
  const double per_word = spec.engine == "bundle" ? 32 : 1;
  const double words =
      sites * static_cast<double>(spec.temperatures.size()) * spec.replicas / per_word;
  return static_cast<int>(std::clamp(words / 16384, 1.0, static_cast<double>(available)));
}

TaskResult run_task(const TaskSpec& spec, const std::optional<TaskPaths>& paths,
                    const TaskRun& run) {
  TaskResult result;
  std::optional<Lease> lease;
  std::optional<TaskData> stored;
  if (paths) {
    LeaseClaim claim = claim_lease(paths->lease);
    if (!claim.lease) return {TaskOutcome::held, {}, claim.holder};
    if (!claim.note.empty()) say(run, claim.note);
    lease = std::move(claim.lease);
    stored = load_furthest(task_configuration(spec), spec.measure, *paths, run);
  }
  if (stored && stored->energy.time() >= spec.measure && std::filesystem::exists(paths->finished)) {
    return {TaskOutcome::already, std::move(*stored), ""};
  }
  if (stored) {
    say(run,
        fmt::format("going on after {} of {} measurements", stored->energy.time(), spec.measure));
  }

  const bool replaces = paths && std::filesystem::exists(paths->finished);
  Runner runner(spec, paths, run, std::move(stored));
  if (!runner.run()) {
    if (lease && lease->held()) runner.save(paths->checkpoint);
    result.outcome = TaskOutcome::interrupted;
    result.message = fmt::format("{} of {} measurements", runner.measurements(), spec.measure);
    return result;
  }
  if (!paths) {
    runner.pack();
  } else if (!lease->held()) {
    return {TaskOutcome::held, {}, "another process, which took this one for dead"};
  } else {
    replaces ? runner.save(paths->finished) : runner.save_new(paths->finished);
    remove_sealed(paths->checkpoint);
  }
  result.data = std::move(runner.data());
  return result;
}

std::optional<TaskData> read_finished(const TaskSpec& spec, const std::filesystem::path& file) {
  auto loaded = load_task(file, OpenAs::reader);
  if (!loaded || loaded->source != file) return std::nullopt;
  check_same_physics(loaded->task.configuration, task_configuration(spec), kMayGrow, file.string());
  if (loaded->task.energy.time() < spec.measure) return std::nullopt;
  return std::move(loaded->task);
}

}  // namespace rewise
