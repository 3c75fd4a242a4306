// `rewise run`: simulates one graph at some temperatures with one seed. Prints averages with errors
// and writes a task file; a run can be interrupted, resumed and extended.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "experiments/commands/run_options.hpp"
#include "experiments/commands/run_report.hpp"
#include "experiments/commands/run_snapshot.hpp"
#include "experiments/console/commands.hpp"
#include "src/base/count_text.hpp"
#include "src/base/fixed_point.hpp"
#include "src/base/temporary.hpp"
#include "src/search/costs.hpp"
#include "src/search/exchange_ladder.hpp"
#include "src/search/single_run.hpp"
#include "src/search/tune/auto_schedule.hpp"
#include "src/settings/config.hpp"
#include "src/settings/device_choice.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/ergodicity.hpp"
#include "src/settings/memory_need.hpp"
#include "src/settings/parse.hpp"
#include "src/store/syscalls.hpp"
#include "src/study/progress.hpp"
#include "src/study/ranks.hpp"
#include "src/study/shared_ranks.hpp"
#include "src/study/task.hpp"

namespace rewise {
namespace {

constexpr const char* kRunAbout =
    "Simulate one graph at given temperatures.\n\n"
    "Example: rewise run --size 64 --p 0.01 --temperature 2.3,2.4,2.5\n\n"
    "Simulates the Ising or the Potts model on one graph at one or more temperatures and\n"
    "prints energy, magnetisation, Binder's U, specific heat and susceptibility per site\n"
    "with errors, and integrated autocorrelation times (tau, in cycles).";
constexpr const char* kRunBasics = R"(
A cycle is M sweeps of --local and then W updates of --cluster in every replica. Half of
the replicas start ordered, half random. If the two halves differ, if the run drifts, or if it
is too short for reliable errors, the table shows "-", and lines below it say why and what to
do; --json has null with "status" and "reasons" (and the rejected number as "candidate"). The
column <C>/N is left out if there are no cluster updates, or couplings or fields. The last line
has a hash of the final spins (trajectory). It is the same on any device and any number of
threads, but depends on the engine.

--model potts simulates spins with --q states: the energy is minus the number of bonds between
equal states, |m| = (q N_max/N - 1)/(q - 1) with N_max sites in the most frequent state.
few-cluster (Weigel 2011) grows one cluster from a seed in each tile of the lattice and flips
each cluster with a probability below 1.

With --out the results are saved, and checkpoints are written to FILE with .part.h5 for .h5. A
finished file is never overwritten; the same command with a larger --measure adds to it.

)";
constexpr const char* kRunExamples = R"(

Under mpirun or srun, --share-ranks divides the lattice among all ranks. Each rank simulates a
slab; there can be as many ranks as rows along the last extent. It supports the bitlattice engine,
and sweeps and Swendsen-Wang updates of the bytespin engine. Numbers and files are those of
one process. Each rank writes its part of a checkpoint (FILE.part.h5.*), which any number of
ranks can continue. With --state apart, or above 1 GiB, the final state is also written in parts
(FILE.h5.*, which belong to FILE.h5). Without --share-ranks every rank runs the same command.

Memory is estimated at the start: a run that does not fit ends with status 69, and a run that
needs much memory prints its estimate. --dry-run only prints the estimates, and ends with
status 69, too, if the run does not fit. With --device cuda it needs no GPU.

More examples:
  rewise run --size 128 --temperature 2.269185 --schedule 1:1 --measure 5000 --json
  rewise run --size 256 --p 0.01 --temperature 2.43 --schedule 1:16 --out t.h5
  mpirun -n 8 rewise run --share-ranks --engine bitlattice --size 131072 --schedule 1:0
      --temperature 3 --device cuda --out big.h5
  rewise run --model potts --q 3 --size 64 --temperature 0.995 --cluster swendsen-wang)";

// Prints how many bonds and sites of a graph file have couplings and fields.
void tell_interactions(const TaskSpec& spec) {
  if (!spec.imported || spec.model.interactions.couplings != CouplingKind::file) return;
  const auto weights = spec.imported->bond_couplings(), fields = spec.imported->site_fields();
  const auto other =
      weights.size() - static_cast<std::size_t>(std::ranges::count(weights, kFixedOne));
  const auto with = fields.size() - static_cast<std::size_t>(std::ranges::count(fields, 0));
  fmt::print(stderr, "from the file: J other than 1 on {} of {}, a field on {} of {}\n", other,
             count_text(spec.imported->bonds(), "bond"), with,
             count_text(spec.imported->sites(), "site"));
}

