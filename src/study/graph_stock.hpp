// Cache of the graphs that tasks are likely to need next. Idle host threads build them in advance,
// since otherwise a device waits for them at each step of a search. Pilot runs and measurements use
// the same graphs, so a used graph stays in the cache until its memory is needed.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "src/study/host_threads.hpp"
#include "src/study/task.hpp"

namespace rewise {

class GraphStock {
 public:
  explicit GraphStock(HostThreads& host) : host_(host) {}
  ~GraphStock();  // `host` completes a graph in progress

  // Replaces the list of graphs to build by those of `likely`, the most likely task first, and
  // releases all others. The graphs built take at most `most_bytes`.
  void expect(const std::vector<TaskSpec>& likely, double most_bytes);

  // Returns the graph of a task. Waits if another thread is building it; builds it (task_graph) if
  // it is not in the cache.
  std::shared_ptr<const Graph> take(const TaskSpec& spec);

 private:
  // A graph to build or built. The thread that holds the mutex `building` builds it.
  struct Entry {
    TaskSpec spec;
    double bytes = 0;
    bool begun = false, used = false;
    std::mutex building;
    std::shared_ptr<const Graph> graph;

    std::shared_ptr<const Graph> get();
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  // The state that jobs on host threads share with this object; they may outlive it.
  struct State {
    std::mutex mutex;
    Entries entries;  // the most likely first
    double most_bytes = 0;

    double free_bytes() const;
    void build_next();
  };
  static std::shared_ptr<Entry> find(const Entries& entries, const GraphSpec& graph);
  void add_job();

  HostThreads& host_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace rewise
