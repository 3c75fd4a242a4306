// Host threads: every job is run, in order, within limits, for any number of threads.
#include "src/study/host_threads.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/catch.hpp"

using namespace rewise;
using namespace std::chrono_literals;

TEST_CASE("host threads run every job before they end, and start jobs in order") {
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

TEST_CASE("host threads reserve a quarter for urgent jobs and run urgent jobs first") {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t running = 0, most = 0;
  bool open = false;
  std::string order;
  {
    HostThreads host(8);
    const auto job = [&] {
      std::unique_lock lock(mutex);
      most = std::max(most, ++running);
      changed.notify_all();
      changed.wait(lock, [&] { return open; });
      --running;
    };
    for (int k = 0; k < 20; ++k) host.add(0, job, Urgency::file);
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return running == 6; });
    }
    // Urgent jobs run while the six others wait.
    bool urgent[2] = {};
    for (const auto urgency : {Urgency::result, Urgency::graph}) {
      host.add(
          0,
          [&, urgency] {
            const std::lock_guard lock(mutex);
            urgent[static_cast<std::size_t>(urgency)] = true;
            changed.notify_all();
          },
          urgency);
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return urgent[0] && urgent[1]; });
    CHECK(running == 6);
    open = true;
    changed.notify_all();
  }
  CHECK(most == 6);
  {
    HostThreads one(1);
    bool begun = false, go = false;
    one.add(0, [&] {
      std::unique_lock lock(mutex);
      begun = true;
      changed.notify_all();
      changed.wait(lock, [&] { return go; });
    });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return begun; });
    lock.unlock();
    const std::pair<Urgency, char> all[] = {
        {Urgency::file, 'f'}, {Urgency::result, 'r'}, {Urgency::graph, 'g'}};
    for (const auto& [urgency, letter] : all) {
      one.add(
          0, [&order, letter = letter] { order += letter; }, urgency);
    }
    lock.lock();
    go = true;
    changed.notify_all();
  }
  CHECK(order == "grf");
}

TEST_CASE("host threads limit the bytes of pending jobs: add() waits") {
  HostThreads host(2, 100);
  std::atomic<int> held = 0, most = 0;
  for (int k = 0; k < 20; ++k) {
    host.add(40, [&] {
      std::this_thread::sleep_for(2ms);
      --held;
    });
    // Finished jobs have decremented `held` before add() returns, or do so soon afterwards.
    most = std::max<int>(most, ++held);
  }
  CHECK(most <= 3);
  // The calling thread runs a job that is larger than the limit.
  std::thread::id by;
  host.add(1000, [&] { by = std::this_thread::get_id(); });
  CHECK(by == std::this_thread::get_id());
}

TEST_CASE("for_each shares a loop with the calling thread and rethrows exceptions") {
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
    // A loop within a job, whose threads may all be busy with the outer loop.
    std::atomic<int> inner = 0;
    host.for_each(4, [&](std::size_t) { host.for_each(4, [&](std::size_t) { ++inner; }); });
    CHECK(inner == 16);
  }
}