std::string interrupted_text(const RunOptions& options, const TaskResult& result,
                             const std::string& reason) {
  if (options.out.empty()) {
    return fmt::format("stopped by {} after {}; nothing was kept (--out FILE keeps checkpoints)",
                       reason, result.message);
  }
  return fmt::format("stopped by {} after {}; {}", reason, result.message,
                     result.has_checkpoint
                         ? "a checkpoint was written: run the same command again to continue"
                         : "nothing was kept, because no cycle was completed");
}

// Chooses the schedule for --schedule auto, and the cluster update if it is not given. An existing
// task file keeps its choice. Otherwise the schedule is tuned for a tenth of the expected run time,
// within 1 s to 30 s.
Updates automatic_schedule(const TaskJob& job, bool any_cluster, const TaskRunOptions& run) {
  const TaskSpec& spec = job.spec;
  const std::optional<TaskPaths>& paths = job.paths;
  constexpr double least = 1, most = 30;  // seconds
  for (const auto& file : paths ? std::vector{paths->finished, paths->checkpoint}
                                : std::vector<std::filesystem::path>{}) {
    std::optional<LoadedTask> stored;
    try {
      stored = load_task(file, OpenAs::reader, LoadParts::skip);
    } catch (const Error& error) {
      if (!job.recompute_damaged || error.exit_code() != ExitCode::data) throw;
    }
    if (!stored) continue;
    const TaskSpec kept = stored_spec(stored->task, file.string());
    return {kept.schedule, any_cluster ? kept.cluster : spec.cluster};
  }
  const double budget = std::clamp(0.1 * cpu_seconds(spec, run.engine.threads), least, most);
  const ChosenSchedule chosen = tuned_schedule(spec, any_cluster, run.engine, budget, run.stop);
  fmt::print(stderr, "schedule: {} ({})\n", to_string(chosen), chosen.reason);
  return chosen;
}

// Throws Error(usage) if the device, or the devices that share a lattice, do not support this run.
void check_device(const EngineOptions& engine, const RunOptions& options, const TaskSpec& spec,
                  bool tunes_schedule) {
  if (engine.devices.empty()) {
    check_methods(spec.engine, engine);
    return;
  }
  if (spec.imported != nullptr && spec.imported->lattice().dim == 0) {
    throw Error(
        ExitCode::usage,
        fmt::format("--device: {} can share lattices only, not imported graphs", options.device));
  }
  if (tunes_schedule) {
    throw Error(ExitCode::usage,
                fmt::format("--schedule: auto is not supported by {}, which share a lattice (give "
                            "M:W; 'rewise tune' with one device finds it)",
                            options.device));
  }
  if (spec.schedule.cluster == 0) return;
  const std::string why_not =
      factory(spec.engine).why_no_team(spec.graph.extents, spec.cluster, engine.methods);
  if (!why_not.empty()) {
    throw Error(ExitCode::usage, fmt::format("--device: {} {}", options.device, why_not));
  }
}

// --dry-run: prints the time, memory and disk space that the run needs. With
// `temperature_range`, the run chooses its temperatures in this range by a scan, and those of
// `spec` are likely ones. Throws Error(device), as the run does, if memory is too short.
ExitCode print_needs(const TaskSpec& spec, const std::optional<TemperatureRange>& temperature_range,
                     const EngineOptions& engine, const MemoryNeed& need, bool on_device,
                     const RunOptions& options, bool tunes_schedule) {
  const MemoryRoom memory = memory_room();
  const double scan =
      temperature_range ? cpu_seconds(exchange_scan(spec, *temperature_range), engine.threads) : 0;
  const double seconds = scan + cpu_seconds(spec, engine.threads);
  if (options.json) {
    const Json json{
        {"memory_bytes", need.of_process()},
        {"memory_left_bytes", memory.bytes},
        {"memory_limit", memory.limit},
        {"device_bytes", on_device ? Json(need.device) : Json(nullptr)},
        {"disk_bytes", options.out.empty() ? 0 : disk_need(spec, run_final_state(options))},
        {"cpu_seconds", tunes_schedule ? Json(nullptr) : Json(seconds)},
        {"scan_cpu_seconds", scan},
        {"temperatures", spec.temperatures.size()},
        {"threads", engine.threads}};
    fmt::print("{}\n", json.dump(2));
    std::fflush(stdout);
    check_memory(need);
    return ExitCode::done;
  }
  fmt::print("memory: {}; {} leaves {}{}\n", need_text(need), memory.limit,
             bytes_text(memory.bytes), need.of_process() > memory.bytes ? ": it does not fit" : "");
  if (on_device) fmt::print("device: about {}\n", bytes_text(need.device));
  fmt::print("disk:   {}\n",
             options.out.empty()
                 ? "none (no --out)"
                 : fmt::format("about {}, twice that during writing",
                               bytes_text(disk_need(spec, run_final_state(options)))));
  if (tunes_schedule) {
    fmt::print("time:   unknown until the schedule is tuned\n");
  } else if (on_device) {
    fmt::print("time:   unknown for this device; {} on this CPU\n", estimate_text(seconds));
  } else {
    fmt::print("time:   {} on {}, assuming clusters as large as near Tc\n", estimate_text(seconds),
               count_text(engine.threads, "thread"));
  }
  if (temperature_range) {
    fmt::print(
        "        {} of this for the scan that chooses the temperatures; about {} temperatures,\n"
        "        if the specific heat is 1 per site\n",
        estimate_text(scan), spec.temperatures.size());
  }
  std::fflush(stdout);
  check_memory(need);
  return ExitCode::done;
}

