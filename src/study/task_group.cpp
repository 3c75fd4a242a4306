#include "src/study/task_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

#include "src/base/clock.hpp"
#include "src/base/profile.hpp"
#include "src/study/config.hpp"
#include "src/study/engines.hpp"
#include "src/study/need.hpp"
#include "src/study/parse.hpp"
#include "src/study/shared_ranks.hpp"
#include "src/study/task_member.hpp"

namespace rewise {
namespace {

// What keeps a device busy: words of a sweep, word groups of 32 clusters that grow at once (an H200
// takes 2.1 us for a Wolff update of L = 1024 with 4 word groups, 0.6 with 32:
// tests/bench/RESULTS.md). Memory bounds the latter; and a group's series.
constexpr double kFillingWords = 1 << 22, kFillingGroups = 32, kMostWords = 1 << 26;
constexpr double kWorthwhile = 16;  // sweeps are no slower in groups that fill this part of it
// From so much on files are written for as long as the engines take, about.
constexpr double kLargeSeries = 64.0 * (1 << 20);  // bytes
constexpr double kMostSeries = 2.0 * (1 << 30);    // bytes

// Of the groups of a device.
std::mutex& turn_of(int device) {
  static std::mutex guard;
  static std::map<int, std::mutex> turns;
  const std::lock_guard lock(guard);
  return turns[device];
}

}  // namespace

// The tasks that are to be run, and their engines.
class TaskGroup::Members {
 public:
  Members(std::vector<TaskJob> jobs, const TaskRun& run, HostThreads& host, bool ahead)
      : run_(run), host_(host) {
    const HandOver hand_over = [this](double bytes, std::function<void()> job, Urgency urgency) {
      to_host(bytes, std::move(job), urgency);
    };
    for (TaskJob& job : jobs) members_.emplace_back(std::move(job), hand_over);
    host_.for_each(members_.size(), [&](std::size_t k) {
      const bool over = ahead && run_.stop.stop_requested();
      members_[k].guarded([&] { over ? members_[k].abandon() : members_[k].claim(); });
    });
  }

  ~Members() {
    if (has_rested_ && batch_ != nullptr) {  // what it has measured is in no file
      try {
        end();
      } catch (...) {
        // They are let go as they are.
      }
    }
    wait_for_host();
  }

  bool has_written() {
    const std::lock_guard lock(mutex_);
    return writing_ == 0;
  }
  void wait_for_host() {
    std::unique_lock lock(mutex_);
    written_.wait(lock, [this] { return writing_ == 0; });
  }

  bool open() const {
    return std::any_of(members_.begin(), members_.end(), [](const auto& m) { return m.open(); });
  }

  int device() const { return run_.engine.device; }
  void go_to(int device) { run_.engine.device = device; }
  double device_bytes() const {
    return sum_of_open(
        [](const TaskSpec& spec) { return memory_need(spec, 1, true, true).device; });
  }
  double host_bytes() const {
    return sum_of_open([this](const TaskSpec& spec) {
      return memory_need(spec, 1, device() >= 0, true).of_task();
    });
  }

  // Who warms up does so together, then all measure. Those that rest go on where they are.
  void run() {
    last_ = now();
    if (batch_ == nullptr) {
      begin(true);
      work();
      if (batch_ == nullptr) begin(false);
    }
    work();
  }

  std::set<std::string> resting() const {
    std::set<std::string> ids;
    for (const TaskMember* member : running_) {
      if (member->rests()) ids.insert(task_id(member->spec()));
    }
    return ids;
  }

  void ask_more(std::vector<TaskJob> jobs) {
    std::map<std::string, TaskJob*> asked;
    for (TaskJob& job : jobs) asked[task_id(job.spec)] = &job;
    for (TaskMember* member : running_) {
      if (!member->rests()) continue;
      const auto job = asked.find(task_id(member->spec()));
      member->guarded([&] {
        job == asked.end() ? member->finish() : member->ask_more(std::move(*job->second));
      });
    }
  }

