// Groups of tasks that have measured what was asked of them and rest (task_group.hpp): more may be
// asked of the same tasks as soon as their results are looked at, and they go on from where their
// engines are, without a file in between.
#pragma once

#include <exception>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/study/task_group.hpp"

namespace rewise {

class RestingGroups {
 public:
  struct Entry {
    std::function<void()> written;  // called when their files are; outlives the group
    std::unique_ptr<TaskGroup> group;
    std::set<std::string> ids;    // of the tasks that rest
    double host = 0, device = 0;  // bytes that they hold
  };

  // `fail` is told what goes wrong while they end.
  explicit RestingGroups(std::function<void(std::exception_ptr)> fail) : fail_(std::move(fail)) {}
  ~RestingGroups();  // after all have ended

  // Whether there is room for it beside those that are here, and more may be asked of it; else it
  // is for the caller to end.
  bool add(Entry& entry);
  // Those that have one of these tasks, of which more is asked.
  std::vector<Entry> take(const std::set<std::string>& ids);
  // No more is asked of these tasks: groups that have no others end, on a thread of their own, or
  // when they come; their files are written.
  void end(const std::set<std::string>& ids);
  void end_all();  // of those that are here
  void wait();     // until those files are written
  bool empty();

 private:
  template <class Which>
  std::list<Entry> extract(const Which& which);
  void end(std::list<Entry> some);

  const std::function<void(std::exception_ptr)> fail_;
  std::mutex mutex_;
  std::list<Entry> entries_;
  std::set<std::string> over_;  // tasks of which no more is asked
  std::vector<std::future<void>> ending_;
};

}  // namespace rewise
