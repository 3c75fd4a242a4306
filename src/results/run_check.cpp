#include "src/results/run_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>

#include "analysis/series/moments.hpp"
#include "analysis/series/statistics.hpp"
#include "src/base/count_text.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {
namespace {

constexpr double kUnknownTaus = 10;  // minimum series lengths if tau_int is unknown

// Input of the checks of one temperature.
struct Measured {
  IntSeries bond_sums, magnetisations;
  SampleUnits units;
  bool in_field = false;
  double every = 1;
};

std::string tau_text(Value tau) {
  if (!std::isfinite(tau.value)) return "not known";
  return fmt::format("{}{} cycles", std::isfinite(tau.error) ? "" : "more than ",
                     two_digits(tau.value));
}

// "raise --equilibrate and --measure"
std::string raise_both(const SettingNames& names) {
  return fmt::format("raise {} and {}", names.name("equilibrate"), names.name("measure"));
}

// The most significant difference between the second and the first half of the measurements.
// `found`: its p-value is below `level` / (number of comparisons).
struct Drift {
  bool found = false;
  std::string_view observable;
  double z = 0;
  int comparisons = 0;
  double least = 1;

  void note(const Agreement& agreement, Eigen::Index o) {
    ++comparisons;
    if (agreement.p_value >= least) return;
    least = agreement.p_value;
    z = agreement.z;
    observable = compared_name(o);
  }
};

Drift drift_of(const TaskData& task, const Measured& s, const TemperatureResult& result,
               double level) {
  Drift drift;
  const Eigen::Index times = s.bond_sums.rows(), half = times / 2;
  const ReplicaDependence dependence = dependence_of(task);
  if (half < 1) return drift;
  if (result.block_length == 0) {
    const auto means_from = [&](Eigen::Index first) {
      return replica_means(s.bond_sums, s.magnetisations, s.units, s.in_field, first, half,
                           dependence);
    };
    const Eigen::ArrayXXd change = means_from(times - half) - means_from(0);
    const auto of_start = replicas_by_start(task, dependence);
    for (const auto& group : of_start) {
      if (group.size() < kMinGroup) continue;
      for (Eigen::Index o = 0; o < change.cols(); ++o) {
        std::vector<double> values;
        for (const Eigen::Index r : group) values.push_back(change(r, o));
        drift.note(compare_to_zero(values, 0), o);
      }
    }
  } else if (!blocks_too_short(result, s.every)) {
    const Eigen::Index parts = times / static_cast<Eigen::Index>(result.block_length);
    const MomentRows rows =
        block_moments(s.bond_sums, s.magnetisations, s.units, parts, dependence);
    constexpr Eigen::Index columns[] = {kEnergy, kAbsMagnetisation, kM2, kMagnetisation};
    for (Eigen::Index o = 0; o < compared_observables(s.in_field); ++o) {
      std::vector<double> first, second;
      for (Eigen::Index row = 0; row < rows.rows(); ++row) {
        const Eigen::Index part = row % parts;
        if (part < parts / 2) first.push_back(rows(row, columns[o]));
        if (part >= parts - parts / 2) second.push_back(rows(row, columns[o]));
      }
      if (first.size() < 2) continue;
      drift.note(compare_groups(first, second, 0), o);
    }
  }
  drift.found = drift.comparisons > 0 && drift.least * drift.comparisons < level;
  return drift;
}

// Whether replicas stay in different valleys: an analysis of variance, as in Gelman & Rubin, Stat.
// Sci. 7, 457 (1992). Each series is divided into kBlocks blocks. If the averages of its blocks are
// independent, their scatter predicts the variance of the replicas' averages; a much larger
// variance shows that replicas hardly ever leave their valley. If the blocks of a replica are
// correlated, something changes slowly within the series, and there is no prediction. tau_int
// cannot distinguish the two cases, because differences between valleys contribute to it. Returns a
// description, or "" if the averages agree.
constexpr Eigen::Index kBlocks = 10;
constexpr double kMaxScatter = 4;        // of the variances
constexpr double kMaxCorrelation = 0.2;  // of consecutive blocks; independent ones: -1/kBlocks

std::string valleys_of(const TaskData& task, const Measured& s, double level) {
  const Eigen::Index length = s.bond_sums.rows() / kBlocks;
  if (length < 1) return "";
  std::vector<Eigen::ArrayXXd> blocks;
  for (Eigen::Index k = 0; k < kBlocks; ++k) {
    blocks.push_back(replica_means(s.bond_sums, s.magnetisations, s.units, s.in_field, k * length,
                                   length, dependence_of(task)));
  }
  const Eigen::Index replicas = blocks.front().rows(), compared = blocks.front().cols();
  if (replicas < 4) return "";
  Eigen::ArrayXXd average = Eigen::ArrayXXd::Zero(replicas, compared);
  Eigen::ArrayXXd square = average, next = average;
  for (const auto& block : blocks) average += block / kBlocks;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    const Eigen::ArrayXXd change = blocks[k] - average;
    square += change.square() / (kBlocks - 1);
    if (k > 0) next += change * (blocks[k - 1] - average) / (kBlocks - 1);
  }
  const auto free = static_cast<double>(replicas - 1);
  for (Eigen::Index o = 0; o < compared; ++o) {
    const double between = (average.col(o) - average.col(o).mean()).square().sum() / free;
    const double within = square.col(o).mean(), expected = within / kBlocks;
    if (!(within > 0) || !(between > kMaxScatter * expected)) continue;
    if (next.col(o).mean() > kMaxCorrelation * within) continue;
    const boost::math::fisher_f_distribution<double> ratio(
        free, static_cast<double>(replicas * (kBlocks - 1)));
    const double chance = boost::math::cdf(boost::math::complement(ratio, between / expected));
    if (static_cast<double>(compared) * chance > level) continue;
    return fmt::format("averages of replicas differ in {} by {:.1f} times what they fluctuate",
                       compared_name(o), std::sqrt(between / expected));
  }
  return "";
}

