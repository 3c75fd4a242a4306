// Sums over one system: exact integers.
#pragma once

#include <cstdint>
#include <span>

#include "src/single/plan.hpp"

namespace rewise::single {

// Ising: sum of s_i. Potts: q N_max - N.
std::int64_t magnetisation(const Plan& plan, std::span<const std::uint8_t> spins);
// Over all bonds, Ising: sum of s_i s_j. Potts: bonds between equal states.
std::int64_t bond_sum(const Plan& plan, std::span<const std::uint8_t> spins);

}  // namespace rewise::single
