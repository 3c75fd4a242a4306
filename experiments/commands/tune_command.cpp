// `rewise tune`: finds the schedule M:W that yields independent measurements fastest, for one
// setting or for several p; with --exchange the schedule of replica exchange.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <tuple>

#include "experiments/console/commands.hpp"
#include "experiments/console/python.hpp"
#include "experiments/console/shared_options.hpp"
#include "graphs/graph_io.hpp"
#include "src/base/round_to_digits.hpp"
#include "src/search/known_tc.hpp"
#include "src/search/tune/auto_schedule.hpp"
#include "src/search/tune/tune_report.hpp"
#include "src/settings/config.hpp"
#include "src/settings/device_choice.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/ergodicity.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/schema.hpp"
#include "src/settings/task_request.hpp"
#include "src/store/syscalls.hpp"
#include "src/study/progress.hpp"

namespace rewise {
namespace {

constexpr const char* kTuneAbout =
    "Find the schedule M:W that decorrelates fastest.\n\n"
    "Example: rewise tune --size 64 --p 0.01\n\n"
    "For each candidate schedule (M local sweeps, then W cluster updates), measures the\n"
    "seconds of a cycle and the autocorrelation times tau_int of e, |m|, m^2, U and of the\n"
    "configuration. Candidates are ranked by \"worth\": the number of independent measurements of\n"
    "m^2 and U that one replica gives per second. \"per second\" is the figure of the\n"
    "papers: decorrelated measurements of m^2, 1 / (2 tau_int x seconds per cycle).";
constexpr const char* kTuneExamples = R"(
Times are those of one replica; tau_int is in cycles, 1/2 for white noise. "measured" includes
a measurement in each cycle. "worth" assumes a measurement each tau_int(m^2) and, for
Swendsen-Wang updates of Ising spins, the improved estimators that 'rewise tc' uses as
control variates. All candidates start from one equilibrated state and are measured in turns.
A candidate whose optimistic bound falls below the pessimistic bound of the best one gets no more
turns: "dropped after 2 turns". Several p (or temperatures) make a scan that shows how the
optimum moves.

With --exchange, for spin glasses and other frustrated systems, the temperatures form one setting:
neighbouring temperatures may exchange replicas at the end of each cycle. Candidates are
compared by tau_int of q^2, the squared overlap of two replicas, at the temperature where it is
longest ("at T"). Times are those of a pair of replicas (with --houdayer, of two pairs) at all
temperatures, with the exchanges. There is no result where the checks of 'rewise run' do not show
equilibrium.

With --study the best schedule is stored for schedule = "auto" of that study (with the cluster
update of its configuration, if it has one); 'rewise tc' does the same by itself, once per p
and size.

More examples:
  rewise tune --size 128 --p 0,1e-3,1e-2,0.1 --budget 60s --out scan.json
  rewise plot scan.json
  rewise tune --dim 3 --size 16 --p 0.01 --engine bytespin --budget 60s
  rewise tune --size 64 --p 0.01 --candidates 1:0,1:3,1:5,0:1 --json
  rewise tune --dim 3 --size 4 --couplings pm --exchange --temperature 1.0:2.0)";

struct TuneOptions : LatticeOptions, ModelOptions {
  TaskRequest task;  // holds the options that have no member below; specs() completes it
  std::uint64_t seed = 1, replicas = 0, threads = 0;
  GraphFileOptions reading;
  std::string graph, temperature, device = "auto", local = "auto", cluster = "auto";
  std::string candidates, budget = "30s", out, study;
  MethodTexts methods;
  bool json = false, plots = true, keep_all = false, overwrite = false;
};

ClusterUpdate wanted_cluster(const TuneOptions& options) {
  return cluster_or_auto(options.cluster, "--cluster").value_or(ClusterUpdate::wolff);
}

std::vector<ClusterUpdate> tuned_clusters(const TuneOptions& options, EngineKind engine) {
  if (options.cluster == "auto") return clusters_of(engine);
  return {wanted_cluster(options)};
}

// Reads a candidate. It may name one of the cluster updates `kinds`, but no local update, because
// all candidates have that of --local.
GivenUpdates parse_candidate(const std::string& text, const std::vector<ClusterUpdate>& kinds) {
  const GivenUpdates given = parse_updates(text, "--candidates");
  if (given.local) {
    const std::string_view local = to_string(*given.local);
    throw Error(ExitCode::usage,
                fmt::format("--candidates: '{}': all candidates have the same local update (give "
                            "{}, and --local {})",
                            text, text.substr(local.size() + 1), local));
  }
  if (!given.cluster || std::ranges::find(kinds, *given.cluster) != kinds.end()) return given;
  throw Error(ExitCode::usage, fmt::format("--candidates: '{}' requires --cluster {}", text,
                                           to_string(*given.cluster)));
}

std::vector<Updates> tuned_candidates(const TuneOptions& options, EngineKind engine) {
  const auto kinds = tuned_clusters(options, engine);
  std::vector<Updates> list;
  if (options.candidates.empty()) {
    list = options.task.exchange ? exchange_candidates(kinds) : standard_candidates(kinds);
    for (Updates& one : list) one.schedule.houdayer = options.task.houdayer;
    return list;
  }
  std::vector<std::pair<std::string, GivenUpdates>> all;
  for (const std::string& text : split_list(options.candidates)) {
    all.emplace_back(text, parse_candidate(text, kinds));
  }
  for (const ClusterUpdate kind : kinds) {
    for (const auto& [text, given] : all) {
      Updates one{given.schedule.value(), kind};
      one.schedule.exchange = options.task.exchange;
      one.schedule.houdayer = options.task.houdayer;
      const bool belongs =
          one.schedule.cluster == 0 ? kind == kinds.front() : given.cluster.value_or(kind) == kind;
      if (belongs) append_once(list, one, "--candidates", text);
    }
  }
  return list;
}

// A temperature near Tc(p), if it is known. Potts with two states is Ising at half the temperature.
std::optional<double> known_temperature(const Model& model, const GraphSpec& graph) {
  const int dim = static_cast<int>(graph.extents.size());
  if (model.q > 2) return potts_tc(dim, graph.p, model.q);
  std::optional<double> tc = near_tc(dim, graph.rule, graph.p);
  if (tc && model.is_potts()) *tc /= 2;
  return tc;
}

double default_temperature(const Model& model, const GraphSpec& graph) {
  const std::optional<double> t = known_temperature(model, graph);
  if (!t && model.q > 2) {
    throw Error(ExitCode::usage,
                fmt::format("--temperature is missing: its default, Tc of the Potts model with {} "
                            "states, is available for two dimensions and p = 0 only",
                            model.q));
  }
  if (!t) {
    throw Error(
        ExitCode::usage,
        fmt::format("--temperature is missing: its default, Tc(p), is available for lattices of "
                    "two to four dimensions, not for rule {} in {}D",
                    rule_text(to_string(graph.rule)), graph.extents.size()));
  }
  return round_to_digits(*t, 6);
}

constexpr const char* kUseExchange =
    "use --exchange with several temperatures, which compares "
    "overlaps";

// The settings to tune: one for each p and temperature; with replica exchange, one for each p.
std::vector<TaskSpec> tuned_settings(const TuneOptions& options) {
  const SettingNames names = SettingNames::options();
  TaskRequest request = options.task;
  request.model = read_model(options);
  if (!request.exchange) {
    check_compares_schedules(request.model, "tune", kUseExchange);
  } else if (request.model.is_potts()) {
    throw Error(ExitCode::usage,
                "--exchange: schedules are compared by the overlap, which is measured for Ising "
                "spins, not for Potts models");
  }
  if (request.houdayer && !request.exchange) {
    throw Error(ExitCode::usage,
                "--houdayer: needs --exchange, which compares schedules by overlaps");
  }
  request.updates.cluster = wanted_cluster(options);
  request.staggered = false;  // not compared
  request.updates.local = local_or_auto(options.local, "--local");
  request.temperatures = read_temperatures(options.temperature, request.exchange);
  if (request.exchange) check_temperatures(request, names);
  if (options.replicas > 0) request.replicas = options.replicas;  // else chosen by setting_of()
  const bool imported = !options.graph.empty();
  std::vector<double> given;  // p
  for (const std::string& p : split_list(options.p)) {
    append_once(given, parse_p(p, "--p"), "--p", p);
  }
  if (imported) {
    const bool weights = request.model.interactions.couplings == CouplingKind::file;
    request.graph = std::make_shared<const Graph>(
        read_graph_for(request.model, options.graph, options.reading, weights));
    if (weights && !request.exchange) {
      check_compares_schedules(*request.graph, "tune", kUseExchange);
    }
    if (request.graph->spec().bare) {
      throw Error(ExitCode::usage,
                  fmt::format("--graph: {} is a lattice without its shortcuts, which tune does "
                              "not support ('rewise run' does)",
                              options.graph));
    }
  } else {
    request.lattice = lattice_spec(options, ", or --graph FILE");
    request.lattice.p = std::ranges::max(given);
  }
  const bool near_tc = !imported && !request.exchange && request.temperatures.empty();
  if (near_tc) request.temperatures = {default_temperature(request.model, request.lattice)};
  TaskSpec spec = task_spec(request, names);
  std::vector<TaskSpec> list;
  for (const double p : given) {
    spec.graph.p = p;
    if (request.exchange) {
      if (!imported) check_shortcut_couplings(spec.model, p, names);
      list.push_back(spec);
      continue;
    }
    for (const double t : near_tc ? std::vector{default_temperature(spec.model, spec.graph)}
                                  : request.temperatures) {
      spec.temperatures = {t};
      list.push_back(spec);
    }
  }
  return list;
}

UpdateMethods tuned_methods(const TuneOptions& options, EngineKind engine, int dim) {
  return choose_methods(options.methods, engine, cluster_or_auto(options.cluster, "--cluster"),
                        dim);
}

TuneSetting setting_of(const TuneOptions& options, TaskSpec spec, const DeviceChoice& device,
                       const StopToken& stop) {
  TuneSetting setting;
  setting.options.methods =
      tuned_methods(options, spec.engine, static_cast<int>(spec.graph.extents.size()));
  setting.options.device = device.devices.front().index;
  check_methods(spec.engine, setting.options);
  spec.replicas = options.replicas > 0 ? static_cast<std::uint32_t>(options.replicas)
                                       : tuning_replicas(spec, setting.options.device);
  setting.options.threads = options.threads > 0 ? static_cast<int>(options.threads)
                                                : useful_threads(spec, thread_count(0));
  setting.candidates = tuned_candidates(options, spec.engine);
  if (options.keep_all) {
    setting.rules.z = std::numeric_limits<double>::infinity();
  }
  setting.budget = parse_duration(options.budget, "--budget").count();
  setting.improved = spec.model.kind == ModelKind::ising;
  setting.spec = std::move(spec);
  if (const auto range = exchange_range(options.temperature, options.task.exchange)) {
    TaskRunOptions run;
    run.engine = setting.options;
    run.stop = stop;
    TaskSpec task = setting.spec;
    task.set(setting.candidates.front());
    setting.spec.temperatures = choose_temperatures(task, *range, run);
  }
  return setting;
}

// Returns the exit status of draw_plots().
ExitCode write_results(const TuneOptions& options, const std::vector<TuneResult>& results) {
  if (!options.study.empty()) {
    for (const TuneResult& result : results) {
      const auto file = store_schedule(options.study, result);
      fmt::print(stderr, "schedule = \"auto\": {} in {}\n", to_string(result.best().candidate),
                 file.string());
    }
  }
  if (options.out.empty()) return ExitCode::done;
  write_text_file(options.out, tune_json(results).dump(2) + "\n");
  fmt::print(stderr, "written to {}\n", options.out);
  return options.plots ? draw_plots({options.out, "--quiet"}) : ExitCode::done;
}

// The results of a study depend on its schedules, so replacing one needs --overwrite.
void check_study(const TuneOptions& options, const std::vector<TaskSpec>& list) {
  const std::filesystem::path folder(options.study), file = folder / "study.toml";
  if (!file_exists(file)) {
    throw Error(ExitCode::io,
                fmt::format("--study: '{}' is not the folder of a study (study.toml is missing)",
                            options.study));
  }
  const StudyConfig study = read_study_config(file);
  for (const TaskSpec& spec : list) {
    const std::string p = number_text(spec.graph.p);
    if (static_cast<int>(spec.graph.extents.size()) != study.dim() ||
        std::ranges::find(study.p, spec.graph.p) == study.p.end() ||
        std::ranges::find(study.rules, spec.graph.rule) == study.rules.end()) {
      throw Error(ExitCode::usage,
                  fmt::format("--study: {} has no p = {} of rule {} in {} "
                              "dimensions (its p: {})",
                              options.study, p, rule_text(to_string(spec.graph.rule)),
                              spec.graph.extents.size(), fmt::join(study.p, ", ")));
    }
    bool kept = stored_schedule(folder, spec, true).has_value();
    for (const ClusterUpdate cluster : tuned_clusters(options, spec.engine)) {
      TaskSpec one = spec;
      one.cluster = cluster;
      kept = kept || stored_schedule(folder, one, false);
    }
    if (options.overwrite || !kept) continue;
    throw Error(ExitCode::held,
                fmt::format("--study: {} already has a schedule for {} at p = {}, which its "
                            "results use (--overwrite replaces it; the results are then computed "
                            "again)",
                            options.study, extents_text(spec.graph.extents), p));
  }
}

double budget_of(const TuneOptions& options) {
  const double seconds = parse_duration(options.budget, "--budget").count();
  if (seconds > 0) return seconds;
  throw Error(ExitCode::usage, fmt::format("--budget: {} leaves no time to measure (try 30s, or "
                                           "more for large lattices)",
                                           options.budget));
}

void check_tune_options(const TuneOptions& options, const std::vector<TaskSpec>& list) {
  if (options.task.exchange && options.replicas % 2 == 1) {
    throw Error(ExitCode::usage,
                fmt::format("--replicas: {} is odd: overlaps compare pairs of replicas (with "
                            "--exchange give an even number)",
                            options.replicas));
  }
  if (options.task.exchange && !options.study.empty()) {
    throw Error(ExitCode::usage,
                "--study and --exchange exclude each other (give the study the schedule that is "
                "best, such as schedule = \"4:0\")");
  }
  if (!options.out.empty() && std::filesystem::path(options.out).extension() != ".json") {
    throw Error(ExitCode::usage, fmt::format("--out: '{}' does not end in .json", options.out));
  }
  if (!options.out.empty()) {
    check_output_file(options.out);
    reject_overwriting(options.out, options.overwrite);
  }
  if (!options.study.empty() && !options.graph.empty()) {
    throw Error(ExitCode::usage, "--study and --graph exclude each other (a study builds graphs)");
  }
  if (options.study.empty()) return;
  for (std::size_t k = 1; k < list.size(); ++k) {
    if (list[k].graph.p == list[k - 1].graph.p) {
      throw Error(ExitCode::usage,
                  "--study: give one temperature for each p, because a study has one schedule per "
                  "p");
    }
  }
  check_study(options, list);
}

ExitCode run_tune(const TuneOptions& options) {
  const auto list = tuned_settings(options);
  check_tune_options(options, list);
  const EngineKind engine = list.front().engine;
  tuned_candidates(options, engine);
  tuned_methods(options, engine, 0);  // checks before the work begins
  const DeviceChoice device = choose_device(options.device, engine, "--device", budget_of(options));
  tell_device(device);
  const StopToken stop;
  Progress progress("tune", static_cast<double>(list.size()));
  std::vector<TuneResult> results;
  std::string stopped, unmeasured, rejected;  // names of settings
  const auto append = [](std::string& names, const std::string& one) {
    names += (names.empty() ? "" : "; ") + one;
  };
  for (const TaskSpec& spec : list) {
    const std::string last =
        options.task.exchange ? " .. " + number_text(spec.temperatures.back()) : std::string();
    const std::string name = fmt::format("p = {}, T = {}{}", number_text(spec.graph.p),
                                         number_text(spec.temperatures.front()), last);
    progress.stage(name);
    const auto note = [&](const std::string& line) { progress.line(name + ": " + line); };
    try {
      TuneResult result = tune(setting_of(options, spec, device, stop), stop, note);
      if (result.has_best()) {
        results.push_back(std::move(result));
      } else if (!result.rejected.empty()) {
        append(rejected, list.size() > 1 ? name + ": " + result.rejected : result.rejected);
      } else {
        append(unmeasured, name);
      }
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::interrupted) throw;
      stopped = error.what();
      break;
    }
    if (&spec != &list.back()) progress.add(1);  // no remaining time after the last setting
  }
  progress.close();
  if (results.empty() && !stopped.empty()) {
    throw Error(ExitCode::interrupted, stopped + "; nothing was kept");
  }
  if (results.empty() && !rejected.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("no result: {} (use a larger --budget than {}, or other temperatures)",
                            rejected, options.budget));
  }
  if (!rejected.empty()) fmt::print(stderr, "skipped: {}\n", rejected);
  if (results.empty()) {
    throw Error(ExitCode::usage, fmt::format("--budget: {} is too short to compare any candidates "
                                             "(try 30s, or more for large lattices)",
                                             options.budget));
  }
  if (!unmeasured.empty()) {
    fmt::print(stderr, "skipped, because the budget of {} is too short to compare candidates: {}\n",
               options.budget, unmeasured);
  }
  if (options.json) {
    fmt::print("{}\n", tune_json(results).dump(2));
  } else {
    for (const TuneResult& result : results) fmt::print("{}\n", tune_table(result));
    if (results.size() > 1) fmt::print("{}\n", scan_table(results));
    fmt::print("{}", tune_legend(results.front().exchange()));
  }
  std::fflush(stdout);
  const ExitCode status = write_results(options, results);
  if (stopped.empty()) return status;
  throw Error(ExitCode::interrupted, fmt::format("{}; {} of {} settings were measured", stopped,
                                                 results.size(), list.size()));
}

