// Potts transitions by peaks: samples drawn from two Gaussian phases whose free energies are known.
#include "analysis/scaling/peaks.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

// One disordered and q ordered phases, which have the same weight at `beta`. `ordered` and
// `disordered`: their energies e_a per site at `beta`; `c`: the variance of the energy in a phase,
// per site (C/beta^2). At any other temperature, with d = beta' - beta, phase a has exactly the
// weight exp(-N e_a d + N c d^2 / 2) and the mean energy N (e_a - c d).
struct TwoPhases {
  double sites, ordered, disordered;
  double c = 0.5, states = 5, beta = 1.25;

  double ordered_share(double at) const {
    const double odds = states * std::exp(sites * (disordered - ordered) * (at - beta));
    return odds / (1 + odds);
  }

  struct Samples {
    IntSeries bond_sums, magnetisation_sums;
  };
  Samples sample(double at, Eigen::Index times, Eigen::Index replicas, test::Dice& dice) const {
    Samples result{IntSeries(times, replicas), IntSeries(times, replicas)};
    for (Eigen::Index t = 0; t < times; ++t) {
      for (Eigen::Index r = 0; r < replicas; ++r) {
        const bool cold = dice.uniform() < ordered_share(at);
        const double mean = sites * ((cold ? ordered : disordered) - c * (at - beta));
        result.bond_sums(t, r) = -std::lround(mean + std::sqrt(sites * c) * dice.normal());
        result.magnetisation_sums(t, r) =
            std::lround(sites * std::min(1.0, (cold ? 0.8 : 0.1) + 0.02 * std::abs(dice.normal())));
      }
    }
    return result;
  }
};

// The data of one size in a `tc` study: graphs with their peaks in a window around the transition.
// `at`: relative shift of each graph's transition temperature, or empty.
SizePeaks observe(int sample, const TwoPhases& phases, double half_window, int graphs,
                  test::Dice& dice, const Eigen::ArrayXd& at = {},
                  const ControlVariates& controls = {}) {
  const double middle = 1 / phases.beta;
  const auto grid = temperature_grid(middle * (1 - half_window), middle * (1 + half_window), 61);
  const EnergyGrid energies = energy_grid(phases.sites, 3, middle, phases.states);
  std::vector<GraphPeaks> peaks;
  MomentTable table;
  table.sites = phases.sites;
  table.temperature = grid;
  for (auto& moment : table.table) moment.resize(graphs, grid.size());
  for (int g = 0; g < graphs; ++g) {
    TwoPhases own = phases;
    if (at.size() > 0) own.beta /= 1 + at[g];
    std::vector<TwoPhases::Samples> samples;
    std::vector<MultiHistogram::Input> inputs;
    for (int k = 0; k < 6; ++k) {
      const double t = grid[0] + (grid[60] - grid[0]) * k / 5;
      samples.push_back(own.sample(1 / t, 100, 8, dice));
    }
    for (int k = 0; k < 6; ++k) {
      const auto& [bonds, m] = samples[static_cast<std::size_t>(k)];
      inputs.push_back({1 / (grid[0] + (grid[60] - grid[0]) * k / 5), bonds, m});
    }
    const MultiHistogram histogram(inputs, phases.sites, 4);
    for (Eigen::Index k = 0; k < grid.size(); ++k) {
      const Moments m = histogram.unbiased_moments(1 / grid[k]);
      for (std::size_t i = 0; i < kMomentCount; ++i) {
        table.table[i](g, k) = m[static_cast<Eigen::Index>(i)];
      }
    }
    peaks.push_back(peaks_of_graph(histogram, energies));
  }
  return peaks_of_size(sample, curve_over_graphs(sample, table, specific_heat),
                       curve_over_graphs(sample, table, susceptibility), peaks, energies, controls);
}

}  // namespace

