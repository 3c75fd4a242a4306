// A study's folder and the machinery that fills it (experiments/GUIDE.md):
//
//   study.toml                  the resolved configuration
//   tasks/<id>.h5, .part.h5     finished tasks, checkpoints
//   tasks/<group>.<n>.pack.h5   finished tasks of one lattice and p, many in a file (task_pack.hpp)
//   summary.json, summary.csv   what `tc` concludes; plots/ what `plot` draws from them
//
// Tasks are found by what determines their numbers, so running again computes only what is missing,
// and several processes may share the folder: each task is claimed by a lease.
#pragma once

#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/study/config.hpp"
#include "src/study/progress.hpp"
#include "src/study/study_state.hpp"
#include "src/study/task.hpp"

namespace rewise {

class TaskSpeed;  // task_runner.hpp
class Batch;      // study.cpp

struct StudyTask {
  TaskSpec spec;
  std::string label;   // "p = 0.01, 64x64, graph 3"
  double seconds = 0;  // expected on one core; the unit of the progress line
  // What for: "graph" (a result rests on it), "pilot", "scan", "tune".
  std::string purpose = "graph";
  bool extends = true;  // it may be asked for more measurements, for which its state is kept
  // More may be asked of it as soon as its result is looked at: it keeps its engine until
  // Study::end_resting().
  bool may_rest = false;
  std::function<void(const Graph&)> on_graph = {};  // as TaskJob's
  // Of the point whose size number `size` it belongs to, where its search runs it; or none.
  TaskSpeed* speed = nullptr;
  std::size_t size = 0;
};

// Takes each finished task, in any order, on any thread, once; without its final state and, where
// it was computed just now, the hash of that.
using TaskHandler = std::function<void(std::size_t index, TaskData&& data)>;

class Study {
 public:
  // Claims the folder (study_state.hpp). `devices`: the CUDA devices that tasks are dealt out to;
  // {-1}: the CPU.
  explicit Study(StudyFolder place, std::vector<int> devices = {-1});
  ~Study();  // after what is being written and packed

  const StudyConfig& config() const { return place_.config(); }
  const StudyFolder& place() const { return place_; }
  const std::filesystem::path& folder() const { return place_.path(); }
  const std::vector<int>& devices() const { return devices_; }
  int threads() const { return threads_; }
  // Brings all tasks to their end, so that `handle` has taken each one's data; says how many had no
  // file yet. On the CPU `threads` at a time (fewer tasks than threads: several threads each), on
  // CUDA as many alike as fill the device, and some such groups side by side. The numbers do not
  // depend on it. Tasks that another process holds are waited for. The last files are written after
  // that; `progress` is told of them, too. Several threads may run tasks at a time: they share
  // threads and devices, and where one of them fails all do.
  // Error(interrupted) when told to stop, after every running task wrote its checkpoint.
  std::size_t run(std::vector<StudyTask> tasks, const StopToken& stop, Progress& progress,
                  const TaskHandler& handle);
  // Tasks that are likely to be next, the likeliest first, in place of those before: their graphs
  // are built beside a device's work. Whether they come or not, no number depends on it.
  void expect_graphs(const std::vector<TaskSpec>& likely);
  // No more is asked of these, by id, that may_rest: their files are written.
  void end_resting(const std::set<std::string>& ids);
  // Whoever runs tasks ends with the groups that are under way, and throws this.
  void fail(std::exception_ptr what);

  // Until all files are written, and finished tasks packed into common ones; throws what went wrong
  // with one.
  void finish_files(Progress& progress);

  // The same, and every task that was asked for has its file afterwards: one whose lease another
  // process took over, and then did not write it, is waited for or computed again. Call before
  // marking the study as finished. Errors as run().
  void complete_files(const StopToken& stop, Progress& progress);

  std::size_t computed() const { return computed_; }  // tasks that were not there before
  // Every task that was asked for so far: what for, by id.
  std::map<std::string, std::string> asked() const;

  struct Shared;  // study.cpp

 private:
  void end_all_files();
  void wait_for_files(const std::function<bool(Batch&)>& which);
  std::string take_memory(const std::vector<StudyTask>& tasks, std::vector<int>& workers);
  void give_memory_back();

  StudyFolder place_;
  std::vector<int> devices_;
  int threads_ = 1;
  std::atomic<std::size_t> computed_ = 0;
  std::map<std::string, StudyTask> asked_;  // by id, with the most measurements asked for
  bool told_memory_ = false;
  std::unique_ptr<Shared> shared_;  // uses all of the above
};

// A seed of its own for every purpose, from the study's seed and words that name the purpose;
// independent of the grid around it. 63 bit.
std::uint64_t derived_seed(std::uint64_t study_seed, const std::string& purpose);

}  // namespace rewise
