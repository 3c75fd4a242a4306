#include "src/bytespin/interactions/interaction_tables.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "src/base/error.hpp"
#include "src/base/setting_name.hpp"
#include "src/base/stop.hpp"
#include "src/engine/couplings.hpp"

namespace rewise::bytespin {

void check_interaction_updates(const EngineSpec& spec, const UpdateMethods& methods) {
  if (spec.cluster == ClusterUpdate::few_cluster) {
    throw Error(ExitCode::usage,
                "few-cluster updates support the ferromagnet without a field only (wolff and "
                "swendsen-wang support couplings and fields)");
  }
  if (methods.wolff != WolffMethod::automatic || methods.label != LabelMethod::fast) {
    throw Error(ExitCode::usage,
                setting_name("wolff_method") + " and " + setting_name("label_method") +
                    " apply to the ferromagnet without a field only (remove them)");
  }
}

InteractionTables::InteractionTables(const GraphTables& tables, const EngineSpec& spec,
                                     const UpdateMethods& methods)
    : coupling(tables.bond_draws),
      temperatures(spec.betas.size()),
      replicas(spec.replicas),
      exchange(spec),
      whole_energies_(spec.model.interactions.energy_unit() == 1) {
  check_interaction_updates(spec, methods);
  const Graph& graph = tables.graph;
  const Couplings couplings(spec.model, graph);
  StopCheck check;
  // A flip changes the energy by at most twice the sum; Boltzmann::factor() supports up to 2^40.
  constexpr std::int64_t kMaxEnergy = std::int64_t{1} << 39;
  for (std::uint64_t s = 0; s < tables.sites; ++s) {
    check();
    const auto site = static_cast<Site>(s);
    std::int64_t sum = 0;
    graph.for_each_neighbour(site, [&](Site, Bond bond) {
      const std::int32_t j = couplings.coupling(bond);
      coupling[tables.bond_draw_index.at(bond)] = j;
      sum += std::abs(std::int64_t{j});
      if (j < 0) has_negative_ = true;
    });
    if (couplings.has_field()) {
      field.push_back(couplings.field(site));
      sum += std::abs(std::int64_t{field.back()});
    }
    if (sum >= kMaxEnergy) {
      throw Error(ExitCode::usage,
                  fmt::format("the sum of |J| and |h| at site {} is {}: out of range (below {})",
                              site, static_cast<double>(sum) * kFixedUnit,
                              static_cast<double>(kMaxEnergy) * kFixedUnit));
    }
  }
  if (spec.staggered) sublattice = graph.sublattices();
  for (const double beta : spec.betas) boltzmann.emplace_back(beta);
  first_of_colour.push_back(0);
  for (int colour = 0; colour < graph.colours(); ++colour) {
    for (std::uint64_t site = 0; site < tables.sites; ++site) {
      if (graph.colour(static_cast<Site>(site)) == colour) {
        sites_by_colour.push_back(static_cast<Site>(site));
      }
    }
    first_of_colour.push_back(sites_by_colour.size());
  }
  rules = {tables.view(),           coupling.data(),        field.empty() ? nullptr : field.data(),
           boltzmann.data(),        sites_by_colour.data(), spec.local,
           exchange.rules().data(), sublattice.data()};
}

void InteractionTables::check_schedule(const Schedule& schedule) const {
  if (schedule.cluster == 0 || !rules.graph.potts || !has_negative_) return;
  throw Error(ExitCode::usage,
              "cluster updates of Potts spins require couplings J >= 0 (schedule 1:0 supports any "
              "couplings)");
}

void InteractionTables::complete(Observation& out) {
  for (std::int64_t& sum : out.bond_sum) {
    if (whole_energies_) sum /= kFixedOne;
  }
  exchange.move_counts(out);
}

}  // namespace rewise::bytespin
