#include "analysis/scaling/exponents.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/constants.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

using Eigen::Index;

Shifts part_of(const Shifts& s, Index first, Index count) {
  return {s.p.segment(first, count), s.value.segment(first, count),
          s.covariance.block(first, first, count, count)};
}

// Covariance of ln(shift): relative errors.
Eigen::MatrixXd log_covariance(const Shifts& s) {
  const Eigen::VectorXd inverse = s.value.cwiseInverse();
  return inverse.asDiagonal() * s.covariance * inverse.asDiagonal();
}

}  // namespace

Value Shifts::operator[](Index i) const { return {value[i], std::sqrt(covariance(i, i))}; }

Shifts shifts(const std::vector<double>& p, const std::vector<Value>& tc, Value tc0) {
  if (p.size() != tc.size()) throw Error(ExitCode::internal, "shifts: one Tc per p needed");
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&p](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  const auto k = static_cast<Index>(p.size());
  Shifts s{Eigen::VectorXd(k), Eigen::VectorXd(k),
           Eigen::MatrixXd::Constant(k, k, tc0.error * tc0.error)};
  for (Index i = 0; i < k; ++i) {
    const std::size_t from = order[static_cast<std::size_t>(i)];
    s.p[i] = p[from];
    s.value[i] = tc[from].value - tc0.value;
    s.covariance(i, i) += tc[from].error * tc[from].error;
  }
  return s;
}

LocalExponents local_exponents(const Shifts& s) {
  const Index count = std::max<Index>(s.p.size() - 1, 0);
  LocalExponents result{Eigen::VectorXd(count),
                        {Eigen::VectorXd(count), Eigen::MatrixXd(count, count)}};
  if (count == 0) return result;
  // exponent_i = (ln s_(i+1) - ln s_i) / (ln p_(i+1) - ln p_i), linear in the logarithms
  Eigen::MatrixXd slope = Eigen::MatrixXd::Zero(count, s.p.size());
  for (Index i = 0; i < count; ++i) {
    const double width = std::log(s.p[i + 1] / s.p[i]);
    slope(i, i) = -1 / width;
    slope(i, i + 1) = 1 / width;
    result.p[i] = std::sqrt(s.p[i] * s.p[i + 1]);
    const bool positive = s.value[i] > 0 && s.value[i + 1] > 0;
    result.exponent.value[i] = positive ? std::log(s.value[i + 1] / s.value[i]) / width : kNaN;
  }
  result.exponent.covariance = slope * log_covariance(s) * slope.transpose();
  for (Index i = 0; i < count; ++i) {
    if (std::isnan(result.exponent.value[i])) {
      result.exponent.covariance.row(i).setConstant(kNaN);
      result.exponent.covariance.col(i).setConstant(kNaN);
    }
  }
  return result;
}

PowerLaw fit_power_law(const Shifts& s) {
  PowerLaw law;
  law.amplitude = law.exponent = {kNaN, kNaN};
  law.covariance.setConstant(kNaN);
  law.chi2 = law.q = kNaN;
  const Index k = s.p.size();
  if (k == 0) return law;
  law.p_first = s.p[0];
  law.p_last = s.p[k - 1];
  law.dof = static_cast<int>(k) - 2;
  if (k < 2 || !(s.value.array() > 0).all()) return law;

  Eigen::MatrixXd design(k, 2);
  design.col(0).setOnes();
  design.col(1) = s.p.array().log();
  const LinearFit fit = fit_linear(design, s.value.array().log().matrix(), log_covariance(s));
  if (!fit.ok) return law;
  law.covariance = fit.covariance;
  law.exponent = fit.parameter(1);
  const double amplitude = std::exp(fit.parameters[0]);
  law.amplitude = {amplitude, amplitude * fit.parameter(0).error};
  static_cast<FitQuality&>(law) = fit;
  return law;
}

std::vector<PowerLaw> fit_power_law_ranges(const Shifts& s) {
  const Index k = s.p.size(), least = std::min<Index>(k, 3);
  std::vector<PowerLaw> laws;
  for (Index count = k; count >= least && count > 0; --count) {
    for (Index first = 0; first + count <= k; ++first) {
      laws.push_back(fit_power_law(part_of(s, first, count)));
    }
  }
  return laws;
}

}  // namespace rewise
