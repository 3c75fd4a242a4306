// The tuner on small systems: its results (tau, cost and rate), the adaptation of the spacing of
// samples, and its output. No time is asserted.
#include "src/search/tune/tune.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/series/autocorrelation.hpp"
#include "src/base/error.hpp"
#include "src/curves/decorrelate.hpp"
#include "src/search/tune/tune_report.hpp"
#include "src/study/task.hpp"
#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

TuneSetting setting(EngineKind engine, double p, double temperature) {
  TuneSetting s;
  s.spec.graph = {{8, 6}, p, Rule::rewire, 3};
  s.spec.engine = engine;
  s.spec.replicas = 32;
  s.spec.temperatures = {temperature};
  s.options.threads = 1;
  const auto clusters = clusters_of(engine);
  s.candidates = standard_candidates(clusters);
  s.budget = 1;
  return s;
}

}  // namespace

TEST_CASE("candidates: the range of the papers and far beyond, with Wolff and Swendsen-Wang") {
  const std::vector<ClusterUpdate> only_wolff{ClusterUpdate::wolff};
  const auto wolff = standard_candidates(only_wolff);
  CHECK(wolff.size() == 15);
  CHECK(to_string(wolff.front()) == "1:0");
  CHECK(to_string(wolff.back()) == "0:1");
  CHECK(standard_candidates(clusters_of(EngineKind::multispin)).size() == 20);
  const auto single = standard_candidates(clusters_of(EngineKind::bytespin));
  const auto count = [&](const char* text) {
    return std::count_if(single.begin(), single.end(),
                         [&](const Updates& c) { return to_string(c) == text; });
  };
  CHECK(count("1:0") == 1);  // the same with both cluster updates
  CHECK(count("swendsen-wang/0:1") == 1);
  CHECK(count("swendsen-wang/1:1") == 1);
  CHECK(count("1:1") == 1);
  CHECK(count("swendsen-wang/1:2") ==
        0);  // one update more expensive than 1:1, with hardly smaller tau
}

TEST_CASE("tune: figures are consistent, for both engines") {
  for (const EngineKind engine : {EngineKind::multispin, EngineKind::bytespin}) {
    const TuneResult result = tune(setting(engine, 0.1, 2.769), StopToken(), {});
    INFO(to_string(engine));
    CHECK(result.rows.size() == standard_candidates(clusters_of(engine)).size());
    std::vector<int> ranks;
    for (const TuneRow& row : result.rows) {
      ranks.push_back(row.rank);
      const TrialFigures& f = row.figures;
      if (!std::isfinite(f.rate.value)) continue;
      CHECK(f.rate.value == Approx(1 / (2 * std::max(0.5, f.tau_m2.value) * f.seconds.value)));
      CHECK(f.rate.error > 0);
      CHECK(f.worth.value > 0);
      CHECK(f.worth.error > 0);
      CHECK(f.m2_left == 1);  // improved estimators are off by default
      CHECK(f.seconds_measured.value > f.seconds.value);
      CHECK(f.samples >= 4);
    }
    std::sort(ranks.begin(), ranks.end());
    for (std::size_t k = 0; k < ranks.size(); ++k) CHECK(ranks[k] == static_cast<int>(k) + 1);
    CHECK(result.best().rank == 1);
    CHECK_FALSE(result.best().record.dropped);
  }
}

