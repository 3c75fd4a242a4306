// Studies whose transition is sought by peaks of C and chi instead of crossings of U.
#pragma once

#include <string>

#include "src/study/config.hpp"

namespace rewise {

// Potts models whose transition may be of first order: U does not cross there. Three states and
// more, but for three and four on the plain square lattice.
bool by_peaks(const StudyConfig& config);

// Error(usage), naming the file: fewer than three sizes, a target_error, a method, a ring without
// shortcuts.
void check_peaks_config(const StudyConfig& config, const std::string& file);

}  // namespace rewise
