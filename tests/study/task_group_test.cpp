// Tasks that run together give the same data as alone.
#include "src/study/task_group.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "src/base/error.hpp"
#include "src/results/task_results.hpp"
#include "src/settings/memory_need.hpp"
#include "src/store/lease.hpp"
#include "src/store/syscalls.hpp"
#include "src/store/task_pack.hpp"
#include "tests/study/small_task.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/content_digest.hpp"
#include "tests/support/program.hpp"

using namespace rewise;

namespace {

// Tasks of equal shape with different p, rules, seeds and temperatures, and different times if
// `times`.
std::vector<TaskSpec> some_tasks(bool times) {
  std::vector<TaskSpec> specs;
  for (std::uint64_t k = 0; k < 5; ++k) {
    TaskSpec spec;
    spec.graph = {{8, 6}, 0.1 * static_cast<double>(k), k == 3 ? Rule::add : Rule::rewire, k + 1};
    spec.temperatures = {2.3 + 0.1 * static_cast<double>(k), 2.7};
    spec.seed = 10 + k;
    spec.schedule = {1, 2};
    spec.equilibrate = times ? 5 * k : 10;
    spec.measure = times ? 7 + k : 12;
    spec.every = times && k == 2 ? 4 : 3;
    specs.push_back(spec);
  }
  return specs;
}

TaskRunOptions plain_run() {
  TaskRunOptions run;
  run.engine.threads = 1;
  return run;
}

std::string digest_alone(const TaskSpec& spec) {
  return test::content_digest(run_task({spec}, plain_run()).data);
}

std::vector<TaskJob> jobs_in(const std::string& folder, const std::vector<TaskSpec>& specs) {
  std::vector<TaskJob> jobs;
  for (const TaskSpec& spec : specs)
    jobs.push_back({spec, task_paths(folder, task_id(spec)), {}, {}});
  return jobs;
}

}  // namespace

TEST_CASE("tasks in a group give the same data as alone, for any lengths") {
  for (const bool times : {false, true}) {
    const auto specs = some_tasks(times);
    std::vector<TaskJob> jobs;
    std::vector<std::uint64_t> cycles(specs.size(), 0);
    for (std::size_t k = 0; k < specs.size(); ++k) {
      jobs.push_back({specs[k], {}, [&cycles, k](std::uint64_t n) { cycles[k] += n; }, {}});
    }
    const auto results = run_tasks(jobs, plain_run());
    REQUIRE(results.size() == specs.size());
    for (std::size_t k = 0; k < specs.size(); ++k) {
      CHECK(results[k].outcome == TaskOutcome::finished);
      CHECK_FALSE(results[k].error);
      CHECK(test::content_digest(results[k].data) == digest_alone(specs[k]));
      CHECK(cycles[k] == specs[k].cycles());
    }
  }
}

TEST_CASE("an interrupted group continues from its checkpoints, together or alone") {
  oracle::Workplace place;
  std::filesystem::create_directories(place / "tasks");
  const auto specs = some_tasks(true);
  int interrupted = 0;
  for (double limit = 1e-6;; limit *= 2) {
    TaskRunOptions run = plain_run();
    run.stop = StopToken(std::chrono::duration<double>(limit));
    const auto results = run_tasks(jobs_in((place / "").string(), specs), run);
    bool stopped = false;
    for (const TaskResult& result : results) {
      REQUIRE_FALSE(result.error);
      stopped = stopped || result.outcome == TaskOutcome::interrupted;
    }
    if (!stopped) break;
    ++interrupted;
    if (interrupted == 2) {  // one task alone, to its end
      CHECK(run_task({specs[4], task_paths((place / "").string(), task_id(specs[4]))}, plain_run())
                .outcome == TaskOutcome::finished);
    }
  }
  CHECK(interrupted >= 2);
  for (const TaskSpec& spec : specs) {
    const auto data = read_finished(spec, task_paths((place / "").string(), task_id(spec)));
    REQUIRE(data);
    CHECK(test::content_digest(*data) == digest_alone(spec));
  }
  for (const auto& file : place.files()) {
    INFO(file);
    CHECK(file.find(".part.") == std::string::npos);
    CHECK(file.find(".lease") == std::string::npos);
  }
}