// 32 replicas in equilibrium after long runs. tau of the trials agrees with that of a plain series
// of the same schedule within 4 combined errors (false alarms 6e-5 for each).
TEST_CASE("tune: tau equals that of a plain run, for any spacing") {
  TuneSetting s = setting(EngineKind::multispin, 0, 2.269185);
  s.spec.graph = {{20, 20}, 0, Rule::rewire, 1};
  s.candidates = {{{1, 0}, ClusterUpdate::wolff},
                  {{0, 1}, ClusterUpdate::wolff},
                  {{1, 1}, ClusterUpdate::wolff}};
  s.rules.z = std::numeric_limits<double>::infinity();
  s.rules.enough = 0.02;
  s.budget = 4;  // enough for 64 samples on a busy machine, from which the spacing follows
  const TuneResult result = tune(s, StopToken(), {});
  for (const TuneRow& row : result.rows) {
    TaskSpec spec = s.spec;
    spec.schedule = row.candidate.schedule;
    spec.equilibrate = 500;
    spec.measure = 4000;
    spec.every = 1;
    spec.seed = 77;
    TaskRunOptions one;
    one.engine.threads = 1;
    const TaskResult run = run_task({spec}, one);
    const auto& m = run.data.magnetisation;
    RealSeries m2(static_cast<Eigen::Index>(m.time()), 32);
    for (std::size_t t = 0; t < m.time(); ++t) {
      for (std::size_t r = 0; r < 32; ++r) {
        const double value = static_cast<double>(m.at(0, t, r)) / 400;
        m2(static_cast<Eigen::Index>(t), static_cast<Eigen::Index>(r)) = value * value;
      }
    }
    const Value plain = gamma_method(m2).tau, tuned = row.figures.tau_m2;
    INFO(to_string(row.candidate) << ": " << plain.value << "(" << plain.error << ") and "
                                  << tuned.value << "(" << tuned.error << "), every "
                                  << row.figures.every);
    // A spacing of up to half a tau (kMinTau samples) increases tau by up to 2%.
    CHECK(std::abs(plain.value - tuned.value) <
          4 * std::hypot(plain.error, tuned.error) + 0.02 * plain.value);
    const double samples = tuned.value / static_cast<double>(row.figures.every);
    CHECK(samples < 20);
    CHECK((samples >= kMinTau || row.figures.every == 1));
  }
  CHECK(result.rows[0].figures.every > 1);  // tau of Metropolis is above 14
}

// AR(1) series of three temperatures with tau = (1 + phi) / (1 - phi) / 2.
TEST_CASE("the slowest temperature decides, and all of them must be known") {
  constexpr int pairs = 16;
  struct Example {
    double slow;
    int times;
    bool found;
  };
  test::Dice dice(11);
  for (const Example& e : {Example{0.6, 2000, true}, Example{0.97, 40, false}}) {
    const double phis[] = {0.2, e.slow, 0.4};
    TuneSeries series(3 * pairs);
    Eigen::ArrayXd x = Eigen::ArrayXd::Zero(3 * pairs);
    for (int t = -300; t < e.times; ++t) {
      for (int k = 0; k < 3 * pairs; ++k) {
        const double phi = phis[k / pairs];
        x[k] = phi * x[k] + std::sqrt(1 - phi * phi) * dice.normal();
      }
      if (t >= 0) series.add_overlaps(x);
    }
    const SlowestTau slowest = slowest_tau(series, 3);
    INFO(e.slow << ": " << slowest.tau.tau.value << "(" << slowest.tau.tau.error << ")");
    CHECK(slowest.temperature == 1);
    CHECK(slowest.tau.found == e.found);
    if (!e.found) continue;
    CHECK(std::abs(slowest.tau.tau.value - 2) < 4 * slowest.tau.tau.error);
  }
  // Pairs that differ little, but throughout the series: a motion slower than the series.
  for (const double offset : {0.0, 0.3}) {
    TuneSeries series(2 * pairs);
    Eigen::ArrayXd x(2 * pairs), own(2 * pairs);
    for (double& value : own) value = offset * dice.normal();
    for (int t = 0; t < 1000; ++t) {
      for (double& value : x) value = dice.normal();
      series.add_overlaps(x + own);
    }
    const SeriesTau tau = slowest_tau(series, 2).tau;
    INFO(offset << ": " << tau.tau.value);
    CHECK(tau.found == (offset == 0));
    CHECK(tau.known == (offset == 0));
  }
}

