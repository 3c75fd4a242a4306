// Runs of a figure about the time of cluster updates by method (experiments/figure.hpp): the tables
// and figures of Weigel (2011) and Komura & Okabe (2012, 2013).
#pragma once

#include "experiments/figure.hpp"
#include "experiments/progress.hpp"

namespace rewise {

// kind "labelling". Swendsen-Wang updates of the q-state Potts model on the square, cubic or
// rewired lattice for all sizes x q x ratios beta/beta_c x methods x tiles, on the run's device,
// beside the default method on one core. q = 2 runs as Ising at the same bond probability.
// Table "times", against the run's axis (size, ratio or tile): nanoseconds per spin of an update
// (total), of its steps (activate, label, merge, flip; identify = label + merge), with a
// measurement in each update (measured), on one core (core), and speedup = core / total.
// Table "best_tile", where there is more than one tile: the edge with the least `identify`, against
// size. Metrics likewise, and flips_per_ns.
CurveSet measure_labelling(const FigureRun& run, const StopToken& stop, Progress& progress);

// kind "few-cluster". Against size, at beta_c ratios[0], q[0]: nanoseconds per flipped site of
// few-cluster updates on the run's device, the best of all tiles, beside Wolff updates on one core,
// and their ratio.
CurveSet measure_few_cluster(const FigureRun& run, const StopToken& stop, Progress& progress);

}  // namespace rewise
