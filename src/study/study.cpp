#include "src/study/study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "src/base/error.hpp"
#include "src/base/profile.hpp"
#include "src/store/lease.hpp"
#include "src/store/syscalls.hpp"
#include "src/store/task_pack.hpp"
#include "src/study/device_choice.hpp"
#include "src/study/graph_stock.hpp"
#include "src/study/need.hpp"
#include "src/study/parse.hpp"
#include "src/study/ranks.hpp"
#include "src/study/resting.hpp"
#include "src/study/shared_ranks.hpp"
#include "src/study/task_group.hpp"

namespace rewise {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstWord = 5s, kNextWords = 60s;  // of a wait for others

// None where memory is so short that what they hold, and their stacks, would be missed.
int host_threads(int threads) {
  constexpr double least = 1u << 30;
  return memory_room().bytes < least ? 0 : threads;
}

// On a CUDA device so many groups of the multispin engine run side by side, each by a worker of its
// own: where one waits for the host, or is too small, the device has another.
constexpr std::size_t kLanes = 3;

// Groups of a CUDA device's worker whose files are still to be written. What they hold is bounded
// by the host threads (host_threads.hpp), a gigabyte in all: a burst of small tasks need not wait
// for its files where others, whose engines take longer, leave time for them.
constexpr std::size_t kMostBehind = 8;

// Engines side by side have this part of what is free: what they need is an estimate, and those of
// Wolff updates take more where there is more.
constexpr double kShareOfFree = 0.7;

}  // namespace

// What workers share: a device's memory, or the CPU's threads, of which a task asks for as many as
// go with its memory, so that those inside never need more than there is. Who asks for more than is
// left waits until others are done; alone anybody may try. Of threads those inside have equal
// parts, more when others leave.
class Room {
 public:
  // `what`: that it is, for a profile; `threads`: to be shared out, none of a device.
  Room(const char* what, int threads, std::function<double()> all)
      : what_(what), threads_(threads), all_(std::move(all)) {}

  template <class F>
  void with(double part, const F& f) {
    {
      std::unique_lock lock(mutex_);
      if (inside_ == 0) room_ = all_();
      const auto fits = [&] { return inside_ == 0 || used_ + part <= room_ * (1 + 1e-9); };
      if (!fits()) {
        const profile::Span span(profile::Work::wait, what_);
        left_.wait(lock, fits);
      }
      used_ += part;
      each_ = threads_ / ++inside_;
    }
    const auto leave = [&] {
      const std::lock_guard lock(mutex_);
      used_ = --inside_ == 0 ? 0 : used_ - part;
      each_ = threads_ / std::max(inside_, 1);
      left_.notify_all();
    };
    try {
      f();
    } catch (...) {
      leave();
      throw;
    }
    leave();
  }
  // Threads of each that is inside just now.
  const std::atomic<int>& each() const { return each_; }

 private:
  const char* const what_;
  const int threads_;
  const std::function<double()> all_;
  std::mutex mutex_;
  std::condition_variable left_;
  int inside_ = 0;
  double used_ = 0, room_ = 0;
  std::atomic<int> each_ = 1;
};

// Small files of many are a burden to every file system: finished tasks go into common ones beside
// whatever runs. Nothing is lost where that fails.
class Packer {
 public:
  explicit Packer(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ~Packer() {
    if (packing_.valid()) packing_.wait();
  }

  void add(const std::vector<StudyTask>& tasks) {
    std::unique_lock lock(mutex_);
    for (const StudyTask& task : tasks) {
      const std::string group = task_group(task.spec);
      groups_[group].insert(task_id(task.spec));
      waiting_.insert(group);
    }
    if (std::exchange(at_work_, true)) return;  // who packs will take them as well
    try {
      if (host_threads(1) > 0) {
        packing_ = std::async(std::launch::async, [this] { pack(); });
        return;
      }
    } catch (const std::system_error&) {  // no thread to be had
    }
    lock.unlock();
    pack();
  }

  // Until all of it is packed. Why tasks stay in files of their own, or "".
  std::string finish() {
    if (packing_.valid()) packing_.get();
    if (thrown_) std::rethrow_exception(thrown_);
    return failed_;
  }

 private:
  void pack() {
    std::unique_lock lock(mutex_);
    try {
      while (!waiting_.empty()) {
        const std::string group = waiting_.extract(waiting_.begin()).value();
        // With those that were too few for a pack before.
        const std::vector<std::string> ids(groups_[group].begin(), groups_[group].end());
        lock.unlock();
        pack_group(group, ids);
        lock.lock();
      }
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      thrown_ = std::current_exception();
    }
    at_work_ = false;
  }

  void pack_group(const std::string& group, const std::vector<std::string>& ids) {
    const profile::Span span(profile::Work::files, "pack tasks");
    try {
      pack_tasks(folder_, group, ids);
    } catch (const LeaseLost&) {
      // Whoever has it packs them.
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::io && error.exit_code() != ExitCode::data) throw;
      failed_ = fmt::format("warning: finished tasks stay in files of their own: {}", error.what());
    }
  }

