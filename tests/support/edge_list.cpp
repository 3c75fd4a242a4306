#include "tests/support/edge_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace rewise::oracle {

std::vector<std::uint32_t> EdgeList::degrees() const {
  std::vector<std::uint32_t> degree(sites, 0);
  for (const Edge& edge : edges) {
    ++degree[edge.a];
    ++degree[edge.b];
  }
  return degree;
}

EdgeList from_pairs(std::uint32_t sites,
                    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
  EdgeList list{sites, {}};
  for (const auto& [a, b] : pairs) list.edges.push_back({list.edges.size(), a, b});
  return list;
}

EdgeList renumbered(EdgeList list) {
  for (std::size_t k = 0; k < list.edges.size(); ++k) list.edges[k].id = k;
  return list;
}

EdgeList torus(const std::vector<std::uint32_t>& extents) {
  // Visits sites in the order of their indices: coordinates count up like the digits of a number.
  std::map<std::vector<std::uint32_t>, std::uint32_t> index;
  std::vector<std::vector<std::uint32_t>> places;
  std::vector<std::uint32_t> place(extents.size(), 0);
  for (bool more = true; more;) {
    index[place] = static_cast<std::uint32_t>(places.size());
    places.push_back(place);
    more = false;
    for (std::size_t k = 0; k < extents.size() && !more; ++k) {
      if (++place[k] < extents[k]) {
        more = true;
      } else {
        place[k] = 0;
      }
    }
  }
  EdgeList list{static_cast<std::uint32_t>(places.size()), {}};
  for (const auto& here : places) {
    for (std::size_t k = 0; k < extents.size(); ++k) {
      const bool last = here[k] + 1 == extents[k];
      if (extents[k] == 1 || (extents[k] == 2 && last)) continue;
      auto there = here;
      there[k] = last ? 0 : here[k] + 1;
      list.edges.push_back(
          {std::uint64_t{index.at(here)} * extents.size() + k, index.at(here), index.at(there)});
    }
  }
  return list;
}

EdgeList complete(std::uint32_t sites) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t b = 1; b < sites; ++b) {
    for (std::uint32_t a = 0; a < b; ++a) pairs.emplace_back(a, b);
  }
  return from_pairs(sites, pairs);
}

EdgeList complete_bipartite(std::uint32_t left, std::uint32_t right) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t a = 0; a < left; ++a) {
    for (std::uint32_t b = 0; b < right; ++b) pairs.emplace_back(a, left + b);
  }
  return from_pairs(left + right, pairs);
}

EdgeList star(std::uint32_t leaves) { return complete_bipartite(1, leaves); }

EdgeList petersen() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t k = 0; k < 5; ++k) {
    pairs.emplace_back(k, (k + 1) % 5);
    pairs.emplace_back(k, 5 + k);
    pairs.emplace_back(5 + k, 5 + (k + 2) % 5);
  }
  return from_pairs(10, pairs);
}

EdgeList hubs(std::uint32_t leaves, std::uint32_t tail, std::uint32_t isolated) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs{{0, 1}};
  std::uint32_t next = 2;
  for (std::uint32_t k = 0; k < leaves; ++k, ++next) {
    pairs.emplace_back(0, next);
    if (k % 3 == 0) pairs.emplace_back(1, next);
  }
  for (std::uint32_t k = 0; k < tail; ++k, ++next) pairs.emplace_back(k == 0 ? 1 : next - 1, next);
  return from_pairs(next + isolated, pairs);
}

EdgeList edges_of(const Graph& graph) {
  EdgeList list{static_cast<std::uint32_t>(graph.sites()), {}};
  std::vector<Edge> replaced;
  for (const RewiredBond& bond : graph.rewired_bonds()) {
    replaced.push_back({bond.bond, bond.a, bond.b});
  }
  if (!graph.spec().extents.empty()) {
    std::map<std::uint64_t, bool> gone;
    for (const Edge& edge : replaced) gone[edge.id] = true;
    for (const Edge& edge : torus(graph.spec().extents).edges) {
      if (!gone.contains(edge.id)) list.edges.push_back(edge);
    }
  }
  list.edges.insert(list.edges.end(), replaced.begin(), replaced.end());
  return list;
}

