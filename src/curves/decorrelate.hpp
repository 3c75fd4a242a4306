// How fast updates decorrelate equilibrated replicas, in steps and in seconds (Hawick, Leist &
// Playne 2010, eq. 14 and figs. 6, 9, 10, 14). This is the computation of `rewise decorrelate`; its
// options and output are in experiments/commands/decorrelate_command.cpp.
//
// Table "correlation": steps, seconds (per replica), correlation (Pearson correlation of the spins
// of a replica at t0 and t0 + steps, averaged over replicas and times t0 at the beginning of
// cycles), and abs_correlation, the average of its absolute value (after a flip of all spins the
// correlation is -1, which the paper counts as correlated). Table "autocorrelation": rho(t) of e,
// |m|, m^2 and, with couplings or replica exchange, q^2 of pairs of replicas at the ends of cycles.
// Metrics: seconds per sweep, cluster update and cycle; steps and seconds until the absolute
// correlation stays below 1/e, 1/10 and 1/30; tau_int in steps and seconds (1/2 cycle for white
// noise), infinite with a separate lower bound if the series is too short.
//
// With replica exchange one engine holds all temperatures, and each series is that of a slot
// (replica r of a temperature), whichever configuration occupies it. The mean of n measurements of
// a slot has the variance 2 tau_int var / n, as without exchange, and slots of different r remain
// independent. Further metrics: independent_cycles, twice the longest tau_int in cycles; the
// acceptance with the next temperature; round trips of a configuration in 1000 cycles; seconds of
// an exchange. Times are means over the temperatures.
//
// Errors come from the spread over graphs. With 2 or 3 graphs they are at least those from all
// replicas, with 1 graph equal to those.
#pragma once

#include "src/curves/curve_spec.hpp"
#include "src/study/progress.hpp"

namespace rewise {

CurveSet measure_decorrelation(const CurveSpec& spec, const StopToken& stop, Progress& progress);

}  // namespace rewise
