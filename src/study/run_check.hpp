// Whether the numbers of a single run are in equilibrium and have honest errors, temperature by
// temperature.
//
// A run is refused ("not-equilibrated") where
//   - the replicas that started hot differ from those that started cold in e, |m| or m^2 (Student's
//     t test of their time averages, halves.hpp), or
//   - the second half of the measurements differs from the first (t test of the differences of
//     independent replicas of equal start, or of stretches of time where replicas are few), or
//   - some replicas are stuck, such as in stripes at low temperatures (stuck_replicas(),
//   halves.hpp;
//     the means need not differ significantly), or
//   - tau_int is longer than the series tells, and fewer than 10 of its lower bound were dropped
//     before the first measurement, or
//   - no two starts can be compared (one start, or fewer than kFewReplicas replicas), and fewer
//   than
//     10 tau_int were dropped;
// and as "too-short" where errors come from stretches of time shorter than kLeastStretch tau_int.
//
// False alarms: each t test has the level kEquilibriumLevel for all temperatures and observables of
// the run together (Bonferroni), so a run in equilibrium is refused by one of them with a chance of
// at most 2 kEquilibriumLevel = 2e-4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/study/halves.hpp"
#include "src/study/task_results.hpp"

namespace rewise {

enum class RunStatus { ok, not_equilibrated, too_short };

// "ok", "not-equilibrated", "too-short".
std::string_view to_string(RunStatus status);

// Of one temperature. Texts are one line each, and say what to do.
struct RunCheck {
  RunStatus status = RunStatus::ok;
  HotCold halves;
  std::vector<std::string> reasons;   // why it is refused
  std::vector<std::string> warnings;  // what does not refuse it

  bool ok() const { return status == RunStatus::ok; }
};

// What a run gives: estimates, and whether they hold, both [temperature].
struct CheckedRun {
  std::vector<TemperatureResult> results;
  std::vector<RunCheck> checks;
};

CheckedRun checked_run(const TaskData& task);

// "0.52", "9.7", "104": a lower bound without an exponent.
std::string two_digits(double x);

// "T = 0.8: ..": reasons and warnings of all temperatures.
std::vector<std::string> warnings_of(const CheckedRun& run);

}  // namespace rewise
