// Observables as functions of temperature with their leave-one-out curves, for crossings, collapses
// and plots.
#pragma once

#include <Eigen/Core>
#include <array>
#include <functional>
#include <span>
#include <vector>

#include "analysis/series/control_variate.hpp"
#include "analysis/series/multi_histogram.hpp"

namespace rewise {

// One observable of one size at one p on a grid of temperatures.
struct JackknifeCurve {
  int sample = 0;  // equal for curves of the same graphs, different for all others
  double sites = 0;
  Eigen::ArrayXd temperature;  // [K], ascending
  Eigen::ArrayXd value;        // [K]
  Eigen::ArrayXXd left_out;    // [members, K]

  // Bias-corrected value and error at grid point k.
  Value at(Eigen::Index k) const;
  std::vector<Value> values() const;  // [K]
};

// The moments of each graph on the grid: table[moment] is [graph, K].
struct MomentTable {
  double sites = 0;
  Eigen::ArrayXd temperature;  // [K], ascending
  std::array<Eigen::ArrayXXd, kMomentCount> table;
};

// `count` temperatures, equally spaced, from low to high (both included).
Eigen::ArrayXd temperature_grid(double low, double high, Eigen::Index count);

// An observable as a function of averaged moments.
using MomentFunction = std::function<double(const Moments&, double sites, double temperature)>;

// Control variates are tested (controls_help) at each temperature, or once for a whole curve, which
// keeps it smooth. A whole curve uses them if they help at half of its temperatures or more.
enum class ControlTest { curve, temperature };

// Moments averaged over graphs (and corrected by the controls where these help), then f.
JackknifeCurve curve_over_graphs(int sample, const MomentTable& graphs, const MomentFunction& f,
                                 const ControlVariates& controls = {},
                                 ControlTest test = ControlTest::curve);

// Whether curve_over_graphs() uses the controls, [K].
std::vector<bool> controls_taken(const MomentTable& graphs, const MomentFunction& f,
                                 const ControlVariates& controls, ControlTest test);

// The same averages, but left_out(g) is f after a change of graph g: row g of `changes` is added to
// its moments, and row g of ControlVariates::noise to its controls. This propagates a known part of
// a graph's noise, such as thermal noise.
JackknifeCurve changed_curve(int sample, const MomentTable& graphs, const MomentTable& changes,
                             const MomentFunction& f, const ControlVariates& controls = {},
                             ControlTest test = ControlTest::curve);

// Ready-made MomentFunctions.
double binder_at(const Moments& m, double sites, double temperature);

}  // namespace rewise
