// How counts become the sums of a measurement (engine.hpp, Observation), on hosts and devices.
#pragma once

#include <cstdint>

#include "src/base/hd.hpp"

namespace rewise {

// Counts: bonds between unequal spins (modulo 2^64); spins up, or of Potts the sites in the most
// frequent state.
struct SumUnits {
  std::int64_t bonds, sites, states, bond_energy;
  RW_HD std::int64_t bond_sum(unsigned long long unequal) const {
    return bonds - bond_energy * static_cast<std::int64_t>(unequal);
  }
  RW_HD std::int64_t magnetisation(unsigned long long most) const {
    return states * static_cast<std::int64_t>(most) - sites;
  }
};

}  // namespace rewise
