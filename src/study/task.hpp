// A task is one graph with all its temperatures: the unit of work, checkpoints and distribution. A
// TaskSpec holds all settings that determine its numbers. run_task() computes its TaskData from the
// start, from a checkpoint, or from a finished file that needs more measurements. The result is
// always identical, bit for bit, to that of an uninterrupted run.
//
// A run consists of an optional warm-up, `equilibrate` cycles, and `measure` times `every` cycles
// with a measurement. Cluster sums before the first measurement are dropped, so each measurement
// covers every * W cluster updates.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/series/moments.hpp"
#include "src/base/error.hpp"
#include "src/engine/batch.hpp"
#include "src/engine/registry.hpp"
#include "src/store/signals.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

// Initial cycles with other updates. Swendsen-Wang equilibrates ordered and random starts at any
// temperature, even if other updates measure faster there. Not all engines support it.
struct WarmUp {
  std::uint64_t cycles = 0;
  Updates updates{{1, 1}, ClusterUpdate::swendsen_wang};
};

// Settings that do not depend on the graph or the temperatures: those that all tasks of a study
// have in common.
struct TaskSettings {
  EngineKind engine = kDefaultEngine;
  Model model;
  LocalUpdate local = LocalUpdate::metropolis;
  FewCluster few_cluster;
  std::uint32_t replicas = 32;  // per temperature
};

struct TaskSpec : TaskSettings {
  GraphSpec graph;
  std::shared_ptr<const Graph> imported;  // replaces `graph`
  ClusterUpdate cluster = ClusterUpdate::wolff;
  std::vector<double> temperatures;  // [T]
  Start start = Start::mixed;
  // The spins of Start::given, as of Engine::write_spins(). nullptr if a state replaces them.
  std::shared_ptr<const std::vector<std::uint8_t>> start_spins;
  std::uint64_t seed = 1;
  Schedule schedule;
  WarmUp warm_up;
  std::uint64_t equilibrate = 1000;  // cycles
  std::uint64_t measure = 1000;      // measurements
  std::uint64_t every = 1;           // cycles per measurement
  bool cluster_pairs = false;        // as in EngineSpec
  bool staggered = false;            // likewise

  // Replaces the updates, except that exchange and Houdayer moves stay as they are.
  void set(const Updates& updates);
  std::uint64_t discarded_cycles() const { return warm_up.cycles + equilibrate; }
  std::uint64_t cycles() const { return discarded_cycles() + measure * every; }
};

// Every key that determines the numbers, as text.
TextMap task_configuration(const TaskSpec& spec);
// The model of a configuration. Throws Error(usage) if the configuration contains none.
Model model_of(const TextMap& configuration);
// The updates of a cycle of a configuration. `origin` begins messages.
Updates updates_of(const TextMap& configuration, std::string_view origin = "task file");
// The settings of a finished task or a checkpoint without its graph. Unlike settings of a user
// (task_request.hpp), they are not checked. Throws Error(usage) for unknown words.
TaskSpec stored_spec(const TaskData& data);
// 16 hex digits from the configuration, independent of the number of measurements.
std::string task_id(const TaskSpec& spec);
// Paths of the task in a study's folder.
TaskPaths task_paths(const std::filesystem::path& study, const TaskSpec& spec);
// Paths of a task whose file is given by --out: t.h5, t.part.h5, t.lease. Returns nothing for an
// empty name. Throws Error(usage, held, io).
std::optional<TaskPaths> paths_beside(const std::string& out);

std::shared_ptr<const Graph> task_graph(const TaskSpec& spec);  // builds it unless imported
EngineSpec engine_spec(const TaskSpec& spec);

// Whether staggered magnetisations are measured: as `requested`; by default those of
// antiferromagnets whose sites form two sublattices. `imported`: nullptr for a graph that is built.
// Throws Error(usage) with `origin` if they are requested but not defined.
bool measures_staggered(std::optional<bool> requested, const Model& model, const Graph* imported,
                        const std::string& origin);

// Number of sites of the task's graph, built or imported.
double site_count(const TaskSpec& spec);

// Appends measurements to the series. `expected`: total number of measurements, if known.
void append(TaskData& data, const Schedule& schedule, const Samples& some,
            std::uint64_t expected = 0);

// Records in provenance the state of a trajectory, and the device and program that computed it.
void note_origin(TextMap& note, const Engine& engine, std::optional<std::uint64_t> hash);

// Number of threads that speed up one task. Below about 10^4 words per sweep, synchronisation costs
// more than a thread gains.
int useful_threads(const TaskSpec& spec, int available);

// How a finished file keeps the final state, from which more measurements can continue. `none`:
// smaller file; a request for more measurements starts again and gives the same numbers. `apart`:
// if ranks share the replicas, each rank writes its spins to a file beside the task's
// (state_parts.hpp). `whole`: in the task's file. `automatic`: `apart` if the state is large
// (need.hpp).
enum class FinalState { automatic, whole, apart, none };

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
  unwritten,         // lost after `ready` received the result; the file may be missing
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
  // fetched, the file is written and `done` is called. Must not throw.
  std::function<void(TaskRecord&& record)> ready = {};
  // Called on any thread once the files are written and the lease is released. `result` has no data
  // if `ready` received them. Must not throw.
  std::function<void(TaskResult&& result)> done = {};
};

// Throws Error(held) if a finished file belongs to another task; Error(data), with the key, if a
// checkpoint does; DamagedTask.
TaskResult run_task(TaskJob job, const TaskRunOptions& run);

// Reads a finished task with at least the requested measurements; nothing if there is none.
// Acquires no lease and changes nothing.
std::optional<TaskData> read_finished(const TaskSpec& spec, const TaskPaths& paths);
std::optional<TaskData> read_finished(const TaskSpec& spec, const std::filesystem::path& file);

// Removes files that a killed process left after publishing a finished task: the lease, and a
// checkpoint with no more measurements than the finished file.
void clear_leftovers(const TaskPaths& paths, const TaskData& finished);

}  // namespace rewise