// Chooses the device. --dry-run estimates the memory of a GPU also where there is none.
DeviceChoice chosen_device(const RunOptions& options, const TaskSpec& spec, int threads) {
  try {
    return device_of_rank(options.device, spec.engine, "--device", cpu_seconds(spec, threads));
  } catch (const Error& error) {
    if (!options.dry_run || error.exit_code() != ExitCode::device) throw;
    fmt::print(stderr, "{}; the estimate is for a GPU of another machine\n", error.what());
    return {{cuda_device(0)}, ""};
  }
}

// A run whose options were checked.
struct PreparedRun {
  TaskJob job;
  TaskRunOptions run;
  DeviceChoice device;
  std::optional<TemperatureRange> temperature_range;  // in which the run chooses its temperatures
  bool tunes_schedule = false;                        // schedule "auto"

  bool on_device() const { return !run.engine.devices.empty() || run.engine.device >= 0; }
};

PreparedRun prepare_run(const RunOptions& options) {
  PreparedRun prepared;
  TaskJob& job = prepared.job;
  job.spec = run_spec(options);
  job.paths = paths_beside(options.out);
  TaskRunOptions& run = prepared.run;
  TaskSpec& spec = job.spec;
  job.recompute_damaged = options.recompute_damaged;
  job.final_state = run_final_state(options);
  check_snapshots(options, spec);
  run.engine.methods = run_methods(options, spec);
  run.engine.threads = options.threads > 0 ? static_cast<int>(options.threads)
                                           : useful_threads(spec, threads_of_rank(0));
  prepared.device = chosen_device(options, spec, run.engine.threads);
  prepared.device.devices.front().choose(run.engine);
  prepared.tunes_schedule = !options.task.updates.schedule && has_cluster_updates(spec.engine);
  check_device(run.engine, options, spec, prepared.tunes_schedule);
  run.checkpoint = parse_duration(options.checkpoint, "--checkpoint").count();
  std::optional<std::chrono::duration<double>> limit;
  if (!options.time_limit.empty()) limit = parse_time_limit(options.time_limit, "--time-limit");
  run.stop = StopToken(limit);
  prepared.temperature_range = exchange_range(options.temperature, options.task.exchange);
  if (prepared.temperature_range) {
    spec.temperatures = options.dry_run
                            ? likely_exchange_ladder(*prepared.temperature_range, site_count(spec))
                            : choose_temperatures(spec, *prepared.temperature_range, run);
    if (options.threads == 0) run.engine.threads = useful_threads(spec, threads_of_rank(0));
  }
  if (prepared.tunes_schedule) {
    check_compares_schedules(spec.model, "--schedule");
    if (spec.imported && spec.model.interactions.couplings == CouplingKind::file) {
      check_compares_schedules(*spec.imported, "--schedule");
    }
  }
  return prepared;
}

MemoryNeed need_of(const PreparedRun& prepared, const RunOptions& options) {
  const TaskSpec& spec = prepared.job.spec;
  const bool stores = !options.out.empty();
  MemoryNeed need = memory_need(spec, prepared.run.engine.threads, prepared.on_device(), stores);
  share_need(need, stores ? state_bytes(spec) : 0,
             stores && gathers_state(spec, prepared.job.final_state));
  return need;
}

