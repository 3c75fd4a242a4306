#include "src/study/resting.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/cuda/devices.hpp"
#include "src/study/need.hpp"

namespace rewise {
namespace {

// Of the memory that is free, all that rests together.
constexpr double kShareOfHost = 1.0 / 16, kShareOfDevice = 0.1;

}  // namespace

RestingGroups::~RestingGroups() {
  end_all();
  wait();
}

bool RestingGroups::add(Entry& entry) {
  try {
    const int device = entry.group->device();
    const double host_room = kShareOfHost * memory_room().bytes;
    const double device_room = device < 0 ? 0 : kShareOfDevice * free_memory(device);
    const std::lock_guard lock(mutex_);
    if (std::ranges::includes(over_, entry.ids)) return false;
    double host = entry.host, on_device = entry.device;
    for (const Entry& other : entries_) {
      host += other.host;
      if (other.group->device() == device) on_device += other.device;
    }
    if (host > host_room || (device >= 0 && on_device > device_room)) return false;
    entries_.push_back(std::move(entry));
    return true;
  } catch (const std::exception&) {  // no memory, or a device that has failed
    return false;
  }
}

bool RestingGroups::empty() {
  const std::lock_guard lock(mutex_);
  return entries_.empty();
}

template <class Which>
std::list<RestingGroups::Entry> RestingGroups::extract(const Which& which) {
  std::list<Entry> some;
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (which(*entry)) some.splice(some.end(), entries_, entry);
    entry = next;
  }
  return some;
}

std::vector<RestingGroups::Entry> RestingGroups::take(const std::set<std::string>& ids) {
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& id : ids) over_.erase(id);
  }
  std::list<Entry> some = extract([&](const Entry& entry) {
    return std::ranges::any_of(entry.ids, [&](const auto& id) { return ids.contains(id); });
  });
  return {std::make_move_iterator(some.begin()), std::make_move_iterator(some.end())};
}

void RestingGroups::end(const std::set<std::string>& ids) {
  {
    const std::lock_guard lock(mutex_);
    over_.insert(ids.begin(), ids.end());
  }
  end(extract([&](const Entry& entry) { return std::ranges::includes(over_, entry.ids); }));
}

void RestingGroups::end_all() {
  end(extract([](const Entry&) { return true; }));
}

void RestingGroups::end(std::list<Entry> some) {
  if (some.empty()) return;
  const auto work = [this, some = std::make_shared<std::list<Entry>>(std::move(some))] {
    const auto guarded = [this](const auto& f) {
      try {
        f();
      } catch (...) {
        fail_(std::current_exception());
      }
    };
    for (Entry& entry : *some) guarded([&] { entry.group->end(); });
    for (Entry& entry : *some) {
      entry.group.reset();
      guarded(entry.written);
    }
    some->clear();
  };
  try {
    std::future<void> ending = std::async(std::launch::async, work);
    const std::lock_guard lock(mutex_);
    std::erase_if(ending_, [](auto& one) {
      return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    ending_.push_back(std::move(ending));
  } catch (const std::exception&) {  // no thread to be had
    work();
  }
}

void RestingGroups::wait() {
  std::vector<std::future<void>> ending;
  {
    const std::lock_guard lock(mutex_);
    ending.swap(ending_);
  }
  for (auto& one : ending) one.wait();
}

}  // namespace rewise
