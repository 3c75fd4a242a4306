// The tasks in a study's folder: what they are, and which of them the study no longer uses.
//
// After the grid, the schedule or the temperatures of a study are edited, its folder contains
// unused tasks. A run reports them at its end. They are kept, in case the edit is reverted, until
// `rewise study DIR --prune`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "src/search/task_list.hpp"
#include "src/store/task_pack.hpp"

namespace rewise {

enum class TaskCondition {
  readable,
  misplaced,  // the file has the name of another task
  moved,      // the file disappeared after the folder was listed
  damaged
};

// A description of a task: "8x8, p = 0.1, T = 2.5,3, 1:1".
struct TaskDescription {
  TaskCondition condition = TaskCondition::readable;
  std::string lattice = {};  // only of a readable task
  std::string rest = {};     // its settings; what is wrong if it is misplaced or damaged
  std::uint64_t measurements = 0;
  std::string seed = {};  // of the random numbers of its updates
  std::vector<double> temperatures = {};
  std::vector<std::string> warnings = {};  // its file is damaged, but there is another good copy

  // The lattice, or the reason for having none.
  std::string lattice_text() const;
};
TaskDescription describe_task(const StoredTask& stored);

struct StudyContents {
  std::vector<StoredTask> stored;
  std::vector<TaskDescription> described;  // [stored]
  std::vector<std::string> problems;       // one line per damaged archive and misplaced task
};
// `tasks`: the folder of the task files.
StudyContents read_contents(const std::filesystem::path& tasks);

std::vector<StoredTask> unrequested(const std::vector<StoredTask>& stored,
                                    const RequestedTasks& requested);
std::uint64_t bytes_of(const std::vector<StoredTask>& tasks);

// A message that lists unused tasks and says how to remove them; "" if there are none.
std::string unrequested_text(const std::filesystem::path& folder, const RequestedTasks& requested);

}  // namespace rewise
