// The trajectory of the multispin engine does not depend on threads, the form of the Wolff update,
// interruptions or the length of a call. Random combinations of all options equal the reference.
#include <rapidcheck.h>
#include <xxhash.h>

#include <array>
#include <cstdlib>

#include "src/multispin/multispin.hpp"
#include "src/multispin/multispin_engine.hpp"
#include "tests/engines/identity_check.hpp"
#include "tests/support/instruction_sets.hpp"
#include "tests/support/reference.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

EngineOptions option(int threads, WolffForm form = WolffForm::automatic) {
  EngineOptions options;
  options.threads = threads;
  options.methods = {.wolff_form = form};
  return options;
}

std::vector<EngineOptions> all_options(ClusterUpdate cluster) {
  if (cluster == ClusterUpdate::swendsen_wang) return {option(1), option(2), option(5)};
  std::vector<EngineOptions> options;
  for (const int threads : {1, 2, 5}) {
    options.push_back(option(threads));
    options.push_back(option(threads, WolffForm::dense));
    options.push_back(option(threads, WolffForm::sparse));
  }
  return options;
}

EngineSpec identity_spec(const std::vector<double>& temperatures, std::uint32_t replicas,
                         ClusterUpdate cluster = ClusterUpdate::wolff) {
  EngineSpec spec;
  spec.cluster = cluster;
  for (const double t : temperatures) spec.betas.push_back(1 / t);
  spec.replicas = replicas;
  spec.seed = 77;
  return spec;
}

void check_ways(const Graph& graph, const EngineSpec& spec, const Schedule& schedule) {
  std::vector<Trace> expected;
  for (const EngineOptions& options : all_options(spec.cluster)) {
    INFO(graph.sites() << " sites, threads " << options.threads << ", form "
                       << static_cast<int>(options.methods.wolff_form));
    const auto engine = make_multispin_engine(graph, spec, options);
    CHECK(engine->threads() == options.threads);
    const auto traces = uninterrupted(*engine, schedule, 6, 2);
    if (expected.empty()) expected = traces;
    for (std::size_t k = 0; k < traces.size(); ++k) {
      CHECK(traces[k].hash == expected[k].hash);
      CHECK(same(traces[k].seen, expected[k].seen));
    }
  }
}

void check_sets_of_swendsen_wang(const Graph& graph, EngineSpec spec) {
  spec.cluster = ClusterUpdate::swendsen_wang;
  MultispinReference reference(edges_of(graph), colours_of(graph), spec);
  reference.advance({1, 2}, 3);
  const auto words = reference.words();
  const Observation expected = reference.measure();
  for_each_instruction_set([&](const std::string& name) {
    INFO(name << ", Swendsen-Wang, " << graph.sites() << " sites");
    const auto engine = make_multispin_engine(graph, spec, option(1));
    engine->advance({1, 2}, 3);
    CHECK(engine->trajectory_hash() == XXH3_64bits(words.data(), words.size() * sizeof(words[0])));
    Observation seen;
    engine->measure(seen);
    CHECK(same(seen, expected));
  });
}

// Gives access to the size of the threshold tables of an engine.
class Tables final : public multispin::MultispinEngine {
 public:
  using MultispinEngine::MultispinEngine;
  std::size_t size_in_words() const {
    std::size_t sum = 0;
    for (const auto& rules : view().temperatures) {
      for (const auto& table : rules.local.by_degree) {
        sum += 2 * table.acceptance.size() + table.bit.size();
      }
    }
    return sum;
  }

 private:
  std::string_view device() const override { return "none"; }
  int threads() const override { return 0; }
  bool advance(const Schedule&, std::uint64_t) override { return true; }
  void measure(Observation&) override {}
  void read_words(std::uint32_t, Words&) const override {}
  void write_words(std::uint32_t, const Words&) override {}
};

}  // namespace

// One word group, which the threads share, and several, which they divide; below, at and above Tc.
TEST_CASE("multispin trajectories: 1, 2 and 5 threads and every form of Wolff are equal") {
  check_ways(build_graph({{72, 90}, 0.01, Rule::rewire, 5}), identity_spec({2.1, 2.43, 3.0}, 32),
             {1, 4});
  check_ways(build_graph({{90, 52}, 0.2, Rule::swap, 6}), identity_spec({2.5}, 32), {1, 3});
  check_ways(build_graph({{18, 16, 14}, 0.05, Rule::rewire, 7}), identity_spec({4.0, 4.7}, 32),
             {2, 2});
  check_ways(build_graph({{10, 6, 8, 6}, 0.1, Rule::add, 8}), identity_spec({7.0}, 64), {1, 2});
  check_ways(build_graph({{3000}, 0.3, Rule::rewire, 9}), identity_spec({0.8, 1.6}, 64), {1, 2});
}

