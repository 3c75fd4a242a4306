// summary.h5 of `tc` (resamples.hpp).
#pragma once

#include <string>
#include <vector>

#include "src/search/tc/crossings_analysis.hpp"
#include "src/search/tc/tree_data.hpp"

namespace rewise {

// Bytes of the file. `tree`: one element per point, or empty.
std::string tc_resamples(const StudyConfig& config, const std::vector<WindowPoint>& points,
                         const TcResult& result, const std::vector<TreePoint>& tree);

}  // namespace rewise
