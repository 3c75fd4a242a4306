#include "src/curves/timing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rewise {
namespace {

double median_of(std::vector<double>& x) {
  std::sort(x.begin(), x.end());
  return 0.5 * (x[(x.size() - 1) / 2] + x[x.size() / 2]);
}

}  // namespace

// Factors for normal noise: 1.4826 from the median deviation to the standard deviation, 1.2533 from
// the error of a mean to that of a median.
Timing timing_of(std::vector<double> repeats) {
  const auto [least, most] = std::minmax_element(repeats.begin(), repeats.end());
  Timing timing{{0, std::numeric_limits<double>::quiet_NaN()}, *least, *most};
  timing.median.value = median_of(repeats);
  if (repeats.size() < 2) return timing;
  for (double& x : repeats) x = std::abs(x - timing.median.value);
  timing.median.error =
      1.4826 * 1.2533 * median_of(repeats) / std::sqrt(static_cast<double>(repeats.size()));
  return timing;
}

void add_timings(Curve& curve, const std::string& name, const Eigen::ArrayXXd& repeats) {
  std::vector<double> value, error, low, high;
  for (Eigen::Index i = 0; i < repeats.cols(); ++i) {
    const Eigen::ArrayXd column = repeats.col(i);
    const Timing timing = timing_of({column.begin(), column.end()});
    value.push_back(timing.median.value);
    error.push_back(timing.median.error);
    low.push_back(timing.least);
    high.push_back(timing.most);
  }
  curve.add(name, value);
  curve.add(name + "_error", error);
  curve.add(name + "_low", low);
  curve.add(name + "_high", high);
}

}  // namespace rewise
