// Metropolis and Glauber sweeps, colour by colour (Hawick, Leist & Playne 2010, section 3). Sites
// of one colour share no bond, so their order does not matter.
//   Ising: a spin flips if its draw is below a threshold that depends on the sum of its neighbours;
//          the two updates differ only in the table of thresholds (Model::acceptance)
//   Potts: Metropolis proposes one of the other q - 1 states; Glauber (the heat bath) draws the new
//          state with weights exp(beta n), where n is the number of neighbours in that state
#pragma once

#include <span>
#include <vector>

#include "src/bytespin/graph_tables.hpp"
#include "src/engine/stop_poll.hpp"

namespace rewise::bytespin {

struct LocalScratch {
  std::vector<std::uint32_t> words;    // draws of a row
  std::vector<std::uint8_t> modified;  // new spins of the modified cells of one colour
};

// Progress of a sweep: all colours before `colour` are complete, and so are the first `done` rows
// of `colour` (Potts: the first `done` blocks of draws of a fixed size).
struct SweepPosition {
  std::uint32_t colour = 0, done = 0;
  bool operator==(const SweepPosition&) const = default;
};

// Sets the initial spins of sites [first, last) of a replica. `spins` has all sites.
void start_spins(const GraphTables& tables, std::uint64_t seed, std::uint32_t replica, bool hot,
                 std::uint64_t first, std::uint64_t last, std::uint8_t* spins);

// Updates the sites of one colour in rows [first, last) of a lattice, including modified cells.
// Rows may be updated in any order or concurrently; each thread needs its own scratch.
void local_rows(const GraphTables& tables, const Thresholds& thresholds, LocalUpdate update,
                const DrawKey& key, int colour, std::uint64_t first, std::uint64_t last,
                LocalScratch& scratch, std::uint8_t* spins);

// Makes one sweep (N attempted updates), or the rest of one that was stopped at `position`. Returns
// true at the end of the sweep and resets `position`. Returns false if a stop request ended it
// early; `position` then says where to continue.
bool local_sweep(const GraphTables& tables, const Thresholds& thresholds, LocalUpdate update,
                 const DrawKey& key, StopPoll& poll, LocalScratch& scratch,
                 std::span<std::uint8_t> spins, SweepPosition& position);

}  // namespace rewise::bytespin
