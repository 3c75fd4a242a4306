// A rule of thumb for schedules on a CUDA device: what `schedule = "auto"` takes where the work is
// done before tuning would have paid (auto_schedule.hpp). For the multispin engine on a device that
// is full, near Tc.
#pragma once

#include "src/search/tune_trial.hpp"

namespace rewise {

// The schedule that the tuner found best at the measured lattice next in size and p, with the
// cluster update of `spec`, or `any_cluster`: with whichever was better. Local sweeps alone, where
// they won, only if `sweeps_alone` (auto_schedule.hpp).
Candidate cuda_candidate(const TaskSpec& spec, bool any_cluster, bool sweeps_alone);

}  // namespace rewise
