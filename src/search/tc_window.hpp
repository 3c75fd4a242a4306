// Where the window of a size should lie: around the crossing with the size before.
#pragma once

#include "src/study/graph_sample.hpp"

namespace rewise {

struct WindowShift {
  double shift = 0;      // of the centre
  bool settled = false;  // the crossing is well inside: `shift` leads to it, the window may stay
  bool wider = false;    // the window is too narrow for the crossings of both observables
};

// From the pilot graphs of both sizes only: more graphs must not move a window. `half_width` is
// that of the larger size's.
WindowShift wanted_shift(double p, const SizeSamples& small, const SizeSamples& large,
                         double centre, double half_width);

// The same for both observables, U and N^x m^2: small sizes cross far apart. Where a window of
// `most_half_width` can hold it, too (0: without), that where U of the larger size has its
// mean-field limit.
WindowShift wanted_shift_of_both(const SizeSamples& small, const SizeSamples& large, double centre,
                                 double half_width, double most_half_width);

// Share of half a window's width within which a crossing is well inside.
inline constexpr double kInside = 0.6;

}  // namespace rewise
