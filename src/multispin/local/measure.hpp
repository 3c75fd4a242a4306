// Exact counts per replica of unsatisfied bonds (J s s' < 0) and of up spins, by bit-sliced
// counters on vectors of words. A lattice bond is counted at its colour-0 end as if no bond were
// rewired; the caller subtracts the removed bonds and adds the rewired ones. Cost: about a fifth of
// a Metropolis sweep.
#pragma once

#include <array>
#include <cstdint>

#include "src/multispin/layout.hpp"
#include "src/multispin/rules.hpp"

namespace rewise::multispin {

using ReplicaSums = std::array<std::uint64_t, kReplicas>;

// Adds, per replica, the number of set bits in words[first .. last).
void count_bits(const std::uint32_t* words, std::uint64_t first, std::uint64_t last,
                ReplicaSums& sums);

// Adds, per replica, the number of unsatisfied lattice bonds (as if none were rewired) that start
// in rows [first, last) of colour 0. If not `with_signs`, all couplings count as 1.
void count_unsatisfied_lattice(const Layout& layout, const std::uint32_t* spins, bool with_signs,
                               std::uint32_t first, std::uint32_t last, ReplicaSums& sums);

// Adds, per replica, the number of unsatisfied bonds of a list; `with_signs` as above.
void count_unsatisfied_list(const BondList& list, const std::uint32_t* spins, bool with_signs,
                            ReplicaSums& sums);

}  // namespace rewise::multispin
