// Graphs as plain lists of edges, for the oracles. They are built from coordinates without the
// geometry of the library, and compared with graphs of the library by difference().
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graphs/graph.hpp"

namespace rewise::oracle {

struct Edge {
  std::uint64_t id;    // the bond index, part of the address of random draws
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

// The same graph with ids 0, 1, 2 .. in list order, like an imported graph.
EdgeList renumbered(EdgeList list);

// Periodic hypercubic lattice, x fastest; edge id = site * d + direction. Along an extent of 2
// there is one bond per pair, along an extent of 1 none (other ids do not change).
EdgeList torus(const std::vector<std::uint32_t>& extents);

// Small graphs of several kinds, at most 24 sites.
EdgeList complete(std::uint32_t sites);
EdgeList complete_bipartite(std::uint32_t left, std::uint32_t right);
EdgeList star(std::uint32_t leaves);
EdgeList petersen();
// Two joined hubs that share some leaves, a tail, and isolated sites.
EdgeList hubs(std::uint32_t leaves, std::uint32_t tail, std::uint32_t isolated);

// The edges of a graph of the library: the lattice of this file without the replaced bonds, plus
// the list of rewired bonds of the graph.
EdgeList edges_of(const Graph& graph);

// Returns "" if the neighbour lists of the library are exactly those of the edges, else the first
// difference.
std::string difference(const Graph& graph, const EdgeList& list);

// A graph of the library without a lattice. It is coloured here: two colours if possible, else
// greedily in the order of sites.
Graph imported_graph(const EdgeList& list, const std::string& name);

}  // namespace rewise::oracle
