// Crossings of the curves of overlaps of consecutive sizes.
#include "src/search/sweep/overlap_crossings.hpp"

#include <cmath>

#include "src/search/exchange_ladder.hpp"
#include "src/search/tc/glass_criterion.hpp"

#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

constexpr double kTransition = 1.5;

// Graphs of one size for which U_q and N^(2/3) q^2 of overlaps depend only on (T - T_SG) N^(1/3),
// with a random shift of T per graph. `drift`: amplitude of a correction N^(-1/3).
SizeData glass(double sites, const std::vector<double>& temperatures, std::size_t graphs,
               double drift = 0) {
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
      const double left = drift / std::cbrt(sites);
      const double binder = 0.5 - 0.3 * std::tanh(x / 3) + left,
                   q2 = std::pow(sites, -2.0 / 3) * (2 - x / 4 - 2 * left);
      const auto row = static_cast<Eigen::Index>(t);
      graph.overlaps(row, kOverlap2) = q2;
      graph.overlaps(row, kOverlap4) = (3 - 2 * binder) * q2 * q2;
      graph.overlaps(row, kLinkOverlap) = 0.5;
    }
    graph.cluster_fraction.setZero(static_cast<Eigen::Index>(temperatures.size()));
    size.samples.graphs.push_back(std::move(graph));
  }
  return size;
}

SizeCurves curves_of(const SizeData& size) {
  SizeCurves curves;
  curves.temperatures = size.plan.temperatures;
  for (std::size_t t = 0; t < curves.temperatures.size(); ++t) {
    OverlapRows rows(static_cast<Eigen::Index>(size.samples.graphs.size()),
                     static_cast<Eigen::Index>(kOverlapMomentCount));
    for (std::size_t g = 0; g < size.samples.graphs.size(); ++g) {
      rows.row(static_cast<Eigen::Index>(g)) =
          size.samples.graphs[g].overlaps.row(static_cast<Eigen::Index>(t));
    }
    const auto values = overlap_values(rows, size.samples.sites);
    for (std::size_t k = 0; k < values.size(); ++k) {
      curves.values[std::string(overlap_observables()[k].name)].push_back(values[k]);
    }
  }
  return curves;
}

std::vector<Crossing> crossings(double p, const std::vector<SizeData>& sizes) {
  std::vector<SizeAverages> averages;
  for (const SizeData& size : sizes) averages.push_back({curves_of(size), {}});
  return overlap_crossings(p, sizes, averages);
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
    INFO(crossing_name(crossing.observable));
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

TEST_CASE("T_SG is the limit of crossings that move with the size") {
  std::vector<double> temperatures;
  for (int k = 0; k < 13; ++k) temperatures.push_back(1.2 + 0.05 * k);
  std::vector<SizeData> sizes;
  for (const double sites : {64, 125, 216, 512}) {
    sizes.push_back(glass(sites, temperatures, 64, 0.2));
  }
  const auto all = crossings(0.1, sizes);
  // The crossings themselves are off.
  CHECK(std::abs(estimate(all[0].temperature).value - kTransition) >
        4 * estimate(all[0].temperature).error);
  const GlassTc found = locate_glass(0.1, sizes, all);
  REQUIRE(found.reasons.empty());
  const Value tc = *found.accepted();
  CHECK(std::abs(tc.value - kTransition) < 3 * tc.error);
  CHECK(tc.error < 0.05);
  CHECK(found.tc.fits[found.tc.chosen].fit.dof > 0);
}

TEST_CASE("a target of T_SG adds graphs where they lower the error, and ends when it is reached") {
  std::vector<double> temperatures;
  for (int k = 0; k < 13; ++k) temperatures.push_back(1.2 + 0.05 * k);
  std::vector<SizeData> sizes;
  for (const double sites : {512, 1000, 2744, 8000}) {
    sizes.push_back(glass(sites, temperatures, 64));
    SizeData& size = sizes.back();
    size.plan.equilibrate = size.plan.measure = size.plan.every = 10;
    size.extents = {32, static_cast<std::uint32_t>(sites / 32)};
  }
  const auto all = crossings(0.1, sizes);
  const GlassTc found = locate_glass(0.1, sizes, all);
  REQUIRE(found.reasons.empty());
  const Value tc = *found.accepted();
  StudyConfig config;
  config.target_error = tc.error / tc.value / 1.2;
  const GrowthStep step = next_glass_step(config, found, sizes, all);
  CHECK(std::abs(step.error * found.tc.value.value - tc.error) < 1e-9);
  REQUIRE_FALSE(step.ended());
  double more = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    CHECK(step.members[k] >= 64);
    CHECK(step.measurements[k] == 10);
    more += step.members[k] - 64;
  }
  CHECK(more > 0);
  config.target_error = 2 * tc.error / tc.value;
  CHECK(next_glass_step(config, found, sizes, all).reached);
}

