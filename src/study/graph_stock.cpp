#include "src/study/graph_stock.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "src/base/profile.hpp"
#include "src/study/need.hpp"

namespace rewise {
namespace {

bool same_graph(const GraphSpec& a, const GraphSpec& b) {
  return a.seed == b.seed && a.extents == b.extents && a.p == b.p && a.rule == b.rule &&
         a.bare == b.bare;
}

}  // namespace

class GraphStock::Shelf {
 public:
  void expect(const std::vector<TaskSpec>& likely, double most_bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Place>> kept;
    std::swap(kept, places_);
    most_bytes_ = most_bytes;
    for (const TaskSpec& spec : likely) {
      if (spec.imported != nullptr || !traits(spec.engine).studies) continue;
      const auto known = std::ranges::find_if(
          kept, [&](const auto& place) { return same_graph(place->spec.graph, spec.graph); });
      if (known != kept.end()) {
        places_.push_back(*known);
        continue;
      }
      places_.push_back(std::make_shared<Place>());
      places_.back()->spec = spec;
      places_.back()->bytes = memory_need(spec, 1, true, false).graph;
    }
  }

  // How many nobody has asked for or built yet.
  std::size_t wanted() {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(places_, is_wanted));
  }

  void build_next() {
    const std::shared_ptr<Place> place = next();
    if (place == nullptr) return;
    try {
      fill(*place);
    } catch (...) {
      // Whoever asks for it builds it, and meets what went wrong.
    }
  }

  std::shared_ptr<const Graph> take(const TaskSpec& spec) {
    std::shared_ptr<Place> place;
    {
      std::unique_lock lock(mutex_);
      const auto known = std::ranges::find_if(
          places_, [&](const auto& some) { return same_graph(some->spec.graph, spec.graph); });
      if (spec.imported == nullptr && known != places_.end()) {
        place = *known;
        place->taken = true;
        if (place->state == State::building) {
          const profile::Span span(profile::Work::wait, "graphs");
          built_.wait(lock, [&] { return place->state != State::building; });
        }
        if (place->state == State::there) return place->graph;
        if (place->bytes <= room()) {
          place->state = State::building;
        } else {
          place.reset();
        }
      }
    }
    if (place == nullptr) return task_graph(spec);
    return fill(*place);
  }

  void close() {
    const std::lock_guard lock(mutex_);
    places_.clear();
  }

 private:
  enum class State { wanted, building, there };
  struct Place {
    TaskSpec spec;
    double bytes = 0;
    State state = State::wanted;
    bool taken = false;
    std::shared_ptr<const Graph> graph;
  };
  static bool is_wanted(const std::shared_ptr<Place>& place) {
    return place->state == State::wanted && !place->taken;
  }

  // The first that is to be built, if it fits beside what nobody has asked for yet.
  std::shared_ptr<Place> next() {
    const std::lock_guard lock(mutex_);
    const auto first = std::ranges::find_if(places_, is_wanted);
    if (first == places_.end()) return nullptr;
    const std::shared_ptr<Place> place = *first;
    while (place->bytes > room()) {
      const auto over = std::ranges::find_if(
          places_, [](const auto& other) { return other->state == State::there && other->taken; });
      if (over == places_.end()) return nullptr;
      places_.erase(over);
    }
    place->state = State::building;
    return place;
  }

  // Under the lock.
  double room() const {
    double bytes = most_bytes_;
    for (const auto& place : places_) bytes -= place->state == State::wanted ? 0 : place->bytes;
    return bytes;
  }

  // Of a place that is this thread's to build.
  std::shared_ptr<const Graph> fill(Place& place) {
    std::shared_ptr<const Graph> graph;
    const auto put = [&](State state) {
      const std::lock_guard lock(mutex_);
      place.graph = graph;
      place.state = state;
      place.taken = place.taken || state == State::wanted;  // not to be tried again ahead
      built_.notify_all();
    };
    try {
      graph = task_graph(place.spec);
    } catch (...) {
      put(State::wanted);
      throw;
    }
    put(State::there);
    return graph;
  }

  std::mutex mutex_;
  std::condition_variable built_;
  std::vector<std::shared_ptr<Place>> places_;  // the likeliest first
  double most_bytes_ = 0;
};

GraphStock::GraphStock(HostThreads& host) : host_(host), shelf_(std::make_shared<Shelf>()) {}

GraphStock::~GraphStock() { shelf_->close(); }

void GraphStock::expect(const std::vector<TaskSpec>& likely, double most_bytes) {
  if (host_.count() == 0) return;
  shelf_->expect(likely, most_bytes);
  for (std::size_t k = shelf_->wanted(); k > 0; --k) build_next();
}

std::shared_ptr<const Graph> GraphStock::take(const TaskSpec& spec) {
  if (shelf_->wanted() > 0) build_next();  // in the room that this one leaves
  return shelf_->take(spec);
}

void GraphStock::build_next() {
  host_.add(
      0, [shelf = shelf_] { shelf->build_next(); }, Urgency::ahead);
}

}  // namespace rewise
