// Graphs that are built ahead equal those that tasks would build. Each is built once, within a
// limit of memory.
#include "src/study/graph_stock.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "graphs/graph.hpp"
#include "tests/support/catch.hpp"

namespace rewise {
namespace {

using namespace std::chrono_literals;

TaskSpec spec_of(std::uint64_t seed) {
  TaskSpec spec;
  spec.graph.extents = {32, 32};
  spec.graph.p = 0.3;
  spec.graph.seed = seed;
  return spec;
}

std::vector<TaskSpec> specs_of(std::uint64_t first, std::uint64_t count) {
  std::vector<TaskSpec> specs;
  for (std::uint64_t k = 0; k < count; ++k) specs.push_back(spec_of(first + k));
  return specs;
}

constexpr double kPlenty = 1 << 30;

}  // namespace

TEST_CASE("a stock of graphs: equal to those of tasks, one object for all requests") {
  HostThreads host(4);
  GraphStock stock(host);
  stock.expect(specs_of(1, 12), kPlenty);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (const TaskSpec& spec : specs_of(1, 14)) {  // two more than announced by expect()
        const auto graph = stock.take(spec);
        wrong += graph_hash(*graph) != graph_hash(*task_graph(spec));
        wrong += graph->spec().seed != spec.graph.seed;
        if (spec.graph.seed <= 12) wrong += graph != stock.take(spec);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  const auto kept = stock.take(spec_of(3));
  stock.expect(specs_of(3, 2), kPlenty);
  CHECK(stock.take(spec_of(3)) == kept);
  stock.expect(specs_of(5, 2), kPlenty);
  CHECK(stock.take(spec_of(3)) != kept);
}

TEST_CASE("a stock of graphs distinguishes graphs by p, size, rule, seed and bare lattice") {
  HostThreads host(4);
  GraphStock stock(host);
  TaskSpec spec = spec_of(1);
  stock.expect({spec}, kPlenty);
  const auto graph = stock.take(spec);
  for (const int which : {0, 1, 2, 3, 4}) {
    TaskSpec other = spec;
    if (which == 0) other.graph.p = 0.2;
    if (which == 1) other.graph.extents = {32, 34};
    if (which == 2) other.graph.rule = Rule::add;
    if (which == 3) other.graph.seed = 2;
    if (which == 4) other.graph.bare = true;
    CAPTURE(which);
    CHECK(graph_hash(*stock.take(other)) == graph_hash(*task_graph(other)));
    CHECK(stock.take(other) != graph);
  }
}

TEST_CASE("a stock of graphs respects its limit and works without threads") {
  HostThreads host(2);
  GraphStock small(host);
  small.expect(specs_of(1, 4), 1);
  for (const TaskSpec& spec : specs_of(1, 4)) {
    const auto graph = small.take(spec);
    CHECK(graph.use_count() == 1);  // the stock does not hold it
    CHECK(graph_hash(*graph) == graph_hash(*task_graph(spec)));
  }
  HostThreads none(0);
  GraphStock idle(none);
  idle.expect(specs_of(1, 4), kPlenty);
  CHECK(idle.take(spec_of(1)).use_count() == 1);
}

TEST_CASE("a stock of graphs reuses the memory of graphs that were taken") {
  HostThreads host(1);
  GraphStock stock(host);
  std::weak_ptr<const Graph> first;
  stock.expect(specs_of(1, 3), 40000);  // room for one graph of about 30 kB
  first = stock.take(spec_of(1));
  for (int wait = 0; wait < 2000 && !first.expired(); ++wait) std::this_thread::sleep_for(1ms);
  CHECK(first.expired());  // replaced by another graph
  CHECK(graph_hash(*stock.take(spec_of(2))) == graph_hash(*task_graph(spec_of(2))));
}

TEST_CASE("a stock of graphs: each request for an invalid graph throws the error") {
  HostThreads host(2);
  GraphStock stock(host);
  TaskSpec spec = spec_of(1);
  spec.graph.extents = {32, 33};
  stock.expect({spec, spec_of(2)}, kPlenty);
  CHECK_THROWS_AS(stock.take(spec), Error);
  CHECK_THROWS_AS(stock.take(spec), Error);
  CHECK(stock.take(spec_of(2)) != nullptr);
}

}  // namespace rewise
