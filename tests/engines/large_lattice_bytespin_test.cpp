// The bytespin engine against Kaufman's torus and published tau, and its improved estimators
// against direct ones.
#include "src/bytespin/bytespin.hpp"
#include "tests/engines/large_lattice_check.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

const auto kMetropolis = LocalUpdate::metropolis;
const auto kWolff = ClusterUpdate::wolff, kSwendsenWang = ClusterUpdate::swendsen_wang;

}  // namespace

TEST_CASE("bytespin engine: Kaufman's e and C for L = 8 .. 64") {
  const auto make = make_bytespin_engine;
  compare_with_kaufman({make, kMetropolis, kWolff, {1, 0}, 128, {200, longer(100), 4}, 1}, 8);
  compare_with_kaufman({make, LocalUpdate::glauber, kWolff, {1, 1}, 128, {80, longer(80), 2}, 2},
                       8);
  compare_with_kaufman({make, kMetropolis, kSwendsenWang, {0, 1}, 128, {60, longer(80), 1}, 3}, 16);
  compare_with_kaufman({make, kMetropolis, kWolff, {1, 2}, 96, {60, longer(60), 1}, 4}, 32);
  compare_with_kaufman({make, kMetropolis, kSwendsenWang, {1, 1}, 64, {60, longer(60), 1}, 5}, 32);
  compare_with_kaufman({make, kMetropolis, kSwendsenWang, {0, 1}, 48, {60, longer(60), 1}, 6}, 64);
  compare_with_kaufman({make, kMetropolis, kWolff, {1, 2}, 32, {60, longer(60), 1}, 7}, 64);
}

TEST_CASE("bytespin engine: improved estimators equal the direct ones on rewired lattices") {
  for (const auto rule : {Rule::rewire, Rule::swap, Rule::add}) {
    for (const auto cluster : {kWolff, kSwendsenWang}) {
      const Graph graph = build_graph({{32, 32}, 0.1, rule, 3});
      const Schedule schedule{0, cluster == kWolff ? 4u : 1u};
      const LargeRun run{
          make_bytespin_engine, kMetropolis, cluster, schedule, 64, {60, longer(60), 1}, 8};
      const auto rows = rows_of(run, graph, {1 / 2.5, 1 / 2.8, 1 / 3.3});
      for (std::size_t t = 0; t < rows.size(); ++t) {
        INFO(to_string(rule) << ", " << to_string(cluster) << ", temperature " << t << ": clusters "
                             << column(rows[t], kCluster).value
                             << ", <m^2> = " << column(rows[t], kM2).value);
        CHECK(std::abs(difference_z(rows[t], kCluster, kM2)) < 4);
        CHECK(column(rows[t], kCluster).error < 0.1 * column(rows[t], kCluster).value);
        if (cluster == kWolff) continue;
        CHECK(std::abs(difference_z(rows[t], kClusterQuartic, kM4)) < 4);
      }
    }
  }
}

TEST_CASE("bytespin engine: Swendsen-Wang and Wolff have the published tau of E") {
  // At Tc and L = 16, 32: Swendsen-Wang tau_E = 3.26(5), 4.00(7). Wolff tau_E <C>/N = 1.43, 1.78,
  // published without errors; 0.05 is assumed.
  for (const std::uint32_t L : {16u, 32u}) {
    const Graph graph = build_graph({{L, L}, 0, Rule::rewire, 1});
    const Lengths lengths{50, longer(150), 1};
    const LargeRun sw{make_bytespin_engine, kMetropolis, kSwendsenWang, {0, 1}, 256, lengths, 9};
    const auto sw_rows = rows_of(sw, graph, {1 / kTcSquare})[0];
    const Estimate sw_tau = tau_of(sw_rows, kE, kE2, lengths.measure);
    INFO("L = " << L << ": Swendsen-Wang tau = " << sw_tau.value << " +- " << sw_tau.error);
    CHECK(std::abs(L == 16 ? published_z(sw_tau, 3.26, 0.05) : published_z(sw_tau, 4.00, 0.07)) <
          4);
    // Replicas with a random start need many updates until clusters are large.
    const Lengths patient{400, longer(150), 1};
    const LargeRun wolff{make_bytespin_engine, kMetropolis, kWolff, {0, 1}, 256, patient, 10};
    const auto rows = rows_of(wolff, graph, {1 / kTcSquare})[0];
    const double share = column(rows, kCluster).value;
    Estimate tau = tau_of(rows, kE, kE2, patient.measure);
    tau = {tau.value * share, tau.error * share};
    INFO("L = " << L << ": Wolff tau <C>/N = " << tau.value << " +- " << tau.error);
    CHECK(std::abs(published_z(tau, L == 16 ? 1.43 : 1.78, 0.05)) < 4);
  }
}
