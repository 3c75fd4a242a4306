// The multispin engine with couplings 1 and -1 and fields, local and cluster updates, replica
// exchange and Houdayer moves on CUDA makes the same moves as on the CPU, alone and in a batch, and
// equals exact enumeration.
#include "src/multispin/multispin.hpp"
#include "tests/engines/couplings_check.hpp"
#include "tests/engines/identity_check.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

Model pm(std::uint32_t seed = 0) {
  Model model;
  model.interactions.couplings = CouplingKind::plus_minus;
  model.interactions.negative_fraction = 0.4;
  model.interactions.seed = seed;
  return model;
}

Model in_field(double field) {
  Model model;
  model.interactions.field = field;
  return model;
}
Model in_random_field(double width) {
  Model model = pm();
  model.interactions.random_field = RandomField::plus_minus;
  model.interactions.field_width = width;
  return model;
}

// Schedules and the updates of their clusters.
struct Moves {
  Schedule schedule;
  ClusterUpdate cluster = ClusterUpdate::wolff;
};

EngineSpec spec_of(const Model& model, LocalUpdate local, const Moves& moves) {
  const Schedule& schedule = moves.schedule;
  EngineSpec spec;
  spec.model = model;
  spec.cluster = moves.cluster;
  spec.betas = {0.3, 0.7, 1.2, 0.9};
  spec.replicas = 64;
  spec.local = local;
  spec.exchange = schedule.exchange;
  spec.houdayer = schedule.houdayer;
  return spec;
}

constexpr Moves kMoves[] = {{{3, 0}},
                            {{3, 0, true}},
                            {{3, 0, false, true}},
                            {{3, 0, true, true}},
                            {{1, 2}},
                            {{1, 2}, ClusterUpdate::swendsen_wang},
                            {{0, 3}},
                            {{0, 3}, ClusterUpdate::swendsen_wang},
                            {{2, 1, true, true}},
                            {{2, 1, true, true}, ClusterUpdate::swendsen_wang}};

EngineOptions on_device() {
  EngineOptions options;
  options.device = 0;
  return options;
}

void compare_cpu_and_gpu(const Graph& graph, const EngineSpec& spec, const Moves& moves) {
  const Schedule& schedule = moves.schedule;
  const auto cpu = make_multispin_engine(graph, spec, with_threads(4));
  const auto gpu = make_multispin_engine(graph, spec, on_device());
  INFO(graph.sites() << " sites, dim " << graph.lattice().dim << ", " << to_string(spec.model)
                     << ", " << to_string(spec.local) << ", " << to_string(schedule) << " "
                     << to_string(moves.cluster) << ", exchange " << schedule.exchange
                     << ", Houdayer " << schedule.houdayer);
  check_same(*cpu, *gpu);
  for (int n = 0; n < 3; ++n) {
    cpu->advance(schedule, 3);
    gpu->advance(schedule, 3);
    check_same(*cpu, *gpu);
  }
  // Each continues from the state of the other.
  cpu->advance(schedule, 1);
  gpu->advance(schedule, 1);
  const EngineState state = cpu->save();
  cpu->restore(gpu->save());
  gpu->restore(state);
  cpu->advance(schedule, 2);
  gpu->advance(schedule, 2);
  check_same(*cpu, *gpu);
}

}  // namespace

TEST_CASE("multispin couplings: CUDA makes the moves of the CPU", "[gpu]") {
  std::vector<Graph> graphs;
  for (const std::vector<std::uint32_t>& shape :
       {std::vector<std::uint32_t>{300}, {70, 36}, {130, 64}, {8, 6, 10}, {4, 6, 4, 6}}) {
    for (const double p : {0.0, 0.1, 0.7}) {
      graphs.push_back(build_graph({shape, p, Rule::rewire, 3}));
    }
  }
  graphs.push_back(build_graph({{36, 22}, 0.3, Rule::rewire_any, 4}));
  graphs.push_back(build_graph({{36, 22}, 0.3, Rule::add, 5}));
  graphs.push_back(irregular_graph(700, 300));
  for (const Graph& graph : graphs) {
    for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      for (const Moves& moves : kMoves) {
        EngineSpec spec = spec_of(pm(), local, moves);
        spec.staggered = graph.has_sublattices();
        compare_cpu_and_gpu(graph, spec, moves);
      }
    }
  }
}

