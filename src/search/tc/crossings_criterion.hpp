// Curves of U and N^x m^2 over temperature. At p > 0, Tc follows from the temperatures where N^x
// m^2 of two sizes crosses and where U of a size has its mean-field limit; at p = 0, from the
// crossings of both between sizes.
#pragma once

#include "analysis/scaling/crossing.hpp"
#include "src/search/size_curves.hpp"

namespace rewise {

// U or N^x m^2 of the graphs so far, with leave-one-out variants.
JackknifeCurve observable_curve(int sample, const SizeSamples& samples,
                                CrossingObservable observable);
// The same, with each graph's thermal noise in place of leave-one-out variants.
JackknifeCurve thermal_curve(int sample, const SizeSamples& samples, CrossingObservable observable);
// A curve of U, corrected for the reduction by the spread of Tc between graphs (extrapolation.hpp),
// so that its limit is that of the pure mean-field lattice. `thermal`: the curve is a
// thermal_curve().
JackknifeCurve raised_binder(JackknifeCurve curve, const SizeData& size, bool thermal = false);

}  // namespace rewise
