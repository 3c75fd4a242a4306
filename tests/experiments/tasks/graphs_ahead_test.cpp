// Graphs built ahead: those that were asked for, or nothing; whoever asks, takes or ends when.
#include "experiments/tasks/graphs_ahead.hpp"

#include <atomic>
#include <chrono>

#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

std::vector<TaskSpec> some_tasks(std::uint64_t first, std::size_t count, std::uint32_t edge = 32) {
  std::vector<TaskSpec> tasks(count);
  for (std::size_t k = 0; k < count; ++k) {
    tasks[k].graph = {{edge, edge}, 0.5, Rule::rewire, first + k};
  }
  return tasks;
}

bool same(const Graph& a, const Graph& b) {
  return a.spec().seed == b.spec().seed && a.rewired_bonds().size() == b.rewired_bonds().size() &&
         std::equal(a.neighbours().begin(), a.neighbours().end(), b.neighbours().begin(),
                    b.neighbours().end());
}

}  // namespace

TEST_CASE("graphs built ahead are those that tasks would build, each given once") {
  GraphsAhead ahead(2, 1u << 28);
  const auto tasks = some_tasks(1, 5);
  for (const TaskSpec& task : tasks) {
    std::shared_ptr<const Graph> graph;
    for (int wait = 1; graph == nullptr; wait *= 2) {  // until a thread has had the time
      ahead.ask(tasks);
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      graph = ahead.take(task.graph);
    }
    CHECK(same(*graph, build_graph(task.graph)));
    CHECK(ahead.take(task.graph) == nullptr);
  }
  GraphSpec other = tasks[0].graph;
  ahead.ask(tasks);
  other.p = 0.25;
  CHECK(ahead.take(other) == nullptr);
}

TEST_CASE("graphs built ahead: what is dropped, too large, or has no thread is not there") {
  const auto tasks = some_tasks(1, 3);
  GraphsAhead small(1, 1000), none(0, 1u << 28), dropping(1, 1u << 28);
  for (GraphsAhead* ahead : {&small, &none, &dropping}) ahead->ask(tasks);
  dropping.ask(some_tasks(100, 1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (GraphsAhead* ahead : {&small, &none, &dropping}) {
    for (const TaskSpec& task : tasks) CHECK(ahead->take(task.graph) == nullptr);
  }
}

TEST_CASE("graphs built ahead: asked for, taken and ended from many threads, at any time") {
  for (std::uint64_t round = 0; round < 20; ++round) {
    std::atomic<int> wrong = 0;
    {
      // Room for few: those that are not taken hold up the rest.
      GraphsAhead ahead(3, 1u << 20);
      std::vector<std::thread> takers;
      for (std::uint64_t taker = 0; taker < 3; ++taker) {
        takers.emplace_back([&ahead, &wrong, taker] {
          for (std::uint64_t seed = taker; seed < 60; seed += 3) {
            const GraphSpec spec = some_tasks(seed, 1).front().graph;
            const auto graph = ahead.take(spec);
            if (graph != nullptr && !same(*graph, build_graph(spec))) ++wrong;
          }
        });
      }
      for (std::uint64_t first = 0; first < 60; first += 10) {
        ahead.ask(some_tasks(first, 20));
        std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
      }
      for (std::thread& taker : takers) taker.join();
    }
    CHECK(wrong == 0);
  }
}
