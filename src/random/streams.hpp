// All random streams of rewise with their numbers. A number is never reused or changed, since that
// would change every trajectory and graph ever published.
#pragma once

#include <cstdint>

namespace rewise {

enum class Stream : std::uint32_t {
  // Graph building (key: graph seed)
  graph_gap = 1,     // distance to the next moved end
  graph_target = 2,  // new site of a moved end
  graph_swap = 3,    // bonds that exchange ends
  graph_add = 4,     // ends of added bonds
  graph_sample = 5,  // sampled path lengths
  graph_side = 6,    // the end of a bond that rule swap-any exchanges
  coupling = 7,      // item bond, step coupling seed: J (src/engine/couplings.hpp)
  field = 8,         // item site, step coupling seed: random field

  // Engines (key: run seed)
  start = 16,       // hot start: item site, one word of 32 replicas
  metropolis = 17,  // item site; src/multispin/rules.hpp
  glauber = 18,
  wolff_seed = 19,           // item replica: the seed site
  bond = 20,                 // item bond: one draw per undirected bond and step
  cluster_flip = 21,         // Swendsen-Wang: item the cluster's smallest site / 4
  bytespin_start = 22,       // bytespin engine (items: src/bytespin/rules.hpp): per site
  bytespin_local = 23,       // bytespin engine, Metropolis and Glauber: per site
  bytespin_bond = 24,        // bytespin engine: per bond
  bytespin_flip = 25,        // bytespin engine, Swendsen-Wang: per cluster, by its smallest site
  bytespin_seed = 26,        // bytespin engine, Wolff and few-cluster: the seed sites
  bytespin_proposal = 27,    // Potts: the proposed state
  bytespin_ghost = 28,       // bytespin engine, cluster updates in a field: per site
  exchange = 29,             // replica exchange: item t R + r, t the first of the two temperatures
  houdayer = 30,             // Houdayer moves: item the cluster's smallest site / 4
  bytespin_houdayer = 31,    // bytespin engine, likewise: per cluster, by its smallest site
  ghost = 32,                // multispin engine, cluster updates in a field: item site
  bitlattice_start = 40,     // bitlattice engine: item 2 group + colour; src/bitlattice/rules.hpp
  bitlattice_local = 41,     // bitlattice engine, Metropolis and Glauber: the same item
  bitlattice_modified = 42,  // retired: earlier versions, rewired lattices

  // Percolation (key: run seed)
  percolation_bond = 56,  // src/label/occupy.hpp: item site / 4, or bond / 4
  percolation_site = 57,  // retired
};

}  // namespace rewise