namespace {

TuneSetting glass_setting() {
  TuneSetting s = setting(EngineKind::multispin, 0, 1);
  s.spec.graph = {{4, 4, 4}, 0, Rule::rewire, 1};
  s.spec.model.interactions.couplings = CouplingKind::plus_minus;
  s.spec.temperatures = {1.1, 1.4, 1.8};
  s.spec.schedule.exchange = true;
  s.candidates = {{{1, 0, true}, ClusterUpdate::wolff}, {{4, 0, true}, ClusterUpdate::wolff}};
  s.rules.z = std::numeric_limits<double>::infinity();
  s.rules.enough = 0.02;
  s.budget = 2;
  return s;
}

}  // namespace

// tau of q^2 by the curves of `decorrelate --exchange`, on the same glass with other random
// numbers. Two values agree within 4 combined errors (false alarms 6e-5 for each).
TEST_CASE("tune with replica exchange: tau of q^2 equals that of decorrelate") {
  const TuneSetting s = glass_setting();
  const TuneResult result = tune(s, StopToken(), {});
  INFO(result.rejected);
  REQUIRE(result.has_best());
  CurveSpec curves;
  curves.graph.extents = s.spec.graph.extents;
  curves.graph.seed = s.spec.graph.seed;
  curves.temperatures = s.spec.temperatures;
  curves.schedule.exchange = true;
  curves.model = s.spec.model;
  curves.seed = 77;
  curves.prepare.schedule = {1, 0, true};
  curves.steps = 500;
  for (const TuneRow& row : result.rows) curves.mixes.push_back(row.candidate);
  Progress progress("test", 6);
  const CurveSet found = measure_decorrelation(curves, StopToken(), progress);
  REQUIRE(found.metrics.size() == 6);  // temperatures, then schedules
  for (std::size_t k = 0; k < result.rows.size(); ++k) {
    const TuneRow& row = result.rows[k];
    CHECK(row.figures.slowest == 0);
    CHECK(std::isnan(row.figures.tau_m2.value));
    for (const auto& [name, v] : found.metrics[k].values) {
      if (name != "tau_q2_steps") continue;
      const double cycle = static_cast<double>(row.candidate.schedule.local);
      const Value plain{v.value / cycle, v.error / cycle}, tuned = row.figures.tau_q2;
      INFO(to_string(row.candidate) << ": " << plain.value << "(" << plain.error << ") and "
                                    << tuned.value << "(" << tuned.error << ")");
      CHECK(plain.value > 0.6);
      CHECK(std::abs(plain.value - tuned.value) <
            4 * std::hypot(plain.error, tuned.error) + 0.02 * plain.value);
    }
  }
}

TEST_CASE("tune with replica exchange: no result without equilibrium") {
  TuneSetting s = glass_setting();
  s.spec.graph.extents = {8, 8, 8};
  s.spec.temperatures = {0.2, 0.3};
  s.budget = 1e-3;
  const TuneResult result = tune(s, StopToken(), {});
  CHECK(result.rejected.starts_with("T = 0.2: not in equilibrium: "));
  CHECK_FALSE(result.has_best());
  CHECK(result.rows.empty());
}

