#include "src/curves/timing.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/constants.hpp"

namespace rewise {

// Factors for normal noise: 1.4826 from the median deviation to the standard deviation, 1.2533 from
// the error of a mean to that of a median.
Timing timing_of(std::vector<double> repeats) {
  const auto [least, most] = std::minmax_element(repeats.begin(), repeats.end());
  Timing timing{{0, kNaN}, *least, *most};
  timing.median.value = median(repeats);
  if (repeats.size() < 2) return timing;
  for (double& x : repeats) x = std::abs(x - timing.median.value);
  timing.median.error =
      1.4826 * 1.2533 * median(repeats) / std::sqrt(static_cast<double>(repeats.size()));
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
