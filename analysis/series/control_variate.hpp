// Control variates: what is known exactly about the graphs (mean number of rewired ends, mean
// sum of k^2) takes the part of the graph-to-graph spread that hangs on it out of an average.
//
//   y_corrected = mean(y) - B^T (mean(x) - mu),   B = Cov(x)^-1 Cov(x, y) from the same graphs
//
// The fitted B leaves a bias of order 1/G, which a jackknife over the whole estimator removes.
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
  std::vector<std::string> names = {};  // [control], or none: for people
  Eigen::ArrayXXd noise = {};           // [graph, control], thermal as of curves.hpp, or none
};

// Graphs that one more control, and the mean, need each.
inline constexpr Eigen::Index kGraphsPerControl = 4;

// Corrected column means of `rows` [graph, k]. Controls that do not vary (p = 0, or the rule
// `swap`, which keeps every degree) are left out; with fewer than 4 (controls + 1) graphs the
// plain means come back.
Eigen::VectorXd controlled_mean(const Eigen::ArrayXXd& rows, const ControlVariates& controls);

// Numbers of the controls that controlled_mean() goes by.
std::vector<Eigen::Index> controls_in_use(const ControlVariates& controls);

// controlled_mean without graph i, for every i: [graph, k]. O(graphs), unless a single graph
// carries a control: O(graphs^2) then.
Eigen::ArrayXXd leave_one_out_controlled_means(const Eigen::ArrayXXd& rows,
                                               const ControlVariates& controls);

// f of the corrected means, e.g. U from the columns m^2, m^4, with jackknife values over graphs.
std::vector<Jackknifed> jackknife_controlled(int sample, const Eigen::ArrayXXd& rows,
                                             const ControlVariates& controls,
                                             const VectorFunction& f);

}  // namespace rewise
