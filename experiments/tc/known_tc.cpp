#include "experiments/tc/known_tc.hpp"

#include <array>
#include <cmath>

#include "experiments/tc/tc_plan.hpp"

namespace rewise {

std::optional<double> near_tc(int dim, double p) {
  if (dim != 2 && dim != 3) return std::nullopt;
  const double regular = dim == 2 ? 2.269185314213022 : 4.5115232;
  if (p == 0) return regular;
  struct Point {
    double p, tc2, tc3;
  };
  // p = 1e-3 (2D), 0.01 and 0.1: measured, README. The last: tanh(1/T) <k(k-1)>/<k> = 1 with the
  // degrees of p = 1.
  constexpr std::array<Point, 7> known{{{1e-4, 2.2826, 4.5141},
                                        {1e-3, 2.3176, 4.5266},
                                        {3e-3, 2.3568, 4.5454},
                                        {1e-2, 2.4343, 4.5916},
                                        {3e-2, 2.5561, 4.6780},
                                        {0.1, 2.7848, 4.8655},
                                        {1, 3.6594, 5.6916}}};
  const auto shift = [&](const Point& point) {
    return (dim == 2 ? point.tc2 : point.tc3) - regular;
  };
  const auto rounded = [](double tc) { return std::round(1e4 * tc) / 1e4; };
  // Straight in a log-log plot; below the first point its theoretical power of p.
  if (p < known.front().p) {
    const double power = dim == 2 ? 4.0 / 7 : 1 / 1.2372;
    return rounded(regular + shift(known.front()) * std::pow(p / known.front().p, power));
  }
  std::size_t k = 1;
  while (k + 1 < known.size() && known[k].p < p) ++k;
  const double part = std::log(p / known[k - 1].p) / std::log(known[k].p / known[k - 1].p);
  return rounded(regular + std::exp((1 - part) * std::log(shift(known[k - 1])) +
                                    part * std::log(shift(known[k]))));
}

std::optional<double> near_potts_tc(int dim, double p, std::uint32_t q) {
  const auto regular = potts_tc(dim, 0, q), here = near_tc(dim, p);
  if (!regular || !here) return std::nullopt;
  return p == 0 ? *regular : std::round(1e4 * *regular * *here / *near_tc(dim, 0)) / 1e4;
}

}  // namespace rewise
