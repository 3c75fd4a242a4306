#include "experiments/tasks/graphs_ahead.hpp"

#include <algorithm>
#include <tuple>

#include "experiments/tasks/need.hpp"
#include "src/base/profile.hpp"

namespace rewise {
namespace {

constexpr std::size_t kMost = 1024;  // graphs asked for at a time
constexpr double kLarge = 0.1;       // of the bytes: too large, and long to wait for at the end

bool same(const GraphSpec& a, const GraphSpec& b) {
  const auto all = [](const GraphSpec& s) {
    return std::tie(s.extents, s.p, s.rule, s.seed, s.bare);
  };
  return all(a) == all(b);
}

}  // namespace

GraphsAhead::GraphsAhead(std::size_t threads, double most_bytes)
    : most_bytes_(most_bytes), most_threads_(threads) {}

GraphsAhead::~GraphsAhead() {
  give_up();
  for (std::thread& thread : threads_) thread.join();
}

void GraphsAhead::give_up() {
  const std::lock_guard lock(mutex_);
  over_ = true;
  entries_.clear();
  wake_.notify_all();
}

void GraphsAhead::ask(const std::vector<TaskSpec>& tasks) noexcept {
  try {
    Entries asked;
    for (const TaskSpec& task : tasks) {
      const double bytes = memory_need(task, 1, false, false).graph;
      if (task.imported != nullptr || bytes > kLarge * most_bytes_) continue;
      if (asked.size() == kMost) break;
      asked.push_back(std::make_shared<Entry>());
      asked.back()->spec = task.graph;
      asked.back()->bytes = bytes;
    }
    const std::size_t count = asked.size();
    {
      const std::lock_guard lock(mutex_);
      if (over_) return;
      bytes_ = 0;
      for (auto& entry : asked) {
        const auto known = std::find_if(entries_.begin(), entries_.end(),
                                        [&](const auto& e) { return same(e->spec, entry->spec); });
        if (known != entries_.end()) entry = *known;
        if (entry->begun) bytes_ += entry->bytes;
      }
      entries_.swap(asked);
      wake_.notify_all();
    }
    while (threads_.size() < std::min(most_threads_, count)) {
      threads_.emplace_back([this] {
        try {
          loop();
        } catch (...) {  // no memory: tasks build their graphs themselves
          give_up();
        }
      });
    }
  } catch (...) {
    give_up();
  }
}

std::shared_ptr<const Graph> GraphsAhead::take(const GraphSpec& spec) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& e) { return same(e->spec, spec); });
  if (found == entries_.end()) return nullptr;
  const std::shared_ptr<Entry> entry = *found;
  entries_.erase(found);
  if (entry->begun) bytes_ -= entry->bytes;
  wake_.notify_all();  // there is room
  return std::move(entry->graph);
}

std::shared_ptr<GraphsAhead::Entry> GraphsAhead::next() {
  for (const auto& entry : entries_) {
    if (entry->begun) continue;
    return bytes_ + entry->bytes <= most_bytes_ ? entry : nullptr;
  }
  return nullptr;
}

void GraphsAhead::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::shared_ptr<Entry> entry;
    wake_.wait(lock, [&] { return over_ || (entry = next()) != nullptr; });
    if (over_) return;
    entry->begun = true;
    bytes_ += entry->bytes;
    lock.unlock();
    std::shared_ptr<const Graph> graph;
    {
      const profile::Span span(profile::Work::graph, "ahead");
      graph = std::make_shared<const Graph>(build_graph(entry->spec));
    }
    lock.lock();
    entry->graph = std::move(graph);  // if it was dropped meanwhile, it goes with the entry
  }
}

}  // namespace rewise
