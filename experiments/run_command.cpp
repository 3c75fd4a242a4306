// `rewise run`: one graph, some temperatures, one seed; numbers with errors, and a task file that
// can be interrupted, resumed and extended.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "experiments/auto_schedule.hpp"
#include "experiments/commands.hpp"
#include "experiments/config.hpp"
#include "experiments/device.hpp"
#include "experiments/options.hpp"
#include "experiments/packed_task.hpp"
#include "experiments/progress.hpp"
#include "experiments/run_report.hpp"
#include "experiments/task.hpp"
#include "graphs/graph_io.hpp"
#include "src/label/method.hpp"

namespace rewise {
namespace {

constexpr const char* kAbout =
    "Simulate one graph at given temperatures.\n\n"
    "Simulates the Ising or the Potts model on one graph at one or more temperatures and\n"
    "prints energy, magnetisation, Binder's U, specific heat and susceptibility per site\n"
    "with errors, and integrated autocorrelation times (tau, in cycles).";
constexpr const char* kExamples = R"(
A cycle is M sweeps of --local and then W updates of --cluster in every replica. Half of
the replicas start ordered, half random; a warning says where they still differ.

--model potts takes spins with --q states: the energy is minus the number of bonds between
equal states, |m| = (q N_max/N - 1)/(q - 1) with N_max sites in the most frequent state.
few-cluster (Weigel 2011) grows the clusters of one seed per tile of the lattice and flips
each with a probability below 1.

With --out the run is kept: SIGINT, SIGTERM, SIGUSR1, SIGHUP or --time-limit write a
checkpoint (FILE with .part.h5 for .h5) and end with status 75; the same command goes on
where it stopped, bit for bit, on any number of threads. A finished file is never
overwritten; the same command with a larger --measure adds to it.

Examples:
  rewise run --dim 2 --size 64 --p 0.01 --temperature 2.3,2.4,2.5
  rewise run --size 128 --temperature 2.269185 --schedule 1:1 --measure 5000 --json
  rewise run --size 256 --p 0.01 --temperature 2.43 --schedule 1:16 --out t.h5
  rewise run --model potts --q 3 --size 64 --temperature 0.995 --cluster swendsen-wang)";

struct RunOptions {
  std::uint64_t dim = 2, graph_seed = 1, replicas = 32, equilibrate = 1000, measure = 1000;
  std::uint64_t every = 1, seed = 1, threads = 0, q = 2, tile = 0, seed_tile = 0;
  std::string size, p = "0", rule = "rewire", graph, temperature, schedule = "1:1";
  std::string engine = "auto", device = "auto", model = "ising", local = "auto";
  std::string flip = number_text(EngineSpec{}.few_cluster_flip);
  std::string cluster = "wolff", wolff_method, label_method, start = "mixed", out;
  std::string checkpoint = "5min", time_limit;
  bool json = false;
};

TaskSpec make_spec(const RunOptions& options) {
  TaskSpec spec;
  if (!options.graph.empty()) {
    spec.imported = std::make_shared<const Graph>(read_graph(options.graph));
  } else {
    if (options.size.empty()) {
      throw Error(ExitCode::usage, "--size is missing (an even edge such as 64, or --graph FILE)");
    }
    spec.graph.extents = parse_extents(options.size, static_cast<int>(options.dim), "--size");
    if (options.engine != "packed") check_extents(spec.graph.extents, "--size");
    spec.graph.p = parse_p(options.p, "--p");
    spec.graph.rule = parse_rule(options.rule);
    spec.graph.seed = options.graph_seed;
  }
  spec.model = parse_model(options.model, "--model");
  check_states(spec.model, options.q, "--q");
  spec.q = static_cast<std::uint32_t>(options.q);
  const int dim = options.graph.empty() ? static_cast<int>(options.dim) : 0;
  spec.local = choose_local_update(options.local, dim, "--local");
  spec.cluster = parse_cluster_update(options.cluster, "--cluster");
  spec.few_cluster_tile = static_cast<std::uint32_t>(options.seed_tile);
  spec.few_cluster_flip = parse_number(options.flip, "--few-cluster-flip");
  spec.engine = choose_engine(options.engine, spec.model, spec.cluster, "--engine", true);
  spec.temperatures = parse_temperatures(options.temperature, "--temperature");
  check_replicas(spec.engine, options.replicas, "--replicas");
  spec.replicas = static_cast<std::uint32_t>(options.replicas);
  spec.start = parse_start(options.start, "--start");
  spec.seed = options.seed;
  if (options.schedule != "auto") {
    spec.schedule = parse_schedule(options.schedule, "--schedule");
  } else if (is_packed(spec)) {
    spec.schedule = {1, 0};  // it has no other update
  }
  spec.equilibrate = options.equilibrate;
  spec.measure = options.measure;
  spec.every = options.every;
  if (is_packed(spec)) check_packed_task(spec);
  return spec;
}

// About what the CPU engines take for all of a task (RESULTS.md: ns per attempted site and, for
// clusters near Tc, per site of the lattice), by their slower figures.
double cpu_seconds(const TaskSpec& spec, int threads) {
  double sites = 1;
  if (spec.imported != nullptr) {
    sites = static_cast<double>(spec.imported->sites());
  } else {
    for (const auto extent : spec.graph.extents) sites *= extent;
  }
  const bool potts = spec.model == ModelKind::potts;
  // packed takes what bundle does
  const double local = spec.engine != "single" ? 0.2 : potts ? 40 : 6;
  const double cluster = spec.cluster == ClusterUpdate::wolff ? 1 : 8;
  return 1e-9 * sites * static_cast<double>(spec.temperatures.size()) * spec.replicas *
         static_cast<double>(spec.cycles()) *
         (local * spec.schedule.local + cluster * spec.schedule.cluster) / threads;
}

// t.h5 -> t.h5, t.part.h5, t.lease
std::optional<TaskPaths> output_paths(const std::string& out) {
  if (out.empty()) return std::nullopt;
  const std::filesystem::path file(out);
  if (file.extension() != ".h5" || file.stem().empty()) {
    throw Error(ExitCode::usage, fmt::format("--out: '{}' does not end in .h5", out));
  }
  if (std::filesystem::is_directory(file)) {
    throw Error(ExitCode::held, fmt::format("--out: '{}' is a folder", out));
  }
  check_output_file(file);
  TaskPaths paths;
  paths.finished = file;
  paths.checkpoint = std::filesystem::path(file).replace_extension(".part.h5");
  paths.lease = std::filesystem::path(file).replace_extension(".lease");
  return paths;
}

EngineOptions engine_options(const RunOptions& options, const TaskSpec& spec) {
  const char* of_single = !options.wolff_method.empty()   ? "--wolff-method"
                          : !options.label_method.empty() ? "--label-method"
                          : options.tile > 0              ? "--tile"
                                                          : nullptr;
  if (spec.engine != "single" && of_single != nullptr) {
    throw Error(ExitCode::usage,
                fmt::format("{}: is for --engine single, not {}", of_single, spec.engine));
  }
  if (!options.wolff_method.empty() && spec.cluster != ClusterUpdate::wolff) {
    throw Error(ExitCode::usage, fmt::format("--wolff-method: is for --cluster wolff, not {}",
                                             to_string(spec.cluster)));
  }
  EngineOptions engine;
  engine.wolff_method = options.wolff_method;
  engine.label_method = options.label_method;
  engine.label_tile = static_cast<std::uint32_t>(options.tile);
  return engine;
}

std::string interrupted_text(const RunOptions& options, const TaskResult& result,
                             const std::string& reason) {
  if (options.out.empty()) {
    return fmt::format("stopped by {} after {}; nothing was kept (--out FILE keeps checkpoints)",
                       reason, result.message);
  }
  return fmt::format("stopped by {} after {}; checkpoint written, the same command goes on from it",
                     reason, result.message);
}

// Checkerboard Metropolis alone is not ergodic on chains, nor where several isolated sites flip
// together at every sweep; a cluster update or the heat bath is.
std::string metropolis_warning(const TaskSpec& spec) {
  // With more states than two, the proposals are random.
  if (spec.local != LocalUpdate::metropolis || spec.schedule.cluster > 0 || spec.q > 2) return "";
  const char* cure = "take --local glauber, or cluster updates into the schedule";
  const auto graph = is_packed(spec) ? nullptr : task_graph(spec);
  if (graph == nullptr ? spec.graph.extents.size() == 1 : graph->lattice().dim == 1) {
    return fmt::format(
        "warning: Metropolis alone does not reach every configuration of a chain: {}\n", cure);
  }
  if (graph == nullptr) return "";
  std::uint64_t isolated = 0;
  const auto offsets = graph->offsets();
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k) isolated += offsets[k] == offsets[k + 1];
  if (isolated < 2) return "";
  return fmt::format(
      "warning: {} isolated sites flip together at every sweep of Metropolis alone: {}\n", isolated,
      cure);
}