// Rejects the values for the reason `why`.
void reject(RunCheck& check, std::string why) {
  check.status = RunStatus::not_equilibrated;
  check.passed.clear();
  check.reasons.push_back(std::move(why));
}

// Cycles before the first measurement.
double dropped_cycles(const TaskData& task) {
  return configured(task, "sampling.warm_up", 0) + configured(task, "sampling.equilibrate", 0);
}

// `travelled`: travelled_before() of the first measurement.
RunCheck check_temperature(const TaskData& task, const Measured& s, const TemperatureResult& result,
                           const HotColdDifference& halves, double level, bool travelled,
                           const SettingNames& names) {
  RunCheck check;
  const auto reject = [&](std::string why) { rewise::reject(check, std::move(why)); };
  const Value tau = result.longest_tau;
  const bool known = std::isfinite(tau.error);
  const std::string with_exchange =
      names.on("exchange") + " with temperatures up to where tau is short";
  const bool exchange = task.configuration.contains("sampling.exchange");
  const std::string remedy = exchange ? "more temperatures, up to where tau is short"
                             : model_of(task.configuration).is_ferromagnet() ? "another schedule"
                                                                             : with_exchange;
  const std::string raise = "raise " + names.name("equilibrate");
  const std::string mixed = names.with("start", {"mixed"}) + ", which compares both starts";
  const double dropped = dropped_cycles(task);

  check.halves = compare_halves(std::span(&halves, 1), level);
  if (!check.halves.agree) {
    reject(fmt::format(
        "{}replicas that started hot and cold differ in {} by {:.1f} standard errors; {}, or use "
        "{}",
        kNotInEquilibrium, check.halves.observable, std::abs(check.halves.worst_z), raise, remedy));
  } else if (const std::string stuck =
                 stuck_replicas(replicas_by_start(task), s.bond_sums, s.magnetisations, s.units,
                                s.in_field, tau, dropped, travelled);
             !stuck.empty()) {
    reject(fmt::format("{}some replicas are stuck ({}), and tau is {}; {}, or use {}",
                       kNotInEquilibrium, stuck, tau_text(tau), raise, remedy));
  }
  const double length = static_cast<double>(result.measurements) * s.every;
  const Drift drift = drift_of(task, s, result, level);
  if (check.ok() && drift.found) {
    reject(
        fmt::format("{}the second half of the measurements differs from the first in {} by {:.1f} "
                    "standard errors; {}",
                    kNotInEquilibrium, drift.observable, std::abs(drift.z), raise));
  }
  const int few = few_replicas(dependence_of(task) != ReplicaDependence::none);
  const bool compared = check.halves.checks > 0 && task.replicas >= static_cast<std::uint32_t>(few);
  const double likely = known ? tau.value : kUnknownTaus * length;
  if (check.ok() && !compared && dropped < kStartTaus * likely) {
    const auto of_start = replicas_by_start(task);
    const bool alike = of_start[0].empty() || of_start[1].empty();
    const std::string_view began = start_of(task) == Start::given ? "from given spins"
                                   : of_start[0].empty()          ? "hot"
                                                                  : "cold";
    reject(fmt::format(
        "nothing shows that this is equilibrium: {}, and {} cycles before the first measurement "
        "are few for a tau of {}; {}, or use {}",
        alike
            ? fmt::format("all replicas started {}", began)
            : fmt::format("{} replicas are too few to compare hot and cold starts", task.replicas),
        dropped, tau_text(tau), raise,
        alike && task.replicas >= static_cast<std::uint32_t>(few)
            ? mixed
            : fmt::format("{} replicas or more with {}", few, mixed)));
  }
  if (check.ok() && compared && !known && dropped < kStartTaus * tau.value) {
    reject(fmt::format(
        "nothing shows that this is equilibrium: {} measurements are too few to determine tau, "
        "which is {}, and {} cycles before the first one are few; {}, or use another schedule",
        result.measurements, tau_text(tau), dropped, raise_both(names)));
  }
  if (const std::string valleys = valleys_of(task, s, level);
      check.ok() && dropped < kStartTaus * length && !valleys.empty()) {
    reject(fmt::format(
        "{}{}: they are in different valleys and do not leave them; {}", kNotInEquilibrium, valleys,
        exchange ? raise_both(names) : fmt::format("use {}, or another schedule", with_exchange)));
  }
  if (check.ok() && compared && dropped < kMinTaus * tau.value) {
    check.warnings.push_back(
        fmt::format("{} cycles before the first measurement are few for a tau of {}: {}", dropped,
                    tau_text(tau), raise));
  }
  if (blocks_too_short(result, s.every)) {
    if (check.ok()) check.status = RunStatus::too_short;
    check.reasons.push_back(fmt::format(
        "errors are too small: with {} they come from time blocks of {} cycles, and tau "
        "is {}; raise {}, or use {} replicas",
        count_text(result.replicas, "replica"), static_cast<double>(result.block_length) * s.every,
        tau_text(tau), names.name("measure"), few));
  }
  if (!check.ok()) return check;
  if (check.halves.checks > 0) {
    check.passed.emplace_back("ordered and random starts agree");
  } else {
    check.passed.emplace_back("10 tau or more passed before the first measurement");
  }
  if (drift.comparisons > 0) {
    check.passed.emplace_back("the measurements do not drift");
  }
  return check;
}

