// A pool of host threads for work that engines need not wait for: it builds the graphs of the next
// tasks, and reduces and writes the results of the previous ones. Jobs of equal urgency start in
// the order in which they were added. The memory of jobs is bounded: add() blocks at the limit, so
// a slow disk slows the engines down but does not fill the memory.
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

// Urgency classes, the most urgent first. File jobs wait for the disk and for the HDF5 lock, so
// they use at most three quarters of the threads (rounded up).
enum class Urgency { graph, result, file };

class HostThreads {
 public:
  // Starts at most `most` threads, each when there is work for it. With 0 threads, add() runs the
  // job itself. `most_bytes` limits the memory of all jobs; add() runs a larger job itself.
  explicit HostThreads(int most, double most_bytes = 1u << 30);
  ~HostThreads();  // waits for all jobs
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;

  std::size_t count() const { return most_; }

  // Adds a job that holds `bytes` of memory and does not throw. Blocks while the memory is used up.
  // If add() throws, the job is not run.
  void add(double bytes, std::function<void()> job, Urgency urgency = Urgency::file);

  // Runs f(0) .. f(count - 1) on all threads and the calling one, and returns when all are done.
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
  std::array<Jobs, 3> jobs_;              // [urgency]
  std::array<std::size_t, 3> running_{};  // [urgency]
  std::size_t waiting_ = 0;               // number of waiting jobs
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  double bytes_ = 0;  // memory of unfinished jobs
  bool over_ = false;
};

}  // namespace rewise
