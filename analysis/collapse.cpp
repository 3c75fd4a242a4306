#include "analysis/collapse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/simplex.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct ScaledSet {
  Eigen::ArrayXd x, y, error;
};

ScaledSet scale(const CollapseData& data, const CollapseParameters& at) {
  const double factor = std::pow(data.sites, -at.c);
  return {(data.temperature - at.tc) * std::pow(data.sites, at.y), data.value * factor,
          data.error * factor};
}

// Sums of a weighted straight-line fit.
struct LineSums {
  double k = 0, kx = 0, ky = 0, kxx = 0, kxy = 0;
  void add(double x, double y, double error) {
    const double w = 1 / (error * error);
    k += w;
    kx += w * x;
    ky += w * y;
    kxx += w * x * x;
    kxy += w * x * y;
  }
};

// The two points of `set` around x (measured from x, so that the line's value is its intercept).
void add_neighbours(LineSums& sums, const ScaledSet& set, double x) {
  const double* begin = set.x.data();
  const double* above = std::upper_bound(begin, begin + set.x.size(), x);
  const auto i = static_cast<Index>(above - begin);
  if (i == 0 || i == set.x.size()) return;
  sums.add(set.x[i - 1] - x, set.y[i - 1], set.error[i - 1]);
  sums.add(set.x[i] - x, set.y[i], set.error[i]);
}

void check_data(const std::vector<CollapseData>& data) {
  if (data.size() < 2) throw Error(ExitCode::internal, "collapse: at least 2 sizes needed");
  for (const CollapseData& d : data) {
    if (d.value.size() != d.temperature.size() || d.error.size() != d.temperature.size() ||
        !(d.error > 0).all()) {
      throw Error(ExitCode::internal, "collapse: one value and one positive error per temperature");
    }
  }
}

struct Free {
  bool y, c;
  VectorXd pack(const CollapseParameters& p) const {
    VectorXd x(1 + (y ? 1 : 0) + (c ? 1 : 0));
    x[0] = p.tc;
    if (y) x[1] = p.y;
    if (c) x[x.size() - 1] = p.c;
    return x;
  }
  CollapseParameters unpack(const VectorXd& x, const CollapseParameters& fixed) const {
    return {x[0], y ? x[1] : fixed.y, c ? x[x.size() - 1] : fixed.c};
  }
};

// Steps that change the scaled variables by about a tenth of their range.
VectorXd first_steps(const std::vector<CollapseData>& data, const Free& free) {
  double width = kInfinity;
  for (const CollapseData& d : data) {
    width = std::min(width, d.temperature[d.temperature.size() - 1] - d.temperature[0]);
  }
  return free.pack({0.1 * width, 0.05, 0.02});
}

Minimum minimise_quality(const std::vector<CollapseData>& data, const CollapseParameters& start,
                         const Free& free, double range, const VectorXd& step) {
  return minimise(
      [&](const VectorXd& x) { return collapse_quality(data, free.unpack(x, start), range); },
      free.pack(start), step);
}

// S minimised over all but parameter `held`, which stays at `value`.
double profile(const std::vector<CollapseData>& data, const CollapseParameters& fixed,
               const Free& free, double range, const VectorXd& best, const VectorXd& step,
               Index held, double value) {
  const Index others = best.size() - 1;
  const auto expand = [&](const VectorXd& rest) {
    VectorXd x(best.size());
    x << rest.head(held), value, rest.tail(others - held);
    return x;
  };
  VectorXd start(others), rest_step(others);
  start << best.head(held), best.tail(others - held);
  rest_step << step.head(held), step.tail(others - held);
  return minimise(
             [&](const VectorXd& rest) {
               return collapse_quality(data, free.unpack(expand(rest), fixed), range);
             },
             start, 0.2 * rest_step, 1e-6, 400)
      .value;
}

// How far the parameter can go in one direction until the profile has risen by 1.
double reach(const std::function<double(double)>& risen, double step) {
  double inside = 0, outside = step;
  for (int i = 0; i < 30 && risen(outside) < 1; ++i) {
    inside = outside;
    outside *= 2;
  }
  for (int i = 0; i < 25; ++i) {
    const double middle = 0.5 * (inside + outside);
    (risen(middle) < 1 ? inside : outside) = middle;
  }
  return std::abs(0.5 * (inside + outside));
}

