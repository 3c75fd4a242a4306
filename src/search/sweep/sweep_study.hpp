// The study of `sweep`.
#pragma once

#include <string>

#include "src/search/study_analysis.hpp"

namespace rewise {

// Throws Error(usage), with the name of the file, if a key is for `tc` only, or if graphs from
// files lack what they need.
void check_sweep_config(const StudyConfig& config, const std::string& file);
// Reads the graphs of lattice.files. `config` has passed check_sweep_config().
StudyAnalysis sweep_study(const StudyConfig& config);

}  // namespace rewise
