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
  // Metropolis alone mixes here. It does not on plain rings (walls walk for ever under moves of
  // equal energy that are always taken), nor with two isolated sites (both flip at every sweep, so
  // their product never changes).
  bool metropolis_mixes;
};

// Tori of both orientations, every rule, p up to 1, rings, and imported graphs: stars, hubs with
// isolated sites, complete, bipartite, odd cycles, three dimensions. 24 sites at most.
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
std::vector<Update> all_updates();            // of everything one or two

}  // namespace rewise::oracle
