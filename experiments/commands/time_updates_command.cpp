// `rewise time-updates REQUEST`: seconds of single cluster updates, for `rewise reproduce`.
// analysis/rewise/reproduce_times.py describes the request and the reply, which are JSON; the
// command is for that module alone, and --help does not list it.
//
// All timings of a request start from the same state: an ordered start, equilibrated by
// Swendsen-Wang updates. A measurement follows each update. Every update and every measurement is
// timed separately, because the caller takes medians over updates and over repeats.
#include <fmt/format.h>

#include <memory>

#include "experiments/console/commands.hpp"
#include "graphs/graph.hpp"
#include "src/cuda/devices.hpp"
#include "src/curves/curve_spec.hpp"
#include "src/engine/registry.hpp"
#include "src/settings/device_choice.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/parse.hpp"
#include "src/study/make_engine.hpp"

namespace rewise {
namespace {

struct Column {
  const char* name;
  double (*value)(const WorkCounters& work);  // total since the engine was constructed
};
constexpr Column kColumns[] = {
    {"cluster", [](const WorkCounters& w) { return w.cluster_seconds; }},
    {"measure", [](const WorkCounters& w) { return w.measure_seconds; }},
    {"activate", [](const WorkCounters& w) { return w.phases.activate; }},
    {"label", [](const WorkCounters& w) { return w.phases.label; }},
    {"merge", [](const WorkCounters& w) { return w.phases.merge; }},
    {"flip", [](const WorkCounters& w) { return w.phases.flip; }},
    {"sites", [](const WorkCounters& w) { return static_cast<double>(w.cluster_sites); }},
    {"passes", [](const WorkCounters& w) { return static_cast<double>(w.label_passes); }}};

// The part of the specification common to equilibration and timings.
EngineSpec engine_spec_of(const Json& request, ClusterUpdate cluster) {
  EngineSpec spec;
  const std::uint32_t q = request.at("q");
  spec.model = {q == 2 ? ModelKind::ising : ModelKind::potts, q};
  spec.betas = {request.at("beta").get<double>()};
  spec.replicas = request.at("replicas");
  spec.seed = request.at("seed");
  spec.cluster = cluster;
  spec.start = Start::cold;
  return spec;
}

EngineState equilibrium(const Json& request, const Graph& graph, EngineKind kind,
                        const StopToken& stop) {
  EngineOptions options;
  options.device = request.at("device");
  options.threads = thread_count(request.at("threads"));
  const auto engine =
      make_engine(kind, graph, engine_spec_of(request, ClusterUpdate::swendsen_wang), options);
  for (std::uint64_t k = 0; k < request.at("equilibrate"); ++k) {
    check_stop(stop);
    engine->advance({0, 1}, 1);
  }
  Observation seen;
  // Clears the sums over clusters: an engine with another cluster update would reject a state that
  // contains them.
  engine->measure(seen);
  return engine->save();
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Ranks are threads of this process. Each has a core, or one of the CUDA devices in round-robin
// order.
std::unique_ptr<Engine> timed_engine(const Json& request, const Json& timing, const Graph& graph,
                                     EngineKind kind) {
  const auto cluster = parse_cluster_update(timing.at("cluster").get<std::string>(), "cluster");
  EngineSpec spec = engine_spec_of(request, cluster);
  EngineOptions options;
  options.device = timing.at("device");
  options.threads = 1;
  MethodTexts words;
  for (const auto& [key, option] :
       {std::pair("wolff_method", "--wolff-method"), std::pair("label_method", "--label-method"),
        std::pair("tile", "--tile")}) {
    if (timing.contains(key)) words[option] = text_of(timing[key]);
  }
  if (cluster == ClusterUpdate::few_cluster) {
    spec.few_cluster.tile = timing.value("tile", 0u);  // 0: a few tiles
    words.erase("--tile");
  }
  options.methods = choose_methods(words, kind, cluster, graph.lattice().dim);
  check_methods(kind, options);
  options.ranks = timing.value("ranks", 1);
  if (options.ranks > 1 && options.device >= 0) {
    const std::vector<CudaDevice> devices = cuda_devices();
    for (std::size_t r = 0; r < static_cast<std::size_t>(options.ranks); ++r) {
      options.devices.push_back(devices.at(r % devices.size()).index);
    }
  }
  return make_engine(kind, graph, spec, options);
}

// Makes at least `least` updates, then more until there are `most` updates or `seconds` have
// passed.
Json time_updates(Engine& engine, std::uint64_t least, std::uint64_t most, double seconds,
                  const StopToken& stop) {
  Json columns = Json::object();
  Observation seen;
  WorkCounters before = engine.work();
  double spent = 0;
  for (std::uint64_t u = 0; u < least || (u < most && spent < seconds); ++u) {
    check_stop(stop);
    engine.advance({0, 1}, 1);
    engine.measure(seen);
    const WorkCounters after = engine.work();
    for (const Column& column : kColumns) {
      columns[column.name].push_back(column.value(after) - column.value(before));
    }
    spent += after.cluster_seconds + after.measure_seconds - before.cluster_seconds -
             before.measure_seconds;
    before = after;
  }
  return columns;
}

// Returns one object of columns for each repeat. Each repeat makes the same updates from `start`.
Json run_timing(const Json& request, const Json& timing, const Graph& graph, EngineKind kind,
                const EngineState& start, const StopToken& stop) {
  const auto engine = timed_engine(request, timing, graph, kind);
  std::uint64_t least = timing.at("least"), most = timing.at("most");
  Json repeats = Json::array();
  for (std::uint64_t k = 0; k < timing.value("repeats", 1u); ++k) {
    engine->restore(start);
    if (const std::uint64_t warm = timing.value("warm", 0u); warm > 0) {
      Observation seen;
      engine->advance({0, 1}, warm);
      engine->measure(seen);
    }
    repeats.push_back(time_updates(*engine, least, most, timing.at("seconds"), stop));
    least = most = repeats.front().at("cluster").size();
  }
  return repeats;
}

ExitCode run_time_updates(const std::string& text) {
  Json reply = Json::array();
  try {
    const Json request = Json::parse(text);
    const Graph graph = build_graph({request.at("extents").get<std::vector<std::uint32_t>>(),
                                     request.at("p").get<double>(),
                                     parse_rule(request.at("rule").get<std::string>()),
                                     request.at("graph_seed").get<std::uint64_t>()});
    const EngineKind kind = parse_engine(request.at("engine").get<std::string>(), "engine");
    const StopToken stop;
    const EngineState start = equilibrium(request, graph, kind, stop);
    for (const Json& timing : request.at("timings")) {
      reply.push_back(run_timing(request, timing, graph, kind, start, stop));
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(ExitCode::usage, fmt::format("REQUEST: {}", error.what()));
  }
  fmt::print("{}\n", reply.dump());
  return ExitCode::done;
}

}  // namespace

AddedCommand add_time_updates_command(CLI::App& program) {
  auto request = std::make_shared<std::string>();
  CLI::App& app = add_command(
      program, "time-updates",
      "Seconds of single cluster updates.\n\nPart of `rewise reproduce`, which calls it.", "");
  add_argument(app, "request", *request, "REQUEST", "JSON of analysis/rewise/reproduce_times.py");
  hide(app);
  return {&app, [request] { return run_time_updates(*request); }};
}

}  // namespace rewise