// Rows of 1, 2, 3, 4, 6 and 8 vectors per colour (with AVX-512 also 12 and 16) are processed in
// registers, others in memory.
TEST_CASE("dense Wolff updates: rows of any length, on every instruction set") {
  const auto check = [](const std::vector<std::uint32_t>& extents, double p, double temperature) {
    const Graph graph = build_graph({extents, p, Rule::rewire, 5});
    const EngineSpec spec = identity_spec({temperature}, 32);
    const auto hash_of = [&](WolffForm form) {
      const auto engine = make_multispin_engine(graph, spec, option(1, form));
      engine->advance({1, 4}, 5);
      return engine->trajectory_hash();
    };
    const auto expected = hash_of(WolffForm::sparse);
    for_each_instruction_set([&](const std::string& name) {
      INFO(extents.front() << " long, dim " << extents.size() << ", p " << p << ", " << name);
      CHECK(hash_of(WolffForm::dense) == expected);
    });
  };
  for (const std::uint32_t length :
       {32u, 34u, 48u, 64u, 80u, 96u, 128u, 192u, 256u, 320u, 384u, 512u}) {
    for (const double p : {0.0, 0.05}) check({length, 10}, p, 2.2);
  }
  for (const std::uint32_t length : {32u, 64u, 96u}) {
    check({length}, 0.2, 0.8);
    check({length, 4, 6}, 0.02, 4.4);
    check({length, 4, 4, 4}, 0.02, 6.2);
  }
}

TEST_CASE("multispin trajectories: 1, 2 and 5 threads of Swendsen-Wang are equal") {
  const auto sw = ClusterUpdate::swendsen_wang;
  check_ways(build_graph({{72, 90}, 0.01, Rule::rewire, 5}),
             identity_spec({2.1, 2.43, 3.0}, 32, sw), {1, 4});
  check_ways(build_graph({{90, 52}, 0.2, Rule::swap, 6}), identity_spec({2.5}, 32, sw), {1, 3});
  check_ways(build_graph({{18, 16, 14}, 0.05, Rule::rewire, 7}), identity_spec({4.0, 4.7}, 32, sw),
             {2, 2});
  check_ways(build_graph({{10, 6, 8, 6}, 0.1, Rule::add, 8}), identity_spec({7.0}, 64, sw), {1, 2});
  check_ways(build_graph({{3000}, 0.3, Rule::rewire, 9}), identity_spec({0.8, 1.6}, 64, sw),
             {0, 2});
}

TEST_CASE("multispin trajectories: stopped within cycles and continued equals uninterrupted") {
  const auto sw = ClusterUpdate::swendsen_wang;
  const auto stops = [](const Graph& graph, const EngineSpec& spec, const Schedule& schedule) {
    INFO(graph.sites() << " sites, " << to_string(spec.cluster));
    CHECK(check_stops(make_multispin_engine, graph, spec, schedule, all_options(spec.cluster),
                      graph.sites()) >= 10);
  };
  // Rows with and without modified cells, narrow lattices with neighbour tables, one word group and
  // several.
  const Graph plane = build_graph({{72, 90}, 0.1, Rule::rewire, 5});
  stops(plane, identity_spec({2.1, 2.43, 3.0}, 32), {2, 3});
  stops(plane, identity_spec({2.3}, 32), {1, 2});
  stops(plane, identity_spec({2.1, 2.9}, 64, sw), {1, 2});
  EngineSpec glauber = identity_spec({2.3}, 32);
  glauber.local = LocalUpdate::glauber;
  stops(plane, glauber, {3, 0});
  stops(build_graph({{18, 16, 14}, 0, Rule::rewire, 7}), identity_spec({4.4}, 64), {1, 2});
  stops(build_graph({{18, 16, 14}, 1, Rule::rewire, 7}), identity_spec({4.7, 8}, 32), {1, 1});
  stops(irregular_graph(3000), identity_spec({2.5}, 32), {1, 2});
  stops(irregular_graph(3000), identity_spec({2.5, 4}, 32, sw), {1, 1});
}

