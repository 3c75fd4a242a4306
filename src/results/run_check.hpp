// Checks, per temperature, whether a single run is in equilibrium and has reliable errors.
//
// A run is rejected as "not-equilibrated" if
//
//   - replicas with hot and cold start differ in e, |m| or m^2, or in a field in m (Student's t
//     test of their time averages, hot_cold.hpp), or
//   - the second half of the measurements differs from the first (t test of the differences of
//     independent replicas of equal start, or of time blocks if there are few replicas), or
//   - some replicas are stuck, such as in stripes at low temperatures (stuck_replicas(),
//     hot_cold.hpp; the means need not differ significantly), or
//   - replicas stay in different valleys, such as in a random field or a spin glass: the variance
//     of their time averages is more than 4 times what independent blocks of each series predict
//     (an F test), and fewer than 10 times the cycles of the series were dropped before it, or
//   - the series is too short to determine tau_int, and fewer than 10 times its lower bound were
//     dropped before the first measurement, or
//   - no two starts can be compared (one start, or fewer than kFewReplicas replicas), and fewer
//     than 10 tau_int were dropped.
//
// Replica exchange without any round trip is a warning: the checks above cannot detect slow changes
// that only exchange makes.
//
// A run is rejected as "too-short" if errors come from time blocks shorter than kMinBlockTaus
// tau_int.
//
// False alarms: each t or F test has the level kEquilibriumLevel for all temperatures and
// observables of a run together (Bonferroni), so the tests reject a run in equilibrium with a
// probability of at most 3 kEquilibriumLevel = 3e-4. With couplings there is a fourth test, of the
// overlap (overlap_drift()): 4e-4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/results/hot_cold.hpp"
#include "src/results/task_results.hpp"
#include "src/settings/setting_names.hpp"

namespace rewise {

enum class RunStatus { ok, not_equilibrated, too_short };

// "ok", "not-equilibrated", "too-short".
std::string_view to_string(RunStatus status);

// Prefix of the reasons of not_equilibrated whose text does not name the problem.
inline constexpr std::string_view kNotInEquilibrium = "not in equilibrium: ";

// Why values are rejected, and the remedy, which names settings of a run.
struct RunReason {
  std::string reason, advice;

  std::string text() const { return reason + "; " + advice; }  // one line
};

// The check of one temperature. Each warning is one line that explains the problem and suggests a
// remedy.
struct RunCheck {
  RunStatus status = RunStatus::ok;
  HotColdTest halves;
  std::vector<RunReason> reasons;     // why the run is rejected
  std::vector<std::string> warnings;  // problems that do not reject it
  std::vector<std::string> passed;    // what was tested and found in order; empty if rejected

  bool ok() const { return status == RunStatus::ok; }
};

// Results of a run and their checks, both [temperature].
struct CheckedRun {
  std::vector<TemperatureResult> results;
  std::vector<RunCheck> checks;
  std::vector<std::string> warnings;  // of all temperatures together, one line each
};

// `names`: of the settings that the texts advise to change.
CheckedRun checked_run(const MeasuredTask& task,
                       const SettingNames& names = SettingNames::options());

// The checks that passed at all temperatures; none if one of them rejects values.
std::vector<std::string> passed_checks(const CheckedRun& run);

// "No check failed (..), but the measurements are too few to determine tau at T = 2.3": if no check
// rejects values, but some tau is only a lower bound; otherwise "".
std::string undetermined_tau(const CheckedRun& run);

// "0.52", "9.7", "104": formats a lower bound without an exponent.
std::string two_digits(double x);

// "T = 0.8: ..": warnings of all temperatures, and those of the run; with `reasons`, the reasons
// for which values are rejected, too.
std::vector<std::string> warnings_of(const CheckedRun& run, bool reasons = true);

}  // namespace rewise