  const std::filesystem::path folder_;
  std::mutex mutex_;
  std::map<std::string, std::set<std::string>> groups_;  // ids of what was asked for
  std::set<std::string> waiting_;                        // groups
  bool at_work_ = false;
  std::string failed_;
  std::exception_ptr thrown_;
  std::future<void> packing_;
};

// What tasks share that run at the same time.
struct Study::Shared {
  Shared(const StudyFolder& folder, int most)
      : place(folder),
        threads(most),
        packer(folder.path() / "tasks"),
        host(host_threads(most)),
        graphs(host),
        resting([this](std::exception_ptr what) { fail(std::move(what)); }) {}

  // Every batch ends with the groups that it is at; what went wrong first is thrown by all.
  void fail(std::exception_ptr what) {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::move(what);
    failed = true;
  }
  void check() {
    const std::lock_guard lock(mutex);
    if (failure) std::rethrow_exception(failure);
  }

  const StudyFolder& place;
  const int threads;  // of the CPU
  std::mutex mutex;
  std::condition_variable fewer;
  std::size_t running = 0;  // batches that have memory
  std::exception_ptr failure;
  std::atomic<bool> failed = false;
  // Measurements of the tasks that this process brought to their end, by id: who is asked for more
  // need not be read to see that it lacks them.
  std::map<std::string, std::uint64_t> measured;
  // Tasks whose result is taken and whose file another process was to write, by id.
  std::set<std::string> unwritten;
  std::map<int, Room> rooms;  // by device
  Packer packer;
  HostThreads host;
  GraphStock graphs;
  std::vector<std::shared_ptr<Batch>> behind;  // whose results are taken
  RestingGroups resting;                       // of those, or of ones that run
};

namespace {

// Of what is no good and has no good copy: what its task said, and every other file of the folder
// whose digest does not fit, so that one look is enough.
std::string damaged_text(const std::filesystem::path& folder, std::vector<std::string> said) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder / "tasks", error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::filesystem::path& file = entry->path();
    const std::string name = file.string();
    if (file.extension() != ".h5" || std::any_of(said.begin(), said.end(), [&](const auto& line) {
          return line.find(name) != std::string::npos;
        })) {
      continue;
    }
    const SealedRead read = read_sealed(file);
    if (read.state != SealState::damaged ||
        read_sealed(previous_path(file)).state == SealState::good) {
      continue;
    }
    said.push_back(fmt::format("{} ({})", name, read.problem));
  }
  return fmt::format(
      "{} damaged: {}; all other tasks that could be done now are done; "
      "--recompute-damaged sets the damaged ones aside and computes them again",
      said.size() == 1 ? "a result is" : fmt::format("{} results are", said.size()),
      fmt::join(said, "; "));
}

}  // namespace

// Tasks that were handed to Study::run. Some workers per device, or one per thread of the CPU, run
// groups of them one after another. Beside it host threads look for results, claim tasks and build
// the graphs of its next group, and reduce what those of the ones before it hold and write their
// files: a worker waits where those of many are not written. The last files are written while
// whoever asked for the tasks goes on with their results.
class Batch : public std::enable_shared_from_this<Batch> {
 public:
  // `workers`: the devices that they run tasks on; `cores`: of the CPU, that go with a task's
  // memory.
  Batch(const std::filesystem::path& folder, std::vector<StudyTask> tasks, TaskRun run,
        const StudyConfig& config, std::vector<int> workers, double cores, Study::Shared& shared,
        Progress& progress, const TaskHandler& handle)
      : folder_(folder),
        tasks_(std::move(tasks)),
        run_(std::move(run)),
        config_(config),
        progress_(progress),
        handle_(handle),
        shared_(shared),
        host_(shared.host),
        workers_(std::move(workers)),
        devices_(std::set<int>(workers_.begin(), workers_.end()).size()),
        started_(workers_.size()),
        cores_(cores),
        missing_(tasks_.size()) {
    pending_.resize(tasks_.size());
    std::iota(pending_.begin(), pending_.end(), std::size_t{0});
    // The longest first, so that no thread is left alone with a long one at the end.
    std::stable_sort(pending_.begin(), pending_.end(), [&](std::size_t a, std::size_t b) {
      return tasks_[a].seconds < tasks_[b].seconds;
    });
  }

