// The bytespin engine with couplings and fields: exact enumeration, the moves of the plain
// ferromagnet if all couplings are 1, threads and restarts, and the antiferromagnet as a
// ferromagnet with one sublattice flipped.
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/interactions/interaction_engine.hpp"
#include "src/engine/couplings.hpp"
#include "src/model/boltzmann.hpp"
#include "tests/engines/couplings_check.hpp"
#include "tests/engines/identity_check.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

TEST_CASE("bytespin engine: couplings and fields equal enumeration") {
  Scores scores;
  compare_all_coupled(make_bytespin_engine, 51000, {256, {125, longer(50), 1}}, -1, scores);
  check_distribution(scores, 1000);
}

TEST_CASE("bytespin engine: Potts couplings of both signs equal enumeration") {
  Scores scores;
  for (const auto kind : {CouplingKind::plus_minus, CouplingKind::gaussian}) {
    Model model{ModelKind::potts, 3};
    model.interactions.couplings = kind;
    const CoupledCase one{
        "potts", std::make_shared<const Graph>(build_graph({{10}, 0.6, Rule::rewire, 42})), model};
    CoupledStates states{one};
    for (const oracle::Update& update : wolff_updates()) {
      if (update.schedule.cluster > 0) continue;
      compare_coupled(states, update, make_bytespin_engine, {0.4, 0.9, 1.5}, 60000,
                      {256, {250, longer(50), 1}}, -1, scores);
    }
    EngineSpec spec;
    spec.model = model;
    spec.betas = {1};
    spec.replicas = 2;
    const auto engine = make_bytespin_engine(*one.graph, spec, {});
    expect(ExitCode::usage, "J >= 0", [&] { engine->advance({0, 1}, 1); });
  }
  CHECK(scores.checks > 20);
}

TEST_CASE("bytespin engine: replica exchange equals enumeration") {
  Scores scores;
  std::uint64_t seed = 61000;
  for (const CoupledCase& one : coupled_cases()) {
    if (one.model.is_potts()) continue;
    CoupledStates states{one};
    for (const oracle::Update& update : exchange_updates()) {
      compare_coupled(states, update, make_bytespin_engine, {1.9, 2.3, 3.0}, ++seed,
                      {256, {250, longer(50), 1}}, -1, scores);
    }
  }
  check_distribution(scores, 600);
}

TEST_CASE("bytespin engine: Houdayer moves equal enumeration") {
  Scores scores;
  std::uint64_t seed = 62000;
  const auto updates = houdayer_updates();
  for (const CoupledCase& one : coupled_cases()) {  // each with one update, in rotation
    if (one.model.is_potts()) continue;
    ++seed;
    CoupledStates states{one};
    compare_coupled(states, updates[seed % updates.size()], make_bytespin_engine, {1.9, 3.0}, seed,
                    {256, {250, longer(50), 1}}, -1, scores);
  }
  CHECK(scores.checks >= 150);
}

TEST_CASE("bytespin engine: Houdayer moves conserve the energy of two replicas") {
  for (const CoupledCase& one : coupled_cases()) {
    if (!one.model.is_potts()) check_houdayer_conserves(make_bytespin_engine, one, -1);
  }
  const CoupledCase one = coupled_cases().front();
  EngineSpec spec;
  spec.model = one.model;
  spec.betas = {1};
  spec.houdayer = true;
  spec.replicas = 2;
  expect(ExitCode::usage, "3 or more replicas",
         [&] { make_bytespin_engine(*one.graph, spec, {}); });
  spec.replicas = 4;
  spec.model = {ModelKind::potts, 3};
  spec.model.interactions = one.model.interactions;
  expect(ExitCode::usage, "Ising", [&] { make_bytespin_engine(*one.graph, spec, {}); });
}

TEST_CASE("trajectories with replica exchange do not depend on threads, stops and restarts") {
  std::uint64_t exchanged = 0;
  for (const CoupledCase& one : coupled_cases()) {
    for (Schedule schedule : {Schedule{2, 3, true}, Schedule{1, 0, true}}) {
      // The first schedule includes Houdayer moves. One of the three replicas has no partner.
      schedule.houdayer = schedule.cluster > 0 && !one.model.is_potts();
      EngineSpec spec;
      spec.model = one.model;
      spec.betas = {0.3, 0.5, 0.45, 0.8};
      spec.replicas = 3;
      spec.exchange = true;
      spec.houdayer = schedule.houdayer;
      INFO(one.name);
      const std::vector<EngineOptions> threads{with_threads(1), with_threads(2)};
      check_resume(make_bytespin_engine, *one.graph, spec, schedule, threads, 9);
      CHECK(check_stops(make_bytespin_engine, *one.graph, spec, schedule, threads, 10) > 0);
      const auto engine = make_bytespin_engine(*one.graph, spec, {});
      engine->advance(schedule, 10);
      Observation seen;
      engine->measure(seen);
      REQUIRE(seen.walker.size() == 12);
      CHECK(seen.exchange_attempts == std::vector<std::uint64_t>{15, 15, 15, 0});
      for (std::uint32_t r = 0; r < 3; ++r) {  // each configuration has exactly one temperature
        std::vector<std::uint64_t> walkers;
        for (std::uint32_t t = 0; t < 4; ++t) walkers.push_back(seen.walker[3 * t + r]);
        std::sort(walkers.begin(), walkers.end());
        CHECK(walkers == std::vector<std::uint64_t>{0, 1, 2, 3});
      }
      for (const std::uint64_t count : seen.exchanges) exchanged += count;
    }
  }
  CHECK(exchanged > 100);
  EngineSpec spec;
  spec.betas = {1};
  spec.exchange = true;
  expect(ExitCode::usage, "at least two temperatures",
         [&] { make_bytespin_engine(*coupled_cases()[0].graph, spec, {}); });
}