  void end() {
    for (TaskMember* member : running_) {
      if (!member->open()) continue;
      member->guarded([&] { member->complete() ? member->finish() : member->interrupt(); });
    }
    drop_engines();
  }

 private:
  template <class F>
  double sum_of_open(const F& f) const {
    double sum = 0;
    for (const TaskMember& member : members_) {
      if (member.open()) sum += f(member.spec());
    }
    return sum;
  }

  bool is_at_work(const TaskMember& member) const {
    return member.open() && !member.rests() && member.warming() == warming_;
  }

  // Until all of those that have engines are done, or rest.
  void work() {
    const auto busy = [this](const TaskMember* member) { return is_at_work(*member); };
    while (std::any_of(running_.begin(), running_.end(), busy)) round();
    has_rested_ = has_rested_ || !resting().empty();
    if (!resting().empty() || (warming_ && change_updates())) return;
    for (TaskMember* member : running_) {
      if (member->open()) member->guarded([&] { member->detach(); });
    }
    drop_engines();
  }

  // The engines that have warmed up measure, too, where they can: false where it takes new ones.
  bool change_updates() {
    const bool all = batch_ != nullptr && running_.size() == members_.size() &&
                     std::ranges::all_of(running_, [](auto* member) { return member->open(); });
    if (!all || !batch_->change_cluster(running_.front()->spec().cluster)) return false;
    warming_ = false;
    budget_ = 1;
    try {
      in_turn([&] { batch_->prepare(schedule()); });
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::interrupted) throw;
      for (TaskMember* member : running_) member->guarded([&] { member->interrupt(); });
    }
    share_time();
    return true;
  }

  void drop_engines() {
    batch_.reset();
    for (TaskMember& member : members_) {
      if (!member.open()) member.drop_graph();
    }
  }

  // Engines for those who warm up, or for those who have.
  void begin(bool warming) {
    running_.clear();
    warming_ = warming;
    for (TaskMember& member : members_) {
      if (member.open() && member.warming() == warming) running_.push_back(&member);
    }
    const auto make = [&] {
      in_turn([&] {
        batch_ = make_batch();
        batch_->prepare(schedule());
      });
    };
    if (running_.empty() || !prepared(make)) return;
    for (std::size_t k = 0; k < running_.size(); ++k) {
      running_[k]->guarded([&] { running_[k]->attach(batch_->engine(k)); });
    }
    budget_ = 1;
    share_time();
  }

  // On CUDA one group of a device after the other, each by all cores: the device has the first of
  // them while the next are made ready.
  template <class F>
  void in_turn(const F& f) {
    std::unique_lock<std::mutex> mine(turn_of(run_.engine.device), std::defer_lock);
    if (run_.engine.device >= 0 && !mine.try_lock()) {
      const profile::Span span(profile::Work::wait, "groups that are made ready");
      mine.lock();
    }
    f();
  }
  // For a profile.
  std::string text() const {
    if (!profile::started()) return "";
    const TaskSpec& spec = running_.front()->spec();
    return fmt::format("{} of p = {}, {} on {}", running_.size(), number_text(spec.graph.p),
                       extents_text(spec.graph.extents), run_.engine.device);
  }
  const Schedule& schedule() const {
    const TaskSpec& spec = running_.front()->spec();
    return warming_ ? spec.warm_up.schedule : spec.schedule;
  }

