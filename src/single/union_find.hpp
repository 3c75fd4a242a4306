// Disjoint sets over labels 0..n-1 in an array of parents. Invariant: a parent is never larger
// than its child, so a root is the smallest label of its set and ascending order visits a parent
// before its children.
#pragma once

#include <cstdint>

namespace rewise::single {

// The root, with path halving (Tarjan & van Leeuwen 1984).
inline std::uint32_t find_root(std::uint32_t* parent, std::uint32_t x) {
  while (parent[x] != x) {
    parent[x] = parent[parent[x]];
    x = parent[x];
  }
  return x;
}

// Joins two sets; the smaller root stays root.
inline void unite(std::uint32_t* parent, std::uint32_t a, std::uint32_t b) {
  a = find_root(parent, a);
  b = find_root(parent, b);
  if (a < b) {
    parent[b] = a;
  } else {
    parent[a] = b;
  }
}

}  // namespace rewise::single
