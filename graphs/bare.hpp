// The bare lattice of a graph: its lattice without its shortcuts, for the tree condition
// (analysis/README.md).
//
//   rewire  the rewired bonds are removed and not replaced. If only one end of a removed bond was
//           moved, its other end stays in place: a D end ("dangling"). The weight of a site is its
//           number of D ends. The moved ends (R ends) are at random sites, so no list of them is
//           needed.
//   add     the whole lattice, without weights.
//   swap    every bond is removed with probability p of the spec. One of its ends, drawn at random,
//           is a D end. This p is not that of the network: some exchanged bonds are kept, in place
//           of the weak couplings that rings of shortcuts mediate (tree_condition.hpp).
//
// For `rewire`, removed bonds and D ends are those of build_graph() of the same spec.
#pragma once

#include <cstdint>

#include "graphs/graph.hpp"

namespace rewise {

// Builds the bare lattice of a spec; build_graph() calls this if spec.bare is set. Throws
// Error(usage) for imported graphs.
Graph bare_lattice(const GraphSpec& spec);

// Control variates of a bare lattice: numbers whose means over all bare lattices of a spec are
// known exactly (except on graphs of a few sites, where ends may find no target). Each bond is
// removed independently with probability p - p^2/4 (swap: p). It leaves a D end at a given one of
// its sites with probability (p/2) (1 - p/2) (swap: p/2). On the square lattice at p = 0.1 (32 x 32
// sites), the control variates reduce the spread of lambda between bare lattices from 3.2e-2 to
// 0.3e-2. n: D ends of a site; r: its removed bonds; neighbours are those of the whole lattice.
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
