// Number and sizes of the clusters of a configuration, and whether one of them wraps around the
// torus.
//
// A cluster wraps around direction k if a closed path in it winds around k, with any winding in the
// other directions (Newman & Ziff, PRE 64, 016706 (2001); a diagonal path winds around both). The
// lattice is labelled without its closing bonds. Each closing bond then joins two clusters with a
// relative winding of one. If they are already joined with another relative winding, the cluster
// wraps (Machta et al., PRE 54, 1332 (1996)). Cost: one labelling, plus the surface.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "src/label/labeller.hpp"

namespace rewise {

struct ClusterCounts {
  std::uint64_t sites = 0;     // present sites
  std::uint64_t clusters = 0;  // including isolated sites
  std::uint64_t largest = 0;
  std::array<bool, kMaxDim>
      wraps{};  // [dim]; all false if there are bonds outside of the lattice (extra)
};

// Work space for the configurations on one lattice.
class ClusterCounter {
 public:
  ClusterCounter(const Lattice& lattice, std::uint64_t sites);

  // Removes the closing bonds from the configuration.
  ClusterCounts count(BondConfiguration& configuration);

 private:
  using Turns = std::array<std::int32_t, kMaxDim>;
  struct Closing {
    Site a, b;  // labels
    int direction;
  };
  void take_closing_bonds(BondConfiguration& configuration);
  void join_closing(ClusterCounts& counts);
  std::uint32_t node_of(Site label) const;
  // The root of a node; adds the turns between them.
  std::uint32_t root(std::uint32_t node, Turns& turns) const;

  Labeller labeller_;
  std::vector<Site> label_;
  std::vector<std::uint32_t> size_;  // [sites] at the cluster's label
  std::vector<Closing> closing_;
  std::vector<Site> node_label_;       // [nodes] labels that closing bonds touch, ascending
  std::vector<std::uint32_t> parent_;  // [nodes]
  std::vector<Turns> turns_;           // [nodes] relative to the parent
};

// For open boundaries: whether a component connects the first and last plane of a direction.
std::array<bool, kMaxDim> spanned_directions(const Lattice& lattice, std::span<const Site> label);

}  // namespace rewise
