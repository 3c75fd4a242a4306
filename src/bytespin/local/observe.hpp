// Sums over one system: exact integers.
#pragma once

#include <cstdint>
#include <span>

#include "src/bytespin/plan.hpp"

namespace rewise::bytespin {

// Ising: sum of s_i. Potts: q N_max - N.
std::int64_t magnetisation(const Plan& plan, std::span<const std::uint8_t> spins);
// Over all bonds, Ising: sum of s_i s_j. Potts: bonds between equal states.
std::int64_t bond_sum(const Plan& plan, std::span<const std::uint8_t> spins);

// What sites [first, last), whole rows of a lattice, add to the sums over the ranks that share it:
// bonds between unequal spins (modulo 2^64), and from counts[1] on the sites in every state. Bonds
// of the lattice are those to the next site in a direction, rewired ones those of their end a.
void count_rows(const Plan& plan, const std::uint8_t* spins, std::uint64_t first,
                std::uint64_t last, std::span<std::uint64_t> counts);

}  // namespace rewise::bytespin
