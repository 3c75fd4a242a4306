// The multispin engine against the slow reference (tests/support/reference.hpp), bit by bit after
// each update: sizes that are no multiple of a vector, every rule, degrees from 0 to 20, imported
// graphs that are not bipartite; Metropolis, Glauber, Wolff in each form.
#include <xxhash.h>

#include <array>
#include <string>
#include <vector>

#include "src/multispin/multispin.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/edge_list.hpp"
#include "tests/support/reference.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

// Options of an engine that must not change a bit of its trajectory.
struct Way {
  std::string name;
  int threads;
  WolffForm form;
};

const std::vector<Way> kWays{
    {"1 thread", 1, WolffForm::automatic},     {"3 threads", 3, WolffForm::automatic},
    {"5 threads, dense", 5, WolffForm::dense}, {"2 threads, sparse", 2, WolffForm::sparse},
    {"1 thread, dense", 1, WolffForm::dense},  {"1 thread, sparse", 1, WolffForm::sparse}};

// Runs engines with all options along with the reference and compares after each part of the
// schedule.
void compare_bits(const Graph& graph, const EngineSpec& spec,
                  const std::vector<Schedule>& stretches) {
  const EdgeList list = edges_of(graph);
  REQUIRE(difference(graph, list) == "");
  MultispinReference reference(list, colours_of(graph), spec);
  std::vector<std::unique_ptr<Engine>> engines;
  for (const Way& way : kWays) {
    EngineOptions options;
    options.threads = way.threads;
    options.methods = {.wolff_form = way.form};
    engines.push_back(make_multispin_engine(graph, spec, options));
  }
  std::vector<std::uint8_t> spins(graph.sites());
  for (std::size_t stretch = 0; stretch <= stretches.size(); ++stretch) {
    if (stretch > 0) reference.advance(stretches[stretch - 1], 1);
    const auto words = reference.words();
    const std::uint64_t hash = XXH3_64bits(words.data(), words.size() * sizeof(words[0]));
    const Observation expected = reference.measure();
    for (std::size_t k = 0; k < engines.size(); ++k) {
      INFO(kWays[k].name << ", after " << stretch << " stretches");
      if (stretch > 0) engines[k]->advance(stretches[stretch - 1], 1);
      REQUIRE(engines[k]->trajectory_hash() == hash);
      Observation seen;
      engines[k]->measure(seen);
      CHECK(seen.bond_sum == expected.bond_sum);
      CHECK(seen.magnetisation == expected.magnetisation);
      CHECK(seen.cluster_size == expected.cluster_size);
      CHECK(seen.cluster_updates == expected.cluster_updates);
      CHECK(seen.cluster_quartic_low.empty());
    }
    const auto replica = static_cast<std::uint32_t>((7 * stretch + 3) % spec.replicas);
    engines[stretch % engines.size()]->spins(0, replica, spins);
    CHECK(spins == reference.spins(replica));
  }
}

EngineSpec spec_of(const std::vector<double>& temperatures, std::uint32_t replicas,
                   std::uint64_t seed, LocalUpdate local, Start start = Start::mixed) {
  EngineSpec spec;
  for (const double t : temperatures) spec.betas.push_back(1 / t);
  spec.replicas = replicas;
  spec.seed = seed;
  spec.local = local;
  spec.start = start;
  return spec;
}

const std::vector<Schedule> kLocalThenWolff = {{1, 0}, {1, 0}, {2, 1}, {0, 1}, {0, 3}, {1, 2}};

}  // namespace

TEST_CASE("multispin engine equals the reference on lattices of one to four dimensions") {
  const std::vector<std::vector<std::uint32_t>> shapes = {
      {4},        {10},       {34},         {70},         {4, 4},       {4, 6},    {6, 4},
      {10, 12},   {34, 6},    {6, 34},      {36, 70},     {66, 4},      {4, 4, 4}, {6, 4, 8},
      {10, 6, 4}, {34, 4, 4}, {4, 4, 4, 6}, {6, 4, 4, 4}, {34, 4, 4, 4}};
  std::uint64_t seed = 1;
  for (const auto& shape : shapes) {
    const double tc = std::array{1.2, 2.3, 4.4, 6.6}[shape.size() - 1];
    for (const double p : {0.0, 0.02, 0.5}) {
      if (shape.size() == 1 && shape[0] < 10 && p > 0) continue;
      const auto local = seed % 2 == 0 ? LocalUpdate::glauber : LocalUpdate::metropolis;
      const auto rule = std::array{Rule::rewire, Rule::swap, Rule::add}[seed % 3];
      INFO(to_string(rule) << ", p = " << p << ", dim " << shape.size() << ", extents " << shape[0]
                           << " .. " << shape.back() << ", " << to_string(local));
      const Graph graph = build_graph({shape, p, rule, seed});
      compare_bits(graph, spec_of({tc, 0.7 * tc}, 32, 1000 + seed, local), kLocalThenWolff);
      ++seed;
    }
  }
}

TEST_CASE("multispin engine equals the reference for every rule, p, local update and start") {
  std::uint64_t seed = 100;
  for (const auto rule : {Rule::rewire, Rule::swap, Rule::add}) {
    for (const double p : {0.03, 0.3, 1.0}) {
      for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
        const auto start = std::array{Start::mixed, Start::cold, Start::hot}[seed % 3];
        INFO(to_string(rule) << ", p = " << p << ", " << to_string(local));
        const Graph graph = build_graph({{22, 10}, p, rule, seed});
        compare_bits(graph, spec_of({2.0, 2.8}, 64, (seed << 32) + 5, local, start),
                     kLocalThenWolff);
        ++seed;
      }
    }
  }
}

TEST_CASE("multispin engine equals the reference on imported graphs") {
  const std::vector<EdgeList> lists = {star(20),
                                       star(3),
                                       hubs(18, 7, 5),
                                       complete(21),
                                       complete(3),
                                       complete_bipartite(17, 19),
                                       petersen(),
                                       renumbered(torus({3, 7})),
                                       renumbered(torus({5, 3, 9})),
                                       renumbered(torus({2, 3, 4})),
                                       from_pairs(1, {}),
                                       from_pairs(37, {{3, 30}})};
  std::uint64_t seed = 200;
  for (const EdgeList& list : lists) {
    for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      INFO(list.sites << " sites, " << list.edges.size() << " bonds, " << to_string(local));
      const Graph graph = imported_graph(list, "test");
      compare_bits(graph, spec_of({0.8, 3.0, 12.0}, 32, seed++, local), kLocalThenWolff);
    }
  }
}

TEST_CASE("multispin engine equals the reference far from Tc, where thresholds are extreme") {
  const Graph graph = build_graph({{18, 6}, 0.3, Rule::rewire, 3});
  for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
    compare_bits(graph, spec_of({0.05, 0.3, 1e3, 1e9}, 32, 300, local, Start::hot),
                 kLocalThenWolff);
  }
}

TEST_CASE("multispin engine equals the reference over many updates near Tc") {
  const Graph graph = build_graph({{16, 12}, 0.1, Rule::rewire, 4});
  compare_bits(graph, spec_of({2.7}, 32, 400, LocalUpdate::metropolis),
               std::vector<Schedule>(40, {1, 4}));
}
