// Gaps between rare events follow the geometric law. Chi-square tests fail by chance with
// probability 1e-4 each; the seeds are fixed.
#include "graphs/gaps.hpp"

#include <cmath>

#include "tests/support/catch.hpp"
#include "tests/support/chi_square.hpp"

using namespace rewise;

TEST_CASE("gaps are geometric for frequent and for rare events") {
  for (const double q : {0.999, 0.9, 0.5, 0.1, 0.01, 1e-4, 1e-7, 5e-10}) {
    Gaps gaps(17, fixed_point(q));
    // Cells of equal probability: g is in cell floor(cells (1 - (1-q)^g)). This is too coarse for
    // large q, where each value of g has its own cell.
    constexpr int kDraws = 40000;
    const bool single = q >= 0.1;
    const double cells = single ? 60 : 50;
    std::vector<std::uint64_t> values;
    std::vector<double> law;
    if (single) {
      for (double g = 0; g < cells; ++g) law.push_back(q * std::pow(1 - q, g));
      law.push_back(std::pow(1 - q, cells));
    } else {
      // Cell k holds the integers g with edge[k] <= g < edge[k + 1].
      law.assign(static_cast<std::size_t>(cells), 0.0);
    }
    std::vector<double> edge;
    for (double k = 0; k < cells; ++k) {
      edge.push_back(std::ceil(std::log1p(-k / cells) / std::log1p(-q)));
    }
    if (!single) {
      for (std::size_t k = 0; k < edge.size(); ++k) {
        const double above = k + 1 < edge.size() ? std::exp(edge[k + 1] * std::log1p(-q)) : 0.0;
        law[k] = std::exp(edge[k] * std::log1p(-q)) - above;
      }
    }
    for (int n = 0; n < kDraws; ++n) {
      const std::uint64_t gap = gaps.next();
      REQUIRE(gap < Gaps::kNever);
      if (single) {
        values.push_back(gap);
      } else {
        const auto after = std::upper_bound(edge.begin(), edge.end(), static_cast<double>(gap));
        values.push_back(static_cast<std::uint64_t>(after - edge.begin() - 1));
      }
    }
    INFO("q = " << q);
    const auto test = oracle::chi_square_of(values, law);
    CHECK(test.cells >= (q > 0.99 ? 2 : 4));
    CHECK(test.p_value > 1e-4);
  }
}

TEST_CASE("impossible events never happen, certain ones at once") {
  Gaps never(1, fixed_point(0.0)), always(1, fixed_point(1.0));
  Gaps hardly(1, 1);  // probability 2^-64: the first event is expected after 1.8e19 trials
  for (int n = 0; n < 100; ++n) {
    CHECK(never.next() >= Gaps::kNever);
    CHECK(always.next() == 0);
    CHECK(hardly.next() >= Gaps::kNever);
  }
}

TEST_CASE("a probability becomes a multiple of 2^-64, exact if it is one already") {
  CHECK(fixed_point(1.0) == static_cast<Wide>(1) << 64);
  CHECK(fixed_point(0.5) == static_cast<Wide>(1) << 63);
  CHECK(fixed_point(std::ldexp(1.0, -64)) == 1);
  CHECK(fixed_point(std::ldexp(1.0, -65)) == 0);
  CHECK(fixed_point(5e-324) == 0);
  CHECK(fixed_point(0.1) == static_cast<Wide>(0.1 * 18446744073709551616.0));
}

TEST_CASE("a gap depends on its seed and number only") {
  Gaps first(5, fixed_point(1e-3)), second(5, fixed_point(1e-3)), other(6, fixed_point(1e-3));
  int equal_to_other = 0;
  for (int n = 0; n < 1000; ++n) {
    const std::uint64_t gap = first.next();
    CHECK(gap == second.next());
    equal_to_other += gap == other.next();
  }
  CHECK(equal_to_other < 20);
}
