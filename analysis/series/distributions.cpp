#include "analysis/series/distributions.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <map>

namespace rewise {
double gamma_q(double a, double x) { return boost::math::gamma_q(a, x); }

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

double chi_square_q(double chi2, double dof) {
  if (std::isnan(chi2)) return std::numeric_limits<double>::quiet_NaN();
  if (dof <= 0 || chi2 <= 0) return 1;
  if (std::isinf(chi2)) return 0;
  return gamma_q(dof / 2, chi2 / 2);
}

double student_two_sided(double value, double dof) {
  if (!(dof > 0) || std::isnan(value)) return std::numeric_limits<double>::quiet_NaN();
  const boost::math::students_t_distribution<double> t(dof);
  return 2 * boost::math::cdf(boost::math::complement(t, std::abs(value)));
}

double student_one_sigma(double dof) {
  if (!(dof > 0)) return std::numeric_limits<double>::infinity();
  // Cached: slow to compute, and every fit of a jackknife needs the same few values.
  thread_local std::map<double, double> known;
  if (const auto found = known.find(dof); found != known.end()) return found->second;
  const boost::math::students_t_distribution<double> t(dof);
  const double width = boost::math::quantile(boost::math::complement(t, 1 - normal_cdf(1)));
  if (known.size() < 1000) known[dof] = width;
  return width;
}

}  // namespace rewise
