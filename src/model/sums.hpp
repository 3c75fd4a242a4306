// Conversion of counts to the integer sums of a measurement (engine.hpp, Observation), on hosts and
// devices, and of the sums to energy and order parameter per site.
#pragma once

#include <cstdint>

#include "src/base/hd.hpp"

namespace rewise {

// Converts two counts: the bonds between unequal spins (modulo 2^64), and the spins up or, for
// Potts, the sites in the most frequent state. `unit`: the energy of a bond of J = 1, and `field`:
// the field h of all sites, both in units of SampleUnits::energy.
struct SumUnits {
  std::int64_t bonds, sites, states, bond_energy;
  std::int64_t unit = 1, field = 0;
  RW_HD std::int64_t bond_sum(unsigned long long unequal) const {
    return bonds - bond_energy * static_cast<std::int64_t>(unequal);
  }
  RW_HD std::int64_t magnetisation(unsigned long long most) const {
    return states * static_cast<std::int64_t>(most) - sites;
  }
  // Minus the energy, for couplings of 1 and -1 and the same field at all sites.
  RW_HD std::int64_t energy_sum(unsigned long long unequal, unsigned long long up) const {
    return unit * bond_sum(unequal) + field * magnetisation(up);
  }
};

// Number of sites, the largest possible magnetisation sum, and the energy of one unit of the bond
// sum.
struct SampleUnits {
  SampleUnits(double n)
      : sites(n), max_magnetisation(n) {}  // NOLINT: a number of sites is enough for Ising
  SampleUnits(double n, double most, double unit = 1)
      : sites(n), max_magnetisation(most), energy(unit) {}
  double sites, max_magnetisation, energy = 1;

  // Energy and order parameter per site, of one measurement or of arrays of them.
  //   e = -energy x bond sum / N,  m = M / N (Potts: M = q N_max - N, m = M / (N (q - 1)))
  template <class Bonds, class Magnetisations, class Real>
  void per_site(const Bonds& bond_sum, const Magnetisations& magnetisation, Real& e,
                Real& m) const {
    e = bond_sum / (-sites / energy);
    m = magnetisation / max_magnetisation;
  }
};

}  // namespace rewise
