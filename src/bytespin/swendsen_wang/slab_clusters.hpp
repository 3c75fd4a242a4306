// Swendsen-Wang clusters of a system whose sites lie in slabs with several ranks: each labels its
// own by the fast method (runs of rows) or by `kalentev`, as if it had open ends; bonds out of the
// slab then say which labels are one cluster's. A label is the smallest site of a cluster's part in
// the slab, and a cluster's smallest label its smallest site, which the flip is addressed by.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/base/wide_sum.hpp"
#include "src/bytespin/plan.hpp"
#include "src/label/labeller.hpp"
#include "src/label/run_table.hpp"

namespace rewise::bytespin {

// Labels that a bond between slabs joins; or a label and the smallest of its cluster.
struct LabelPair {
  Site label, other;
  friend auto operator<=>(const LabelPair&, const LabelPair&) = default;
};

// Every label of `edges` with the smallest that these join it to, ascending.
std::vector<LabelPair> unite_labels(std::span<const LabelPair> edges);

class SlabClusters {
 public:
  // Whole planes [first, last) of sites; `planes` of them. `method`: fast or kalentev.
  SlabClusters(const Plan& plan, std::uint64_t first, std::uint64_t last, std::uint32_t planes,
               LabelMethod method);

  // Draws the bonds of a step and labels the clusters of `spins`, [sites of all]: own ones, and
  // those of the plane behind.
  void label(const Tables& tables, const DrawKey& key, const std::uint8_t* spins);
  Site label_of(Site site) const {  // an own one
    return label_[runs_.parent[runs_.run_at(runs_.place(static_cast<Site>(site - first_)))]];
  }
  // Adds the labels that drawn bonds between equal spins join across the slab's end: `behind` are
  // those of the plane behind.
  void join_behind(const std::uint8_t* spins, std::span<const Site> behind,
                   std::vector<LabelPair>& edges) const;

  // Flips every cluster, or gives it a new state; `united` as unite_labels() has it, for all slabs.
  // Sizes of clusters that are there go to `parts`, by their smallest label; of others the sums
  // below are added.
  struct Sums {
    std::uint64_t square = 0;  // sum n^2
    WideSum fourth = 0;        // sum n^4
  };
  Sums flip(const DrawKey& key, std::span<const LabelPair> united, std::uint8_t* spins,
            std::vector<LabelPair>& parts);

 private:
  void label_by_method(const std::uint8_t* spins);

  const Plan& plan_;
  const std::uint64_t first_, last_, plane_;
  const Lattice slab_;
  RunTable runs_;                           // parent: of a run, later its root
  std::unique_ptr<std::uint64_t[]> drawn_;  // [slots / 64 + 8], where own sites' bonds are
  std::vector<std::uint64_t> flip_bits_;    // a random bit per site, from first_ / 128 * 128 on
  std::unique_ptr<Site[]> label_;           // [runs] of a root
  std::unique_ptr<std::uint32_t[]> size_;   // [runs] of a root
  std::unique_ptr<std::uint8_t[]> flip_;    // [runs] of a root: whether it flips, or its new state
  struct Joined {
    std::uint64_t slot;
    Site a, b;
    std::uint64_t at_a, at_b;  // RunTable::place()
  };
  std::vector<Joined> rewired_;  // with both ends here
  std::vector<std::pair<std::uint64_t, std::uint64_t>> joins_;
  // Of kalentev: its bonds, and labels of sites counted from the slab's first.
  struct Labelling {
    BondConfiguration occupied;
    Labeller labeller;
    std::vector<Site> label;
  };
  std::unique_ptr<Labelling> labelling_;
};

}  // namespace rewise::bytespin
