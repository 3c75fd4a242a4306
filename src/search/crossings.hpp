// Curves of U and of N^x m^2 over temperature, whose crossings between sizes are Tc.
#pragma once

#include "src/search/size_curves.hpp"

namespace rewise {

// U (observable 0) or N^x m^2 (1) of the graphs so far, with its leave-one-out variants.
JackknifeCurve observable_curve(int sample, const SizeSamples& samples, int observable);
// The same, with the thermal part of each graph's noise in place of leave-one-out variants.
JackknifeCurve thermal_curve(int sample, const SizeSamples& samples, int observable);
// A curve of U, raised by what the spread of Tc between graphs takes from it (extrapolation.hpp):
// its limit is that of the pure mean-field lattice. `thermal`: a thermal_curve.
JackknifeCurve raised_binder(JackknifeCurve curve, const SizeData& size, bool thermal = false);

}  // namespace rewise