// What to do if another process holds the task.
std::string advice_if_held(const RunOptions& options) {
  return fmt::format(
      "; wait for it, or choose another --out (if it died on another machine, run again in two "
      "minutes){}",
      this_rank().size > 1 && !options.share_ranks
          ? fmt::format(" ({} processes were started together; give --share-ranks to let them "
                        "share the run)",
                        this_rank().size)
          : "");
}

// Runs the task and adds the warnings of its graph.
CheckedTask compute(PreparedRun& prepared, const RunOptions& options,
                    std::vector<std::string>& warnings) {
  const TaskSpec& spec = prepared.job.spec;
  const SettingNames names = SettingNames::options();
  if (const auto& paths = prepared.job.paths) {  // remove temporary files of a killed run
    clear_temporaries(folder_of(paths->lease), fmt::format(".{}.", paths->lease.stem().string()));
  }
  Progress progress("run", static_cast<double>(spec.cycles()));
  TaskJob job = prepared.job;
  job.progress = [&](std::uint64_t cycles) { progress.add(static_cast<double>(cycles)); };
  job.note = [&](const std::string& line) { progress.line(line); };
  std::optional<ErgodicityProblem> unreached;
  job.on_graph = [&](const Graph& graph) { unreached = ergodicity_problem(graph); };
  CheckedTask result;
  try {
    result = run_checked(std::move(job), prepared.run, names, options.out, advice_if_held(options));
  } catch (const DamagedTask& error) {
    throw Error(ExitCode::data, fmt::format("{} (--recompute-damaged sets damaged files aside and "
                                            "computes them again)",
                                            error.what()));
  }
  progress.close();
  if (result.task.outcome == TaskOutcome::interrupted) {
    throw Error(ExitCode::interrupted,
                interrupted_text(options, result.task, prepared.run.stop.reason()));
  }
  if (result.task.outcome == TaskOutcome::already_finished) {
    fmt::print(stderr,
               "'{}' already contains this run, with {} measurements; nothing was computed "
               "(a larger --measure adds to it)\n",
               options.out, result.task.data.bond_sum.time());
  }
  warnings = warnings_of(result.checked, options.json);
  if (const std::string line = metropolis_warning(spec, unreached, names); !line.empty()) {
    warnings.push_back(line);
  }
  return result;
}

ExitCode run_run(const RunOptions& options) {
  PreparedRun prepared = prepare_run(options);
  TaskSpec& spec = prepared.job.spec;
  const MemoryNeed need = need_of(prepared, options);
  if (options.dry_run) {
    return print_needs(spec, prepared.temperature_range, prepared.run.engine, need,
                       prepared.on_device(), options, prepared.tunes_schedule);
  }
  if (const std::string line = check_memory(need); !line.empty()) {
    fmt::print(stderr, "{}\n", line);
  }
  tell_device(prepared.device);
  if (this_rank().rank == 0) tell_interactions(spec);
  if (prepared.tunes_schedule) {
    spec.set(automatic_schedule(prepared.job, !options.task.updates.cluster, prepared.run));
  }
  std::vector<std::string> warnings;
  const auto [result, checked] = compute(prepared, options, warnings);
  if (options.json) {
    for (const std::string& line : warnings) fmt::print(stderr, "warning: {}\n", line);
    fmt::print("{}\n", run_json(result.data, checked, warnings).dump(2));
  } else {
    const bool shows_overlaps =
        spec.model.interactions.has_negative_or_random() || !options.snapshot_overlaps.empty();
    fmt::print("{}", run_table(result.data, checked, warnings, shows_overlaps));
    std::fflush(stdout);  // before the lines below
  }
  if (!options.out.empty() && result.outcome == TaskOutcome::finished) {
    fmt::print(stderr, "written to {}\n", options.out);
  }
  return write_snapshots(options, spec, result.data);
}

}  // namespace

AddedCommand add_run_command(CLI::App& program) {
  auto options = std::make_shared<RunOptions>();
  CLI::App& app =
      add_command(program, "run", kRunAbout, std::string(kRunBasics) + kStopHelp + kRunExamples);
  add_run_options(app, *options);
  return {&app, [options, &app] {
            check_run_options(app, *options);
            return with_ranks(
                {options->share_ranks, options->share_route, options->device, options->threads},
                [&] { return run_run(*options); });
          }};
}

}  // namespace rewise
