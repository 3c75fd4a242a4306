// Rule of thumb for schedules of the multispin engine on a fully used CUDA device near Tc.
// `schedule = "auto"` uses it if there is too little work for tuning (auto_schedule.hpp).
#pragma once

#include "src/search/tune_trial.hpp"

namespace rewise {

// Returns the best schedule of the measured lattice that is closest in size and p. It uses the
// cluster update of `spec`; with `any_cluster`, the faster one of Wolff and Swendsen-Wang. It may
// consist of local sweeps alone only with `sweeps_alone` (auto_schedule.hpp).
Updates cuda_candidate(const TaskSpec& spec, bool any_cluster, bool sweeps_alone);

}  // namespace rewise
