// Resolved settings, and whole runs.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "src/base/error.hpp"
#include "src/python/simulation.hpp"
#include "src/search/costs.hpp"
#include "src/search/exchange_ladder.hpp"
#include "src/search/single_run.hpp"
#include "src/settings/device_choice.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/memory_need.hpp"

namespace rewise::python {
namespace {

int threads_of(const TaskSpec& spec, const Settings& settings) {
  return settings.threads > 0 ? static_cast<int>(settings.threads)
                              : useful_threads(spec, thread_count(0));
}

}  // namespace

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
  options.threads = threads_of(spec, settings);
  const DeviceChoice device =
      choose_device(settings.device, spec.engine, "device", cpu_seconds, Teams::allowed);
  device.devices.front().choose(options);
  check_methods(spec.engine, options);
  return options;
}

Notes notes_of(const CheckedRun& run) {
  Notes notes = rewise::warnings_of(run);
  for (std::string& line : notes) line.insert(0, "warning: ");
  return notes;
}

TaskData run(std::shared_ptr<const Graph> graph, const Settings& settings, const Listener& listener,
             Notes& notes) {
  TaskJob job{task_spec(graph, settings), paths_beside(settings.out)};
  TaskSpec& spec = job.spec;
  TaskRunOptions run;
  run.engine = engine_options(spec, settings, cpu_seconds(spec, threads_of(spec, settings)));
  check_memory(memory_need(spec, run.engine.threads, on_device(run.engine), job.paths.has_value()));
  TextMap configuration = configuration_of(spec);
  if (job.paths && configuration != task_configuration(spec)) spec.imported = nullptr;
  job.progress = listener.done;  // stop requests come through stop_request_hook (long_call.cpp)
  job.note = [&](const std::string& line) { notes.push_back(line); };
  auto [result, checked] =
      run_checked(std::move(job), run, SettingNames::arguments(), settings.out);
  if (result.outcome == TaskOutcome::interrupted) {
    throw Error(ExitCode::interrupted, fmt::format("stopped after {}", result.message));
  }
  result.data.configuration = std::move(configuration);
  const Notes warnings = notes_of(checked);
  notes.insert(notes.end(), warnings.begin(), warnings.end());
  return std::move(result.data);
}

}  // namespace rewise::python
