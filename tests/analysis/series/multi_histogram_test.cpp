#include "analysis/series/multi_histogram.hpp"

#include <cmath>
#include <vector>

#include "analysis/scaling/curves.hpp"
#include "src/base/error.hpp"
#include "tests/analysis/torus.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using test::torus;
using Samples = test::Torus::Samples;

namespace {

struct Data {
  std::vector<double> temperatures;
  std::vector<Samples> samples;

  std::vector<MultiHistogram::Input> inputs() const {
    std::vector<MultiHistogram::Input> result;
    for (std::size_t k = 0; k < samples.size(); ++k) {
      result.push_back({1 / temperatures[k], samples[k].bond_sums, samples[k].magnetisation_sums});
    }
    return result;
  }
};

Data make_data(std::vector<double> temperatures, Eigen::Index times, test::Dice& dice) {
  Data data{std::move(temperatures), {}};
  for (const double t : data.temperatures) {
    data.samples.push_back(torus().sample(1 / t, times, 32, dice));
  }
  return data;
}

// One graph: the members are the blocks of its MultiHistogram.
JackknifeCurve curve_over_blocks(const MultiHistogram& graph, const Eigen::ArrayXd& temperature,
                                 const MomentFunction& f) {
  JackknifeCurve curve{0, graph.sites(), temperature, Eigen::ArrayXd(temperature.size()),
                       Eigen::ArrayXXd(graph.blocks(), temperature.size())};
  for (Eigen::Index k = 0; k < temperature.size(); ++k) {
    const double beta = 1 / temperature[k];
    curve.value[k] = f(graph.moments(beta), graph.sites(), temperature[k]);
    for (Eigen::Index b = 0; b < graph.blocks(); ++b) {
      curve.left_out(b, k) = f(graph.moments_without(b, beta), graph.sites(), temperature[k]);
    }
  }
  return curve;
}

// The difference of -ln Z between two inverse temperatures: the integral of <E> by Simpson's rule.
double energy_integral(const MultiHistogram& h, double from, double to) {
  constexpr int kIntervals = 32;
  const double width = (to - from) / kIntervals;
  double sum = 0;
  for (int k = 0; k <= kIntervals; ++k) {
    const int weight = k == 0 || k == kIntervals ? 1 : k % 2 == 1 ? 4 : 2;
    sum += weight * h.moments(from + k * width)[kEnergy];
  }
  return h.sites() * sum * width / 3;
}

}  // namespace

TEST_CASE("all states with equal weight at beta = 0 give the exact moments at any beta") {
  const Samples all = torus().every_state();
  const std::vector<MultiHistogram::Input> inputs{{0.0, all.bond_sums, all.magnetisation_sums}};
  const MultiHistogram h(inputs, 16);
  CHECK(h.bins() == 15);  // E = -32, -24, -20, .., 24, 32
  for (const double temperature : {-3.0, 0.02, 0.3, 1.0, 2.0, 2.269185314213022, 3.0, 30.0}) {
    const Moments exact = torus().moments(1 / temperature), got = h.moments(1 / temperature);
    for (Eigen::Index i = 0; i < kMomentCount; ++i) {
      CHECK(got[i] == Approx(exact[i]).epsilon(1e-10).margin(1e-13));  // m is 0
    }
  }
  CHECK(binder(h.moments(1 / 2.269185314213022)) == Approx(.617199318412).epsilon(1e-10));
}

TEST_CASE("several temperatures: moments and free energies against the density of states") {
  // 9 temperatures x 6 quantities and 4 differences of ln Z, |z| < 4 by jackknife over 32 blocks.
  test::Dice dice(61);
  const Data data = make_data({2.0, 2.3, 2.7, 3.3, 4.2}, 400, dice);
  const MultiHistogram h(data.inputs(), 16, 32);
  REQUIRE(h.converged());
  REQUIRE(h.blocks() == 32);
  const Eigen::ArrayXd grid = temperature_grid(1.95, 4.3, 9);
  for (Eigen::Index i = 0; i < kMomentCount; ++i) {
    if (i == kMagnetisationPair) continue;  // the square of an average of mean 0 is not normal
    const JackknifeCurve curve =
        curve_over_blocks(h, grid, [i](const Moments& m, double, double) { return m[i]; });
    for (Eigen::Index k = 0; k < grid.size(); ++k) {
      const Moments moments = torus().moments(1 / grid[k]);
      const double exact = moments[i];
      const double scale = i == kMagnetisation ? moments[kAbsMagnetisation] : std::abs(exact);
      INFO("moment " << i << " at " << grid[k] << ": " << format_value(curve.at(k)) << ", exact "
                     << exact);
      CHECK(std::abs(curve.at(k).value - exact) < 4 * curve.at(k).error);
      CHECK(curve.at(k).error < 0.02 * scale);
    }
  }
  for (Eigen::Index k = 1; k < 5; ++k) {
    const double from = 1 / 2.0, to = 1 / data.temperatures[static_cast<std::size_t>(k)];
    const double exact = torus().log_z(from) - torus().log_z(to);
    CHECK(energy_integral(h, from, to) == Approx(exact).margin(0.03));
  }
}

