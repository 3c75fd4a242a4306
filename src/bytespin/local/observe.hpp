// Exact integer counts of one replica.
#pragma once

#include <cstdint>
#include <span>

#include "src/bytespin/graph_tables.hpp"

namespace rewise::bytespin {

// Adds the contribution of the sites [first, last), which must be whole rows, to [1 + states] sums.
// counts[0]: bonds between unequal spins, modulo 2^64; each bond is counted at one site: a lattice
// bond at the site from which it points forward, a rewired bond at RewiredBond::a. counts[1 + k]:
// sites in state k.
void count_spins(const GraphTables& tables, const std::uint8_t* spins, std::uint64_t first,
                 std::uint64_t last, std::span<std::uint64_t> counts);
// Of the counts of all sites, the one that gives the magnetisation (SumUnits): Ising: spins that
// point up; Potts: sites in the most frequent state.
std::uint64_t largest_count(const GraphTables& tables, std::span<const std::uint64_t> counts);

}  // namespace rewise::bytespin
