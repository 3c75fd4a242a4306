// Graphs that tasks are likely to need next. Idle host threads build them ahead, because a device
// would wait for them when a search starts its next step. Used graphs stay in the stock until their
// memory is needed: pilot runs and measurements use the same graphs.
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

  // Selects the graphs of these tasks, the most likely first, up to `most_bytes`, and releases all
  // others.
  void expect(const std::vector<TaskSpec>& likely, double most_bytes);

  // Returns the graph of a task (task_graph): from the stock, after waiting if it is being built,
  // or built by this call.
  std::shared_ptr<const Graph> take(const TaskSpec& spec);

 private:
  // A graph of the stock. The thread that holds the mutex `building` builds it.
  struct Entry {
    TaskSpec spec;
    double bytes = 0;
    bool begun = false, used = false;
    std::mutex building;
    std::shared_ptr<const Graph> graph;

    std::shared_ptr<const Graph> get();
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  // State shared with jobs of host threads.
  struct Shelf {
    std::mutex mutex;
    Entries entries;  // the most likely first
    double most_bytes = 0;

    double free_bytes() const;
    void build_next();
  };
  static std::shared_ptr<Entry> find(const Entries& entries, const GraphSpec& graph);
  void add_job();

  HostThreads& host_;
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
};

}  // namespace rewise