  // Until all results are taken, or nothing is done any more; then whether they are.
  bool work() {
    ended_ = false;
    try {
      thread_ = std::jthread([this] { run(); });
    } catch (const std::exception&) {  // no thread to be had
      run();
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return missing_ == 0 || ended_; });
    return missing_ == 0;
  }
  // Until all files are written.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
  }

  bool has_ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  std::size_t computed() const { return computed_; }  // whose results were not there
  bool has_one_of(const std::set<std::string>& ids) const {
    return std::any_of(tasks_.begin(), tasks_.end(),
                       [&](const StudyTask& task) { return ids.contains(task_id(task.spec)); });
  }

 private:
  using Group = std::unique_ptr<TaskGroup>;
  enum class Longest { first, last };

  void run() {
    guarded([&] {
      take_resting();
      take_finished();
      for (const std::size_t k : pending_) left_ += tasks_[k].seconds;
      share_ = left_ / static_cast<double>(workers_.size());
      std::vector<std::jthread> threads;
      guarded([&] { start(threads); });
      loop(workers_.front(), true);
    });
    ahead_.clear();  // after what they are at
    ready_.clear();  // what they claimed is let go
    guarded([&] {
      // Of a job's ranks the one that marks the study finished, so that nothing changes after that.
      if (!over() && shared_.place.leads() && damaged_.empty()) shared_.packer.add(tasks_);
      if (!damaged_.empty()) throw Error(ExitCode::data, damaged_text(folder_, damaged_));
    });
    for (RestingGroups::Entry& entry : resumed_) {  // who was told to stop before
      guarded([&] { rest(entry); });
    }
    resumed_.clear();
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  bool over() const { return over_ || shared_.failed; }

  // Those that rest go on with the engines that they have.
  void take_resting() {
    std::map<std::string, std::size_t> index;
    for (const std::size_t k : pending_) index[task_id(tasks_[k].spec)] = k;
    std::set<std::string> ids;
    for (const auto& [id, k] : index) ids.insert(id);
    resumed_ = shared_.resting.take(ids);
    for (const RestingGroups::Entry& entry : resumed_) {
      for (const std::string& id : entry.ids) {
        if (const auto asked = index.find(id); asked != index.end()) {
          std::erase(pending_, asked->second);
        }
      }
    }
  }

  // One of these, for a worker of its device; or of a device that no worker has.
  Group take_resumed(int device) {
    RestingGroups::Entry entry;
    std::vector<TaskJob> jobs;
    {
      const std::lock_guard lock(mutex_);
      const auto fits = std::ranges::find_if(resumed_, [&](const auto& one) {
        const int own = one.group->device();
        const auto end = workers_.begin() + static_cast<std::ptrdiff_t>(started_);
        return own == device || std::find(workers_.begin(), end, own) == end;
      });
      if (fits == resumed_.end()) return nullptr;
      entry = std::move(*fits);
      resumed_.erase(fits);
      before_.push_back(entry.written);
    }
    for (std::size_t k = 0; k < tasks_.size(); ++k) {
      if (entry.ids.contains(task_id(tasks_[k].spec))) jobs.push_back(job(k));
    }
    entry.group->ask_more(std::move(jobs));
    return std::move(entry.group);
  }

  void make_room_beside_resting(int device, double bytes) {
    if (shared_.resting.empty() || bytes <= kShareOfFree * free_memory(device)) return;
    shared_.resting.end_all();
    shared_.resting.wait();
  }

  // A group some of whose tasks rest: for whoever asks more of them, if there is room.
  void rest(Group& group) {
    RestingGroups::Entry entry;
    entry.ids = group->resting();
    if (entry.ids.empty()) return;
    group->wait_for_host();  // a batch ends when all results are taken
    entry.host = group->host_bytes();
    entry.device = group->device_bytes();
    entry.group = std::move(group);
    entry.written = [self = shared_from_this(), ids = entry.ids] { self->pack(ids); };
    rest(entry);
    group = std::move(entry.group);
  }
  void rest(RestingGroups::Entry& entry) {
    if (!shared_.resting.add(entry)) entry.group->end();
  }
  // Tasks that have ended after this batch.
  void pack(const std::set<std::string>& ids) {
    if (shared_.failed || !shared_.place.leads()) return;
    guarded([&] {
      std::vector<StudyTask> some;
      for (const StudyTask& task : tasks_) {
        if (ids.contains(task_id(task.spec))) some.push_back(task);
      }
      shared_.packer.add(some);
    });
  }

  // Those that are finished, all host threads at once.
  void take_finished() {
    std::vector<char> found(tasks_.size());
    guarded([&] {
      host_.for_each(tasks_.size(), [&](std::size_t k) {
        if (!over() && !run_.stop.stop_requested()) found[k] = look_for_result(k);
      });
    });
    std::erase_if(pending_, [&](std::size_t k) { return found[k] != 0; });
  }

  // The other workers. The numbers do not depend on how many there are.
  void start(std::vector<std::jthread>& threads) {
    for (std::size_t k = 1; k < workers_.size(); ++k) {
      try {
        const int device = workers_[k];
        threads.emplace_back([this, device, first = k < devices_] { loop(device, first); });
      } catch (const std::system_error& error) {
        progress_.line(fmt::format("warning: {} workers instead of {}: {}", k, workers_.size(),
                                   error.code().message()));
        const std::lock_guard lock(mutex_);
        started_ = k;
        return;
      }
    }
  }

  // `first` of its device: while the others make ready what takes longest it has what takes least.
  void loop(int device, bool first) {
    guarded([&] {
      // A CPU that has a task on each thread has nothing to gain.
      const bool looks_ahead = device >= 0 || run_.engine.threads > 1;
      Longest order = first && device >= 0 ? Longest::last : Longest::first;
      std::deque<Group> behind;  // their files are being written
      while (!over()) {
        Group group = take_ready(device);
        if (over()) return;  // what it claimed is let go
        if (group == nullptr) group = prepare(device, std::exchange(order, Longest::first), false);
        if (group == nullptr) {
          behind.clear();  // a task of them may have to be done again
          group = prepare(device, Longest::first, false);
          if (group == nullptr) return;
        }
        if (looks_ahead) prepare_ahead(device);
        const double part = device < 0 ? cores_ : group->device_bytes();
        if (device >= 0) make_room_beside_resting(device, part);
        shared_.rooms.at(group->device()).with(part, [&] { group->run(); });
        rest(group);
        if (group != nullptr) behind.push_back(std::move(group));
        while (!behind.empty() && behind.front()->has_written()) behind.pop_front();
        if (behind.size() > (device < 0 ? 1 : kMostBehind)) {
          const profile::Span span(profile::Work::wait, "files");
          behind.pop_front();
        }
      }
    });
  }

  // What is thrown ends this batch and all others.
  template <class F>
  void guarded(const F& f) {
    try {
      f();
    } catch (...) {
      shared_.fail(std::current_exception());
    }
  }

  // A group that rested on this device, or that was made ready, for whichever worker comes first.
  Group take_ready(int device) {
    if (Group group = take_resumed(device)) return group;
    std::unique_lock lock(mutex_);
    const auto none_to_come = [this] { return !ready_.empty() || preparing_ == 0; };
    if (!none_to_come()) {
      const profile::Span span(profile::Work::wait, "graphs");
      changed_.wait(lock, none_to_come);
    }
    if (ready_.empty()) return nullptr;
    Group group = std::move(ready_.front());
    ready_.pop_front();
    group->go_to(device);
    return group;
  }

  // Beside what runs; as many as there are workers. Where no thread is to be had, a worker makes
  // its next group ready by itself.
  void prepare_ahead(int device) {
    const auto work = [this, device] {
      guarded([&] {
        if (Group group = prepare(device, Longest::first, true)) {
          const std::lock_guard lock(mutex_);
          ready_.push_back(std::move(group));
        }
      });
      end_preparing();
    };
    std::future<void>* thread = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (ready_.size() + preparing_ >= workers_.size()) return;
      thread = &ahead_.emplace_back();
      ++preparing_;
    }
    try {
      *thread = std::async(std::launch::async, work);
    } catch (const std::exception&) {
      end_preparing();
    }
  }
  void end_preparing() {
    const std::lock_guard lock(mutex_);
    --preparing_;
    changed_.notify_all();
  }

  // The next tasks, on CUDA several alike (but none that another worker should have), ready to run;
  // nothing where none are left.
  Group prepare(int device, Longest order, bool ahead) {
    while (!over()) {
      const auto some = take(device, std::exchange(order, Longest::first));  // then those not held
      if (some.empty()) return nullptr;
      std::vector<char> found(some.size());
      host_.for_each(some.size(), [&](std::size_t k) { found[k] = look_for_result(some[k]); });
      std::vector<TaskJob> jobs;
      for (std::size_t k = 0; k < some.size(); ++k) {
        if (found[k] == 0) jobs.push_back(job(some[k]));
      }
      if (jobs.empty()) continue;
      TaskRun run = run_;
      run.engine.device = device;
      const int most = device < 0 ? shared_.threads : run_.engine.threads;
      run.engine.threads = useful_threads(jobs.front().spec, most);
      if (device < 0) run.engine.threads_now = &shared_.rooms.at(device).each();
      auto group = std::make_unique<TaskGroup>(std::move(jobs), run, host_, ahead);
      if (ahead && run_.stop.stop_requested()) over_ = true;
      if (group->open()) return group;
      group.reset();
      wait_for_others();
    }
    return nullptr;
  }

  std::vector<std::size_t> take(int device, Longest order) {
    const std::lock_guard lock(mutex_);
    std::vector<std::size_t> group;
    if (pending_.empty()) return group;
    if (order == Longest::last) std::ranges::reverse(pending_);
    const StudyTask& first = tasks_[pending_.back()];
    // No more than a worker's share of the work and, towards the end, than a device's of what is
    // left; and where files take long half of what is left to each, so that those of the first are
    // written while the last are still being measured.
    const double share = std::min(share_, left_ / static_cast<double>(devices_)) * (1 - 1e-9);
    const GroupSize size = group_size(first.spec);
    const std::size_t half = (pending_.size() + 2 * workers_.size() - 1) / (2 * workers_.size());
    const std::size_t most = device < 0 ? 1 : std::clamp(half, size.least, size.most);
    double seconds = 0;
    for (std::size_t k = pending_.size(); k-- > 0 && group.size() < most;) {
      if (seconds >= share && group.size() >= size.fewest) break;
      const StudyTask& task = tasks_[pending_[k]];
      if (!group.empty() && !run_together(first.spec, task.spec)) continue;
      group.push_back(pending_[k]);
      seconds += task.seconds;
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(k));
    }
    left_ -= seconds;
    if (order == Longest::last) std::ranges::reverse(pending_);
    return group;
  }

  // A pause once nothing is left but tasks that others hold. Whose lease is not renewed loses it in
  // the end (lease.hpp): no wait is for ever.
  void wait_for_others() {
    using Clock = std::chrono::steady_clock;
    bool only_held = false;
    std::string word;
    {
      const std::lock_guard lock(mutex_);
      only_held = held_in_a_row_ > 0 && held_in_a_row_ >= pending_.size();
      if (only_held) {
        const auto now = Clock::now();
        if (!waiting_since_) told_ = *(waiting_since_ = now);
        if (now - told_ >= (told_ == *waiting_since_ ? kFirstWord : kNextWords)) {
          told_ = now;
          const std::chrono::duration<double> waited = now - *waiting_since_;
          word = fmt::format("waiting for {} for {}: {} task(s) held by others, such as {}",
                             holder_, duration_text(waited.count()), pending_.size(), waits_for_);
        }
      }
    }
    if (!word.empty()) progress_.line(word);
    if (only_held) {
      shared_.resting.end_all();  // others may wait for those
      const profile::Span span(profile::Work::wait, "tasks that others hold");
      std::this_thread::sleep_for(200ms);
    }
    if (run_.stop.stop_requested()) over_ = true;
  }

  // Whether it is there; it is reduced then.
  bool look_for_result(std::size_t index) {
    const StudyTask& task = tasks_[index];
    const std::string id = task_id(task.spec);
    const TaskPaths paths = task_paths(folder_, id, task_group(task.spec));
    {
      // Whether another process has measured more since, its owner-to-be will see.
      const std::lock_guard lock(shared_.mutex);
      const auto known = shared_.measured.find(id);
      if (known != shared_.measured.end() && known->second < task.spec.measure) return false;
    }
    std::optional<TaskData> data;
    try {
      const profile::Span span(profile::Work::look, "result");
      data = read_finished(task.spec, paths);
    } catch (const Error& error) {  // whoever holds its lease may know of a good copy
      if (error.exit_code() != ExitCode::data) throw;
    }
    if (!data) return false;
    clear_leftovers(paths, *data);
    progress_.skip(task.seconds);
    done();
    reduce(index, std::move(*data));
    return true;
  }

  TaskJob job(std::size_t index) {
    const StudyTask& task = tasks_[index];
    TaskJob job;
    job.spec = task.spec;
    job.paths = task_paths(folder_, task.spec);
    const auto reported = std::make_shared<double>(0);
    job.progress = [this, &task, reported](std::uint64_t cycles) {
      const double part =
          task.seconds * static_cast<double>(cycles) / static_cast<double>(task.spec.cycles());
      *reported += part;
      progress_.add(part);
    };
    job.note = [this, &task](const std::string& line) { progress_.line(task.label + ": " + line); };
    job.recompute_damaged = config_.recompute_damaged;
    if (!config_.keep_states || !task.extends) job.final_state = FinalState::none;
    job.awaited = task.purpose == "pilot";  // until it is long enough
    job.may_grow = task.may_rest && shared_ranks() == nullptr;
    job.graph_of = [this](const TaskSpec& spec) { return shared_.graphs.take(spec); };
    job.on_graph = task.on_graph;
    job.ready = [this, index, reported](TaskRecord&& record) {
      guarded([&] {
        progress_.finished();
        ++computed_;
        take_result(index, *reported, {std::move(record), {}});
      });
    };
    job.done = [this, index, reported](TaskResult&& result) {
      guarded([&] { book(index, *reported, std::move(result)); });
    };
    return job;
  }

  void book(std::size_t index, double reported, TaskResult&& result) {
    const StudyTask& task = tasks_[index];
    if (result.error) return note_failure(result.error);
    switch (result.outcome) {
      case TaskOutcome::held:
        return give_back(index, result.message);
      case TaskOutcome::lost:
        progress_.line(task.label + ": " + result.message);
        return give_back(index, "its new owner");
      case TaskOutcome::interrupted:
        over_ = true;
        return;
      case TaskOutcome::finished:
        return note_measured(task.spec);
      case TaskOutcome::unwritten: {
        const std::lock_guard lock(shared_.mutex);
        shared_.unwritten.insert(task_id(task.spec));
        return;
      }
      case TaskOutcome::already:
        result.data.state = {};
        return take_result(index, reported, std::move(result.data));
    }
  }

  void take_result(std::size_t index, double reported, TaskData&& data) {
    progress_.skip(tasks_[index].seconds - reported);  // what a checkpoint had spared
    done();
    reduce(index, std::move(data));
  }

  // A damaged file is one task's matter: the others go on, and all of them are named in the end.
  void note_failure(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::data) throw;
      const std::lock_guard lock(mutex_);
      damaged_.emplace_back(error.what());
    }
  }

  // What somebody else is at: to the end of the line.
  void give_back(std::size_t index, const std::string& holder) {
    const std::lock_guard lock(mutex_);
    pending_.insert(pending_.begin(), index);
    left_ += tasks_[index].seconds;
    ++held_in_a_row_;
    holder_ = holder;
    waits_for_ = tasks_[index].label;
  }

  void reduce(std::size_t index, TaskData&& data) {
    const profile::Span span(profile::Work::reduce, tasks_[index].label);
    handle_(index, std::move(data));
    const std::lock_guard lock(mutex_);
    --missing_;
    changed_.notify_all();
  }

  void note_measured(const TaskSpec& spec) {
    const std::string id = task_id(spec);
    const std::lock_guard lock(shared_.mutex);
    shared_.measured[id] = spec.measure;
    shared_.unwritten.erase(id);
  }

  void done() {
    const std::lock_guard lock(mutex_);
    held_in_a_row_ = 0;
    waiting_since_.reset();
  }

  const std::filesystem::path& folder_;
  const std::vector<StudyTask> tasks_;
  const TaskRun run_;
  const StudyConfig& config_;
  Progress& progress_;
  const TaskHandler& handle_;  // until the last result is taken
  Study::Shared& shared_;
  HostThreads& host_;
  const std::vector<int> workers_;
  const std::size_t devices_;  // of them
  std::size_t started_;        // the first of them run
  const double cores_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t missing_;                        // of them
  bool ended_ = true;                          // nothing is done, or will be
  std::vector<std::size_t> pending_;           // taken from the back
  std::vector<RestingGroups::Entry> resumed_;  // groups of which more is asked
  std::vector<std::function<void()>> before_;  // what such groups had to call: they keep batches
  std::deque<Group> ready_;                    // to be run
  std::size_t preparing_ = 0;                  // groups that will be ready, or nothing
  std::list<std::future<void>> ahead_;         // threads that make them ready
  double left_ = 0, share_ = 0;                // seconds of those pending; a worker's of all
  std::size_t held_in_a_row_ = 0;
  std::string holder_, waits_for_;  // who holds a task, and which
  std::optional<std::chrono::steady_clock::time_point> waiting_since_;  // for nothing but others
  std::chrono::steady_clock::time_point told_;
  std::vector<std::string> damaged_;
  std::atomic<bool> over_ = false;
  std::atomic<std::size_t> computed_ = 0;
  std::jthread thread_;  // uses all of the above
};

