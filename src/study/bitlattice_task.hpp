// Tasks of the bitlattice engine. A regular lattice, p = 0, is known by its extents alone: no graph
// is built, so that systems of more than 2^32 sites run.
#pragma once

#include <memory>
#include <string>

#include "src/study/task.hpp"

namespace rewise {

inline bool is_bitlattice(const TaskSpec& spec) { return spec.engine == EngineKind::bitlattice; }
inline bool needs_graph(const TaskSpec& spec) {
  return !is_bitlattice(spec) || spec.imported != nullptr || spec.graph.p > 0;
}

// Error(usage), saying which engine takes it, for an imported graph without a lattice, Potts,
// cluster updates in the schedule, rewired lattices that ranks share, and extents that are odd,
// below 4 or too large.
void check_bitlattice_task(const TaskSpec& spec);

// The regular lattice of these extents, without rewired bonds.
GraphRecord packed_record(const TaskSpec& spec);

// After check_bitlattice_task; `graph` is there where it needs_graph(). Shared among the ranks that
// share (experiments/ranks).
std::unique_ptr<Engine> make_bitlattice_task(const TaskSpec& spec, const Graph* graph,
                                             const EngineOptions& options);

}  // namespace rewise
