// Energy from hot and cold starts against steps and seconds, and the time to equilibrium: `rewise
// equilibrate` without its options and its output (Hawick, Leist & Playne 2010, figs. 2, 5, 7, 8).
//
// Table "energy": steps, energy_hot, energy_cold, m_hot, m_cold (|m|), seconds_hot, seconds_cold
// (since the start, per replica), step_seconds_hot, step_seconds_cold (per step, since the point
// before), each with its error; that of seconds from the spread over graphs and, where there are
// fewer than spec.timings, over repeats of the same moves. Metrics: equilibrium_steps,
// equilibrium_seconds (of the hot start), steps and seconds until the hot start's energy is within
// 5% of what the cold start has come to (as one would say of a plot), and the last energies.
#pragma once

#include "src/curves/curve_spec.hpp"
#include "src/study/progress.hpp"

namespace rewise {

CurveSet measure_equilibration(const CurveSpec& spec, const StopToken& stop, Progress& progress);

}  // namespace rewise
