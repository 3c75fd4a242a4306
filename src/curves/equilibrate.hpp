// Energy after hot and cold starts as a function of steps and of seconds, and the time to
// equilibrium (Hawick, Leist & Playne 2010, figs. 2, 5, 7, 8). This is the computation of `rewise
// equilibrate`; its options and output are in experiments/commands/equilibrate_command.cpp.
//
// Table "energy": steps, energy_hot, energy_cold, m_hot, m_cold (|m|), seconds_hot, seconds_cold
// (since the start, per replica), step_seconds_hot, step_seconds_cold (per step, since the previous
// point), each with its error. Errors of times come from the spread over graphs and, if there are
// fewer than spec.timings graphs, over repetitions of the same moves. Metrics: equilibrium_steps
// and equilibrium_seconds (hot start); the steps and seconds until the energy of the hot start is
// within 5% of the final energy of the cold start; the final energies.
#pragma once

#include "src/curves/curve_spec.hpp"
#include "src/study/progress.hpp"

namespace rewise {

CurveSet measure_equilibration(const CurveSpec& spec, const StopToken& stop, Progress& progress);

}  // namespace rewise
