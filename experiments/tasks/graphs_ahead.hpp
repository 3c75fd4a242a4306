// Graphs of tasks to come, which threads of their own build while engines run: graphs follow from
// the configuration alone, so those of a study's next steps are known before its pilots have told
// what to do with them (512 x 512 at p = 1: 0.1 s each).
//
// Nobody waits for these threads: a task whose graph is not there builds it itself. Where memory or
// threads are refused they give up, for good, and nothing else is changed.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "experiments/tasks/task.hpp"

namespace rewise {

class GraphsAhead {
 public:
  // At most so many threads, and bytes of graphs (about) that wait for their tasks.
  GraphsAhead(std::size_t threads, double most_bytes);
  ~GraphsAhead();  // after those that are being built
  GraphsAhead(const GraphsAhead&) = delete;
  GraphsAhead& operator=(const GraphsAhead&) = delete;

  // Those of these tasks, in this order; others that were asked for before are dropped.
  void ask(const std::vector<TaskSpec>& tasks) noexcept;

  // The graph, which is the caller's then; nothing where it is not ready: it is not built any more.
  std::shared_ptr<const Graph> take(const GraphSpec& spec) noexcept;

 private:
  struct Entry {
    GraphSpec spec;
    double bytes = 0;
    bool begun = false;
    std::shared_ptr<const Graph> graph;
  };
  using Entries = std::list<std::shared_ptr<Entry>>;

  void loop();
  std::shared_ptr<Entry> next();  // under the lock; nothing to build now: nullptr
  void give_up();

  const double most_bytes_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Entries entries_;   // in the order in which they were asked for
  double bytes_ = 0;  // of those of them that are begun
  bool over_ = false;
  const std::size_t most_threads_;
  std::vector<std::thread> threads_;  // of who asks
};

}  // namespace rewise
