#include "src/results/run_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <optional>

#include "analysis/series/moments.hpp"
#include "analysis/series/statistics.hpp"
#include "src/base/count_text.hpp"

namespace rewise {
namespace {

constexpr double kUnknownTaus = 10;  // minimum series lengths if tau_int is unknown

// Of valleys().
constexpr Eigen::Index kBlocks = 10;
constexpr double kMaxScatter = 4;        // of the variances
constexpr double kMaxCorrelation = 0.2;  // of consecutive blocks; independent ones: -1/kBlocks

std::string tau_text(Value tau) {
  if (!std::isfinite(tau.value)) return "not known";
  return fmt::format("{}{} cycles", std::isfinite(tau.error) ? "" : "more than ",
                     two_digits(tau.value));
}

// What the texts advise.
struct Advice {
  Advice(const MeasuredTask& task, const SettingNames& names)
      : raise("raise " + names.name("equilibrate")),
        raise_both(fmt::format("{} and {}", raise, names.name("measure"))),
        use_exchange(names.on("exchange") + " with temperatures up to where tau is short"),
        remedy(task.spec.schedule.exchange        ? "more temperatures, up to where tau is short"
               : task.spec.model.is_ferromagnet() ? "another schedule"
                                                  : use_exchange),
        mixed(names.with("start", {"mixed"}) + ", which compares both starts") {}
  std::string raise, raise_both, use_exchange, remedy, mixed;
};

// Rejects the values for the reason `why`.
void reject(RunCheck& check, RunReason why) {
  check.status = RunStatus::not_equilibrated;
  check.passed.clear();
  check.reasons.push_back(std::move(why));
}

// The checks of one temperature. Functions that return a reason say why it has no values; none:
// their check passes.
class TemperatureChecks {
 public:
  TemperatureChecks(const MeasuredTask& task, const TemperatureResult& result, std::size_t k,
                    double level, const SettingNames& names)
      : task_(task),
        result_(result),
        temperature_(k),
        level_(level),
        names_(names),
        advice_(task, names),
        bond_sums_(series_at(task.data.bond_sum, k)),
        magnetisations_(series_at(task.data.magnetisation, k)),
        few_(few_replicas(task.dependence != ReplicaDependence::none)) {}

  // `halves`: of this temperature. `made_round_trips`: round_trips_before() the first measurement.
  RunCheck run(const HotColdDifference& halves, bool made_round_trips) {
    made_round_trips_ = made_round_trips;
    check_.halves = compare_halves(std::span(&halves, 1), level_);
    compares_ = check_.halves.checks > 0 && enough_replicas();
    reject_if({&TemperatureChecks::halves_differ, &TemperatureChecks::stuck,
               &TemperatureChecks::drifts, &TemperatureChecks::starts_too_early,
               &TemperatureChecks::too_short_for_tau, &TemperatureChecks::valleys});
    note_few_cycles();
    note_short_blocks();
    if (check_.ok()) {
      check_.passed.emplace_back(check_.halves.checks > 0
                                     ? "ordered and random starts agree"
                                     : "10 tau or more passed before the first measurement");
      if (drift_.comparisons > 0) check_.passed.emplace_back("the measurements do not drift");
    }
    reject_if({&TemperatureChecks::too_short_for_overlap, &TemperatureChecks::overlap_drifts});
    if (!cluster_sums_fit(task_, temperature_)) {
      check_.warnings.push_back(fmt::format(
          "no <C>/N: the sum of squares of cluster sizes between two measurements may exceed 64 "
          "bits; measure more often (smaller {})",
          names_.name("every")));
    }
    return std::move(check_);
  }

 private:
  // The most significant difference between the second and the first half of the measurements.
  struct Drift {
    std::string_view observable;
    double z = 0;
    int comparisons = 0;
    double least = 1;  // p-value

    void note(const Agreement& agreement, Eigen::Index o) {
      ++comparisons;
      if (agreement.p_value >= least) return;
      least = agreement.p_value;
      z = agreement.z;
      observable = compared_name(o);
    }
  };

  // One reason is enough.
  void reject_if(std::initializer_list<std::optional<RunReason> (TemperatureChecks::*)()> checks) {
    for (const auto why_not : checks) {
      if (!check_.ok()) return;
      if (auto why = (this->*why_not)()) reject(check_, std::move(*why));
    }
  }

  bool tau_is_known() const { return std::isfinite(tau_.error); }
  bool enough_replicas() const { return task_.data.replicas >= static_cast<std::uint32_t>(few_); }
  // Cycles of the measurements.
  double length() const { return static_cast<double>(result_.measurements) * task_.every; }
  Eigen::ArrayXXd means(Eigen::Index first, Eigen::Index count) const {
    return replica_means(task_, bond_sums_, magnetisations_, first, count, task_.dependence);
  }

  std::optional<RunReason> halves_differ() {
    if (check_.halves.agree) return {};
    return RunReason{
        fmt::format("{}replicas that started hot and cold differ in {} by {:.1f} standard errors",
                    kNotInEquilibrium, check_.halves.observable, std::abs(check_.halves.worst_z)),
        fmt::format("{}, or use {}", advice_.raise, advice_.remedy)};
  }

