// Exact integer sums over one replica.
#pragma once

#include <cstdint>
#include <span>

#include "src/bytespin/plan.hpp"

namespace rewise::bytespin {

// Ising: sum of s_i. Potts: q N_max - N.
std::int64_t magnetisation(const Plan& plan, std::span<const std::uint8_t> spins);
// Sums over all bonds. Ising: s_i s_j; Potts: 1 for equal states.
std::int64_t bond_sum(const Plan& plan, std::span<const std::uint8_t> spins);

// Computes the contribution of the sites [first, last), which must be whole rows, to sums that
// ranks add up. counts[0]: bonds between unequal spins, modulo 2^64; each bond is counted at one
// site: a lattice bond at the site from which it points forward, a rewired bond at RewiredBond::a.
// counts[1 + k]: sites in state k.
void count_rows(const Plan& plan, const std::uint8_t* spins, std::uint64_t first,
                std::uint64_t last, std::span<std::uint64_t> counts);

}  // namespace rewise::bytespin
