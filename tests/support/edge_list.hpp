// Graphs as plain lists of edges, for the oracles. Built here from coordinates, with no code of the
// library's geometry, and compared with the library's graphs by matches().
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graphs/graph.hpp"

namespace rewise::oracle {

struct Edge {
  std::uint64_t id;    // the bond index that random draws are addressed with
  std::uint32_t a, b;  // sites
};

struct EdgeList {
  std::uint32_t sites = 0;
  std::vector<Edge> edges;

  std::vector<std::uint32_t> degrees() const;  // [sites]
};

// Ids in order of the pairs.
EdgeList from_pairs(std::uint32_t sites,
                    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs);

// The same graph with ids 0, 1, 2 .. in list order, as an imported graph has them.
EdgeList renumbered(EdgeList list);

// Periodic hypercubic lattice, x fastest; edge id = site * d + direction. Extents of 2 get their
// one bond once, extents of 1 none (ids keep their places).
EdgeList torus(const std::vector<std::uint32_t>& extents);

// Small graphs of all sorts, 24 sites at most.
EdgeList complete(std::uint32_t sites);
EdgeList complete_bipartite(std::uint32_t left, std::uint32_t right);
EdgeList star(std::uint32_t leaves);
EdgeList petersen();
// Two hubs, joined, that share some leaves; then a tail; then isolated sites.
EdgeList hubs(std::uint32_t leaves, std::uint32_t tail, std::uint32_t isolated);

// The edges of a graph of the library: the oracle's own lattice without the replaced bonds, plus
// the graph's list of rewired bonds.
EdgeList edges_of(const Graph& graph);

// "" where the neighbour lists that the library reports are exactly those of the edges, else the
// first difference.
std::string difference(const Graph& graph, const EdgeList& list);

// The library's graph without a lattice, properly coloured here: two colours where possible, else
// greedily in site order.
Graph imported_graph(const EdgeList& list, const std::string& name);

}  // namespace rewise::oracle
