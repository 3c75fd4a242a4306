#include "src/label/spanning.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "src/label/labeller.hpp"

namespace rewise {
namespace {

using Winding = std::array<std::int32_t, kMaxDim>;

struct ClosingBond {
  Site a, b;
  std::size_t direction;
};

// Moves the closing bonds from the configuration to a list.
std::vector<ClosingBond> take_closing_bonds(BondConfiguration& configuration) {
  std::vector<ClosingBond> closing;
  for (int k = 0; k < configuration.lattice.dim; ++k) {
    const auto direction = static_cast<std::size_t>(k);
    auto& mask = configuration.bonds[direction];
    for_each_plane_bond(configuration, k, configuration.lattice.extent[direction] - 1,
                        [&](Site a, Site b) {
                          closing.push_back({a, b, direction});
                        });
    for (const ClosingBond& bond : closing) {
      if (bond.direction == direction) mask[bond.a / 64] &= ~(std::uint64_t{1} << bond.a % 64);
    }
  }
  return closing;
}

// Union-find over clusters; `winding` is relative to the parent.
struct WindingForest {
  std::vector<std::uint32_t> parent, size;
  std::vector<Winding> winding;

  explicit WindingForest(std::size_t nodes) : parent(nodes), size(nodes, 1), winding(nodes) {
    std::iota(parent.begin(), parent.end(), 0u);
  }
  // Returns the root of a node and adds the windings on the way.
  std::uint32_t root(std::uint32_t node, Winding& sum) const {
    for (; parent[node] != node; node = parent[node]) {
      for (std::size_t k = 0; k < kMaxDim; ++k) sum[k] += winding[node][k];
    }
    return node;
  }
};

}  // namespace

std::array<bool, kMaxDim> wrapped_directions(BondConfiguration configuration) {
  const std::vector<ClosingBond> closing = take_closing_bonds(configuration);
  const std::vector<Site> label = label_components(configuration);
  std::vector<Site> clusters;  // that closing bonds touch
  for (const ClosingBond& bond : closing) {
    clusters.insert(clusters.end(), {label[bond.a], label[bond.b]});
  }
  std::sort(clusters.begin(), clusters.end());
  clusters.erase(std::unique(clusters.begin(), clusters.end()), clusters.end());
  const auto node_of = [&](Site site) {
    const auto found = std::lower_bound(clusters.begin(), clusters.end(), label[site]);
    return static_cast<std::uint32_t>(found - clusters.begin());
  };
  WindingForest forest(clusters.size());
  std::array<bool, kMaxDim> wraps{};
  for (const ClosingBond& bond : closing) {
    Winding from_a{}, from_b{}, between{};
    std::uint32_t a = forest.root(node_of(bond.a), from_a),
                  b = forest.root(node_of(bond.b), from_b);
    ++from_a[bond.direction];
    const bool swap = forest.size[a] < forest.size[b];
    for (std::size_t k = 0; k < kMaxDim; ++k) {
      between[k] = swap ? from_b[k] - from_a[k] : from_a[k] - from_b[k];
      wraps[k] |= a == b && between[k] != 0;
    }
    if (a == b) continue;
    if (swap) std::swap(a, b);
    forest.parent[b] = a;
    forest.winding[b] = between;
    forest.size[a] += forest.size[b];
  }
  return wraps;
}

std::array<bool, kMaxDim> spanned_directions(const Lattice& lattice, std::span<const Site> label) {
  std::array<bool, kMaxDim> spanned{};
  std::uint64_t stride = 1;
  for (std::size_t k = 0; k < static_cast<std::size_t>(lattice.dim); ++k) {
    const std::uint64_t length = lattice.extent[k];
    std::vector<Site> first, last, both;
    for (std::uint64_t site = 0; site < label.size(); ++site) {
      const std::uint64_t x = site / stride % length;
      if (label[site] == kNoLabel) continue;
      if (x == 0) first.push_back(label[site]);
      if (x + 1 == length) last.push_back(label[site]);
    }
    std::sort(first.begin(), first.end());
    std::sort(last.begin(), last.end());
    std::set_intersection(first.begin(), first.end(), last.begin(), last.end(),
                          std::back_inserter(both));
    spanned[k] = !both.empty();
    stride *= length;
  }
  return spanned;
}

}  // namespace rewise
