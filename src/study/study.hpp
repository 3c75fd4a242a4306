// The folder of a study and the executor that fills it (experiments/GUIDE.md):
//
//   study.toml                  the resolved configuration
//   tasks/<id>.h5, .part.h5     finished tasks, checkpoints
//   tasks/tasks.<n>.pack.h5     results archives: many finished tasks (task_pack.hpp)
//   summary.json, summary.csv   results of `tc` or `sweep`; `plot` draws plots/ from them
//
// The settings that determine a task's numbers identify it. A repeated run therefore computes only
// missing tasks, and several processes may share the folder: each task is claimed by a lease.
#pragma once

#include <atomic>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "src/study/executor.hpp"

namespace rewise {

class Study {
 public:
  // Claims the folder (study_folder.hpp). `devices`: CUDA devices that tasks are distributed to;
  // {-1}: the CPU.
  explicit Study(StudyFolder study_folder, std::vector<int> devices = {-1});

  const StudyConfig& config() const { return study_folder_.config(); }
  const StudyFolder& study_folder() const { return study_folder_; }
  const std::filesystem::path& folder() const { return study_folder_.path(); }
  const std::vector<int>& devices() const { return devices_; }
  int threads() const { return threads_; }

  // See Executor::run().
  std::size_t run(std::vector<PlannedTask> tasks, const StopToken& stop, Progress& progress,
                  const TaskHandler& handle);
  void fail(std::exception_ptr what) { executor_.fail(std::move(what)); }
  void finish_files(Progress& progress) { executor_.finish_files(progress); }

  // Like finish_files(), but also ensures that every requested task has its file. If another
  // process took over a lease without writing the file, waits for it or computes the task again.
  // Call before marking the study as finished. Errors as run().
  void complete_files(const StopToken& stop, Progress& progress);

  std::size_t computed() const { return computed_; }  // tasks that had no result file before
  // Changes the purpose of a requested task to "abandoned": no result uses it any more. A later
  // request restores its purpose.
  void abandon(const TaskSpec& spec);
  // The purpose of every task requested so far, by id.
  std::map<std::string, std::string> requested() const;

 private:
  StudyFolder study_folder_;
  const std::vector<int> devices_;
  int threads_ = 1;
  std::atomic<std::size_t> computed_ = 0;
  mutable std::mutex mutex_;                      // of requested_
  std::map<std::string, PlannedTask> requested_;  // by id, with the most measurements requested
  Executor executor_;                             // refers to study_folder_
};

// Derives an independent seed for a purpose from the study's seed and the words of `purpose`. It
// does not depend on the rest of the grid. 63 bits.
std::uint64_t derived_seed(std::uint64_t study_seed, const std::string& purpose);

}  // namespace rewise
