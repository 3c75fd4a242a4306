// Runs tasks (task_spec.hpp). run_task() computes the TaskData of a task from the start, from a
// checkpoint, or from a finished file that needs more measurements. The result is always identical,
// bit for bit, to that of an uninterrupted run.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/base/error.hpp"
#include "src/engine/batch.hpp"
#include "src/settings/task_spec.hpp"
#include "src/store/signals.hpp"

namespace rewise {

// Paths of the task in a study's folder.
TaskPaths task_paths(const std::filesystem::path& study, const TaskSpec& spec);
// Paths of a task whose file is given by --out: t.h5, t.part.h5, t.lease. Returns nothing for an
// empty name. Throws Error(usage, held, io).
std::optional<TaskPaths> paths_beside(const std::string& out);

// Describes the regular lattice of `spec` for the task file.
GraphRecord regular_record(const TaskSpec& spec);

// Appends measurements to the series. `expected`: total number of measurements, if known.
void append(TaskData& data, const Schedule& schedule, const Samples& some,
            std::uint64_t expected = 0);

// Records in provenance the state of a trajectory, and the device and program that computed it.
void note_origin(TextMap& note, const Engine& engine, std::optional<std::uint64_t> hash);

// How tasks are run.
struct TaskRunOptions {
  EngineOptions engine;
  StopToken stop;
  double checkpoint = 300;  // seconds between checkpoints
};

enum class TaskOutcome {
  finished,          // `data` is complete
  already_finished,  // it was complete before; nothing was run
  interrupted,       // a checkpoint was written, if there are paths
  held,              // another process has its lease; `message` names it
  lost,              // another process took over its lease; `message` names it
  unwritten,         // lost after `on_measured` received the result; the file may be missing
};

struct TaskResult {
  TaskOutcome outcome = TaskOutcome::finished;
  TaskData data;
  std::string message;
  bool has_checkpoint = false;  // interrupted: a checkpoint exists
  std::exception_ptr error;     // error of a failed task of a group (task_group.hpp)
};

// No copy of a task's file is intact, so the task must be computed again.
class DamagedTask : public Error {
 public:
  using Error::Error;
};

// A task, its files and the functions that receive its progress and results.
struct TaskJob {
  TaskSpec spec = {};
  std::optional<TaskPaths> paths = {};  // if absent, no file is read or written
  // Called between steps with the cycles just done.
  std::function<void(std::uint64_t cycles)> progress = {};
  // Receives one line per event that concerns the user (a damaged file set aside, a run resumed).
  std::function<void(const std::string& line)> note = {};
  // Sets damaged results and checkpoints aside and restarts the task.
  bool recompute_damaged = false;
  FinalState final_state = FinalState::automatic;
  std::function<std::shared_ptr<const Graph>(const TaskSpec& spec)> graph_of = task_graph;
  std::function<void(const Graph& graph)> on_graph = {};  // called before the task runs
  // Called on any thread before a finished task is written: may add results for its readers.
  std::function<void(TaskData& data)> add_results = {};
  // Receives the result of a computed task, on any thread, possibly before the final state is
  // fetched, the file is written and `on_closed` is called. Must not throw.
  std::function<void(TaskRecord&& record)> on_measured = {};
  // Called on any thread once the files are written and the lease is released. `result` has no data
  // if `on_measured` received them. Must not throw.
  std::function<void(TaskResult&& result)> on_closed = {};
};

// Throws Error(held) if a finished file belongs to another task; Error(data), with the key, if a
// checkpoint does; DamagedTask.
TaskResult run_task(TaskJob job, const TaskRunOptions& run);

// Reads a finished task with at least the requested measurements; nothing if there is none.
// Acquires no lease and changes nothing.
std::optional<TaskData> read_finished(const TaskSpec& spec, const TaskPaths& paths);

// Removes files that a killed process left after publishing a finished task: the lease, and a
// checkpoint with no more measurements than the finished file.
void clear_leftovers(const TaskPaths& paths, const TaskData& finished);

}  // namespace rewise
