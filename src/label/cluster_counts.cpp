#include "src/label/cluster_counts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rewise {

ClusterCounter::ClusterCounter(const Lattice& lattice, std::uint64_t sites)
    : labeller_(LabelMethod::fast, lattice, sites), label_(sites), size_(sites) {}

void ClusterCounter::take_closing_bonds(BondConfiguration& configuration) {
  closing_.clear();
  for (int k = 0; k < configuration.lattice.dim; ++k) {
    const auto u = static_cast<std::size_t>(k);
    for_each_plane_bond(configuration, k, configuration.lattice.extent[u] - 1, [&](Site a, Site b) {
      closing_.push_back({a, b, k});
    });
    auto& mask = configuration.bonds[u];
    for (const Closing& bond : closing_) {
      if (bond.direction == k) mask[bond.a / 64] &= ~(std::uint64_t{1} << bond.a % 64);
    }
  }
}

ClusterCounts ClusterCounter::count(BondConfiguration& configuration) {
  closing_.clear();
  if (configuration.extra.empty()) take_closing_bonds(configuration);
  labeller_.run(configuration, label_);
  std::fill(size_.begin(), size_.end(), 0u);
  for (const Site label : label_) {
    if (label != kNoLabel) ++size_[label];
  }
  ClusterCounts counts;
  join_closing(counts);
  for (const std::uint64_t n : size_) {
    if (n == 0) continue;
    counts.sites += n;
    ++counts.clusters;
    counts.largest = std::max(counts.largest, n);
  }
  return counts;
}

std::uint32_t ClusterCounter::node_of(Site label) const {
  const auto found = std::lower_bound(node_label_.begin(), node_label_.end(), label);
  return static_cast<std::uint32_t>(found - node_label_.begin());
}

std::uint32_t ClusterCounter::root(std::uint32_t node, Turns& turns) const {
  for (; parent_[node] != node; node = parent_[node]) {
    for (std::size_t k = 0; k < kMaxDim; ++k) turns[k] += turns_[node][k];
  }
  return node;
}

// The root's label holds the size of joined clusters, which also serves to balance the trees.
void ClusterCounter::join_closing(ClusterCounts& counts) {
  node_label_.clear();
  for (Closing& bond : closing_) {
    bond.a = label_[bond.a];
    bond.b = label_[bond.b];
    node_label_.insert(node_label_.end(), {bond.a, bond.b});
  }
  std::sort(node_label_.begin(), node_label_.end());
  node_label_.erase(std::unique(node_label_.begin(), node_label_.end()), node_label_.end());
  parent_.resize(node_label_.size());
  std::iota(parent_.begin(), parent_.end(), 0u);
  turns_.assign(node_label_.size(), Turns{});
  for (const Closing& bond : closing_) {
    const auto direction = static_cast<std::size_t>(bond.direction);
    Turns from_a{}, from_b{};
    std::uint32_t a = root(node_of(bond.a), from_a), b = root(node_of(bond.b), from_b);
    ++from_a[direction];  // b lies one turn behind a
    Turns between;
    for (std::size_t k = 0; k < kMaxDim; ++k) between[k] = from_a[k] - from_b[k];
    if (a == b) {
      for (std::size_t k = 0; k < kMaxDim; ++k) counts.wraps[k] |= between[k] != 0;
      continue;
    }
    std::uint32_t &size_a = size_[node_label_[a]], &size_b = size_[node_label_[b]];
    if (size_a >= size_b) {
      parent_[b] = a;
      turns_[b] = between;
      size_a += std::exchange(size_b, 0u);
    } else {
      parent_[a] = b;
      for (std::size_t k = 0; k < kMaxDim; ++k) turns_[a][k] = -between[k];
      size_b += std::exchange(size_a, 0u);
    }
  }
}

std::array<bool, kMaxDim> spanned_directions(const Lattice& lattice, std::span<const Site> label) {
  std::array<bool, kMaxDim> spanned{};
  std::uint64_t stride = 1;
  for (std::size_t k = 0; k < static_cast<std::size_t>(lattice.dim); ++k) {
    const std::uint64_t length = lattice.extent[k];
    std::vector<Site> first, last, both;
    for (std::uint64_t site = 0; site < label.size(); ++site) {
      const std::uint64_t at = site / stride % length;
      if (label[site] == kNoLabel) continue;
      if (at == 0) first.push_back(label[site]);
      if (at + 1 == length) last.push_back(label[site]);
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