// False alarms: two numbers at 4 standard errors of 8 graphs (7 degrees of freedom), 1% in total;
// the seed is fixed.
TEST_CASE("two phases with an energy gap: first order, with its latent heat and temperature") {
  test::Dice dice(71);
  std::vector<SizePeaks> sizes;
  for (const double sites : {64., 128., 256., 512.}) {
    sizes.push_back(
        observe(static_cast<int>(sizes.size()), {sites, -1.5, -1.0}, 16 / sites, 8, dice));
    CHECK(sizes.back().outside == 0);
    CHECK(sizes.back().two_peaks);
    const Value weights = estimate(sizes.back().weights_temperature);
    INFO(sites << " sites: " << format_value(weights));
    CHECK(std::abs(weights.value - 0.8) < 5 * weights.error);
    const Value cold = estimate(sizes.back().ordered), warm = estimate(sizes.back().disordered);
    CHECK(cold.value == Approx(-1.5).margin(0.08));
    CHECK(warm.value == Approx(-1.0).margin(0.08));
  }
  const PottsTransition found = find_transition(sizes);
  INFO(found.order_reason);
  CHECK(found.order == Order::first);
  INFO("latent heat " << format_value(found.latent_heat) << ", systematic "
                      << found.latent_systematic);
  CHECK(std::abs(found.latent_heat.value - 0.5) <
        4 * std::hypot(found.latent_heat.error, found.latent_systematic));
  CHECK(found.latent_heat.error < 0.05);
  REQUIRE(found.found);
  INFO("T " << format_value(found.temperature) << ", systematic " << found.systematic);
  CHECK(std::abs(found.temperature.value - 0.8) <
        4 * std::hypot(found.temperature.error, found.systematic));
  CHECK(found.temperature.error < 0.002);
  CHECK(found.fits[found.chosen].quantity == "susceptibility");

  // A latent heat that first falls with the size and then stays constant, as on small rewired
  // lattices. No single power describes the three largest sizes.
  constexpr double factors[] = {1.7, 1.4, 1, 1.01};
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    sizes[k].latent_squared.value *= factors[k];
    for (auto& [sample, left_out] : sizes[k].latent_squared.left_out) left_out *= factors[k];
  }
  const auto fitted = [&] {
    std::vector<double> all;
    std::vector<Value> squared;
    for (const SizePeaks& size : sizes) {
      all.push_back(size.sites);
      squared.push_back(estimate(size.latent_squared));
    }
    return fit_sizes("latent", all, squared, 1).ok || fit_sizes("latent", all, squared, 0.5).ok;
  };
  CHECK(!fitted());
  const PottsTransition bent = find_transition(sizes);
  INFO(bent.order_reason);
  CHECK(bent.order == Order::first);
  CHECK(std::abs(bent.latent_heat.value - 0.5) <
        4 * std::hypot(bent.latent_heat.error, bent.latent_systematic));
  // A latent heat that still falls at the largest sizes, as N^-0.6, is undecided.
  constexpr double falling[] = {0.4, 0.9, 1, 0.66};
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const double factor = falling[k] / factors[k];
    sizes[k].latent_squared.value *= factor;
    for (auto& [sample, left_out] : sizes[k].latent_squared.left_out) left_out *= factor;
  }
  CHECK(!fitted());
  CHECK(find_transition(sizes).order == Order::undecided);
}

// Graphs whose transition temperature depends on a number with a known mean, as on the number of
// rewired bonds: the correction by that number removes most of the scatter between graphs.
TEST_CASE("control variates lower the errors of the temperatures of peaks") {
  constexpr int graphs = 16;
  test::Dice dice(73);
  ControlVariates controls;
  controls.x.resize(graphs, 1);
  for (int g = 0; g < graphs; ++g) controls.x(g, 0) = dice.normal();
  controls.mu = Eigen::VectorXd::Zero(1);
  const TwoPhases phases{256, -1.5, -1.0};
  const auto weights = [&](const ControlVariates& known) {
    test::Dice same(74);
    const Eigen::ArrayXd shift = 0.01 * controls.x.col(0);
    return estimate(observe(0, phases, 0.08, graphs, same, shift, known).weights_temperature);
  };
  const Value plain = weights({}), corrected = weights(controls);
  INFO("T_q " << format_value(plain) << " and " << format_value(corrected));
  CHECK(corrected.error < 0.5 * plain.error);
  CHECK(std::abs(corrected.value - 0.8) < 5 * corrected.error);
}

