// Graphs as plain lists of bonds for the tests, made from coordinates without code of the library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graphs/graph.hpp"

namespace rewise::oracle {

using Pair = std::pair<std::uint32_t, std::uint32_t>;

inline Pair ordered(std::uint32_t u, std::uint32_t v) { return {std::min(u, v), std::max(u, v)}; }

// Coordinates of a site, x fastest.
inline std::vector<std::uint32_t> coordinates(std::uint32_t site,
                                              const std::vector<std::uint32_t>& extents) {
  std::vector<std::uint32_t> x;
  for (const std::uint32_t extent : extents) {
    x.push_back(site % extent);
    site /= extent;
  }
  return x;
}

inline std::uint32_t site_at(const std::vector<std::uint32_t>& x,
                             const std::vector<std::uint32_t>& extents) {
  std::uint32_t site = 0, stride = 1;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    site += x[k] * stride;
    stride *= extents[k];
  }
  return site;
}

inline std::uint32_t parity(std::uint32_t site, const std::vector<std::uint32_t>& extents) {
  std::uint32_t sum = 0;
  for (const std::uint32_t x : coordinates(site, extents)) sum += x;
  return sum % 2;
}

// All lattice bonds, index = site * d + direction.
inline std::vector<Pair> lattice_bonds(const std::vector<std::uint32_t>& extents) {
  std::uint32_t sites = 1;
  for (const std::uint32_t extent : extents) sites *= extent;
  std::vector<Pair> bonds;
  for (std::uint32_t site = 0; site < sites; ++site) {
    for (std::size_t dir = 0; dir < extents.size(); ++dir) {
      auto x = coordinates(site, extents);
      x[dir] = (x[dir] + 1) % extents[dir];
      bonds.emplace_back(site, site_at(x, extents));
    }
  }
  return bonds;
}

// The bonds of the lattice, with the rewired ones replaced and the added ones appended.
inline std::vector<Pair> all_bonds(const Graph& graph) {
  std::vector<Pair> bonds =
      graph.lattice().dim > 0 ? lattice_bonds(graph.spec().extents) : std::vector<Pair>{};
  for (const RewiredBond& r : graph.rewired_bonds()) {
    if (r.bond < bonds.size()) {
      bonds[r.bond] = {r.a, r.b};
    } else {
      bonds.emplace_back(r.a, r.b);
    }
  }
  return bonds;
}

inline std::vector<std::uint32_t> degrees(std::uint64_t sites, const std::vector<Pair>& bonds) {
  std::vector<std::uint32_t> degree(sites, 0);
  for (const auto& [u, v] : bonds) {
    ++degree[u];
    ++degree[v];
  }
  return degree;
}

// Returns "" if the bonds have no self-loop and no double bond and, unless `any`, join sites of
// different colours of the checkerboard; otherwise the fault.
inline std::string fault(const std::vector<Pair>& bonds, const std::vector<std::uint32_t>& extents,
                         bool any = false) {
  std::set<Pair> seen;
  for (std::size_t k = 0; k < bonds.size(); ++k) {
    const auto [u, v] = bonds[k];
    if (u == v) return "bond " + std::to_string(k) + " is a self-loop";
    if (!any && parity(u, extents) == parity(v, extents)) {
      return "bond " + std::to_string(k) + " joins one colour";
    }
    if (!seen.insert(ordered(u, v)).second) return "bond " + std::to_string(k) + " is double";
  }
  return "";
}

}  // namespace rewise::oracle
