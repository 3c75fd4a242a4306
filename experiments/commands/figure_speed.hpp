// Runs of a figure about the time of a Wolff update, processor and device
// (experiments/commands/figure.hpp): the tables and fig. 1 of Komura & Okabe (2012).
#pragma once

#include "experiments/commands/figure.hpp"
#include "src/curves/kept_points.hpp"

namespace rewise {

// kind "speed". Table "speed" against temperature, "by_size" against size: microseconds per Wolff
// update, alone and with a measurement, of one system on one core (bytespin engine) and of one
// replica on the accelerated side: the bytespin engine on CUDA, by each of run.methods (none: its
// default), or, where there is no device, the multispin engine's 32 replicas on the CPU; their
// ratios; and the mean cluster over N. Errors: over eight stretches of the updates.
//
// On CUDA both sides grow the same clusters. So with methods there is hybrid_share: the mean over
// updates of the shorter of the two times, over that of the device's, which is the least that a
// hand-over between processor and device can take, were it foreseen and free. And a core that makes
// fewer updates is timed per flipped site, and told for the mean cluster of the device's updates.
//
// Each side takes run.spec.measure updates, or what it can in a second (eight at least). A
// point that is kept: one size at one temperature.
CurveSet measure_speed(const FigureRun& run, const StopToken& stop, Progress& progress,
                       KeptPoints& kept);

}  // namespace rewise
