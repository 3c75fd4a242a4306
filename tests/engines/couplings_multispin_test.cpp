// The multispin engine with couplings 1 and -1 and fields of one magnitude, with local and cluster
// updates, replica exchange and Houdayer moves. It is compared with exact enumeration and, bit by
// bit, with a slow reference. Results do not depend on threads and restarts. The antiferromagnet
// equals a ferromagnet with one sublattice flipped.
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "src/multispin/multispin.hpp"
#include "tests/engines/couplings_check.hpp"
#include "tests/engines/identity_check.hpp"
#include "tests/support/reference.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

Model pm(double negative = 0.5) {
  Model model;
  model.interactions.couplings = CouplingKind::plus_minus;
  model.interactions.negative_fraction = negative;
  return model;
}

std::vector<int> couplings_of(const Graph& graph, const EdgeList& list, const Model& model) {
  const Couplings couplings(model, graph);
  std::vector<int> signs;
  for (const Edge& edge : list.edges) signs.push_back(couplings.coupling(edge.id) > 0 ? 1 : -1);
  return signs;
}

std::vector<std::int32_t> fields_of(const Graph& graph, const Model& model) {
  if (!model.interactions.has_field()) return {};
  const Couplings couplings(model, graph);
  std::vector<std::int32_t> fields;
  for (Site site = 0; site < graph.sites(); ++site) fields.push_back(couplings.field(site));
  return fields;
}

Model in_field(double field, CouplingKind couplings = CouplingKind::ferromagnet) {
  Model model;
  model.interactions.couplings = couplings;
  model.interactions.field = field;
  return model;
}

Model in_random_field(double width, CouplingKind couplings = CouplingKind::ferromagnet) {
  Model model = in_field(0, couplings);
  model.interactions.random_field = RandomField::plus_minus;
  model.interactions.field_width = width;
  return model;
}

EngineOptions with_form(int threads, WolffForm form) {
  EngineOptions options = with_threads(threads);
  options.methods = {.wolff_form = form};
  return options;
}

// Compares spins and sums with the reference after each part of a schedule with sweeps, cluster
// updates and Houdayer moves, for several numbers of threads and each form of Wolff updates.
void compare_bits(const Graph& graph, const Model& model, LocalUpdate local, ClusterUpdate cluster,
                  std::uint64_t seed) {
  EngineSpec spec;
  spec.cluster = cluster;
  spec.model = model;
  spec.betas = {0.3, 0.9};
  spec.seed = seed;
  spec.local = local;
  spec.houdayer = true;
  spec.staggered = graph.has_sublattices();
  const EdgeList list = edges_of(graph);
  const std::vector<int> sublattice = sublattice_signs(graph, list);
  MultispinReference reference(list, colours_of(graph), spec, couplings_of(graph, list, model),
                               fields_of(graph, model));
  std::vector<std::unique_ptr<Engine>> engines;
  for (const EngineOptions& options :
       {with_form(1, WolffForm::automatic), with_form(3, WolffForm::dense),
        with_form(2, WolffForm::sparse), with_form(1, WolffForm::sparse)}) {
    engines.push_back(make_multispin_engine(graph, spec, options));
    if (engines.size() == 2 && cluster != ClusterUpdate::wolff) break;
  }
  for (const Schedule schedule :
       {Schedule{1, 0}, Schedule{1, 0, false, true}, Schedule{1, 1}, Schedule{0, 2, false, true}}) {
    reference.advance(schedule, 1);
    const auto words = reference.words();
    const std::uint64_t hash = XXH3_64bits(words.data(), words.size() * sizeof(words[0]));
    const Observation expected = reference.measure();
    for (const auto& engine : engines) {
      engine->advance(schedule, 1);
      REQUIRE(engine->trajectory_hash() == hash);
      Observation seen;
      engine->measure(seen);
      CHECK(seen.bond_sum == expected.bond_sum);
      CHECK(seen.magnetisation == expected.magnetisation);
      CHECK(seen.cluster_updates == 0);  // no cluster sums
      CHECK(seen.cluster_size.empty());
      CHECK(seen.cluster_quartic_low.empty());
      REQUIRE(seen.overlap.size() == 32);
      for (std::size_t pair = 0; pair < 32; ++pair) {
        const auto &a = reference.spins(2 * pair), &b = reference.spins(2 * pair + 1);
        std::int64_t overlap = 0, link = 0;
        for (std::size_t site = 0; site < a.size(); ++site) overlap += a[site] == b[site] ? 1 : -1;
        for (const Edge& edge : list.edges) {
          link += (a[edge.a] == b[edge.a]) == (a[edge.b] == b[edge.b]) ? 1 : -1;
        }
        CHECK(seen.overlap[pair] == overlap);
        CHECK(seen.link_overlap[pair] == link);
      }
      REQUIRE(seen.staggered.size() == (spec.staggered ? 64 : 0));
      for (std::size_t r = 0; r < seen.staggered.size(); ++r) {
        std::int64_t sum = 0;
        for (std::size_t site = 0; site < sublattice.size(); ++site) {
          sum += reference.spins(r)[site] != 0 ? sublattice[site] : -sublattice[site];
        }
        CHECK(seen.staggered[r] == sum);
      }
    }
  }
}

}  // namespace