std::string difference(const Graph& graph, const EdgeList& list) {
  using Entry = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // site, neighbour, bond
  std::vector<Entry> ours, theirs;
  for (const Edge& edge : list.edges) {
    ours.emplace_back(edge.a, edge.b, edge.id);
    ours.emplace_back(edge.b, edge.a, edge.id);
  }
  for (std::uint32_t site = 0; site < graph.sites(); ++site) {
    graph.for_each_neighbour(
        site, [&](Site neighbour, Bond bond) { theirs.emplace_back(site, neighbour, bond); });
  }
  std::sort(ours.begin(), ours.end());
  std::sort(theirs.begin(), theirs.end());
  if (graph.sites() != list.sites) return "site counts differ";
  if (graph.bonds() != list.edges.size()) return "bond counts differ";
  for (std::size_t k = 0; k < std::max(ours.size(), theirs.size()); ++k) {
    if (k < ours.size() && k < theirs.size() && ours[k] == theirs[k]) continue;
    const auto& [site, neighbour, bond] = k < ours.size() ? ours[k] : theirs[k];
    return fmt::format("site {}, neighbour {}, bond {} is {}", site, neighbour, bond,
                       k < ours.size() ? "missing" : "too much");
  }
  return "";
}

namespace {

constexpr std::uint8_t kNone = 255;

std::vector<std::vector<std::uint32_t>> adjacency(const EdgeList& list) {
  std::vector<std::vector<std::uint32_t>> neighbours(list.sites);
  for (const Edge& edge : list.edges) {
    neighbours[edge.a].push_back(edge.b);
    neighbours[edge.b].push_back(edge.a);
  }
  return neighbours;
}

// Two colours by propagation. Empty if the graph has an odd cycle.
std::vector<std::uint8_t> two_colours(const std::vector<std::vector<std::uint32_t>>& neighbours) {
  std::vector<std::uint8_t> colour(neighbours.size(), kNone);
  for (std::uint32_t root = 0; root < neighbours.size(); ++root) {
    if (colour[root] != kNone) continue;
    colour[root] = 0;
    std::vector<std::uint32_t> stack{root};
    while (!stack.empty()) {
      const std::uint32_t site = stack.back();
      stack.pop_back();
      for (const std::uint32_t other : neighbours[site]) {
        if (colour[other] == colour[site]) return {};
        if (colour[other] != kNone) continue;
        colour[other] = static_cast<std::uint8_t>(1 - colour[site]);
        stack.push_back(other);
      }
    }
  }
  return colour;
}

std::vector<std::uint8_t> greedy(const std::vector<std::vector<std::uint32_t>>& neighbours) {
  std::vector<std::uint8_t> colour(neighbours.size(), kNone);
  for (std::uint32_t site = 0; site < neighbours.size(); ++site) {
    std::uint8_t free = 0;
    const auto& around = neighbours[site];
    while (std::any_of(around.begin(), around.end(),
                       [&](std::uint32_t other) { return colour[other] == free; })) {
      ++free;
    }
    colour[site] = free;
  }
  return colour;
}

}  // namespace

Graph imported_graph(const EdgeList& list, const std::string& name) {
  const auto neighbours = adjacency(list);
  auto colours = two_colours(neighbours);
  if (colours.empty()) colours = greedy(neighbours);
  std::vector<RewiredBond> bonds;
  for (const Edge& edge : list.edges) bonds.push_back({edge.id, edge.a, edge.b});
  const int count = 1 + *std::max_element(colours.begin(), colours.end());
  return Graph(list.sites, std::move(bonds), std::move(colours), std::max(count, 2), name);
}

}  // namespace rewise::oracle
