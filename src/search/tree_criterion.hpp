// Tc of one p by the tree condition: what to simulate next, as a function of the results so far.
//
//   1. Pilots: six temperatures, spread evenly in u(T), on eight bare lattices; the range moves to
//      the root and narrows, and the lattice grows, until it is eight correlation lengths large.
//   2. Two temperatures beside the root, lambda within 1% of 1, on lattices so large that what they
//      miss is a tenth of the error asked for; rounds add bare lattices until it is reached.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "graphs/bare.hpp"
#include "src/search/tree_search.hpp"

namespace rewise {

// The sums of one bare lattice, per site.
struct TreeRow {
  Eigen::ArrayXd mm, md, dd, bond;  // [T]
  Eigen::VectorXd counts;           // control variates
  double hot_less_cold = 0;         // of mm, relatively, over the temperatures
  double thermal = 0;               // relative variance of mm by its replicas, mean over T
};

// The search for one p.
struct TreeWork {
  TreePoint data;
  TreeRule rule;
  Rule network = Rule::rewire;      // how the networks are made
  bool last = false, done = false;  // in the last step; at the end
  int pilots = 0, moves = 0;
  bool narrow = false;       // the pilots' range is that of the last ones
  double low = 0, high = 0;  // of u, the pilots'
  std::uint32_t edge = 0;
  std::uint64_t equilibrate = 0, measure = 0;
  std::vector<double> temperatures;
  std::uint32_t graphs = 0;
  std::vector<TreeRow> rows;  // [graphs]
  TreeFit fit;
  TreeRoot pilot;                 // of the last pilots that found a root
  std::uint64_t most_graphs = 0;  // of the last step: lattice.most_graphs

  double sites() const { return std::pow(static_cast<double>(edge), rule.dim); }
  // Of the bare lattices, but for the seed.
  GraphSpec graph_spec() const;
};

// The control variates of a bare lattice, the most important ones first.
Eigen::VectorXd control_counts(const BareCounts& counts);

// The first pilots of `p`, or a point that is done where the condition does not apply to p.
TreeWork open_tree(const StudyConfig& config, double p);

// The next step of `work`, whose rows are complete: moves or narrows the pilots' range, enlarges
// the lattice, plans the last step, adds bare lattices to it, or is done. Depends on `work` alone.
void decide_tree(TreeWork& work);

}  // namespace rewise
