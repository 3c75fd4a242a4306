#include "experiments/commands/curve_options.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "src/base/count_text.hpp"
#include "src/settings/config.hpp"
#include "src/settings/device_choice.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/schema.hpp"

namespace rewise {
namespace {

// "FROM:TO"
std::pair<double, double> parse_fit(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) {
    throw Error(ExitCode::usage, fmt::format("--fit: '{}' is not FROM:TO", text));
  }
  const double from = parse_number(text.substr(0, colon), "--fit");
  const double to = parse_number(text.substr(colon + 1), "--fit");
  if (from < 1 || (to != 0 && to <= from)) {
    throw Error(
        ExitCode::usage,
        fmt::format(
            "--fit: '{}' is not a range of sizes (FROM at least 1; TO above FROM, or 0 for N/50)",
            text));
  }
  return {from, to};
}

CurveSpec make_spec(const CurveOptions& o) {
  TaskRequest request = o.task;
  request.model = read_model(o);
  request.lattice = lattice_spec(o);
  request.lattice.p = parse_p(o.p, "--p");
  request.temperatures = read_temperatures(o.temperature, request.exchange);
  CurveSpec spec;
  spec.mixes = parse_mixes(o.schedule, "--schedule");
  // All schedules use one engine. It is chosen for the first schedule, and chosen again for each
  // later schedule whose cluster update it lacks.
  const Updates* decides = &spec.mixes.front();
  std::optional<EngineKind> chosen;
  for (const Updates& mix : spec.mixes) {
    const auto cluster = needed_cluster(mix.schedule, mix.cluster);
    const EngineKind engine = choose_engine(request.engine, request.model, cluster, "--engine");
    if (!chosen || (cluster && !has(*chosen, *cluster))) {
      chosen = engine;
      decides = &mix;
    }
  }
  // Mixes that name no local update use Metropolis, also on chains, where `run` uses Glauber.
  request.updates = {decides->schedule, decides->cluster, LocalUpdate::metropolis};
  request.staggered = false;  // not used by curves
  static_cast<TaskSpec&>(spec) = task_spec(request, SettingNames::options());
  spec.graphs = static_cast<std::uint32_t>(o.graphs);
  const bool words = traits(spec.engine).replica_multiple > 1;
  const char* usual = words && !spec.model.is_ferromagnet() ? "1:0" : "1:8";
  spec.prepare = parse_mix(o.prepare.empty() ? usual : o.prepare, "--prepare");
  const auto add_moves = [&](Schedule& schedule) {
    schedule.exchange = request.exchange;
    schedule.houdayer = request.houdayer;
  };
  add_moves(spec.prepare.schedule);
  for (Updates& mix : spec.mixes) add_moves(mix.schedule);
  spec.steps = o.steps;
  spec.timings = static_cast<std::uint32_t>(o.timings);
  spec.points = o.points;
  spec.linear = o.linear;
  spec.origins = o.origins;
  spec.measure = o.measure;
  std::tie(spec.fit_from, spec.fit_to) = parse_fit(o.fit);
  return spec;
}

std::string metrics_csv(const CurveSet& set) {
  std::string text;
  if (set.metrics.empty()) return text;
  for (const auto& [name, value] : set.metrics.front().keys) text += name + ",";
  text += "metric,value,error\n";
  const auto number = [](double x) { return std::isfinite(x) ? number_text(x) : std::string(); };
  for (const auto& row : set.metrics) {
    std::string keys;
    for (const auto& [name, value] : row.keys) keys += value + ",";
    for (const auto& [name, v] : row.values) {
      text += fmt::format("{}{},{},{}\n", keys, name, number(v.value), number(v.error));
    }
  }
  return text;
}

void write_curves(const CurveSet& set, const std::string& folder) {
  make_output_folder(folder);
  const std::filesystem::path path(folder);
  write_text_file(path / "curves.json", curves_json(set).dump(2) + "\n");
  for (const auto& table : set.tables) {
    write_text_file(path / (table.name + ".csv"), curves_csv(table));
  }
  write_text_file(path / "metrics.csv", metrics_csv(set));
}

ExitCode run_curves(const CurveOptions& options, const std::string& name,
                    const CurveMeasurement& measure) {
  CurveSpec spec = make_spec(options);
  spec.threads = options.threads > 0 ? static_cast<int>(options.threads)
                                     : curve_threads(spec, thread_count(0));
  const DeviceChoice device = choose_device(options.device, spec.engine, "--device",
                                            std::numeric_limits<double>::infinity());
  spec.device = device.devices.front().index;
  std::optional<std::chrono::duration<double>> limit;
  if (!options.time_limit.empty()) limit = parse_time_limit(options.time_limit, "--time-limit");
  const StopToken stop(limit);
  if (!options.out.empty()) {
    make_output_folder(options.out);
    reject_overwriting(std::filesystem::path(options.out) / "curves.json", options.overwrite);
  }
  tell_device(device);
  if (const auto range = exchange_range(options.temperature, options.task.exchange)) {
    // Chosen as by `run`, for the first graph and the first schedule.
    TaskRunOptions run;
    run.engine.threads = spec.threads;
    run.engine.device = spec.device;
    run.stop = stop;
    spec.temperatures = choose_temperatures(with_mix(spec, spec.mixes.front()), *range, run);
    if (options.threads == 0) spec.threads = curve_threads(spec, thread_count(0));
  }

  Progress progress(name, static_cast<double>(spec.temperatures.size() * spec.mixes.size()));
  const CurveSet set = measure(spec, stop, progress);
  progress.close();
  if (options.json) {
    fmt::print("{}\n", curves_json(set).dump(2));
  } else {
    fmt::print("{}", metrics_table(set));
    for (const auto& note : set.notes) fmt::print("{}\n", note);
    fmt::print("{} replicas of {}, {} engine on {}, {}{}\n", spec.replicas,
               count_text(spec.graphs, "graph"), to_string(spec.engine),
               device.devices.front().name, count_text(spec.threads, "thread"),
               name == "clusters" ? "" : "; times are those of one replica");
  }
  std::fflush(stdout);
  if (options.out.empty()) return ExitCode::done;
  write_curves(set, options.out);
  fmt::print(stderr, "written to {}\n", options.out);
  return options.plots ? draw_plots({options.out}) : ExitCode::done;
}

}  // namespace

