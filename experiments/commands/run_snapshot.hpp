// Snapshots of spins and overlaps at the end of a run (`run --snapshot`, `--snapshot-overlaps`).
#pragma once

#include "experiments/commands/run_options.hpp"
#include "src/base/error.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

// Before the run. Throws Error(usage) for a file that is not .npy, or .png of a two-dimensional
// lattice, for a run that keeps no final state, and for overlaps of Potts spins or one replica.
void check_snapshots(const RunOptions& options, const TaskSpec& spec);

// Writes, where requested, the final spins of replica 0 at every temperature, [temperature, extents
// reversed] (graphs without a lattice: [temperature, sites]): Ising -1 or 1 (int8), Potts 0..q - 1
// (uint8); and s_i s'_i of the replicas 2k and 2k + 1, int8 [temperature, k, extents reversed].
// .png is drawn by Python, of overlaps that with k = 0. Returns the script's status. Prints the
// names of the files. Replaces files. Throws Error(io).
ExitCode write_snapshots(const RunOptions& options, const TaskSpec& spec, const TaskData& data);

}  // namespace rewise
