// Studies that locate the transition by peaks of C and chi instead of crossings of U.
#pragma once

#include <string>

#include "src/settings/config.hpp"

namespace rewise {

// Potts models whose transition may be of first order, where U does not cross: q >= 3, except q = 3
// and 4 on the plain square lattice.
bool by_peaks(const StudyConfig& config);

// Throws Error(usage), with the file, for fewer than three sizes, a target_error, a method, or a
// ring without shortcuts.
void check_peaks_config(const StudyConfig& config, const std::string& file);

}  // namespace rewise
