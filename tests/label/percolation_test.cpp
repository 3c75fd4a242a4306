// Percolation against exact values: enumeration on a small torus, thresholds and wrapping
// probabilities of the square lattice, the random graph that a fully rewired lattice is.
#include "src/label/percolation/percolation.hpp"

#include <bit>
#include <cmath>

#include "src/label/percolation/cluster_counts.hpp"
#include "src/label/percolation/occupy.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

std::vector<PercolationCurves> sampled(PercolationKind kind, const std::vector<GraphSpec>& sizes,
                                       const std::vector<double>& occupation, std::uint32_t blocks,
                                       std::uint32_t samples) {
  PercolationSpec spec;
  spec.kind = kind;
  spec.sizes = sizes;
  spec.occupation = occupation;
  spec.blocks = blocks;
  spec.samples = samples;
  spec.seed = 4711;
  return *sample_percolation(spec, [](double) { return true; });
}

GraphSpec square(std::uint32_t length) { return {{length, length}, 0, Rule::rewire, 1}; }

double deviation(Value measured, double expected) {
  return std::abs(measured.value - expected) / measured.error;
}

}  // namespace

// All 2^16 site configurations of the 4 x 4 torus. Nine comparisons with a t distribution of 31
// degrees of freedom: beyond 4.5 standard errors by chance in 9 x 9e-5 = 0.0008 of all seeds.
TEST_CASE("percolation: site averages on a 4 x 4 torus are those of the enumeration") {
  const Graph graph = build_graph(square(4));
  ClusterCounter counter(graph.lattice(), 16);
  const std::vector<double> occupation{0.4, 0.6, 0.8};
  std::vector<double> either(3), largest(3), clusters(3);
  for (std::uint32_t sites = 0; sites < 1u << 16; ++sites) {
    BondConfiguration c(graph.lattice());
    c.present_sites.assign(c.words, 0);
    c.present_sites[0] = sites;
    for (Site s = 0; s < 16; ++s) {
      c.occupy(s, 0);
      c.occupy(s, 1);
    }
    remove_bonds_of_absent_sites(c);
    const ClusterCounts counts = counter.count(c);
    for (std::size_t k = 0; k < 3; ++k) {
      const double weight = std::pow(occupation[k], std::popcount(sites)) *
                            std::pow(1 - occupation[k], 16 - std::popcount(sites));
      either[k] += weight * (counts.wraps[0] || counts.wraps[1]);
      largest[k] += weight * static_cast<double>(counts.largest) / 16;
      clusters[k] += weight * static_cast<double>(counts.clusters) / 16;
    }
  }
  const auto curves = sampled(PercolationKind::site, {square(4)}, occupation, 32, 1000);
  for (std::size_t k = 0; k < 3; ++k) {
    const PercolationPoint& point = curves[0].points[k];
    INFO("p = " << occupation[k]);
    CHECK(deviation(point.either, either[k]) < 4.5);
    CHECK(deviation(point.largest, largest[k]) < 4.5);
    CHECK(deviation(point.clusters, clusters[k]) < 4.5);
  }
}

// 64 samples at occupations where a 4 x 4 torus hardly ever, or nearly always, wraps. The error
// must be such that the truth is near: 1 - (1 - x)^n of n = 64 samples is 63% at x = 1/n.
TEST_CASE("percolation: shares of 0 and 1 have an error, but where nothing is left to chance") {
  const auto curves = sampled(PercolationKind::bond, {square(4)}, {0, 0.02, 0.5, 0.99, 1}, 4, 16);
  const auto& points = curves[0].points;
  const double expected = std::sqrt(65.0 / 67) / 66;
  for (const auto share :
       {&PercolationPoint::one, &PercolationPoint::either, &PercolationPoint::all}) {
    CHECK((points[0].*share).value == 0);
    CHECK((points[0].*share).error == 0);
    CHECK((points[1].*share).value == 0);
    CHECK((points[1].*share).error == Approx(expected));
    CHECK((points[2].*share).value > 0);
    CHECK((points[2].*share).value < 1);
    CHECK((points[2].*share).error > expected);
    CHECK((points[3].*share).value == 1);
    CHECK((points[3].*share).error == Approx(expected));
    CHECK((points[4].*share).value == 1);
    CHECK((points[4].*share).error == 0);
  }
}

