// The bare lattice of a graph: its lattice without its shortcuts. It is what the tree condition
// (analysis/README.md) needs of a network in which shortcuts lead to places that no other short
// path leads to.
//
//   rewire  the rewired bonds are removed and nothing is put in their place. A removed bond of
//           which one end was moved has left its other end where it was: a D end (it dangles). The
//           weight of a site is the number of D ends there. Moved ends, R ends, lie anywhere: no
//           list of them is needed.
//   add     the whole lattice, without weights.
//   swap    none: shortcuts come in pairs that join the same places, so it is not a tree.
//
// The bonds that are removed and the ends that stay are those of build_graph() of the same spec.
#pragma once

#include <cstdint>

#include "graphs/graph.hpp"

namespace rewise {

// build_graph() of a spec with `bare`. Error(usage) for rule `swap`.
Graph bare_lattice(const GraphSpec& spec);

// What varies from one bare lattice of a spec to another: numbers whose means are known exactly (up
// to ends that find no target, on graphs of a few sites), as control variates. Bonds are
// independent: each is removed with probability p - p^2/4, and leaves a D end at a given one of its
// sites with probability (p/2) (1 - p/2). With them the spread of lambda between bare lattices of
// the square lattice at p = 0.1 falls from 3.2e-2 to 0.3e-2 (32 x 32 sites). n: the D ends of a
// site, r: its removed bonds; neighbours are those of the whole lattice.
struct BareCounts {
  double removed = 0;                 // bonds
  double d_ends = 0;                  // sum over sites of n
  double removed_pairs = 0;           // pairs of removed bonds that share a site
  double d_pairs = 0;                 // sum over sites of n (n - 1)
  double d_removed = 0;               // sum over sites of n (r - 1)
  double removed_beside_removed = 0;  // sum over neighbours of r r'
  double d_beside_removed = 0;        // of n r' + n' r
  double d_beside_d = 0;              // of n n'
};
inline constexpr int kBareCounts = 8;
BareCounts bare_counts(const Graph& bare);  // O(modified cells), and a byte or two per site
BareCounts mean_bare_counts(const GraphSpec& spec);

}  // namespace rewise
