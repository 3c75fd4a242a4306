// Metropolis sweeps accept every move that costs no energy. On chains, isolated sites and small
// networks whose sites all have an even number of bonds, so many moves are certain that sweeps
// alone do not reach every configuration. The heat bath (Glauber) and Swendsen-Wang updates do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "graphs/graph.hpp"
#include "src/settings/setting_names.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {

// The features of a graph for which Metropolis sweeps alone may not be ergodic.
struct ErgodicityProblem {
  bool chain = false;
  std::uint64_t isolated = 0;  // sites without bonds
  // Connected parts of at most kSmallPart sites, each with two bonds or another even number: rings,
  // complete graphs of five sites, .. Larger parts are not counted, because many of their moves
  // cost energy and are therefore random. Only for graphs from files whose couplings have equal
  // |J| and that have no fields.
  std::uint64_t even_parts = 0;
};
inline constexpr std::uint64_t kSmallPart = 32;

ErgodicityProblem ergodicity_problem(const Graph& graph);

// The local update that "auto" selects for a graph from a file: the heat bath if Metropolis sweeps
// alone may not reach every configuration of the chain or of a small part, else Metropolis.
LocalUpdate local_update_for(const Graph& graph, const Model& model);

// A warning if the updates of a task may not reach every configuration; else "". `seen` describes
// the graph of the task; without it, the graph is built if needed.
std::string metropolis_warning(const TaskSpec& spec, const std::optional<ErgodicityProblem>& seen,
                               const SettingNames& names);

}  // namespace rewise