namespace {

// Fewer tasks at a time, each with more threads, where all of them would not fit; at least one
// worker for each of `devices`. `beside`: other lists of tasks that run, whose graphs may be there
// while they wait. Error(device) where that does not fit.
std::string fit_memory(const std::vector<StudyTask>& tasks, int threads, bool on_cpu,
                       std::size_t devices, std::size_t beside, std::vector<int>& workers) {
  const auto need_of = [&](const StudyTask& task, std::size_t at_a_time) {
    const int each = std::max(1, threads / static_cast<int>(at_a_time));
    MemoryNeed need = memory_need(task.spec, useful_threads(task.spec, each), !on_cpu, true);
    if (on_cpu) need.graph *= 1 + static_cast<double>(beside);
    return need;
  };
  const auto largest =
      std::max_element(tasks.begin(), tasks.end(), [&](const StudyTask& a, const StudyTask& b) {
        return need_of(a, 1).most() < need_of(b, 1).most();
      });
  const std::size_t least = on_cpu ? 1 : devices;
  if (!on_cpu) {  // groups that run, are prepared and are written; a quarter of what is left
    const double each = need_of(*largest, 1).of_task();
    const auto group = [&] {  // no more than a worker's share
      const std::size_t share = (tasks.size() + workers.size() - 1) / workers.size();
      return each * static_cast<double>(std::min(group_size(largest->spec).most, share));
    };
    while (workers.size() > least &&
           3 * static_cast<double>(workers.size()) * group() > 0.25 * memory_room().bytes) {
      workers.pop_back();
    }
  }
  const auto fit = [&] {
    const auto check = [&](std::size_t at_a_time) {
      return check_memory(need_of(*largest, at_a_time), at_a_time);
    };
    std::string line = check(workers.size());
    return workers.size() > tasks.size() ? check(tasks.size()) : line;
  };
  for (; workers.size() > least; workers.pop_back()) {
    try {
      return fit();
    } catch (const Error&) {
      continue;  // one less
    }
  }
  return fit();
}

}  // namespace