TEST_CASE("multispin engine: couplings 1 and -1 and fields equal enumeration") {
  Scores scores;
  compare_unit_cases(make_multispin_engine, 80000, {384, {250, longer(50), 1}}, 1500, -1, scores);
}

TEST_CASE("multispin engine: Houdayer moves conserve the energy of two replicas") {
  for (const CoupledCase& one : unit_cases()) {
    check_houdayer_conserves(make_multispin_engine, one, -1);
  }
}

TEST_CASE("multispin engine with couplings equals the reference") {
  std::uint64_t seed = 1;
  const auto wolff = ClusterUpdate::wolff, sw = ClusterUpdate::swendsen_wang;
  for (const std::vector<std::uint32_t>& shape : {std::vector<std::uint32_t>{10},
                                                  {70},
                                                  {4, 6},
                                                  {34, 6},
                                                  {36, 10},
                                                  {66, 4},
                                                  {6, 4, 8},
                                                  {34, 4, 4},
                                                  {4, 4, 4, 6},
                                                  {34, 4, 4, 4}}) {
    for (const double p : {0.0, 0.05, 0.6}) {
      const auto rule = std::array{Rule::rewire, Rule::swap, Rule::add}[seed % 3];
      if (shape == std::vector<std::uint32_t>{10} && p > 0) continue;
      const Graph graph = build_graph({shape, p, rule, seed});
      INFO(to_string(rule) << ", p = " << p << ", dim " << shape.size() << ", " << shape[0]);
      compare_bits(graph, pm(), LocalUpdate::metropolis, sw, 500 + seed);
      compare_bits(graph, pm(0.2), LocalUpdate::glauber, wolff, 600 + seed);
      Model shortcuts = pm();
      shortcuts.interactions.on_shortcuts = true;
      shortcuts.interactions.shortcut_strength = -1;
      compare_bits(graph, shortcuts, LocalUpdate::metropolis, seed % 2 == 0 ? wolff : sw,
                   700 + seed);
      ++seed;
    }
  }
  for (const Rule rule : {Rule::rewire_any, Rule::add_any, Rule::swap_any}) {
    INFO(to_string(rule));
    for (const auto cluster : {wolff, sw}) {
      compare_bits(build_graph({{22, 10}, 0.3, rule, 9}), pm(), LocalUpdate::metropolis, cluster,
                   800);
    }
  }
  for (const Rule rule : {Rule::rewire_any, Rule::swap_any}) {
    Model antiferromagnet;
    antiferromagnet.interactions.couplings = CouplingKind::antiferromagnet;
    INFO(to_string(rule));
    for (const auto cluster : {wolff, sw}) {
      compare_bits(build_graph({{8, 6, 4}, 0.4, rule, 9}), antiferromagnet, LocalUpdate::glauber,
                   cluster, 803);
    }
  }
  for (const auto cluster : {wolff, sw}) {
    compare_bits(imported_graph(star(20), "star"), pm(), LocalUpdate::glauber, cluster, 801);
    compare_bits(irregular_graph(400, 300), pm(), LocalUpdate::metropolis, cluster, 802);
  }
}

