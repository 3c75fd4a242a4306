// How fast updates decorrelate systems in equilibrium, against steps and seconds: `rewise
// decorrelate` without its options and its output (Hawick, Leist & Playne 2010, eq. 14 and figs. 6,
// 9, 10, 14).
//
// Table "correlation": steps, seconds (per replica), correlation = Pearson correlation of the spins
// of one replica at t0 and t0 + steps, averaged over replicas and times t0, and abs_correlation,
// the same of its absolute value (a flip of all spins anticorrelates; 1 is "(anti-)correlated" in
// the paper). Times t0 begin a cycle. Table "autocorrelation": rho(t) of e, |m| and m^2 at the ends
// of cycles. Metrics: seconds per sweep, cluster update and cycle, steps and seconds until the
// absolute correlation is below 1/e, 1/10 and 1/30 for good, and tau_int in steps and seconds (1/2
// cycle for white noise); infinite where the series is too short for it, with a lower bound beside.
//
// Errors: over graphs where there are 4 or more, else over all replicas.
#pragma once

#include "src/curves/curve_spec.hpp"
#include "src/study/progress.hpp"

namespace rewise {

CurveSet measure_decorrelation(const CurveSpec& spec, const StopToken& stop, Progress& progress);

}  // namespace rewise
