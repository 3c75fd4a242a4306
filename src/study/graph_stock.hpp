// Graphs that tasks are likely to ask for next, built by host threads with nothing else to do: at
// the beginning of a step of a search a device would wait for them. And graphs that were asked for
// and may be again.
#pragma once

#include <memory>
#include <vector>

#include "src/study/host_threads.hpp"
#include "src/study/task.hpp"

namespace rewise {

class GraphStock {
 public:
  explicit GraphStock(HostThreads& host);
  ~GraphStock();  // what is being built comes to its end with `host`

  // From now on the graphs of these tasks, the likeliest first, as many as fit into so many bytes;
  // what the stock has of others is forgotten.
  void expect(const std::vector<TaskSpec>& likely, double most_bytes);

  // The graph of a task (task_graph): from the stock, once it is there if it is being built, or
  // built now.
  std::shared_ptr<const Graph> take(const TaskSpec& spec);

 private:
  void build_next();

  class Shelf;
  HostThreads& host_;
  std::shared_ptr<Shelf> shelf_;  // jobs have it, too
};

}  // namespace rewise
