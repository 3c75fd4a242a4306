// One task from its claim to its file: its lease, its data so far, its clocks.
//
//   open, not complete   claimed or running: the thread of its group uses it
//   open, complete       kept: the result was handed over, lease and engine stay
//   not open             a host thread writes its file, then releases the lease and calls `done`
//
// It leaves early, with `done`, as held, lost, already (complete before), interrupted or failed.
#pragma once

#include <chrono>
#include <compare>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/base/error.hpp"
#include "src/engine/share.hpp"
#include "src/store/lease.hpp"
#include "src/study/host_threads.hpp"
#include "src/study/task.hpp"

namespace rewise {

// What an engine does next: `cycles` cycles and, mostly, a measurement.
struct Step {
  std::uint64_t cycles = 1;
  bool measured = false;
  auto operator<=>(const Step&) const = default;
};

// Runs a job on a host thread, so that no engine waits for it; `bytes`: that it holds until then.
using HandOver = std::function<void(double bytes, std::function<void()> job, Urgency urgency)>;

class ClaimedTask {
 public:
  ClaimedTask(TaskJob job, HandOver hand_over)
      : job_(std::move(job)), hand_over_(std::move(hand_over)) {}

  const TaskSpec& spec() const { return job_.spec; }
  const Graph& graph() const { return *graph_; }
  void drop_graph() { graph_.reset(); }  // no engine has it
  bool open() const { return open_; }    // still to be run

  // Runs f; an exception becomes this task's result. After a lost lease the task is left alone.
  template <class F>
  void guarded(const F& f) {
    try {
      f();
    } catch (const LeaseLost& lost) {
      close(TaskOutcome::lost, lost.what());
    } catch (const Error& error) {
      if (error.exit_code() == ExitCode::interrupted) return abandon();
      fail();
    } catch (...) {
      fail();
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
  // What its engine has measured, some of it or all, before it takes the cycles.
  void append(const Samples& some);
  void take(std::uint64_t cycles);
  void spend(double seconds) { seconds_ += seconds; }

  bool complete() const { return measurements() >= spec().measure; }
  // A complete task passes its result on before its state is fetched; then its file is written.
  void hand_over_result();
  void finish();
  bool kept() const { return open_ && job_.keep_alive && handed_over_ && complete(); }
  // A job of the same task with more measurements. Its engine goes on.
  void continue_with(TaskJob job);
  void interrupt();
  // Stopped before its engine made a step.
  void abandon();
  // Writes one if the last one is that old, and on disk. Rethrows the error of the last one.
  void checkpoint_after(double seconds);

 private:
  std::uint64_t measurements() const { return data_.bond_sum.time(); }
  bool equilibrating() const { return cycles_ < spec().discarded_cycles(); }
  std::string progress_text() const;
  void say(const std::string& line) const {
    if (job_.note) job_.note(line);
  }
  void close(TaskOutcome outcome, std::string message = "") {
    result_.outcome = outcome;
    result_.message = std::move(message);
    {
      std::unique_lock lock(checkpoint_.mutex);
      checkpoint_.ended.wait(lock, [this] { return !checkpoint_.under_way; });
    }
    lease_.reset();
    if (open_) open_ = false;  // else a host thread has it, while the group's may look
    if (job_.done) job_.done(std::move(result_));
  }
  void fail() {
    result_.error = std::current_exception();
    close(TaskOutcome::finished);
  }
  void hand_over_record();
  void leave(void (ClaimedTask::*write)());
  Urgency file_urgency() const { return job_.awaited ? Urgency::awaited : Urgency::file; }
  void write_finished();
  void write_interrupted();
  void wait_for_checkpoint();
  double bytes() const;  // of data_
  std::optional<TaskData> load(const std::filesystem::path& file);
  std::optional<TaskData> load_furthest();
  void check_source(const std::function<void()>& check) const;
  // A state in the data; whole, or where ranks can do so in parts that are files already, those of
  // a task file.
  enum class Saved { no, whole, apart };
  void pack(Saved how, const std::filesystem::path& file = {});
  void save_apart(const SavesApart& engine, const std::filesystem::path& file);
  Saved saved_at_end() const;
  bool take_parts(TaskData& finished);
  void write_checkpoint(const TaskData& data);
  void note_measured();
  void note_provenance(std::optional<std::uint64_t> hash);

  TaskJob job_;
  HandOver hand_over_;
  TaskResult result_;
  bool open_ = true;
  std::optional<Lease> lease_;
  std::shared_ptr<const Graph> graph_;  // none of a task of the bitlattice engine
  Engine* engine_ = nullptr;
  TaskData data_;
  std::filesystem::path source_;             // of data_, where it was read
  bool warmed_up_ = false;                   // in this process; its state is in data_ alone
  bool resumes_ = false, replaces_ = false;  // has a state to go on from; has a finished file
  bool handed_over_ = false;                 // its result
  bool in_parts_ = false;                    // there may be files of parts of its states
  std::uint64_t cycles_ = 0;
  double seconds_ = 0;                           // of the group's time, this task's share
  std::chrono::steady_clock::time_point saved_;  // when the last checkpoint began
  struct {
    std::mutex mutex;
    std::condition_variable ended;
    bool under_way = false;
    std::exception_ptr error;
  } checkpoint_;
  struct {
    double seconds = 0, updating = 0, measuring = 0, updates = 0;
    ClusterSteps steps;
  } counted_;  // already in the provenance
};

}  // namespace rewise
