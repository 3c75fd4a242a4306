// The site-by-site parts of a Swendsen-Wang update for every labelling method but `fast`: occupied
// bonds as a configuration, a label per site, flips looked up by label.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/bytespin/plan.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang.hpp"
#include "src/label/labeller.hpp"

namespace rewise::bytespin {

struct SiteLabels {
  SiteLabels(const Plan& plan, LabelMethod method, std::uint32_t tile)
      : occupied(plan.lattice, plan.sites),
        labeller(method, plan.lattice, plan.sites, tile),
        label(plan.sites),
        size(plan.sites),
        state(plan.potts ? plan.sites : 0) {}

  BondConfiguration occupied;
  Labeller labeller;
  std::vector<Site> label;          // [sites] smallest site of the cluster
  std::vector<std::uint32_t> size;  // [sites] at its smallest site
  std::vector<std::uint8_t> state;  // [sites] Potts, at its smallest site: the new state
};

// Writes the drawn bonds between equal spins to scratch.labels->occupied.
void occupy_bonds(const Plan& plan, SwendsenWangScratch& scratch,
                  std::span<const std::uint8_t> spins);

// Flips by label and counts sizes. `flip_draws` is for Ising, `key` for Potts.
ClusterSums flip_by_labels(const Plan& plan, const DrawKey& key,
                           std::span<const std::uint64_t> flip_draws, SiteLabels& labels,
                           std::span<std::uint8_t> spins);

// Wolff: the cluster of one site takes a new state. Returns its size.
std::uint64_t renew_by_labels(Site seed, std::uint8_t state, const SiteLabels& labels,
                              std::span<std::uint8_t> spins);

}  // namespace rewise::bytespin
