#include "analysis/scaling/crossing.hpp"

#include <algorithm>
#include <boost/math/interpolators/barycentric_rational.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <limits>

#include "src/base/all_cores.hpp"
#include "src/base/constants.hpp"
#include "src/base/error.hpp"

// The header of barycentric_rational in Boost 1.77 and newer.
namespace boost::math::interpolators {}

namespace rewise {
namespace {

using Eigen::Index;
using namespace boost::math;
using namespace boost::math::interpolators;
using Interpolant = barycentric_rational<double>;

constexpr std::size_t kOrder = 3;

Interpolant make_interpolant(const Eigen::ArrayXd& x, const Eigen::ArrayXd& y) {
  const auto n = static_cast<std::size_t>(x.size());
  if (n < kOrder + 1 || y.size() != x.size()) {
    throw Error(ExitCode::internal, "interpolation: at least 4 points needed");
  }
  return {x.data(), y.data(), n, kOrder};
}

double root_between(const std::function<double(double)>& f, double a, double b, double fa,
                    double fb) {
  if (fa == 0) return a;
  if (fb == 0) return b;
  std::uintmax_t most = 100;
  const auto bracket = boost::math::tools::toms748_solve(
      f, a, b, fa, fb, boost::math::tools::eps_tolerance<double>(46), most);
  return 0.5 * (bracket.first + bracket.second);
}

struct FallingRoots {
  std::vector<double> at;
  std::vector<double> separation;  // integral of f below the root minus that above it
};

// Returns the roots at which f changes from positive to zero or negative. `y` [node] contains the
// values of f at the ascending nodes.
FallingRoots falling_roots(const std::function<double(double)>& f, const Eigen::ArrayXd& nodes,
                           const Eigen::ArrayXd& y) {
  const Index n = nodes.size();
  Eigen::ArrayXd below = Eigen::ArrayXd::Zero(n);  // trapezoid from the first node
  for (Index i = 1; i < n; ++i) {
    below[i] = below[i - 1] + 0.5 * (y[i] + y[i - 1]) * (nodes[i] - nodes[i - 1]);
  }
  FallingRoots roots;
  for (Index i = 0; i + 1 < n; ++i) {
    if (!(y[i] > 0 && y[i + 1] <= 0)) continue;
    roots.at.push_back(root_between(f, nodes[i], nodes[i + 1], y[i], y[i + 1]));
    roots.separation.push_back(2 * below[i] - below[n - 1]);
  }
  return roots;
}

std::optional<double> choose(const FallingRoots& roots, std::optional<double> near) {
  if (roots.at.empty()) return {};
  std::size_t best = 0;
  for (std::size_t i = 1; i < roots.at.size(); ++i) {
    const bool better = near ? std::abs(roots.at[i] - *near) < std::abs(roots.at[best] - *near)
                             : roots.separation[i] > roots.separation[best];
    if (better) best = i;
  }
  return roots.at[best];
}

// Nodes of both curves where they overlap, its ends included.
Eigen::ArrayXd common_nodes(const Eigen::ArrayXd& a, const Eigen::ArrayXd& b) {
  const double low = std::max(a[0], b[0]), high = std::min(a[a.size() - 1], b[b.size() - 1]);
  std::vector<double> nodes;
  for (const Eigen::ArrayXd* x : {&a, &b}) {
    for (const double t : *x) {
      if (t >= low && t <= high) nodes.push_back(t);
    }
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return Eigen::Map<const Eigen::ArrayXd>(nodes.data(), static_cast<Index>(nodes.size()));
}

struct Point {
  double temperature = kNaN, height = kNaN;
};

struct Line {
  Line(const Eigen::ArrayXd& x, const Eigen::ArrayXd& y, const Eigen::ArrayXd& nodes)
      : at(make_interpolant(x, y)), at_nodes(nodes.unaryExpr(at)) {}
  Interpolant at;
  Eigen::ArrayXd at_nodes;
};

Point cross(const Line& small, const Line& large, const Eigen::ArrayXd& nodes,
            std::optional<double> near, int* count = nullptr) {
  const auto difference = [&](double t) { return large.at(t) - small.at(t); };
  const FallingRoots roots = falling_roots(difference, nodes, large.at_nodes - small.at_nodes);
  if (count != nullptr) *count = static_cast<int>(roots.at.size());
  const auto root = choose(roots, near);
  return root ? Point{*root, small.at(*root)} : Point{};
}

// Sets the crossings without one graph of `curve`: cross_without(graph), on all cores.
template <class F>
void leave_out_graphs(const JackknifeCurve& curve, const F& cross_without, Crossing& result) {
  constexpr std::size_t each = 4;  // nanoseconds per term of an interpolant
  const auto graphs = static_cast<std::size_t>(curve.left_out.rows());
  const auto points = static_cast<std::size_t>(curve.temperature.size());
  Eigen::ArrayXd temperatures(curve.left_out.rows()), heights(curve.left_out.rows());
  on_all_cores(graphs, graphs * points * points * each, [&](std::size_t graph) {
    const auto g = static_cast<Index>(graph);
    const Point point = cross_without(g);
    temperatures[g] = point.temperature;
    heights[g] = point.height;
  });
  if (temperatures.isNaN().any()) result.status = CrossingStatus::unstable;
  result.temperature.left_out[curve.sample] = temperatures;
  if (!result.with_limit()) result.height.left_out[curve.sample] = heights;
}

}  // namespace

std::string_view crossing_name(CrossingObservable observable) {
  constexpr std::string_view names[] = {"binder", "scaled_m2", "overlap_binder", "scaled_overlap",
                                        "cubic_overlap"};
  return names[observable];
}

std::string_view crossing_symbol(CrossingObservable observable) {
  constexpr std::string_view symbols[] = {"U", "N^x m^2", "U_q", "N^(2/3) q^2", "N^0.203 q^2"};
  return symbols[observable];
}

Crossing find_crossing(const JackknifeCurve& first, const JackknifeCurve& second,
                       CrossingObservable observable) {
  const bool in_order = first.sites <= second.sites;
  const JackknifeCurve& small = in_order ? first : second;
  const JackknifeCurve& large = in_order ? second : first;
  if (small.sample == large.sample) {
    throw Error(ExitCode::internal, "find_crossing: two sizes carry the same sample number");
  }
  Crossing result;
  result.smaller = small.sites;
  result.larger = large.sites;
  result.observable = observable;
  result.temperature.value = result.height.value = kNaN;
  const Eigen::ArrayXd nodes = common_nodes(small.temperature, large.temperature);
  if (nodes.size() < 2) return result;

  const Line small_full(small.temperature, small.value, nodes);
  const Line large_full(large.temperature, large.value, nodes);
  const Point full = cross(small_full, large_full, nodes, {}, &result.roots);
  if (std::isnan(full.temperature)) return result;

  result.status = CrossingStatus::found;
  result.temperature.value = full.temperature;
  result.height.value = full.height;
  for (const JackknifeCurve* curve : {&small, &large}) {
    const auto without = [&](Index g) {
      const Line left(curve->temperature, curve->left_out.row(g), nodes);
      return curve == &small ? cross(left, large_full, nodes, full.temperature)
                             : cross(small_full, left, nodes, full.temperature);
    };
    leave_out_graphs(*curve, without, result);
  }
  return result;
}

Crossing crossing_with_limit(const JackknifeCurve& curve, double limit,
                             CrossingObservable observable) {
  Crossing result;
  result.smaller = curve.sites;
  result.larger = std::numeric_limits<double>::infinity();
  result.observable = observable;
  result.height.value = limit;
  const Eigen::ArrayXd& at = curve.temperature;
  const auto root = falling_root(at, curve.value - limit, {}, &result.roots);
  result.temperature.value = root.value_or(kNaN);
  if (!root) return result;
  result.status = CrossingStatus::found;
  const auto without = [&](Index g) {
    const Eigen::ArrayXd left = curve.left_out.row(g).transpose() - limit;
    return Point{falling_root(at, left, *root).value_or(kNaN), limit};
  };
  leave_out_graphs(curve, without, result);
  return result;
}

std::vector<Crossing> consecutive_crossings(const std::vector<JackknifeCurve>& curves,
                                            CrossingObservable observable) {
  std::vector<const JackknifeCurve*> sorted;
  for (const JackknifeCurve& curve : curves) sorted.push_back(&curve);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->sites < b->sites; });
  std::vector<Crossing> result;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    result.push_back(find_crossing(*sorted[i], *sorted[i + 1], observable));
  }
  return result;
}

std::optional<double> falling_root(const Eigen::ArrayXd& x, const Eigen::ArrayXd& y,
                                   std::optional<double> near, int* roots) {
  const Interpolant curve = make_interpolant(x, y);
  const FallingRoots found =
      falling_roots([&](double t) { return curve(t); }, x, x.unaryExpr(curve));
  if (roots != nullptr) *roots = static_cast<int>(found.at.size());
  return choose(found, near);
}

double interpolate(const Eigen::ArrayXd& x, const Eigen::ArrayXd& y, double at) {
  return make_interpolant(x, y)(at);
}

}  // namespace rewise
