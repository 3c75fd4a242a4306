#include "src/search/sweep/overlap_crossings.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/scaling/regular_lattice.hpp"
#include "src/search/couplings.hpp"

namespace rewise {
namespace {

// Curve of an overlap observable at the temperatures that have values.
JackknifeCurve overlap_curve(int sample, const SizeData& size, const SizeCurves& curves,
                             const OverlapObservable& observable) {
  const auto& graphs = size.samples.graphs;
  std::vector<Eigen::Index> at;
  for (std::size_t t = 0; t < curves.temperatures.size(); ++t) {
    if (std::isfinite(curves.at(observable.name, t).value))
      at.push_back(static_cast<Eigen::Index>(t));
  }
  const auto count = static_cast<Eigen::Index>(at.size());
  const auto members = static_cast<Eigen::Index>(graphs.size());
  JackknifeCurve curve;
  curve.sample = sample;
  curve.sites = size.samples.sites;
  curve.temperature.resize(count);
  curve.value.resize(count);
  curve.left_out.resize(members, count);
  for (Eigen::Index k = 0; k < count; ++k) {
    const Eigen::Index t = at[static_cast<std::size_t>(k)];
    curve.temperature[k] = curves.temperatures[static_cast<std::size_t>(t)];
    OverlapMoments sum = OverlapMoments::Zero();
    for (const GraphSample& graph : graphs) sum += graph.overlaps.row(t).transpose();
    const auto all = static_cast<double>(members);
    curve.value[k] = observable.value(sum / all, curve.sites);
    for (Eigen::Index g = 0; g < members; ++g) {
      const OverlapMoments own = graphs[static_cast<std::size_t>(g)].overlaps.row(t).transpose();
      curve.left_out(g, k) = observable.value((sum - own) / (all - 1), curve.sites);
    }
  }
  return curve;
}

// Whether the crossing lies within the simulated temperatures with an error well below their range,
// and the observable is above zero there (far above the transition all curves meet at zero).
bool is_known(const Crossing& crossing, const std::vector<JackknifeCurve>& curves) {
  const Value t = estimate(crossing.temperature), height = estimate(crossing.height);
  if (!(height.value > 3 * height.error)) return false;
  for (const JackknifeCurve& curve : curves) {
    if (curve.sites != crossing.smaller && curve.sites != crossing.larger) continue;
    const double low = curve.temperature[0], high = curve.temperature[curve.temperature.size() - 1];
    if (!(t.value >= low && t.value <= high && t.error < (high - low) / 6)) return false;
  }
  return true;
}

}  // namespace

OverlapCrossings overlap_crossings_of(const StudyConfig& config) {
  if (config.model.kind != ModelKind::ising || config.model.interactions.has_field() ||
      !is_frustrated(config)) {
    return OverlapCrossings::none;
  }
  const ShortcutCouplings shortcuts = shortcut_couplings(config);
  const bool mean_zero = shortcuts.gaussian || shortcuts.negative == 0.5;
  return mean_zero ? OverlapCrossings::glass : OverlapCrossings::any_order;
}

std::vector<Crossing> overlap_crossings(double p, const std::vector<SizeData>& sizes,
                                        const std::vector<SizeAverages>& averages) {
  constexpr Eigen::Index least = 4;  // minimum number of temperatures for an interpolation
  const bool cubic = p == 0 && !sizes.empty() && sizes.front().extents.size() == 3;
  std::vector<CrossingObservable> observables{kOverlapBinder};
  if (p > 0 || cubic) observables.push_back(p > 0 ? kScaledOverlap : kCubicOverlap);
  std::vector<Crossing> all;
  for (const CrossingObservable observable : observables) {
    const std::string_view name =
        crossing_name(observable == kCubicOverlap ? kScaledOverlap : observable);
    const auto measured = std::ranges::find(overlap_observables(), name, &OverlapObservable::name);
    std::vector<JackknifeCurve> size_curves;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const SizeCurves& curves = averages[k].curves;
      if (!curves.has(name) || sizes[k].samples.graphs.size() < 2) return {};
      JackknifeCurve curve = overlap_curve(static_cast<int>(k), sizes[k], curves, *measured);
      if (curve.temperature.size() < least) return {};
      if (observable == kCubicOverlap) {
        const double factor =
            std::pow(curve.sites, (1 + regular_lattice(3).glass_eta) / 3 - 2.0 / 3);
        curve.value *= factor;
        curve.left_out *= factor;
      }
      size_curves.push_back(std::move(curve));
    }
    for (Crossing crossing : consecutive_crossings(size_curves, observable)) {
      if (crossing.status == CrossingStatus::found && !is_known(crossing, size_curves)) {
        crossing.status = CrossingStatus::unstable;
      }
      all.push_back(std::move(crossing));
    }
  }
  return all;
}

}  // namespace rewise