TEST_CASE("couplings of 1 make the moves of the plain ferromagnet") {
  for (const std::uint32_t q : {2u, 3u}) {
    for (const auto cluster : {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang}) {
      for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
        const Graph graph = build_graph({{12, 10}, 0.2, Rule::rewire, 3});
        EngineSpec spec;
        if (q > 2) spec.model = {ModelKind::potts, q};
        spec.betas = {0.4, 0.9};
        spec.replicas = 4;
        spec.local = local;
        spec.cluster = cluster;
        EngineOptions options;
        options.threads = 1;
        const auto plain = make_bytespin_engine(graph, spec, options);
        const auto coupled = bytespin::make_interaction_engine(graph, spec, options);
        for (int cycle = 0; cycle < 20; ++cycle) {
          plain->advance({1, 2}, 1);
          coupled->advance({1, 2}, 1);
          INFO("q = " << q << ", " << to_string(cluster) << ", " << to_string(local) << ", cycle "
                      << cycle);
          REQUIRE(plain->trajectory_hash() == coupled->trajectory_hash());
        }
        Observation a, b;
        plain->measure(a);
        coupled->measure(b);
        CHECK(a.bond_sum == b.bond_sum);
        CHECK(a.magnetisation == b.magnetisation);
      }
    }
  }
}

TEST_CASE("bytespin trajectories with couplings do not depend on threads, stops and restarts") {
  for (const CoupledCase& one : coupled_cases()) {
    for (const auto cluster : {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang}) {
      EngineSpec spec;
      spec.model = one.model;
      spec.betas = {0.3, 0.8};
      spec.replicas = 3;
      spec.cluster = cluster;
      INFO(one.name);
      check_resume(make_bytespin_engine, *one.graph, spec, {2, 3},
                   {with_threads(1), with_threads(2)}, 7);
      CHECK(check_stops(make_bytespin_engine, *one.graph, spec, {2, 3},
                        {with_threads(1), with_threads(2)}, 8) > 0);
    }
  }
}

TEST_CASE("an antiferromagnet on a checkerboard is a ferromagnet with one sublattice flipped") {
  const Graph graph = build_graph({{8, 6}, 0.3, Rule::rewire, 4});
  for (const auto cluster : {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang}) {
    EngineSpec spec;
    spec.betas = {0.35, 0.5};
    spec.replicas = 4;
    spec.cluster = cluster;
    const auto ferromagnet = make_bytespin_engine(graph, spec, {});
    spec.model.interactions.couplings = CouplingKind::antiferromagnet;
    spec.staggered = true;
    const auto antiferromagnet = make_bytespin_engine(graph, spec, {});
    EngineState state = ferromagnet->save();
    for (std::size_t k = 0; k < 2 * 4 * graph.sites(); ++k) {
      state.bytes[k] ^=
          static_cast<std::uint8_t>(graph.colour(static_cast<Site>(k % graph.sites())));
    }
    antiferromagnet->restore(state);
    for (int cycle = 0; cycle < 10; ++cycle) {
      ferromagnet->advance({1, 2}, 1);
      antiferromagnet->advance({1, 2}, 1);
      Observation a, b;
      ferromagnet->measure(a);
      antiferromagnet->measure(b);
      CHECK(a.bond_sum == b.bond_sum);
      CHECK(a.magnetisation == b.staggered);
    }
  }
}

