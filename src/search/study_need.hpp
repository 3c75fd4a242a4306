// The tasks, memory, disk and time of a study, as far as they follow from its configuration
// (`tc --dry-run`, `sweep --dry-run`).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/results/cells.hpp"
#include "src/search/costs.hpp"
#include "src/search/tc_method.hpp"
#include "src/settings/config.hpp"

namespace rewise {

struct StudyNeed {
  // A row per size, or file, and p: the number of its tasks; temperatures, memory and disk space of
  // each.
  std::vector<Cells> rows;
  std::size_t tasks = 0;
  double disk = 0;         // bytes
  double cpu_seconds = 0;  // infinite with a target_error
  int threads = 1;
  std::string assumed;  // in place of "auto": "schedule 1:1, measure 60"
};

// `method`: of `tc`. Without rows if the tree condition alone chooses the lattices. Reads graphs
// from files.
StudyNeed study_need(const StudyConfig& config, std::optional<TcMethod> method,
                     const LikelyCounts& likely);

}  // namespace rewise
