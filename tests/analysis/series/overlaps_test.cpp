// Observables of overlaps, from series whose moments are known.
#include "analysis/series/overlaps.hpp"

#include <cmath>
#include <random>

#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

double value_of(const std::vector<Value>& values, std::string_view name) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (overlap_observables()[k].name == name) return values[k].value;
  }
  return std::nan("");
}

}  // namespace

TEST_CASE("overlaps: Binder's ratio is 1 for two peaks and 0 for a normal distribution") {
  constexpr Eigen::Index times = 20000, pairs = 8;
  constexpr double sites = 1000, bonds = 2000;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 100);
  IntSeries peaks(times, pairs), bell(times, pairs), links(times, pairs);
  for (Eigen::Index t = 0; t < times; ++t) {
    for (Eigen::Index k = 0; k < pairs; ++k) {
      peaks(t, k) = random() % 2 == 0 ? 300 : -300;
      bell(t, k) = std::llround(normal(random));
      links(t, k) = 500;
    }
  }
  const auto two = overlap_values(overlap_rows(peaks, links, sites, bonds), sites);
  CHECK(std::abs(value_of(two, "overlap_m2") - 0.09) < 1e-12);
  CHECK(std::abs(value_of(two, "overlap_binder") - 1) < 1e-12);
  CHECK(std::abs(value_of(two, "spin_glass_susceptibility") - 90) < 1e-9);
  CHECK(std::abs(value_of(two, "scaled_overlap") - 9) < 1e-9);  // 1000^(2/3) = 100
  CHECK(std::abs(value_of(two, "link_overlap") - 0.25) < 1e-12);
  const auto one = overlap_values(overlap_rows(bell, links, sites, bonds, 2), sites);
  // Var q^4 = 96 sigma^8: U_q has a standard error of sqrt(24 / (8 x 20000)) / 2 = 0.006.
  CHECK(std::abs(value_of(one, "overlap_binder")) < 0.03);
  CHECK(std::abs(value_of(one, "overlap_m2") - 0.01) < 5e-4);
}

TEST_CASE("overlaps: pairs are divided into time blocks, and the oldest times are dropped") {
  IntSeries overlaps(5, 1), links(5, 1);
  overlaps << 100, 1, 2, 3, 4;
  links << 100, 1, 1, 3, 3;
  const OverlapRows rows = overlap_rows(overlaps, links, 1, 1, 2);
  REQUIRE(rows.rows() == 2);
  CHECK(rows(0, kOverlap2) == 2.5);
  CHECK(rows(1, kOverlap2) == 12.5);
  CHECK(rows(0, kLinkOverlap) == 1);
  CHECK(rows(1, kLinkOverlap) == 3);
}