Study::Study(StudyFolder place, std::vector<int> devices)
    : place_(std::move(place)), devices_(std::move(devices)) {
  const int all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  threads_ =
      config().threads > 0 ? config().threads : threads_of(this_rank(), thread_count(0), all);
  shared_ = std::make_unique<Shared>(place_, threads_);
  for (const int device : devices_) {
    const char* what = device < 0 ? "cores that others have" : "the device's memory";
    shared_->rooms.try_emplace(device, what, device < 0 ? threads_ : 0, [this, device] {
      return device < 0 ? double(threads_) : kShareOfFree * free_memory(device);
    });
  }
  place_.claim();
  if (place_.leads()) place_.clear_temporaries();
  if (config().recompute_damaged && place_.leads()) {
    for (const std::string& line : repair_packs(folder() / "tasks")) {
      fmt::print(stderr, "warning: {}\n", line);
    }
  }
}

// Batches that have not ended add to those that rest.
Study::~Study() {
  wait_for_files([](Batch&) { return true; });
}

void Study::fail(std::exception_ptr what) { shared_->fail(std::move(what)); }

void Study::expect_graphs(const std::vector<TaskSpec>& likely) {
  constexpr double most = 1u << 30;  // bytes
  if (devices_.front() < 0) return;  // engines have the threads
  shared_->graphs.expect(likely, std::min(most, memory_room().bytes / 16));
}

