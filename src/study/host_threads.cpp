#include "src/study/host_threads.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace rewise {

HostThreads::HostThreads(int most, double most_bytes)
    : most_(static_cast<std::size_t>(std::max(most, 0))), most_bytes_(most_bytes) {}

HostThreads::~HostThreads() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HostThreads::add(double bytes, std::function<void()> job, Urgency urgency) {
  if (most_ == 0 || bytes > most_bytes_) return job();
  std::unique_lock lock(mutex_);
  const auto fits = [&] { return bytes == 0 || bytes_ + bytes <= most_bytes_; };
  room_.wait(lock, fits);
  put({bytes, std::move(job)}, urgency, lock);
}

void HostThreads::put(Job job, Urgency urgency, std::unique_lock<std::mutex>& lock) {
  if (idle_ <= waiting_ && threads_.size() < most_) start_thread();
  if (threads_.empty()) {
    lock.unlock();
    return job.run();
  }
  const double bytes = job.bytes;
  jobs_[static_cast<std::size_t>(urgency)].push_back(std::move(job));
  ++waiting_;
  bytes_ += bytes;
  wake_.notify_one();
}

// Call under the lock. If no thread can be started, the existing ones do the work.
void HostThreads::start_thread() {
  try {
    threads_.emplace_back([this] { loop(); });
  } catch (const std::exception&) {
  }
}

// Returns the urgency class of the next job, or jobs_.size() if no job may start.
std::size_t HostThreads::next() const {
  const bool crowded = running(Urgency::file) >= most_ - most_ / 4;
  const auto may = [&](std::size_t k) {
    return !jobs_[k].empty() && (static_cast<Urgency>(k) != Urgency::file || !crowded);
  };
  std::size_t k = 0;
  while (k < jobs_.size() && !may(k)) ++k;
  return k;
}

void HostThreads::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::size_t kind = jobs_.size();
    ++idle_;
    wake_.wait(lock, [&] { return (kind = next()) < jobs_.size() || (over_ && waiting_ == 0); });
    --idle_;
    if (kind == jobs_.size()) return;
    Job job = std::move(jobs_[kind].front());
    jobs_[kind].pop_front();
    --waiting_;
    ++running_[kind];
    lock.unlock();
    job.run();
    job.run = nullptr;  // frees its objects
    lock.lock();
    --running_[kind];
    bytes_ -= job.bytes;
    room_.notify_all();
    wake_.notify_all();  // another job may start
  }
}

void HostThreads::for_each(std::size_t count, const std::function<void(std::size_t)>& f) {
  // Shared, because a thread may start after for_each() has returned.
  struct State {
    std::mutex mutex;
    std::condition_variable finished;
    std::size_t next = 0, done = 0;
    std::exception_ptr thrown;
  };
  const auto state = std::make_shared<State>();
  const auto work = [state, count, &f] {
    std::unique_lock lock(state->mutex);
    while (state->next < count) {
      const std::size_t k = state->next++;
      lock.unlock();
      std::exception_ptr thrown;
      try {
        f(k);
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown && !state->thrown) state->thrown = thrown;
      ++state->done;
    }
    state->finished.notify_all();
  };
  try {
    for (std::size_t k = 1; k < std::min(count, most_ + 1); ++k) {
      std::unique_lock lock(mutex_);
      put({0, work}, Urgency::graph, lock);
    }
  } catch (const std::exception&) {
    // Out of memory for another job: the other threads or the caller do all the work.
  }
  work();
  std::unique_lock lock(state->mutex);
  state->finished.wait(lock, [&] { return state->done == count; });
  if (state->thrown) std::rethrow_exception(state->thrown);
}

}  // namespace rewise