TEST_CASE("multispin fields: CUDA makes the moves of the CPU", "[gpu]") {
  std::vector<Graph> graphs;
  for (const std::vector<std::uint32_t>& shape :
       {std::vector<std::uint32_t>{300}, {70, 36}, {8, 6, 10}, {4, 6, 4, 6}}) {
    for (const double p : {0.0, 0.3}) graphs.push_back(build_graph({shape, p, Rule::rewire, 3}));
  }
  graphs.push_back(build_graph({{130, 64}, 0.1, Rule::add, 5}));
  graphs.push_back(build_graph({{36, 22}, 0.3, Rule::rewire_any, 4}));
  graphs.push_back(irregular_graph(700, 300));
  // Fields that are rounded to 0.
  for (const Model& model : {in_field(1e-7), in_random_field(0)}) {
    for (const Moves& moves : kMoves) {
      compare_cpu_and_gpu(graphs[1], spec_of(model, LocalUpdate::metropolis, moves), moves);
    }
  }
  for (const Graph& graph : graphs) {
    for (const Model& model : {in_field(0.05), in_field(-2), in_random_field(0.4)}) {
      const LocalUpdate local = model.interactions.field == 0.05 || graph.sites() % 4 == 0
                                    ? LocalUpdate::metropolis
                                    : LocalUpdate::glauber;
      for (const Moves& moves : kMoves) {
        EngineSpec spec = spec_of(model, local, moves);
        spec.staggered = graph.has_sublattices();
        compare_cpu_and_gpu(graph, spec, moves);
        spec.local = LocalUpdate::glauber;
        if (moves.schedule.cluster == 0) compare_cpu_and_gpu(graph, spec, moves);
      }
    }
  }
}

TEST_CASE("multispin couplings: each graph of a batch makes the same moves as alone", "[gpu]") {
  for (const Model& model : {pm(), in_field(0.2), in_random_field(0.5)}) {
    for (const Rule rule : {Rule::rewire, Rule::rewire_any}) {
      for (const Moves& moves : kMoves) {
        const Schedule& schedule = moves.schedule;
        if (rule == Rule::rewire_any && schedule.houdayer) continue;  // no lattice: not in a batch
        INFO(to_string(rule) << ", " << to_string(schedule) << " " << to_string(moves.cluster));
        std::vector<Graph> graphs;
        for (const std::uint64_t seed : {1, 2, 3, 4}) {
          graphs.push_back(build_graph({{16, 12}, 0.2, rule, seed}));
        }
        std::vector<BatchTask> tasks;
        for (std::size_t k = 0; k < graphs.size(); ++k) {
          EngineSpec spec = spec_of(model, LocalUpdate::metropolis, moves);
          spec.seed = 10 + k;
          spec.staggered = true;
          for (double& beta : spec.betas) beta *= 1 + 0.1 * static_cast<double>(k);
          tasks.push_back({graphs[k], spec});
        }
        REQUIRE(share_launches(tasks[0], tasks[3]));
        const auto batch = make_multispin_batch(tasks, on_device());
        const auto series = batch->sample(std::vector<std::size_t>{0, 1, 3}, schedule, 3, 5);
        for (const std::size_t which : {0, 1, 2}) {
          const std::size_t k = which == 2 ? 3 : which;
          const auto alone = make_multispin_engine(graphs[k], tasks[k].spec, with_threads(2));
          REQUIRE(series[which].size() == 5);
          for (const Observation& one : series[which]) {
            Observation expected;
            alone->advance(schedule, 3);
            alone->measure(expected);
            check_same(one, expected);
          }
          CHECK(alone->trajectory_hash() == batch->engine(k).trajectory_hash());
        }
      }
    }
  }
}