TEST_CASE("multispin engine in a field equals the reference") {
  std::uint64_t seed = 1;
  const auto wolff = ClusterUpdate::wolff, sw = ClusterUpdate::swendsen_wang;
  const auto metropolis = LocalUpdate::metropolis, glauber = LocalUpdate::glauber;
  for (const std::vector<std::uint32_t>& shape : {std::vector<std::uint32_t>{70},
                                                  {4, 6},
                                                  {34, 6},
                                                  {36, 10},
                                                  {6, 4, 8},
                                                  {34, 4, 4},
                                                  {34, 4, 4, 4}}) {
    for (const double p : {0.0, 0.05, 0.6}) {
      const auto rule = std::array{Rule::rewire, Rule::add_any, Rule::add}[seed % 3];
      const Graph graph = build_graph({shape, p, rule, seed});
      INFO(to_string(rule) << ", p = " << p << ", dim " << shape.size() << ", " << shape[0]);
      compare_bits(graph, in_field(0.3), metropolis, sw, 500 + seed);
      compare_bits(graph, in_field(-1.7), glauber, wolff, 600 + seed);
      compare_bits(graph, in_field(2), metropolis, wolff, 650 + seed);  // flips of equal energy
      compare_bits(graph, in_field(0.02, CouplingKind::plus_minus), metropolis, wolff, 700 + seed);
      compare_bits(graph, in_random_field(0.4), glauber, sw, 800 + seed);
      compare_bits(graph, in_random_field(1, CouplingKind::antiferromagnet), metropolis,
                   seed % 2 == 0 ? sw : wolff, 900 + seed);
      ++seed;
    }
  }
  // Fields that are rounded to 0.
  const Graph chain = build_graph({{70}, 0.3, Rule::rewire, 5});
  compare_bits(chain, in_field(1e-7), metropolis, sw, 799);
  compare_bits(chain, in_random_field(0), glauber, wolff, 800);
  compare_bits(imported_graph(star(20), "star"), in_field(0.2), glauber, wolff, 801);
  compare_bits(imported_graph(star(20), "star"), in_random_field(3), metropolis, sw, 802);
  compare_bits(irregular_graph(400, 300), in_field(-0.4), metropolis, sw, 803);
  compare_bits(irregular_graph(400, 300), in_random_field(0.5), metropolis, wolff, 804);
}

TEST_CASE("multispin trajectories with couplings do not depend on threads, stops and restarts") {
  for (const CoupledCase& one : unit_cases()) {
    for (const Schedule schedule :
         {Schedule{3, 0}, Schedule{2, 3}, Schedule{0, 2}, Schedule{2, 1, true},
          Schedule{2, 0, false, true}, Schedule{2, 1, true, true}}) {
      EngineSpec spec;
      spec.model = one.model;
      // Each cluster update occurs with some of the schedules.
      spec.cluster = schedule.local == 0 || schedule.houdayer ? ClusterUpdate::swendsen_wang
                                                              : ClusterUpdate::wolff;
      spec.betas = {0.3, 0.8, 0.5, 1.1};
      spec.replicas = 64;
      spec.exchange = schedule.exchange;
      spec.houdayer = schedule.houdayer;
      INFO(one.name << ", exchange " << schedule.exchange << ", Houdayer " << schedule.houdayer);
      const std::vector<EngineOptions> threads{with_threads(1), with_threads(3)};
      check_resume(make_multispin_engine, *one.graph, spec, schedule, threads, 9);
      CHECK(check_stops(make_multispin_engine, *one.graph, spec, schedule, threads, 10) > 0);
      if (!schedule.exchange) continue;
      const auto engine = make_multispin_engine(*one.graph, spec, {});
      engine->advance(schedule, 10);
      Observation seen;
      engine->measure(seen);
      REQUIRE(seen.walker.size() == 4 * 64);
      CHECK(seen.exchange_attempts == std::vector<std::uint64_t>{320, 320, 320, 0});
      CHECK(*std::min_element(seen.exchanges.begin(), seen.exchanges.begin() + 3) > 0);
      for (std::uint32_t r = 0; r < 64; ++r) {  // each configuration has exactly one temperature
        std::vector<std::uint64_t> walkers;
        for (std::uint32_t t = 0; t < 4; ++t) walkers.push_back(seen.walker[64 * t + r]);
        std::sort(walkers.begin(), walkers.end());
        CHECK(walkers == std::vector<std::uint64_t>{0, 1, 2, 3});
      }
    }
  }
}

