// Snapshots of spins at the end of a run (`run --snapshot`).
#pragma once

#include <string>

#include "experiments/commands/run_options.hpp"
#include "src/base/error.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

// Before the run. Throws Error(usage) for a file that is not .npy, or .png of a two-dimensional
// lattice, and for a run that keeps no final state.
void check_snapshot(const RunOptions& options, const TaskSpec& spec);

// Writes the final spins of replica 0 at every temperature, [temperature, extents reversed]
// (graphs without a lattice: [temperature, sites]): Ising -1 or 1 (int8), Potts 0..q - 1 (uint8).
// .png is drawn by Python. Returns the script's status. Replaces a file. Throws Error(io).
ExitCode write_snapshot(const RunOptions& options, const TaskSpec& spec, const TaskData& data);

}  // namespace rewise
