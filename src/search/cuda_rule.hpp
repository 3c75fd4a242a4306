// Rule of thumb for schedules of the multispin engine on a fully used CUDA device near Tc.
// `schedule = "auto"` uses it if the work would be done before tuning pays off (auto_schedule.hpp).
#pragma once

#include "src/search/tune_trial.hpp"

namespace rewise {

// Returns the schedule that was best on the measured lattice closest in size and p, with the
// cluster update of `spec` or, with `any_cluster`, the better one. Returns a schedule of local
// sweeps alone, if it was best, only with `sweeps_alone` (auto_schedule.hpp).
Candidate cuda_candidate(const TaskSpec& spec, bool any_cluster, bool sweeps_alone);

}  // namespace rewise
