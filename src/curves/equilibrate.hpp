// Energy after hot and cold starts against steps and seconds, and the time to equilibrium, for
// `rewise equilibrate` (Hawick, Leist & Playne 2010, figs. 2, 5, 7, 8); without the command's
// options and output.
//
// Table "energy": steps, energy_hot, energy_cold, m_hot, m_cold (|m|), seconds_hot, seconds_cold
// (since the start, per replica), step_seconds_hot, step_seconds_cold (per step, since the previous
// point), each with its error. Errors of times come from the spread over graphs and, if there are
// fewer than spec.timings graphs, over repetitions of the same moves. Metrics: equilibrium_steps,
// equilibrium_seconds (hot start), steps and seconds until the energy of the hot start is within 5%
// of the final energy of the cold start, and the last energies.
#pragma once

#include "src/curves/curve_spec.hpp"
#include "src/study/progress.hpp"

namespace rewise {

CurveSet measure_equilibration(const CurveSpec& spec, const StopToken& stop, Progress& progress);

}  // namespace rewise
