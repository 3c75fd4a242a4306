#include "src/single/wolff.hpp"

#include "src/single/draws.hpp"

namespace rewise::single {
namespace {

constexpr std::size_t kStackSlack = 16;

// One cluster being grown. A site is flipped when it is put on the stack, so that "has the seed's
// old spin" means "not in the cluster yet".
class Growth {
 public:
  Growth(const Plan& plan, const Tables& tables, const DrawKey& key, WolffScratch& scratch,
         std::uint8_t* spins)
      : plan_(plan), tables_(tables), key_(key), scratch_(scratch), spins_(spins) {}

  std::uint64_t run(Site seed) {
    ++scratch_.epoch;
    old_ = spins_[seed];
    Site* const stack = scratch_.stack.get();
    Site* top = stack;
    *top++ = seed;
    spins_[seed] = flipped();
    std::uint64_t size = 0;
    while (top != stack) {
      const Site site = *--top;
      ++size;
      plan_.graph.for_each_neighbour(site, [&](Site neighbour, Bond bond) {
        if (spins_[neighbour] != old_ || !drawn(plan_.bond_slots.slot(bond))) return;
        spins_[neighbour] = flipped();
        *top++ = neighbour;
      });
    }
    return size;
  }

 private:
  std::uint8_t flipped() const { return static_cast<std::uint8_t>(old_ ^ 1u); }

  bool drawn(std::uint64_t slot) {
    WolffScratch::Block& block = scratch_.blocks[slot / kSlotsPerBlock];
    if (block.epoch != scratch_.epoch) {
      block.epoch = scratch_.epoch;
      draw_masks(key_, Stream::single_bond, tables_.bond, slot / kSlotsPerBlock, 1, &block.drawn);
    }
    return block.drawn >> (slot % kSlotsPerBlock) & 1u;
  }

  const Plan& plan_;
  const Tables& tables_;
  const DrawKey& key_;
  WolffScratch& scratch_;
  std::uint8_t* spins_;
  std::uint8_t old_ = 0;
};

}  // namespace

WolffScratch::WolffScratch(const Plan& plan)
    : blocks((plan.slots + kSlotsPerBlock - 1) / kSlotsPerBlock),
      stack(std::make_unique_for_overwrite<Site[]>(plan.sites + kStackSlack)) {}

std::uint64_t wolff_update(const Plan& plan, const Tables& tables, const DrawKey& key,
                           WolffScratch& scratch, std::span<std::uint8_t> spins) {
  const Words4 words = random_words(key.seed, Stream::single_seed, 0, key.who, 0, key.step);
  return Growth(plan, tables, key, scratch, spins.data()).run(wolff_seed(words, plan.sites));
}

}  // namespace rewise::single