void Study::end_resting(const std::set<std::string>& ids) { shared_->resting.end(ids); }

void Study::end_all_files() {
  shared_->resting.end_all();
  wait_for_files([](Batch&) { return true; });
  shared_->resting.end_all();
  shared_->resting.wait();
}

void Study::finish_files(Progress& progress) {
  {
    const profile::Span span(profile::Work::wait, "files");
    end_all_files();
  }
  shared_->check();
  const profile::Span span(profile::Work::wait, "packs");
  const std::string failed = shared_->packer.finish();
  if (!failed.empty()) progress.line(failed);
}

void Study::complete_files(const StopToken& stop, Progress& progress) {
  finish_files(progress);
  if (!place_.leads()) return;
  std::vector<std::string> problems;  // of damaged packs: what they held counts as missing
  std::set<std::string> stored;
  for (const StoredTask& task : stored_tasks(folder() / "tasks", problems)) stored.insert(task.id);
  std::vector<StudyTask> missing;
  for (const auto& [id, task] : asked_) {
    if (!stored.contains(id) || shared_->unwritten.contains(id)) missing.push_back(task);
  }
  while (!missing.empty()) {
    shared_->unwritten.clear();
    progress.line(
        fmt::format("{} task(s) have no file yet, such as {}: waiting for other "
                    "processes, or computing them again",
                    missing.size(), missing.front().label));
    run(std::move(missing), stop, progress, [](std::size_t, TaskData&&) {});
    finish_files(progress);
    missing.clear();
    for (const std::string& id : shared_->unwritten) missing.push_back(asked_.at(id));
  }
}

