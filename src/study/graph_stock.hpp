// Graphs that tasks are likely to need next, built ahead by host threads that would be idle: at the
// beginning of a step of a search a device would wait for them. Graphs that were used stay until
// their memory is needed for others: pilots and measurements use the same ones.
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
  ~GraphStock();  // a graph that is being built is completed by `host`

  // From now on the graphs of these tasks, the likeliest first, as many as fit into `most_bytes`.
  // All others are released.
  void expect(const std::vector<TaskSpec>& likely, double most_bytes);

  // The graph of a task (task_graph): from the stock, after waiting for it if it is being built, or
  // built now.
  std::shared_ptr<const Graph> take(const TaskSpec& spec);

 private:
  // A graph of the stock. The thread that holds `building` builds it.
  struct Entry {
    TaskSpec spec;
    double bytes = 0;
    bool begun = false, used = false;
    std::mutex building;
    std::shared_ptr<const Graph> graph;

    std::shared_ptr<const Graph> get();
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  // Jobs of host threads share it.
  struct Shelf {
    std::mutex mutex;
    Entries entries;  // the likeliest first
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
