#include "src/single/plan.hpp"

#include <algorithm>

#include "src/model/ising.hpp"

namespace rewise::single {
namespace {

Tables make_tables(const EngineSpec& spec, double beta, int max_degree) {
  Tables tables;
  for (int sh = -max_degree; sh <= max_degree; ++sh) {
    tables.flip.push_back(threshold(spec.local == LocalUpdate::metropolis
                                        ? ising::metropolis_probability(beta, sh)
                                        : ising::glauber_probability(beta, sh)));
  }
  tables.bond = threshold(ising::bond_probability(beta));
  return tables;
}

}  // namespace

Plan::Plan(const Graph& g, const EngineSpec& spec)
    : graph(g),
      lattice(g.lattice()),
      sites(g.sites()),
      max_degree(g.max_degree()),
      bond_slots(BondSlots::make(g.lattice())),
      site_slots(SiteSlots::make(g.lattice())),
      slots(bond_slots.lattice_slots) {
  entry_slots.reserve(g.neighbour_bonds().size());
  for (const Bond bond : g.neighbour_bonds()) entry_slots.push_back(bond_slots.slot(bond));
  for (const RewiredBond& r : g.rewired_bonds()) {
    const std::uint64_t slot = bond_slots.slot(r.bond);
    rewired.push_back({slot, r.a, r.b});
    if (r.bond < bond_slots.lattice_bonds) gone.push_back(slot);
    slots = std::max(slots, slot + 1);
  }
  std::sort(gone.begin(), gone.end());
  for (const double beta : spec.betas) {
    tables.push_back(make_tables(spec, beta, static_cast<int>(max_degree)));
  }
}

}  // namespace rewise::single