// In spin glasses q^2 changes more slowly than m^2. Returns why nothing shows equilibrium if few
// cycles were dropped for tau_int of q^2, or for its lower bound; else "".
std::string short_for_overlap(const TaskData& task, const TemperatureResult& result,
                              const SettingNames& names) {
  const auto found = result.tau.find("overlap_m2");
  if (found == result.tau.end() || model_of(task.configuration).is_ferromagnet()) return "";
  const Value tau = found->second;
  const bool known = std::isfinite(tau.error);
  const double dropped = dropped_cycles(task);
  if (!(dropped < (known ? kMinTaus : kStartTaus) * tau.value)) return "";
  return fmt::format(
      "nothing shows that this is equilibrium: tau of q^2 is {}, and {} cycles before the first "
      "measurement are few; {}",
      tau_text(tau), dropped,
      known ? fmt::format("raise {}", names.name("equilibrate")) : raise_both(names));
}

// Replica exchange carries spins from a temperature that is not in equilibrium to others.
void reject_affected(CheckedRun& run, const SettingNames& names) {
  std::vector<double> temperatures, rejected;
  for (std::size_t k = 0; k < run.checks.size(); ++k) {
    temperatures.push_back(run.results[k].temperature);
    if (run.checks[k].status == RunStatus::not_equilibrated) rejected.push_back(temperatures[k]);
  }
  for (const auto& [k, beside] : affected_temperatures(temperatures, rejected)) {
    reject(run.checks[k],
           fmt::format("{}replicas are exchanged with T = {}, which has no values; {}",
                       kNotInEquilibrium, beside, raise_both(names)));
  }
}

}  // namespace

