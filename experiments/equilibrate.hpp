// Energy from hot and cold starts against steps and seconds, and the time to equilibrium: `rewise
// equilibrate` without its options and its output (Hawick, Leist & Playne 2010, figs. 2, 5, 7, 8).
//
// Table "energy": steps, energy_hot, energy_cold, m_hot, m_cold (|m|), each with its error,
// seconds_hot, seconds_cold (since the start, per replica), step_seconds_hot, step_seconds_cold
// (per step, since the point before). Metrics: equilibrium_steps, equilibrium_seconds (of the hot
// start), and the last energies.
#pragma once

#include "experiments/curve_spec.hpp"
#include "experiments/progress.hpp"

namespace rewise {

CurveSet measure_equilibration(const CurveSpec& spec, const StopToken& stop, Progress& progress);

}  // namespace rewise
