#include "analysis/series/size_histogram.hpp"

#include <cmath>

#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

// Whole numbers 1..most with P(s) ~ s^-a, by inversion of the cumulative distribution.
class ZipfDice {
 public:
  ZipfDice(double a, std::size_t most) {
    double sum = 0;
    for (std::size_t s = 1; s <= most; ++s) {
      cumulated_.push_back(sum += std::pow(static_cast<double>(s), -a));
    }
  }
  std::uint64_t operator()(test::Dice& dice) const {
    const double u = dice.uniform() * cumulated_.back();
    const auto found = std::upper_bound(cumulated_.begin(), cumulated_.end(), u);
    return static_cast<std::uint64_t>(found - cumulated_.begin()) + 1;
  }

 private:
  std::vector<double> cumulated_;
};

}  // namespace

TEST_CASE("logarithmic bins cover 1..most once, and the first bins hold one number each") {
  const auto borders = logarithmic_bins(1000, 10);
  CHECK(borders.front() == 1);
  CHECK(borders.back() == 1001);
  for (std::size_t k = 1; k < borders.size(); ++k) CHECK(borders[k] > borders[k - 1]);
  CHECK(borders[1] == 2);
  for (const std::uint64_t s : {1u, 2u, 7u, 99u, 1000u}) {
    const std::size_t k = bin_of(borders, s);
    CHECK(borders[k] <= s);
    CHECK(s < borders[k + 1]);
  }
}

TEST_CASE("densities are per whole number and do not depend on the bins") {
  const std::vector<std::uint64_t> borders{1, 2, 4};
  Eigen::ArrayXXd counts(2, 2);
  counts << 6, 4, 4, 6;
  const SizeHistogram h = size_histogram(borders, counts);
  CHECK(h.density[0] == Approx(0.5));
  CHECK(h.density[1] == Approx(0.25));
  CHECK(h.error[0] == Approx(0.1));
  CHECK(h.size[1] == Approx(std::sqrt(6.0)));
}

TEST_CASE("the power law of a Zipf distribution: its errors cover the true exponent") {
  test::Dice dice(51);
  const std::size_t most = 4000;
  const auto borders = logarithmic_bins(most, 6);
  for (const double a : {1.0667, 2.0}) {
    const ZipfDice zipf(a, most);
    test::Coverage coverage(200);
    double q_sum = 0;
    for (int i = 0; i < 200; ++i) {
      Eigen::ArrayXXd counts =
          Eigen::ArrayXXd::Zero(128, static_cast<Eigen::Index>(borders.size()) - 1);
      for (Eigen::Index m = 0; m < counts.rows(); ++m) {
        for (int draw = 0; draw < 200; ++draw) {
          counts(m, static_cast<Eigen::Index>(bin_of(borders, zipf(dice)))) += 1;
        }
      }
      const SizeLaw law = fit_size_law(borders, counts, 3, 800);
      REQUIRE(law.ok);
      CHECK(law.from >= 3);
      CHECK(law.to <= 800);
      coverage.add(law.exponent, a);
      q_sum += law.q;
    }
    INFO("a = " << a);
    CHECK_COVERAGE(coverage);
    // Q is uniform: its mean over 200 runs is 0.500(20). The margin is 3.5 standard deviations.
    CHECK(q_sum / 200 == Approx(0.5).margin(0.072));
  }
}

TEST_CASE("no power law without enough bins or members") {
  const auto borders = logarithmic_bins(100, 5);
  const Eigen::ArrayXXd counts =
      Eigen::ArrayXXd::Ones(4, static_cast<Eigen::Index>(borders.size()) - 1);
  CHECK(!fit_size_law(borders, counts, 1, 100).ok);
  CHECK(!fit_size_law(borders, counts, 50, 60).ok);
}
