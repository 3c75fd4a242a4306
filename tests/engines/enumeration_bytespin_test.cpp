// The bytespin engine against exact enumeration (enumeration_check.hpp), and a proof that the
// comparison detects a wrong temperature.
#include "src/bytespin/bytespin.hpp"
#include "tests/engines/enumeration_check.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

// Even numbers of measurements: isolated sites flip at every Metropolis sweep.
Effort effort() { return {256, {80, longer(50), 1}}; }

}  // namespace

TEST_CASE("bytespin engine: Metropolis, Glauber, Wolff and mixes equal enumeration") {
  Scores scores;
  compare_all(make_bytespin_engine, wolff_updates(), 10000, effort(), scores);
  check_distribution(scores, 300);
}

TEST_CASE("bytespin engine: Swendsen-Wang and mixes equal enumeration") {
  Scores scores;
  compare_all(make_bytespin_engine, swendsen_wang_updates(), 20000, effort(), scores);
  check_distribution(scores, 300);
}

TEST_CASE("bytespin engine: few-cluster updates equal enumeration") {
  Scores scores;
  const auto graphs = small_graphs();
  const auto updates = few_cluster_updates();
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const IsingStates states(graphs[g].list);
    for (std::size_t u = g % 3; u < updates.size(); u += 3) {
      compare({graphs[g], updates[u], make_bytespin_engine, 40000 + 100 * g + u, effort()}, states,
              4, 1, scores);
    }
  }
  check_distribution(scores, 300);
}

TEST_CASE("bytespin engine: Potts models of 2 to 7 states equal enumeration") {
  Scores scores;
  const auto graphs = potts_graphs();
  const auto updates = oracle::all_updates();
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const PottsStates states(graphs[g].on.list, graphs[g].q);
    for (std::size_t u = 0; u < updates.size(); ++u) {
      const std::uint64_t seed = 25000 + 100 * g + u;
      compare({graphs[g].on, updates[u], make_bytespin_engine, seed, effort(), graphs[g].q}, states,
              4, 1, scores);
    }
  }
  check_distribution(scores, 300);
}

TEST_CASE("the comparison detects a temperature that is 2% wrong") {
  const auto graphs = small_graphs();
  const auto updates = wolff_updates();
  for (const std::size_t u : {std::size_t{0}, std::size_t{2}}) {
    Scores scores;
    for (std::size_t g = 0; g < 2; ++g) {
      const IsingStates states(graphs[g].list);
      compare({graphs[g], updates[u], make_bytespin_engine, 30000 + g, {512, {200, 100, 1}}},
              states, 0, 1.02, scores);
    }
    CHECK(scores.largest > 8);
    CHECK(normality(scores.independent).p < 1e-4);
  }
}
