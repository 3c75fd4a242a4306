// Tasks that run together on a CUDA device give the same data as each task on the CPU.
#include <cuda_runtime_api.h>

#include <filesystem>

#include "src/cuda/check.hpp"
#include "src/cuda/device_memory.hpp"
#include "src/study/task_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/content_digest.hpp"
#include "tests/support/program.hpp"

using namespace rewise;

namespace {

std::vector<TaskSpec> some_tasks() {
  std::vector<TaskSpec> specs;
  for (std::uint64_t k = 0; k < 9; ++k) {
    TaskSpec spec;
    spec.graph = {{12, 10}, 0.05 * static_cast<double>(k), Rule::rewire, k + 1};
    spec.temperatures = {2.3 + 0.1 * static_cast<double>(k), 2.7};
    spec.replicas = 64;
    spec.seed = 10 + k;
    spec.schedule = {1, 2};
    spec.equilibrate = 7 * (k % 3);
    spec.measure = 40 + k % 2;
    spec.every = 3;
    specs.push_back(spec);
  }
  return specs;
}

TaskRunOptions run_on(int device) {
  TaskRunOptions run;
  run.engine.threads = 1;
  run.engine.device = device;
  return run;
}

std::vector<TaskJob> jobs_in(const std::filesystem::path& folder,
                             const std::vector<TaskSpec>& specs) {
  std::vector<TaskJob> jobs;
  for (const TaskSpec& spec : specs)
    jobs.push_back({spec, task_paths(folder, task_id(spec)), {}, {}});
  return jobs;
}

}  // namespace

TEST_CASE("a group on a CUDA device gives the same data as each task on the CPU", "[gpu]") {
  const auto specs = some_tasks();
  std::vector<TaskJob> jobs;
  for (const TaskSpec& spec : specs) jobs.push_back({spec, {}, {}, {}});
  const auto results = run_tasks(jobs, run_on(0));
  for (std::size_t k = 0; k < specs.size(); ++k) {
    INFO("task " << k);
    REQUIRE_FALSE(results[k].error);
    const TaskData cpu = run_task({specs[k]}, run_on(-1)).data;
    CHECK(test::content_digest(results[k].data) == test::content_digest(cpu));
    CHECK(results[k].data.provenance.at("trajectory_hash") == cpu.provenance.at("trajectory_hash"));
  }
}

TEST_CASE(
    "bare lattices with sums over pairs of clusters in a group on CUDA equal those on the CPU",
    "[gpu]") {
  auto specs = some_tasks();
  std::vector<TaskJob> jobs;
  for (TaskSpec& spec : specs) {
    spec.graph.bare = true;
    spec.cluster = ClusterUpdate::swendsen_wang;
    spec.cluster_pairs = true;
    jobs.push_back({spec, {}, {}, {}});
  }
  const auto results = run_tasks(jobs, run_on(0));
  for (std::size_t k = 0; k < specs.size(); ++k) {
    INFO("task " << k);
    REQUIRE_FALSE(results[k].error);
    const TaskData cpu = run_task({specs[k]}, run_on(-1)).data;
    CHECK_FALSE(cpu.pair_size.empty());
    CHECK(test::content_digest(results[k].data) == test::content_digest(cpu));
  }
}

TEST_CASE("warm-ups by other updates in a group on CUDA equal those on the CPU", "[gpu]") {
  const auto [warm, then] =
      GENERATE(std::pair{ClusterUpdate::swendsen_wang, ClusterUpdate::wolff},
               std::pair{ClusterUpdate::wolff, ClusterUpdate::swendsen_wang},
               std::pair{ClusterUpdate::swendsen_wang, ClusterUpdate::swendsen_wang});
  auto specs = some_tasks();
  for (TaskSpec& spec : specs) {
    spec.cluster = then;
    spec.warm_up = {5, {{1, 2}, warm}};
  }
  std::vector<TaskJob> jobs;
  for (const TaskSpec& spec : specs) jobs.push_back({spec, {}, {}, {}});
  const auto results = run_tasks(jobs, run_on(0));
  for (std::size_t k = 0; k < specs.size(); ++k) {
    INFO("task " << k << ", " << to_string(warm) << ", then " << to_string(then));
    REQUIRE_FALSE(results[k].error);
    const TaskData cpu = run_task({specs[k]}, run_on(-1)).data;
    CHECK(test::content_digest(results[k].data) == test::content_digest(cpu));
    CHECK(results[k].data.provenance.at("trajectory_hash") == cpu.provenance.at("trajectory_hash"));
  }
}

