#include "src/settings/task_request.hpp"

#include <fmt/format.h>

#include "src/base/error.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/ergodicity.hpp"
#include "src/settings/schema.hpp"

namespace rewise {
namespace {

void check_few_cluster(const TaskRequest& request, const SettingNames& names) {
  if (request.few_cluster_tile) check_limits(*request.few_cluster_tile, "few_cluster_tile", names);
  if (request.few_cluster_flip) check_limits(*request.few_cluster_flip, "few_cluster_flip", names);
  if (request.updates.cluster == ClusterUpdate::few_cluster) return;
  if (!request.few_cluster_tile && !request.few_cluster_flip) return;
  const auto& cluster = request.updates.cluster;
  throw Error(
      ExitCode::usage,
      fmt::format("{}: requires {}, not {}",
                  names.origin(request.few_cluster_tile ? "few_cluster_tile" : "few_cluster_flip"),
                  names.with("cluster", {"few-cluster"}),
                  cluster ? to_string(*cluster) : std::string_view("auto")));
}

}  // namespace

void check_limits(std::uint64_t value, const char* key, const SettingNames& names) {
  const Setting& known = setting(fmt::format("sampling.{}", key));
  const std::uint64_t least = known.key == "measure" ? 0 : known.min_integer;
  if (value >= least && value <= known.max_integer) return;
  throw Error(ExitCode::usage, fmt::format("{}: {} is out of range ({}..{})", names.origin(key),
                                           value, least, known.max_integer));
}

void check_limits(double value, const char* key, const SettingNames& names) {
  const Setting& known = setting(fmt::format("sampling.{}", key));
  if (value >= known.lowest && value <= known.highest) return;
  throw Error(ExitCode::usage, fmt::format("{}: {} is out of range ({}..{})", names.origin(key),
                                           value, known.lowest, known.highest));
}

void check_exchange_temperatures(std::size_t count, const SettingNames& names) {
  if (count >= 2) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: requires at least two temperatures, or a range in which it chooses "
                          "them",
                          names.origin("exchange")));
}

void check_temperatures(const TaskRequest& request, const SettingNames& names) {
  if (request.temperatures.empty()) {
    throw Error(ExitCode::usage, fmt::format("{} is missing (one temperature or more)",
                                             names.origin("temperatures")));
  }
  for (const double t : request.temperatures) check_limits(t, "temperatures", names);
  if (request.exchange) check_exchange_temperatures(request.temperatures.size(), names);
}

TaskSettings task_settings(const TaskRequest& request, const SettingNames& names) {
  const auto& [schedule, cluster, local] = request.updates;
  check_few_cluster(request, names);
  TaskSettings settings;
  settings.model = request.model;
  settings.local = local ? *local
                   : request.graph
                       ? local_update_for(*request.graph, request.model)
                       : local_update_for(static_cast<int>(request.lattice.extents.size()));
  settings.few_cluster.tile =
      static_cast<std::uint32_t>(request.few_cluster_tile.value_or(settings.few_cluster.tile));
  settings.few_cluster.flip = request.few_cluster_flip.value_or(settings.few_cluster.flip);
  settings.engine = choose_engine(request.engine, request.model,
                                  needed_cluster(schedule, cluster.value_or(ClusterUpdate::wolff)),
                                  names.origin("engine"), request.allowed);
  if (request.exchange) {
    settings.engine = engine_with_exchange(settings.engine, request.engine, names.origin("engine"));
  }
  check_limits(request.replicas, "replicas", names);
  check_replicas(settings.engine, request.replicas, names.origin("replicas"));
  settings.replicas = static_cast<std::uint32_t>(request.replicas);
  if (request.houdayer) {
    check_houdayer(request.model, request.replicas, names.origin("houdayer"));
  }
  measures_staggered(request.staggered, request.model, request.graph.get(),
                     names.origin("staggered"));
  return settings;
}

TaskSpec task_spec(const TaskRequest& request, const SettingNames& names) {
  check_temperatures(request, names);
  if (!request.lattice.extents.empty()) {
    check_shortcut_couplings(request.model, request.lattice.p, names);
  }
  check_limits(request.equilibrate, "equilibrate", names);
  check_limits(request.measure, "measure", names);
  check_limits(request.every, "every", names);
  const Graph* const graph = request.graph.get();
  TaskSpec spec;
  static_cast<TaskSettings&>(spec) = task_settings(request, names);
  spec.graph = request.lattice;
  spec.imported = request.graph;
  // An engine of regular lattices uses the extents of a graph without rewired bonds.
  if (traits(spec.engine).regular_only && !spec.graph.extents.empty() && graph != nullptr &&
      graph->rewired_bonds().empty()) {
    spec.imported = nullptr;
  }
  spec.cluster = request.updates.cluster.value_or(spec.cluster);
  spec.schedule = request.updates.schedule.value_or(
      has_cluster_updates(spec.engine) ? spec.schedule : Schedule{1, 0});
  spec.schedule.exchange = request.exchange;
  spec.schedule.houdayer = request.houdayer;
  spec.temperatures = request.temperatures;
  spec.start = request.start_spins ? Start::given : request.start;
  spec.start_spins = request.start_spins;
  const GraphSpec& network = graph != nullptr ? graph->spec() : spec.graph;
  spec.seed = request.seed.value_or(network.rule == Rule::imported ? 1 : network.seed);
  spec.equilibrate = request.equilibrate;
  spec.measure = request.measure;
  spec.every = request.every;
  spec.staggered =
      measures_staggered(request.staggered, spec.model, graph, names.origin("staggered"));
  check_task_engine(spec, names, request.share_ranks);
  return spec;
}

}  // namespace rewise
