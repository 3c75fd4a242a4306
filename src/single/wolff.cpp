#include "src/single/wolff.hpp"

#include <algorithm>
#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/single/wolff.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "src/single/draws-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

using single::DrawKey;
using single::kSlotsPerBlock;
using single::Plan;
using single::WolffScratch;

// Draws blocks of bonds. Apart from Growth, whose members then stay in registers.
class BlockSource {
 public:
  BlockSource(const DrawKey& key, Threshold bond) : draws_(key, Stream::single_bond), bond_(bond) {}

  HWY_NOINLINE std::uint64_t mask(std::uint64_t block) { return draws_.mask(block, bond_); }

 private:
  BlockDraws draws_;
  Threshold bond_;
};

// One cluster being grown. A site is flipped when it is put on the stack, so that "has the seed's
// old spin" means "not in the cluster yet".
template <int D>
class Growth {
 public:
  Growth(const Plan& plan, BlockSource& source, WolffScratch& scratch, std::uint8_t* spins)
      : plan_(plan),
        source_(source),
        blocks_(scratch.blocks.data()),
        epoch_(++scratch.epoch),
        groups_(plan.groups.data()),
        offsets_(plan.graph.offsets().data()),
        entries_(plan.entries.data()),
        stack_(scratch.stack.get()),
        top_(stack_),
        spins_(spins) {
    std::uint32_t stride = 1;
    for (std::uint32_t k = 0; k < D; ++k) {
      stride_[k] = stride;
      stride *= plan.lattice.extent[k];
    }
  }

  HWY_INLINE std::uint64_t run(Site seed) {
    old_ = spins_[seed];
    *top_++ = seed;
    spins_[seed] = static_cast<std::uint8_t>(old_ ^ 1u);
    for (const Site* head = stack_; head != top_; ++head) visit(*head);
    return static_cast<std::uint64_t>(top_ - stack_);
  }

 private:
  HWY_INLINE void visit(Site site) {
    const single::SiteGroup& group = groups_[site >> 5];
    const std::uint32_t bit = 1u << (site & 31u);
    if (HWY_UNLIKELY((group.modified | group.edge) & bit)) {
      irregular_site(site, group, bit);
    } else {
      regular_site(site);
    }
  }

  HWY_INLINE void regular_site(Site site) {
#pragma GCC unroll 4
    for (std::uint32_t k = 0; k < D; ++k) {
      const Site forward = site + stride_[k], back = site - stride_[k];
      try_bond(forward, slot(site, k));
      try_bond(back, slot(back, k));
    }
  }

  HWY_INLINE void irregular_site(Site site, const single::SiteGroup& group, std::uint32_t bit) {
    if ((group.modified & bit) == 0) {
      for (std::uint32_t k = 0; k < D; ++k) {
        const Site back = plan_.lattice.backward(site, static_cast<int>(k));
        try_bond(plan_.lattice.forward(site, static_cast<int>(k)), slot(site, k));
        try_bond(back, slot(back, k));
      }
      return;
    }
    const auto index =
        group.before + static_cast<std::uint32_t>(std::popcount(group.modified & (bit - 1)));
    const std::uint64_t end = offsets_[index + 1];
    for (std::uint64_t k = offsets_[index]; k < end; ++k) {
      try_bond(entries_[k].to, entries_[k].slot());
    }
  }

  static HWY_INLINE std::uint64_t slot(Site site, std::uint32_t direction) {
    return (std::uint64_t{site >> 5} * D + direction) << 5 | (site & 31u);
  }

  // No branch on the outcome, which is a coin toss.
  HWY_INLINE void try_bond(Site neighbour, std::uint64_t slot) {
    const std::uint8_t spin = spins_[neighbour];
    const auto joins = static_cast<std::uint8_t>((spin == old_) & drawn(slot));
    *top_ = neighbour;
    top_ += joins;
    spins_[neighbour] = static_cast<std::uint8_t>(spin ^ joins);
  }

  HWY_INLINE std::uint8_t drawn(std::uint64_t slot) {
    WolffScratch::Block& block = blocks_[slot / kSlotsPerBlock];
    if (HWY_UNLIKELY(block.epoch != epoch_)) {
      block = {source_.mask(slot / kSlotsPerBlock), epoch_};
    }
    return static_cast<std::uint8_t>(block.drawn >> (slot % kSlotsPerBlock) & 1u);
  }

  const Plan& plan_;
  BlockSource& source_;
  WolffScratch::Block* const blocks_;
  const std::uint64_t epoch_;
  const single::SiteGroup* const groups_;
  const std::uint64_t* const offsets_;
  const single::Entry* const entries_;
  Site* const stack_;
  Site* top_;
  std::uint8_t* const spins_;
  std::uint8_t old_ = 0;
  std::uint32_t stride_[kMaxDim] = {};
};

std::uint64_t grow(const Plan& plan, Threshold bond, const DrawKey& key, WolffScratch& scratch,
                   std::uint8_t* spins, Site seed) {
  BlockSource source(key, bond);
  switch (plan.lattice.dim) {
    case 1:
      return Growth<1>(plan, source, scratch, spins).run(seed);
    case 2:
      return Growth<2>(plan, source, scratch, spins).run(seed);
    case 3:
      return Growth<3>(plan, source, scratch, spins).run(seed);
    case 4:
      return Growth<4>(plan, source, scratch, spins).run(seed);
    default:
      return Growth<0>(plan, source, scratch, spins).run(seed);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise {
HWY_EXPORT(grow);
}  // namespace rewise

namespace rewise::single {
namespace {

constexpr std::size_t kStackSlack = 16;  // try_bond() writes one past the top

}  // namespace

WolffScratch::WolffScratch(const Plan& plan)
    : blocks((plan.slots + kSlotsPerBlock - 1) / kSlotsPerBlock + 1),
      stack(std::make_unique_for_overwrite<Site[]>(plan.sites + kStackSlack)) {}

std::uint64_t wolff_update(const Plan& plan, const Tables& tables, const DrawKey& key,
                           WolffScratch& scratch, std::span<std::uint8_t> spins) {
  const Words4 words = random_words(key.seed, Stream::single_seed, 0, key.who, 0, key.step);
  return HWY_DYNAMIC_DISPATCH(rewise::grow)(plan, tables.bond, key, scratch, spins.data(),
                                            wolff_seed(words, plan.sites));
}

}  // namespace rewise::single
#endif
