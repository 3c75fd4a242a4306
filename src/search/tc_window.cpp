#include "src/search/tc_window.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/scaling/crossing.hpp"
#include "analysis/scaling/extrapolation.hpp"
#include "src/search/tc_plan.hpp"
#include "src/search/tc_search.hpp"

namespace rewise {
namespace {

JackknifeCurve pilot_curve(int sample, const SizeSamples& samples, int observable) {
  SizeSamples first = samples;
  first.graphs.resize(std::min<std::size_t>(samples.graphs.size(), kPilotGraphs));
  return observable_curve(sample, first, observable);
}

// Without a crossing in sight: towards where it must be.
double blind_shift(const SizeSamples& small, const SizeSamples& large, double centre,
                   double half_width) {
  const JackknifeCurve a = pilot_curve(0, small, 0), b = pilot_curve(1, large, 0);
  const double low = std::max(a.temperature(0), b.temperature(0));
  const double high =
      std::min(a.temperature(a.temperature.size() - 1), b.temperature(b.temperature.size() - 1));
  if (low >= high) {  // the windows do not even touch
    return 0.5 * (a.temperature(0) + a.temperature(a.temperature.size() - 1)) - centre;
  }
  const double middle = 0.5 * (low + high);
  const double difference =
      interpolate(b.temperature, b.value, middle) - interpolate(a.temperature, a.value, middle);
  return (difference > 0 ? 1.2 : -1.2) * half_width;
}

// Where an observable that is not seen to cross may do so: +1 above the window, -1 below.
double side_of_crossing(const SizeSamples& small, const SizeSamples& large, int observable) {
  const JackknifeCurve a = pilot_curve(0, small, observable), b = pilot_curve(1, large, observable);
  const double low = std::max(a.temperature(0), b.temperature(0));
  const double high =
      std::min(a.temperature(a.temperature.size() - 1), b.temperature(b.temperature.size() - 1));
  if (low >= high) return 0;
  const double middle = 0.5 * (low + high);  // the ends are the noisiest
  return interpolate(b.temperature, b.value, middle) > interpolate(a.temperature, a.value, middle)
             ? 1
             : -1;
}

// Where U of a size has its mean-field limit; beyond the window by a straight line from its end.
double limit_of_binder(const SizeSamples& samples) {
  const JackknifeCurve curve = pilot_curve(0, samples, 0);
  const Crossing found = crossing_with_limit(curve, mean_field_binder());
  if (found.status != CrossingStatus::none) return found.temperature.value;
  const Eigen::Index last = curve.temperature.size() - 1, before = last * 3 / 4;
  const double slope = (curve.value(last) - curve.value(before)) /
                       (curve.temperature(last) - curve.temperature(before));
  return curve.temperature(last) - (curve.value(last) - mean_field_binder()) / slope;
}

}  // namespace

WindowShift wanted_shift_of_both(const SizeSamples& small, const SizeSamples& large, double centre,
                                 double half_width, double most_half_width) {
  Crossing crossings[2];
  for (const int o : {0, 1}) {
    crossings[o] = find_crossing(pilot_curve(0, small, o), pilot_curve(1, large, o), o);
  }
  const auto seen = [&](int o) { return crossings[o].status != CrossingStatus::none; };
  if (!seen(0) && !seen(1)) return {blind_shift(small, large, centre, half_width), false, false};
  if (!seen(0) || !seen(1)) {
    const int known = seen(0) ? 0 : 1;
    const double at = crossings[known].temperature.value - centre;
    const double side = side_of_crossing(small, large, 1 - known);
    return {at + 0.5 * side * half_width, false, true};
  }
  constexpr double inside = 0.75;
  const double u = crossings[0].temperature.value, m2 = crossings[1].temperature.value;
  double low = std::min(u, m2), high = std::max(u, m2);
  const double limit = most_half_width > 0 ? limit_of_binder(large) : high;
  if (limit > high && 0.5 * (limit - low) <= inside * most_half_width) high = limit;
  const double shift = 0.5 * (low + high) - centre, reach = 0.5 * (high - low);
  return {shift, std::abs(shift) + reach <= inside * half_width, reach > 0.5 * half_width};
}

WindowShift wanted_shift(double p, const SizeSamples& small, const SizeSamples& large,
                         double centre, double half_width) {
  double sum[2] = {0, 0};  // of stable crossings, of all
  int count[2] = {0, 0};
  for (int observable = 0; observable < (p > 0 ? 2 : 1); ++observable) {
    const Crossing crossing = find_crossing(pilot_curve(0, small, observable),
                                            pilot_curve(1, large, observable), observable);
    if (crossing.status == CrossingStatus::none) continue;
    for (const int kind : {0, 1}) {
      if (kind == 0 && crossing.status != CrossingStatus::found) continue;
      sum[kind] += crossing.temperature.value;
      ++count[kind];
    }
  }
  if (count[1] == 0) return {blind_shift(small, large, centre, half_width), false, false};
  const int kind = count[0] > 0 ? 0 : 1;
  const double shift = sum[kind] / count[kind] - centre;
  return {shift, std::abs(shift) <= kInside * half_width, false};
}

}  // namespace rewise
