// Control variates: the number of rewired ends and the sum of k^2 of a graph have exactly known
// means. The part of the spread between graphs that is correlated with them is removed from an
// average.
//
//   y_corrected = mean(y) - B^T (mean(x) - mu),   B = Cov(x)^-1 Cov(x, y) from the same graphs
//
// The fitted B leaves a bias of order 1/G, which a jackknife over the whole estimator removes. If c
// controls explain a share R^2 of the variance between G graphs, the variance of an average is
// multiplied by (1 - R^2) (G - 2)/(G - 2 - c). For small R^2 this factor is above 1: the controls
// add noise. A result therefore uses them only if they pass the test of controls_help().
// Source: Lavenberg & Welch, Management Science 27, 322 (1981).
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "analysis/series/jackknife.hpp"

namespace rewise {

struct ControlVariates {
  Eigen::ArrayXXd x;                    // [graph, control]; no columns: nothing is corrected
  Eigen::VectorXd mu;                   // [control], the exact means
  std::vector<std::string> names = {};  // [control], for output; may be empty
  Eigen::ArrayXXd noise = {};           // [graph, control], thermal noise (curves.hpp), or empty
};

// Number of graphs required per fitted parameter (each control, and the mean). With fewer, the F
// test has little power, and the fitted B biases ratios such as U.
inline constexpr Eigen::Index kGraphsPerControl = 4;
bool enough_graphs(const ControlVariates& controls);

// Level of the F test in controls_help(): the share of useless controls that pass it.
inline constexpr double kControlLevel = 0.01;

// Corrected column means of `rows` [graph, k], untested. Controls that do not vary (p = 0, or the
// rule `swap`, which keeps every degree) are left out. With fewer than 4 (controls + 1) graphs the
// result is the plain means.
Eigen::VectorXd controlled_mean(const Eigen::ArrayXXd& rows, const ControlVariates& controls);

// controlled_mean without graph i, for every i: [graph, k]. Cost: O(graphs), or O(graphs^2) if
// controls are collinear or vary in a single graph only.
Eigen::ArrayXXd leave_one_out_controlled_means(const Eigen::ArrayXXd& rows,
                                               const ControlVariates& controls);

// f of the corrected means, untested, with jackknife values over graphs.
std::vector<Jackknifed> jackknife_with_controls(int sample, const Eigen::ArrayXXd& rows,
                                                const ControlVariates& controls,
                                                const VectorFunction& f);

// Whether controls improve a number: they lower its jackknife error, and an F test at the level
// kControlLevel finds that they explain part of its spread between graphs. False with fewer than
// 4 (controls + 1) graphs.
bool controls_help(const Jackknifed& plain, const Jackknifed& controlled,
                   const ControlVariates& controls);

// f of the means, e.g. U from the columns m^2, m^4, with jackknife values over graphs. Each result
// of f uses the corrected means if controls_help(), else the plain ones.
std::vector<Jackknifed> jackknife_controlled(int sample, const Eigen::ArrayXXd& rows,
                                             const ControlVariates& controls,
                                             const VectorFunction& f);

}  // namespace rewise
