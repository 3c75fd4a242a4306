// What `rewise run` prints: the JSON object of src/store/FORMATS.md, or a table for people.
#pragma once

#include <string>

#include "experiments/console/json_output.hpp"

namespace rewise {

Json run_json(const TaskData& task);
// Ends in a newline. Values as 2.3772(4); states the tau convention.
std::string run_table(const TaskData& task);
// A line for each temperature at which hot- and cold-started replicas disagree, or at which few
// replicas were measured for too short a time to know the errors; "" if none.
std::string result_warnings(const TaskData& task);

}  // namespace rewise
