#include <algorithm>
#include <utility>

#include "src/label/papers/cpu.hpp"

namespace rewise::papers {
namespace {

// Calls f(a, b) for the occupied bonds that wrap around the lattice, and for those outside of the
// lattice (extra).
template <class F>
void for_each_far_bond(const BondConfiguration& configuration, F&& f) {
  const Lattice& lattice = configuration.lattice;
  for (int k = 0; k < lattice.dim; ++k) {
    for_each_plane_bond(configuration, k, lattice.extent[static_cast<std::size_t>(k)] - 1, f);
  }
  for (const SitePair& bond : configuration.extra) f(bond.a, bond.b);
}

// Union-find trees whose nodes are tile roots. The parent of any other site is the root in its
// tile.
struct Trees {
  std::span<Site> parent;
  std::span<std::uint32_t> size;

  Site root(Site site) const {
    while (parent[site] != site) site = parent[site];
    return site;
  }
  void unite(Site a, Site b) const {
    a = root(a);
    b = root(b);
    if (a == b) return;
    if (size[a] < size[b]) std::swap(a, b);
    parent[b] = a;
    size[a] += size[b];
  }
};

}  // namespace

std::uint64_t relax_tiles(const BondConfiguration& configuration, std::uint32_t edge,
                          std::span<Site> label, std::vector<SitePair>& roots) {
  const Lattice& lattice = configuration.lattice;
  roots.clear();
  const auto prepare = [&](Site a, Site b) {
    if (label[a] != label[b]) roots.push_back({label[a], label[b]});
  };
  for (int k = 0; k < lattice.dim; ++k) {
    const std::uint32_t length = lattice.extent[static_cast<std::size_t>(k)];
    for (std::uint64_t c = edge; c < length; c += edge) {
      for_each_plane_bond(configuration, k, static_cast<std::uint32_t>(c - 1), prepare);
    }
  }
  for_each_far_bond(configuration, prepare);
  std::uint64_t passes = 0;
  for (bool changed = true; changed; ++passes) {
    changed = false;
    for (const SitePair& pair : roots) {
      Site &a = label[pair.a], &b = label[pair.b];
      changed |= a != b;
      a = b = std::min(a, b);
    }
  }
  // Now the label of each tile root is the smallest tile root of its component, which is its own
  // label. One lookup is therefore enough for every site.
  for (std::uint64_t site = 0; site < configuration.sites; ++site) {
    label[site] = label[label[site]];
  }
  return passes;
}

void sew_tiles(const BondConfiguration& configuration, std::uint32_t edge, std::span<Site> label,
               std::span<std::uint32_t> size) {
  const Lattice& lattice = configuration.lattice;
  // As in the paper, union by size counts tile roots, not the sites below them.
  std::fill(size.begin(), size.end(), 1u);
  const Trees trees{label, size};
  const auto insert = [&](Site a, Site b) { trees.unite(a, b); };
  const std::uint32_t longest = *std::max_element(lattice.extent.begin(), lattice.extent.end());
  for (std::uint64_t tile = edge; tile < longest; tile *= 2) {
    for (int k = lattice.dim - 1; k >= 0; --k) {
      const std::uint32_t length = lattice.extent[static_cast<std::size_t>(k)];
      for (std::uint64_t plane = tile; plane < length; plane += 2 * tile) {
        for_each_plane_bond(configuration, k, static_cast<std::uint32_t>(plane - 1), insert);
      }
    }
  }
  for_each_far_bond(configuration, insert);
  // The label must be the smallest site of the component, but the root may be another site. `size`
  // is reused for the smallest site of each root.
  for (Site& site : label) site = trees.root(site);
  std::fill(size.begin(), size.end(), ~0u);
  for (std::uint64_t site = 0; site < configuration.sites; ++site) {
    std::uint32_t& smallest = size[label[site]];
    smallest = std::min(smallest, static_cast<std::uint32_t>(site));
    label[site] = smallest;
  }
}

}  // namespace rewise::papers
