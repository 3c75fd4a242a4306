// What `rewise run` prints: the JSON object of src/store/FORMATS.md, or a table for people.
#pragma once

#include <string>
#include <vector>

#include "src/study/json_output.hpp"
#include "src/study/run_check.hpp"

namespace rewise {

// Numbers that a check refuses are null, and stand under "candidate".
Json run_json(const TaskData& task, const CheckedRun& run,
              const std::vector<std::string>& warnings);
// Ends in a newline. Values as 2.3772(4), "-" where a check refuses them, with the reasons; states
// the tau convention.
std::string run_table(const TaskData& task, const CheckedRun& run);

}  // namespace rewise