// The phases approach each other as N^-1/2, as at a continuous transition of mean-field type:
// C stays finite, and the peaks shift as N^-1/2.
TEST_CASE("an energy without a jump: not first order, and the latent heat is below a bound") {
  test::Dice dice(72);
  std::vector<SizePeaks> sizes;
  for (const double sites : {64., 128., 256., 512.}) {
    const double half_gap = 0.8 / std::sqrt(sites);
    sizes.push_back(observe(static_cast<int>(sizes.size()),
                            {sites, -1.25 - half_gap, -1.25 + half_gap}, 1.5 / std::sqrt(sites), 8,
                            dice));
    CHECK(!sizes.back().two_peaks);
  }
  const PottsTransition found = find_transition(sizes);
  INFO(found.order_reason);
  CHECK(found.order == Order::second);
  CHECK(found.latent_below < 0.1);
}

TEST_CASE("fits over sizes: as many of the largest sizes as follow the form, at least three") {
  const std::vector<double> sites{16, 64, 256, 1024};
  std::vector<Value> values;
  for (const double n : sites) values.push_back({2 + 3 / n + (n == 16 ? 0.5 : 0), 1e-3});
  const SizeFit fit = fit_sizes("weights", sites, values, 1);
  CHECK(fit.ok);
  CHECK(fit.first == 1);
  CHECK(fit.limit.value == Approx(2));
  CHECK(fit.amplitude.value == Approx(3));
  CHECK(!fit_sizes("weights", {16, 64}, {values[0], values[1]}, 1).ok);
  CHECK(!fit_sizes("weights", sites, values, 0.25).ok);
  const PottsTransition none = find_transition({});
  CHECK(!none.found);
  CHECK(none.order == Order::undecided);
  CHECK(none.reasons.size() == 1);
}

namespace {

// T_q = T + a s + c(N) and T_chi = T + b s + c(N) of 16 graphs: a rounding s, and a shift c common
// to both.
struct Meeting {
  std::vector<Jackknifed> upper, lower;
};
Meeting meeting(const std::vector<double>& edges, const std::function<double(double)>& rounding,
                const std::function<double(double)>& shift, double spread, test::Dice& dice) {
  Meeting result;
  for (const double edge : edges) {
    Eigen::ArrayXXd rows(16, 2);
    for (Eigen::Index g = 0; g < 16; ++g) {
      const double own = 1.12 + shift(edge) + spread / edge * dice.normal();
      const double width = rounding(edge) * (1 + 0.05 * dice.normal());
      rows.row(g) << own + 0.4 * width, own - 0.6 * width;
    }
    const auto two = jackknife_means(static_cast<int>(result.upper.size()), rows,
                                     [](const Eigen::VectorXd& mean) { return mean; });
    result.upper.push_back(two[0]);
    result.lower.push_back(two[1]);
  }
  return result;
}

double off(const MeetingFit& fit) {
  return (fit.limit.value - 1.12) / std::hypot(fit.limit.error, fit.systematic);
}

}  // namespace

// The rounding follows one power of the size or a sum of two. The root mean square of 60 normal
// deviates lies between 0.6 and 1.25 with a probability of 99.5%.
TEST_CASE("two rounded temperatures meet at the transition whatever the law of the rounding") {
  test::Dice dice(73);
  const std::function<double(double)> laws[] = {
      [](double edge) { return 4 / (edge * edge); }, [](double edge) { return 0.8 / edge; },
      [](double edge) { return 1.2 * std::pow(edge, -1.2); },
      [](double edge) { return 0.5 / edge + 3 / (edge * edge); }};
  for (const auto& law : laws) {
    double squares = 0, errors = 0;
    for (int seed = 0; seed < 60; ++seed) {
      const Meeting curves = meeting(
          {8, 12, 16, 24}, law, [](double) { return 0.0; }, 0.15, dice);
      const MeetingFit fit = extrapolate_to_meeting("susceptibility", curves.upper, curves.lower);
      REQUIRE(fit.ok);
      CHECK(fit.q >= 0.01);
      squares += off(fit) * off(fit) / 60;
      errors += std::hypot(fit.limit.error, fit.systematic) / 60;
    }
    INFO(std::sqrt(squares) << " errors, error " << errors);
    CHECK(std::sqrt(squares) < 1.25);
    CHECK(errors < 0.02);
  }
}

