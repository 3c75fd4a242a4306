// Runs the tasks of a search and reports its progress.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "src/study/study.hpp"

namespace rewise {

// Measured cost of the tasks of one point, by size: seconds on one core per site and cycle, for all
// replicas of one temperature. Thread-safe.
class TaskSpeed {
 public:
  double seconds(std::size_t size) const;
  // Returns a PlannedTask::on_result for the tasks of a size. It refers to this object, which must
  // not move while they run.
  std::function<void(const TaskData&)> record(std::size_t size);
  bool measured() const;  // any task was timed

 private:
  void note(std::size_t size, const TaskData& data);
  double known(std::size_t size) const {
    return known_.empty() ? 1e-9 : known_[std::min(size, known_.size() - 1)];
  }
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
  std::vector<double> known_;  // [size]
};

class TaskRunner {
 public:
  TaskRunner(Study& study, const StopToken& stop, Progress& progress)
      : study_(study), stop_(stop), progress_(progress), part_(progress.add_part()) {}

  // See Study::run(). Several threads may call it concurrently.
  void run(const std::vector<PlannedTask>& tasks, const TaskHandler& handle);

  // Sets the estimate of the remaining time, in seconds on one core. `now`: the work about to
  // start; `later`: all later work. `guessed`: `later` does not come from measurements.
  void expect(double now, double later, bool guessed = true);

  // Adds seconds on one core that no expect() included: graphs of a moved window, repeated
  // measurements.
  void expect_more(double seconds);

  // Whether any task was computed, not only read, since the last call.
  bool computed_some() { return computed_.exchange(0) > 0; }
  const StudyConfig& config() const { return study_.config(); }
  void stage(const std::string& name) { progress_.stage(name, part_); }

 protected:
  Study& study_;
  const StopToken& stop_;
  Progress& progress_;
  const std::size_t part_;  // part of the progress

 private:
  std::mutex mutex_;                // protects seconds
  double planned_ = 0;              // seconds on one core of all steps with known tasks
  double later_ = 0, guessed_ = 0;  // of all later steps, and the guessed part of it
  std::atomic<std::size_t> computed_ = 0;
};

// Runs all searches concurrently, the first one on the caller's thread and each other one on a new
// thread. A failure of one ends all. If there are failures as well as interruptions, throws a
// failure.
void side_by_side(Study& study, const std::vector<std::function<void()>>& searches);

double seconds_of(std::span<const PlannedTask> tasks);

}  // namespace rewise
