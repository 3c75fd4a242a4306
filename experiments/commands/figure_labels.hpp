// Runs of a figure about the time of cluster updates by method (experiments/commands/figure.hpp):
// the tables and figures of Weigel (2011) and Komura & Okabe (2012, 2013).
#pragma once

#include "experiments/commands/figure.hpp"
#include "src/curves/kept_points.hpp"

namespace rewise {

// kind "labelling". Swendsen-Wang updates of the q-state Potts model on the square, cubic or
// rewired lattice for all sizes x q x ratios beta/beta_c x methods x tiles x ranks, on the run's
// device, beside (up to the edge run.core) the default method on one core. q = 2 runs as Ising at
// the same bond probability. Times: medians over the updates, with the range of all.
//
// Ranks are threads of this process that share the lattice, each on a core, or on a CUDA device:
// the machine's in turns, the same for all where there is one (so that its times say what sharing
// costs, not what it gains). `kalentev` on CUDA devices is theirs, that reach each other's memory.
//
// Table "times", against the run's axis (size, ratio, tile or ranks): nanoseconds per spin of an
// update (total), of its steps (activate, label, merge, flip; identify = label + merge), with a
// measurement in each update (measured), on one core (core), speedup = core / total, passes of the
// labelling's relaxation or scans, and tiles_across = L / tile.
// Table "best_tile", where there is more than one tile: the edge with the least `identify`, against
// size. Metrics likewise, and flips_per_ns; with run.fit_passes, a row tile=all with
// passes_exponent of passes ~ (L / tile)^exponent over L / tile from spec.fit_from on, all sizes
// and tiles.
//
// Points that are kept: every setting, and every core's time.
CurveSet measure_labelling(const FigureRun& run, const StopToken& stop, Progress& progress,
                           KeptPoints& kept);

// kind "few-cluster". Against size, at beta_c ratios[0], q[0]: nanoseconds per flipped site of
// few-cluster updates on the run's device, the best of all tiles, beside Wolff updates on one core,
// and their ratio. A point that is kept: a size.
CurveSet measure_few_cluster(const FigureRun& run, const StopToken& stop, Progress& progress,
                             KeptPoints& kept);

}  // namespace rewise
