// The multispin engine with couplings 1 and -1, replica exchange and Houdayer moves on CUDA makes
// the same moves as on the CPU, alone and in a batch, and equals exact enumeration.
#include "src/multispin/multispin.hpp"
#include "tests/engines/couplings_check.hpp"
#include "tests/engines/identity_check.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

Model pm(std::uint32_t seed = 0) {
  Model model;
  model.interactions.couplings = CouplingKind::pm;
  model.interactions.negative = 0.4;
  model.interactions.seed = seed;
  return model;
}

EngineSpec spec_of(const Model& model, LocalUpdate local, const Schedule& schedule) {
  EngineSpec spec;
  spec.model = model;
  spec.betas = {0.3, 0.7, 1.2, 0.9};
  spec.replicas = 64;
  spec.local = local;
  spec.exchange = schedule.exchange;
  spec.houdayer = schedule.houdayer;
  return spec;
}

constexpr Schedule kSchedules[] = {{3, 0}, {3, 0, true}, {3, 0, false, true}, {3, 0, true, true}};

EngineOptions on_device() {
  EngineOptions options;
  options.device = 0;
  return options;
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
      for (const Schedule schedule : kSchedules) {
        EngineSpec spec = spec_of(pm(), local, schedule);
        spec.staggered = graph.has_sublattices();
        const auto cpu = make_multispin_engine(graph, spec, with_threads(4));
        const auto gpu = make_multispin_engine(graph, spec, on_device());
        INFO(graph.sites() << " sites, dim " << graph.lattice().dim << ", " << to_string(local)
                           << ", exchange " << schedule.exchange << ", Houdayer "
                           << schedule.houdayer);
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
    }
  }
}

TEST_CASE("multispin couplings: each graph of a batch makes the same moves as alone", "[gpu]") {
  for (const Rule rule : {Rule::rewire, Rule::rewire_any}) {
    for (const Schedule schedule : kSchedules) {
      if (rule == Rule::rewire_any && schedule.houdayer) continue;  // no lattice: not in a batch
      std::vector<Graph> graphs;
      for (const std::uint64_t seed : {1, 2, 3, 4}) {
        graphs.push_back(build_graph({{16, 12}, 0.2, rule, seed}));
      }
      std::vector<GroupTask> tasks;
      for (std::size_t k = 0; k < graphs.size(); ++k) {
        EngineSpec spec = spec_of(pm(), LocalUpdate::metropolis, schedule);
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

TEST_CASE("multispin couplings on CUDA equal enumeration", "[gpu]") {
  Scores scores;
  std::uint64_t seed = 90000;
  auto updates = wolff_updates();
  for (const oracle::Update& update : exchange_updates()) updates.push_back(update);
  for (const oracle::Update& update : houdayer_updates()) updates.push_back(update);
  for (const CoupledCase& one : coupled_cases()) {
    if (!has(EngineKind::multispin, one.model, false)) continue;
    CoupledStates states{one};
    for (const oracle::Update& update : updates) {
      if (update.schedule.cluster > 0) continue;
      if (update.local == LocalUpdate::metropolis && !one.metropolis_mixes) continue;
      compare_coupled(states, update, make_multispin_engine, {1.2, 1.9, 3.0}, ++seed,
                      {1024, {400, longer(100), 1}}, 0, scores);
    }
  }
  CHECK(scores.checks >= 300);
}

TEST_CASE("multispin Houdayer moves on CUDA conserve the energy of two replicas", "[gpu]") {
  for (const CoupledCase& one : coupled_cases()) {
    if (has(EngineKind::multispin, one.model, false)) {
      check_houdayer_conserves(make_multispin_engine, one, 0);
    }
  }
}

TEST_CASE("multispin Houdayer moves: CUDA and the CPU continue stopped calls", "[gpu]") {
  for (const double p : {0.0, 0.3}) {
    const Graph graph = build_graph({{70, 36}, p, Rule::rewire, 3});
    const Schedule schedule{2, 0, true, true};
    const EngineSpec spec = spec_of(pm(), LocalUpdate::metropolis, schedule);
    std::vector<EngineOptions> devices{with_threads(1), on_device(), with_threads(3)};
    CHECK(check_stops(make_multispin_engine, graph, spec, schedule, devices, 10) > 0);
    check_resume(make_multispin_engine, graph, spec, schedule, devices, 9);
  }
}