  // False where f was stopped in its preparations: no task has made a step with these engines.
  template <class F>
  bool prepared(const F& f) {
    try {
      f();
      return true;
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::interrupted) throw;
    }
    for (TaskMember* member : running_) {
      if (member->open()) member->guarded([&] { member->abandon(); });
    }
    return false;
  }

  std::unique_ptr<EngineBatch> make_batch() const {
    const profile::Span span(profile::Work::prepare, text());
    const EngineKind engine = running_.front()->spec().engine;
    EngineOptions options = run_.engine;
    options.stop = [this] { return run_.stop.stop_requested(); };
    std::vector<GroupTask> tasks;
    std::vector<std::unique_ptr<Engine>> regular;
    for (const TaskMember* member : running_) {
      const EngineSpec spec = member->engine_spec();
      if (needs_graph(member->spec())) {
        tasks.push_back({member->graph(), spec});
        check_spec(member->graph(), spec);
      } else {
        const auto& extents = member->spec().graph.extents;
        regular.push_back(make_engine(engine, nullptr, extents, spec, options));
      }
    }
    return regular.empty() ? rewise::make_batch(engine, tasks, options)
                           : make_plain_batch(std::move(regular));
  }

  // Tasks that take the same step next, and how often they all can.
  struct Company {
    std::vector<std::size_t> who;
    std::size_t count = std::numeric_limits<std::size_t>::max();
  };
  void round();
  void advance(const Step& step, Company& company);
  void share_time();
  void to_host(double bytes, std::function<void()> job, Urgency urgency);

  std::deque<TaskMember> members_;
  std::vector<TaskMember*> running_;  // by number of their engines
  std::unique_ptr<EngineBatch> batch_;
  TaskRun run_;
  HostThreads& host_;
  bool warming_ = false;
  bool has_rested_ = false;
  std::uint64_t budget_ = 1;  // cycles per call of the engines
  double last_ = 0;
  std::mutex mutex_;
  std::condition_variable written_;
  std::size_t writing_ = 0;  // jobs of host threads
};

// What an engine has done: a host thread's job from here on.
void TaskGroup::Members::to_host(double bytes, std::function<void()> job, Urgency urgency) {
  const auto count = [this](std::size_t more) {
    const std::lock_guard lock(mutex_);
    writing_ += more;
    if (writing_ == 0) written_.notify_all();
  };
  count(1);
  try {
    host_.add(
        bytes,
        [count, job = std::move(job)] {
          job();
          count(std::size_t{0} - 1);
        },
        urgency);
  } catch (...) {
    count(std::size_t{0} - 1);
    throw;
  }
}

void TaskGroup::Members::round() {
  std::map<Step, Company> steps;
  for (std::size_t k = 0; k < running_.size(); ++k) {
    if (!is_at_work(*running_[k]) || running_[k]->complete()) continue;
    std::size_t count = 1;
    Company& company = steps[running_[k]->next(budget_, count)];
    company.who.push_back(k);
    company.count = std::min(company.count, count);
  }
  bool stop = false;
  for (auto& [step, company] : steps) {
    if (!prepared([&] { advance(step, company); })) return;
    stop = run_.stop.stop_requested();
    if (stop) break;
  }
  share_time();
  for (TaskMember* member : running_) {
    if (member->open() && member->complete()) {
      member->guarded([&] { member->hand_over_result(); });
    }
  }
  for (TaskMember* member : running_) {
    if (!member->open() || (member->rests() && !stop)) continue;
    member->guarded([&] {
      if (member->complete()) {
        member->finish();
      } else if (stop) {
        member->interrupt();
      } else {
        member->checkpoint_after(run_.checkpoint);
      }
    });
  }
}

// About a tenth of a second of work.
void TaskGroup::Members::advance(const Step& step, Company& company) {
  const double begin = now();
  const Schedule& updates = schedule();
  std::vector<std::size_t> times(company.who.size());  // fewer than `count` where it was stopped
  {
    const profile::Span span(profile::Work::engine, text());
    if (step.measured) {
      const SampleSink sink = [&](std::size_t i, const Samples& some) {
        TaskMember& member = *running_[company.who[i]];
        member.guarded([&] { member.append(some); });
      };
      times = batch_->sample(company.who, updates, step.cycles, company.count, sink);
    } else {
      const std::vector<bool> done = batch_->advance(company.who, updates, step.cycles);
      for (std::size_t i = 0; i < times.size(); ++i) times[i] = done[i] ? 1 : 0;
    }
  }
  const std::uint64_t cycles = step.cycles * company.count;
  const double seconds = std::max(now() - begin, 1e-9);
  budget_ = std::clamp<std::uint64_t>(
      static_cast<std::uint64_t>(0.1 * static_cast<double>(cycles) / seconds), 1, 2 * budget_);
  for (std::size_t i = 0; i < times.size(); ++i) {
    TaskMember& member = *running_[company.who[i]];
    if (member.open()) member.guarded([&] { member.take(step.cycles * times[i]); });
  }
}