std::map<std::string, std::string> Study::asked() const {
  std::map<std::string, std::string> purposes;
  for (const auto& [id, task] : asked_) purposes[id] = task.purpose;
  return purposes;
}

// Of those batches of which `which` says so.
void Study::wait_for_files(const std::function<bool(Batch&)>& which) {
  std::vector<std::shared_ptr<Batch>> some;
  {
    const std::lock_guard lock(shared_->mutex);
    auto& behind = shared_->behind;
    for (const auto& batch : behind) {
      if (which(*batch)) some.push_back(batch);
    }
  }
  for (const auto& batch : some) batch->wait();
  const std::lock_guard lock(shared_->mutex);
  std::erase_if(shared_->behind, [](const auto& batch) { return batch->has_ended(); });
}

// Where its memory is not to be had beside another batch it waits for that.
std::string Study::take_memory(const std::vector<StudyTask>& tasks, std::vector<int>& workers) {
  const bool on_cpu = devices_.front() < 0;
  const std::size_t devices = std::min(devices_.size(), workers.size());
  std::unique_lock lock(shared_->mutex);
  for (bool again = false;; again = true) {
    std::vector<int> fitting = workers;
    try {
      std::string line = fit_memory(tasks, threads_, on_cpu, devices, shared_->running, fitting);
      workers = std::move(fitting);
      ++shared_->running;
      return line;
    } catch (const Error&) {
      if (shared_->running == 0 && again) throw;
    }
    if (!again) {  // those that rest have some
      lock.unlock();
      shared_->resting.end_all();
      shared_->resting.wait();
      lock.lock();
    } else {
      shared_->fewer.wait(lock);
    }
  }
}