TEST_CASE("multispin couplings and fields on CUDA equal enumeration", "[gpu]") {
  Scores scores;
  compare_unit_cases(make_multispin_engine, 90000, {1024, {400, longer(100), 1}}, 2000, 0, scores);
}

TEST_CASE("multispin Houdayer moves on CUDA conserve the energy of two replicas", "[gpu]") {
  for (const CoupledCase& one : unit_cases()) {
    check_houdayer_conserves(make_multispin_engine, one, 0);
  }
}

TEST_CASE("multispin couplings: CUDA and the CPU continue stopped calls", "[gpu]") {
  for (const double p : {0.0, 0.3}) {
    for (const Moves& moves :
         {Moves{{2, 0, true, true}}, Moves{{2, 2}}, Moves{{2, 2}, ClusterUpdate::swendsen_wang}}) {
      const Graph graph = build_graph({{70, 36}, p, Rule::rewire, 3});
      const EngineSpec spec =
          spec_of(p == 0 ? pm() : in_random_field(0.3), LocalUpdate::metropolis, moves);
      std::vector<EngineOptions> devices{with_threads(1), on_device(), with_threads(3)};
      CHECK(check_stops(make_multispin_engine, graph, spec, moves.schedule, devices, 10) > 0);
      check_resume(make_multispin_engine, graph, spec, moves.schedule, devices, 9);
    }
  }
}

// 307 200 cells of a colour and eight word groups: the words of up to eight groups are interleaved.
TEST_CASE("multispin couplings: interleaved words make the moves of the CPU on CUDA", "[gpu]") {
  const Graph graph = build_graph({{1024, 600}, 0.05, Rule::rewire, 7});
  for (const auto cluster : {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang}) {
    for (const Model& model : {pm(), in_field(0.01)}) {
      const Moves moves{{1, 1}, cluster};
      const EngineSpec spec = spec_of(model, LocalUpdate::metropolis, moves);
      const auto cpu = make_multispin_engine(graph, spec, with_threads(8));
      const auto gpu = make_multispin_engine(graph, spec, on_device());
      INFO(to_string(cluster) << ", " << to_string(model));
      cpu->advance(moves.schedule, 2);
      gpu->advance(moves.schedule, 2);
      check_same(*cpu, *gpu);
    }
  }
}

TEST_CASE("multispin couplings: a checkerboard antiferromagnet is a ferromagnet on CUDA", "[gpu]") {
  // The rule add, with more bonds than the lattice, and rows that are no multiple of a tile.
  for (const std::vector<std::uint32_t>& shape :
       {std::vector<std::uint32_t>{70, 38}, {34, 6, 10}}) {
    const Graph graph = build_graph({shape, 0.2, Rule::add, 4});
    for (const auto cluster : {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang}) {
      INFO(to_string(cluster) << ", dim " << shape.size());
      EngineSpec spec;
      spec.betas = {0.3, 0.5};
      spec.cluster = cluster;
      const auto ferromagnet = make_multispin_engine(graph, spec, on_device());
      spec.model.interactions.couplings = CouplingKind::antiferromagnet;
      spec.staggered = true;
      const auto antiferromagnet = make_multispin_engine(graph, spec, on_device());
      EngineState state = ferromagnet->save();
      for (std::size_t k = 0; k < 2 * 4 * graph.sites(); ++k) {  // 4 bytes per site
        if (graph.colour(static_cast<Site>(k / 4 % graph.sites())) == 1) {
          state.bytes[k] = static_cast<std::uint8_t>(~state.bytes[k]);
        }
      }
      antiferromagnet->restore(state);
      for (int cycle = 0; cycle < 10; ++cycle) {
        ferromagnet->advance({1, 3}, 1);
        antiferromagnet->advance({1, 3}, 1);
        Observation a, b;
        ferromagnet->measure(a);
        antiferromagnet->measure(b);
        CHECK(a.bond_sum == b.bond_sum);
        CHECK(a.magnetisation == b.staggered);
        CHECK(b.cluster_updates == 0);
      }
    }
  }
}
