// The list of tasks used by a study, and the tasks in its folder that are no longer used.
//
//   DIR/tasks.json   "tasks": the id of every task that the last complete run used, with its
//                    purpose: "graph" (a result uses it), "pilot", "scan", "tune" or
//                    "abandoned" (of a window of temperatures that was moved);
//                    "configuration": the hash of that run's configuration; "command";
//                    "digest": of all these (a file whose digest is wrong is not used)
//
// After the grid, the schedule or the temperatures of a study are edited, its folder contains
// unused tasks. A run reports them at its end. They are kept, in case the edit is reverted, until
// `rewise study DIR --prune`.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "src/study/study_folder.hpp"

namespace rewise {

using RequestedTasks = std::map<std::string, std::string>;  // purpose by id

// Writes tasks.json. Throws Error(io).
void write_requested(const StudyFolder& place, const std::string& command,
                     const RequestedTasks& requested);

// A message that lists unused tasks and says how to remove them; "" if there are none.
std::string unrequested_text(const std::filesystem::path& folder, const RequestedTasks& requested);

}  // namespace rewise