namespace {

// A long run of 16 x 16 sites at p = 0.1 near Tc with a measurement in each cycle.
TaskData long_run(const Updates& candidate, std::uint32_t replicas, std::uint64_t measure,
                  std::uint64_t seed) {
  TaskSpec spec;
  spec.graph = {{16, 16}, 0.1, Rule::rewire, 3};
  spec.temperatures = {2.78};
  spec.replicas = replicas;
  spec.schedule = candidate.schedule;
  spec.cluster = candidate.cluster;
  spec.equilibrate = 300;
  spec.measure = measure;
  spec.every = 1;
  spec.seed = seed;
  TaskRunOptions one;
  one.engine.threads = 1;
  return run_task({spec}, one).data;
}

TuneSeries series_of(const TaskData& data, std::uint32_t updates) {
  const auto replicas = static_cast<std::uint32_t>(data.magnetisation.replicas());
  TuneSeries series(replicas);
  for (std::size_t t = 0; t < data.magnetisation.time(); ++t) {
    Observation o;
    o.cluster_updates = updates;
    for (std::size_t r = 0; r < replicas; ++r) {
      o.bond_sum.push_back(data.bond_sum.at(0, t, r));
      o.magnetisation.push_back(data.magnetisation.at(0, t, r));
      if (data.cluster_quartic_low.empty()) continue;
      o.cluster_size.push_back(data.cluster_size.at(0, t, r));
      o.cluster_quartic_low.push_back(data.cluster_quartic_low.at(0, t, r));
      o.cluster_quartic_high.push_back(data.cluster_quartic_high.at(0, t, r));
    }
    series.add(o, 256);
  }
  return series;
}

// Variance of `values` over rows that remains after a fit by the controls.
double variance_left(const Eigen::VectorXd& values, const Eigen::MatrixXd& controls) {
  const Eigen::VectorXd y = values.array() - values.mean();
  if (controls.cols() == 0) return y.squaredNorm() / static_cast<double>(y.size() - 1);
  const Eigen::MatrixXd x = controls.rowwise() - controls.colwise().mean();
  const Eigen::VectorXd fit = x.colPivHouseholderQr().solve(y);
  return (y - x * fit).squaredNorm() / static_cast<double>(y.size() - 1 - x.cols());
}

}  // namespace

// Compares the tuner's estimates from one series with the scatter of 1024 runs with other seeds:
// for m^2, whose variance is then known to 4%, and for U of groups of eight runs (12%). Costs are
// counted updates instead of seconds.
TEST_CASE("tune: the choice has the smallest error of U and m^2 per cost") {
  constexpr auto wolff = ClusterUpdate::wolff, labels = ClusterUpdate::swendsen_wang;
  constexpr std::uint32_t runs = 1024, of_group = 8;
  constexpr std::uint64_t length = 64;
  struct Measured {
    Updates candidate;
    // tau by which the tuner ranks, tau_int of m^2, and the scatter of the runs converted to a tau
    double told = 0, old = 0, true_variance = 0;
  };
  std::vector<Measured> all;
  for (const Updates& candidate :
       {Updates{{1, 0}, wolff}, Updates{{4, 1}, wolff}, Updates{{1, 1}, wolff},
        Updates{{4, 1}, labels}, Updates{{1, 1}, labels}, Updates{{0, 1}, labels}}) {
    const bool improved = candidate.cluster == labels;
    const TuneSeries series =
        series_of(long_run(candidate, 32, 4000, 5), candidate.schedule.cluster);
    const SeriesNoise noise = series_noise(series, true);
    CHECK(series.has_improved() == improved);
    CHECK((noise.m2_left < 0.95) == improved);
    CHECK(noise.m2.found);
    CHECK(noise.binder.found);
    CHECK(noise.left_known);

    const TuneSeries many =
        series_of(long_run(candidate, runs, length, 6), candidate.schedule.cluster);
    const RealSeries m2 = many.squared_order(), m4 = m2.square();
    const auto mean = [](const RealSeries& x) -> Eigen::VectorXd {
      return x.colwise().mean().transpose().matrix();
    };
    Eigen::MatrixXd controls(runs, improved ? 2 : 0);
    if (improved) {
      controls.col(0) = mean(many.improved_m2() - m2);
      controls.col(1) = mean(many.improved_m4() - m4);
    }
    const auto grouped = [&](const Eigen::VectorXd& x) {
      return Eigen::VectorXd(x.reshaped(of_group, runs / of_group).colwise().mean());
    };
    const Eigen::VectorXd group_m2 = grouped(mean(m2)), group_m4 = grouped(mean(m4));
    const Eigen::VectorXd binder = 1 - group_m4.array() / (3 * group_m2.array().square());
    Eigen::MatrixXd group_controls(runs / of_group, controls.cols());
    for (Eigen::Index c = 0; c < controls.cols(); ++c) {
      group_controls.col(c) = grouped(controls.col(c));
    }
    const RealSeries first_order =
        m4 / std::pow(m2.mean(), 2) - 2 * m4.mean() / std::pow(m2.mean(), 3) * m2;
    const auto variance = [](const RealSeries& x) { return (x - x.mean()).square().mean(); };
    const double n = length;
    const double tau_m2 = variance_left(mean(m2), controls) * n / (2 * variance(m2));
    const double tau_binder =
        9 * of_group * variance_left(binder, group_controls) * n / (2 * variance(first_order));
    INFO(to_string(candidate) << ": m^2 " << tau_m2 << ", U " << tau_binder << "; told "
                              << noise.m2.tau.value * noise.m2_left << ", "
                              << noise.binder.tau.value * noise.binder_left);
    // The ends of runs of 64 measurements cut off correlations: a bias of about 2 tau / 64.
    CHECK(noise.m2.tau.value * noise.m2_left / tau_m2 == Approx(1).margin(4 * 0.05 + 0.05));
    CHECK(noise.binder.tau.value * noise.binder_left / tau_binder ==
          Approx(1).margin(4 * 0.13 + 0.05));
    all.push_back({candidate, noise.tau(0.5).value, noise.m2.tau.value, (tau_m2 + tau_binder) / 2});
  }

  int better = 0;
  for (const double update :
       {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0}) {  // cost of a cluster update, in sweeps
    const auto best = [&](double Measured::*tau) -> const Measured& {
      return *std::min_element(all.begin(), all.end(), [&](const auto& a, const auto& b) {
        const auto cost = [&](const Measured& m) {
          return (m.candidate.schedule.local + update * m.candidate.schedule.cluster) * m.*tau;
        };
        return cost(a) < cost(b);
      });
    };
    const auto truth = [&](const Measured& m) {
      return (m.candidate.schedule.local + update * m.candidate.schedule.cluster) * m.true_variance;
    };
    const Measured &told = best(&Measured::told), &old = best(&Measured::old),
                   &right = best(&Measured::true_variance);
    INFO(update << " sweeps: " << to_string(told.candidate) << ", by m^2 alone "
                << to_string(old.candidate) << ", best " << to_string(right.candidate));
    CHECK(truth(told) < 1.1 * truth(right));
    better += truth(told) < 0.9 * truth(old);
  }
  CHECK(better > 0);  // than a choice by tau_int of m^2 only
}