std::string_view to_string(RunStatus status) {
  switch (status) {
    case RunStatus::ok:
      return "ok";
    case RunStatus::not_equilibrated:
      return "not-equilibrated";
    case RunStatus::too_short:
      return "too-short";
  }
  return "";
}

std::string two_digits(double x) {
  return x < 10 ? fmt::format("{:.2g}", x) : fmt::format("{:.0f}", x);
}

CheckedRun checked_run(const TaskData& task, const SettingNames& names) {
  CheckedRun run;
  run.results = results_of(task);
  const double level = kEquilibriumLevel / static_cast<double>(run.results.size());
  const HotColdDifference halves = hot_cold_difference(task, 0, task.bond_sum.time());
  const bool travelled = travelled_before(task, dropped_cycles(task));
  Measured s{{}, {}, units_of(task), is_in_field(task), configured(task, "sampling.every", 1)};
  for (std::size_t k = 0; k < run.results.size(); ++k) {
    series_at(task.bond_sum, k, s.bond_sums);
    series_at(task.magnetisation, k, s.magnetisations);
    run.checks.push_back(check_temperature(task, s, run.results[k],
                                           at_temperature(halves, static_cast<Eigen::Index>(k)),
                                           level, travelled, names));
    RunCheck& check = run.checks.back();
    if (const std::string why = short_for_overlap(task, run.results[k], names);
        check.ok() && !why.empty()) {
      reject(check, why);
    }
    if (const std::string why = overlap_drift(overlap_changes_of(task, k), level);
        check.ok() && !why.empty()) {
      reject(check,
             fmt::format("{}{}; raise {}{}", kNotInEquilibrium, why, names.name("equilibrate"),
                         task.configuration.contains("sampling.exchange")
                             ? ""
                             : ", or use " + names.on("exchange")));
    }
    if (cluster_sums_fit(task, k)) continue;
    run.checks.back().warnings.push_back(fmt::format(
        "no <C>/N: the sum of squares of cluster sizes between two measurements may exceed 64 "
        "bits; measure more often (smaller {})",
        names.name("every")));
  }
  if (task.configuration.contains("sampling.exchange")) reject_affected(run, names);
  if (const auto exchange = exchange_result(task); exchange && exchange->round_trips == 0) {
    run.warnings.push_back(fmt::format("replica exchange: {}", kNoRoundTrip));
  }
  return run;
}

std::vector<std::string> passed_checks(const CheckedRun& run) {
  if (!std::ranges::all_of(run.checks, &RunCheck::ok)) return {};
  std::vector<std::string> passed = run.checks.front().passed;
  std::erase_if(passed, [&](const std::string& text) {
    return !std::ranges::all_of(run.checks, [&](const RunCheck& check) {
      return std::ranges::find(check.passed, text) != check.passed.end();
    });
  });
  return passed;
}

std::string undetermined_tau(const CheckedRun& run) {
  std::vector<double> short_at;
  for (std::size_t k = 0; k < run.results.size(); ++k) {
    const TemperatureResult& result = run.results[k];
    const auto is_bound = [](const auto& tau) {
      return std::isfinite(tau.second.value) && !std::isfinite(tau.second.error);
    };
    if (run.checks[k].ok() && std::ranges::any_of(result.tau, is_bound)) {
      short_at.push_back(result.temperature);
    }
  }
  const std::vector<std::string> passed = passed_checks(run);
  if (short_at.empty()) return "";
  const std::string at = fmt::format("{}", fmt::join(short_at, ", "));
  if (passed.empty()) return "The measurements are too few to determine tau at T = " + at;
  return fmt::format(
      "No check failed ({}), but the measurements are too few to determine tau at T = {}",
      fmt::join(passed, ", "), at);
}

std::vector<std::string> warnings_of(const CheckedRun& run, bool reasons) {
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < run.checks.size(); ++k) {
    const auto add = [&](const std::vector<std::string>& texts) {
      for (const std::string& text : texts) {
        lines.push_back(fmt::format("T = {}: {}", run.results[k].temperature, text));
      }
    };
    if (reasons) add(run.checks[k].reasons);
    add(run.checks[k].warnings);
  }
  lines.insert(lines.end(), run.warnings.begin(), run.warnings.end());
  return lines;
}

}  // namespace rewise
