// Runs of a figure that no command of their own has: thermal averages against temperature, and
// critical temperatures (experiments/commands/figure.hpp).
#pragma once

#include <filesystem>

#include "experiments/commands/figure.hpp"
#include "src/curves/kept_points.hpp"

namespace rewise {

// Table "moments", a curve per size and p: temperature, energy, abs_magnetisation, specific_heat,
// susceptibility, binder with errors (over graphs where there are 2 or more). Metrics per size and
// p: the temperatures at which C and chi are largest (error: half of the spacing), and per p the
// crossing of Binder's U of the two largest sizes. A point that is kept: one size at one p.
CurveSet measure_moments(const FigureRun& run, const StopToken& stop, Progress& progress,
                         KeptPoints& kept);

// Table "shift": p, shift; table "local": p, exponent. Metrics per p: tc, shift, and one row with
// the exponent of the power law through all. The study stays in `folder` and is resumed from there.
CurveSet measure_tc(const FigureRun& run, const std::filesystem::path& folder,
                    const StopToken& stop, Progress& progress);

}  // namespace rewise