TEST_CASE("a task that fails or is held does not affect the others of its group") {
  oracle::Workplace place;
  std::filesystem::create_directories(place / "tasks");
  const auto specs = some_tasks(false);
  const auto jobs = jobs_in((place / "").string(), specs);
  std::ofstream(jobs[1].paths->checkpoint) << "no task file";
  const LeaseClaim other = claim_lease(jobs[2].paths->lease);
  REQUIRE(run_task({specs[3], jobs[3].paths}, plain_run()).outcome == TaskOutcome::finished);
  const auto results = run_tasks(jobs, plain_run());
  CHECK(results[0].outcome == TaskOutcome::finished);
  REQUIRE(results[1].error);
  try {
    std::rethrow_exception(results[1].error);
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::data);
  }
  CHECK(results[2].outcome == TaskOutcome::held);
  CHECK(results[3].outcome == TaskOutcome::already_finished);
  CHECK(results[4].outcome == TaskOutcome::finished);
  for (const std::size_t k : {0u, 3u, 4u}) {
    CHECK(test::content_digest(results[k].data) == digest_alone(specs[k]));
  }
}

TEST_CASE("a group stopped during its preparation runs or releases the tasks it has claimed") {
  for (const bool runs : {true, false}) {
    oracle::Workplace place;
    std::filesystem::create_directories(place / "tasks");
    const auto specs = some_tasks(false);
    auto jobs = jobs_in((place / "").string(), specs);
    TaskRunOptions run = plain_run();
    run.stop = StopToken(std::chrono::duration<double>(0.3));
    const auto leases = [&] {
      return std::count_if(jobs.begin(), jobs.end(),
                           [](const TaskJob& job) { return file_exists(job.paths->lease); });
    };
    // Two tasks are claimed before the stop, the others are not.
    jobs[1].on_graph = [&run](const Graph&) {
      while (!run.stop.stop_requested()) std::this_thread::yield();
    };
    std::map<std::size_t, TaskOutcome> outcomes;
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      jobs[k].on_closed = [&outcomes, k](TaskResult&& result) {
        CHECK_FALSE(result.error);
        outcomes[k] = result.outcome;
      };
    }
    HostThreads host(0);
    {
      TaskGroup group(jobs, run, host, true);
      CHECK(outcomes == std::map<std::size_t, TaskOutcome>{{2, TaskOutcome::interrupted},
                                                           {3, TaskOutcome::interrupted},
                                                           {4, TaskOutcome::interrupted}});
      CHECK(group.open());
      CHECK(leases() == 2);
      if (runs) group.run();
    }
    CHECK(leases() == 0);
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      const bool ran = runs && k < 2;
      CHECK(outcomes.contains(k) == (ran || k >= 2));
      CHECK(file_exists(jobs[k].paths->checkpoint) == ran);
    }
    const auto results = run_tasks(jobs_in((place / "").string(), specs), plain_run());
    for (std::size_t k = 0; k < specs.size(); ++k) {
      CHECK(test::content_digest(results[k].data) == digest_alone(specs[k]));
    }
  }

  TaskRunOptions over = plain_run();
  over.stop = StopToken(std::chrono::duration<double>(0));
  HostThreads host(1);
  std::vector<TaskJob> jobs(2);
  for (std::size_t k = 0; k < 2; ++k) jobs[k].spec = some_tasks(false)[k];
  TaskGroup group(jobs, over, host, true);
  CHECK_FALSE(group.open());
  group.run();
}