TEST_CASE("series: halving keeps every second time, including the last") {
  for (const int times : {6, 7}) {
    TuneSeries series(2);
    for (int t = 0; t < times; ++t) {
      Observation o;
      o.bond_sum = {t, 10 + t};
      o.magnetisation = {t, -t};
      series.add(o, 1);
    }
    series.halve();
    const int left = (times + 1) / 2;
    REQUIRE(series.times() == static_cast<std::size_t>(left));
    for (int t = 0; t < left; ++t) {
      const double kept = times - 1 - 2 * (left - 1 - t);
      CHECK(series.energy()(t, 0) == -kept);
      CHECK(series.energy()(t, 1) == -10 - kept);
      CHECK(series.abs_m()(t, 1) == kept);
      CHECK(series.squared_order()(t, 1) == kept * kept);
    }
  }
}

TEST_CASE("series: halving keeps the ends of segments") {
  TuneSeries series(1);
  Observation o;
  for (int t = 0; t < 12; ++t) {  // times 0 to 2, 3 to 6, 7, 8 to 11
    if (t == 3 || t == 7 || t == 8) series.interrupt();
    o.bond_sum = {t};
    o.magnetisation = {0};
    series.add(o, 1);
  }
  CHECK(series.longest_segment() == 4);
  series.halve();
  std::vector<double> kept;
  for (std::size_t t = 0; t < series.times(); ++t) {
    kept.push_back(-series.energy()(static_cast<Eigen::Index>(t), 0));
  }
  CHECK(kept == std::vector<double>{0, 2, 4, 6, 7, 9, 11});
  const std::vector<Eigen::Index> starts(series.starts().begin(), series.starts().end());
  CHECK(starts == std::vector<Eigen::Index>{0, 2, 4, 5});
  CHECK(series.longest_segment() == 2);
  CHECK_FALSE(series.has_improved());
  series.interrupt();
  CHECK(series.longest_segment() == 2);
  series.clear();
  CHECK(series.longest_segment() == 0);
}

