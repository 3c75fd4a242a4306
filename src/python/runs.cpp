// Resolved settings, and whole runs.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "src/base/error.hpp"
#include "src/python/simulation.hpp"
#include "src/results/run_estimates.hpp"
#include "src/search/costs.hpp"
#include "src/search/exchange_ladder.hpp"
#include "src/settings/device_choice.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/memory_need.hpp"

namespace rewise::python {

TaskSpec task_spec(const std::shared_ptr<const Graph>& graph, const Settings& settings) {
  TaskRequest request = settings.task;
  request.lattice = graph->spec();
  request.graph = graph;
  request.allowed = NamedEngines::all;
  if (const auto& range = settings.range) {
    if (!request.exchange) {
      throw Error(ExitCode::usage,
                  "temperature: 'from' and 'to' choose temperatures for exchange=True (without it, "
                  "give a list, or also 'count')");
    }
    if (!(range->from > 0 && range->from < range->to)) {
      throw Error(ExitCode::usage,
                  fmt::format("temperature: from {} to {} is not a range with 0 < from < to",
                              range->from, range->to));
    }
    request.temperatures = {range->from, range->to};
  }
  TaskSpec spec = task_spec(request, SettingNames::arguments());
  if (!settings.range) return spec;
  TaskRunOptions run;
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
  TaskSpec spec = task_spec(graph, settings);
  TaskRunOptions run;
  const int threads = settings.threads > 0 ? static_cast<int>(settings.threads)
                                           : useful_threads(spec, thread_count(0));
  run.engine = engine_options(spec, settings, cpu_seconds(spec, threads));
  const auto paths = paths_beside(settings.out);
  check_memory(memory_need(spec, run.engine.threads, on_device(run.engine), paths.has_value()));
  if (paths && configuration_of(spec) != task_configuration(spec)) spec.imported = nullptr;
  TaskJob job{spec, paths};
  job.progress = listener.done;  // stop requests come through stop_request_hook (long_call.cpp)
  job.note = [&](const std::string& line) { notes.push_back(line); };
  std::optional<CheckedRun> of_file;
  job.add_results = [&](TaskData& data) {
    of_file = checked_run(data, SettingNames::arguments());
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
  const Notes warnings =
      notes_of(of_file ? *of_file : checked_run(result.data, SettingNames::arguments()));
  notes.insert(notes.end(), warnings.begin(), warnings.end());
  return std::move(result.data);
}

}  // namespace rewise::python
