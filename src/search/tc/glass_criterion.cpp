#include "src/search/tc/glass_criterion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/scaling/regular_lattice.hpp"

namespace rewise {
namespace {

constexpr double kMeanField = 1.0 / 3;

ScalingExponents glass_exponents(double p) {
  if (p > 0) return {kMeanField, kMeanField};
  const RegularLattice& cubic = regular_lattice(3);
  return {1 / (cubic.glass_nu * 3), cubic.glass_omega / 3};
}

// The step for a point without a result: twice as many graphs if that may give a result.
GrowthStep more_graphs(const StudyConfig& config, const GlassTc& glass,
                       const std::vector<SizeData>& sizes) {
  GrowthStep step;
  bool more = false;
  for (const SizeData& size : sizes) {
    const auto now = static_cast<double>(size.samples.graphs.size());
    step.members.push_back(
        std::max(now, std::min(2 * now, static_cast<double>(config.most_graphs))));
    step.measurements.push_back(static_cast<double>(size.plan.measure));
    more = more || step.members.back() > now;
  }
  step.work_left = 1;
  if (!glass.few_graphs) {
    step.stopped = glass.reasons.front();
  } else if (!more) {
    step.stopped = fmt::format("lattice.most_graphs = {} is reached", config.most_graphs);
  }
  return step;
}

}  // namespace

std::string why_no_glass_crossings(const StudyConfig& config) {
  if (config.model.kind != ModelKind::ising) return "crossings of overlaps require Ising spins";
  const Interactions& interactions = config.model.interactions;
  const bool one_sign =
      interactions.couplings == CouplingKind::ferromagnet && interactions.shortcut_strength > 0;
  if (interactions.has_field()) {
    return one_sign ? "a field removes the transition of a ferromagnet (sweep gives averages)"
                    : "with a field, overlaps do not vanish above T_SG";
  }
  if (one_sign) return "all bonds have J > 0";
  // If the mean of J is above 0, the spins may order above T_SG, with other exponents.
  if (overlap_crossings_of(config) != OverlapCrossings::glass) {
    return "crossings of overlaps require couplings of mean 0 (of all bonds, or of the "
           "shortcuts), so that the spins freeze without magnetic order; for other couplings of "
           "both signs, sweep prints the crossings";
  }
  const bool lattice_varies =
      !interactions.on_shortcuts && interactions.couplings != CouplingKind::antiferromagnet;
  for (const double p : config.p) {
    if (p > 0) continue;
    if (!lattice_varies) return "p = 0 is the ferromagnet of the lattice, which has no spin glass";
    if (config.dim() < 3) return "p = 0 has no transition above T = 0 in one and two dimensions";
    if (config.dim() > 3 || interactions.couplings != CouplingKind::plus_minus) {
      return "at p = 0 the program has exponents for couplings = \"pm\" in three dimensions only; "
             "sweep prints the crossings";
    }
  }
  return "";
}

GlassTc locate_glass(double p, const std::vector<SizeData>& sizes,
                     const std::vector<Crossing>& crossings) {
  GlassTc glass;
  glass.tc = extrapolate_temperature(crossings, glass_exponents(p));
  const auto against = [&](std::string why) { glass.reasons.push_back(std::move(why)); };
  if (std::string few = too_few_graphs(sizes); !few.empty()) against(std::move(few));
  glass.few_graphs = std::ranges::any_of(crossings, [](const Crossing& crossing) {
    return crossing.status == CrossingStatus::unstable;
  });
  const Crossing* last = nullptr;  // of U_q of the two largest sizes
  for (const Crossing& crossing : crossings) {
    if (crossing.observable == kOverlapBinder) last = &crossing;
  }
  if (last == nullptr || last->status != CrossingStatus::found) {
    const bool unstable = last != nullptr && last->status == CrossingStatus::unstable;
    against(fmt::format(
        "U_q of the two largest sizes {}",
        unstable ? "does not cross in every jackknife sample: more graphs are needed"
                 : "does not cross within the temperatures that are in equilibrium: give other "
                   "temperatures, or a longer equilibration"));
  }
  if (!glass.tc.ok || glass.tc.fits[glass.tc.chosen].fit.dof == 0) {
    against(
        fmt::format("the stable crossings of {} sizes do not determine how they move with size: "
                    "add {}",
                    sizes.size(), glass.few_graphs ? "graphs, or a size" : "a size"));
  } else if (!std::isfinite(glass.tc.total().error)) {
    against("the graphs are too few for an error of the extrapolation");
    glass.few_graphs = true;
  }
  return glass;
}

GrowthStep next_glass_step(const StudyConfig& config, const GlassTc& glass,
                           const std::vector<SizeData>& sizes,
                           const std::vector<Crossing>& crossings) {
  if (!glass.reasons.empty()) return more_graphs(config, glass, sizes);
  std::vector<Jackknifed> used;
  for (const auto i : glass.tc.fits[glass.tc.chosen].used) {
    used.push_back(crossings[i].temperature);
  }
  std::vector<ErrorSource> sources;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    sources.push_back(error_source(config, sizes[k]));
    sources.back().covariance = covariance_within(static_cast<int>(k), used);
    // Overlaps differ from graph to graph by more than their thermal noise.
    sources.back().thermal = 0;
  }
  return growth_step(config, glass.tc, sources, false);
}

}  // namespace rewise
