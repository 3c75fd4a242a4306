// Output of `rewise run`: the JSON object of src/store/FORMATS.md, or a table.
#pragma once

#include <string>
#include <vector>

#include "src/results/json_output.hpp"
#include "src/results/run_check.hpp"

namespace rewise {

// Numbers rejected by a check are null and appear under "candidate".
Json run_json(const TaskData& task, const CheckedRun& run,
              const std::vector<std::string>& warnings);
// Ends with a newline. Values are written as 2.3772(4), or "-" with the reasons if a check rejects
// them. `warnings`: further lines, without the reasons. `shows_overlaps`: with the overlaps of
// pairs of replicas, if they were measured. Includes the definition of tau.
std::string run_table(const TaskData& task, const CheckedRun& run,
                      const std::vector<std::string>& warnings, bool shows_overlaps);

}  // namespace rewise
