// Decides what to simulate next for Tc of one p by the tree condition, as a function of the results
// so far.
//
//   1. Pilots: six temperatures, equally spaced in u(T), on a few bare lattices (4, 8 or 24). The
//      range moves to the root and narrows. The lattice grows to eight correlation lengths, or four
//      if eight would exceed 2^21 sites.
//   2. Last step: two temperatures beside the root, lambda within about 1% of 1, on lattices whose
//      finite-size error is about a tenth of the requested error; rounds add bare lattices.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/bare.hpp"
#include "src/search/tc/tree_data.hpp"
#include "src/settings/config.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {

// Why the condition does not apply to a study; "" if it does.
std::string why_no_tree(const StudyConfig& config);

// Orders that these couplings allow: the ferromagnet if J is positive in the mean, the spin glass
// if some J are negative.
std::vector<TreeOrder> tree_orders(const ShortcutCouplings& couplings);
std::string_view to_string(TreeOrder order);  // "ferromagnet", "spin-glass"

// The sums of one bare lattice, per site.
struct TreeRow {
  Eigen::ArrayXd mm, md, dd, bond, size;  // [T] as of TreeTable
  Eigen::VectorXd counts;                 // control variates
  // Relative difference of `size` between hot and cold starts, over all temperatures. The error
  // follows from the replicas of each start.
  Value hot_less_cold;
  double thermal = 0;  // relative variance of mm between replicas or pairs, mean over T
};

// The search for one p.
struct TreeSearchState {
  TreePoint data;
  TreeRule rule;
  Rule network = Rule::rewire;      // rewiring rule of the networks
  bool last = false, done = false;  // in the last step; finished
  int pilots = 0, moves = 0;
  bool narrow = false;       // the range is that of the last pilots
  double low = 0, high = 0;  // range of the pilots in u
  std::uint32_t edge = 0;
  std::uint64_t equilibrate = 0, measure = 0;
  std::vector<double> temperatures;
  std::uint32_t graphs = 0;
  std::vector<TreeRow> rows;  // [graphs]
  TreeFit fit;
  TreeRoot pilot;                 // from the last pilots with a root
  std::uint64_t most_graphs = 0;  // limit of the last step: lattice.most_graphs

  double sites() const { return std::pow(static_cast<double>(edge), rule.dim); }
  // Specification of the bare lattices, without the seed.
  GraphSpec graph_spec() const;
};

// The control variates of a bare lattice, the most important ones first.
Eigen::VectorXd control_counts(const BareCounts& counts);

// The first pilots of `p`, or a finished point if the condition does not apply.
TreeSearchState open_tree(const StudyConfig& config, double p,
                          TreeOrder order = TreeOrder::ferromagnet);

// The next step of `search`, whose rows are complete: moves or narrows the pilots' range, enlarges
// the lattice, plans the last step, adds bare lattices to it, or ends the search. Depends on
// `search` alone.
void decide_tree(TreeSearchState& search);

}  // namespace rewise
