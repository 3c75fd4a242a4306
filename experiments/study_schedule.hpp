// The schedule of a study's tasks: the configuration's, or for "auto" the one kept in the study's
// folder for their class (auto_schedule.hpp).
#pragma once

#include "experiments/study.hpp"

namespace rewise {

// A schedule for the neighbourhood of Tc on a CUDA device that is full: as much time for the sweeps
// of a cycle as for its Wolff updates, so that it takes at most twice as long as the better of the
// two would, whichever that is. Between 64:1 and 1:64.
Schedule cuda_schedule(double p, double sites);

// `spec`: a task of the class, but for its schedule; `work`: seconds on one core that all of the
// class will take, about; `otherwise`: where that is too little to tune, so that a small study is
// the same on every device. Where tuning finds nothing, the bundle engine on CUDA takes
// cuda_schedule(). A choice that was just tuned is told, with its reason, as a line of the
// progress. Error(interrupted) when told to stop.
Schedule study_schedule(const Study& study, const TaskSpec& spec, double work,
                        const Schedule& otherwise, const StopToken& stop, Progress& progress);

}  // namespace rewise
