// Admission control of the executor: decides from memory estimates (memory_need.hpp) which groups
// of tasks may exist at the same time. A group reserves host memory from its claim until its files
// are written, device memory while its engines exist, and a CPU thread while they advance. If no
// other group exists, a group is always admitted: plan() has checked that one task fits, and
// estimates may be too high.
//
// Not thread-safe: the executor calls it under its lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace rewise {

struct PlannedTask;

class AdmissionControl {
 public:
  AdmissionControl(const std::vector<int>& devices, int threads);

  int threads() const { return threads_; }
  // Threads that each running CPU task may use at present.
  const std::atomic<int>& threads_each() const { return threads_each_; }
  std::size_t groups() const { return groups_; }
  std::size_t running() const { return running_; }

  // Limits for a list of tasks. `line` is a memory report for the user, or "". Throws Error(device)
  // if a single task does not fit.
  struct Plan {
    std::size_t max_groups = 1;  // that may exist at a time
    double task_bytes = 0, group_bytes = 0;
    std::string line = {};
  };
  Plan plan(const std::vector<PlannedTask>& tasks, std::size_t lanes);

  bool host_fits(double bytes) const;
  void reserve_host(double bytes) { reserved_ += bytes, ++groups_; }
  void release_host(double bytes) { reserved_ = --groups_ == 0 ? 0 : reserved_ - bytes; }

  bool device_fits(int device, double bytes);
  void reserve_device(int device, double bytes);
  void release_device(int device, double bytes);

  std::size_t running(int device) const { return devices_.at(device).running; }
  void begin(int device) { count(device, 1); }
  void end(int device) { count(device, -1); }

 private:
  struct Device {
    std::size_t running = 0;        // groups whose engines advance
    std::size_t groups = 0;         // groups that have engines
    double reserved = 0, room = 0;  // bytes reserved; upper limit
  };
  void count(int device, int more);

  const int threads_;
  const bool on_cpu_;
  double reserved_ = 0, room_ = 0;  // host bytes reserved; upper limit
  std::size_t groups_ = 0, running_ = 0;
  std::map<int, Device> devices_;
  std::atomic<int> threads_each_ = 1;
};

}  // namespace rewise
