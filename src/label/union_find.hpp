// Disjoint sets over labels 0..n-1 in an array of parents. Invariant: a parent is never larger than
// its child, so a root is the smallest label of its set and a pass in ascending order meets every
// parent before its children.
#pragma once

#include <cstdint>

namespace rewise {

// Joins the sets of a and b by Rem's algorithm with splicing (Dijkstra 1976; Patwary, Blair & Manne
// 2010 found it the fastest): climbs from the larger parent and hangs what it leaves lower.
inline void unite(std::uint32_t* parent, std::uint32_t a, std::uint32_t b) {
  std::uint32_t pa = parent[a], pb = parent[b];
  while (pa != pb) {
    if (pa < pb) {
      parent[b] = pa;
      if (b == pb) return;
      b = pb;
      pb = parent[b];
    } else {
      parent[a] = pb;
      if (a == pa) return;
      a = pa;
      pa = parent[a];
    }
  }
}

}  // namespace rewise