void add_setting_options(CLI::App& app, TuneOptions& o) {
  begin_group(app, "Setting");
  add_text(app, "--graph", o.graph, "FILE", "use this graph instead of building one");
  add_graph_file_options(app, o.reading, "--graph");
  LatticeHelp help;
  help.p = "several (P,P,..) make a scan";
  help.seed = "seed of the graphs";
  add_lattice_options(app, o, help);
  add_temperatures(app, o.temperature,
                   "; with --exchange, FROM:TO chooses temperatures with an acceptance of 0.3 "
                   "[near Tc(p); required with --exchange]");
  add_key(app, "sampling.exchange", o.task.exchange);
  add_key(app, "sampling.houdayer", o.task.houdayer);
  add_model_options(app, o);
  add_key(app, "sampling.engine", o.task.engine);
  add_key(app, "sampling.local", o.local);
  add_key(app, "sampling.cluster", o.cluster);
  add_text(app, "--candidates", o.candidates, "M:W[,..]",
           "schedules to compare, M:W with every update of --cluster,\n"
           "or with one update, such as swendsen-wang/4:1 [1:0, 64:1,\n"
           "16:1, 8:1, .., 1:1, 1:2, .., 1:16, 1:64, 1:256, 1:1024,\n"
           "0:1; with Swendsen-Wang 64:1, 16:1, 4:1, 1:1, 0:1; with\n"
           "--exchange 1:0, 2:0, 4:0, .., 64:0, 16:1, 4:1, 1:1]");
  add_integer(
      app, "--replicas", o.replicas, 0, 1u << 20,
      "replicas per temperature, an even number with --exchange;\n0: 32 of the multispin "
      "engine, on CUDA as many as fill\nthe device; 8 of the bytespin engine, on CUDA 4, with\n"
      "--exchange 16");
  add_key(app, "study.seed", o.seed, 0, kMaxSeed, kSeedHelp);
}

