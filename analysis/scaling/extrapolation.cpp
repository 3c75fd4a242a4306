#include "analysis/scaling/extrapolation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "analysis/scaling/regular_lattice.hpp"
#include "analysis/series/distributions.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

using Eigen::Index;
using Shift = double (*)(double smaller, double larger, ScalingExponents e);

// The neglected terms of an observable are estimated from its leading amplitude. This is the lower
// bound of that amplitude, relative to the largest one of all observables.
constexpr double kShare = 0.35;
// A covariance may be too small by an unknown factor. The prior of this factor is an inverse-chi^2
// distribution centred at 1 with this many degrees of freedom. If the form is correct, errors of a
// fit with one or two degrees of freedom then grow by 3% on average; with chi^2/dof alone they
// would grow by 12 to 17%. A chi^2/dof of 10 at dof = 2 still doubles the errors.
constexpr double kScaleDof = 4;

// The data of an extrapolation: one number per crossing that was found, with the abscissas of the
// leading term and of the next ones, N^(-2w) and N^(-3w).
struct Points {
  std::vector<Crossing> crossings;
  std::vector<std::size_t> origin;  // index in the caller's list
  std::vector<Jackknifed> numbers;
  std::vector<double> shift;
  std::array<std::vector<double>, 2> next;
};

// The covariance of the neglected terms for leading amplitudes `amplitude` [observable].
//
// With `series`, each term is ratio N^(-w) times the previous one. The leading term has the largest
// amplitude of all observables, times `limit_factor` for crossings with a limit.
//
// Without `series`, each term is kNextTerm times the previous one at the smallest pair of sizes. An
// amplitude that is small by accident would make these terms too small, so it counts as at least
// kShare times the largest one.
Eigen::MatrixXd neglected_terms(const Points& points, const std::vector<std::size_t>& rows,
                                const std::map<CrossingObservable, double>& amplitude,
                                const std::optional<SeriesPrior>& series) {
  const auto count = static_cast<Index>(rows.size());
  std::map<CrossingObservable, std::size_t> first;  // the smallest pair of each observable
  for (const std::size_t r : rows) {
    const Crossing& c = points.crossings[r];
    const auto found = first.try_emplace(c.observable, r).first;
    if (c.smaller < points.crossings[found->second].smaller) found->second = r;
  }
  double largest = 0;
  for (const auto& [observable, value] : amplitude) largest = std::max(largest, std::abs(value));
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(count, count);
  for (Index i = 0; i < count; ++i) {
    for (Index j = 0; j < count; ++j) {
      const std::size_t a = rows[static_cast<std::size_t>(i)],
                        b = rows[static_cast<std::size_t>(j)];
      const CrossingObservable observable = points.crossings[a].observable;
      if (observable != points.crossings[b].observable) continue;
      const std::size_t smallest = first.at(observable);
      double leading = largest, power = 1;
      if (series && points.crossings[a].with_limit()) leading *= series->limit_factor;
      if (!series) leading = std::hypot(amplitude.at(observable), kShare * largest);
      for (const std::vector<double>& next : points.next) {
        power *= series ? series->ratio : kNextTerm;
        const double size =
            series ? leading * power : leading * power * points.shift[smallest] / next[smallest];
        covariance(i, j) += size * size * next[a] * next[b];
      }
    }
  }
  return covariance;
}

CrossingFit fit_points(const Points& points, double smallest,
                       const std::optional<SeriesPrior>& series) {
  CrossingFit result;
  result.smallest = smallest;
  std::vector<std::size_t> rows;
  std::set<CrossingObservable> observables;
  for (std::size_t i = 0; i < points.crossings.size(); ++i) {
    if (points.crossings[i].smaller < smallest) continue;
    rows.push_back(i);
    observables.insert(points.crossings[i].observable);
  }
  const auto amplitudes = static_cast<Index>(observables.size());
  Eigen::MatrixXd design = Eigen::MatrixXd::Zero(static_cast<Index>(rows.size()), 1 + amplitudes);
  std::vector<Jackknifed> used;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto row = static_cast<Index>(r);
    const auto column =
        std::distance(observables.begin(), observables.find(points.crossings[rows[r]].observable));
    design(row, 0) = 1;
    design(row, 1 + column) = points.shift[rows[r]];
    used.push_back(points.numbers[rows[r]]);
    result.used.push_back(points.origin[rows[r]]);
  }
  const Estimates data = estimates(used);
  result.fit = fit_linear(design, data.value, data.covariance);
  // Two passes: the amplitudes of the first fit may be distorted by the neglected terms.
  for (int pass = 0; pass < 2 && result.fit.ok; ++pass) {
    std::map<CrossingObservable, double> amplitude;
    for (const CrossingObservable observable : observables) {
      const auto number = static_cast<Index>(amplitude.size());
      amplitude[observable] = result.fit.parameters[1 + number];
    }
    result.neglected = neglected_terms(points, rows, amplitude, series);
    result.fit = fit_linear(design, data.value, data.covariance + result.neglected);
  }
  result.design = std::move(design);
  return result;
}

