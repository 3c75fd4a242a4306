#include "analysis/series/statistics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "analysis/series/distributions.hpp"
#include "src/base/constants.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

// The power of ten of the last digit that is shown for this error.
int last_digit_exponent(double error) {
  int exponent = static_cast<int>(std::floor(std::log10(error)));
  if (std::round(error / std::pow(10.0, exponent - 1)) >= 100) ++exponent;  // 0.0999 is 0.10
  const double two_digits = std::round(error / std::pow(10.0, exponent - 1));
  return two_digits < 20 ? exponent - 1 : exponent;
}

// value and error rounded at 10^last, both without an exponent.
std::string format_fixed(double value, double error, int last) {
  if (std::abs(value) < 0.5 * std::pow(10.0, last)) value = 0;  // and not "-0"
  if (last >= 0) {
    const double unit = std::pow(10.0, last);
    return fmt::format("{:.0f}({:.0f})", std::round(value / unit) * unit,
                       std::round(error / unit) * unit);
  }
  const int decimals = -last;
  const double units = std::round(error * std::pow(10.0, decimals));
  const bool over_the_point = units >= std::pow(10.0, decimals);
  return over_the_point ? fmt::format("{:.{}f}({:.{}f})", value, decimals, error, decimals)
                        : fmt::format("{:.{}f}({:.0f})", value, decimals, units);
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

Agreement judge(Value difference, double p_value, double level) {
  Agreement result;
  result.difference = difference;
  result.z = difference.value == 0 ? 0 : difference.value / difference.error;
  result.p_value = p_value;
  result.agree = p_value >= level;
  return result;
}

}  // namespace

std::string format_value(Value v) {
  if (!std::isfinite(v.value)) return std::isnan(v.value) ? "nan" : v.value > 0 ? "inf" : "-inf";
  if (!std::isfinite(v.error) || v.error < 0) return fmt::format("{:.6g}(nan)", v.value);
  if (v.error == 0) return fmt::format("{:.12g}(0)", v.value);

  const int last = last_digit_exponent(v.error);
  // The decision uses the rounded value: 0.0009996(3), and 9.97e-5 +- 3e-5, which is printed as
  // 1.0e-4.
  const double units = std::max(std::round(std::abs(v.value) / std::pow(10.0, last)), 1.0);
  const int leading = last + static_cast<int>(std::floor(std::log10(units)));
  if (leading >= -3 && leading < 6 && last < 6) return format_fixed(v.value, v.error, last);

  const int exponent = leading;
  const double scale = std::pow(10.0, exponent);
  return fmt::format("{}e{}", format_fixed(v.value / scale, v.error / scale, last - exponent),
                     exponent);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

Value mean_and_error(std::span<const double> values) {
  if (values.empty()) return {kNaN, kNaN};
  const double n = static_cast<double>(values.size());
  const double mean = mean_of(values);
  if (values.size() < 2) return {mean, kNaN};
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return {mean, std::sqrt(sum / (n * (n - 1)))};
}

Agreement compare_groups(std::span<const double> first, std::span<const double> second,
                         double level) {
  const Value a = mean_and_error(first), b = mean_and_error(second);
  const Value difference{b.value - a.value, std::hypot(a.error, b.error)};
  if (difference.error == 0) return judge(difference, difference.value == 0 ? 1 : 0, level);
  const double va = a.error * a.error, vb = b.error * b.error;
  const double dof = (va + vb) * (va + vb) /
                     (va * va / (static_cast<double>(first.size()) - 1) +
                      vb * vb / (static_cast<double>(second.size()) - 1));
  return judge(difference, student_two_sided(difference.value / difference.error, dof), level);
}

Agreement compare_to_zero(std::span<const double> differences, double level) {
  const Value mean = mean_and_error(differences);
  if (mean.error == 0) return judge(mean, mean.value == 0 ? 1 : 0, level);
  const double dof = static_cast<double>(differences.size()) - 1;
  return judge(mean, student_two_sided(mean.value / mean.error, dof), level);
}

Agreement compare_hot_cold(std::span<const double> replica_means, std::span<const char> cold,
                           double level) {
  if (replica_means.size() != cold.size()) {
    throw Error(ExitCode::internal, "compare_hot_cold: one mark per replica is needed");
  }
  std::vector<double> hot_means, cold_means;
  for (std::size_t r = 0; r < cold.size(); ++r) {
    (cold[r] ? cold_means : hot_means).push_back(replica_means[r]);
  }
  return compare_groups(hot_means, cold_means, level);
}

}  // namespace rewise