void add_effort_options(CLI::App& app, TuneOptions& o) {
  begin_group(app, "Effort");
  add_text(
      app, "--budget", o.budget, "TIME",
      "time for each p and temperature: 10s, 5min. Exceeded, up to\nfour times, only until two "
      "candidates are measured or dropped");
  add_flag(app, "--keep-all", o.keep_all, "drop no candidate (for checks, with a large budget)");
  add_key(app, "run.device", o.device);
  add_threads(app, o.threads, help_lines(setting("run.threads").help));
  add_method_options(app, o.methods, MethodHelp::as_run);
  begin_group(app, "Output");
  add_text(app, "--out", o.out, "FILE.json",
           "write all results to this file, with plots beside "
           "it");
  add_text(app, "--study", o.study, "DIR",
           "store the best schedules for schedule = \"auto\" of this\nstudy");
  add_flag(app, "--overwrite", o.overwrite,
           "replace FILE.json if it exists, and schedules of the\n"
           "study");
  add_off_flag(app, "--no-plots", o.plots, "do not draw plots");
  add_flag(app, "--json", o.json, "print one JSON object, nothing else");
}

}  // namespace

AddedCommand add_tune_command(CLI::App& program) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App& app = add_command(program, "tune", kTuneAbout, kTuneExamples);
  add_setting_options(app, *options);
  add_effort_options(app, *options);
  return {&app, [options, &app] {
            reject_beside(app, "--graph",
                          {"--dim", "--size", "--p", "--rule", "--parity", "--graph-seed"});
            if (is_given(app, "--seed")) options->task.seed = options->seed;
            return run_tune(*options);
          }};
}

}  // namespace rewise
