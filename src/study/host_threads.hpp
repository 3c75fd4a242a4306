// A pool of host threads for work that engines need not wait for: graphs of the next tasks, files
// and reductions of the last ones. Jobs of equal urgency begin in the order of their addition. The
// memory that they hold is bounded: add() waits while it is used up, so a slow disk slows the
// engines down but does not fill the memory.
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

// The most urgent first. Awaited files are read again soon. Other files (which wait for the disk,
// and for each other within HDF5) and graphs built ahead leave a quarter of the threads free;
// graphs built ahead take a quarter of the threads at most.
enum class Urgency { graph, result, awaited, ahead, file };

class HostThreads {
 public:
  // At most `most` threads, each started when there is work for it. With none, add() runs the job
  // itself. `most_bytes`: memory of all jobs; add() runs a larger job itself.
  explicit HostThreads(int most, double most_bytes = 1u << 30);
  ~HostThreads();  // after all jobs
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;

  std::size_t count() const { return most_; }

  // Adds a job that throws nothing and holds `bytes` of memory. Waits while the memory is used up.
  // After an exception the job is not run.
  void add(double bytes, std::function<void()> job, Urgency urgency = Urgency::file);

  // Runs f(0) .. f(count - 1) on all threads and the caller's, and returns when all are done.
  // Rethrows the first exception.
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
