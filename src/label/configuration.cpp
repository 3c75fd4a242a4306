#include "src/label/configuration.hpp"

#include <algorithm>

namespace rewise {

void remove_bonds_of_absent_sites(BondConfiguration& c) {
  if (c.present_sites.empty()) return;
  BondConfiguration kept(c.lattice, c.sites);
  for_each_lattice_bond(c, [&](Site a, Site b, int k) {
    if (c.present(a) && c.present(b)) kept.occupy(a, k);
  });
  c.bonds = std::move(kept.bonds);
  std::erase_if(c.extra,
                [&](const SitePair& bond) { return !c.present(bond.a) || !c.present(bond.b); });
}

}  // namespace rewise
