// A step of a study runs while the files of the previous step are written, whose errors the next
// step or the end of the study reports. Two threads may run tasks of one study at the same time.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.hpp"
#include "src/store/syscalls.hpp"
#include "src/store/task_pack.hpp"
#include "src/study/study.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/content_digest.hpp"
#include "tests/support/program.hpp"

using namespace rewise;

namespace {

// A disk on which fsync waits while `held`, and then fails if `error` is set.
struct Disk {
  std::mutex mutex;
  std::condition_variable let;
  bool held = false;
  int error = 0;
};
Disk disk;

int sync_when_let(int file) {
  std::unique_lock lock(disk.mutex);
  disk.let.wait(lock, [] { return !disk.held; });
  if (disk.error == 0) return real_syscalls().fsync(file);
  errno = disk.error;
  return -1;
}

class SlowDisk {
 public:
  SlowDisk() : before_(syscalls()) { syscalls().fsync = sync_when_let; }
  ~SlowDisk() {
    let(0);
    syscalls() = before_;
  }
  void hold() {
    const std::lock_guard lock(disk.mutex);
    disk.held = true;
  }
  void let(int error) {
    const std::lock_guard lock(disk.mutex);
    disk.held = false;
    disk.error = error;
    disk.let.notify_all();
  }

 private:
  const Syscalls before_;
};

struct Runs {
  oracle::Workplace place;
  StudyConfig config = parse_study_config(
      "[lattice]\ndim = 2\nsizes = [8, 12]\np = [0.1]\n[run]\nthreads = 2\n", "s.toml");
  Progress progress{"study", 0, true};
  Study study{StudyFolder(place / "study", config, "tc")};

  static PlannedTask task(std::uint64_t seed) {
    PlannedTask task;
    task.spec.graph.extents = {8, 8};
    task.spec.graph.p = 0.1;
    task.spec.graph.seed = seed;
    task.spec.temperatures = {2.5};
    task.spec.equilibrate = 2;
    task.spec.measure = 4;
    return task;
  }
  // Returns the number of results handled.
  int run(std::uint64_t seed) {
    int taken = 0;
    study.run({task(seed)}, StopToken(), progress,
              [&](std::size_t, TaskData&& data) { taken += data.bond_sum.time() == 4 ? 1 : 0; });
    return taken;
  }
  // Returns the number of results handled exactly once.
  std::size_t run(std::uint64_t first, std::uint64_t last) {
    std::vector<PlannedTask> tasks;
    for (std::uint64_t seed = first; seed <= last; ++seed) tasks.push_back(task(seed));
    std::vector<std::atomic<int>> taken(tasks.size());
    study.run(tasks, StopToken(), progress, [&](std::size_t index, TaskData&& data) {
      taken[index] += data.bond_sum.time() == 4 ? 1 : 2;
    });
    return static_cast<std::size_t>(std::count(taken.begin(), taken.end(), 1));
  }
  // The hashes in the files of tasks 1 to `last`.
  std::vector<std::string> hashes(std::uint64_t last) {
    study.finish_files(progress);
    std::vector<std::string> all;
    for (std::uint64_t seed = 1; seed <= last; ++seed) {
      const auto finished =
          read_finished(task(seed).spec, task_paths(study.folder(), task(seed).spec));
      all.push_back(finished ? finished->provenance.at("trajectory_hash") : "no file");
    }
    return all;
  }
  bool has_file(std::uint64_t seed) const {
    return has_finished(task_paths(study.folder(), task(seed).spec));
  }
};

}  // namespace

TEST_CASE("a step of a study handles its results before their files are written") {
  Runs runs;
  SlowDisk slow;
  slow.hold();
  CHECK(runs.run(1) == 1);
  CHECK_FALSE(runs.has_file(1));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    slow.let(0);
  });
  CHECK(runs.run(1) == 1);  // waits for the file and reads it
  later.join();
  CHECK(runs.study.computed() == 1);
  runs.study.finish_files(runs.progress);
  CHECK(runs.has_file(1));
}

TEST_CASE("a file that cannot be written after its result was handled ends the study") {
  for (const bool in_next_step : {false, true}) {
    Runs runs;
    SlowDisk slow;
    slow.hold();
    CHECK(runs.run(1) == 1);
    slow.let(ENOSPC);
    try {
      if (in_next_step) runs.run(1);  // waits for the file
      runs.study.finish_files(runs.progress);
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::io);
      CHECK(std::string(error.what()).find("No space left") != std::string::npos);
    }
    CHECK_FALSE(runs.has_file(1));
  }
}

TEST_CASE("two threads run tasks of one study at the same time: same results as one thread") {
  Runs alone;
  CHECK(alone.run(1, 40) == 40);
  CHECK(alone.run(41, 60) == 20);
  const auto hashes = alone.hashes(60);
  CHECK(std::set(hashes.begin(), hashes.end()).size() == 60);
  for (int repeat = 0; repeat < 5; ++repeat) {
    Runs runs;
    std::size_t beside = 0;
    std::thread other([&] { beside = runs.run(41, 60); });
    CHECK(runs.run(1, 40) == 40);
    other.join();
    CHECK(beside == 20);
    CHECK(runs.hashes(60) == hashes);
    CHECK(runs.study.computed() == 60);
    CHECK(runs.study.requested().size() == 60);
  }
}

TEST_CASE("if one of two threads that run tasks fails, the other ends with the same error") {
  Runs runs;
  std::string told;
  std::thread other([&] {
    try {
      for (std::uint64_t seed = 1;; ++seed) runs.run(seed);
    } catch (const Error& error) {
      told = error.what();
    }
  });
  runs.study.fail(std::make_exception_ptr(Error(ExitCode::data, "no good")));
  other.join();
  CHECK(told == "no good");
  CHECK_THROWS_AS(runs.study.finish_files(runs.progress), Error);
}