TEST_CASE("bytespin engine: the staggered magnetisation is the sum over the spins") {
  for (const CoupledCase& one : coupled_cases()) {
    const EdgeList list = edges_of(*one.graph);
    const std::vector<int> sublattice = sublattice_signs(*one.graph, list);
    EngineSpec spec;
    spec.model = one.model;
    spec.betas = {0.4, 0.9};
    spec.replicas = 3;
    INFO(one.name);
    const auto without = make_bytespin_engine(*one.graph, spec, {});
    spec.staggered = true;
    if (one.model.is_potts() || sublattice.empty()) {
      expect(ExitCode::usage, "the staggered magnetisation requires",
             [&] { make_bytespin_engine(*one.graph, spec, {}); });
      continue;
    }
    const auto engine = make_bytespin_engine(*one.graph, spec, with_threads(2));
    engine->advance({2, 1}, 5);
    without->advance({2, 1}, 5);
    CHECK(engine->trajectory_hash() == without->trajectory_hash());
    Observation seen, bare;
    engine->measure(seen);
    without->measure(bare);
    CHECK(bare.staggered.empty());
    CHECK(bare.magnetisation == seen.magnetisation);
    REQUIRE(seen.staggered.size() == 6);
    std::vector<std::uint8_t> spins(list.sites);
    for (std::uint32_t who = 0; who < 6; ++who) {
      engine->spins(who / 3, who % 3, spins);
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < spins.size(); ++k) {
        sum += spins[k] != 0 ? sublattice[k] : -sublattice[k];
      }
      CHECK(seen.staggered[who] == sum);
    }
  }
  EngineSpec spec;
  spec.betas = {0.4};
  spec.staggered = true;
  expect(ExitCode::usage, "couplings or fields",
         [&] { make_bytespin_engine(*coupled_cases()[0].graph, spec, {}); });
}

TEST_CASE("distributions of couplings") {
  const Graph graph = build_graph({{64, 64}, 0.2, Rule::rewire, 5});
  const double bonds = static_cast<double>(graph.bonds());
  Model model;
  model.interactions.couplings = CouplingKind::plus_minus;
  model.interactions.negative_fraction = 0.3;
  double negative = 0, sum = 0, square = 0, fourth = 0;
  const Couplings pm(model, graph);
  for (Bond b = 0; b < graph.bonds(); ++b) {
    REQUIRE(std::abs(pm.coupling(b)) == kFixedOne);
    negative += pm.coupling(b) < 0 ? 1 : 0;
  }
  CHECK(std::abs(negative - 0.3 * bonds) < 4 * std::sqrt(0.21 * bonds));
  model.interactions = {};
  model.interactions.couplings = CouplingKind::gaussian;
  const Couplings gaussian(model, graph);
  for (Bond b = 0; b < graph.bonds(); ++b) {
    const double j = gaussian.coupling(b) * kFixedUnit;
    sum += j;
    square += j * j;
    fourth += j * j * j * j;
  }
  CHECK(std::abs(sum) < 4 * std::sqrt(bonds));
  CHECK(std::abs(square - bonds) < 4 * std::sqrt(2 * bonds));
  CHECK(std::abs(fourth - 3 * bonds) < 4 * std::sqrt(96 * bonds));
  // Couplings depend on the seed. With `on_shortcuts` only shortcuts have other couplings than 1.
  model.interactions.seed = 1;
  CHECK(Couplings(model, graph).coupling(7) != gaussian.coupling(7));
  model.interactions = {};
  model.interactions.couplings = CouplingKind::antiferromagnet;
  model.interactions.on_shortcuts = true;
  model.interactions.shortcut_strength = 0.5;
  const Couplings shortcuts(model, graph);
  std::size_t moved = 0;
  for (Bond b = 0; b < graph.bonds(); ++b) {
    if (shortcuts.coupling(b) == kFixedOne) continue;
    CHECK(shortcuts.coupling(b) == -kFixedOne / 2);
    ++moved;
  }
  CHECK(moved == graph.shortcuts().size());
}

TEST_CASE("Boltzmann factors in integers equal those in floating point") {
  for (const double beta : {1e-6, 0.01, 0.44, 1.0, 3.0, 40.0, 1000.0}) {
    const Boltzmann factors(beta);
    for (const double energy : {0.0, 1e-6, 0.01, 0.5, 2.0, 8.0, 23.7, 500.0}) {
      const auto fixed = static_cast<std::int64_t>(std::nearbyint(energy / kFixedUnit));
      const double x = beta * static_cast<double>(fixed) * kFixedUnit;
      INFO("beta = " << beta << ", energy = " << energy);
      const auto near = [](Threshold t, double p) {
        return std::abs(static_cast<double>(t) - p * 0x1p32) <
               1.25;  // the exponent and the result are rounded
      };
      CHECK(near(factors.metropolis(fixed), std::exp(-x)));
      CHECK(near(factors.glauber(fixed), 1 / (1 + std::exp(x))));
      CHECK(near(factors.glauber(-fixed), 1 / (1 + std::exp(-x))));
      CHECK(near(factors.bond(fixed), -std::expm1(-x)));
      CHECK(factors.metropolis(-fixed) == kCertain);
      CHECK(factors.bond(-fixed) == 0);
    }
  }
}
