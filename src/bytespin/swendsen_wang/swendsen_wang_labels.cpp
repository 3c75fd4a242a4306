#include "src/bytespin/swendsen_wang/swendsen_wang_labels.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bytespin/swendsen_wang/swendsen_wang_labels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "src/bytespin/swendsen_wang/drawn_bonds-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

void occupy_lattice(const bytespin::Plan& plan, const bytespin::SwendsenWangScratch& scratch,
                    const std::uint8_t* spins, BondConfiguration& occupied) {
  const DrawnBonds bonds{scratch.drawn.data(), spins, plan.bond_slots.dim};
  const RunTable& runs = scratch.runs;
  for (std::uint64_t row = 0; row < runs.rows; ++row) {
    const std::uint64_t first = row * runs.length, last = first + runs.length - 1;
    for (int k = 0; k < plan.lattice.dim; ++k) {
      const std::uint64_t next =
          k == 0 ? first + 1 : plan.lattice.forward(static_cast<Site>(first), k);
      const std::uint64_t end = k == 0 ? runs.length - 1 : runs.length;
      for (std::uint64_t x = 0; x < end; x += 64) {
        const std::uint64_t count = std::min<std::uint64_t>(64, end - x);
        occupied.add_bits(first + x, k, bonds.word(first + x, next + x, k, count, x));
      }
    }
    occupied.add_bits(last, 0, bonds.word(last, first, 0, 1, 0));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise {
HWY_EXPORT(occupy_lattice);
}  // namespace rewise

namespace rewise::bytespin {

void occupy_bonds(const Plan& plan, SwendsenWangScratch& scratch,
                  std::span<const std::uint8_t> spins) {
  BondConfiguration& occupied = scratch.labels->occupied;
  occupied.clear();
  if (plan.lattice.dim > 0) {
    HWY_DYNAMIC_DISPATCH(occupy_lattice)(plan, scratch, spins.data(), occupied);
  }
  for (std::size_t i = 0; i < scratch.rewired.size(); ++i) {
    const auto& r = scratch.rewired[i];
    if (scratch.rewired_on[i] != 0 && spins[r.a] == spins[r.b])
      occupied.extra.push_back({r.a, r.b});
  }
}

ClusterSums flip_by_labels(const Plan& plan, const DrawKey& key,
                           std::span<const std::uint64_t> flip_draws, SiteLabels& labels,
                           std::span<std::uint8_t> spins) {
  std::fill(labels.size.begin(), labels.size.end(), 0u);
  for (std::uint64_t site = 0; site < plan.sites; ++site) {
    const Site root = labels.label[site];
    ++labels.size[root];
    if (plan.potts) {
      if (root == site) {
        labels.state[site] = any_state(slot_draw(key, Stream::bytespin_flip, site), plan.states);
      }
      spins[site] = labels.state[root];
    } else {
      spins[site] ^= static_cast<std::uint8_t>(flip_draws[root / 64] >> root % 64 & 1u);
    }
  }
  return cluster_sums(labels.size);
}

std::uint64_t renew_by_labels(Site seed, std::uint8_t state, const SiteLabels& labels,
                              std::span<std::uint8_t> spins) {
  std::uint64_t size = 0;
  for (std::size_t site = 0; site < spins.size(); ++site) {
    if (labels.label[site] != labels.label[seed]) continue;
    spins[site] = state;
    ++size;
  }
  return size;
}

}  // namespace rewise::bytespin
#endif