  std::optional<RunReason> stuck() {
    const std::string how = stuck_replicas(task_, bond_sums_, magnetisations_, tau_,
                                           task_.discarded, made_round_trips_);
    if (how.empty()) return {};
    return RunReason{fmt::format("{}some replicas are stuck ({}), and tau is {}", kNotInEquilibrium,
                                 how, tau_text(tau_)),
                     fmt::format("{}, or use {}", advice_.raise, advice_.remedy)};
  }

  std::optional<RunReason> drifts() {
    if (result_.block_length == 0) {
      compare_halves_of_replicas();
    } else if (!blocks_too_short(result_, task_.every)) {
      compare_halves_of_blocks();
    }
    if (drift_.comparisons == 0 || !(drift_.least * drift_.comparisons < level_)) return {};
    return RunReason{fmt::format("{}the second half of the measurements differs from the first in "
                                 "{} by {:.1f} standard errors",
                                 kNotInEquilibrium, drift_.observable, std::abs(drift_.z)),
                     advice_.raise};
  }

  void compare_halves_of_replicas() {
    const Eigen::Index times = bond_sums_.rows(), half = times / 2;
    if (half < 1) return;
    const Eigen::ArrayXXd change = means(times - half, half) - means(0, half);
    for (const auto& group : replicas_by_start(task_, task_.dependence)) {
      if (group.size() < kMinGroup) continue;
      for (Eigen::Index o = 0; o < change.cols(); ++o) {
        std::vector<double> values;
        for (const Eigen::Index r : group) values.push_back(change(r, o));
        drift_.note(compare_to_zero(values, 0), o);
      }
    }
  }

  void compare_halves_of_blocks() {
    const Eigen::Index parts = bond_sums_.rows() / static_cast<Eigen::Index>(result_.block_length);
    const MomentRows rows =
        block_moments(bond_sums_, magnetisations_, task_.units, parts, task_.dependence);
    constexpr Eigen::Index columns[] = {kEnergy, kAbsMagnetisation, kM2, kMagnetisation};
    for (Eigen::Index o = 0; o < compared_observables(task_.in_field); ++o) {
      std::vector<double> first, second;
      for (Eigen::Index row = 0; row < rows.rows(); ++row) {
        const Eigen::Index part = row % parts;
        if (part < parts / 2) first.push_back(rows(row, columns[o]));
        if (part >= parts - parts / 2) second.push_back(rows(row, columns[o]));
      }
      if (first.size() >= 2) drift_.note(compare_groups(first, second, 0), o);
    }
  }

  // Without a comparison of starts, the cycles before the first measurement must be many.
  std::optional<RunReason> starts_too_early() {
    const double likely = tau_is_known() ? tau_.value : kUnknownTaus * length();
    if (compares_ || !(task_.discarded < kStartTaus * likely)) return {};
    const auto by_start = replicas_by_start(task_);
    const bool alike = by_start[0].empty() || by_start[1].empty();
    const std::string_view began = task_.spec.start == Start::given ? "from given spins"
                                   : by_start[0].empty()            ? "hot"
                                                                    : "cold";
    return RunReason{
        fmt::format("nothing shows that this is equilibrium: {}, and {} cycles before the first "
                    "measurement are few for a tau of {}",
                    alike ? fmt::format("all replicas started {}", began)
                          : fmt::format("{} replicas are too few to compare hot and cold starts",
                                        task_.data.replicas),
                    task_.discarded, tau_text(tau_)),
        fmt::format("{}, or use {}", advice_.raise,
                    alike && enough_replicas()
                        ? advice_.mixed
                        : fmt::format("{} replicas or more with {}", few_, advice_.mixed))};
  }

  std::optional<RunReason> too_short_for_tau() {
    if (!compares_ || tau_is_known() || !(task_.discarded < kStartTaus * tau_.value)) return {};
    return RunReason{
        fmt::format("nothing shows that this is equilibrium: {} measurements are too few to "
                    "determine tau, which is {}, and {} cycles before the first one are few",
                    result_.measurements, tau_text(tau_), task_.discarded),
        advice_.raise_both + ", or use another schedule"};
  }

