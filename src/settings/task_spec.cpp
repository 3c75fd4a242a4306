#include "src/settings/task_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.hpp"
#include "src/settings/parse.hpp"

namespace rewise {

void TaskSpec::set(const Updates& updates) {
  schedule.local = updates.schedule.local;
  schedule.cluster = updates.schedule.cluster;
  cluster = updates.cluster;
  local = updates.local.value_or(local);
}

std::string task_id(const TaskSpec& spec) {
  return task_id(task_configuration(spec), kExtendableKeys);
}

std::shared_ptr<const Graph> task_graph(const TaskSpec& spec) {
  if (spec.imported != nullptr) return spec.imported;
  return std::make_shared<const Graph>(build_graph(spec.graph));
}

EngineSpec engine_spec(const TaskSpec& spec) {
  EngineSpec engine;
  engine.model = spec.model;
  for (const double t : spec.temperatures) engine.betas.push_back(1 / t);
  engine.replicas = spec.replicas;
  engine.seed = spec.seed;
  engine.local = spec.local;
  engine.cluster = spec.cluster;
  engine.few_cluster = spec.few_cluster;
  engine.exchange = spec.schedule.exchange;
  engine.houdayer = spec.schedule.houdayer;
  engine.start = spec.start;
  engine.cluster_pairs = spec.cluster_pairs;
  engine.staggered = spec.staggered;
  engine.first_pair_step = spec.equilibrate * spec.schedule.steps_per_cycle();
  return engine;
}

MeasuredRun measured_run(const TaskSpec& spec, double sites, double bonds) {
  MeasuredRun run;
  run.model = spec.model;
  run.sites = sites;
  run.bonds = bonds;
  run.dim = static_cast<double>(spec.graph.extents.size());
  run.temperatures = static_cast<double>(spec.temperatures.size());
  run.replicas = spec.replicas;
  run.cycles = static_cast<double>(spec.every);
  run.cluster_updates = run.cycles * spec.schedule.cluster;
  run.cluster = spec.cluster;
  run.bare = spec.graph.bare;
  run.cluster_pairs = spec.cluster_pairs;
  run.exchange = spec.schedule.exchange;
  run.staggered = spec.staggered;
  return run;
}

bool measures_staggered(std::optional<bool> requested, const Model& model, const Graph* imported,
                        const std::string& origin) {
  if (!requested) {
    return model.interactions.couplings == CouplingKind::antiferromagnet && !model.is_potts() &&
           (imported == nullptr || imported->has_sublattices());
  }
  if (!*requested) return false;
  try {
    check_staggered(model, imported);
  } catch (const Error& error) {
    throw Error(error.exit_code(), fmt::format("{}: {}", origin, error.what()));
  }
  return true;
}

double site_count(const TaskSpec& spec) {
  return spec.imported != nullptr ? static_cast<double>(spec.imported->sites())
                                  : site_count(spec.graph.extents);
}

int useful_threads(const TaskSpec& spec, int available) {
  const double per_word = traits(spec.engine).bytes_of_spin < 1 ? 32 : 1;
  const double words =
      site_count(spec) * static_cast<double>(spec.temperatures.size()) * spec.replicas / per_word;
  return static_cast<int>(std::clamp(words / 16384, 1.0, static_cast<double>(available)));
}

}  // namespace rewise