Collapse with_errors(const VectorXd& best, const VectorXd& errors, const CollapseParameters& start,
                     const Free& free, double quality, bool converged) {
  const CollapseParameters value = free.unpack(best, start);
  const CollapseParameters error = free.unpack(errors, {0, 0, 0});
  return {{value.tc, error.tc}, {value.y, error.y}, {value.c, error.c}, quality, converged};
}

std::vector<CollapseData> as_data(const std::vector<JackknifeCurve>& curves) {
  std::vector<CollapseData> data;
  for (const JackknifeCurve& curve : curves) {
    CollapseData d{curve.sites, curve.temperature, curve.value,
                   Eigen::ArrayXd(curve.temperature.size())};
    for (Index k = 0; k < curve.temperature.size(); ++k) d.error[k] = curve.at(k).error;
    data.push_back(std::move(d));
  }
  return data;
}

}  // namespace

double collapse_quality(const std::vector<CollapseData>& data, const CollapseParameters& at,
                        double range) {
  std::vector<ScaledSet> sets;
  for (const CollapseData& d : data) sets.push_back(scale(d, at));
  double sum = 0;
  int terms = 0, points = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (Index j = 0; j < sets[i].x.size(); ++j) {
      const double x = sets[i].x[j];
      if (range > 0 && std::abs(x) > range) continue;
      ++points;
      LineSums line;
      for (std::size_t other = 0; other < sets.size(); ++other) {
        if (other != i) add_neighbours(line, sets[other], x);
      }
      const double determinant = line.k * line.kxx - line.kx * line.kx;
      if (!(determinant > 0)) continue;
      const double y = (line.kxx * line.ky - line.kx * line.kxy) / determinant;
      const double variance = line.kxx / determinant;
      const double distance = sets[i].y[j] - y;
      sum += distance * distance / (sets[i].error[j] * sets[i].error[j] + variance);
      ++terms;
    }
  }
  // Curves drawn apart until they hardly overlap would be a cheap minimum.
  return 3 * terms < points || terms == 0 ? kInfinity : sum / terms;
}

Collapse fit_collapse(const std::vector<CollapseData>& data, const CollapseParameters& start,
                      const CollapseOptions& options) {
  check_data(data);
  const Free free{options.free_y, options.free_c};
  const VectorXd step = first_steps(data, free);
  const Minimum best = minimise_quality(data, start, free, options.range, step);
  VectorXd errors = VectorXd::Zero(best.x.size());
  for (Index k = 0; k < best.x.size() && best.converged; ++k) {
    const auto risen = [&](double by) {
      return profile(data, start, free, options.range, best.x, step, k, best.x[k] + by) -
             best.value;
    };
    errors[k] = 0.5 * (reach(risen, 0.01 * step[k]) + reach(risen, -0.01 * step[k]));
  }
  return with_errors(best.x, errors, start, free, best.value, best.converged);
}

Collapse fit_collapse(const std::vector<JackknifeCurve>& curves, const CollapseParameters& start,
                      const CollapseOptions& options) {
  std::vector<CollapseData> data = as_data(curves);
  check_data(data);
  const Free free{options.free_y, options.free_c};
  const VectorXd step = first_steps(data, free);
  const Minimum best = minimise_quality(data, start, free, options.range, step);
  const CollapseParameters found = free.unpack(best.x, start);
  bool converged = best.converged;
  std::vector<Jackknifed> numbers(static_cast<std::size_t>(best.x.size()));
  for (Index k = 0; k < best.x.size(); ++k) {
    numbers[static_cast<std::size_t>(k)].value = best.x[k];
    for (const JackknifeCurve& curve : curves) {
      numbers[static_cast<std::size_t>(k)].left_out[curve.sample].resize(curve.left_out.rows());
    }
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    for (Index g = 0; g < curves[i].left_out.rows(); ++g) {
      data[i].value = curves[i].left_out.row(g);
      const Minimum left = minimise_quality(data, found, free, options.range, 0.1 * step);
      converged = converged && left.converged;
      for (Index k = 0; k < best.x.size(); ++k) {
        numbers[static_cast<std::size_t>(k)].left_out[curves[i].sample][g] = left.x[k];
      }
    }
    data[i].value = curves[i].value;
  }
  const Estimates e = estimates(numbers);
  return with_errors(e.value, e.covariance.diagonal().cwiseSqrt(), start, free, best.value,
                     converged);
}

}  // namespace rewise
