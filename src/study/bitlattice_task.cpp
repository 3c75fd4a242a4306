#include "src/study/bitlattice_task.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.hpp"
#include "src/bitlattice/shared.hpp"
#include "src/study/parse.hpp"
#include "src/study/shared_ranks.hpp"

namespace rewise {

void check_bitlattice_task(const TaskSpec& spec) {
  const auto refuse = [](const std::string& what, const char* who) {
    throw Error(ExitCode::usage,
                fmt::format("{}: the bitlattice engine makes Metropolis or Glauber "
                            "sweeps of Ising spins on lattices (take --engine "
                            "{})",
                            what, who));
  };
  if (spec.imported != nullptr && spec.imported->lattice().dim == 0) {
    refuse("a graph without a lattice", "multispin or bytespin");
  }
  if (needs_graph(spec) && shared_ranks() != nullptr) {
    throw Error(ExitCode::usage,
                "--share-ranks: ranks share regular lattices of the bitlattice engine, p = 0 (take "
                "--engine bytespin)");
  }
  if (spec.model != ModelKind::ising)
    refuse(fmt::format("model {}", to_string(spec.model)), "bytespin");
  if (spec.schedule.cluster > 0) {
    refuse(fmt::format("schedule {} with cluster updates", to_string(spec.schedule)),
           "multispin or bytespin, or a schedule such as 1:0");
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

std::unique_ptr<Engine> make_bitlattice_task(const TaskSpec& spec, const Graph* graph,
                                             const EngineOptions& options) {
  if (needs_graph(spec)) return make_bitlattice_engine(*graph, engine_spec(spec), options);
  if (distributed::Transport* const ranks = shared_ranks()) {
    return make_shared_bitlattice_engine(*ranks, spec.graph.extents, engine_spec(spec), options);
  }
  return make_bitlattice_engine(spec.graph.extents, engine_spec(spec), options);
}

}  // namespace rewise
