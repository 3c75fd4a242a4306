// The tasks in a study's folder that are no longer used.
//
// After the grid, the schedule or the temperatures of a study are edited, its folder contains
// unused tasks. A run reports them at its end. They are kept, in case the edit is reverted, until
// `rewise study DIR --prune`.
#pragma once

#include <filesystem>
#include <string>

#include "src/search/task_list.hpp"

namespace rewise {

// A message that lists unused tasks and says how to remove them; "" if there are none.
std::string unrequested_text(const std::filesystem::path& folder, const RequestedTasks& requested);

}  // namespace rewise