// --schedule auto: that of the task file, so that a run goes on as it began; else tuned, for a
// tenth of the time that the run will take.
Schedule automatic_schedule(const TaskSpec& spec, const std::optional<TaskPaths>& paths,
                            const TaskRun& run) {
  constexpr double least = 1, most = 30;  // seconds
  for (const auto& file : paths ? std::vector{paths->finished, paths->checkpoint}
                                : std::vector<std::filesystem::path>{}) {
    const auto stored = load_task(file, OpenAs::reader);
    if (!stored) continue;
    const auto found = stored->task.configuration.find("sampling.schedule");
    if (found != stored->task.configuration.end()) {
      return parse_schedule(found->second, file.string());
    }
  }
  const double budget = std::clamp(0.1 * cpu_seconds(spec, run.engine.threads), least, most);
  const ChosenSchedule chosen = tuned_schedule(spec, run.engine, budget, run.stop);
  fmt::print(stderr, "schedule: {} ({})\n", to_string(chosen.schedule), chosen.reason);
  return chosen.schedule;
}

ExitCode run_run(const RunOptions& options) {
  if (options.temperature.empty()) {
    throw Error(ExitCode::usage, "--temperature is missing (one or more, such as 2.3,2.4)");
  }
  TaskSpec spec = make_spec(options);
  const auto paths = output_paths(options.out);
  TaskRun run;
  run.engine = engine_options(options, spec);
  run.engine.threads = options.threads > 0 ? static_cast<int>(options.threads)
                                           : useful_threads(spec, thread_count(0));
  const DeviceChoice device =
      choose_device(options.device, spec.engine, "--device", cpu_seconds(spec, run.engine.threads));
  run.engine.device = device.devices.front().index;
  run.checkpoint = parse_duration(options.checkpoint, "--checkpoint").count();
  std::optional<std::chrono::duration<double>> limit;
  if (!options.time_limit.empty()) limit = parse_duration(options.time_limit, "--time-limit");
  run.stop = StopToken(limit);
  tell_device(device);
  if (options.schedule == "auto" && !is_packed(spec)) {
    spec.schedule = automatic_schedule(spec, paths, run);
  }

  Progress progress("run", static_cast<double>(spec.cycles()));
  run.progress = [&](std::uint64_t cycles) { progress.add(static_cast<double>(cycles)); };
  run.note = [&](const std::string& line) { progress.line(line); };
  const TaskResult result = run_task(spec, paths, run);
  progress.close();
  switch (result.outcome) {
    case TaskOutcome::held:
      throw Error(ExitCode::held, fmt::format("'{}' is held by {}", options.out, result.message));
    case TaskOutcome::interrupted:
      throw Error(ExitCode::interrupted, interrupted_text(options, result, run.stop.reason()));
    case TaskOutcome::already:
      fmt::print(stderr,
                 "'{}' holds this task already, with {} measurements; nothing was computed "
                 "(a larger --measure adds to it)\n",
                 options.out, result.data.energy.time());
      break;
    case TaskOutcome::finished:
      break;
  }
  fmt::print(stderr, "{}{}", result_warnings(result.data), metropolis_warning(spec));
  if (options.json) {
    fmt::print("{}\n", run_json(result.data).dump(2));
  } else {
    fmt::print("{}", run_table(result.data));
  }
  if (!options.out.empty() && result.outcome == TaskOutcome::finished) {
    fmt::print(stderr, "written to {}\n", options.out);
  }
  return ExitCode::done;
}

