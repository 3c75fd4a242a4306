// One task from its claim to its file: its lease, its data so far and its clocks.
//
//   open      claimed or running; used by the thread of its group
//   not open  a host thread writes its file, releases the lease and calls `done`
//
// A task may end early. It then calls `done` with the outcome held, lost, already_finished (it was
// complete before) or interrupted, or with an error in TaskResult::error.
#pragma once

#include <chrono>
#include <compare>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "src/base/error.hpp"
#include "src/engine/subdomain.hpp"
#include "src/store/lease.hpp"
#include "src/study/host_threads.hpp"
#include "src/study/task.hpp"

namespace rewise {

// The next action of an engine: `cycles` cycles, usually followed by a measurement.
struct EngineCall {
  std::uint64_t cycles = 1;
  bool measured = false;
  auto operator<=>(const EngineCall&) const = default;
};

// Runs a job on a host thread. The job holds `bytes` of memory until it ends.
using HandOver = std::function<void(double bytes, std::function<void()> job, Urgency urgency)>;

class ClaimedTask {
 public:
  ClaimedTask(TaskJob job, HandOver hand_over)
      : job_(std::move(job)), hand_over_(std::move(hand_over)) {}

  const TaskSpec& spec() const { return job_.spec; }
  const Graph& graph() const { return *graph_; }
  void drop_graph() { graph_.reset(); }  // if no engine uses it
  bool open() const { return open_; }    // not finished

  // Runs f and stores an exception as this task's result. A task that lost its lease is abandoned.
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
  // Connects the engine of the current phase and restores the stored state, if any.
  void attach(Engine& engine);
  void detach();

  // True until the warm-up is complete. The warm-up has its own engine.
  bool warming() const { return cycles_ < spec().warm_up.cycles; }
  EngineSpec engine_spec() const;

  // Returns the next call and how often to repeat it; one engine call takes about `budget` cycles.
  EngineCall next_call(std::uint64_t budget, std::size_t& count) const;
  // Adds measurements of the engine. Call it before count_cycles() counts their cycles.
  void append(const Samples& some);
  void count_cycles(std::uint64_t cycles);
  void spend(double seconds) { seconds_ += seconds; }

  bool complete() const { return measurements() >= spec().measure; }
  // Passes the result of a complete task on before its final state is fetched and its file written.
  void hand_over_result();
  void finish();
  void interrupt();
  // Ends a task whose engine was stopped before its first step.
  void abandon();
  // Starts a checkpoint if the last one is older than `seconds` and on disk. Rethrows its error.
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
    if (open_)
      open_ = false;  // if already false, a host thread calls this and the group may read open_
    if (job_.on_closed) job_.on_closed(std::move(result_));
  }
  void fail() {
    result_.error = std::current_exception();
    close(TaskOutcome::finished);
  }
  void hand_over_record();
  void hand_to_writer(void (ClaimedTask::*write)());
  void write_finished();
  void write_interrupted();
  void wait_for_checkpoint();
  double bytes() const;  // size of data_
  std::optional<TaskData> load(const std::filesystem::path& file);
  std::optional<TaskData> load_furthest();
  void check_source(const std::function<void()>& check) const;
  // Stores the state in data_: none, the whole state, or (apart) the names of part files, which the
  // ranks write beside `file`.
  void capture_state(FinalState how, const std::filesystem::path& file = {});
  void save_in_parts(const SavesInParts& engine, const std::filesystem::path& file);
  FinalState saved_at_end() const;
  bool take_parts(TaskData& finished);
  void write_checkpoint(const TaskData& data);
  void note_measured();
  void note_provenance(std::optional<std::uint64_t> hash);

  TaskJob job_;
  HandOver hand_over_;
  TaskResult result_;
  bool open_ = true;
  std::optional<Lease> lease_;
  std::shared_ptr<const Graph> graph_;  // null for the bitlattice engine
  Engine* engine_ = nullptr;
  TaskData data_;
  std::filesystem::path source_;             // file that data_ was read from
  bool warmed_up_ = false;                   // by this process; the state is only in data_
  bool resumes_ = false, replaces_ = false;  // has a state to resume; has a finished file
  bool handed_over_ = false;                 // the result was handed over
  bool in_parts_ = false;                    // part files of its states may exist
  std::uint64_t cycles_ = 0;
  double seconds_ = 0;                           // this task's share of the group's time
  std::chrono::steady_clock::time_point saved_;  // when the last checkpoint began
  struct {
    std::mutex mutex;
    std::condition_variable ended;
    bool under_way = false;
    std::exception_ptr error;
  } checkpoint_;
  struct {
    double seconds = 0, updating = 0, measuring = 0, updates = 0;
    ClusterPhaseTimes phases;
  } counted_;  // already added to provenance
};

}  // namespace rewise
