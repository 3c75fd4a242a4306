#include "experiments/tasks/packed_task.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/console/options.hpp"
#include "experiments/ranks/shared_ranks.hpp"
#include "src/base/error.hpp"
#include "src/packed/shared.hpp"

namespace rewise {

void check_packed_task(const TaskSpec& spec) {
  const auto refuse = [](const std::string& what, const char* who) {
    throw Error(ExitCode::usage, fmt::format("{}: the packed engine makes Metropolis or Glauber "
                                             "sweeps of Ising spins on lattices (take --engine "
                                             "{})",
                                             what, who));
  };
  if (spec.imported != nullptr && spec.imported->lattice().dim == 0) {
    refuse("a graph without a lattice", "bundle or single");
  }
  if (needs_graph(spec) && shared_ranks() != nullptr) {
    throw Error(ExitCode::usage,
                "--share-ranks: ranks share regular lattices of the packed engine, p = 0 (take "
                "--engine single)");
  }
  if (spec.model != ModelKind::ising)
    refuse(fmt::format("model {}", to_string(spec.model)), "single");
  if (spec.schedule.cluster > 0) {
    refuse(fmt::format("schedule {} with cluster updates", to_string(spec.schedule)),
           "bundle or single, or a schedule such as 1:0");
  }
  if (spec.imported == nullptr) packed_bytes(spec.graph.extents);
}

GraphRecord packed_record(const TaskSpec& spec) {
  GraphRecord record;
  record.extents = spec.graph.extents;
  record.rule = to_string(spec.graph.rule);
  record.seed = spec.graph.seed;
  record.sites = 1;
  for (const auto extent : spec.graph.extents) record.sites *= extent;
  record.bonds = record.sites * spec.graph.extents.size();
  return record;
}

std::unique_ptr<Engine> make_packed_task(const TaskSpec& spec, const Graph* graph,
                                         const EngineOptions& options) {
  if (needs_graph(spec)) return make_packed_engine(*graph, engine_spec(spec), options);
  if (ranks::Transport* const ranks = shared_ranks()) {
    return make_shared_packed_engine(*ranks, spec.graph.extents, engine_spec(spec), options);
  }
  return make_packed_engine(spec.graph.extents, engine_spec(spec), options);
}

}  // namespace rewise