void add_graph_options(CLI::App& app, RunOptions& o) {
  add_text(app, "--graph", o.graph, "FILE",
           "use this graph (.edges, .graphml, .h5) instead of\n"
           "building one");
  add_whole(app, "--dim", o.dim, 1, kMaxDim, "dimension of the lattice, 1..4");
  add_text(app, "--size", o.size, "L[,L..]", "edge, or one extent per direction: even, 4 or more");
  add_text(app, "--p", o.p, "P", "rewiring probability, 0..1");
  add_text(app, "--rule", o.rule, "RULE", "rewire, swap or add (see 'rewise graph --help')");
  add_whole(app, "--graph-seed", o.graph_seed, 0, kMostSeed, "seed of the graph");
  for (const char* name : {"--dim", "--size", "--p", "--rule", "--graph-seed", "--graph"}) {
    app.get_option(name)->group("Graph");
  }
}

void add_sampling_options(CLI::App& app, RunOptions& o) {
  constexpr std::uint64_t most = std::uint64_t{1} << 32;
  app.option_defaults()->group("Sampling");
  add_text(app, "--temperature", o.temperature, "T[,T..]", "temperatures, J = k_B = 1");
  add_text(app, "--schedule", o.schedule, "M:W",
           "a cycle: M local sweeps, then W cluster updates;\n"
           "auto: tuned first (see 'rewise tune')");
  add_whole(app, "--replicas", o.replicas, 1, 1u << 20,
            "independent systems per temperature; multiples of\n32 for the bundle engine; packed: "
            "1 if not given");
  add_whole(app, "--equilibrate", o.equilibrate, 0, most, "cycles before the first measurement");
  add_whole(app, "--measure", o.measure, 1, most, "number of measurements");
  add_whole(app, "--every", o.every, 1, most, "cycles per measurement");
  add_whole(app, "--seed", o.seed, 0, kMostSeed, "seed of the run: same seed, same trajectory");
  add_text(app, "--start", o.start, "WORD", "mixed (half cold, half hot), cold or hot");
  add_text(app, "--model", o.model, "ising|potts", "potts: single engine");
  add_whole(app, "--q", o.q, 2, 255, "Potts states");
  add_text(app, "--local", o.local, "WORD",
           "metropolis, glauber or auto: glauber in one\ndimension, metropolis elsewhere");
  add_text(app, "--cluster", o.cluster, "WORD",
           "wolff, swendsen-wang, or few-cluster (single engine)");
  add_whole(app, "--few-cluster-tile", o.seed_tile, 0, 0xFFFFFFFFu,
            "edge of the tiles with one seed each; 0: a few tiles,\n4 x 4 in two dimensions");
  add_text(app, "--few-cluster-flip", o.flip, "P", "chance that a cluster found flips, below 1");
}

