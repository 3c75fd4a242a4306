// The schedule of a study's tasks, and their cluster update where it is left open, too: the
// configuration's, or for "auto" what is kept in the study's folder for their class
// (auto_schedule.hpp).
#pragma once

#include "experiments/study/study.hpp"
#include "experiments/tc/tc_plan.hpp"

namespace rewise {

// Tasks to come of one class.
struct ClassWork {
  TaskSpec spec;                         // of any of them, with a likely plan
  double tasks = 0;                      // about
  double task_seconds = 0;               // of one, as far as earlier tasks have told
  std::vector<std::uint32_t> neighbour;  // extents of the size before; empty where there is none
  bool improved = false;                 // improved estimators are controls
};

// Puts the choice in the plan. What the plan says holds where the work is too little to tune on one
// core, so that a small study is the same on every device; where it is too little here, or tuning
// finds nothing, the bundle engine on CUDA takes cuda_candidate(). A choice that was just tuned is
// told, with its reason, as a line of the progress. Error(interrupted) when told to stop.
void take_schedule(const Study& study, const ClassWork& work, const StopToken& stop,
                   Progress& progress, SizePlan& plan);

}  // namespace rewise
