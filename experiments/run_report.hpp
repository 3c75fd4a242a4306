// What `rewise run` prints: the JSON object of DESIGN.md section 9, or a table for people.
#pragma once

#include <string>

#include "experiments/json_output.hpp"

namespace rewise {

Json run_json(const TaskData& task);
// Ends in a newline. Values as 2.3772(4); states the tau convention.
std::string run_table(const TaskData& task);
// One line per temperature at which hot- and cold-started replicas disagree; "" if none.
std::string hot_cold_warning(const TaskData& task);

}  // namespace rewise
