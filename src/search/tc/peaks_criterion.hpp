// Studies that locate the transition by peaks of C and chi instead of crossings of U.
#pragma once

#include "src/settings/config.hpp"

namespace rewise {

// Potts models whose transition may be of first order, where U does not cross: q >= 3, except q = 3
// and 4 on the plain square lattice.
bool by_peaks(const StudyConfig& config);

}  // namespace rewise
