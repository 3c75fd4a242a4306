#include "experiments/tc_window.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/crossing.hpp"
#include "experiments/tc_plan.hpp"
#include "experiments/tc_search.hpp"

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

}  // namespace

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
  if (count[1] == 0) return {blind_shift(small, large, centre, half_width), false};
  const int kind = count[0] > 0 ? 0 : 1;
  const double shift = sum[kind] / count[kind] - centre;
  return {shift, std::abs(shift) <= kInside * half_width};
}

}  // namespace rewise
