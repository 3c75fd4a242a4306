// `schedule = "auto"`: the schedule M:W of a study's tasks, chosen once and kept in the study's
// folder.
//
//   DIR/schedules/<class>.json   the choice for one lattice, p, rule, engine, local and cluster
//                                update, with the tuner's figures if it was tuned
//
// If the cluster update is also "auto", Wolff and Swendsen-Wang are compared; the name of this
// class has "auto" in place of the cluster update.
//
// The schedule is part of a task's identity, but the result of tuning depends on measured times.
// Therefore the first process that needs a class's schedule chooses it, under a lease, and all
// later processes read the stored choice. If there is too little work for tuning, a rule of thumb
// is stored instead.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/search/tune/tune.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {

struct ChosenSchedule : Updates {
  std::string reason;  // one line for the user
  bool tuned = false;  // by this call; otherwise stored before, or the rule of thumb
};

// Name of the file without .json: "64x64_p0.01_rewire_bundle_metropolis_wolff". `any_cluster`: the
// class whose cluster update is "auto".
std::string schedule_class(const TaskSpec& spec, bool any_cluster = false);

// The stored choice for the class of `spec`. Throws Error(data), with the file, if it is damaged.
std::optional<ChosenSchedule> stored_schedule(const std::filesystem::path& folder,
                                              const TaskSpec& spec, bool any_cluster = false);

// Stores the winner for two classes, that of its cluster update and that of "auto", and replaces
// earlier choices. Returns the file of the latter class.
std::filesystem::path store_schedule(const std::filesystem::path& folder, const TuneResult& result);

struct ScheduleRequest {
  TaskSpec spec;          // any task of the class, temperatures ascending; the middle one is used
  bool improved = false;  // consider improved estimators (TuneSetting)
  bool any_cluster = false;        // compare Wolff and Swendsen-Wang; else spec.cluster only
  double work = 0;                 // expected seconds of all tasks of the class on one core
  double seconds = 0;              // expected seconds on this machine: its device, or all threads
  Updates rule_of_thumb;           // if tuning is not worthwhile on any device
  Updates fallback;                // if tuning is too expensive here, or has no result
  EngineOptions options;           // device, threads of one task
  bool recompute_damaged = false;  // sets a damaged stored schedule aside
};

// Tuning may take this fraction of the tasks' time on this machine, at most kMaxTuning seconds. If
// this is less than kMinTuning, there is no tuning. (Rules of thumb are off by a factor of about
// two.) There is no tuning on any device if `work` is below kMinTuning / kTuneShare.
inline constexpr double kTuneShare = 0.05, kMinTuning = 1, kMaxTuning = 60;

// Returns the schedule of a class: the stored one, or a new choice, which is stored. Waits while
// another process chooses. Throws Error(interrupted) on a stop request; if a time limit stops the
// tuning, it stores the rule of thumb first.
ChosenSchedule choose_schedule(const std::filesystem::path& folder, const ScheduleRequest& request,
                               const StopToken& stop);

// For a single run without a folder: the winner at the middle temperature.
ChosenSchedule tuned_schedule(const TaskSpec& spec, bool any_cluster, const EngineOptions& options,
                              double budget, const StopToken& stop);

}  // namespace rewise