// On a star, the threshold tables grow only by the degree of the hub.
TEST_CASE("multispin engine: threshold tables cover only the degrees that occur") {
  constexpr std::uint32_t leaves = 10000;
  std::vector<std::uint8_t> colour(leaves + 1, 1);
  colour[0] = 0;
  std::vector<RewiredBond> bonds;
  for (std::uint32_t s = 1; s <= leaves; ++s) bonds.push_back({bonds.size(), 0, s});
  const Graph star(leaves + 1, bonds, colour, 2, "star");
  for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
    EngineSpec spec = identity_spec({2.5, 20}, 32);
    spec.local = local;
    CHECK(Tables(star, spec).size_in_words() <= 2u * 35 * (leaves + 10));
    MultispinReference reference(edges_of(star), colours_of(star), spec);
    reference.advance({2, 0}, 2);
    const auto engine = make_multispin_engine(star, spec, option(2));
    engine->advance({2, 0}, 2);
    const auto words = reference.words();
    CHECK(engine->trajectory_hash() == XXH3_64bits(words.data(), words.size() * sizeof(words[0])));
  }
}

TEST_CASE("multispin trajectories: every instruction set gives the same bits") {
  const GraphSpec specs[] = {{{70, 36}, 0, Rule::rewire, 1},
                             {{70, 36}, 0.1, Rule::rewire, 2},
                             {{10, 6}, 0.3, Rule::add, 3},
                             {{34, 4, 6}, 0.1, Rule::swap, 4},
                             {{90}, 0.5, Rule::rewire, 5}};
  for (const GraphSpec& graph_spec : specs) {
    const Graph graph = build_graph(graph_spec);
    for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      EngineSpec spec = identity_spec({2.0, 3.0}, 32);
      spec.local = local;
      if (local == LocalUpdate::glauber) check_sets_of_swendsen_wang(graph, spec);
      MultispinReference reference(edges_of(graph), colours_of(graph), spec);
      reference.advance({2, 3}, 3);
      const auto words = reference.words();
      const std::uint64_t hash = XXH3_64bits(words.data(), words.size() * sizeof(words[0]));
      const Observation expected = reference.measure();
      for_each_instruction_set([&](const std::string& name) {
        for (const auto form : {WolffForm::automatic, WolffForm::dense, WolffForm::sparse}) {
          INFO(name << ", form " << static_cast<int>(form) << ", " << graph.sites() << " sites");
          const auto engine = make_multispin_engine(graph, spec, option(1, form));
          engine->advance({2, 3}, 3);
          CHECK(engine->trajectory_hash() == hash);
          Observation seen;
          engine->measure(seen);
          CHECK(same(seen, expected));
        }
      });
    }
  }
}

TEST_CASE("multispin engine: interrupted and resumed equals uninterrupted") {
  std::uint64_t seed = 1;
  for (const Schedule& schedule : {Schedule{1, 0}, {0, 3}, {2, 3}, {1, 8}}) {
    for (const GraphSpec& graph_spec :
         {GraphSpec{{36, 22}, 0.1, Rule::rewire, 3}, GraphSpec{{6, 8, 4}, 0.5, Rule::add, 4}}) {
      const Graph graph = build_graph(graph_spec);
      EngineSpec spec = identity_spec({2.4, 4.2}, 64);
      spec.local = seed % 2 == 0 ? LocalUpdate::glauber : LocalUpdate::metropolis;
      for (const auto cluster : {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang}) {
        spec.cluster = cluster;
        check_resume(make_multispin_engine, graph, spec, schedule, all_options(cluster), seed);
      }
      ++seed;
    }
  }
}

TEST_CASE("multispin engine: one call or several are equal, and foreign states are refused") {
  const Graph graph = build_graph({{34, 6}, 0.3, Rule::rewire, 3});
  for (const auto cluster : {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang}) {
    const EngineSpec spec = identity_spec({2.0, 3.0}, 32, cluster);
    for (const Schedule& schedule : {Schedule{1, 0}, {0, 1}, {2, 3}}) {
      for (const int threads : {1, 5}) {
        check_cycles_add_up(make_multispin_engine, graph, spec, schedule, option(threads));
      }
      check_differs(make_multispin_engine, graph, spec, {1, 2});
      check_foreign_states(make_multispin_engine, graph, spec, schedule);
    }
    check_last_step(make_multispin_engine, graph, spec);
  }
}

// The engine stores an antiferromagnet with the spins of one colour reversed.
TEST_CASE("multispin engine: given spins") {
  for (const auto kind : {CouplingKind::ferromagnet, CouplingKind::antiferromagnet}) {
    for (const double p : {0.0, 0.1}) {
      const Graph graph = build_graph({{36, 22}, p, Rule::rewire, 3});
      EngineSpec spec = identity_spec({2.0, 3.0}, 64);
      spec.model.interactions.couplings = kind;
      check_given_spins(make_multispin_engine, graph, spec, {1, 1}, {option(1), option(5)});
    }
  }
}

