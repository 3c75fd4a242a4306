// Host threads: every job is done, in order, whatever number of threads, within bounds.
#include "experiments/tasks/host_threads.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/support/catch.hpp"

using namespace rewise;
using namespace std::chrono_literals;

TEST_CASE("host threads do every job before they end, and begin them in order") {
  for (const int threads : {0, 1, 4}) {
    std::mutex mutex;
    std::vector<int> begun;
    {
      HostThreads host(threads);
      for (int k = 0; k < 50; ++k) {
        host.add(1, [&, k] {
          const std::lock_guard lock(mutex);
          begun.push_back(k);
        });
      }
    }
    CHECK(begun.size() == 50);
    if (threads < 2) CHECK(std::is_sorted(begun.begin(), begun.end()));
  }
}

TEST_CASE("host threads hold no more than they may: who gives more waits") {
  HostThreads host(2, 100);
  std::atomic<int> held = 0, most = 0;
  for (int k = 0; k < 20; ++k) {
    host.add(40, [&] {
      std::this_thread::sleep_for(2ms);
      --held;
    });
    // Those that are done have let go of what they held by now, or do so right after.
    most = std::max<int>(most, ++held);
  }
  CHECK(most <= 3);
  // One that is larger than all may be is done by who gives it.
  std::thread::id by;
  host.add(1000, [&] { by = std::this_thread::get_id(); });
  CHECK(by == std::this_thread::get_id());
}

TEST_CASE("host threads share a loop with the caller, and throw what it throws") {
  for (const int threads : {0, 1, 3}) {
    HostThreads host(threads);
    for (const std::size_t count : {0U, 1U, 7U, 100U}) {
      std::vector<std::atomic<int>> done(count);
      host.for_each(count, [&](std::size_t k) { ++done[k]; });
      for (const auto& one : done) CHECK(one == 1);
    }
    std::atomic<int> calls = 0;
    CHECK_THROWS_AS(host.for_each(10,
                                  [&](std::size_t k) {
                                    ++calls;
                                    if (k == 4) throw std::runtime_error("4");
                                  }),
                    std::runtime_error);
    CHECK(calls == 10);
    // Within a job, on the thread that it may need.
    std::atomic<int> inner = 0;
    host.for_each(4, [&](std::size_t) { host.for_each(4, [&](std::size_t) { ++inner; }); });
    CHECK(inner == 16);
  }
}