TEST_CASE("multi-histogram intervals cover the exact U at the nominal rate") {
  test::Dice dice(62);
  test::Coverage between(31), at_a_temperature(31);
  for (int i = 0; i < 2000; ++i) {
    const Data data = make_data({2.2, 2.6, 3.1}, 20, dice);
    const MultiHistogram h(data.inputs(), 16, 32);
    Eigen::ArrayXd grid(2);
    grid << 2.4, 2.6;
    const JackknifeCurve u = curve_over_blocks(h, grid, binder_at);
    between.add(u.at(0), binder(torus().moments(1 / 2.4)));
    at_a_temperature.add(u.at(1), binder(torus().moments(1 / 2.6)));
  }
  CHECK_COVERAGE(between);
  CHECK_COVERAGE(at_a_temperature);
}

TEST_CASE("leaving a block out equals an analysis of the other blocks") {
  test::Dice dice(63);
  const Data data = make_data({2.2, 2.8}, 100, dice);
  const MultiHistogram h(data.inputs(), 16, 32);
  std::vector<Samples> rest;
  std::vector<MultiHistogram::Input> inputs;
  for (const Samples& s : data.samples) {
    rest.push_back({s.bond_sums.leftCols(31), s.magnetisation_sums.leftCols(31)});
  }
  for (std::size_t k = 0; k < rest.size(); ++k) {
    inputs.push_back({1 / data.temperatures[k], rest[k].bond_sums, rest[k].magnetisation_sums});
  }
  const MultiHistogram without(inputs, 16);
  for (const double temperature : {2.2, 2.5, 2.8}) {
    const Moments a = h.moments_without(31, 1 / temperature), b = without.moments(1 / temperature);
    for (Eigen::Index i = 0; i < kMomentCount; ++i) CHECK(a[i] == Approx(b[i]).epsilon(1e-9));
  }
}

TEST_CASE("few replicas are divided into time blocks") {
  test::Dice dice(64);
  const Samples s = torus().sample(0.4, 100, 1, dice);
  const std::vector<MultiHistogram::Input> inputs{{0.4, s.bond_sums, s.magnetisation_sums}};
  const MultiHistogram h(inputs, 16, 10);
  REQUIRE(h.blocks() == 10);
  const double energy = -s.bond_sums.topRows(90).cast<double>().mean() / 16;
  CHECK(h.moments_without(9, 0.4)[kEnergy] == Approx(energy).epsilon(1e-12));
}

TEST_CASE("samples at temperatures with larger autocorrelation have less weight") {
  test::Dice dice(65);
  const Samples a = torus().sample(0.4, 50, 4, dice), b = torus().sample(0.4, 50, 4, dice);
  const std::vector<MultiHistogram::Input> inputs{{0.4, a.bond_sums, a.magnetisation_sums, 1},
                                                  {0.4, b.bond_sums, b.magnetisation_sums, 3}};
  const MultiHistogram h(inputs, 16);
  const double expected = (3 * mean_moments(a.bond_sums, a.magnetisation_sums, 16)[kM2] +
                           mean_moments(b.bond_sums, b.magnetisation_sums, 16)[kM2]) /
                          4;
  CHECK(h.moments(0.4)[kM2] == Approx(expected).epsilon(1e-10));
}

TEST_CASE("the order of temperatures does not matter, and gaps do no harm at the temperatures") {
  test::Dice dice(66);
  Data data = make_data({2.0, 2.5, 3.0}, 100, dice);
  const MultiHistogram forward(data.inputs(), 16);
  std::swap(data.temperatures[0], data.temperatures[2]);
  std::swap(data.samples[0], data.samples[2]);
  const MultiHistogram backward(data.inputs(), 16);
  CHECK(forward.moments(0.42)[kM4] == Approx(backward.moments(0.42)[kM4]).epsilon(1e-9));

  const Data apart = make_data({0.8, 50.0}, 100, dice);  // almost no common energies
  const MultiHistogram gap(apart.inputs(), 16);
  CHECK(std::isfinite(gap.moments(1 / 50.0)[kM2]));
  CHECK(gap.moments(1 / 50.0)[kEnergy] == Approx(torus().moments(1 / 50.0)[kEnergy]).margin(0.03));
}

TEST_CASE("empty or unequal series are refused") {
  const IntSeries two = IntSeries::Zero(2, 1), three = IntSeries::Zero(3, 1);
  const std::vector<MultiHistogram::Input> unequal{{0.4, two, three}};
  CHECK_THROWS_AS(MultiHistogram(unequal, 16), Error);
  CHECK_THROWS_AS(MultiHistogram({}, 16), Error);
}
