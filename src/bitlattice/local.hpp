// Local updates and measurement on the CPU, strip by strip; vectorised for the machine's
// instruction set at run time.
#pragma once

#include <cstdint>

#include "src/bitlattice/replica_rules.hpp"
#include "src/bitlattice/strip.hpp"

namespace rewise::bitlattice {

// Initialises a strip (strip_of) of one colour of a replica.
void start_strip(const Layout& layout, const ReplicaRules& rules, std::size_t replica, int colour,
                 Words words, std::uint32_t* spins);

// Updates a strip (strip_of) of one colour. Strips of a colour may be updated in any order or
// concurrently: each writes its own words and reads the other colour.
void update_strip(const Layout& layout, const Draws& draws, LocalUpdate rule, int colour,
                  Words words, std::uint32_t* spins);

// Returns the bonds between unequal spins that end at colour 0's sites of a strip (every bond ends
// at one site of colour 0), and the sites of both colours that point up.
struct Counts {
  std::uint64_t unequal = 0, up = 0;
};
Counts count_strip(const Layout& layout, Words words, std::uint32_t* spins);

}  // namespace rewise::bitlattice
