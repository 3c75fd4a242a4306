// The small graphs and the updates on which the engines are compared with enumeration.
#pragma once

#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/engine/engine.hpp"
#include "tests/support/edge_list.hpp"

namespace rewise::oracle {

struct SmallGraph {
  std::string name;
  Graph graph;
  EdgeList list;
  std::vector<double> temperatures;
  // True if Metropolis alone is ergodic. It is not on regular rings (moves without energy change
  // are always accepted, so domain walls walk for ever) and with two isolated sites (both flip at
  // every sweep, so their product never changes).
  bool metropolis_mixes;
};

// 4 x 6 and 6 x 4 tori with every rule and p up to 1, rings, and imported graphs: stars, hubs with
// isolated sites, complete, bipartite, odd cycles, three dimensions. At most 24 sites.
std::vector<SmallGraph> small_graphs();

// At most 2^25 states each.
struct PottsGraph {
  SmallGraph on;
  std::uint32_t q;
};
std::vector<PottsGraph> potts_graphs();

struct Update {
  std::string name;
  LocalUpdate local;
  ClusterUpdate cluster;
  Schedule schedule;
  std::uint32_t tile = 0;  // few-cluster: edge of the tiles, and flip probability
  double flip = 0.9;
};

std::vector<Update> wolff_updates();          // Metropolis, Glauber, Wolff and their mixes
std::vector<Update> swendsen_wang_updates();  // alone and in mixes
std::vector<Update> few_cluster_updates();    // tiles of one site to the whole graph, and a mix
std::vector<Update> all_updates();            // one or two of each kind

}  // namespace rewise::oracle