TEST_CASE("series: the gain by improved estimators is unknown from a short series") {
  const Updates labels{{1, 1}, ClusterUpdate::swendsen_wang};
  for (const std::uint64_t times : {3, 60}) {
    const SeriesNoise noise = series_noise(series_of(long_run(labels, 64, times, 5), 1), true);
    CHECK(noise.left_known == (times == 60));
    CHECK(noise.m2_left < 0.7);  // a lower bound, or about right
    CHECK(noise.m2_left > 0.3);
  }
}

TEST_CASE("series: halving averages improved estimators of removed and kept times") {
  for (const int times : {6, 7}) {
    TuneSeries series(1);
    for (int t = 0; t < times; ++t) {
      Observation o;
      o.bond_sum = {0};
      o.magnetisation = {2};
      o.cluster_size = {static_cast<std::uint64_t>(32 * t)};
      o.cluster_quartic_low = {0};
      o.cluster_quartic_high = {static_cast<std::uint64_t>(t)};
      o.cluster_updates = 2;
      series.add(o, 4);
    }
    REQUIRE(series.has_improved());
    CHECK(series.improved_m2()(3, 0) == 3);  // 96 / (2 updates * 4^2 sites)
    CHECK(series.improved_m4()(3, 0) == std::ldexp(3.0, 64) / 512);
    series.halve();
    const int left = (times + 1) / 2;
    REQUIRE(series.improved_m2().rows() == left);
    for (int t = 0; t < left; ++t) {
      const int kept = times - 1 - 2 * (left - 1 - t);
      CHECK(series.improved_m2()(t, 0) == (kept == 0 ? 0 : kept - 0.5));
    }
    CHECK(series.squared_order()(0, 0) == 0.25);
  }
}

// AR(1) series of 64 replicas with tau = 9.5 and several lengths. Four errors are allowed (false
// alarms 6e-5), and 5% because tau_int is estimated by an exponential.
TEST_CASE("series: tau of a short series is a bound, of a longer one about right, then found") {
  test::Dice dice(5);
  const double phi = 0.9, kick = std::sqrt(1 - phi * phi), truth = 9.5;
  struct Expected {
    int times;
    bool known, found;
  };
  for (const Expected& e :
       {Expected{12, false, false}, Expected{48, true, false}, Expected{120, true, true}}) {
    TuneSeries series(64);
    std::vector<double> x(64);
    for (double& value : x) value = dice.normal();
    Observation o;
    o.magnetisation.assign(64, 0);
    for (int t = 0; t < e.times; ++t) {
      o.bond_sum.clear();
      for (double& value : x) {
        value = phi * value + kick * dice.normal();
        o.bond_sum.push_back(static_cast<std::int64_t>(1e6 * value));
      }
      series.add(o, 1);
    }
    const SeriesTau tau = series_tau(series, series.energy());
    INFO(e.times << " times: " << tau.tau.value << "(" << tau.tau.error << ")");
    CHECK(tau.known == e.known);
    CHECK(tau.found == e.found);
    if (!tau.known) {
      CHECK(tau.tau.value < truth);
    } else {
      CHECK(std::abs(tau.tau.value - truth) < 4 * tau.tau.error + 0.05 * truth);
    }
  }
}

