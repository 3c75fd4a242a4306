// Host threads for what engines need not wait for: graphs of tasks to come, files and reductions of
// tasks that are done. Jobs that are equally urgent begin in the order in which they are given;
// what they hold is bounded: who gives more waits, so a slow disk slows the engines down, but fills
// no memory.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rewise {

// The most urgent first. Awaited files are those that are asked for again soon. Other files, which
// wait for the disk and for each other within HDF5, and what is built ahead, which takes no more
// than a quarter of the threads, leave a quarter of them alone.
enum class Urgency { graph, result, awaited, ahead, file };

class HostThreads {
 public:
  // At most so many threads, each started when there is work for it; none: jobs are done by
  // whoever gives them. `most_bytes`: that jobs may hold together; who gives a larger one does it.
  explicit HostThreads(int most, double most_bytes = 1u << 30);
  ~HostThreads();  // after all jobs
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;

  std::size_t count() const { return most_; }

  // A job that throws nothing. Waits while there is no room for what it holds. What this throws
  // says that the job is not done, and never will be.
  void add(double bytes, std::function<void()> job, Urgency urgency = Urgency::file);

  // f(0) .. f(count - 1), on all threads and the caller's, which comes back when all are done. The
  // first thing thrown is thrown again.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& f);

 private:
  struct Job {
    double bytes;
    std::function<void()> run;
  };
  using Jobs = std::deque<Job>;
  void loop();
  void put(Job job, Urgency urgency, std::unique_lock<std::mutex>& lock);
  void start_thread();
  std::size_t next() const;
  std::size_t running(Urgency urgency) const { return running_[static_cast<std::size_t>(urgency)]; }

  const std::size_t most_;
  const double most_bytes_;
  std::mutex mutex_;
  std::condition_variable wake_, room_;
  std::array<Jobs, 5> jobs_;              // [urgency]
  std::array<std::size_t, 5> running_{};  // [urgency]
  std::size_t waiting_ = 0;               // of all jobs
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  double bytes_ = 0;  // of jobs that are not done
  bool over_ = false;
};

}  // namespace rewise
