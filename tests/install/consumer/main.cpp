// A program that uses the C++ libraries with its own graph, schedule and observable, which is
// computed at every measurement.
//
// The graph is a ring of N sites in which every fourth site has a chord to the opposite side. The
// schedule has two sweeps per cycle before equilibrium and one afterwards. The observable is the
// magnetisation of the sites with a chord; its error comes from the replicas. Exits with 1 if the
// numbers are wrong.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "analysis/series/statistics.hpp"
#include "graphs/colouring.hpp"
#include "src/multispin/multispin.hpp"

namespace {

using rewise::RewiredBond;

rewise::Graph ring_with_chords(std::uint32_t sites) {
  std::vector<RewiredBond> bonds;
  for (std::uint32_t site = 0; site < sites; ++site) {
    bonds.push_back({bonds.size(), site, (site + 1) % sites});
  }
  for (std::uint32_t site = 0; site < sites / 2; site += 4) {
    bonds.push_back({bonds.size(), site, site + sites / 2 + 1});
  }
  return rewise::imported_graph(sites, std::move(bonds), "ring with chords");
}

// <|m|> of the sites that have a chord, over replicas.
rewise::Value order_at_chords(const rewise::Graph& graph, rewise::Engine& engine,
                              std::uint32_t replicas, int measurements) {
  std::vector<double> means(replicas);
  std::vector<std::uint8_t> spins(graph.sites());
  for (int k = 0; k < measurements; ++k) {
    engine.advance({1, 1}, 2);
    for (std::uint32_t r = 0; r < replicas; ++r) {
      engine.spins(0, r, spins);
      int sum = 0, count = 0;
      for (std::uint32_t site = 0; site < spins.size(); ++site) {
        if (graph.degree(site) < 3) continue;
        sum += 2 * spins[site] - 1;
        ++count;
      }
      means[r] += std::abs(sum) / static_cast<double>(count * measurements);
    }
  }
  return rewise::mean_and_error(means);
}

}  // namespace

int main() {
  const rewise::Graph graph = ring_with_chords(64);
  rewise::EngineSpec spec;
  spec.replicas = 64;
  spec.seed = 5;
  double before = 1;
  for (const double temperature : {0.5, 1.0, 4.0}) {
    spec.betas = {1 / temperature};
    const auto engine = rewise::make_multispin_engine(graph, spec, {});
    engine->advance({2, 1}, 50);  // before equilibrium
    const auto order = order_at_chords(graph, *engine, spec.replicas, 100);
    std::printf("T = %g: |m| at chords %s\n", temperature, rewise::format_value(order).c_str());
    if (!(order.value < before && order.error > 0 && order.error < 0.05)) return 1;
    before = order.value;
  }
  return before < 0.5 ? 0 : 1;
}
