#include "src/study/graph_stock.hpp"

#include <algorithm>
#include <utility>

#include "src/base/profile.hpp"
#include "src/study/need.hpp"

namespace rewise {

std::shared_ptr<const Graph> GraphStock::Entry::get() {
  std::unique_lock lock(building, std::defer_lock);
  if (!lock.try_lock()) {
    const profile::Span span(profile::Work::wait, "graphs");
    lock.lock();
  }
  if (graph == nullptr) graph = task_graph(spec);
  return graph;
}

double GraphStock::State::free_bytes() const {
  double bytes = most_bytes;
  for (const auto& entry : entries) bytes -= entry->begun ? entry->bytes : 0;
  return bytes;
}

std::shared_ptr<GraphStock::Entry> GraphStock::find(const Entries& entries,
                                                    const GraphSpec& graph) {
  const auto same = [&graph](const auto& entry) {
    const GraphSpec& a = entry->spec.graph;
    return a.seed == graph.seed && a.extents == graph.extents && a.p == graph.p &&
           a.rule == graph.rule && a.bare == graph.bare;
  };
  const auto found = std::ranges::find_if(entries, same);
  return found == entries.end() ? nullptr : *found;
}

// Builds the most likely missing graph if it fits beside the unused ones.
void GraphStock::State::build_next() {
  std::shared_ptr<Entry> next;
  {
    const std::lock_guard lock(mutex);
    const auto first = std::ranges::find_if(
        entries, [](const auto& entry) { return !entry->begun && !entry->used; });
    if (first == entries.end()) return;
    next = *first;
    while (next->bytes > free_bytes()) {
      const auto old = std::ranges::find_if(
          entries, [](const auto& entry) { return entry->begun && entry->used; });
      if (old == entries.end()) return;
      entries.erase(old);
    }
    next->begun = true;
  }
  try {
    next->get();
  } catch (...) {
    // The task that needs this graph builds it again and reports the error.
  }
}

GraphStock::~GraphStock() {
  const std::lock_guard lock(state_->mutex);
  state_->entries.clear();
}

void GraphStock::expect(const std::vector<TaskSpec>& likely, double most_bytes) {
  if (host_.count() == 0) return;
  std::size_t jobs = 0;
  {
    const std::lock_guard lock(state_->mutex);
    Entries entries;
    for (const TaskSpec& spec : likely) {
      if (spec.imported != nullptr || !traits(spec.engine).studies) continue;
      if (find(entries, spec.graph) != nullptr) continue;
      std::shared_ptr<Entry> entry = find(state_->entries, spec.graph);
      if (entry == nullptr) {
        entry = std::make_shared<Entry>();
        entry->spec = spec;
        entry->bytes = memory_need(spec, 1, true, false).graph;
        ++jobs;
      }
      entries.push_back(std::move(entry));
    }
    state_->entries = std::move(entries);
    state_->most_bytes = most_bytes;
  }
  for (; jobs > 0; --jobs) add_job();
}

std::shared_ptr<const Graph> GraphStock::take(const TaskSpec& spec) {
  std::shared_ptr<Entry> entry;
  bool more = false;
  {
    const std::lock_guard lock(state_->mutex);
    if (spec.imported == nullptr) entry = find(state_->entries, spec.graph);
    if (entry != nullptr) {
      entry->used = true;
      if (!entry->begun && entry->bytes > state_->free_bytes()) {
        entry.reset();
      } else {
        entry->begun = true;
      }
    }
    more = std::ranges::any_of(state_->entries,
                               [](const auto& one) { return !one->begun && !one->used; });
  }
  // A used graph may be dropped, which makes room for the next one.
  if (more) add_job();
  return entry == nullptr ? task_graph(spec) : entry->get();
}

void GraphStock::add_job() {
  host_.add(
      0, [state = state_] { state->build_next(); }, Urgency::ahead);
}

}  // namespace rewise
