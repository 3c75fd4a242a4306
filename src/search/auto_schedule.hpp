// `schedule = "auto"`: the schedule M:W of a study's tasks, decided once and kept in its folder.
//
//   DIR/schedules/<class>.json   the choice for one lattice, p, rule, engine, local and cluster
//                                update, with the tuner's figures where it was tuned
//
// Where a study leaves the cluster update open, too, Wolff and Swendsen-Wang are compared, in a
// class of its own ("auto" in place of the cluster update). The choices of versions that knew Wolff
// alone stay valid in a study's folder, so that its tasks are not lost.
//
// A schedule is part of what determines a task's numbers, while tuning depends on the clock. So the
// first process that needs a class's schedule decides, under a lease, and every later one, here or
// elsewhere, takes what is stored. Little work is not worth tuning: a rule of thumb decides then,
// and is stored likewise.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/search/tune.hpp"
#include "src/study/task.hpp"

namespace rewise {

struct ChosenSchedule {
  Schedule schedule;
  ClusterUpdate cluster = ClusterUpdate::wolff;
  std::string reason;  // one line for people
  bool tuned = false;  // just now; else it was stored, or is the rule of thumb
};

// "64x64_p0.01_rewire_bundle_metropolis_wolff": the file's name without .json. `any_cluster`: of
// those that leave the cluster update open.
std::string schedule_class(const TaskSpec& spec, bool any_cluster = false);

// The choice stored in the folder for the class of `spec`. Error(data), naming the file, if it is
// damaged.
std::optional<ChosenSchedule> stored_schedule(const std::filesystem::path& folder,
                                              const TaskSpec& spec, bool any_cluster = false);

// Stores the winner for the class of its setting and cluster update, and for the class that leaves
// the cluster update open; replaces earlier choices. Returns the latter's file.
std::filesystem::path store_schedule(const std::filesystem::path& folder, const TuneResult& result);

struct ScheduleWish {
  TaskSpec spec;          // of any task of the class, temperatures ascending: the middle one counts
  bool improved = false;  // improved estimators count (TuneSetting)
  bool any_cluster = false;  // weigh Wolff and Swendsen-Wang; else spec.cluster alone
  double work = 0;           // seconds on one core that all the tasks of the class will take, about
  double seconds = 0;        // the same on this machine: its device, or all of its threads
  Candidate rule_of_thumb;   // if tuning is not worth it on any device
  Candidate fallback;        // if tuning costs too much here, or finds nothing
  EngineOptions options;     // device, threads of one task
  bool recompute_damaged = false;  // a stored schedule that is damaged is set aside
};

// Tuning may take this share of the time that the tasks take here, at most kMostTuning seconds;
// below kLeastTuning there is none. (Rules of thumb are off by a factor of two or so.) With `work`
// below kLeastTuning / kTuneShare there is none on any device.
inline constexpr double kTuneShare = 0.05, kLeastTuning = 1, kMostTuning = 60;

// Whether local sweeps alone may be a schedule: Metropolis flips isolated sites at every sweep.
bool sweeps_alone(const TaskSpec& spec);

// The schedule of a class: stored, or decided now and stored. Waits while another process decides.
// Error(interrupted) on a stop request; if a time limit stops tuning, the rule of thumb is stored
// first.
ChosenSchedule choose_schedule(const std::filesystem::path& folder, const ScheduleWish& wish,
                               const StopToken& stop);

// For one run without a folder: the winner at the middle temperature.
ChosenSchedule tuned_schedule(const TaskSpec& spec, bool any_cluster, const EngineOptions& options,
                              double budget, const StopToken& stop);

}  // namespace rewise
