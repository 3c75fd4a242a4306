#include "src/single/swendsen_wang.hpp"

#include <numeric>

#include "src/single/draws.hpp"
#include "src/single/union_find.hpp"

namespace rewise::single {

SwendsenWangScratch::SwendsenWangScratch(const Plan& plan)
    : parent(std::make_unique_for_overwrite<std::uint32_t[]>(plan.sites)),
      size(std::make_unique_for_overwrite<std::uint32_t[]>(plan.sites)),
      drawn((plan.slots + kSlotsPerBlock - 1) / kSlotsPerBlock) {}

ClusterSums swendsen_wang_update(const Plan& plan, const Tables& tables, const DrawKey& key,
                                 SwendsenWangScratch& scratch, std::span<std::uint8_t> spins) {
  draw_masks(key, Stream::single_bond, tables.bond, 0, scratch.drawn.size(), scratch.drawn.data());
  for (const std::uint64_t slot : plan.gone) {
    scratch.drawn[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
  }
  std::uint32_t* parent = scratch.parent.get();
  std::iota(parent, parent + plan.sites, 0u);
  const auto join = [&](std::uint64_t slot, Site a, Site b, bool present) {
    if (present && spins[a] == spins[b]) unite(parent, a, b);
    (void)slot;
  };
  for (std::uint64_t s = 0; s < plan.sites; ++s) {
    const auto site = static_cast<Site>(s);
    for (int k = 0; k < plan.lattice.dim; ++k) {
      const std::uint64_t slot = plan.bond_slots.lattice_slot(site, static_cast<unsigned>(k));
      if (scratch.drawn[slot / 64] >> slot % 64 & 1) {
        join(slot, site, plan.lattice.forward(site, k), true);
      }
    }
  }
  for (const RewiredSlot& r : plan.rewired) {
    join(r.slot, r.a, r.b, happens(slot_draw(key, Stream::single_bond, r.slot), tables.bond));
  }
  ClusterSums sums;
  Wide fourth = 0;
  std::fill_n(scratch.size.get(), plan.sites, 0u);
  for (std::uint64_t s = 0; s < plan.sites; ++s) {
    const auto site = static_cast<Site>(s);
    parent[s] = parent[parent[s]];
    ++scratch.size[parent[s]];
    const Words4 words =
        random_words(key.seed, Stream::single_flip, bit_item(parent[s]), key.who, 0, key.step);
    spins[s] = static_cast<std::uint8_t>(spins[s] ^ bit_of(words, parent[s]));
    (void)site;
  }
  for (std::uint64_t s = 0; s < plan.sites; ++s) {
    const std::uint64_t n = scratch.size[s], square = n * n;
    sums.square += square;
    fourth += Wide{square} * square;
  }
  sums.quartic = 3 * (Wide{sums.square} * sums.square) - 2 * fourth;
  return sums;
}

}  // namespace rewise::single
