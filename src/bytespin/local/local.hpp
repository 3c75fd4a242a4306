// Metropolis and Glauber sweeps, colour by colour (Hawick, Leist & Playne 2010, section 3). Sites
// of one colour share no bond, so their order does not matter.
//   Ising: a spin flips when its draw is below the threshold of its field; the two updates differ
//          in the table only (Model::acceptance)
//   Potts: Metropolis proposes one of the other q - 1 states; Glauber, the heat bath, draws the new
//          state with weights exp(beta n), n the number of neighbours in that state
#pragma once

#include <span>
#include <vector>

#include "src/bytespin/plan.hpp"
#include "src/engine/stop_poll.hpp"

namespace rewise::bytespin {

struct LocalScratch {
  std::vector<std::uint32_t> words;    // draws of a row
  std::vector<std::uint8_t> modified;  // new spins of the modified cells of one colour
};

// Progress of a sweep: all colours before `colour` are done, and of this colour the first `done`
// rows (Potts: pieces of slots).
struct SweepPlace {
  std::uint32_t colour = 0, done = 0;
  bool operator==(const SweepPlace&) const = default;
};

// Sets the initial spins of sites [first, last) of a replica; spins: of all sites.
void start_spins(const Plan& plan, std::uint64_t seed, std::uint32_t replica, bool hot,
                 std::uint64_t first, std::uint64_t last, std::uint8_t* spins);

// Updates one colour of rows [first, last) of a lattice, including modified cells. Rows may be
// updated in any order or concurrently, each thread with its own scratch.
void local_rows(const Plan& plan, const Tables& tables, LocalUpdate update, const DrawKey& key,
                int colour, std::uint64_t first, std::uint64_t last, LocalScratch& scratch,
                std::uint8_t* spins);

// One sweep from `place` on: N attempted updates. Returns false if a stop request ended it early;
// `place` is then where to continue.
bool local_sweep(const Plan& plan, const Tables& tables, LocalUpdate update, const DrawKey& key,
                 StopPoll& poll, LocalScratch& scratch, std::span<std::uint8_t> spins,
                 SweepPlace& place);

}  // namespace rewise::bytespin