TEST_CASE("Pearson correlation of configurations, by bits and by definition") {
  test::Dice dice(8);
  for (int k = 0; k < 20; ++k) {
    const std::size_t sites = 50 + static_cast<std::size_t>(100 * dice.uniform());
    std::vector<std::uint8_t> a(sites), b(sites);
    double sa = 0, sb = 0, sab = 0;
    for (std::size_t i = 0; i < sites; ++i) {
      a[i] = dice.uniform() < 0.7;
      b[i] = dice.uniform() < 0.6 ? a[i] : dice.uniform() < 0.3;
      const double x = 2.0 * a[i] - 1, y = 2.0 * b[i] - 1;
      sa += x;
      sb += y;
      sab += x * y;
    }
    const double n = static_cast<double>(sites), ma = sa / n, mb = sb / n;
    const double expected = (sab / n - ma * mb) / std::sqrt((1 - ma * ma) * (1 - mb * mb));
    CHECK(pearson(SpinBits(a), SpinBits(b)) == Approx(expected));
    CHECK(pearson(SpinBits(a), SpinBits(a)) == Approx(1));
  }
  const std::vector<std::uint8_t> up(64, 1), down(64, 0);
  CHECK(pearson(SpinBits(up), SpinBits(up)) == 1);
  CHECK(pearson(SpinBits(up), SpinBits(down)) == 0);
}

TEST_CASE("configuration correlation: pairs by lag, none across an interruption") {
  const auto bits = [](std::initializer_list<int> spins) {
    const std::vector<std::uint8_t> bytes(spins.begin(), spins.end());
    return std::vector<SpinBits>{SpinBits(bytes)};
  };
  ConfigurationCorrelation correlation(1, 2);
  correlation.add(bits({1, 1, 0, 0}));
  correlation.add(bits({1, 0, 1, 0}));  // uncorrelated with the first
  correlation.add(bits({1, 1, 0, 0}));
  REQUIRE(correlation.curves().rows() == 2);
  CHECK(correlation.curves()(0, 0) == Approx(0).margin(1e-15));
  CHECK(correlation.curves()(1, 0) == Approx(1));
  correlation.interrupt();
  correlation.add(bits({0, 0, 1, 1}));
  CHECK(correlation.curves()(0, 0) == Approx(0).margin(1e-15));
  correlation.add(bits({1, 1, 0, 0}));
  CHECK(correlation.curves()(0, 0) == Approx(-1.0 / 3));
  CHECK(correlation.times() == 5);
  correlation.restart();
  CHECK(correlation.curves().rows() == 0);
}

TEST_CASE("table of tune: rates are upper bounds where tau is a lower bound") {
  TuneResult result;
  result.spec.temperatures = {2.5};
  TuneRow row;
  row.rank = 1;
  row.figures.samples = 16;
  row.figures.tau_m2 = {12, 0};
  row.figures.rate = {345, 0};
  row.figures.worth = {456, 0};
  result.rows = {row};
  const std::string bounds = tune_table(result);
  for (const char* bound : {"> 12 ", "< 345 ", "< 456 "}) {
    INFO(bound << "\n" << bounds);
    CHECK(bounds.find(bound) != std::string::npos);
  }
  result.rows[0].figures.tau_known = result.rows[0].figures.worth_known = true;
  CHECK(tune_table(result).find("< ") == std::string::npos);
}

TEST_CASE("rewise tune: table, JSON, file") {
  const Workplace place;
  const Output table =
      place.run("tune --size 8 --p 0,0.1 --budget 0.5s --device cpu --out t.json --no-plots");
  REQUIRE(table.status == 0);
  CHECK(table.out.find("best: ") != std::string::npos);
  CHECK(table.out.find("relative to the best schedule") != std::string::npos);
  const auto file = nlohmann::json::parse(place.read("t.json"));
  CHECK(file["format"] == "rewise tune");
  REQUIRE(file["settings"].size() == 2);
  CHECK(file["settings"][1]["graph"]["p"] == 0.1);
  CHECK(file["settings"][0]["temperature"] == Approx(2.26919));
  CHECK(file["settings"][0]["candidates"].size() == 20);

  const Output printed = place.run(
      "tune --size 8 --cluster wolff --candidates 1:0,1:3 --budget 10s --device cpu --json "
      "--temperature 2.5 --keep-all");
  REQUIRE(printed.status == 0);
  const auto one = nlohmann::json::parse(printed.out)["settings"][0];
  CHECK(one["candidates"][1]["schedule"] == "1:3");
  CHECK(one["winner"]["cluster"] == "wolff");
  int measured = 0;  // on a busy machine one may have no measurement
  for (const auto& c : one["candidates"]) {
    if (c["tau"]["m2"]["value"].is_null()) continue;
    CHECK(c["tau"]["m2"]["value"].get<double>() > 0);
    ++measured;
  }
  CHECK(measured > 0);
}

