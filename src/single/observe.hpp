// Sums over one system: exact integers.
#pragma once

#include <cstdint>
#include <span>

#include "src/single/plan.hpp"

namespace rewise::single {

std::int64_t magnetisation(std::span<const std::uint8_t> spins);
// Sum of s_i s_j over all bonds.
std::int64_t bond_sum(const Plan& plan, std::span<const std::uint8_t> spins);

}  // namespace rewise::single
