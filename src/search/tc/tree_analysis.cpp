#include "src/search/tc/tree_analysis.hpp"

#include <cmath>
#include <utility>

#include "analysis/scaling/regular_lattice.hpp"
#include "src/search/couplings.hpp"
#include "src/search/tc/tree_criterion.hpp"

namespace rewise {
namespace {

// Two values that differ by more than this many standard errors are inconsistent.
constexpr double kDiffer = 3;

// Theory for p -> 0: the shift is proportional to p^(1/exponent). Spin glass in four dimensions:
// only a logarithm.
double shift_exponent(int dim, bool glass) {
  const RegularLattice& lattice = regular_lattice(dim);
  return !glass ? lattice.gamma : dim == 4 ? 1 : lattice.squares_exponent;
}

// Combines two values with independent errors.
BestTc best_of(const std::optional<Value>& crossings, const std::optional<Value>& tree) {
  if (!crossings) return {{}, tree, tree ? "tree" : "", {}, {}};
  if (!tree) return {{}, crossings, "crossings", {}, {}};
  const Value a = *crossings, b = *tree;
  const double error = std::hypot(a.error, b.error), z = (b.value - a.value) / error;
  BestTc best;
  best.difference = {{b.value - a.value, error}, z, std::abs(z) <= kDiffer};
  if (std::abs(z) > kDiffer) return best;
  const double wa = 1 / (a.error * a.error), wb = 1 / (b.error * b.error);
  best.tc = {(wa * a.value + wb * b.value) / (wa + wb), 1 / std::sqrt(wa + wb)};
  best.method = "both";
  return best;
}

}  // namespace

TreeResult join_methods(const StudyConfig& config, const TcResult& crossings,
                        std::vector<TreePoint> points) {
  TreeResult result;
  result.orders = !config.model.is_ferromagnet();
  result.points = std::move(points);
  if (config.dim() > 1) result.tc0 = regular_lattice(config.dim()).tc();
  const bool glass = tree_orders(shortcut_couplings(config)).front() == TreeOrder::spin_glass;
  result.one_over_gamma = 1 / shift_exponent(config.dim(), glass);
  std::vector<double> p;
  std::vector<std::optional<Value>> tc;
  for (std::size_t k = 0; k < result.points.size(); ++k) {
    result.best.push_back(
        best_of(crossings.points[k].accepted_tc(), result.points[k].accepted_tc()));
    p.push_back(result.points[k].p);
    tc.push_back(result.best.back().tc);
  }
  if (!result.tc0) return result;
  PointShifts found = point_shifts(p, tc, *result.tc0);
  for (std::size_t k = 0; k < p.size(); ++k) {
    if (!found.by_point[k]) continue;
    const Value shift = *found.by_point[k];
    const double scale = std::pow(p[k], -result.one_over_gamma);
    result.best[k].shift = shift;
    result.best[k].amplitude = {shift.value * scale, shift.error * scale};
  }
  result.shift = std::move(found.shift);
  result.local = std::move(found.local);
  return result;
}

}  // namespace rewise