TEST_CASE("results of a group are handed over before the first state is fetched and written") {
  oracle::Workplace place;
  std::filesystem::create_directories(place / "tasks");
  const auto specs = some_tasks(false);
  std::vector<TaskJob> jobs = jobs_in((place / "").string(), specs);
  std::vector<std::string> order, early(specs.size());
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    jobs[k].on_measured = [&, k](TaskRecord&& record) {
      order.push_back("result");
      early[k] = test::content_digest({std::move(record), {}});
    };
    jobs[k].on_closed = [&, k](TaskResult&& result) {
      CHECK_FALSE(result.error);
      CHECK(file_exists(jobs_in((place / "").string(), specs)[k].paths->finished));
      order.push_back("file");
    };
  }
  HostThreads none(0);
  TaskGroup(std::move(jobs), plain_run(), none).run();
  std::vector<std::string> expected(specs.size(), "result");
  expected.insert(expected.end(), specs.size(), "file");
  CHECK(order == expected);
  for (std::size_t k = 0; k < specs.size(); ++k) {
    const auto written =
        read_finished(specs[k], task_paths((place / "").string(), task_id(specs[k])));
    REQUIRE(written);
    TaskData bare = *written;
    bare.state = {};
    CHECK(early[k] == test::content_digest(bare));
    CHECK(written->provenance.contains("trajectory_hash"));
    CHECK_FALSE(written->state.bytes.empty());
  }
}

TEST_CASE("tasks that run together, and the number that fills a device") {
  const auto specs = some_tasks(true);
  CHECK(run_together(specs[0], specs[4]));
  for (int change = 0; change < 7; ++change) {
    TaskSpec other = specs[0];
    if (change == 0) other.graph.extents = {6, 8};
    if (change == 1) other.engine = EngineKind::bytespin;
    if (change == 2) other.temperatures = {2.3};
    if (change == 3) other.replicas = 64;
    if (change == 4) other.schedule = {1, 1};
    if (change == 5) other.local = LocalUpdate::glauber;
    if (change == 6) other.cluster = ClusterUpdate::swendsen_wang;
    INFO("change " << change);
    CHECK_FALSE(run_together(specs[0], other));
  }
  TaskSpec warm = specs[0];
  warm.warm_up = {32, {{4, 1}, ClusterUpdate::swendsen_wang}};
  CHECK_FALSE(run_together(specs[0], warm));
  TaskSpec other = warm;
  other.warm_up.cycles = 2;
  CHECK(run_together(warm, other));
  other.warm_up.updates.schedule = {1, 1};
  CHECK_FALSE(run_together(warm, other));
  other.warm_up = {32, {{4, 1}, ClusterUpdate::wolff}};
  CHECK_FALSE(run_together(warm, other));
  TaskSpec spec;
  spec.temperatures = {2.4};
  spec.replicas = 256;
  spec.graph.extents = {8192, 8192};
  CHECK(group_size(spec).max_tasks == 1);
  spec.graph.extents = {1024, 1024};
  CHECK(group_size(spec).max_tasks == 4);
  CHECK(group_size(spec).worthwhile_tasks == 1);
  spec.graph.extents = {128, 128};
  CHECK(group_size(spec).max_tasks == 32);
  CHECK(group_size(spec).worthwhile_tasks == 2);  // 1/16 of the number that fills a device
  spec.graph.extents = {16, 16};
  CHECK(group_size(spec).max_tasks == 256);
  CHECK(group_size(spec).min_tasks == 128);
  spec.measure = 100;  // little data to write
  CHECK(group_size(spec).min_tasks == 256);
  spec.graph.extents = {32, 32};
  spec.measure = 120'000;  // 180 MB each: 11 tasks reach the limit of a group
  CHECK(group_size(spec).max_tasks == 11);
  CHECK(group_size(spec).min_tasks == 11);
  spec.measure = 12'000;
  CHECK(group_size(spec).max_tasks == 116);
  CHECK(group_size(spec).min_tasks == 32);
  spec.measure = 10'000'000;
  CHECK(group_size(spec).max_tasks == 1);
  spec.engine = EngineKind::bytespin;
  CHECK(group_size(spec).max_tasks == 1);
}

