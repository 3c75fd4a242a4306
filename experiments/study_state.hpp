// Whether a study's summary is what its tasks, its configuration and this program give, so that
// running a finished study again does nothing, in the time that looking at the files takes.
//
// DIR/.finished holds a digest over the program (version, revision, its file), the configuration
// less [run], and name, size and time of every finished task, of the schedules and of the summary.
// Any of these another, and the study runs as ever. It says nothing of what stands in the files:
// delete .finished to have them all read again.
#pragma once

#include <filesystem>

#include "experiments/config.hpp"

namespace rewise {

void mark_finished(const std::filesystem::path& study, const StudyConfig& config);
bool is_finished(const std::filesystem::path& study, const StudyConfig& config);

// Whether `file` is there and not older than `other`.
bool is_up_to_date(const std::filesystem::path& file, const std::filesystem::path& other);

}  // namespace rewise