// The time since the last call is that of the tasks still running.
void TaskGroup::Members::share_time() {
  const auto runs = [](const TaskMember* m) { return m->open() && !m->rests(); };
  const auto count = std::count_if(running_.begin(), running_.end(), runs);
  const double seconds = now() - last_;
  for (TaskMember* member : running_) {
    if (runs(member)) member->spend(seconds / static_cast<double>(count));
  }
  last_ = now();
}

TaskGroup::TaskGroup(std::vector<TaskJob> jobs, const TaskRun& run, HostThreads& host, bool ahead)
    : members_(std::make_unique<Members>(std::move(jobs), run, host, ahead)) {}
TaskGroup::~TaskGroup() = default;
bool TaskGroup::open() const { return members_->open(); }
void TaskGroup::go_to(int device) { members_->go_to(device); }
double TaskGroup::device_bytes() const { return members_->device_bytes(); }
void TaskGroup::run() { members_->run(); }
std::set<std::string> TaskGroup::resting() const { return members_->resting(); }
void TaskGroup::ask_more(std::vector<TaskJob> jobs) { members_->ask_more(std::move(jobs)); }
void TaskGroup::wait_for_host() { members_->wait_for_host(); }
bool TaskGroup::has_written() { return members_->has_written(); }
void TaskGroup::end() { members_->end(); }
int TaskGroup::device() const { return members_->device(); }
double TaskGroup::host_bytes() const { return members_->host_bytes(); }

bool run_together(const TaskSpec& a, const TaskSpec& b) {
  const auto shape = [](const TaskSpec& s) {
    return std::tuple(s.graph.extents, s.engine, s.model, s.local, s.cluster, s.temperatures.size(),
                      s.replicas, s.warm_up.cycles > 0);
  };
  const bool warm_alike = a.warm_up.cycles == 0 || (a.warm_up.schedule == b.warm_up.schedule &&
                                                    a.warm_up.cluster == b.warm_up.cluster);
  return traits(a.engine).batches && a.imported == nullptr && b.imported == nullptr &&
         shape(a) == shape(b) && a.schedule == b.schedule && warm_alike;
}

double filling_groups(double sites) {
  const double room = std::min(kFillingGroups, std::floor(kMostWords / sites));
  return std::max({std::ceil(kFillingWords / sites), room, 1.0});
}

GroupSize group_size(const TaskSpec& spec) {
  if (!traits(spec.engine).batches || spec.imported != nullptr) return {};
  const double replicas = static_cast<double>(spec.temperatures.size()) * spec.replicas;
  const double series = series_bytes(spec);
  const double filling = filling_groups(site_count(spec));
  const double tasks = std::ceil(filling / (replicas / 32));
  const auto count = [](double wanted) {
    return static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(kMostBatch)));
  };
  const double launched = std::floor(kMostGroups / std::ceil(replicas / 32));
  const std::size_t most = count(std::min({tasks, launched, kMostSeries / series}));
  const auto holding = [&](double word_groups) {
    return std::min(most, count(std::ceil(word_groups / (replicas / 32))));
  };
  const std::size_t fewest = holding(filling / kWorthwhile);
  if (static_cast<double>(most) * series <= kLargeSeries) return {most, most, fewest};
  return {most, holding(std::max(filling / kWorthwhile, kFillingGroups)), fewest};
}

std::vector<TaskResult> run_tasks(std::vector<TaskJob> jobs, const TaskRun& run) {
  std::vector<TaskResult> results(jobs.size());
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    jobs[k].done = [&results, k](TaskResult&& result) { results[k] = std::move(result); };
  }
  HostThreads none(0);
  TaskGroup(std::move(jobs), run, none).run();
  return results;
}

}  // namespace rewise
