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
using bytespin::GraphTables;
using bytespin::kDrawsPerBlock;
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
// new spin, or a marker, when it enters the queue. A neighbour with the seed's old spin is
// therefore not in the cluster yet.
template <int D>
class Growth {
 public:
  Growth(const GraphTables& tables, BlockSource& source, StopPoll& poll, WolffScratch& scratch,
         std::uint8_t* spins, std::uint64_t place)
      : tables_(tables),
        source_(source),
        poll_(poll),
        check_interval_(std::min<std::uint64_t>(1 << 12, poll.grain())),
        blocks_(scratch.blocks.data()),
        epoch_(scratch.epoch),
        site_masks_(tables.site_masks.data()),
        offsets_(tables.graph.offsets().data()),
        entries_(tables.entries.data()),
        queue_(scratch.queue.get() + place),
        end_(queue_),
        spins_(spins) {
    std::copy_n(tables.stride, D, stride_);
  }

  // Checks for a stop request within an update too, because a large cluster takes long.
  HWY_INLINE std::uint64_t run(Site seed, std::uint8_t state) {
    old_ = spins_[seed];
    *end_++ = seed;
    spins_[seed] = state;
    change_ = static_cast<std::uint8_t>(old_ ^ state);
    const Site* look = queue_ + check_interval_;
    for (const Site* head = queue_; head != end_; ++head) {
      visit(*head);
      if (HWY_UNLIKELY(head == look)) {
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
    const bytespin::SiteMasks& masks = site_masks_[site >> 5];
    const std::uint32_t bit = 1u << (site & 31u);
    if (HWY_UNLIKELY((masks.modified | masks.edge) & bit)) {
      irregular_site(site, masks, bit);
    } else {
      regular_site(site);
    }
  }

  HWY_INLINE void regular_site(Site site) {
#pragma GCC unroll 4
    for (std::uint32_t k = 0; k < D; ++k) {
      const Site forward = site + stride_[k], back = site - stride_[k];
      try_bond(forward, draw_index(site, k));
      try_bond(back, draw_index(back, k));
    }
  }

  HWY_INLINE void irregular_site(Site site, const bytespin::SiteMasks& masks, std::uint32_t bit) {
    if ((masks.modified & bit) == 0) {
      for (std::uint32_t k = 0; k < D; ++k) {
        const Site back = tables_.lattice.backward(site, static_cast<int>(k));
        try_bond(tables_.lattice.forward(site, static_cast<int>(k)), draw_index(site, k));
        try_bond(back, draw_index(back, k));
      }
      return;
    }
    const std::uint32_t index = masks.index(bit);
    const std::uint64_t end = offsets_[index + 1];
    for (std::uint64_t k = offsets_[index]; k < end; ++k) {
      try_bond(entries_[k].to, entries_[k].draw_index());
    }
  }

  static HWY_INLINE std::uint64_t draw_index(Site site, std::uint32_t direction) {
    return (std::uint64_t{site >> 5} * D + direction) << 5 | (site & 31u);
  }

  // Branch-free, because the outcome is unpredictable.
  HWY_INLINE void try_bond(Site neighbour, std::uint64_t draw_index) {
    const std::uint8_t spin = spins_[neighbour];
    const auto joins = static_cast<unsigned>((spin == old_) & drawn(draw_index));
    *end_ = neighbour;
    end_ += joins;
    spins_[neighbour] = static_cast<std::uint8_t>(spin ^ (change_ & (0u - joins)));
  }

  HWY_INLINE std::uint8_t drawn(std::uint64_t draw_index) {
    WolffScratch::Block& block = blocks_[draw_index / kDrawsPerBlock];
    if (HWY_UNLIKELY(block.epoch != epoch_)) {
      block = {source_.mask(draw_index / kDrawsPerBlock), epoch_};
    }
    return static_cast<std::uint8_t>(block.drawn >> (draw_index % kDrawsPerBlock) & 1u);
  }

  const GraphTables& tables_;
  BlockSource& source_;
  StopPoll& poll_;
  const std::uint64_t check_interval_;  // sites between two checks of the poll
  WolffScratch::Block* const blocks_;
  const std::uint64_t epoch_;
  const bytespin::SiteMasks* const site_masks_;
  const std::uint64_t* const offsets_;
  const bytespin::CellBond* const entries_;
  Site* const queue_;
  Site* end_;
  std::uint8_t* const spins_;
  std::uint8_t old_ = 0, change_ = 0;
  std::uint32_t stride_[kMaxDim] = {};
};

std::uint64_t grow(const GraphTables& tables, Threshold bond, const DrawKey& key, StopPoll& poll,
                   WolffScratch& scratch, std::uint8_t* spins, const bytespin::GrowthStart& start) {
  BlockSource source(key, bond);
  return with_dim(tables.lattice.dim, [&]<int D>() HWY_ATTR {
    return Growth<D>(tables, source, poll, scratch, spins, start.place)
        .run(start.seed, start.state);
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

class Wolff final : public ClusterUpdater {
 public:
  explicit Wolff(const GraphTables& tables) : tables_(tables), scratch_(tables) {}

  std::optional<ClusterSums> update(std::size_t t, const DrawKey& key, StopPoll& poll,
                                    std::span<std::uint8_t> spins, WorkCounters& work) override {
    const Words4 words = seed_words(key);
    const Site seed = wolff_seed(words, tables_.sites);
    const std::uint8_t state = wolff_state(words, spins[seed], tables_.states);
    scratch_.begin_update();
    const std::uint64_t size =
        grow_cluster(tables_, tables_.thresholds[t], key, poll, scratch_, spins, {seed, state, 0});
    if (size == 0) return std::nullopt;
    work.cluster_sites += size;
    return ClusterSums{.square = size};
  }

 private:
  const GraphTables& tables_;
  WolffScratch scratch_;
};

}  // namespace

WolffScratch::WolffScratch(const GraphTables& tables)
    : blocks((tables.bond_draws + kDrawsPerBlock - 1) / kDrawsPerBlock + 1),
      queue(std::make_unique_for_overwrite<Site[]>(tables.sites + kQueueSlack)) {}

std::uint64_t grow_cluster(const GraphTables& tables, const Thresholds& thresholds,
                           const DrawKey& key, StopPoll& poll, WolffScratch& scratch,
                           std::span<std::uint8_t> spins, const GrowthStart& start) {
  return HWY_DYNAMIC_DISPATCH(grow)(tables, thresholds.bond, key, poll, scratch, spins.data(),
                                    start);
}

std::unique_ptr<ClusterUpdater> make_wolff(const GraphTables& tables) {
  return std::make_unique<Wolff>(tables);
}

}  // namespace rewise::bytespin
#endif
