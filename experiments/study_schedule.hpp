// The schedule of a study's tasks, and their cluster update where it is left open, too: the
// configuration's, or for "auto" what is kept in the study's folder for their class
// (auto_schedule.hpp).
#pragma once

#include "experiments/study.hpp"
#include "experiments/tc_plan.hpp"

namespace rewise {

// A schedule for the neighbourhood of Tc on a CUDA device that is full: as much time for the sweeps
// of a cycle as for its Wolff updates, so that it takes at most twice as long as the better of the
// two would, whichever that is. Between 64:1 and 1:64.
Schedule cuda_schedule(double p, double sites);

// Puts the choice in the plan. `spec`: a task of the class; `work`: seconds on one core that all of
// the class will take, about. What the plan says holds where that is too little to tune, so that a
// small study is the same on every device; where tuning finds nothing, the bundle engine on CUDA
// takes cuda_schedule(). A choice that was just tuned is told, with its reason, as a line of the
// progress. Error(interrupted) when told to stop.
void take_schedule(const Study& study, const TaskSpec& spec, double work, const StopToken& stop,
                   Progress& progress, SizePlan& plan);

}  // namespace rewise