// `error`: effective degrees of freedom of an error with contributions from several samples (Welch
// & Satterthwaite). `samples`: sum of the degrees of freedom of all samples.
struct DegreesOfFreedom {
  double error = 0, samples = 0;
};

DegreesOfFreedom degrees_of_freedom(const Jackknifed& number) {
  DegreesOfFreedom freedom;
  double sum = 0, squares = 0;
  for (const auto& [sample, values] : number.left_out) {
    const double n = static_cast<double>(values.size());
    const double part = (n - 1) / n * (values - values.mean()).square().sum();
    sum += part;
    squares += part * part / (n - 1);
    freedom.samples += n - 1;
  }
  freedom.error = squares > 0 ? sum * sum / squares : 0;
  return freedom;
}

// Sets the weights of the fits, and `chosen`.
void weigh(Extrapolation& result) {
  std::vector<double> exponent;
  const std::size_t most = result.fits.front().used.size();
  for (const CrossingFit& f : result.fits) {
    exponent.push_back(-0.5 * f.fit.chi2 - static_cast<double>(most - f.used.size()));
  }
  const double greatest = *std::max_element(exponent.begin(), exponent.end());
  double sum = 0;
  for (std::size_t i = 0; i < exponent.size(); ++i) {
    result.fits[i].weight = std::exp(exponent[i] - greatest);
    sum += result.fits[i].weight;
    if (exponent[i] > exponent[result.chosen]) result.chosen = i;
  }
  for (CrossingFit& f : result.fits) f.weight /= sum;
}

// The factor by which the inverse of a covariance, estimated with `members` degrees of freedom, is
// too large on average. chi^2 is too large by the same factor.
double inverse_bias(double members, int dof) { return (members - 1) / (members - dof - 1); }

// The factor by which the covariance is too small, from chi^2 and its prior (kScaleDof).
double covariance_scale(const LinearFit& fit, double members) {
  if (fit.dof <= 0 || members <= fit.dof + 1) return 1;
  return (fit.chi2 / inverse_bias(members, fit.dof) + kScaleDof) / (fit.dof + kScaleDof);
}

// Mean square distance of the fits from their average, minus the part that is due to noise of the
// data, which the statistical error already includes.
double spread_beyond_noise(const std::vector<CrossingFit>& fits,
                           const std::vector<Eigen::VectorXd>& gains, const Eigen::VectorXd& gain,
                           double mean, const Eigen::MatrixXd& covariance) {
  double spread = 0;
  for (std::size_t i = 0; i < fits.size(); ++i) {
    const Eigen::VectorXd apart = gains[i] - gain;
    spread += fits[i].weight *
              (std::pow(fits[i].fit.parameters[0] - mean, 2) - apart.dot(covariance * apart));
  }
  return std::max(spread, 0.0);
}

Extrapolation extrapolate(const Points& points, const std::optional<SeriesPrior>& series = {}) {
  Extrapolation result;
  std::set<double> smallest;
  for (const Crossing& c : points.crossings) smallest.insert(c.smaller);
  for (const double size : smallest) {
    CrossingFit fit = fit_points(points, size, series);
    // A fit without degrees of freedom is used only if there is no other.
    if (fit.fit.ok && (fit.fit.dof > 0 || result.fits.empty())) {
      result.fits.push_back(std::move(fit));
    }
  }
  if (result.fits.empty()) return result;
  weigh(result);

  Eigen::VectorXd gain = Eigen::VectorXd::Zero(static_cast<Index>(points.numbers.size()));
  std::vector<Eigen::VectorXd> gains;  // [fit], for all data
  double dof = 0, mean = 0, variance = 0;
  for (const CrossingFit& f : result.fits) {
    const Eigen::VectorXd g = f.fit.gain.row(0).transpose();
    Eigen::VectorXd& full = gains.emplace_back(Eigen::VectorXd::Zero(gain.size()));
    for (std::size_t i = 0; i < f.used.size(); ++i) {
      const auto at = std::find(points.origin.begin(), points.origin.end(), f.used[i]);
      full[at - points.origin.begin()] = g[static_cast<Index>(i)];
    }
    gain += f.weight * full;
    dof += f.weight * f.fit.dof;
    variance += f.weight * g.dot(f.neglected * g);
    mean += f.weight * f.fit.parameters[0];
  }
  const double spread =
      spread_beyond_noise(result.fits, gains, gain, mean, estimates(points.numbers).covariance);
  const std::function<double(const Eigen::VectorXd&)> limit = [&gain](const Eigen::VectorXd& y) {
    return gain.dot(y);
  };
  result.limit = derive(points.numbers, limit);
  result.value = estimate(result.limit);
  const DegreesOfFreedom freedom = degrees_of_freedom(result.limit);
  result.members = freedom.error;
  double misfit = 0;
  for (const CrossingFit& f : result.fits) {
    misfit += f.weight * std::max(1.0, covariance_scale(f.fit, freedom.samples));
  }
  const double few = few_members_factor(freedom.samples, static_cast<int>(std::lround(dof))) *
                     student_one_sigma(result.members);
  result.value.error *= std::sqrt(misfit) * few;
  result.systematic = std::sqrt(variance * misfit + spread);
  result.ok = true;
  return result;
}

