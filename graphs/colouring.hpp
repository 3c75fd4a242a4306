// Colourings of graphs without a checkerboard: two colours if the graph is bipartite
// (breadth-first search; the smallest site of a component has colour 0), otherwise a greedy
// colouring in smallest-last order (Matula & Beck 1983; Boost.Graph), which needs at most one
// colour more than the graph's degeneracy. Single-site updates run colour by colour, so every
// colouring is checked before it is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace rewise {

struct Colouring {
  std::vector<std::uint8_t> colour;  // [sites] < count
  int count = 0;
};

inline constexpr int kMaxColours = 256;

// Two colours, or nothing if there is a cycle of odd length. O(sites + bonds).
std::optional<Colouring> two_colouring(const Graph& graph);
// Greedy. Throws Error(data) if it needs more than kMaxColours.
Colouring greedy_colouring(const Graph& graph);

// Makes a graph without a lattice from its bonds (numbered from 0), colours and validates it.
// Throws Error(data).
Graph imported_graph(std::uint64_t sites, std::vector<RewiredBond> bonds,
                     const std::string& source);

}  // namespace rewise