void add_curve_options(CLI::App& app, CurveOptions& o, const std::string& schedules,
                       const std::string& temperatures) {
  o.schedule = schedules;
  begin_group(app, "Graph");
  LatticeHelp help;
  help.seed = "seed of the first graph";
  help.most_seed = kMaxSeed - (1u << 20);
  add_lattice_options(app, o, help);
  add_key(app, "lattice.graphs", o.graphs, 1, 1u << 16, "their seeds are consecutive");
  begin_group(app, "Sampling");
  add_temperatures(app, o.temperature, temperatures);
  add_text(app, "--schedule", o.schedule, "MIX[,MIX..]",
           "updates to compare: M:W, or glauber/M:W,\n"
           "swendsen-wang/M:W, few-cluster/M:W (bytespin engine),\nor glauber/swendsen-wang/M:W");
  add_model_options(app, o);
  add_key(app, "sampling.replicas", o.task.replicas, 2, setting("sampling.replicas").max_integer);
  add_key(app, "study.seed", o.seed, 0, kMaxSeed,
          "for spins and updates [that of the first graph, --graph-seed]");
  begin_group(app, "Machine");
  add_key(app, "sampling.engine", o.task.engine);
  add_key(app, "run.device", o.device);
  add_threads(app, o.threads, help_lines(setting("run.threads").help));
  add_key(app, "run.time_limit", o.time_limit);
  begin_group(app, "Output");
  add_text(app, "--out", o.out, "DIR", "folder for curves.json, CSV files and plots");
  add_flag(app, "--overwrite", o.overwrite, "replace DIR/curves.json if it exists");
  add_off_flag(app, "--no-plots", o.plots, "do not draw plots");
  add_flag(app, "--json", o.json, "print one JSON object, nothing else");
  begin_group(app, "Sampling");
}

void add_prepare_options(CLI::App& app, CurveOptions& o) {
  add_text(app, "--prepare", o.prepare, "MIX",
           "schedule of the equilibration [1:8; 1:0 with couplings in\nthe multispin engine]");
  add_integer(app, "--equilibrate", o.task.equilibrate, 0, std::uint64_t{1} << 32,
              "cycles with the schedule --prepare before the curves\nbegin");
}

AddedCommand curve_command(CLI::App& app, std::shared_ptr<CurveOptions> options,
                           const std::string& name, CurveMeasurement measure) {
  return {&app, [&app, options = std::move(options), name, measure = std::move(measure)] {
            if (is_given(app, "--seed")) options->task.seed = options->seed;
            return run_curves(*options, name, measure);
          }};
}

}  // namespace rewise