// Temperatures from long runs of q = 3 at p = 0.1 and at p = 0.03 (shifted to the transition of
// p = 0.1). Peaks at 8 x 8 sites lie 0.06 to 0.11 below the limit, and no single power of N
// describes three sizes. The error has to include this uncertainty.
TEST_CASE("small rewired lattices: the error includes the uncertainty of the extrapolation") {
  test::Dice dice(74);
  const std::map<double, std::array<double, 2>> tenth = {{8, {1.1031, 1.0122}},
                                                         {12, {1.0966, 1.0394}},
                                                         {16, {1.1025, 1.0617}},
                                                         {24, {1.1104, 1.0866}},
                                                         {32, {1.1141, 1.0981}}},
                                                small = {{8, {1.1417, 1.0561}},
                                                         {12, {1.1197, 1.0686}},
                                                         {16, {1.1158, 1.0797}},
                                                         {24, {1.1141, 1.0919}},
                                                         {32, {1.1160, 1.1010}}};
  for (const auto* measured : {&tenth, &small}) {
    for (const std::vector<double>& edges :
         {std::vector<double>{8, 12, 16}, {8, 16, 32}, {16, 24, 32}, {12, 16, 24, 32}}) {
      const auto width = [&](double edge) { return measured->at(edge)[0] - measured->at(edge)[1]; };
      const auto shift = [&](double edge) {
        return measured->at(edge)[0] - 0.4 * width(edge) - 1.12;
      };
      double squares = 0, errors = 0;
      for (int seed = 0; seed < 60; ++seed) {
        const Meeting curves = meeting(edges, width, shift, 0.15, dice);
        const MeetingFit fit = extrapolate_to_meeting("susceptibility", curves.upper, curves.lower);
        REQUIRE(fit.ok);
        squares += off(fit) * off(fit) / 60;
        errors += std::hypot(fit.limit.error, fit.systematic) / 60;
      }
      INFO(edges.front() << " to " << edges.back() << ": " << std::sqrt(squares)
                         << " errors, error " << errors);
      CHECK(std::sqrt(squares) < 1.6);
      CHECK(errors < (edges.back() < 32 ? 0.04 : 0.02));
    }
  }
}

TEST_CASE("two sizes get a systematic error, and contradicting sizes give no limit") {
  test::Dice dice(75);
  const auto law = [](double edge) { return 4 / (edge * edge); };
  const Meeting two = meeting(
      {8, 16}, law, [](double) { return 0.0; }, 0.15, dice);
  const MeetingFit pair = extrapolate_to_meeting("susceptibility", two.upper, two.lower);
  CHECK(pair.ok);
  CHECK(pair.dof == 0);
  CHECK(pair.systematic > 0.01);
  CHECK(std::abs(off(pair)) < 2);
  const Meeting jump = meeting(
      {8, 12, 16}, law, [](double edge) { return edge == 12 ? 0.3 : 0.0; }, 0.15, dice);
  CHECK(!extrapolate_to_meeting("susceptibility", jump.upper, jump.lower).ok);
  CHECK(!extrapolate_to_meeting("susceptibility", {two.upper[0]}, {two.lower[0]}).ok);
}

TEST_CASE("the maximum of a curve, with its leave-one-out variants") {
  JackknifeCurve curve{3, 16, temperature_grid(1, 2, 21), Eigen::ArrayXd(21),
                       Eigen::ArrayXXd(2, 21)};
  const auto parabola = [&](double top, double height) {
    return (height - 3 * (curve.temperature - top).square()).eval();
  };
  curve.value = parabola(1.512, 4);
  curve.left_out.row(0) = parabola(1.49, 4.1).transpose();
  curve.left_out.row(1) = parabola(1.53, 3.9).transpose();
  const Peak peak = find_peak(curve);
  CHECK(peak.inside);
  CHECK(peak.temperature.value == Approx(1.512));
  CHECK(peak.height.value == Approx(4));
  CHECK(peak.temperature.left_out.at(3)[1] == Approx(1.53));
  CHECK(peak.height.left_out.at(3)[0] == Approx(4.1));
  curve.value = curve.temperature;
  CHECK(!find_peak(curve).inside);
}