namespace {

// A random lattice of one to four dimensions with at most about 3000 sites.
rc::Gen<std::vector<std::uint32_t>> extents() {
  return rc::gen::exec([] {
    const int dim = *rc::gen::inRange(1, 5);
    const int most = std::array{0, 150, 24, 7, 4}[static_cast<std::size_t>(dim)];
    std::vector<std::uint32_t> extents;
    for (int k = 0; k < dim; ++k) {
      extents.push_back(2 * static_cast<std::uint32_t>(*rc::gen::inRange(2, most)));
    }
    return extents;
  });
}

EngineSpec random_spec(double scale) {
  EngineSpec spec;
  const int temperatures = *rc::gen::inRange(1, 4);
  for (int t = 0; t < temperatures; ++t) {
    spec.betas.push_back(1 / (scale * *rc::gen::inRange(2, 40) / 16.0));
  }
  spec.replicas = 32 * *rc::gen::inRange(1u, 4u);
  spec.seed = *rc::gen::arbitrary<std::uint64_t>();
  spec.local = *rc::gen::element(LocalUpdate::metropolis, LocalUpdate::glauber);
  spec.cluster = *rc::gen::element(ClusterUpdate::wolff, ClusterUpdate::swendsen_wang);
  spec.start = *rc::gen::element(Start::mixed, Start::cold, Start::hot);
  return spec;
}

void check_against_reference(const Graph& graph, const EngineSpec& spec) {
  EngineOptions options;
  options.threads = *rc::gen::inRange(1, 6);
  options.methods.wolff_form =
      *rc::gen::element(WolffForm::automatic, WolffForm::dense, WolffForm::sparse);
  const auto engine = make_multispin_engine(graph, spec, options);
  MultispinReference reference(edges_of(graph), colours_of(graph), spec);
  for (int stretch = 0; stretch < 2; ++stretch) {
    Schedule schedule{*rc::gen::inRange(0u, 3u), *rc::gen::inRange(0u, 4u)};
    if (schedule.steps_per_cycle() == 0) schedule.local = 1;
    reference.advance(schedule, 1);
    engine->advance(schedule, 1);
    const auto words = reference.words();
    RC_ASSERT(engine->trajectory_hash() ==
              XXH3_64bits(words.data(), words.size() * sizeof(words[0])));
    Observation seen;
    engine->measure(seen);
    RC_ASSERT(same(seen, reference.measure()));
  }
}

// Fixed seed. REWISE_LONG_TESTS=1 runs twenty times as many cases.
void fix_rapidcheck() {
  const std::string text = "seed=20 max_size=60 max_success=" + std::to_string(longer(100));
  setenv("RC_PARAMS", text.c_str(), 1);
}

}  // namespace

TEST_CASE("multispin engine equals the reference on random lattices, schedules and options") {
  fix_rapidcheck();
  CHECK(rc::check([] {
    GraphSpec spec;
    spec.extents = *extents();
    spec.p = *rc::gen::element(0.0, 0.01, 0.1, 0.5, 1.0);
    spec.rule = *rc::gen::element(Rule::rewire, Rule::swap, Rule::add);
    spec.seed = *rc::gen::arbitrary<std::uint64_t>();
    const bool tiny_ring = spec.extents.size() == 1 && spec.extents[0] < 12;
    if (tiny_ring) spec.p = 0;  // a small ring has too few sites for the shortcuts
    const Graph graph = build_graph(spec);
    const auto dim = static_cast<double>(spec.extents.size());
    check_against_reference(graph, random_spec(1.4 * dim));
  }));
}

TEST_CASE("multispin engine equals the reference on random imported graphs") {
  fix_rapidcheck();
  CHECK(rc::check([] {
    const auto sites = *rc::gen::inRange(1u, 90u);
    const auto density = *rc::gen::inRange(0u, 40u);  // percent of all pairs
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    for (std::uint32_t a = 0; a < sites; ++a) {
      for (std::uint32_t b = a + 1; b < sites; ++b) {
        if (random() % 100 < density) pairs.emplace_back(a, b);
      }
    }
    const Graph graph = imported_graph(from_pairs(sites, pairs), "random");
    check_against_reference(graph, random_spec(1 + density * sites / 100.0));
  }));
}
