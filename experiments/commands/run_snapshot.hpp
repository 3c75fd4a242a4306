// Snapshots of spins and overlaps at the end of a run (`run --snapshot`, `--snapshot-overlaps`).
#pragma once

#include "experiments/commands/run_options.hpp"
#include "src/base/error.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

// Call before the run. Throws Error(usage) for a file that is neither .npy nor, in two dimensions,
// .png; for a run that keeps no final state; and for overlaps of Potts spins or of one replica.
void check_snapshots(const RunOptions& options, const TaskSpec& spec);

// Writes the requested snapshots, replaces existing files, and prints the names of the files:
//   spins      of replica 0 at every temperature: [temperature, extents reversed], for graphs
//              without a lattice [temperature, sites]; Ising -1 or 1 (int8), Potts 0..q - 1 (uint8)
//   overlaps   s_i s'_i of replicas 2k and 2k + 1: int8 [temperature, k, extents reversed]
// Python draws .png files; of the overlaps, they show k = 0. Returns the status of the drawing
// script. Throws Error(io).
ExitCode write_snapshots(const RunOptions& options, const TaskSpec& spec, const TaskData& data);

}  // namespace rewise
