#include "src/bundle/swendsen_wang/swendsen_wang_label.hpp"

#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bundle/swendsen_wang/swendsen_wang_label.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "src/label/run_flips-inl.hpp"
#include "src/label/runs-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

// 64 bits of a mask from any bit on.
HWY_INLINE std::uint64_t mask_from(const std::uint32_t* mask, std::uint64_t bit) {
  const std::uint32_t* word = mask + bit / 32;
  const std::uint64_t low = word[0] | std::uint64_t{word[1]} << 32, shift = bit % 32;
  return shift == 0 ? low : low >> shift | std::uint64_t{word[2]} << (64 - shift);
}

// Writes a mask from its first bit on.
class MaskWriter {
 public:
  HWY_INLINE explicit MaskWriter(std::uint32_t* mask) : next_(mask) {}

  // The lowest `count` bits, 1 <= count <= 64.
  HWY_INLINE void put(std::uint64_t bits, std::uint64_t count) {
    bits &= ~std::uint64_t{0} >> (64 - count);
    held_ |= bits << fill_;
    if (fill_ + count < 64) {
      fill_ += count;
      return;
    }
    *next_++ = static_cast<std::uint32_t>(held_);
    *next_++ = static_cast<std::uint32_t>(held_ >> 32);
    held_ = fill_ == 0 ? 0 : bits >> (64 - fill_);
    fill_ = fill_ + count - 64;
  }
  HWY_INLINE void close() {
    if (fill_ > 0) *next_++ = static_cast<std::uint32_t>(held_);
    if (fill_ > 32) *next_++ = static_cast<std::uint32_t>(held_ >> 32);
  }

 private:
  std::uint32_t* next_;
  std::uint64_t held_ = 0, fill_ = 0;
};

// As RunJoiner wants them.
struct MaskedBonds {
  const bundle::OpenBonds& open;

  HWY_INLINE std::uint64_t word(std::uint64_t a, std::uint64_t, int direction, std::uint64_t count,
                                std::uint64_t) const {
    return mask_from(open.direction[direction], a) & ~std::uint64_t{0} >> (64 - count);
  }
};

std::uint32_t label_masks(const Lattice& lattice, const std::vector<bundle::PlacePair>& listed,
                          const bundle::OpenBonds& open, std::uint32_t* flips,
                          bundle::LabelScratch& scratch) {
  const MaskedBonds bonds{open};
  RunJoiner<MaskedBonds> joiner(lattice, scratch.runs, bonds);
  joiner.join();
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if ((open.listed[i] >> open.replica & 1u) != 0) joiner.join_places(listed[i].a, listed[i].b);
  }
  MaskWriter out(flips);  // behind what is read
  const std::uint32_t clusters = flip_runs(
      scratch.runs, {scratch.size.get(), scratch.flip.get()},
      [&](std::uint64_t first) HWY_ATTR { return mask_from(flips, first); },
      [&](std::uint64_t, std::uint64_t bits, std::uint64_t count)
          HWY_ATTR { out.put(bits, count); });
  out.close();
  return clusters;
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise {
HWY_EXPORT(label_masks);
}  // namespace rewise

namespace rewise::bundle {

namespace {

// Cost: two steps per site with a weight, whatever the lattice.
void add_weights(const std::vector<PlaceWeight>& weights, std::uint64_t sites,
                 LabelScratch& scratch, ClusterSums& sums) {
  if (weights.empty()) return;
  scratch.weight.resize(sites + 1);
  scratch.weighted.resize(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::uint32_t cluster = scratch.runs.parent[scratch.runs.run_at(weights[i].place)];
    scratch.weighted[i] = cluster;
    scratch.weight[cluster] += weights[i].weight;
  }
  for (const std::uint32_t cluster : scratch.weighted) {
    const std::uint64_t w = std::exchange(scratch.weight[cluster], 0u);
    sums.cross += w * scratch.size[cluster];
    sums.weight_square += w * w;
  }
}

}  // namespace

ClusterSums label_and_flip(const Lattice& lattice, const std::vector<PlacePair>& listed,
                           const std::vector<PlaceWeight>& weights, const OpenBonds& open,
                           std::uint32_t* flips, LabelScratch& scratch) {
  const std::uint32_t clusters =
      HWY_DYNAMIC_DISPATCH(label_masks)(lattice, listed, open, flips, scratch);
  ClusterSums sums = cluster_sums({scratch.size.get(), clusters});
  add_weights(weights, scratch.runs.rows * scratch.runs.length, scratch, sums);
  return sums;
}

}  // namespace rewise::bundle
#endif