TEST_CASE("rewise tune: no progress line after the last setting, counts in the plural") {
  const Workplace place;
  const Output output =
      place.run("tune --size 8 --candidates 1:0,1:1 --budget 1s --threads 1 --device cpu");
  INFO(output.err << output.out);
  REQUIRE(output.status == 0);
  CHECK(output.err.find(" %") == std::string::npos);
  CHECK(output.out.find(", 1 thread, 32 replicas, ") != std::string::npos);
  CHECK(output.out.find("(s)") == std::string::npos);
  CHECK(output.err.find("dropped early") == std::string::npos);
}

TEST_CASE("rewise tune: the default temperature is Tc(p) if known") {
  const Workplace place;
  const std::string tune =
      "tune --size 4 --p 0.1 --candidates 1:0 --budget 0.05s --device cpu --json --no-plots ";
  for (const auto& [line, tc] : {std::pair{"--dim 4", 6.9267}, {"--dim 3 --rule add", 5.4735}}) {
    const Output output = place.run(tune + line);
    INFO(line << output.err);
    REQUIRE(output.status == 0);
    CHECK(nlohmann::json::parse(output.out)["settings"][0]["temperature"] == Approx(tc));
  }
}

TEST_CASE("rewise tune: invalid input gives one line of error") {
  const Workplace place;
  place.write("kept.json", "{}");
  struct Bad {
    std::string line;
    int status;
    std::string words;
  };
  for (const Bad& bad :
       {Bad{"", 64, "--size is missing"}, Bad{"--size 7", 64, "--size"},
        Bad{"--size 8 --p 2", 64, "--p"}, Bad{"--size 8 --budget soon", 64, "--budget"},
        Bad{"--size 8 --budget 0", 64, "--budget: 0 leaves no time to measure"},
        Bad{"--size 8 --p 0,0.1 --budget 0s --json", 64, "--budget: 0s leaves no time"},
        Bad{"--size 8 --candidates 0:0", 64, "0:0"},
        Bad{"--size 8 --candidates 1:1,1:1", 64, "given twice"},
        Bad{"--size 8 --engine multispin --cluster few-cluster", 64, "few-cluster"},
        Bad{"--size 64 --dim 1", 64, "--temperature is missing"},
        Bad{"--size 8 --dim 1 --p 0.1", 64, "--temperature is missing"},
        Bad{"--size 8 --replicas 33", 64, "64"}, Bad{"--size 8 --out t.txt", 64, ".json"},
        Bad{"--size 8 --temperature 2,3 --study s", 64, "one temperature"},
        Bad{"--size 8 --p 0.1,0.1", 64, "given twice"},
        Bad{"--size 8 --study misspelt", 74, "'misspelt' is not the folder of a study"},
        Bad{"--size 8 --study kept.json", 74, "'kept.json' is not the folder of a study"},
        Bad{"--size 8 --budget 1s --out absent/t.json", 74, "folder 'absent' does not exist"},
        Bad{"--size 8 --budget 1s --out kept.json", 73, "'kept.json' already exists"}}) {
    const Output output = place.run("tune " + bad.line);
    INFO(bad.line << ": " << output.err);
    CHECK(output.status == bad.status);
    CHECK(output.err.find(bad.words) != std::string::npos);
    CHECK(lines(output.err) == 1);
    CHECK(output.out.empty());
    CHECK(place.files() == std::vector<std::string>{"kept.json"});
    CHECK_FALSE(place.has("misspelt"));
  }
}
