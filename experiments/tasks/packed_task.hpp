// Tasks of the packed engine: a regular lattice, p = 0, known by its extents alone. No graph is
// built, so that systems of more than 2^32 sites run.
#pragma once

#include <memory>
#include <string>

#include "experiments/tasks/task.hpp"

namespace rewise {

inline bool is_packed(const TaskSpec& spec) { return spec.engine == EngineKind::packed; }

// Error(usage), saying which engine takes it, for a graph from a file, p > 0, Potts, cluster
// updates in the schedule, and extents that are odd, below 4 or too large.
void check_packed_task(const TaskSpec& spec);

// The regular lattice of these extents, without rewired bonds.
GraphRecord packed_record(const TaskSpec& spec);

// After check_packed_task. Shared among the ranks that share (experiments/ranks).
std::unique_ptr<Engine> make_packed_task(const TaskSpec& spec, const EngineOptions& options);

}  // namespace rewise