void Study::give_memory_back() {
  const std::lock_guard lock(shared_->mutex);
  --shared_->running;
  shared_->fewer.notify_all();
}

std::size_t Study::run(std::vector<StudyTask> tasks, const StopToken& stop, Progress& progress,
                       const TaskHandler& handle) {
  if (tasks.empty()) return 0;
  shared_->check();
  std::set<std::string> ids;
  for (const StudyTask& task : tasks) ids.insert(task_id(task.spec));
  wait_for_files([&](Batch& batch) { return batch.has_one_of(ids); });
  const bool on_cpu = devices_.front() < 0;
  std::vector<int> workers;
  if (on_cpu) workers.assign(static_cast<std::size_t>(threads_), -1);
  const bool lanes = std::all_of(tasks.begin(), tasks.end(), [](const StudyTask& task) {
    return traits(task.spec.engine).batches;
  });
  for (std::size_t lane = 0; !on_cpu && lane < (lanes ? kLanes : 1); ++lane) {
    workers.insert(workers.end(), devices_.begin(), devices_.end());
  }
  if (!on_cpu) workers.resize(std::min(workers.size(), tasks.size()));
  const std::string memory = take_memory(tasks, workers);
  // Of fewer tasks than there might be each has more threads, as long as no other batch has any.
  const double cores = double(threads_) / static_cast<double>(workers.size());
  workers.resize(std::min(workers.size(), tasks.size()));
  const std::shared_ptr<void> until_taken(nullptr, [this](void*) { give_memory_back(); });
  bool tell = !memory.empty();
  {
    const std::lock_guard lock(shared_->mutex);
    for (const StudyTask& task : tasks) {
      const auto [known, is_new] = asked_.try_emplace(task_id(task.spec), task);
      StudyTask& asked = known->second;
      if (!is_new) {
        const std::uint64_t measure = std::max(asked.spec.measure, task.spec.measure);
        asked = task;
        asked.spec.measure = measure;
      }
      asked.may_rest = false;
      asked.on_graph = {};  // it may refer to what ends before the study
      asked.speed = nullptr;
    }
    tell = tell && !std::exchange(told_memory_, true);
  }
  if (tell && place_.leads()) progress.line(memory);
  TaskRun run;
  run.engine.threads = std::max(1, threads_ / static_cast<int>(workers.size()));
  run.stop = stop;
  run.checkpoint = config().checkpoint;
  const auto batch = std::make_shared<Batch>(folder(), std::move(tasks), run, config(),
                                             std::move(workers), cores, *shared_, progress, handle);
  const bool complete = batch->work();
  computed_ += batch->computed();
  if (complete) {
    const std::lock_guard lock(shared_->mutex);
    shared_->behind.push_back(batch);
    return batch->computed();
  }
  end_all_files();
  shared_->check();
  wait_for_other_ranks(this_rank(), folder());
  throw Error(ExitCode::interrupted,
              fmt::format("stopped by {}; checkpoints written, the same command goes on from them",
                          stop.reason()));
}

std::uint64_t derived_seed(std::uint64_t study_seed, const std::string& purpose) {
  const std::string text = fmt::format("{}|{}", study_seed, purpose);
  return XXH3_64bits(text.data(), text.size()) >> 1;
}

}  // namespace rewise
