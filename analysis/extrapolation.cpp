#include "analysis/extrapolation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "src/base/error.hpp"

namespace rewise {
namespace {

using Eigen::Index;
using Shift = std::function<double(double, double)>;

// What is extrapolated: one number per crossing that was found, with its abscissa.
struct Points {
  std::vector<Crossing> crossings;
  std::vector<std::size_t> origin;  // index in the caller's list
  std::vector<Jackknifed> numbers;
  std::vector<double> shift;
};

CrossingFit fit_points(const Points& points, SizeForm form, double smallest) {
  CrossingFit result;
  result.form = form;
  result.smallest = smallest;
  std::vector<std::size_t> rows;
  std::set<int> observables;
  for (std::size_t i = 0; i < points.crossings.size(); ++i) {
    if (points.crossings[i].smaller < smallest) continue;
    rows.push_back(i);
    observables.insert(points.crossings[i].observable);
  }
  const Index amplitudes = form == SizeForm::shifted ? static_cast<Index>(observables.size()) : 0;
  Eigen::MatrixXd design = Eigen::MatrixXd::Zero(static_cast<Index>(rows.size()), 1 + amplitudes);
  std::vector<Jackknifed> used;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto row = static_cast<Index>(r);
    design(row, 0) = 1;
    if (amplitudes > 0) {
      const auto column = std::distance(observables.begin(),
                                        observables.find(points.crossings[rows[r]].observable));
      design(row, 1 + column) = points.shift[rows[r]];
    }
    used.push_back(points.numbers[rows[r]]);
    result.used.push_back(points.origin[rows[r]]);
  }
  const Estimates data = estimates(used);
  result.fit = fit_linear(design, data.value, data.covariance);
  result.design = std::move(design);
  return result;
}

// Earlier is better: acceptable fits of the shifted form by amount of data, then constant ones,
// then whatever fits best.
bool better(const CrossingFit& a, const CrossingFit& b) {
  const auto rank = [](const CrossingFit& f) {
    if (!(f.fit.q >= kLeastQ)) return 2;
    return f.form == SizeForm::shifted ? 0 : 1;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (rank(a) == 2) return a.fit.q > b.fit.q;
  return a.smallest < b.smallest;
}

// A change of the limit, and what the errors explain of it. For fits to nested data the variance of
// the difference is the difference of the variances (Barlow, hep-ex/0207026).
struct Change {
  double change = 0, explained = 0;
  double unexplained() const {
    return std::sqrt(std::max(0.0, change * change - explained * explained));
  }
};

Change change_of(Value chosen, Value other) {
  return {other.value - chosen.value,
          std::sqrt(std::abs(other.error * other.error - chosen.error * chosen.error))};
}

void compare_alternatives(Extrapolation& result) {
  const CrossingFit& best = result.fits[result.chosen];
  double next_size = 0;
  for (const CrossingFit& f : result.fits) {
    if (f.smallest > best.smallest && (next_size == 0 || f.smallest < next_size)) {
      next_size = f.smallest;
    }
  }
  for (std::size_t i = 0; i < result.fits.size(); ++i) {
    const CrossingFit& f = result.fits[i];
    const bool fewer = f.form == best.form && f.smallest == next_size;
    const bool other = f.form != best.form && f.smallest == best.smallest;
    if (!(fewer || other) || !(f.fit.q >= kLeastQ)) continue;
    if (fewer) result.fewer = i;
    const Change change = change_of(best.fit.parameter(0), f.fit.parameter(0));
    if (change.unexplained() <= result.systematic) continue;
    result.systematic = change.unexplained();
    result.doubt = change.explained;
  }
}

Extrapolation extrapolate(const Points& points) {
  Extrapolation result;
  std::set<double> smallest;
  for (const Crossing& c : points.crossings) smallest.insert(c.smaller);
  for (const SizeForm form : {SizeForm::shifted, SizeForm::constant}) {
    for (const double size : smallest) {
      CrossingFit fit = fit_points(points, form, size);
      if (fit.fit.ok) result.fits.push_back(std::move(fit));
    }
  }
  if (result.fits.empty()) return result;

  for (std::size_t i = 1; i < result.fits.size(); ++i) {
    if (better(result.fits[i], result.fits[result.chosen])) result.chosen = i;
  }
  const CrossingFit& best = result.fits[result.chosen];
  std::vector<Jackknifed> used;
  for (const std::size_t index : best.used) {
    const auto at = std::find(points.origin.begin(), points.origin.end(), index);
    used.push_back(points.numbers[static_cast<std::size_t>(at - points.origin.begin())]);
  }
  const Eigen::VectorXd gain = best.fit.gain.row(0).transpose();
  const std::function<double(const Eigen::VectorXd&)> limit = [&gain](const Eigen::VectorXd& y) {
    return gain.dot(y);
  };
  result.limit = derive(used, limit);
  result.value = estimate(result.limit);
  compare_alternatives(result);
  result.ok = true;
  return result;
}

Points collect(const std::vector<Crossing>& crossings, bool heights, const Shift& shift) {
  Points points;
  for (std::size_t i = 0; i < crossings.size(); ++i) {
    const Crossing& c = crossings[i];
    if (c.status != CrossingStatus::found) continue;
    points.crossings.push_back(c);
    points.origin.push_back(i);
    points.numbers.push_back(heights ? c.height : c.temperature);
    points.shift.push_back(shift(c.smaller, c.larger));
  }
  return points;
}

}  // namespace

ScalingExponents mean_field_exponents() { return {0.5, 0.5}; }

ScalingExponents regular_exponents(int dim) {
  switch (dim) {
    case 2:
      return {1.0 / 2, 1.75 / 2};
    case 3:
      return {1 / 0.629912 / 3, 0.8297 / 3};
    case 4:
      return mean_field_exponents();
    default:
      throw Error(ExitCode::usage, "no phase transition to extrapolate on a regular lattice of " +
                                       std::to_string(dim) + " dimensions: 2, 3 or 4 allowed");
  }
}

ScalingExponents potts_exponents(int dim, int q) {
  if (q == 2) return regular_exponents(dim);
  if (dim == 2 && q == 3) return {6.0 / 5 / 2, 4.0 / 5 / 2};
  if (dim == 2 && q == 4) return {3.0 / 2 / 2, 1.0 / 2};
  throw Error(ExitCode::usage, "no second-order transition of the Potts model with " +
                                   std::to_string(q) + " states in " + std::to_string(dim) +
                                   " dimensions");
}

double crossing_shift(double smaller, double larger, ScalingExponents e) {
  return (std::pow(smaller, -e.w) - std::pow(larger, -e.w)) /
         (std::pow(larger, e.y) - std::pow(smaller, e.y));
}

double crossing_height_shift(double smaller, double larger, ScalingExponents e) {
  return std::pow(smaller, -e.w) + std::pow(smaller, e.y) * crossing_shift(smaller, larger, e);
}

Extrapolation extrapolate_temperature(const std::vector<Crossing>& crossings, ScalingExponents e) {
  return extrapolate(collect(crossings, false, [e](double smaller, double larger) {
    return crossing_shift(smaller, larger, e);
  }));
}

Extrapolation extrapolate_height(const std::vector<Crossing>& crossings, ScalingExponents e) {
  return extrapolate(collect(crossings, true, [e](double smaller, double larger) {
    return crossing_height_shift(smaller, larger, e);
  }));
}

}  // namespace rewise
