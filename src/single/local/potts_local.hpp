// Metropolis and Glauber (heat bath) sweeps of the Potts model, colour by colour.
// Metropolis proposes one of the other q - 1 states; Glauber draws the new state with weights
// exp(beta n), n the number of neighbours in that state.
#pragma once

#include <span>

#include "src/single/local/metropolis.hpp"
#include "src/single/plan.hpp"

namespace rewise::single {

// One sweep from `place` on: N attempted updates. False where the watch stopped it, at `place`.
bool potts_sweep(const Plan& plan, const Tables& tables, LocalUpdate update, const DrawKey& key,
                 StopWatch& watch, std::span<std::uint8_t> spins, SweepPlace& place);

}  // namespace rewise::single