TEST_CASE("multispin updates of clusters of one word group do not depend on threads and stops") {
  // Threads share each update.
  for (const double p : {0.0, 0.4}) {
    const Graph graph = build_graph({{70, 20}, p, Rule::rewire, 5});
    EngineSpec spec;
    spec.model = pm();
    spec.betas = {0.7};
    spec.houdayer = true;
    for (const auto cluster : {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang}) {
      spec.cluster = cluster;
      for (const Schedule schedule : {Schedule{1, 0, false, true}, Schedule{0, 0, false, true},
                                      Schedule{1, 2}, Schedule{0, 3}}) {
        // Different engines of the run have different options.
        const std::vector<EngineOptions> threads{with_form(1, WolffForm::sparse),
                                                 with_form(3, WolffForm::dense),
                                                 with_form(3, WolffForm::sparse)};
        check_resume(make_multispin_engine, graph, spec, schedule, threads, 11);
        CHECK(check_stops(make_multispin_engine, graph, spec, schedule, threads, 12) > 0);
      }
    }
  }
}

TEST_CASE("multispin: a checkerboard antiferromagnet is a ferromagnet with a sublattice flipped") {
  for (const std::vector<std::uint32_t>& shape : {std::vector<std::uint32_t>{40, 36}, {8, 6, 10}}) {
    const Rule rule = shape.size() == 2 ? Rule::rewire : Rule::add;
    const Graph graph = build_graph({shape, 0.1, rule, 4});
    for (const auto cluster : {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang}) {
      INFO(to_string(cluster) << ", dim " << shape.size());
      EngineSpec spec;
      spec.betas = {0.3, 0.5};
      spec.cluster = cluster;
      const auto ferromagnet = make_multispin_engine(graph, spec, {});
      spec.model.interactions.couplings = CouplingKind::antiferromagnet;
      spec.staggered = true;
      const auto antiferromagnet = make_multispin_engine(graph, spec, {});
      EngineState state = ferromagnet->save();
      for (std::size_t k = 0; k < 2 * 4 * graph.sites(); ++k) {  // 4 bytes per site
        if (graph.colour(static_cast<Site>(k / 4 % graph.sites())) == 1) {
          state.bytes[k] = static_cast<std::uint8_t>(~state.bytes[k]);
        }
      }
      antiferromagnet->restore(state);
      for (int cycle = 0; cycle < 10; ++cycle) {
        const Schedule schedule{cycle < 5 ? 2u : 1u, cycle < 5 ? 0u : 3u};
        ferromagnet->advance(schedule, 1);
        antiferromagnet->advance(schedule, 1);
        Observation a, b;
        ferromagnet->measure(a);
        antiferromagnet->measure(b);
        CHECK(a.bond_sum == b.bond_sum);
        CHECK(a.magnetisation == b.staggered);
        CHECK(a.cluster_updates == schedule.cluster);
        CHECK(b.cluster_updates == 0);
      }
    }
  }
}

TEST_CASE("the multispin engine rejects other couplings and fields") {
  const Graph graph = build_graph({{8, 8}, 0.1, Rule::rewire, 4});
  const auto refused = [&](const Interactions& interactions) {
    EngineSpec spec;
    spec.betas = {0.5};
    spec.model.interactions = interactions;
    expect(ExitCode::usage, "bytespin", [&] { make_multispin_engine(graph, spec, {}); });
  };
  Interactions interactions;
  interactions.couplings = CouplingKind::gaussian;
  refused(interactions);
  interactions = {};
  interactions.field = 0.1;
  interactions.random_field = RandomField::plus_minus;
  refused(interactions);
  interactions = {};
  interactions.random_field = RandomField::gaussian;
  refused(interactions);
  interactions = {};
  interactions.shortcut_strength = 0.5;
  refused(interactions);
  EngineSpec spec;
  spec.betas = {0.5};
  spec.model = pm();
  spec.cluster = ClusterUpdate::few_cluster;
  expect(ExitCode::usage, "no few-cluster updates (use bytespin)",
         [&] { make_multispin_engine(graph, spec, {}); });
  spec.cluster = ClusterUpdate::wolff;
  spec.model = {};
  spec.houdayer = true;
  expect(ExitCode::usage, "wolff and swendsen-wang",
         [&] { make_multispin_engine(graph, spec, {}); });
}
