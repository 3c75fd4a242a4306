#include "src/study/admission.hpp"

#include <algorithm>

#include "src/base/error.hpp"
#include "src/cuda/devices.hpp"
#include "src/settings/memory_need.hpp"
#include "src/study/executor.hpp"

namespace rewise {
namespace {

// Share of a device's free memory. Memory estimates are uncertain, and Wolff updates allocate more
// if more is free.
constexpr double kShareOfDevice = 0.7;
// Share of the host's free memory for the groups of a device, from preparation to the last file.
constexpr double kShareOfHost = 0.25;

}  // namespace

AdmissionControl::AdmissionControl(const std::vector<int>& devices, int threads)
    : threads_(threads), on_cpu_(devices.front() < 0) {
  for (const int device : devices) devices_[device];
}

AdmissionControl::Plan AdmissionControl::plan(const std::vector<PlannedTask>& tasks,
                                              std::size_t lanes) {
  const auto need_of = [&](const PlannedTask& task, std::size_t at_a_time) {
    const int each = std::max(1, threads_ / static_cast<int>(at_a_time));
    return memory_need(task.spec, useful_threads(task.spec, each), !on_cpu_, true);
  };
  const PlannedTask& largest = *std::ranges::max_element(
      tasks, {}, [&](const PlannedTask& task) { return need_of(task, 1).of_process(); });
  Plan plan;
  plan.max_groups = std::min(on_cpu_ ? static_cast<std::size_t>(threads_) : lanes * devices_.size(),
                             tasks.size());
  for (;; --plan.max_groups) {
    try {
      plan.line = check_memory(need_of(largest, plan.max_groups), plan.max_groups);
      break;
    } catch (const Error&) {
      if (plan.max_groups == 1) throw;
    }
  }
  plan.task_bytes = need_of(largest, plan.max_groups).of_task();
  const std::size_t share = (tasks.size() + plan.max_groups - 1) / plan.max_groups;
  plan.group_bytes =
      plan.task_bytes *
      static_cast<double>(on_cpu_ ? 1 : std::min(group_size(largest.spec).max_tasks, share));
  room_ = reserved_ + (on_cpu_ ? 1 : kShareOfHost) * memory_room().bytes;
  return plan;
}

bool AdmissionControl::host_fits(double bytes) const {
  return groups_ == 0 || reserved_ + bytes <= room_ * (1 + 1e-9);
}

bool AdmissionControl::device_fits(int device, double bytes) {
  Device& at = devices_.at(device);
  if (at.running == 0)
    at.room = at.reserved + kShareOfDevice * static_cast<double>(free_memory(device));
  return at.reserved + bytes <= at.room * (1 + 1e-9) || at.groups == 0;
}

void AdmissionControl::reserve_device(int device, double bytes) {
  devices_.at(device).reserved += bytes;
  ++devices_.at(device).groups;
}

void AdmissionControl::release_device(int device, double bytes) {
  Device& at = devices_.at(device);
  at.reserved = --at.groups == 0 ? 0 : at.reserved - bytes;
}

void AdmissionControl::count(int device, int more) {
  devices_.at(device).running += static_cast<std::size_t>(more);
  running_ += static_cast<std::size_t>(more);
  threads_each_ = threads_ / std::max(static_cast<int>(running_), 1);
}

}  // namespace rewise