Points collect(const std::vector<Crossing>& crossings, bool heights, ScalingExponents e,
               const Shift& shift) {
  std::map<CrossingObservable, int>
      with_limit;  // observable -> number of crossings found with its limit
  for (const Crossing& c : crossings) {
    if (c.status == CrossingStatus::found && c.with_limit()) ++with_limit[c.observable];
  }
  Points points;
  for (std::size_t i = 0; i < crossings.size(); ++i) {
    const Crossing& c = crossings[i];
    if (c.status != CrossingStatus::found) continue;
    if (c.with_limit() != (with_limit[c.observable] > 1)) continue;
    points.crossings.push_back(c);
    points.origin.push_back(i);
    points.numbers.push_back(heights ? c.height : c.temperature);
    points.shift.push_back(shift(c.smaller, c.larger, e));
    for (std::size_t k = 0; k < points.next.size(); ++k) {
      const double power = static_cast<double>(k) + 2;
      points.next[k].push_back(shift(c.smaller, c.larger, {e.y, power * e.w}));
    }
  }
  return points;
}

}  // namespace

ScalingExponents mean_field_exponents() { return {0.5, 0.5}; }

ScalingExponents regular_exponents(int dim) {
  if (dim < 2 || dim > 4) {
    throw Error(ExitCode::usage, "no phase transition to extrapolate on a regular lattice of " +
                                     std::to_string(dim) + " dimensions: 2, 3 or 4 allowed");
  }
  const RegularLattice& lattice = regular_lattice(dim);
  return {1 / lattice.nu / dim, lattice.omega / dim};
}

ScalingExponents potts_exponents(int dim, int q) {
  if (q == 2) return regular_exponents(dim);
  if (dim == 2 && q == 3) return {6.0 / 5 / 2, 4.0 / 5 / 2};
  if (dim == 2 && q == 4) return {3.0 / 2 / 2, 1.0 / 2};
  throw Error(ExitCode::usage, "no second-order transition of the Potts model with " +
                                   std::to_string(q) + " states in " + std::to_string(dim) +
                                   " dimensions");
}

double regular_m2_power(int dim, int q) {
  const double eta = dim == 2 && q == 3 ? 4.0 / 15 : regular_lattice(dim).eta;
  return (dim - 2 + eta) / dim;
}

double mean_field_binder() { return 1 - std::pow(std::tgamma(0.25), 4) / (24 * M_PI * M_PI); }

double binder_lowered_by_spread(double spread) {
  // The slope at 0 is exact. The coefficient `falls` was fitted to numerical averages. U is
  // accurate to 2e-4 for a spread of up to 0.2.
  constexpr double falls = 0.45;
  const double squared = 1 / (3 * (1 - mean_field_binder()));  // <s^2>^2 / <s^4> at Tc
  const double slope = 2 * (1 - 2 * squared) / (3 * std::pow(1 - squared, 2));
  return slope * spread / (1 + falls * spread);
}

double crossing_shift(double smaller, double larger, ScalingExponents e) {
  if (std::isinf(larger)) return -std::pow(smaller, -e.w - e.y);
  return (std::pow(smaller, -e.w) - std::pow(larger, -e.w)) /
         (std::pow(larger, e.y) - std::pow(smaller, e.y));
}

double crossing_height_shift(double smaller, double larger, ScalingExponents e) {
  return std::pow(smaller, -e.w) + std::pow(smaller, e.y) * crossing_shift(smaller, larger, e);
}

std::optional<double> next_term_ratio(const std::vector<Crossing>& crossings,
                                      CrossingObservable observable, double limit, double range,
                                      ScalingExponents e) {
  const Crossing* smallest = nullptr;
  for (const Crossing& c : crossings) {
    if (c.observable != observable || c.status != CrossingStatus::found) continue;
    if (c.with_limit()) continue;
    if (smallest == nullptr || c.smaller < smallest->smaller) smallest = &c;
  }
  if (smallest == nullptr) return {};
  const Value height = estimate(smallest->height);
  return (std::abs(height.value - limit) + height.error) /
         crossing_height_shift(smallest->smaller, smallest->larger, e) / range;
}

double next_term_of_limit(int dim) {
  constexpr double share[] = {2, 0.15, 0.55, 1.9};
  return share[std::clamp(dim, 1, 4) - 1];
}

Extrapolation extrapolate_temperature(const std::vector<Crossing>& crossings, ScalingExponents e,
                                      const std::optional<SeriesPrior>& series) {
  return extrapolate(collect(crossings, false, e, crossing_shift), series);
}

Extrapolation extrapolate_height(const std::vector<Crossing>& crossings, ScalingExponents e) {
  return extrapolate(collect(crossings, true, e, crossing_height_shift));
}

double few_members_factor(double members, int dof) {
  if (members <= dof + 1) return std::numeric_limits<double>::infinity();
  // The inverse of an estimated covariance is too large on average, and its noise enters the
  // weights of the fit. The factor is the ratio of the real scatter to the error of the fit.
  return std::sqrt(inverse_bias(members, dof) / (1 - dof / members));
}

}  // namespace rewise
