// Temperatures added to a sweep whose folder already has tasks.
//
// A task holds all temperatures of one graph and numbers its word groups by them, so another list
// makes another task. New temperatures therefore become additional tasks
// (sampling.temperature_tasks), and each graph's result is joined from all its tasks. The resolved
// configuration contains the lists, so the folder's study.toml alone determines the numbers, also
// in another folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/settings/config.hpp"

namespace rewise {

// Returns `config` with temperature_tasks that keep the tasks of `folder`; unchanged if there are
// none to keep. Appends one-line messages to `messages`. Two processes with the same configuration
// get the same lists.
StudyConfig keep_temperature_tasks(StudyConfig config, const std::filesystem::path& folder,
                                   std::vector<std::string>& messages);

}  // namespace rewise