TEST_CASE("estimated bytes of series equal their storage") {
  TaskSpec spec = oracle::small_task();  // every = 3 cycles with 2 clusters each
  const auto bytes_each = [&](const std::vector<std::uint32_t>& extents) {
    spec.graph.extents = extents;
    return series_bytes(spec) / (32 * 2 * 12);  // per value of each of the series
  };
  CHECK(bytes_each({100, 100}) == 2 + 2 + 2);  // unsigned sums of at most 60000 sites in clusters
  CHECK(bytes_each({120, 100}) == 2 + 2 + 4);
  CHECK(bytes_each({130, 128}) == 4 + 2 + 4);  // 33280 bonds
  CHECK(bytes_each({182, 182}) == 4 + 4 + 4);
  spec.cluster = ClusterUpdate::swendsen_wang;     // another 128 bits
  CHECK(bytes_each({8, 6}) == 2 + 2 + 2 + 4 + 2);  // 3 * 6 * 48^4 < 2^32
  CHECK(bytes_each({65536, 65534}) == 8 + 8 + 8 + 8 + 8);
}

TEST_CASE("estimated bytes of series of a glass include overlaps, walkers and exchanges") {
  TaskSpec spec = oracle::small_task();
  const auto bytes_each = [&] { return series_bytes(spec) / (32 * 2 * 12); };
  spec.schedule.cluster = 0;
  spec.model.interactions.couplings = CouplingKind::plus_minus;
  CHECK(bytes_each() == 2 + 2 + (2 + 2) / 2.0);  // a pair of replicas has two overlaps
  spec.schedule.exchange = true;
  CHECK(bytes_each() == 2 + 2 + (2 + 2) / 2.0 + 2 + (2 + 2) / 32.0);
  spec.model.interactions.couplings = CouplingKind::gaussian;  // units of 2^-20
  CHECK(bytes_each() == 8 + 2 + (2 + 2) / 2.0 + 2 + (2 + 2) / 32.0);
}

TEST_CASE("the estimated bytes of series are at least those of a run with exchange") {
  TaskSpec spec = oracle::small_task();
  spec.schedule = {1, 0, true};
  spec.model.interactions.couplings = CouplingKind::gaussian;
  spec.engine = EngineKind::bytespin;
  const TaskData data = run_task({spec}, oracle::one_thread()).data;
  double bytes = 0;
  for_each_column(
      [&](const ColumnInfo&, const auto& series) {
        bytes += static_cast<double>(series.values().size()) * series.values().bytes_each();
      },
      data);
  CHECK(bytes <= series_bytes(spec));
  CHECK(bytes > 0.5 * series_bytes(spec));
}

namespace {

int open_to_read(const char* path, int flags, mode_t mode) {
  if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) == 0) return real_syscalls().open(path, flags, mode);
  errno = EROFS;
  return -1;
}

class ReadOnlyDisk {
 public:
  ReadOnlyDisk() : before_(syscalls()) { syscalls().open = open_to_read; }
  ~ReadOnlyDisk() { syscalls() = before_; }

 private:
  const Syscalls before_;
};

}  // namespace

TEST_CASE("a finished task can be read from a read-only disk") {
  const oracle::Workplace place;
  TaskSpec spec = oracle::small_task();
  const TaskPaths paths = task_paths((place / "").string(), task_id(spec));
  std::filesystem::create_directories(folder_of(paths.finished));
  const std::string digest = test::content_digest(run_task({spec, paths}, plain_run()).data);
  const ReadOnlyDisk disk;
  const TaskResult again = run_task({spec, paths}, plain_run());
  CHECK(again.outcome == TaskOutcome::already_finished);
  CHECK(test::content_digest(again.data) == digest);
  spec.measure += 1;
  try {
    run_task({spec, paths}, plain_run());
    FAIL("a task ran although its result cannot be stored");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::io);
  }
}
