// Swendsen-Wang clusters of a replica that ranks share in slabs. Each rank labels its slab
// (run_labels.hpp); then bonds out of the slab join labels of different slabs. A label is the
// smallest site of the cluster's part in the slab. The smallest label of a cluster is its smallest
// site, which addresses the flip.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/wide_sum.hpp"
#include "src/bytespin/graph_tables.hpp"
#include "src/bytespin/swendsen_wang/run_labels.hpp"

namespace rewise::bytespin {

// Two labels that a bond between slabs joins, or a label and the smallest label of its cluster.
struct LabelPair {
  Site label, other;
  friend auto operator<=>(const LabelPair&, const LabelPair&) = default;
};

// Returns every label of `edges` with the smallest label joined to it, ascending.
std::vector<LabelPair> unite_labels(std::span<const LabelPair> edges);

class SlabClusters {
 public:
  // The sites of the slab, whole planes of `plane` sites. `method`: fast or kalentev.
  SlabClusters(const GraphTables& tables, IndexRange slab, std::uint64_t plane, LabelMethod method);

  // Draws the bonds of a step and labels the clusters of `spins`, [sites of all]. Reads the slab's
  // spins and those of the next slab's first plane.
  void label(const Thresholds& thresholds, const DrawKey& key, const std::uint8_t* spins);
  Site label_of(Site site) const {  // of a site of this slab
    return label_[labels_.runs.parent[run_of(site)]];
  }
  // Adds the pairs of labels that occupied bonds join from the last plane to the next slab.
  // `next_labels`: labels of the first plane of the next slab.
  void join_to_next_slab(const std::uint8_t* spins, std::span<const Site> next_labels,
                         std::vector<LabelPair>& edges) const;

  // Flips every cluster, or gives it a new state. `united`: as unite_labels() returns it, for all
  // slabs. Sizes of clusters in `united` are added to `parts`, by their smallest label; those of
  // other clusters to the sums below.
  struct Sums {
    std::uint64_t square = 0;  // sum n^2
    WideSum fourth = 0;        // sum n^4
  };
  Sums flip(const DrawKey& key, std::span<const LabelPair> united, std::uint8_t* spins,
            std::vector<LabelPair>& parts);

 private:
  std::uint32_t run_of(Site site) const {
    return labels_.runs.run_at(labels_.runs.place(static_cast<Site>(site - first_)));
  }

  const GraphTables& tables_;
  const std::uint64_t first_, last_, plane_;
  RunLabels labels_;
  std::vector<std::uint64_t> flip_bits_;   // a random bit per site, starting at first_ / 128 * 128
  std::unique_ptr<Site[]> label_;          // [runs] of a root
  std::unique_ptr<std::uint32_t[]> size_;  // [runs] of a root
  std::unique_ptr<std::uint8_t[]> flip_;   // [runs] of a root: whether it flips, or its new state
};

}  // namespace rewise::bytespin
