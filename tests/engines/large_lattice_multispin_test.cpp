// The multispin engine against Kaufman's torus, <C>/N = <m^2>, and a published tau.
#include "src/multispin/multispin.hpp"
#include "tests/engines/large_lattice_check.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

const auto kWolff = ClusterUpdate::wolff, kSwendsenWang = ClusterUpdate::swendsen_wang;

}  // namespace

TEST_CASE("multispin engine: Kaufman's e and C for L = 8 .. 64") {
  const auto make = make_multispin_engine;
  const auto metropolis = LocalUpdate::metropolis, glauber = LocalUpdate::glauber;
  compare_with_kaufman({make, metropolis, kWolff, {1, 0}, 256, {400, longer(400), 2}, 1}, 8);
  compare_with_kaufman({make, glauber, kWolff, {1, 0}, 256, {800, longer(400), 2}, 2}, 8);
  compare_with_kaufman({make, metropolis, kWolff, {0, 4}, 128, {100, longer(100), 1}, 3}, 16);
  compare_with_kaufman({make, glauber, kWolff, {1, 2}, 128, {100, longer(100), 1}, 4}, 16);
  compare_with_kaufman({make, metropolis, kWolff, {1, 2}, 128, {100, longer(100), 1}, 5}, 32);
  compare_with_kaufman({make, metropolis, kWolff, {1, 2}, 64, {100, longer(100), 1}, 6}, 64);
  compare_with_kaufman({make, metropolis, kSwendsenWang, {0, 1}, 128, {60, longer(100), 1}, 9}, 32);
}

TEST_CASE("multispin engine: <C>/N = <m^2> on rewired lattices") {
  for (const auto rule : {Rule::rewire, Rule::swap, Rule::add}) {
    const Graph graph = build_graph({{32, 32}, 0.1, rule, 3});
    const LargeRun run{make_multispin_engine,
                       LocalUpdate::metropolis,
                       kWolff,
                       {0, 8},
                       128,
                       {80, longer(80), 1},
                       7};
    const auto rows = rows_of(run, graph, {1 / 2.5, 1 / 2.8, 1 / 3.3});
    for (std::size_t t = 0; t < rows.size(); ++t) {
      INFO(to_string(rule) << ", temperature " << t
                           << ": <C>/N = " << column(rows[t], kCluster).value
                           << ", <m^2> = " << column(rows[t], kM2).value);
      CHECK(std::abs(difference_z(rows[t], kCluster, kM2)) < 4);
      CHECK(column(rows[t], kCluster).error < 0.03 * column(rows[t], kCluster).value);
    }
  }
}

TEST_CASE("multispin engine: checkerboard Metropolis has the published tau of |M|") {
  // tau_|M| = 11.2(3) at L = 16 and Tc.
  const Graph graph = build_graph({{16, 16}, 0, Rule::rewire, 1});
  const LargeRun run{make_multispin_engine,
                     LocalUpdate::metropolis,
                     kWolff,
                     {1, 0},
                     2048,
                     {400, longer(600), 1},
                     8};
  const auto rows = rows_of(run, graph, {1 / kTcSquare})[0];
  const Estimate tau = tau_of(rows, kAbsM, kM2, run.lengths.measure);
  INFO("tau = " << tau.value << " +- " << tau.error);
  CHECK(std::abs(published_z(tau, 11.2, 0.3)) < 4);
}
