#include "analysis/series/reweighting.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "analysis/series/jackknife.hpp"
#include "tests/analysis/torus.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using test::torus;

TEST_CASE("log-sum-exp survives large and tiny terms") {
  CHECK(log_sum_exp(std::vector<double>{1000, 1000}) == Approx(1000 + std::log(2.0)));
  CHECK(log_sum_exp(std::vector<double>{-1e5, -1e5 - 1}) ==
        Approx(-1e5 + std::log1p(std::exp(-1.0))));
  CHECK(log_sum_exp({}) == -std::numeric_limits<double>::infinity());
}

TEST_CASE("every state once, reweighted from beta = 0: exact at any beta") {
  const auto all = torus().every_state();
  for (const double beta : {-0.3, 0.0, 0.1, 0.44, 1.0, 50.0}) {
    const Reweighted r = reweight(all.bond_sums, all.magnetisation_sums, 16, 0.0, beta);
    const Moments exact = torus().moments(beta);
    INFO("beta = " << beta);
    for (Eigen::Index i = 0; i < kMomentCount; ++i) {
      CHECK(r.moments[i] == Approx(exact[i]).epsilon(1e-10).margin(1e-12));
    }
  }
}

TEST_CASE("samples of one temperature, reweighted to others, against enumeration") {
  // 5 temperatures x 5 moments, jackknife over 40 columns, |z| < 4.
  test::Dice dice(51);
  const double beta0 = 1 / 2.5;
  const auto samples = torus().sample(beta0, 2000, 40, dice);
  for (const double temperature : {2.1, 2.3, 2.5, 2.7, 3.0}) {
    const double beta = 1 / temperature;
    // Ratio estimators: numerators and denominator averaged over columns, then divided.
    const Eigen::ArrayXd weights = reweighting_weights(samples.bond_sums, beta - beta0);
    Eigen::ArrayXXd columns = Eigen::ArrayXXd::Zero(40, kAveragedCount + 1);
    Eigen::Index i = 0;
    for (Eigen::Index t = 0; t < 2000; ++t) {
      for (Eigen::Index r = 0; r < 40; ++r) {
        const double w = weights[i++];
        columns.row(r).head(kAveragedCount) +=
            w * moments_of_sample(samples.bond_sums(t, r), samples.magnetisation_sums(t, r), 16)
                    .head(kAveragedCount)
                    .transpose();
        columns(r, kAveragedCount) += w;
      }
    }
    const VectorFunction ratio = [](const Eigen::VectorXd& mean) {
      return (mean.head(kAveragedCount) / mean[kAveragedCount]).eval();
    };
    const Estimates estimate = jackknife(columns, ratio);
    const Reweighted direct =
        reweight(samples.bond_sums, samples.magnetisation_sums, 16, beta0, beta);
    const Moments exact = torus().moments(beta);
    for (Eigen::Index k = 0; k < kAveragedCount; ++k) {
      INFO("T = " << temperature << ", moment " << k << ": " << format_value(estimate[k])
                  << ", exact " << exact[k]);
      CHECK(std::abs(estimate[k].value - exact[k]) < 4 * estimate[k].error);
      CHECK(std::abs(direct.moments[k] - exact[k]) < 4 * estimate[k].error);
    }
  }
}

TEST_CASE("the effective fraction falls as beta leaves the sampled range") {
  test::Dice dice(52);
  const auto samples = torus().sample(0.3, 500, 32, dice);
  const auto fraction = [&](double beta) {
    return reweight(samples.bond_sums, samples.magnetisation_sums, 16, 0.3, beta)
        .effective_fraction;
  };
  CHECK(fraction(0.3) == Approx(1.0));
  CHECK(fraction(0.35) < 1);
  CHECK(fraction(0.35) > 0.5);
  CHECK(fraction(0.45) < fraction(0.35));
  CHECK(fraction(0.0) < 0.2);
  CHECK(effective_fraction(Eigen::VectorXd::Unit(10, 3)) == Approx(0.1));
}
