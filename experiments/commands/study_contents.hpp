// What a study's folder holds, and what of it is not asked for any more.
//
//   DIR/tasks.json   "tasks": the id of every task that the last complete run asked for, and what
//                    for: "graph" (results rest on it), "pilot", "scan", ..; "configuration": the
//                    hash of that run's; "command"
//
// An edited grid, schedule or list of temperatures leaves tasks behind that nothing asks for. They
// are named when a run ends and stay, lest an edit that is taken back costs them, until `rewise
// study DIR --prune`.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "src/study/study_state.hpp"

namespace rewise {

using AskedTasks = std::map<std::string, std::string>;  // what for, by id

// Writes tasks.json. Error(io).
void write_asked(const StudyFolder& place, const std::string& command, const AskedTasks& asked);

// What is not asked for, in a line or a few, and how to remove it; "" where there is nothing.
std::string unasked_text(const std::filesystem::path& folder, const AskedTasks& asked);

}  // namespace rewise
