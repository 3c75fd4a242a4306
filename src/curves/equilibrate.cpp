#include "src/curves/equilibrate.hpp"

#include <cmath>

#include "analysis/series/correlation_curve.hpp"
#include "analysis/series/equilibrium_time.hpp"
#include "graphs/graph.hpp"
#include "src/curves/timing.hpp"

namespace rewise {
namespace {

constexpr double kNear = 0.05;

// The curves of one start, one column per point of the grid.
struct StartCurves {
  Eigen::ArrayXXd energy, abs_magnetisation;  // [graph and replica, point]
  Eigen::ArrayXXd seconds;                    // [graph and repeat, point] since the start
};

// Number of repetitions of the same moves that gives the requested number of timings.
std::uint32_t repeats(const CurveSpec& spec) {
  return (spec.timings + spec.graphs - 1) / spec.graphs;
}

StartCurves follow(const CurveSpec& spec, const std::vector<Graph>& graphs, double temperature,
                   const Updates& mix, Start start, const std::vector<std::uint64_t>& grid,
                   const StopToken& stop) {
  const auto rows = static_cast<Eigen::Index>(graphs.size() * spec.replicas);
  const auto points = static_cast<Eigen::Index>(grid.size());
  const auto runs = static_cast<Eigen::Index>(graphs.size() * repeats(spec));
  const SampleUnits units = spec.units();
  StartCurves curves{Eigen::ArrayXXd(rows, points), Eigen::ArrayXXd(rows, points),
                     Eigen::ArrayXXd(runs, points)};
  Observation seen;
  for (Eigen::Index run = 0; run < runs; ++run) {
    const auto g = static_cast<std::uint32_t>(run / repeats(spec));
    const auto engine = curve_engine(spec, graphs[g], g, temperature, mix, start);
    warm_up(*engine, mix.schedule, engine->save());
    const WorkCounters before = engine->work();
    Stepper stepper(*engine, mix.schedule);
    for (Eigen::Index i = 0; i < points; ++i) {
      check_stop(stop);
      stepper.to(grid[static_cast<std::size_t>(i)]);
      engine->measure(seen);
      for (std::uint32_t r = 0; r < spec.replicas; ++r) {
        const auto row = static_cast<Eigen::Index>(g * spec.replicas + r);
        double m = 0;
        units.per_site(static_cast<double>(seen.bond_sum[r]),
                       static_cast<double>(seen.magnetisation[r]), curves.energy(row, i), m);
        curves.abs_magnetisation(row, i) = std::abs(m);
      }
      const WorkCounters work = engine->work();
      curves.seconds(run, i) = (work.local_seconds + work.cluster_seconds - before.local_seconds -
                                before.cluster_seconds) /
                               spec.replicas;
    }
  }
  return curves;
}

// `rows` has `members` rows per graph.
void add_mean(Curve& curve, const std::string& name, const Eigen::ArrayXXd& rows,
              Eigen::Index members) {
  const MeanCurve mean = mean_over_groups(rows, members);
  curve.add(name, mean.value);
  curve.add(name + "_error", mean.error);
}

// Seconds per step of each run since the previous point.
Eigen::ArrayXXd per_step(const Eigen::ArrayXd& steps, const Eigen::ArrayXXd& seconds) {
  Eigen::ArrayXXd result(seconds.rows(), seconds.cols());
  result.col(0) = seconds.col(0) / steps[0];
  for (Eigen::Index i = 1; i < steps.size(); ++i) {
    result.col(i) = (seconds.col(i) - seconds.col(i - 1)) / (steps[i] - steps[i - 1]);
  }
  return result;
}

Value mean_of(const Eigen::ArrayXd& rows, Eigen::Index members) {
  const MeanCurve mean = mean_over_groups(rows, members);
  return {mean.value[0], mean.error[0]};
}

// Median over the repetitions in the rows of a column.
Value median_at(const Eigen::ArrayXXd& repeats, Eigen::Index point) {
  const Eigen::ArrayXd column = repeats.col(point);
  return timing_of({column.begin(), column.end()}).median;
}

Eigen::ArrayXd medians(const Eigen::ArrayXXd& repeats) {
  Eigen::ArrayXd all(repeats.cols());
  for (Eigen::Index i = 0; i < all.size(); ++i) all[i] = median_at(repeats, i).value;
  return all;
}

// Interpolates linearly in ln(step). There must be points on both sides of `step`.
Eigen::ArrayXd rows_at(const Eigen::ArrayXd& steps, const Eigen::ArrayXXd& rows, double step) {
  Eigen::Index at = 0;
  while (steps[at] < step) ++at;
  if (steps[at] == step) return rows.col(at);
  const double share = std::log(step / steps[at - 1]) / std::log(steps[at] / steps[at - 1]);
  return (1 - share) * rows.col(at - 1) + share * rows.col(at);
}

void conclude(CurveSet& set, const CurveKeys& keys, const Eigen::ArrayXd& steps,
              const StartCurves& hot, const StartCurves& cold, Eigen::Index replicas) {
  Curve& curve = set.table("energy").curves.emplace_back(Curve{keys, {}});
  curve.add("steps", steps);
  add_mean(curve, "energy_hot", hot.energy, replicas);
  add_mean(curve, "energy_cold", cold.energy, replicas);
  add_mean(curve, "m_hot", hot.abs_magnetisation, replicas);
  add_mean(curve, "m_cold", cold.abs_magnetisation, replicas);
  add_timings(curve, "seconds_hot", hot.seconds);
  add_timings(curve, "seconds_cold", cold.seconds);
  add_timings(curve, "step_seconds_hot", per_step(steps, hot.seconds));
  add_timings(curve, "step_seconds_cold", per_step(steps, cold.seconds));

  const EquilibriumTime found = equilibrium_time(steps, hot.energy, cold.energy);
  const auto seconds_at = [&](double step) {
    Eigen::Index at = 0;
    while (at + 1 < steps.size() && steps[at] < step) ++at;
    const Value then = median_at(hot.seconds, at);
    return Value{then.value, std::isfinite(then.error) ? then.error : 0};
  };
  Value seconds = found.time;
  if (found.reached) {
    const Value then = seconds_at(found.time.value);
    const double error = then.value * found.time.error / found.time.value;
    seconds = {then.value, std::hypot(error, then.error)};
  }
  MetricRow& row = set.metrics.emplace_back(MetricRow{keys, {}});
  row.add("equilibrium_steps", found.time);
  row.add("equilibrium_seconds", seconds);
  row.add("apart_until_steps", {found.last, 0});
  row.add("apart_until_seconds", seconds_at(found.last));
  // First time when the excess energy is within 5% of the cold start's mean over the last quarter
  // of the points. Only the first time counts, because small systems fluctuate by more than 5%.
  const Eigen::ArrayXd rest = cold.energy.rightCols((steps.size() + 3) / 4).rowwise().mean();
  const Eigen::ArrayXXd above =
      hot.energy.colwise() - (rest.mean() < 0 ? 1 - kNear : 1 + kNear) * rest;
  const Eigen::ArrayXd clock = medians(hot.seconds);
  row.add("steps_to_5%", first_time_at_level(steps, above, 0, replicas));
  row.add("seconds_to_5%", first_time_at_level(clock, above, 0, replicas));
  row.add("steps_end", {steps[steps.size() - 1], 0});
  row.add("seconds_end", median_at(hot.seconds, steps.size() - 1));
  if (steps[0] <= 100 && steps[steps.size() - 1] >= 100) {
    row.add("energy_at_100", mean_of(rows_at(steps, hot.energy, 100), replicas));
  }
  row.add("energy_hot", mean_of(hot.energy.rightCols(1), replicas));
  row.add("energy_cold", mean_of(cold.energy.rightCols(1), replicas));
  const Eigen::ArrayXXd pace = per_step(steps, hot.seconds);
  row.add("first_step_seconds", median_at(pace, 0));
  row.add("last_step_seconds", median_at(pace, steps.size() - 1));
}

}  // namespace

CurveSet measure_equilibration(const CurveSpec& spec, const StopToken& stop, Progress& progress) {
  CurveSet set;
  set.kind = "equilibrate";
  set.about = spec_json(spec);
  const auto grid = step_grid(spec.steps, spec.points, spec.linear);
  const Eigen::ArrayXd steps = as_array(grid);
  const std::vector<Graph> graphs = curve_graphs(spec);
  for (const double temperature : spec.temperatures) {
    for (const Updates& mix : spec.mixes) {
      const auto hot = follow(spec, graphs, temperature, mix, Start::hot, grid, stop);
      const auto cold = follow(spec, graphs, temperature, mix, Start::cold, grid, stop);
      conclude(set, curve_keys(temperature, mix), steps, hot, cold,
               static_cast<Eigen::Index>(spec.replicas));
      progress.add(1);
    }
  }
  set.notes.push_back(kTimingNote);
  set.notes.push_back(
      "equilibrium: hot and cold starts agree, averages over [t, 2t] within two errors");
  return set;
}

}  // namespace rewise
