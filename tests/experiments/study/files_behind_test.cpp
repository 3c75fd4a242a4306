// Results are taken before their files are on disk: a step of a study does not wait for those of
// the one before, and what goes wrong with them is told in the next step or at the end.
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "experiments/study/study.hpp"
#include "src/base/error.hpp"
#include "src/store/syscalls.hpp"
#include "src/store/task_pack.hpp"
#include "tests/experiments/program.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

// A disk that syncs nothing until it is let, and then fails where `error` says so.
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
      "[lattice]\ndim = 2\nsizes = [8, 12]\np = [0.1]\n[run]\nthreads = 1\n", "s.toml");
  Study study{StudyFolder(place / "study", config, "tc")};
  Progress progress{"study", 0, true};

  static StudyTask task(std::uint64_t seed) {
    StudyTask task;
    task.spec.graph.extents = {8, 8};
    task.spec.graph.p = 0.1;
    task.spec.graph.seed = seed;
    task.spec.temperatures = {2.5};
    task.spec.equilibrate = 2;
    task.spec.measure = 4;
    return task;
  }
  // How many results were taken.
  int run(std::uint64_t seed) {
    int taken = 0;
    study.run({task(seed)}, StopToken(), progress,
              [&](std::size_t, TaskData&& data) { taken += data.energy.time() == 4 ? 1 : 0; });
    return taken;
  }
  bool has_file(std::uint64_t seed) const {
    return has_finished(task_paths(study.folder(), task(seed).spec));
  }
};

}  // namespace

TEST_CASE("a step of a study takes its results while the disk is still at their files") {
  Runs runs;
  SlowDisk slow;
  slow.hold();
  CHECK(runs.run(1) == 1);
  CHECK_FALSE(runs.has_file(1));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    slow.let(0);
  });
  CHECK(runs.run(1) == 1);  // the file is waited for, and read
  later.join();
  CHECK(runs.study.computed() == 1);
  runs.study.finish_files(runs.progress);
  CHECK(runs.has_file(1));
}

TEST_CASE(
    "a file that cannot be written after its result was taken ends the study with its error") {
  for (const bool in_next_step : {false, true}) {
    Runs runs;
    SlowDisk slow;
    slow.hold();
    CHECK(runs.run(1) == 1);
    slow.let(ENOSPC);
    try {
      if (in_next_step) runs.run(1);  // which waits for it
      runs.study.finish_files(runs.progress);
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::io);
      CHECK(std::string(error.what()).find("No space left") != std::string::npos);
    }
    CHECK_FALSE(runs.has_file(1));
  }
}
