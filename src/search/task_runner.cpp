#include "src/search/task_runner.hpp"

#include <exception>
#include <thread>

#include "src/base/error.hpp"
#include "src/results/task_results.hpp"

namespace rewise {

double TaskSpeed::seconds(std::size_t size) const {
  const std::lock_guard lock(*mutex_);
  return known(size);
}

bool TaskSpeed::measured() const {
  const std::lock_guard lock(*mutex_);
  return !known_.empty();
}

std::function<void(const TaskData&)> TaskSpeed::record(std::size_t size) {
  return [this, size](const TaskData& data) { note(size, data); };
}

void TaskSpeed::note(std::size_t size, const TaskData& data) {
  const auto cycles = static_cast<double>(stored_spec(data).cycles());
  if (!data.provenance.contains("work.seconds")) return;
  const double units = cycles * static_cast<double>(data.graph.sites * data.temperature.size());
  const std::lock_guard lock(*mutex_);
  if (known_.size() <= size) known_.resize(size + 1, known(size));
  known_[size] = number_at(data.provenance, "work.seconds") / units;
}

void TaskRunner::run(const std::vector<PlannedTask>& tasks, const TaskHandler& handle) {
  computed_ += study_.run(tasks, stop_, progress_, handle);
}

void TaskRunner::expect(double now, double later, bool guessed) {
  const std::lock_guard lock(mutex_);
  planned_ += now;
  later_ = later;
  guessed_ = guessed ? later : 0;
  progress_.set_total(planned_ + later_, guessed_, part_);
}

void TaskRunner::expect_more(double seconds) {
  const std::lock_guard lock(mutex_);
  planned_ += seconds;
  progress_.set_total(planned_ + later_, guessed_, part_);
}

void side_by_side(Study& study, const std::vector<std::function<void()>>& searches) {
  std::mutex mutex;
  std::exception_ptr failure, interruption;
  const auto guarded = [&](const std::function<void()>& search) {
    const auto note = [&](std::exception_ptr& first) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    };
    try {
      search();
    } catch (const Error& error) {
      const bool interrupted = error.exit_code() == ExitCode::interrupted;
      if (!interrupted) study.fail(std::current_exception());
      note(interrupted ? interruption : failure);
    } catch (...) {
      study.fail(std::current_exception());
      note(failure);
    }
  };
  std::size_t begun = 1;
  {
    std::vector<std::jthread> beside;
    try {
      for (; begun < searches.size(); ++begun) {
        beside.emplace_back([&, begun] { guarded(searches[begun]); });
      }
    } catch (const std::exception&) {  // no thread can be started: the search runs afterwards
    }
    guarded(searches.front());
  }
  for (; begun < searches.size() && !failure && !interruption; ++begun) guarded(searches[begun]);
  if (failure) std::rethrow_exception(failure);
  if (interruption) std::rethrow_exception(interruption);
}

double seconds_of(std::span<const PlannedTask> tasks) {
  double seconds = 0;
  for (const PlannedTask& task : tasks) seconds += task.seconds;
  return seconds;
}

}  // namespace rewise
