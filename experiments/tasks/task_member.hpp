// One task of a group (task_group.hpp): its lease, its data so far, its clocks; what it does next.
#pragma once

#include <chrono>
#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/tasks/task_group.hpp"
#include "src/base/error.hpp"
#include "src/store/lease.hpp"

namespace rewise {

// What an engine does next: `cycles` cycles and, mostly, a measurement.
struct Step {
  std::uint64_t cycles = 1;
  bool measured = false;
  auto operator<=>(const Step&) const = default;
};

// One task of the group: its lease, its data so far, its clocks.
class TaskMember {
 public:
  explicit TaskMember(TaskJob job) : job_(std::move(job)) {}

  const TaskSpec& spec() const { return job_.spec; }
  const Graph& graph() const { return *graph_; }
  bool open() const { return open_; }  // still to be run
  TaskResult& result() { return result_; }

  // Runs f; what it throws becomes this task's result. Who has lost the lease leaves the task.
  template <class F>
  void guarded(const F& f) {
    try {
      f();
    } catch (const LeaseLost& lost) {
      close(TaskOutcome::lost, lost.what());
    } catch (const Error& error) {
      if (error.exit_code() == ExitCode::interrupted) return abandon();
      close(TaskOutcome::finished);
      result_.error = std::current_exception();
    } catch (...) {
      close(TaskOutcome::finished);
      result_.error = std::current_exception();
    }
  }

  void claim();
  // The engine of what it does now; the state that it goes on from is its data's, if any.
  void attach(Engine& engine);
  void detach();

  // Whether the warm-up is still to be done, or being done: its engine has updates of its own.
  bool warming() const { return cycles_ < spec().warm_up.cycles; }
  EngineSpec engine_spec() const;

  // The next step, where `budget` cycles are enough for one call of the engine, and how many times.
  Step next(std::uint64_t budget, std::size_t& count) const;
  void take(std::uint64_t cycles, const std::vector<Observation>& taken);
  void spend(double seconds) { seconds_ += seconds; }

  bool complete() const { return measurements() >= spec().measure; }
  void finish();
  void interrupt();
  // Stopped before its engine made a step.
  void abandon();
  // Where the last one is that old.
  void checkpoint_after(double seconds);

 private:
  std::uint64_t measurements() const { return data_.energy.time(); }
  std::string progress_text() const;
  void say(const std::string& line) const {
    if (job_.note) job_.note(line);
  }
  void close(TaskOutcome outcome, std::string message = "") {
    result_.outcome = outcome;
    result_.message = std::move(message);
    lease_.reset();
    open_ = false;
  }
  std::optional<TaskData> load(const std::filesystem::path& file);
  std::optional<TaskData> load_furthest();
  void check_source(const std::function<void()>& check) const;
  void save(const std::filesystem::path& file);
  void append(const Observation& observation);
  void pack();
  void note_provenance();

  TaskJob job_;
  TaskResult result_;
  bool open_ = true;
  std::optional<Lease> lease_;
  std::shared_ptr<const Graph> graph_;  // none of a task of the packed engine
  Engine* engine_ = nullptr;
  TaskData data_;
  std::filesystem::path source_;             // of data_, where it was read
  bool warmed_up_ = false;                   // in this process; its state is in data_ alone
  bool resumes_ = false, replaces_ = false;  // has a state to go on from; has a finished file
  std::uint64_t cycles_ = 0;
  double seconds_ = 0;  // of the group's time, this task's share
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
  struct {
    double seconds = 0, updating = 0, measuring = 0, updates = 0;
    ClusterSteps steps;
  } counted_;  // already in the provenance
};

}  // namespace rewise