void add_machine_options(CLI::App& app, RunOptions& o) {
  app.option_defaults()->group("Machine");
  add_text(
      app, "--engine", o.engine, "WORD",
      "bundle (32 Ising replicas per word, fastest), single\n(one byte per site), packed (one bit "
      "per site: one\nlarge lattice, p = 0, schedule M:0), or auto:\nbundle where it can");
  add_text(app, "--device", o.device, "DEVICE",
           "auto, cpu, cuda or cuda:N; cuda is an error where it\n"
           "cannot be used; auto takes a GPU where it can, unless\n"
           "the CPU is done first, and says what it took");
  add_whole(app, "--threads", o.threads, 0, 4096,
            "0: as many as help; the numbers do not depend on it");
  add_text(app, "--wolff-method", o.wolff_method, "WORD",
           "single engine, how clusters are grown: frontier or\n"
           "ccl, on CUDA also frontier-local or persistent; the\n"
           "device's fastest if not given");
  add_text(app, "--label-method", o.label_method, "WORD",
           "single engine, how clusters are labelled: fast (the\n"
           "default), label-equivalence, kalentev, or TILE+MERGE:\n"
           "bfs, union-find or self-label + relax or sew");
  add_whole(app, "--tile", o.tile, 0, kMostTile,
            "edge of TILE+MERGE's tiles, 4..64; 0: about 256\nsites a tile");
  app.option_defaults()->group("Output");
  add_text(app, "--out", o.out, "FILE.h5", "keep series and state in this task file");
  add_text(app, "--checkpoint", o.checkpoint, "TIME", "between checkpoints: 90s, 5min, 1h");
  add_text(app, "--time-limit", o.time_limit, "TIME",
           "checkpoint and stop with status 75 after this time");
  app.add_flag("--json", o.json, "print one JSON object, nothing else");
}

void refuse_few_cluster_options(const CLI::App& app, const std::string& cluster) {
  for (const char* name : {"--few-cluster-tile", "--few-cluster-flip"}) {
    if (app.count(name) == 0 || cluster == "few-cluster") continue;
    throw Error(ExitCode::usage,
                fmt::format("{}: is for --cluster few-cluster, not {}", name, cluster));
  }
}

}  // namespace

AddedCommand add_run_command(CLI::App& program) {
  auto options = std::make_shared<RunOptions>();
  CLI::App& app = *program.add_subcommand("run", kAbout);
  app.footer(kExamples);
  add_graph_options(app, *options);
  add_sampling_options(app, *options);
  add_machine_options(app, *options);
  return {&app, [options, &app] {
            refuse_beside(app, "--graph", {"--dim", "--size", "--p", "--rule", "--graph-seed"});
            refuse_few_cluster_options(app, options->cluster);
            if (options->engine == "packed" && app.count("--replicas") == 0) options->replicas = 1;
            return run_run(*options);
          }};
}

}  // namespace rewise
