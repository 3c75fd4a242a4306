// Many graphs per launch: each graph makes the same moves as alone, on CUDA and on the CPU, bit for
// bit.
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "graphs/graph.hpp"
#include "src/multispin/layout_cuda.hpp"
#include "src/multispin/multispin.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

namespace cuda_batch_test {
namespace {

using namespace rewise;
using namespace rewise::oracle;

constexpr double kFractions[] = {0.0, 0.02, 0.1, 0.5, 1.0};
constexpr Rule kRules[] = {Rule::rewire, Rule::add, Rule::swap};

// Graphs of one lattice with different p, rules, seeds and temperatures.
struct Fleet {
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<BatchTask> tasks;

  Fleet(const std::vector<std::uint32_t>& extents, std::size_t count, LocalUpdate local,
        std::size_t temperatures, std::uint32_t replicas) {
    for (std::size_t k = 0; k < count; ++k) {
      graphs.push_back(std::make_unique<Graph>(
          build_graph({extents, kFractions[k % 5], kRules[k / 5 % 3], 100 + k})));
      EngineSpec spec;
      spec.local = local;
      for (std::size_t t = 0; t < temperatures; ++t) {
        spec.betas.push_back(1 /
                             (1.9 + 0.3 * static_cast<double>(t) + 0.01 * static_cast<double>(k)));
      }
      spec.replicas = replicas;
      spec.seed = 7'000'000'000ull * (k + 1);
      tasks.push_back({*graphs.back(), spec});
    }
  }