TEST_CASE("checkpoints of a group are continued in a group, alone and on the CPU", "[gpu]") {
  oracle::Workplace place;
  std::filesystem::create_directories(place / "tasks");
  const auto specs = some_tasks();
  int interrupted = 0;
  for (double limit = 1e-6;; limit *= 4) {
    TaskRunOptions run = run_on(interrupted % 3 == 1 ? -1 : 0);
    run.stop = StopToken(std::chrono::duration<double>(limit));
    bool stopped = false;
    for (const TaskResult& result : run_tasks(jobs_in(place / "", specs), run)) {
      REQUIRE_FALSE(result.error);
      stopped = stopped || result.outcome == TaskOutcome::interrupted;
    }
    if (!stopped) break;
    if (++interrupted == 3) run_task({specs[5], jobs_in(place / "", specs)[5].paths}, run_on(0));
  }
  CHECK(interrupted >= 2);
  for (const TaskSpec& spec : specs) {
    const auto data = read_finished(spec, task_paths(place / "", task_id(spec)));
    REQUIRE(data);
    CHECK(test::content_digest(*data) == test::content_digest(run_task({spec}, run_on(-1)).data));
  }
}

// The executor admits groups to a device by these estimates (admission.hpp).
TEST_CASE("Swendsen-Wang groups need about as much device memory as estimated", "[gpu]") {
  struct Case {
    std::vector<std::uint32_t> extents;
    double p;
    Rule rule;
    bool bare;
  };
  for (const Case& c : std::vector<Case>{{{96, 64, 56}, 0.1, Rule::rewire, true},
                                         {{96, 64, 56}, 0.1, Rule::rewire, false},
                                         {{96, 64, 56}, 0.1, Rule::add, true},
                                         {{60, 60, 60}, 1, Rule::rewire, true},
                                         {{512, 704}, 0.01, Rule::rewire, false},
                                         {{512, 704}, 0.3, Rule::swap, false},
                                         {{400000}, 0.1, Rule::rewire, true},
                                         {{32, 24, 20, 24}, 0.1, Rule::rewire, true}}) {
    INFO("dim " << c.extents.size() << " p " << c.p << " rule " << std::string(to_string(c.rule))
                << " bare " << c.bare);
    std::vector<TaskJob> jobs;
    for (std::uint64_t k = 0; k < 4; ++k) {
      TaskSpec spec;
      spec.graph = {c.extents, c.p, c.rule, k + 1, c.bare};
      spec.temperatures = {2.5, 3.5, 4.5};
      spec.cluster = ClusterUpdate::swendsen_wang;
      spec.schedule = {1, 1};
      spec.equilibrate = 1;
      spec.measure = 2;
      jobs.push_back({spec, {}, {}, {}});
    }
    cudaMemPool_t pool = nullptr;
    std::uint64_t most = 0;
    check_cuda(cudaSetDevice(0));
    check_cuda(current_pool(pool));
    check_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &most));
    HostThreads none(0);
    TaskGroup group(std::move(jobs), run_on(0), none);
    const double told = group.device_bytes();
    group.run();
    check_cuda(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &most));
    CHECK(static_cast<double>(most) < 1.1 * told);
    CHECK(static_cast<double>(most) > 0.75 * told);
  }
}
