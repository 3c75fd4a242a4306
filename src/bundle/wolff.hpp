// Wolff cluster updates of a bundle (Wolff 1989): in every replica one cluster is grown from its
// seed site over bonds drawn with probability 1 - exp(-2 beta) and flipped. One draw per undirected
// bond and step, shared by all replicas bit by bit (rules.hpp), so a cluster does not depend on the
// order in which it is found, and two forms of the update give the same bits:
//
//   sparse  one replica at a time, a stack of sites, draws read lazily. The replicas' bits are
//   first
//           transposed into planes (one bit per site, 1/32 of the bundle's memory, so that a plane
//           stays in cache), all updates of a cycle run on each plane, then planes become words
//           again. Cost: about 10 ns per flipped site plus 1 ns per site and bundle for the planes.
//   dense   all 32 replicas at once: bond masks for the whole lattice, then reached sets grown to
//           their fixed point row by row. Cost: about 5 ns per site and update for 32 replicas.
//
// Sparse wins where clusters are small (at and above Tc on rewired lattices), dense below Tc.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/bundle/layout.hpp"
#include "src/bundle/rules.hpp"

namespace rewise::bundle {

// A neighbour as the sparse form reads it.
struct Link {
  Site site;
  std::uint32_t bond;
};

// What growth needs to know of a graph. Special sites (modified cells and those at the lattice's
// periodic boundary) have their neighbours listed; of all others they are site +- stride.
struct WolffGeometry {
  WolffGeometry(const Graph& graph, const Layout& layout);

  const Layout& layout;
  Lattice lattice;
  std::uint32_t sites = 0;
  std::uint32_t plane_words = 0;              // 32-bit words per plane, padded to kGuard
  std::vector<std::uint32_t> special;         // [plane_words] bit per site
  std::vector<std::uint32_t> special_before;  // [plane_words] special sites in earlier words
  std::vector<std::uint64_t> offset;          // [special + 1]
  std::vector<Link> link;
};

// Scratch of one thread.
struct WolffStack {
  explicit WolffStack(std::uint64_t sites) : site(new std::uint32_t[sites + 2 * kGuard]) {}
  std::unique_ptr<std::uint32_t[]> site;  // uninitialised: pages are used as clusters need them
};

// Words [32 first, 32 last) of sites to planes and back; planes[r * plane_words + w].
void words_to_planes(const WolffGeometry& geometry, const std::uint32_t* spins, std::uint32_t first,
                     std::uint32_t last, std::uint32_t* planes);
void planes_to_words(const WolffGeometry& geometry, const std::uint32_t* planes,
                     std::uint32_t first, std::uint32_t last, std::uint32_t* spins);

// Grows and flips one cluster in one replica's plane; returns its size.
std::uint64_t wolff_sparse(const WolffGeometry& geometry, const Address& at, Threshold bond,
                           unsigned replica, std::uint32_t* plane, WolffStack& stack);

}  // namespace rewise::bundle
