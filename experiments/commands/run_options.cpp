#include "experiments/commands/run_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <tuple>

#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"
#include "src/base/words.hpp"
#include "src/settings/config.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/ergodicity.hpp"
#include "src/settings/old_names.hpp"
#include "src/settings/schema.hpp"
#include "src/store/syscalls.hpp"
#include "src/study/shared_ranks.hpp"

namespace rewise {
namespace {

void add_graph_options(CLI::App& app, RunOptions& o) {
  begin_group(app, "Graph");
  add_text(app, "--graph", o.graph, "FILE",
           "use this graph (.edges, .graphml, .h5) instead of\n"
           "building one");
  add_graph_file_options(app, o.reading, "--graph");
  add_lattice_options(app, o);
}

void add_sampling_options(CLI::App& app, RunOptions& o) {
  begin_group(app, "Sampling");
  add_temperatures(app, o.temperature,
                   "; with --exchange, FROM:TO chooses temperatures with an acceptance of 0.3");
  add_key(app, "sampling.schedule", o.schedule);
  add_key(app, "sampling.replicas", o.task.replicas, "[bitlattice: 1]");
  add_key(app, "sampling.equilibrate", o.task.equilibrate);
  add_key(app, "sampling.measure", o.task.measure, 1, setting("sampling.measure").max_integer);
  add_key(app, "sampling.every", o.task.every);
  add_key(app, "study.seed", o.seed, 0, kMaxSeed, kSeedHelp);
  add_text(app, "--start", o.start, "WORD",
           "mixed (half cold, half hot), cold (ordered) or hot\n(random)");
  add_model_options(app, o);
  add_key(app, "sampling.local", o.local);
  add_key(app, "sampling.cluster", o.cluster, "[auto with schedule auto, else wolff]");
  add_key(app, "sampling.few_cluster_tile", o.few_cluster_tile);
  add_key(app, "sampling.few_cluster_flip", o.few_cluster_flip);
  add_key(app, "sampling.exchange", o.task.exchange);
  add_key(app, "sampling.houdayer", o.task.houdayer);
  add_key(app, "sampling.staggered", o.staggered);
}

void add_machine_options(CLI::App& app, RunOptions& o) {
  begin_group(app, "Machine");
  add_key(app, "sampling.engine", o.task.engine,
          "bitlattice: one bit per site, for one large lattice, schedule M:0, p = 0; with "
          "--share-ranks, auto is bitlattice or bytespin");
  add_key(
      app, "run.device", o.device,
      "and prints its choice. cuda:0+1: GPUs share a large lattice (bytespin engine, sweeps and "
      "Swendsen-Wang; bitlattice engine)");
  add_threads(app, o.threads, help_lines(setting("run.threads").help));
  add_share_ranks(app, o.share_ranks, o.share_route);
  add_method_options(app, o.methods, MethodHelp::full);
  begin_group(app, "Output");
  add_text(app, "--out", o.out, "FILE.h5", "write the series and the final state to this file");
  add_text(app, "--state", o.state, "WORD",
           "the final state, from which a larger --measure continues:\nwhole (in FILE.h5), apart "
           "(--share-ranks: one file per\nrank, FILE.h5.*), none, or auto: whole up to 1 GiB, "
           "else\napart with --share-ranks");
  add_text(app, "--snapshot", o.snapshot, "FILE",
           "the final spins of replica 0 at every temperature:\n"
           ".npy (int8, [temperature, .., y, x]), or .png in\n"
           "two dimensions");
  add_text(app, "--snapshot-overlaps", o.snapshot_overlaps, "FILE",
           "the final s_i s'_i of replicas 2k and 2k + 1 (Ising): .npy\n"
           "(int8, [temperature, k, .., y, x]), or .png, of k = 0");
  add_key(app, "run.checkpoint", o.checkpoint);
  for (const char* option : {"--state", "--checkpoint"}) require(app, option, "--out");
  add_key(app, "run.time_limit", o.time_limit, "a checkpoint is written");
  add_flag(app, "--recompute-damaged", o.recompute_damaged,
           "set damaged files of --out without a good copy aside and\ncompute them again "
           "(default: the run ends with status 65)");
  add_flag(app, "--json", o.json, "print one JSON object, nothing else");
  add_flag(app, "--dry-run", o.dry_run, "only print the memory, disk space and time that it needs");
}

// Throws Error(usage) if ranks cannot share the lattice of this run.
void check_shared(const TaskSpec& spec, const RunOptions& options) {
  check_share_ranks(spec.engine);
  if (!has_cluster_updates(spec.engine)) return;
  if (spec.imported != nullptr) {
    throw Error(ExitCode::usage,
                "--share-ranks: ranks can share lattices only, not a graph from a file");
  }
  if (!options.task.updates.schedule) {
    throw Error(ExitCode::usage, "--share-ranks: requires a schedule M:W, not auto");
  }
  if (spec.schedule.cluster == 0) return;
  if (spec.cluster != ClusterUpdate::swendsen_wang) {
    throw Error(ExitCode::usage,
                fmt::format("--share-ranks: ranks can share sweeps and swendsen-wang updates "
                            "only, not {} (use --cluster swendsen-wang, or a schedule such as 1:0)",
                            to_string(spec.cluster)));
  }
  const std::string why = why_no_methods(spec.engine, run_methods(options, spec), true, true);
  if (!why.empty()) throw Error(ExitCode::usage, "--share-ranks: " + why);
}

bool runs_regular_only(const TaskRequest& task) {
  return std::ranges::any_of(engine_registry(), [&](const EngineTraits& engine) {
    return engine.regular_only && task.engine == engine.name;
  });
}

}  // namespace

void add_run_options(CLI::App& app, RunOptions& options) {
  add_graph_options(app, options);
  add_sampling_options(app, options);
  add_machine_options(app, options);
}

void check_run_options(const CLI::App& app, RunOptions& options) {
  reject_beside(app, "--graph", {"--dim", "--size", "--p", "--rule", "--parity", "--graph-seed"});
  TaskRequest& task = options.task;
  task.updates = choose_updates(options.schedule, options.local, options.cluster,
                                SettingNames::options(), true);
  if (options.share_ranks && task.exchange) {
    throw Error(ExitCode::usage, "--share-ranks: ranks cannot share systems with --exchange");
  }
  if (options.share_ranks && task.houdayer) {
    throw Error(ExitCode::usage, "--share-ranks: ranks cannot share systems with --houdayer");
  }
  if (is_given(app, "--seed")) task.seed = options.seed;
  if (is_given(app, "--few-cluster-tile")) task.few_cluster_tile = options.few_cluster_tile;
  if (is_given(app, "--few-cluster-flip")) {
    task.few_cluster_flip = parse_number(options.few_cluster_flip, "--few-cluster-flip");
  }
  if (options.staggered) task.staggered = true;
  task.start = parse_start(options.start, "--start");
  task.allowed = NamedEngines::all;
  task.engine = engine_name_now(task.engine, "--engine");
  // With --share-ranks, "auto" never chooses multispin, whose lattices ranks cannot share.
  if (task.engine == "auto" && options.share_ranks) {
    const auto& schedule = task.updates.schedule;
    const bool bits = schedule && schedule->cluster == 0 &&
                      read_model(options).kind == ModelKind::ising && options.graph.empty() &&
                      parse_p(options.p, "--p") == 0;
    task.engine =
        to_string(bits ? engine_with(&EngineTraits::regular_only) : engine_with(shares_replicas));
  }
  if (runs_regular_only(task) && !is_given(app, "--replicas")) task.replicas = 1;
}

TaskSpec run_spec(const RunOptions& options) {
  TaskRequest request = options.task;
  request.share_ranks = options.share_ranks;
  request.model = read_model(options);
  request.temperatures = read_temperatures(options.temperature, request.exchange);
  check_temperatures(request, SettingNames::options());  // before a large file is read
  if (!options.graph.empty()) {
    const bool weights = request.model.interactions.couplings == CouplingKind::file;
    request.graph = std::make_shared<const Graph>(
        read_graph_for(request.model, options.graph, options.reading, weights));
  } else {
    request.lattice =
        lattice_spec(options, ", or --graph FILE",
                     runs_regular_only(request) ? ExtentRules::of_engine : ExtentRules::of_graphs);
    request.lattice.p = parse_p(options.p, "--p");
  }
  const TaskSpec spec = task_spec(request, SettingNames::options());
  if (options.share_ranks) check_shared(spec, options);
  return spec;
}

FinalState run_final_state(const RunOptions& options) {
  constexpr std::string_view words[]{"auto", "whole", "apart", "none"};
  const auto wanted = static_cast<FinalState>(parse_word(options.state, words, "state", "--state"));
  if (wanted == FinalState::apart && !options.share_ranks) {
    throw Error(ExitCode::usage, "--state: apart requires --share-ranks");
  }
  return wanted;
}

UpdateMethods run_methods(const RunOptions& options, const TaskSpec& spec) {
  const int dim =
      spec.imported ? spec.imported->lattice().dim : static_cast<int>(spec.graph.extents.size());
  return choose_methods(options.methods, spec.engine, spec.cluster, dim);
}

}  // namespace rewise
