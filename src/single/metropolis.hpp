// Metropolis and Glauber sweeps, colour by colour (Hawick, Leist & Playne 2010, section 3): a site
// flips when its draw is below the threshold of its field. Sites of one colour share no bond, so
// their order does not matter. The two updates differ in the table only (ising.hpp).
#pragma once

#include <span>
#include <vector>

#include "src/single/plan.hpp"

namespace rewise::single {

struct LocalScratch {
  std::vector<std::uint32_t> words;    // draws of a row
  std::vector<std::uint8_t> modified;  // new spins of the modified cells of one colour
};

// One sweep: N attempted updates.
void local_sweep(const Plan& plan, const Tables& tables, const DrawKey& key, LocalScratch& scratch,
                 std::span<std::uint8_t> spins);

}  // namespace rewise::single
