#include "src/bytespin/wolff/wolff.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bytespin/wolff/wolff.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "src/bytespin/draws-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

using bytespin::DrawKey;
using bytespin::kSlotsPerBlock;
using bytespin::Plan;
using bytespin::WolffScratch;

// Draws blocks of bonds. Separate from Growth, so that the compiler keeps the members of Growth in
// registers.
class BlockSource {
 public:
  BlockSource(const DrawKey& key, Threshold bond)
      : draws_(key, Stream::bytespin_bond), bond_(bond) {}

  HWY_NOINLINE std::uint64_t mask(std::uint64_t block) { return draws_.mask(block, bond_); }

 private:
  BlockDraws draws_;
  Threshold bond_;
};

// A growing cluster on a lattice in D dimensions, or on an imported graph (D = 0). A site gets its
// new spin when it enters the queue: the opposite one or, with kAnyByte, any value (such as a
// marker). A neighbour with the seed's old spin is therefore not in the cluster yet.
template <int D, bool kAnyByte>
class Growth {
 public:
  Growth(const Plan& plan, BlockSource& source, StopPoll& poll, WolffScratch& scratch,
         std::uint8_t* spins, std::uint64_t place)
      : plan_(plan),
        source_(source),
        poll_(poll),
        check_interval_(std::min<std::uint64_t>(1 << 12, poll.grain())),
        blocks_(scratch.blocks.data()),
        epoch_(scratch.epoch),
        groups_(plan.groups.data()),
        offsets_(plan.graph.offsets().data()),
        entries_(plan.entries.data()),
        queue_(scratch.queue.get() + place),
        end_(queue_),
        spins_(spins) {
    std::uint32_t stride = 1;
    for (std::uint32_t k = 0; k < D; ++k) {
      stride_[k] = stride;
      stride *= plan.lattice.extent[k];
    }
  }

  // kWatched: checks for a stop request within an update too, because a large cluster takes long.
  template <bool kWatched>
  HWY_INLINE std::uint64_t run(Site seed, std::uint8_t state) {
    old_ = spins_[seed];
    *end_++ = seed;
    spins_[seed] = state;
    change_ = static_cast<std::uint8_t>(old_ ^ state);
    const Site* look = queue_ + check_interval_;
    for (const Site* head = queue_; head != end_; ++head) {
      visit(*head);
      if (kWatched && HWY_UNLIKELY(head == look)) {
        look += check_interval_;
        if (poll_.must_stop(check_interval_)) return take_back();
      }
    }
    return static_cast<std::uint64_t>(end_ - queue_);
  }

 private:
  HWY_NOINLINE std::uint64_t take_back() {
    for (const Site* site = queue_; site != end_; ++site) spins_[*site] = old_;
    return 0;
  }

  HWY_INLINE void visit(Site site) {
    const bytespin::SiteGroup& group = groups_[site >> 5];
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

  HWY_INLINE void irregular_site(Site site, const bytespin::SiteGroup& group, std::uint32_t bit) {
    if ((group.modified & bit) == 0) {
      for (std::uint32_t k = 0; k < D; ++k) {
        const Site back = plan_.lattice.backward(site, static_cast<int>(k));
        try_bond(plan_.lattice.forward(site, static_cast<int>(k)), slot(site, k));
        try_bond(back, slot(back, k));
      }
      return;
    }
    const std::uint32_t index = group.index(bit);
    const std::uint64_t end = offsets_[index + 1];
    for (std::uint64_t k = offsets_[index]; k < end; ++k) {
      try_bond(entries_[k].to, entries_[k].slot());
    }
  }

  static HWY_INLINE std::uint64_t slot(Site site, std::uint32_t direction) {
    return (std::uint64_t{site >> 5} * D + direction) << 5 | (site & 31u);
  }

  // Branch-free, because the outcome is unpredictable.
  HWY_INLINE void try_bond(Site neighbour, std::uint64_t slot) {
    const std::uint8_t spin = spins_[neighbour];
    const auto joins = static_cast<unsigned>((spin == old_) & drawn(slot));
    *end_ = neighbour;
    end_ += joins;
    spins_[neighbour] =
        static_cast<std::uint8_t>(spin ^ (kAnyByte ? change_ & (0u - joins) : joins));
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
  StopPoll& poll_;
  const std::uint64_t check_interval_;  // sites between two checks of the poll
  WolffScratch::Block* const blocks_;
  const std::uint64_t epoch_;
  const bytespin::SiteGroup* const groups_;
  const std::uint64_t* const offsets_;
  const bytespin::Entry* const entries_;
  Site* const queue_;
  Site* end_;
  std::uint8_t* const spins_;
  std::uint8_t old_ = 0, change_ = 0;
  std::uint32_t stride_[kMaxDim] = {};
};

template <int D>
std::uint64_t grow_in(const Plan& plan, BlockSource& source, StopPoll& poll, WolffScratch& scratch,
                      std::uint8_t* spins, const bytespin::GrowthStart& start) {
  const auto run = [&](auto growth) HWY_ATTR {
    return poll.active() && plan.sites > poll.grain()
               ? growth.template run<true>(start.seed, start.state)
               : growth.template run<false>(start.seed, start.state);
  };
  return start.any_byte ? run(Growth<D, true>(plan, source, poll, scratch, spins, start.place))
                        : run(Growth<D, false>(plan, source, poll, scratch, spins, start.place));
}

std::uint64_t grow(const Plan& plan, Threshold bond, const DrawKey& key, StopPoll& poll,
                   WolffScratch& scratch, std::uint8_t* spins, const bytespin::GrowthStart& start) {
  BlockSource source(key, bond);
  return with_dim(plan.lattice.dim, [&]<int D>() HWY_ATTR {
    return grow_in<D>(plan, source, poll, scratch, spins, start);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise {
HWY_EXPORT(grow);
}  // namespace rewise

namespace rewise::bytespin {
namespace {

constexpr std::size_t kQueueSlack = 16;  // try_bond() writes one past the end

}  // namespace

WolffScratch::WolffScratch(const Plan& plan)
    : blocks((plan.slots + kSlotsPerBlock - 1) / kSlotsPerBlock + 1),
      queue(std::make_unique_for_overwrite<Site[]>(plan.sites + kQueueSlack)) {}

std::uint64_t grow_cluster(const Plan& plan, const Tables& tables, const DrawKey& key,
                           StopPoll& poll, WolffScratch& scratch, std::span<std::uint8_t> spins,
                           const GrowthStart& start) {
  return HWY_DYNAMIC_DISPATCH(grow)(plan, tables.bond, key, poll, scratch, spins.data(), start);
}

std::uint64_t wolff_update(const Plan& plan, const Tables& tables, const DrawKey& key,
                           StopPoll& poll, WolffScratch& scratch, std::span<std::uint8_t> spins) {
  const Words4 words = random_words(key.seed, Stream::bytespin_seed, 0, key.replica, 0, key.step);
  const Site seed = wolff_seed(words, plan.sites);
  const std::uint8_t state = wolff_state(words, spins[seed], plan.states);
  scratch.begin_update();
  return grow_cluster(plan, tables, key, poll, scratch, spins, {seed, state, plan.potts, 0});
}

}  // namespace rewise::bytespin
#endif
