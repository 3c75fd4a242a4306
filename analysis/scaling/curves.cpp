#include "analysis/scaling/curves.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/all_cores.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

using Eigen::Index;

// The moments of all graphs at the temperature with index k: [graph, moment].
MomentRows moments_at(const MomentTable& graphs, Index k) {
  MomentRows rows(graphs.table[0].rows(), Index{kMomentCount});
  for (std::size_t m = 0; m < graphs.table.size(); ++m) {
    rows.col(static_cast<Index>(m)) = graphs.table[m].col(k);
  }
  return rows;
}

// Computes the points of a curve on all cores.
template <class F>
void for_each_point(const MomentTable& graphs, const F& f) {
  constexpr std::size_t each = 500;  // nanoseconds per graph and temperature
  const auto points = static_cast<std::size_t>(graphs.temperature.size());
  const auto members = static_cast<std::size_t>(graphs.table[0].rows());
  on_all_cores(points, points * members * each, [&](std::size_t k) { f(static_cast<Index>(k)); });
}

JackknifeCurve empty_curve(int sample, const MomentTable& graphs) {
  const Index points = graphs.temperature.size(), members = graphs.table[0].rows();
  return {sample, graphs.sites, graphs.temperature, Eigen::ArrayXd(points),
          Eigen::ArrayXXd(members, points)};
}

void set_point(JackknifeCurve& curve, Index k, const Jackknifed& number) {
  curve.value[k] = number.value;
  curve.left_out.col(k) = number.left_out.at(curve.sample);
}

const ControlVariates kNoControls;

// The values of a curve without (plain) and with control variates (controlled), and whether the
// controlled value is used (taken). Each is [temperature].
struct TestedNumbers {
  std::vector<Jackknifed> plain, controlled;
  std::vector<bool> taken;
};

TestedNumbers tested_numbers(int sample, const MomentTable& graphs, const MomentFunction& f,
                             const ControlVariates& controls, ControlTest test) {
  const auto points = static_cast<std::size_t>(graphs.temperature.size());
  const bool any = enough_graphs(controls);
  TestedNumbers numbers{std::vector<Jackknifed>(points), std::vector<Jackknifed>(points),
                        std::vector<bool>(points, false)};
  std::vector<char> help(points, 0);  // not vector<bool>: threads write neighbouring elements
  for_each_point(graphs, [&](Index k) {
    const VectorFunction function_of_means = [&](const Eigen::VectorXd& mean) {
      const double value = f(Moments(mean.array()), graphs.sites, graphs.temperature[k]);
      return Eigen::VectorXd::Constant(1, value).eval();
    };
    const auto at = static_cast<std::size_t>(k);
    const MomentRows rows = moments_at(graphs, k);
    numbers.plain[at] = jackknife_means(sample, rows, function_of_means)[0];
    if (!any) return;
    numbers.controlled[at] = jackknife_with_controls(sample, rows, controls, function_of_means)[0];
    help[at] = controls_help(numbers.plain[at], numbers.controlled[at], controls) ? 1 : 0;
  });
  const auto helped = static_cast<std::size_t>(std::ranges::count(help, 1));
  for (std::size_t k = 0; k < points; ++k) {
    numbers.taken[k] = test == ControlTest::temperature ? help[k] != 0 : 2 * helped >= points;
  }
  if (!any) numbers.taken.assign(points, false);
  return numbers;
}

}  // namespace

Value JackknifeCurve::at(Index k) const {
  Jackknifed number;
  number.value = value[k];
  number.left_out[sample] = left_out.col(k);
  return estimate(number);
}

std::vector<Value> JackknifeCurve::values() const {
  std::vector<Value> all;
  for (Index k = 0; k < value.size(); ++k) all.push_back(at(k));
  return all;
}

Eigen::ArrayXd temperature_grid(double low, double high, Index count) {
  if (!(low > 0) || !(high > low) || count < 2) {
    throw Error(ExitCode::internal, "temperature_grid: 0 < low < high and 2 points needed");
  }
  return Eigen::ArrayXd::LinSpaced(count, low, high);
}

JackknifeCurve curve_over_graphs(int sample, const MomentTable& graphs, const MomentFunction& f,
                                 const ControlVariates& controls, ControlTest test) {
  const TestedNumbers numbers = tested_numbers(sample, graphs, f, controls, test);
  JackknifeCurve curve = empty_curve(sample, graphs);
  for (std::size_t k = 0; k < numbers.plain.size(); ++k) {
    set_point(curve, static_cast<Index>(k),
              numbers.taken[k] ? numbers.controlled[k] : numbers.plain[k]);
  }
  return curve;
}

std::vector<bool> controls_taken(const MomentTable& graphs, const MomentFunction& f,
                                 const ControlVariates& controls, ControlTest test) {
  return tested_numbers(0, graphs, f, controls, test).taken;
}

JackknifeCurve changed_curve(int sample, const MomentTable& graphs, const MomentTable& changes,
                             const MomentFunction& f, const ControlVariates& controls,
                             ControlTest test) {
  const std::vector<bool> taken = controls_taken(graphs, f, controls, test);
  JackknifeCurve curve = empty_curve(sample, graphs);
  const auto members = static_cast<double>(curve.left_out.rows());
  for_each_point(graphs, [&](Index k) {
    const double t = graphs.temperature[k];
    const MomentRows graph_moments = moments_at(graphs, k);
    const ControlVariates& known = taken[static_cast<std::size_t>(k)] ? controls : kNoControls;
    const Moments mean = controlled_mean(graph_moments, known).array();
    // The response of the mean to a change of each control by 1. The correction depends only on
    // mean(x) - mu, so mu is lowered by 1 instead of raising x.
    const Index count = known.noise.rows() > 0 ? known.noise.cols() : 0;
    Eigen::ArrayXXd response(count, Index{kMomentCount});
    for (Index c = 0; c < count; ++c) {
      ControlVariates moved = known;
      moved.mu(c) -= 1;
      response.row(c) =
          controlled_mean(graph_moments, moved).transpose().array() - mean.transpose();
    }
    const MomentRows rows = moments_at(changes, k);
    curve.value[k] = f(mean, graphs.sites, t);
    for (Index g = 0; g < rows.rows(); ++g) {
      Moments change = rows.row(g).transpose();
      for (Index c = 0; c < count; ++c) {
        change += known.noise(g, c) * response.row(c).transpose();
      }
      curve.left_out(g, k) = f(mean + change / members, graphs.sites, t);
    }
  });
  return curve;
}

double binder_at(const Moments& m, double, double) { return binder(m); }

}  // namespace rewise
