// The multispin engine on CUDA against exact enumeration, to much better than a tenth of a standard
// deviation: 20 rewired lattices of 6 x 4 sites at p = 0.05, below and above Tc, with each of four
// updates; five of the lattices also with Swendsen-Wang. Each run has 10^6 measurements (32768
// replicas with 31 each).
//
// sigma is the thermal standard deviation of one measurement. A standard error is about sigma / 800
// (asserted: below sigma / 200), so a deviation of sigma / 10 would be 20 standard errors or more.
// Errors come from the time averages of the replicas, which are independent. Every |z| must be
// below 4.5: with correct moves one of the 510 checks exceeds this for 0.4% of all choices of
// seeds, which are fixed. One quantity of each run and temperature enters the distribution tests of
// enumeration_check.hpp.
#include <cmath>

#include "src/multispin/multispin.hpp"
#include "tests/engines/enumeration_check.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

constexpr std::uint32_t kGraphs = 20;
const std::vector<double> kTemperatures{2.3, 3.0};

const std::vector<oracle::Update>& updates() {
  const auto wolff = ClusterUpdate::wolff;
  static const std::vector<oracle::Update> list{
      {"Metropolis", LocalUpdate::metropolis, wolff, {1, 0}},
      {"Glauber", LocalUpdate::glauber, wolff, {1, 0}},
      {"Wolff", LocalUpdate::metropolis, wolff, {0, 3}},
      {"Metropolis : Wolff 1:2", LocalUpdate::metropolis, wolff, {1, 2}},
      {"Swendsen-Wang", LocalUpdate::metropolis, ClusterUpdate::swendsen_wang, {0, 1}}};
  return list;
}

// Checks the error of an estimate against sigma, and its deviation from the exact value.
void check(const std::string& what, const Estimate& estimate, double exact, double sigma,
           Scores& scores) {
  INFO(what << ": " << estimate.value << " +- " << estimate.error << ", exact " << exact
            << ", sigma " << sigma);
  CHECK(estimate.error < sigma / 200);
  CHECK(std::abs(estimate.z(exact)) < 4.5);
  scores.largest = std::max(scores.largest, std::abs(estimate.z(exact)));
  ++scores.checks;
}

}  // namespace

TEST_CASE("0.1 sigma: e, m^2 and U on CUDA equal enumeration, 10^6 measurements each", "[gpu]") {
  Scores scores;
  for (std::uint32_t g = 0; g < kGraphs; ++g) {
    const Graph graph = build_graph({{6, 4}, 0.05, Rule::rewire, 700 + g});
    const EdgeList list = edges_of(graph);
    REQUIRE(difference(graph, list) == "");
    const IsingStates states(list);
    for (std::size_t u = 0; u < updates().size(); ++u) {
      const oracle::Update& update = updates()[u];
      if (update.cluster == ClusterUpdate::swendsen_wang && g % 4 != 0) continue;
      EngineSpec spec;
      for (const double t : kTemperatures) spec.betas.push_back(1 / t);
      spec.replicas = 32768;
      spec.seed = 800000 + 100 * g + u;
      spec.local = update.local;
      spec.cluster = update.cluster;
      EngineOptions options;
      options.device = 0;
      const auto engine = make_multispin_engine(graph, spec, options);
      const auto rows = sample(*engine, spec, update.schedule, list.sites, {200, 31, 4});
      for (std::size_t t = 0; t < spec.betas.size(); ++t) {
        const Averages exact = states.at(spec.betas[t]);
        const double sigma_e =
            kTemperatures[t] * std::sqrt(exact.specific_heat / static_cast<double>(list.sites));
        const double sigma_m2 = std::sqrt(exact.m4 - exact.m2 * exact.m2);
        const Estimate e = column(rows[t], kE), m2 = column(rows[t], kM2),
                       binder = jackknife(rows[t], binder_of);
        const std::string what = update.name + ", graph " + std::to_string(g) +
                                 ", T = " + std::to_string(kTemperatures[t]);
        check(what + ", e", e, exact.energy, sigma_e, scores);
        check(what + ", m^2", m2, exact.m2, sigma_m2, scores);
        // sigma of U from that of m^2 at fixed m^4: dU = -(2/3) m^4 / (m^2)^3 d(m^2).
        check(what + ", U", binder, exact.binder,
              2 * exact.m4 * sigma_m2 / (3 * std::pow(exact.m2, 3)), scores);
        const std::size_t turn = scores.independent.size() % 3;
        scores.independent.push_back(turn == 0   ? e.z(exact.energy)
                                     : turn == 1 ? m2.z(exact.m2)
                                                 : binder.z(exact.binder));
      }
    }
  }
  check_distribution(scores, kGraphs * 4 * 2 * 3);
}
