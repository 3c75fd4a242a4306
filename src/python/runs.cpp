// Resolved settings, and whole runs.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "src/base/error.hpp"
#include "src/python/simulation.hpp"
#include "src/search/costs.hpp"
#include "src/search/exchange_ladder.hpp"
#include "src/study/device_choice.hpp"
#include "src/study/engine_choice.hpp"
#include "src/study/engines.hpp"
#include "src/study/ergodicity.hpp"
#include "src/study/need.hpp"
#include "src/study/run_estimates.hpp"

namespace rewise::python {

void check_whole(std::uint64_t value, std::uint64_t least, std::uint64_t most, const char* name) {
  if (value >= least && value <= most) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: {} is out of range ({}..{})", name, value, least, most));
}

ModelWords model_arguments() {
  ModelWords arguments;
  for (const char* key : kModelKeys) arguments[key] = key;
  arguments["name"] = "model";
  return arguments;
}

TaskSpec task_spec(const GraphSpec& lattice, const std::shared_ptr<const Graph>& graph,
                   const Settings& settings) {
  TaskSpec spec;
  spec.graph = lattice;
  spec.imported = graph;
  const auto dim = static_cast<int>(lattice.extents.size());
  spec.model = parse_model(settings.model, model_arguments());
  spec.staggered = measures_staggered(settings.staggered, spec.model, graph.get(), "staggered");
  const auto [schedule, cluster, local] =
      choose_updates(settings.schedule, settings.local, settings.cluster, "", false);
  spec.local = local   ? *local
               : graph ? local_update_for(*graph, spec.model)
                       : local_update_for(dim);
  spec.schedule = schedule.value();
  spec.cluster = cluster.value();
  spec.engine = choose_engine(settings.engine, spec.model, needed_cluster(schedule, spec.cluster),
                              "engine", NamedEngines::all);
  if (settings.exchange) {
    spec.engine = engine_with_exchange(spec.engine, settings.engine, "engine");
  }
  if (const auto& range = settings.range) {
    if (!settings.exchange) {
      throw Error(ExitCode::usage,
                  "temperature: 'from' and 'to' choose temperatures for exchange=True (without it, "
                  "give a list, or also 'count')");
    }
    if (!(range->from > 0 && range->from < range->to)) {
      throw Error(ExitCode::usage,
                  fmt::format("temperature: from {} to {} is not a range with 0 < from < to",
                              range->from, range->to));
    }
  } else if (settings.temperatures.empty()) {
    throw Error(ExitCode::usage, "temperature is missing (one or more, such as [2.3, 2.4])");
  }
  for (const double t : settings.temperatures) {
    if (std::isfinite(t) && t > 0) continue;
    throw Error(ExitCode::usage,
                fmt::format("temperature: {} is out of range (finite and > 0)", t));
  }
  spec.temperatures = settings.range ? std::vector{settings.range->from, settings.range->to}
                                     : settings.temperatures;
  if (settings.exchange && spec.temperatures.size() < 2) {
    throw Error(ExitCode::usage,
                "exchange: requires at least two temperatures (or {'from': 0.8, 'to': 2.0}, which "
                "chooses them)");
  }
  spec.few_cluster = settings.few_cluster;
  check_whole(settings.replicas, 1, 1u << 20, "replicas");
  check_replicas(spec.engine, settings.replicas, "replicas");
  spec.replicas = static_cast<std::uint32_t>(settings.replicas);
  if (settings.houdayer) check_houdayer(spec.model, spec.replicas, "houdayer");
  spec.start = settings.start_spins ? Start::given : parse_start(settings.start, "start");
  spec.start_spins = settings.start_spins;
  spec.seed = settings.seed;
  spec.schedule.exchange = settings.exchange;
  spec.schedule.houdayer = settings.houdayer;
  spec.equilibrate = settings.equilibrate;
  spec.measure = settings.measure;
  spec.every = settings.every;
  constexpr std::uint64_t most = std::uint64_t{1} << 32;
  check_whole(spec.equilibrate, 0, most, "equilibrate");
  check_whole(spec.measure, 0, most, "measure");
  check_whole(spec.every, 1, most, "every");
  if (traits(spec.engine).regular_only && dim > 0 && (!graph || graph->rewired_bonds().empty())) {
    spec.imported = nullptr;
  }
  check_task_engine(spec);
  return spec;
}

TaskSpec task_spec(const std::shared_ptr<const Graph>& graph, const Settings& settings) {
  const GraphSpec& lattice = graph->spec();
  TaskSpec spec = task_spec(lattice, graph, settings);
  check_rounded_numbers(spec.model, model_arguments());
  if (!lattice.extents.empty()) check_shortcut_couplings(spec.model, lattice.p, model_arguments());
  if (!settings.range) return spec;
  TaskRun run;
  run.engine = engine_options(spec, settings, HUGE_VAL);
  spec.temperatures = exchange_temperatures(spec, *settings.range, run);
  return spec;
}

TextMap configuration_of(TaskSpec spec) {
  const bool by_rule = spec.imported != nullptr && spec.imported->spec().rule != Rule::imported;
  if (by_rule) spec.imported = nullptr;
  return task_configuration(spec);
}

EngineOptions engine_options(const TaskSpec& spec, const Settings& settings, double cpu_seconds) {
  EngineOptions options;
  options.methods = choose_methods(settings.methods, spec.engine, spec.cluster,
                                   static_cast<int>(spec.graph.extents.size()));
  check_whole(settings.threads, 0, 4096, "threads");
  options.threads = settings.threads > 0 ? static_cast<int>(settings.threads)
                                         : useful_threads(spec, thread_count(0));
  const DeviceChoice device =
      choose_device(settings.device, spec.engine, "device", cpu_seconds, Teams::allowed);
  device.devices.front().choose(options);
  return options;
}

Notes notes_of(const CheckedRun& run) {
  Notes notes = rewise::warnings_of(run);
  for (std::string& line : notes) line.insert(0, "warning: ");
  return notes;
}

TaskData run(std::shared_ptr<const Graph> graph, const Settings& settings, const Listener& listener,
             Notes& notes) {
  check_whole(settings.measure, 1, std::uint64_t{1} << 32, "measure");
  TaskSpec spec = task_spec(graph, settings);
  TaskRun run;
  const int threads = settings.threads > 0 ? static_cast<int>(settings.threads)
                                           : useful_threads(spec, thread_count(0));
  run.engine = engine_options(spec, settings, cpu_seconds(spec, threads));
  const auto paths = paths_beside(settings.out);
  check_memory(memory_need(spec, run.engine.threads, on_device(run.engine), paths.has_value()));
  if (paths && configuration_of(spec) != task_configuration(spec)) spec.imported = nullptr;
  TaskJob job{spec, paths};
  job.progress = listener.done;  // stop_requested_now() (long_call.cpp) tells whether to end
  job.note = [&](const std::string& line) { notes.push_back(line); };
  std::optional<CheckedRun> of_file;
  job.add_results = [&](TaskData& data) {
    of_file = checked_run(data);
    data.results = result_record(data, *of_file);
  };
  TaskResult result = run_task(std::move(job), run);
  if (result.outcome == TaskOutcome::held) {
    throw Error(ExitCode::held, fmt::format("'{}' is in use by {}", settings.out, result.message));
  }
  if (result.outcome == TaskOutcome::lost || result.outcome == TaskOutcome::interrupted) {
    throw Error(ExitCode::interrupted, fmt::format("stopped after {}", result.message));
  }
  result.data.configuration = configuration_of(spec);
  const Notes warnings = notes_of(of_file ? *of_file : checked_run(result.data));
  notes.insert(notes.end(), warnings.begin(), warnings.end());
  return std::move(result.data);
}

}  // namespace rewise::python