  // Whether replicas stay in different valleys: an analysis of variance, as in Gelman & Rubin,
  // Stat. Sci. 7, 457 (1992). Each series is divided into kBlocks blocks. If the averages of its
  // blocks are independent, their scatter predicts the variance of the replicas' averages; a much
  // larger variance shows that replicas hardly ever leave their valley. If the blocks of a replica
  // are correlated, something changes slowly within the series, and there is no prediction. tau_int
  // cannot distinguish the two cases, because differences between valleys contribute to it.
  std::optional<RunReason> valleys() {
    const Eigen::Index length_of_block = bond_sums_.rows() / kBlocks;
    if (length_of_block < 1 || !(task_.discarded < kStartTaus * length())) return {};
    std::vector<Eigen::ArrayXXd> blocks;
    for (Eigen::Index k = 0; k < kBlocks; ++k) {
      blocks.push_back(means(k * length_of_block, length_of_block));
    }
    const Eigen::Index replicas = blocks.front().rows(), compared = blocks.front().cols();
    if (replicas < 4) return {};
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
      if (static_cast<double>(compared) * chance > level_) continue;
      return RunReason{
          fmt::format("{}averages of replicas differ in {} by {:.1f} times what they fluctuate: "
                      "they are in different valleys and do not leave them",
                      kNotInEquilibrium, compared_name(o), std::sqrt(between / expected)),
          task_.spec.schedule.exchange
              ? advice_.raise_both
              : fmt::format("use {}, or another schedule", advice_.use_exchange)};
    }
    return {};
  }

  // In spin glasses q^2 changes more slowly than m^2.
  std::optional<RunReason> too_short_for_overlap() {
    const auto found = result_.tau.find("overlap_m2");
    if (found == result_.tau.end() || task_.spec.model.is_ferromagnet()) return {};
    const Value tau = found->second;
    const bool known = std::isfinite(tau.error);
    if (!(task_.discarded < (known ? kMinTaus : kStartTaus) * tau.value)) return {};
    return RunReason{fmt::format("nothing shows that this is equilibrium: tau of q^2 is {}, and {} "
                                 "cycles before the first measurement are few",
                                 tau_text(tau), task_.discarded),
                     known ? advice_.raise : advice_.raise_both};
  }

  std::optional<RunReason> overlap_drifts() {
    const std::string why = overlap_drift(overlap_changes_of(task_, temperature_), level_);
    if (why.empty()) return {};
    return RunReason{
        fmt::format("{}{}", kNotInEquilibrium, why),
        advice_.raise + (task_.spec.schedule.exchange ? "" : ", or use " + names_.on("exchange"))};
  }

  void note_few_cycles() {
    if (!check_.ok() || !compares_ || !(task_.discarded < kMinTaus * tau_.value)) return;
    check_.warnings.push_back(
        fmt::format("{} cycles before the first measurement are few for a tau of {}: {}",
                    task_.discarded, tau_text(tau_), advice_.raise));
  }

  void note_short_blocks() {
    if (!blocks_too_short(result_, task_.every)) return;
    if (check_.ok()) check_.status = RunStatus::too_short;
    check_.reasons.push_back(
        {fmt::format("errors are too small: with {} they come from time blocks of {} cycles, and "
                     "tau is {}",
                     count_text(result_.replicas, "replica"),
                     static_cast<double>(result_.block_length) * task_.every, tau_text(tau_)),
         fmt::format("raise {}, or use {} replicas", names_.name("measure"), few_)});
  }

  const MeasuredTask& task_;
  const TemperatureResult& result_;
  std::size_t temperature_;
  double level_;
  const SettingNames& names_;
  Advice advice_;
  IntSeries bond_sums_, magnetisations_;
  int few_;
  Value tau_ = result_.longest_tau;
  bool made_round_trips_ = false;
  bool compares_ = false;  // hot and cold starts of enough replicas
  Drift drift_;
  RunCheck check_;
};

// Replica exchange carries spins from a temperature that is not in equilibrium to others.
void reject_affected(CheckedRun& run, const Advice& advice) {
  std::vector<double> temperatures, rejected;
  for (std::size_t k = 0; k < run.checks.size(); ++k) {
    temperatures.push_back(run.results[k].temperature);
    if (run.checks[k].status == RunStatus::not_equilibrated) rejected.push_back(temperatures[k]);
  }
  for (const auto& [k, beside] : affected_temperatures(temperatures, rejected)) {
    reject(run.checks[k], {fmt::format("{}replicas are exchanged with T = {}, which has no values",
                                       kNotInEquilibrium, beside),
                           advice.raise_both});
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

CheckedRun checked_run(const MeasuredTask& task, const SettingNames& names) {
  CheckedRun run;
  run.results = results_of(task);
  const double level = kEquilibriumLevel / static_cast<double>(run.results.size());
  const HotColdDifference halves = hot_cold_difference(task, 0, task.data.bond_sum.time());
  const bool made_round_trips = round_trips_before(task, task.discarded);
  for (std::size_t k = 0; k < run.results.size(); ++k) {
    run.checks.push_back(
        TemperatureChecks(task, run.results[k], k, level, names)
            .run(at_temperature(halves, static_cast<Eigen::Index>(k)), made_round_trips));
  }
  if (task.spec.schedule.exchange) reject_affected(run, Advice(task, names));
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
    const auto add = [&](const std::string& text) {
      lines.push_back(fmt::format("T = {}: {}", run.results[k].temperature, text));
    };
    if (reasons) {
      for (const RunReason& reason : run.checks[k].reasons) add(reason.text());
    }
    for (const std::string& text : run.checks[k].warnings) add(text);
  }
  lines.insert(lines.end(), run.warnings.begin(), run.warnings.end());
  return lines;
}

}  // namespace rewise
