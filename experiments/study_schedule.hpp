// The schedule of a study's tasks: the configuration's, or for "auto" the one kept in the study's
// folder for their class (auto_schedule.hpp).
#pragma once

#include "experiments/study.hpp"

namespace rewise {

// `spec`: a task of the class, but for its schedule; `work`: seconds on one core that all of the
// class will take, about; `otherwise`: where that is too little to tune. A choice that was just
// tuned is told, with its reason, as a line of the progress. Error(interrupted) when told to stop.
Schedule study_schedule(const Study& study, const TaskSpec& spec, double work,
                        const Schedule& otherwise, const StopToken& stop, Progress& progress);

}  // namespace rewise
