// A task: one graph with all its temperatures; the unit of work, of checkpoints and of
// distribution. A TaskSpec holds all that determines a task's numbers; run_task turns it into
// TaskData, from the start, from a checkpoint, or from a finished file that asks for more
// measurements, always bit for bit what an uninterrupted run gives.
//
// One run: a warm-up where there is one, then `equilibrate` cycles, then `measure` times `every`
// cycles and a measurement. The cluster sums before the first measurement are dropped, so a
// measurement covers every * W cluster updates.
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

// Cycles before all others, with updates of their own: Swendsen-Wang brings hot and cold starts to
// equilibrium at any temperature, whatever measures fastest there. For engines that have it.
struct WarmUp {
  std::uint64_t cycles = 0;
  Schedule schedule{1, 1};
  ClusterUpdate cluster = ClusterUpdate::swendsen_wang;
};

struct TaskSpec {
  GraphSpec graph;
  std::shared_ptr<const Graph> imported;  // instead of `graph`
  EngineKind engine = kDefaultEngine;
  Model model;
  LocalUpdate local = LocalUpdate::metropolis;
  ClusterUpdate cluster = ClusterUpdate::wolff;
  FewCluster few_cluster;
  std::vector<double> temperatures;  // [T]
  std::uint32_t replicas = 32;       // per temperature
  Start start = Start::mixed;
  std::uint64_t seed = 1;
  Schedule schedule;
  WarmUp warm_up;
  std::uint64_t equilibrate = 1000;  // cycles
  std::uint64_t measure = 1000;      // measurements
  std::uint64_t every = 1;           // cycles per measurement

  std::uint64_t discarded_cycles() const { return warm_up.cycles + equilibrate; }
  std::uint64_t cycles() const { return discarded_cycles() + measure * every; }
};

// The key whose value may grow without making another task of it.
inline const std::vector<std::string> kMayGrow{"sampling.measure"};

// Every key that determines the numbers, as text.
TextMap task_configuration(const TaskSpec& spec);
// The model in a configuration. Error(usage) if it holds no model.
Model model_of(const TextMap& configuration);
// 16 hex digits, from the configuration; asking for more measurements keeps it.
std::string task_id(const TaskSpec& spec);
// Its results archive (task_pack.hpp): one per lattice, p and rule, or per imported graph.
// "64x64_p0.01_rewire".
std::string archive_name(const TaskSpec& spec);
// Where it lies in a study's folder.
TaskPaths task_paths(const std::filesystem::path& study, const TaskSpec& spec);
// Of a task in a file of its own, --out: t.h5, t.part.h5, t.lease; empty for an empty name.
// Error(usage, held, io).
std::optional<TaskPaths> paths_beside(const std::string& out);

std::shared_ptr<const Graph> task_graph(const TaskSpec& spec);  // builds it unless imported
GraphRecord graph_record(const Graph& graph);
EngineSpec engine_spec(const TaskSpec& spec);

// Of its graph, built or imported.
double site_count(const TaskSpec& spec);

// `expected`: how many measurements there will be, where that is known.
void append(TaskData& data, const Schedule& schedule, const Samples& some,
            std::uint64_t expected = 0);

// Provenance of what an engine has made: where its trajectory stands, where and by what it ran.
void note_origin(TextMap& note, const Engine& engine, std::optional<std::uint64_t> hash);

// Threads worth starting for one task: below some 10^4 words per sweep, waiting for each other
// costs more than it brings.
int useful_threads(const TaskSpec& spec, int available);

// Whether a finished file keeps the state from which more measurements go on. Without it it is
// smaller, and a task that is asked for more begins anew, with the same numbers. Where ranks share
// the systems the spins may lie apart, a file of each rank beside the task's (state_parts.hpp);
// else they are in the file. automatic: apart where there is much of them (need.hpp).
enum class FinalState { automatic, whole, apart, none };

// How tasks are run.
struct TaskRun {
  EngineOptions engine;
  StopToken stop;
  double checkpoint = 300;  // seconds between checkpoints
};

enum class TaskOutcome {
  finished,     // `data` is complete
  already,      // it was complete before; nothing ran
  interrupted,  // a checkpoint was written, if there are paths
  held,         // another process has its lease; `message` names it
  lost,         // another process took its lease over; `message` names it
  unwritten,    // the same, after `ready` had its result: it may have no file
};

struct TaskResult {
  TaskOutcome outcome = TaskOutcome::finished;
  TaskData data;
  std::string message;
  bool kept = false;         // interrupted: there is a checkpoint to go on from
  std::exception_ptr error;  // of a group's task that failed (task_group.hpp)
};

// A file of a task has no good copy; it can only be computed again.
class DamagedTask : public Error {
 public:
  using Error::Error;
};

// A task with its files and with those who hear of it.
struct TaskJob {
  TaskSpec spec = {};
  std::optional<TaskPaths> paths = {};  // without them nothing is read or written
  // Called between steps with the cycles just done.
  std::function<void(std::uint64_t cycles)> progress = {};
  // One line each: what a user should know (a damaged file set aside, a run resumed).
  std::function<void(const std::string& line)> note = {};
  // Results and checkpoints that are damaged beyond use are set aside, and the task begins anew.
  bool recompute_damaged = false;
  FinalState final_state = FinalState::automatic;
  bool awaited = false;  // its files will be read again soon
  // Once complete it keeps its lease and its engine: more may be requested. Needs `ready`.
  bool keep_alive = false;
  std::function<std::shared_ptr<const Graph>(const TaskSpec& spec)> graph_of = task_graph;
  std::function<void(const Graph& graph)> on_graph = {};  // called before the task runs
  // Called with the result of a task that was computed, on any thread, perhaps before its state is
  // fetched, its file is written and `done` is called. Throws nothing.
  std::function<void(TaskRecord&& record)> ready = {};
  // Called when the task's files are written and its lease is released, on any thread; without the
  // data if `ready` had them. Throws nothing.
  std::function<void(TaskResult&& result)> done = {};
};

// Error(held) when a finished file holds other physics; Error(data) naming the key when a
// checkpoint does; DamagedTask.
TaskResult run_task(TaskJob job, const TaskRun& run);

// Reads a finished task with at least the measurements asked for; nothing where there is none. It
// takes no lease and changes nothing.
std::optional<TaskData> read_finished(const TaskSpec& spec, const TaskPaths& paths);
std::optional<TaskData> read_finished(const TaskSpec& spec, const std::filesystem::path& file);

// Removes what is left if a process was killed after it published a finished task: its lease, and a
// checkpoint that went no further than the finished file.
void clear_leftovers(const TaskPaths& paths, const TaskData& finished);

}  // namespace rewise