TEST_CASE("no T_SG without enough graphs, sizes or stable crossings") {
  std::vector<double> temperatures;
  for (int k = 0; k < 13; ++k) temperatures.push_back(1.2 + 0.05 * k);
  const auto located = [&](std::size_t graphs, const std::vector<double>& of_sizes) {
    std::vector<SizeData> sizes;
    for (const double sites : of_sizes) sizes.push_back(glass(sites, temperatures, graphs, 0.2));
    return locate_glass(0.1, sizes, crossings(0.1, sizes));
  };
  CHECK(located(64, {512, 1000, 2744}).accepted());
  const GlassTc two = located(64, {512, 1000});
  REQUIRE_FALSE(two.accepted());
  CHECK_FALSE(two.few_graphs);
  CHECK(two.reasons.front().find("add a size") != std::string::npos);
  CHECK(located(7, {512, 1000, 2744}).reasons.front().find("at least 8") != std::string::npos);
  // Graphs that may turn an unstable crossing into a stable one are added, until they run out.
  GlassTc unstable;
  unstable.reasons = {"not stable"};
  unstable.few_graphs = true;
  std::vector<SizeData> sizes{glass(512, temperatures, 10), glass(1000, temperatures, 40)};
  StudyConfig config;
  config.target_error = 1e-3;
  config.most_graphs = 60;
  const GrowthStep step = next_glass_step(config, unstable, sizes, {});
  CHECK_FALSE(step.ended());
  CHECK(step.members == std::vector<double>{20, 60});
  config.most_graphs = 10;
  CHECK(next_glass_step(config, unstable, sizes, {}).stopped.find("most_graphs") !=
        std::string::npos);
  unstable.few_graphs = false;
  CHECK(next_glass_step(config, unstable, sizes, {}).stopped == "not stable");
}

TEST_CASE("temperatures of equal acceptance lie at equal distances in sqrt(N C) dT / T") {
  std::vector<double> scan, heat;
  for (int k = 0; k <= 20; ++k) scan.push_back(1 + 0.05 * k);
  // C constant: a geometric series. erfc(s / 2) = 0.3 at s = 1.4658.
  heat.assign(scan.size(), 2);
  const auto even = exchange_ladder({1, 2}, scan, heat, 512);
  const double all = std::sqrt(2 * 512.0) * std::log(2.0);
  REQUIRE(even.size() == static_cast<std::size_t>(std::ceil(all / 1.4658)) + 1);
  CHECK(even.front() == 1);
  CHECK(even.back() == 2);
  const double ratio = std::pow(2, 1 / static_cast<double>(even.size() - 1));
  for (std::size_t k = 1; k < even.size(); ++k) {
    CHECK(std::abs(even[k] / even[k - 1] - ratio) < 0.002);
  }
  // Where C is four times as large, temperatures lie twice as close.
  for (std::size_t t = 0; t < 10; ++t) heat[t] = 8;
  const auto denser = exchange_ladder({1, 2}, scan, heat, 4096);
  const double low = denser[1] - denser[0], high = denser.back() - denser[denser.size() - 2];
  CHECK(std::abs(high / low - 4) < 0.2);  // a factor of 2 from C, and 2 from T
  CHECK(exchange_ladder({1, 2}, scan, heat, 4).size() == 6);
}

TEST_CASE("replica exchange averaged over graphs: accepted fractions and round trips") {
  SizeData size;
  size.plan.temperatures = {1, 1.5, 2};
  size.samples.graphs.resize(2);
  CHECK_FALSE(exchange_means(size));  // without exchange
  size.samples.graphs[0].exchange = {{0.2, 0.4}, 3, 1.0};
  CHECK_FALSE(exchange_means(size));
  size.samples.graphs[1].exchange = {{0.4, 0.4}, 5, 3.0};
  const auto means = exchange_means(size);
  REQUIRE(means);
  CHECK(means->round_trips == 8);
  CHECK(means->trips_per_1000.value == Approx(2));
  CHECK(means->trips_per_1000.error == Approx(1));
  REQUIRE(means->accepted.size() == 3);
  CHECK(means->accepted[0].value == Approx(0.3));
  CHECK(means->accepted[0].error == Approx(0.1));
  CHECK(means->accepted[1].value == Approx(0.4));
  CHECK(std::isnan(means->accepted[2].value));
  size.plan.temperatures.push_back(3);  // joined tasks did not exchange replicas with each other
  CHECK_FALSE(exchange_means(size));
}

TEST_CASE("a likely ladder is that of a specific heat of 1") {
  // Number of temperatures: the integral of sqrt(N)/T is sqrt(N) ln 2 = 31.4 steps of 1.4657.
  CHECK(likely_exchange_ladder({1, 2}, 4096).size() == 32);
  CHECK(likely_exchange_ladder({1, 2}, 4).size() == 6);
}