  std::unique_ptr<EngineBatch> together(int device, WolffForm form = WolffForm::automatic) const {
    EngineOptions options;
    options.threads = 2;
    options.device = device;
    options.methods = {.wolff_form = form};
    return make_multispin_batch(tasks, options);
  }
  std::unique_ptr<Engine> alone(std::size_t k, int device) const {
    EngineOptions options;
    options.threads = 2;
    options.device = device;
    return make_multispin_engine(tasks[k].graph, tasks[k].spec, options);
  }
};

std::vector<std::size_t> all_of(const EngineBatch& batch) {
  std::vector<std::size_t> chosen(batch.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  return chosen;
}

}  // namespace

TEST_CASE("many graphs per launch make the same moves as each alone", "[gpu]") {
  const std::vector<std::vector<std::uint32_t>> shapes{{70},     {10, 12},  {32, 32},
                                                       {36, 26}, {6, 4, 8}, {4, 4, 4, 6}};
  for (const auto& shape : shapes) {
    for (const auto& [local, schedule, temperatures, replicas, count] :
         {std::tuple{LocalUpdate::metropolis, Schedule{1, 0}, 1u, 32u, 16u},
          std::tuple{LocalUpdate::glauber, Schedule{1, 0}, 3u, 32u, 5u},
          std::tuple{LocalUpdate::metropolis, Schedule{2, 1}, 3u, 64u, 5u},
          std::tuple{LocalUpdate::metropolis, Schedule{0, 4}, 2u, 64u, 7u},
          std::tuple{LocalUpdate::glauber, Schedule{2, 3}, 1u, 128u, 6u}}) {
      INFO("dim " << shape.size() << " x " << shape[0] << " schedule " << to_string(schedule));
      const Fleet fleet(shape, count, local, temperatures, replicas);
      auto cuda = fleet.together(0);
      auto cpu = fleet.together(-1);
      const auto chosen = all_of(*cuda);
      for (EngineBatch* batch : {cuda.get(), cpu.get()}) batch->advance(chosen, schedule, 27);
      // Five full groups of 64 samples, which are captured as CUDA graphs, and a part of one.
      constexpr std::size_t samples = 5 * 64 + 7;
      const auto x = cuda->sample(chosen, schedule, 2, samples);
      const auto y = cpu->sample(chosen, schedule, 2, samples);
      for (std::size_t k = 0; k < count; ++k) {
        INFO("graph " << k);
        for (std::size_t n = 0; n < samples; ++n) check_same(x[k][n], y[k][n]);
        CHECK(cuda->engine(k).trajectory_hash() == cpu->engine(k).trajectory_hash());
        CHECK(cuda->engine(k).work().cluster_sites == cpu->engine(k).work().cluster_sites);
        CHECK(cuda->engine(k).work().local_attempts == cpu->engine(k).work().local_attempts);
      }
      const std::size_t last = count - 1;
      auto one = fleet.alone(last, 0);
      one->advance(schedule, 27);
      Observation taken;
      for (std::size_t n = 0; n < samples; ++n) {
        one->advance(schedule, 2);
        one->measure(taken);
        check_same(taken, x[last][n]);
      }
      CHECK(one->trajectory_hash() == cuda->engine(last).trajectory_hash());
    }
  }
}

// With enough work for the device, six or eight word groups are interleaved (vec_of).
TEST_CASE("interleaved words of six and eight groups make the moves of the CPU", "[gpu]") {
  struct Case {
    Schedule schedule;
    LocalUpdate local;
    ClusterUpdate cluster;
    WolffForm form;
  };
  constexpr auto metropolis = LocalUpdate::metropolis;
  for (const auto& [shape, count, temperatures, replicas, vec] :
       {std::tuple{std::vector<std::uint32_t>{256, 256}, 5u, 6u, 32u, 6},
        std::tuple{std::vector<std::uint32_t>{256, 128}, 16u, 4u, 64u, 8},
        std::tuple{std::vector<std::uint32_t>{256, 128}, 5u, 6u, 64u, 6},
        std::tuple{std::vector<std::uint32_t>{256, 128}, 8u, 4u, 128u, 8},
        std::tuple{std::vector<std::uint32_t>{64, 32, 64}, 4u, 2u, 128u, 8},
        std::tuple{std::vector<std::uint32_t>{131074}, 2u, 3u, 64u, 6}}) {
    const std::uint64_t sites =
        std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
    CHECK(multispin::vec_of(temperatures * replicas / 32, count * sites / 2, false) == vec);
    for (const auto& [schedule, local, cluster, form] :
         {Case{{2, 0}, metropolis, ClusterUpdate::wolff, WolffForm::automatic},
          Case{{1, 0}, LocalUpdate::glauber, ClusterUpdate::wolff, WolffForm::automatic},
          Case{{1, 2}, metropolis, ClusterUpdate::wolff, WolffForm::sparse},
          Case{{1, 2}, metropolis, ClusterUpdate::wolff, WolffForm::dense},
          Case{{1, 1}, metropolis, ClusterUpdate::swendsen_wang, WolffForm::automatic}}) {
      INFO("dim " << shape.size() << " x " << shape[0] << " word groups "
                  << temperatures * replicas / 32 << " schedule " << to_string(schedule) << " form "
                  << static_cast<int>(form));
      Fleet fleet(shape, count, local, temperatures, replicas);
      for (BatchTask& task : fleet.tasks) task.spec.cluster = cluster;
      auto cuda = fleet.together(0, form);
      auto cpu = fleet.together(-1, form);
      const auto chosen = all_of(*cuda);
      for (EngineBatch* batch : {cuda.get(), cpu.get()}) batch->advance(chosen, schedule, 2);
      const std::size_t last = count - 1;
      const EngineState before = cpu->engine(last).save();
      const auto x = cuda->sample(chosen, schedule, 1, 2);
      const auto y = cpu->sample(chosen, schedule, 1, 2);
      for (std::size_t k = 0; k < count; ++k) {
        INFO("graph " << k);
        for (std::size_t n = 0; n < 2; ++n) check_same(x[k][n], y[k][n]);
        CHECK(cuda->engine(k).trajectory_hash() == cpu->engine(k).trajectory_hash());
      }
      // The last graph alone, from its earlier state.
      const std::vector<std::size_t> alone{last};
      for (EngineBatch* batch : {cuda.get(), cpu.get()}) {
        batch->engine(last).restore(before);
        batch->advance(alone, schedule, 2);
      }
      CHECK(cuda->engine(last).trajectory_hash() == cpu->engine(last).trajectory_hash());
      check_same(cuda->sample(alone, schedule, 1, 1)[0][0],
                 cpu->sample(alone, schedule, 1, 1)[0][0]);
    }
  }
}

// 38 400 bonds, and eight cluster updates per measurement of up to 19 200 sites each: the largest
// possible bond and cluster sums need four bytes, magnetisations two.
TEST_CASE("sums that need more than two bytes equal those of the CPU", "[gpu]") {
  for (const Schedule& schedule : {Schedule{1, 4}, Schedule{3, 0}}) {
    const Fleet fleet({160, 120}, 3, LocalUpdate::metropolis, 2, 32);
    auto cuda = fleet.together(0);
    auto cpu = fleet.together(-1);
    const auto chosen = all_of(*cuda);
    for (EngineBatch* batch : {cuda.get(), cpu.get()}) batch->advance(chosen, schedule, 3);
    constexpr std::size_t samples = 2 * 64 + 5;
    const auto x = cuda->sample(chosen, schedule, 2, samples);
    const auto y = cpu->sample(chosen, schedule, 2, samples);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      for (std::size_t n = 0; n < samples; ++n) check_same(x[k][n], y[k][n]);
      CHECK(cuda->engine(k).work().cluster_sites == cpu->engine(k).work().cluster_sites);
    }
  }
}

TEST_CASE("batches of several threads on one device do not affect each other", "[gpu]") {
  const std::vector<std::vector<std::uint32_t>> shapes{{36, 26}, {64, 70}, {6, 8, 8}, {130, 74}};
  std::vector<std::vector<std::uint64_t>> hashes(shapes.size());
  std::vector<std::thread> threads;
  std::vector<Fleet> fleets;
  for (const auto& shape : shapes) fleets.emplace_back(shape, 6, LocalUpdate::metropolis, 3, 64);
  for (std::size_t n = 0; n < shapes.size(); ++n) {
    threads.emplace_back([&fleet = fleets[n], &found = hashes[n]] {
      for (int again = 0; again < 6; ++again) {  // threads reuse freed memory of each other
        auto batch = fleet.together(0);
        const auto chosen = all_of(*batch);
        batch->sample(chosen, {2, 1}, 2, 20);
        batch->advance(chosen, {1, 3}, 5);
        for (std::size_t k = 0; k < chosen.size(); ++k) {
          found.push_back(batch->engine(k).trajectory_hash());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t n = 0; n < shapes.size(); ++n) {
    INFO("shape " << n);
    auto cpu = fleets[n].together(-1);
    const auto chosen = all_of(*cpu);
    cpu->sample(chosen, {2, 1}, 2, 20);
    cpu->advance(chosen, {1, 3}, 5);
    for (std::size_t k = 0; k < hashes[n].size(); ++k) {
      CHECK(hashes[n][k] == cpu->engine(k % chosen.size()).trajectory_hash());
    }
  }
}

TEST_CASE("members of a batch may be advanced separately", "[gpu]") {
  const Fleet fleet({12, 10}, 6, LocalUpdate::metropolis, 1, 32);
  const Schedule schedule{1, 2};
  auto batch = fleet.together(0);
  std::vector<std::unique_ptr<Engine>> alone;
  for (std::size_t k = 0; k < 6; ++k) alone.push_back(fleet.alone(k, -1));
  const auto advance = [&](const std::vector<std::size_t>& chosen, std::uint64_t cycles) {
    batch->advance(chosen, schedule, cycles);
    for (const std::size_t k : chosen) alone[k]->advance(schedule, cycles);
  };
  advance({0, 1, 2, 3, 4, 5}, 10);
  advance({1, 2, 4}, 7);
  advance({5}, 3);
  advance({0, 1, 2, 3, 4, 5}, 21);
  batch->engine(3).advance(schedule, 2);
  alone[3]->advance(schedule, 2);
  const auto taken = batch->sample(std::vector<std::size_t>{2, 3, 5}, schedule, 3, 2);
  const std::size_t chosen[] = {2, 3, 5};
  for (std::size_t i = 0; i < 3; ++i) {
    Observation observation;
    for (std::size_t n = 0; n < 2; ++n) {
      alone[chosen[i]]->advance(schedule, 3);
      alone[chosen[i]]->measure(observation);
      check_same(observation, taken[i][n]);
    }
  }
  for (std::size_t k = 0; k < 6; ++k) {
    INFO("graph " << k);
    Observation x, y;
    batch->engine(k).measure(x);
    alone[k]->measure(y);
    check_same(x, y);
    CHECK(batch->engine(k).trajectory_hash() == alone[k]->trajectory_hash());
  }
}

TEST_CASE("a checkpoint of a batch member continues alone, on CPU or CUDA, or in a batch",
          "[gpu]") {
  const Fleet fleet({34, 10}, 5, LocalUpdate::metropolis, 2, 64);
  const Schedule schedule{2, 3};
  auto batch = fleet.together(0);
  const auto chosen = all_of(*batch);
  batch->advance(chosen, schedule, 11);
  const EngineState state = batch->engine(3).save();
  batch->advance(chosen, schedule, 13);
  const std::uint64_t hash = batch->engine(3).trajectory_hash();
  for (const int device : {-1, 0}) {
    auto one = fleet.alone(3, device);
    one->restore(state);
    one->advance(schedule, 13);
    CHECK(one->trajectory_hash() == hash);
    Observation x, y;
    one->measure(x);
    auto other = fleet.together(0);
    other->engine(3).restore(state);
    other->advance(chosen, schedule, 13);
    other->engine(3).measure(y);
    check_same(x, y);
    CHECK(other->engine(3).trajectory_hash() == hash);
  }
}

TEST_CASE("long schedules are run in pieces", "[gpu]") {
  const Fleet fleet({8, 6}, 3, LocalUpdate::metropolis, 1, 32);
  auto cuda = fleet.together(0);
  auto cpu = fleet.together(-1);
  for (const Schedule schedule : {Schedule{150, 2}, Schedule{30, 0}, Schedule{70, 0}}) {
    for (EngineBatch* batch : {cuda.get(), cpu.get()}) batch->advance(all_of(*batch), schedule, 7);
  }
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(cuda->engine(k).trajectory_hash() == cpu->engine(k).trajectory_hash());
  }
}

TEST_CASE("tasks of different shape do not share launches") {
  const Fleet a({8, 6}, 1, LocalUpdate::metropolis, 1, 32),
      b({6, 8}, 1, LocalUpdate::metropolis, 1, 32), c({8, 6}, 1, LocalUpdate::glauber, 1, 32),
      d({8, 6}, 1, LocalUpdate::metropolis, 2, 32), e({8, 6}, 1, LocalUpdate::metropolis, 1, 64),
      f({8, 6}, 2, LocalUpdate::metropolis, 1, 32);
  for (const Fleet* other : {&b, &c, &d, &e}) {
    CHECK_FALSE(share_launches(a.tasks[0], other->tasks[0]));
  }
  CHECK(share_launches(a.tasks[0], f.tasks[1]));
}

}  // namespace cuda_batch_test
