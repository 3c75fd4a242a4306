// The list of tasks that a study used.
//
//   DIR/tasks.json   "tasks": the id of every task that the last complete run used, with its
//                    purpose: "graph" (a result uses it), "pilot", "scan", "tune" or
//                    "abandoned" (of a window of temperatures that was moved);
//                    "configuration": the hash of that run's configuration; "command";
//                    "digest": of all these (a file whose digest is wrong is not used)
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/study/study_folder.hpp"

namespace rewise {

using RequestedTasks = std::map<std::string, std::string>;  // purpose by id

struct LastRun {
  std::string command, configuration;  // of the last complete run
  RequestedTasks tasks;
};

// Writes tasks.json. Throws Error(io).
void write_last_run(const StudyFolder& place, const std::string& command,
                    const RequestedTasks& requested);
// Reads tasks.json. Returns nullopt if there is no such file, or if it is damaged: then adds a line
// to `problems`.
std::optional<LastRun> read_last_run(const std::filesystem::path& folder,
                                     std::vector<std::string>& problems);

}  // namespace rewise
