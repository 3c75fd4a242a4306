// Crossings of U with its limit: mean-field graphs, each with its own Tc, by numerical integration.
#include <cmath>
#include <cstdint>
#include <limits>

#include "analysis/scaling/crossing.hpp"
#include "analysis/scaling/extrapolation.hpp"
#include "src/search/tc/crossings_criterion.hpp"
#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

struct MeanField {
  double s2 = 0, s4 = 0;
};

// <s^2> and <s^4> for the weight exp(-y s^2/2 - s^4/4), where y is the scaled distance from Tc.
MeanField mean_field(double y) {
  constexpr double step = 0.02, most = 6;
  double z = 0.5;  // trapezoidal rule: half weight at s = 0
  MeanField sum;
  for (double s = step; s < most; s += step) {
    const double s2 = s * s, w = std::exp(-0.5 * y * s2 - 0.25 * s2 * s2);
    z += w;
    sum.s2 += w * s2;
    sum.s4 += w * s2 * s2;
  }
  return {sum.s2 / z, sum.s4 / z};
}

}  // namespace

TEST_CASE("U of mean-field lattices with a spread of Tc, from the spread of m^2") {
  const MeanField at_tc = mean_field(0);
  CHECK(mean_field_binder() == Approx(1 - at_tc.s4 / (3 * at_tc.s2 * at_tc.s2)).epsilon(1e-6));
  CHECK(mean_field_binder() == Approx(0.2705201).epsilon(1e-6));
  for (const double width : {0.05, 0.2, 0.4, 0.7, 1.0}) {
    double z = 0, m2 = 0, m4 = 0, pair = 0;
    for (double x = -6; x < 6.01; x += 0.1) {
      const double w = std::exp(-0.5 * x * x);
      const MeanField graph = mean_field(width * x);
      z += w;
      m2 += w * graph.s2;
      m4 += w * graph.s4;
      pair += w * graph.s2 * graph.s2;
    }
    m2 /= z;
    const double u = 1 - m4 / z / (3 * m2 * m2), spread = pair / z / (m2 * m2) - 1;
    INFO("width " << width << ", spread " << spread);
    CHECK(std::abs(u + binder_lowered_by_spread(spread) - mean_field_binder()) < 2e-4);
    if (width > 0.3) CHECK(mean_field_binder() - u > 4e-3);
  }
}

TEST_CASE("crossings of U with its limit give Tc and its error for any spread of Tc") {
  constexpr double tc = 2.5, width = 0.5, slope = 2;  // y = slope (T - Tc) N^1/2 + width eta
  constexpr Eigen::Index graphs = 100, grid = 9;
  constexpr int studies = 40;
  constexpr std::uint64_t seed = 77;
  test::Dice dice(seed);
  double z2 = 0, mean = 0, plain = 0, error = 0;
  for (int study = 0; study < studies; ++study) {
    SizeData size;
    size.plan.temperatures = {2.44, 2.464, 2.488, 2.512, 2.536, 2.56};
    size.samples.sites = 1024;
    size.samples.grid = temperature_grid(2.44, 2.56, grid);
    size.samples.spec.extents = {32, 32};
    for (Eigen::Index g = 0; g < graphs; ++g) {
      const double eta = dice.normal();
      const auto row = [&](double t) {
        const MeanField m = mean_field(slope * (t - tc) * 32 + width * eta);
        Moments moments = Moments::Zero();
        moments(kM2) = m.s2 / 32;
        moments(kM4) = m.s4 / 1024;
        return moments;
      };
      GraphSample sample;
      sample.fine_grid.resize(grid, kMomentCount);
      sample.simulated.resize(6, kMomentCount);
      for (Eigen::Index k = 0; k < grid; ++k) {
        sample.fine_grid.row(k) = row(size.samples.grid(k)).transpose();
      }
      for (Eigen::Index k = 0; k < 6; ++k) {
        sample.simulated.row(k) =
            row(size.plan.temperatures[static_cast<std::size_t>(k)]).transpose();
      }
      sample.m2_pair = sample.simulated.col(kM2).square();
      size.samples.graphs.push_back(std::move(sample));
    }
    const JackknifeCurve u = observable_curve(0, size.samples, kBinder);
    const auto found = [&](const JackknifeCurve& curve) {
      const Crossing crossing = crossing_with_limit(curve, mean_field_binder());
      REQUIRE(crossing.status == CrossingStatus::found);
      CHECK(crossing.height.value == mean_field_binder());
      return estimate(crossing.temperature);
    };
    const Value raised = found(raised_binder(u, size));
    z2 += std::pow((raised.value - tc) / raised.error, 2) / studies;
    mean += (raised.value - tc) / studies;
    plain += (found(u).value - tc) / studies;
    error += raised.error / studies;
  }
  INFO("rms z " << std::sqrt(z2) << ", mean " << mean << ", plain " << plain << ", error "
                << error);
  CHECK(std::sqrt(z2) > 0.75);
  CHECK(std::sqrt(z2) < 1.3);
  CHECK(std::abs(mean) < 3 * error / std::sqrt(studies));
  CHECK(plain < -6 * error / std::sqrt(studies));
}

TEST_CASE("a curve of U that does not fall through its limit has no crossing with it") {
  JackknifeCurve curve;
  curve.sites = 100;
  curve.temperature = temperature_grid(1, 2, 5);
  curve.value = 1 - 0.2 * curve.temperature;
  curve.left_out = curve.value.transpose().replicate(3, 1);
  const Crossing found = crossing_with_limit(curve, 0.7, kScaledM2);
  CHECK(found.status == CrossingStatus::found);
  CHECK(found.temperature.value == Approx(1.5));
  CHECK(std::isinf(found.larger));
  CHECK(found.observable == kScaledM2);
  CHECK(crossing_with_limit(curve, 0.5).status == CrossingStatus::none);
  curve.left_out.row(1) -= 0.25;
  CHECK(crossing_with_limit(curve, 0.7).status == CrossingStatus::unstable);
  // The shift has the same sign and amplitude b as for crossings of two sizes:
  // U - U* = t N^1/2 + b N^-1/2 is zero at t = -b/N.
  CHECK(crossing_shift(100, std::numeric_limits<double>::infinity(), mean_field_exponents()) ==
        Approx(-1.0 / 100));
}
