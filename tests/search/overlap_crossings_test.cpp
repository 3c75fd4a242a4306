// Crossings of the curves of overlaps of consecutive sizes.
#include "src/search/overlap_crossings.hpp"

#include <cmath>

#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

constexpr double kTransition = 1.5;

// Graphs of one size for which U_q and N^(2/3) q^2 of overlaps depend only on (T - T_SG) N^(1/3),
// with a random shift of T per graph.
SizeData glass(double sites, const std::vector<double>& temperatures, std::size_t graphs) {
  SizeData size;
  size.samples.sites = sites;
  size.plan.temperatures = temperatures;
  for (std::size_t g = 0; g < graphs; ++g) {
    GraphSample graph;
    graph.overlaps.resize(static_cast<Eigen::Index>(temperatures.size()),
                          static_cast<Eigen::Index>(kOverlapMomentCount));
    const double shift = 0.02 * std::sin(1.0 + 2.4 * static_cast<double>(g) + sites);
    for (std::size_t t = 0; t < temperatures.size(); ++t) {
      const double x = (temperatures[t] - kTransition - shift) * std::cbrt(sites);
      const double binder = 0.5 - 0.3 * std::tanh(x / 3),
                   q2 = std::pow(sites, -2.0 / 3) * (2 - x / 4);
      const auto row = static_cast<Eigen::Index>(t);
      graph.overlaps(row, kOverlap2) = q2;
      graph.overlaps(row, kOverlap4) = (3 - 2 * binder) * q2 * q2;
      graph.overlaps(row, kLinkOverlap) = 0.5;
    }
    size.samples.graphs.push_back(std::move(graph));
  }
  return size;
}

SizeCurves curves_of(const SizeData& size) {
  SizeCurves curves;
  curves.temperatures = size.plan.temperatures;
  curves.overlaps.resize(overlap_observables().size());
  for (std::size_t t = 0; t < curves.temperatures.size(); ++t) {
    OverlapRows rows(static_cast<Eigen::Index>(size.samples.graphs.size()),
                     static_cast<Eigen::Index>(kOverlapMomentCount));
    for (std::size_t g = 0; g < size.samples.graphs.size(); ++g) {
      rows.row(static_cast<Eigen::Index>(g)) =
          size.samples.graphs[g].overlaps.row(static_cast<Eigen::Index>(t));
    }
    const auto values = overlap_values(rows, size.samples.sites);
    for (std::size_t k = 0; k < values.size(); ++k) curves.overlaps[k].push_back(values[k]);
  }
  return curves;
}

std::vector<Crossing> crossings(double p, const std::vector<SizeData>& sizes) {
  std::vector<SizeCurves> curves;
  for (const SizeData& size : sizes) curves.push_back(curves_of(size));
  return overlap_crossings(p, sizes, curves);
}

}  // namespace

TEST_CASE("curves of overlaps cross at the transition") {
  const std::vector<double> temperatures{1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8};
  const std::vector<SizeData> sizes{glass(64, temperatures, 40), glass(512, temperatures, 40),
                                    glass(4096, temperatures, 40)};
  const auto all = crossings(0.1, sizes);
  REQUIRE(all.size() == 4);
  for (const Crossing& crossing : all) {
    REQUIRE(crossing.status == CrossingStatus::found);
    const Value t = estimate(crossing.temperature);
    INFO(crossing_observables()[static_cast<std::size_t>(crossing.observable)].name);
    CHECK(std::abs(t.value - kTransition) < 4 * t.error + 1e-3);
    CHECK(t.error < 0.02);
  }
  CHECK(all[0].larger == 512);
  CHECK(std::abs(estimate(all[0].height).value - 0.5) < 0.05);
  CHECK(std::abs(estimate(all[2].height).value - 2) < 0.2);
  CHECK(crossings(0, sizes).size() == 2);  // on a regular lattice only those of U_q
}

TEST_CASE("overlaps have no crossing without graphs, temperatures or a change of order") {
  const std::vector<double> temperatures{1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8};
  CHECK(crossings(0.1, {glass(64, temperatures, 1), glass(512, temperatures, 1)}).empty());
  const std::vector<double> few{1.4, 1.5, 1.6};
  CHECK(crossings(0.1, {glass(64, few, 9), glass(512, few, 9)}).empty());
  const std::vector<double> above{1.7, 1.8, 1.9, 2.0, 2.1};
  for (const Crossing& crossing : crossings(0.1, {glass(64, above, 9), glass(512, above, 9)})) {
    CHECK(crossing.status != CrossingStatus::found);
  }
}
