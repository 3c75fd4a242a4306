// Temperatures added to a sweep whose folder has tasks already.
//
// A task holds all temperatures of one graph, and its word groups are numbered by them: with
// another list it is another task. So temperatures that a study.toml does not know become tasks of
// their own beside those that are there (sampling.temperature_tasks), and each graph's result is
// put together from both. The resolved configuration says so, which makes the numbers a function of
// the folder's study.toml alone: run elsewhere, it gives the same ones.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/study/config.hpp"

namespace rewise {

// `config` with temperature_tasks that keep the tasks of `folder`; as it is where there are none to
// keep. `said`: one line each, for people. Two processes that come with the same configuration get
// the same lists.
StudyConfig keep_temperature_tasks(StudyConfig config, const std::filesystem::path& folder,
                                   std::vector<std::string>& said);

}  // namespace rewise