// Deviations from the limit fall as L^-2; at L = 32 they are below 1e-3, a fourth of the
// statistical error. Six comparisons, t with 31 degrees of freedom: false alarms in 0.0005 of
// seeds.
TEST_CASE("percolation: wrapping of the square torus at p_c is exact") {
  for (const auto kind : {PercolationKind::bond, PercolationKind::site}) {
    const double p = known_percolation(kind, 2)->threshold;
    const auto curves = sampled(kind, {square(32)}, {p}, 32, 512);
    const PercolationPoint& point = curves[0].points[0];
    INFO(point.either.value << " " << point.all.value << " +- " << point.either.error);
    CHECK(point.either.error < 0.005);
    CHECK(deviation(point.either, kWrapsEither) < 4.5);
    CHECK(deviation(point.all, kWrapsBoth) < 4.5);
    CHECK(deviation(point.one, kWrapsOne) < 4.5);
  }
}

// Crossings of L = 16 and 32 lie within 0.002 of p_c (corrections fall as L^(-3/4 - 2)); false
// alarms: 4.5 standard errors, twice: 2e-4.
TEST_CASE("percolation: curves of two sizes cross at p_c") {
  for (const auto kind : {PercolationKind::bond, PercolationKind::site}) {
    const double p = known_percolation(kind, 2)->threshold;
    std::vector<double> occupation;
    for (int k = -3; k <= 3; ++k) occupation.push_back(p + 0.02 * k);
    const auto curves = sampled(kind, {square(16), square(32)}, occupation, 32, 256);
    const auto crossings = percolation_crossings(curves);
    REQUIRE(crossings.size() == 1);
    REQUIRE(crossings[0].status == CrossingStatus::found);
    INFO(crossings[0].occupation.value << " +- " << crossings[0].occupation.error);
    CHECK(crossings[0].occupation.error < 0.003);
    CHECK(std::abs(crossings[0].occupation.value - p) <
          4.5 * crossings[0].occupation.error + 0.002);
  }
}

TEST_CASE("percolation: full and empty lattices are exact, numbers do not depend on threads") {
  PercolationSpec spec;
  spec.sizes = {square(8), {{4, 6, 4}, 0, Rule::rewire, 1}, {{12, 8}, 0.3, Rule::add, 5}};
  spec.occupation = {0, 0.3, 1};
  spec.blocks = 3;
  spec.samples = 5;
  for (const auto kind : {PercolationKind::bond, PercolationKind::site}) {
    spec.kind = kind;
    std::vector<PercolationCurves> first;
    for (const int threads : {1, 3}) {
      spec.threads = threads;
      double share = 0;
      const auto curves = sample_percolation(spec, [&](double part) {
        share += part;
        return true;
      });
      CHECK(share == Approx(1));
      REQUIRE(curves->size() == 3);
      if (threads == 1) first = *curves;
      for (std::size_t size = 0; size < 3; ++size) {
        const auto& points = (*curves)[size].points;
        CHECK(points[0].either.value == 0);
        // Without bonds every site is a cluster; without sites there are none.
        CHECK(points[0].mean_size.value ==
              Approx(kind == PercolationKind::bond ? 1 - points[0].largest.value : 0));
        CHECK(points[2].largest.value == 1);
        CHECK(points[2].all.value == (size < 2 ? 1 : 0));  // rewired: wrapping is not asked
        CHECK(points[2].clusters.value * (*curves)[size].crossing.sites == Approx(1));
        CHECK(points[1].largest.value == first[size].points[1].largest.value);
        CHECK(points[1].mean_size.error == first[size].points[1].mean_size.error);
      }
    }
  }
  CHECK(!sample_percolation(spec, [](double) { return false; }));
}

// Every site of the fully rewired square lattice (`swap`) keeps four bonds to random sites: bonds
// percolate at 1/3, in the way of mean-field theory, s_max ~ N^(2/3).
TEST_CASE("percolation: a lattice of random bonds percolates at 1/3") {
  std::vector<GraphSpec> sizes;
  for (const std::uint32_t length : {16u, 32u}) {
    sizes.push_back({{length, length}, 1, Rule::swap, 3});
  }
  const auto curves = sampled(PercolationKind::bond, sizes, {0.2, 0.5}, 16, 16);
  for (const auto& size : curves) {
    for (const auto& point : size.points) CHECK(point.either.value == 0);
  }
  // Below, the largest share falls with size; far above, it does not: 1 - S = (1 - p u)^4 with
  // u = 1 - (1 - p u)^3, S = 0.910 at p = 1/2.
  CHECK(curves[1].points[0].largest.value < 0.6 * curves[0].points[0].largest.value);
  double u = 1;
  for (int k = 0; k < 200; ++k) u = 1 - std::pow(1 - 0.5 * u, 3);
  const double share = 1 - std::pow(1 - 0.5 * u, 4);
  // Corrections are of the order of 1/N, 0.001; t with 15 degrees of freedom, 6 standard errors:
  // false alarms in 3e-5 of seeds.
  CHECK(std::abs(curves[1].points[1].largest.value - share) <
        6 * curves[1].points[1].largest.error + 0.002);
}
