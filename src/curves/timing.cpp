#include "src/curves/timing.hpp"

#include <algorithm>

#include "analysis/series/decorrelation.hpp"

namespace rewise {

Timing timing_of(const std::vector<double>& repeats) {
  const auto [shortest, longest] = std::minmax_element(repeats.begin(), repeats.end());
  return {median_and_error(repeats), *shortest, *longest};
}

void add_timings(Curve& curve, const std::string& name, const Eigen::ArrayXXd& repeats) {
  std::vector<double> value, error, low, high;
  for (Eigen::Index i = 0; i < repeats.cols(); ++i) {
    const Eigen::ArrayXd column = repeats.col(i);
    const Timing timing = timing_of({column.begin(), column.end()});
    value.push_back(timing.median.value);
    error.push_back(timing.median.error);
    low.push_back(timing.shortest);
    high.push_back(timing.longest);
  }
  curve.add(name, value);
  curve.add(name + "_error", error);
  curve.add(name + "_low", low);
  curve.add(name + "_high", high);
}

}  // namespace rewise
