// Several CUDA devices that share every replica, as ranks of this process, make the same moves as
// the CPU, bit for bit. The lists of devices are {0, 0}, {0, 0, 0} (a device may be listed more
// than once) and, if there are several, all devices.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "src/base/error.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/methods.hpp"
#include "src/cuda/devices.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

namespace cuda_team_test {
namespace {

using namespace rewise;
using namespace rewise::oracle;

struct Replica {
  std::vector<std::uint32_t> extents;
  double p;
  Rule rule;
};

// Tiles have 64 x 32, 64 x 8 x 4 and 64 x 4 x 4 x 2 sites; every rank needs a row of tiles.
std::vector<Replica> replicas() {
  std::vector<Replica> list;
  for (const std::vector<std::uint32_t>& shape : std::vector<std::vector<std::uint32_t>>{
           {64, 96}, {192, 70}, {640, 480}, {64, 8, 12}, {64, 34, 18}, {64, 4, 6, 6}}) {
    list.push_back({shape, 0.0, Rule::rewire});
    list.push_back({shape, 0.05, Rule::rewire});
    list.push_back({shape, 0.6, Rule::add});
  }
  list.push_back({{192, 70}, 0.3, Rule::swap});
  return list;
}

std::vector<std::vector<int>> teams() {
  std::vector<std::vector<int>> list{{0, 0}, {0, 0, 0}};
  std::vector<int> all;
  for (const CudaDevice& device : cuda_devices()) all.push_back(device.index);
  if (all.size() > 1) list.push_back(all);
  return list;
}

struct Run {
  ModelKind model;
  std::uint32_t q;
  LocalUpdate local;
  Schedule schedule;
  std::uint32_t temperatures, replicas;
};

const std::vector<Run> kRuns{
    {ModelKind::ising, 2, LocalUpdate::metropolis, {0, 4}, 1, 1},
    {ModelKind::ising, 2, LocalUpdate::glauber, {2, 3}, 2, 2},
    {ModelKind::ising, 2, LocalUpdate::metropolis, {3, 0}, 1, 3},
    {ModelKind::potts, 3, LocalUpdate::metropolis, {1, 2}, 2, 1},
    {ModelKind::potts, 10, LocalUpdate::glauber, {1, 1}, 1, 2},
};

EngineSpec spec_of(const Run& run) {
  EngineSpec spec;
  spec.model.kind = run.model;
  spec.model.q = run.q;
  spec.local = run.local;
  spec.cluster = ClusterUpdate::swendsen_wang;
  const double critical = run.model == ModelKind::potts ? std::log(1 + std::sqrt(run.q)) : 0.44;
  for (std::uint32_t t = 0; t < run.temperatures; ++t) spec.betas.push_back(critical - 0.08 * t);
  spec.replicas = run.replicas;
  spec.seed = 20260102;
  return spec;
}

std::unique_ptr<Engine> on_cpu(const Graph& graph, const Run& run) {
  EngineOptions options;
  options.threads = 4;
  return make_bytespin_engine(graph, spec_of(run), options);
}

std::unique_ptr<Engine> on_team(const Graph& graph, const Run& run, const std::vector<int>& team,
                                LabelMethod method = LabelMethod::fast) {
  EngineOptions options;
  options.devices = team;
  options.methods = {.label = method};
  return make_bytespin_engine(graph, spec_of(run), options);
}

std::string describe(const Run& run, const std::vector<int>& team) {
  return std::string(to_string(run.model)) + " q " + std::to_string(run.q) + ", " +
         std::string(to_string(run.local)) + ", " + to_string(run.schedule) + ", " +
         std::to_string(team.size()) + " devices from " + std::to_string(team.front()) + " to " +
         std::to_string(team.back());
}

void check_team(const Graph& graph, const Run& run, Engine& cpu, const std::vector<int>& team,
                std::uint64_t cycles, LabelMethod method = LabelMethod::fast) {
  INFO(describe(run, team) << " " << to_string(method));
  auto gpu = on_team(graph, run, team, method);
  gpu->advance(run.schedule, cycles);
  CHECK(cpu.trajectory_hash() == gpu->trajectory_hash());
  Observation x, y;
  cpu.measure(x);
  gpu->measure(y);
  CHECK(x.bond_sum == y.bond_sum);
  CHECK(x.magnetisation == y.magnetisation);
  CHECK(cpu.work().cluster_sites == gpu->work().cluster_sites);
  CHECK(cpu.work().local_attempts == gpu->work().local_attempts);
}

}  // namespace

TEST_CASE("several devices that share a replica make the moves of the CPU", "[gpu]") {
  std::size_t cases = 0;
  for (const Replica& s : replicas()) {
    const Graph graph = build_graph({s.extents, s.p, s.rule, 7});
    for (const Run& run : kRuns) {
      const std::uint64_t cycles = graph.sites() > 100000 ? 6 : 40;
      for (const auto& team : teams()) {
        INFO("dim " << s.extents.size() << " x " << s.extents[0] << " p " << s.p << " rule "
                    << std::string(to_string(s.rule)) << ", " << describe(run, team));
        auto cpu = on_cpu(graph, run);
        auto gpu = on_team(graph, run, team);
        CHECK(cpu->trajectory_hash() == gpu->trajectory_hash());
        cpu->advance(run.schedule, cycles);
        gpu->advance(run.schedule, cycles);
        check_same(*cpu, *gpu);
        ++cases;
      }
    }
  }
  CHECK(cases >= 190);
}

TEST_CASE("several devices share a large lattice", "[gpu]") {
  for (const double p : {0.0, 0.01}) {
    const Graph graph = build_graph({{4096, 2048}, p, Rule::rewire, 5});
    const Run run{ModelKind::ising, 2, LocalUpdate::metropolis, {1, 2}, 1, 1};
    auto cpu = on_cpu(graph, run);
    cpu->advance(run.schedule, 2);
    for (const auto& team : teams()) {
      for (const LabelMethod method : {LabelMethod::fast, LabelMethod::kalentev})
        check_team(graph, run, *cpu, team, 2, method);
    }
  }
}

TEST_CASE("several devices label in two stages by label equivalence", "[gpu]") {
  std::vector<Replica> all = replicas();
  for (const std::vector<std::uint32_t>& shape :
       std::vector<std::vector<std::uint32_t>>{{36, 70}, {200, 66}, {34, 10, 6}, {34, 4, 6, 4}}) {
    all.push_back({shape, 0.1, Rule::rewire});
  }
  for (const Replica& s : all) {
    if (s.rule == Rule::swap) continue;
    const Graph graph = build_graph({s.extents, s.p, s.rule, 7});
    for (const Run& run : kRuns) {
      if (run.schedule.cluster == 0) continue;
      const std::uint64_t cycles = graph.sites() > 100000 ? 3 : 15;
      auto cpu = on_cpu(graph, run);
      cpu->advance(run.schedule, cycles);
      Observation x;
      cpu->measure(x);
      for (const auto& team : teams()) {
        INFO("dim " << s.extents.size() << " x " << s.extents[0] << " p " << s.p << ", "
                    << describe(run, team));
        auto gpu = on_team(graph, run, team, LabelMethod::kalentev);
        gpu->advance(run.schedule, cycles);
        CHECK(cpu->trajectory_hash() == gpu->trajectory_hash());
        Observation y;
        gpu->measure(y);
        check_same(x, y);
        CHECK(gpu->work().label_passes > 0);
      }
    }
  }
}

TEST_CASE("a checkpoint moves from several devices to the CPU and back", "[gpu]") {
  const Graph graph = build_graph({{128, 96}, 0.1, Rule::rewire, 3});
  for (const Run& run : kRuns) {
    auto whole = on_cpu(graph, run);
    whole->advance(run.schedule, 30);
    for (const auto& team : teams()) {
      INFO(describe(run, team));
      auto one = on_team(graph, run, team);
      one->advance(run.schedule, 12);
      auto two = on_cpu(graph, run);
      two->restore(one->save());
      two->advance(run.schedule, 8);
      auto three = on_team(graph, run, team);
      three->restore(two->save());
      three->advance(run.schedule, 10);
      CHECK(three->save().bytes == whole->save().bytes);
      CHECK(three->save().step == whole->save().step);
      std::vector<std::uint8_t> a(graph.sites()), b(graph.sites());
      whole->spins(run.temperatures - 1, run.replicas - 1, a);
      three->spins(run.temperatures - 1, run.replicas - 1, b);
      CHECK(a == b);
    }
  }
}

TEST_CASE("several devices: a short run for the sanitizers", "[gpu]") {
  const Run run{ModelKind::ising, 2, LocalUpdate::metropolis, {1, 2}, 1, 2};
  for (const Replica& s :
       {Replica{{128, 96}, 0.3, Rule::rewire}, Replica{{64, 10, 12}, 0.1, Rule::add}}) {
    const Graph graph = build_graph({s.extents, s.p, s.rule, 7});
    auto cpu = on_cpu(graph, run);
    cpu->advance(run.schedule, 2);
    for (const auto& team : teams()) {
      for (const LabelMethod method : {LabelMethod::fast, LabelMethod::kalentev})
        check_team(graph, run, *cpu, team, 2, method);
    }
  }
}

TEST_CASE("several devices: unsupported settings are refused", "[gpu]") {
  const Run run = kRuns.front();
  EngineOptions options;
  options.devices = {0, 0};
  const Graph narrow = build_graph({{36, 36}, 0.1, Rule::rewire, 3});
  const auto any = make_bytespin_engine(narrow, spec_of(run), options);
  CHECK_NOTHROW(any->advance({1, 0}, 2));
  CHECK_THROWS_AS(any->advance({0, 1}, 2), Error);
  const Graph graph = build_graph({{64, 64}, 0.1, Rule::rewire, 3});
  EngineSpec wolff = spec_of(run);
  wolff.cluster = ClusterUpdate::wolff;
  const auto sweeps = make_bytespin_engine(graph, wolff, options);
  CHECK_NOTHROW(sweeps->advance({1, 0}, 2));
  CHECK_THROWS_AS(sweeps->advance({1, 1}, 2), Error);
  CHECK_THROWS_AS(make_bytespin_engine(irregular_graph(500), spec_of(run), options), Error);
  options.methods = {.label = LabelMethod::self_label_sew};
  CHECK_THROWS_AS(make_bytespin_engine(graph, spec_of(run), options), Error);
  options.methods = {.label = LabelMethod::fast};
  options.devices = {0, 999};
  CHECK_THROWS_AS(make_bytespin_engine(graph, spec_of(run), options), Error);
}

}  // namespace cuda_team_test
