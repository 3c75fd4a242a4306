// The last step of a Swendsen-Wang update of Ising spins: draws for each cluster of joined runs
// (runs-inl.hpp) whether it flips. (Included once per instruction set.)
#if defined(RW_RUN_FLIPS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_RUN_FLIPS_INL_HPP_
#undef RW_RUN_FLIPS_INL_HPP_
#else
#define RW_RUN_FLIPS_INL_HPP_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstdint>

#include "src/label/run_table.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

// Output for each cluster, [sites + 1] each.
template <class Size>
struct ClusterFlips {
  Size* size;
  std::uint8_t* flip;
};

// The default measure of cluster sizes: the number of sites.
struct PlainSizes {
  std::uint32_t operator()(std::uint64_t site) const { return static_cast<std::uint32_t>(site); }
};

// Numbers the clusters in order of their smallest sites, decides by the random bit of that site
// whether the cluster flips, and sums their sizes. On return the runs' parents are cluster numbers.
// Returns the number of clusters.
//   Draws   std::uint64_t operator()(first): random bits of the 64 sites from `first` on
//   Flip    void operator()(first, bits, count): flips the sites of the set bits among the `count`
//           sites from `first` on; called in site order
//   Before  Size operator()(site): the total size of all sites before it
template <class Size, class Draws, class Flip, class Before = PlainSizes>
HWY_INLINE std::uint32_t flip_runs(const RunTable& runs, const ClusterFlips<Size>& clusters,
                                   const Draws& draws_from, const Flip& flip_sites,
                                   const Before& before = {}) {
  std::uint32_t* const label = runs.parent.get();
  Size* const size = clusters.size;
  std::uint8_t* const flip = clusters.flip;
  std::uint32_t count = 0, run = 0, open = 0;
  Size open_since = before(0);  // the size before the open run
  std::uint64_t flipping = 0;   // 1 if the open run flips
  size[0] = 0;
  for (std::uint64_t row = 0; row < runs.rows; ++row) {
    for (std::uint64_t w = 0; w < runs.row_words; ++w) {
      const std::uint64_t first = row * runs.length + 64 * w;
      const std::uint64_t draws = draws_from(first);
      // Bit 0 is set if the first site flips, bit x > 0 if exactly one of sites x - 1 and x flips;
      // the prefix XOR below gives the sites to flip.
      std::uint64_t change = flipping;
      for (std::uint64_t starts = runs.words[row * runs.row_words + w].starts; starts != 0;
           starts &= starts - 1) {
        const auto x = static_cast<unsigned>(std::countr_zero(starts));
        const Size here = before(first + x);
        size[open] += here - open_since;
        open_since = here;
        // Branch-free, because whether this run is the first of its cluster is unpredictable.
        flip[count] = static_cast<std::uint8_t>(draws >> x & 1u);
        const std::uint32_t parent = label[run], number = label[parent];
        const std::uint32_t root = parent == run ? ~0u : 0u;
        open = number ^ ((number ^ count) & root);
        label[run++] = open;
        count += root & 1u;
        size[count] = 0;
        const std::uint64_t now = flip[open];
        change ^= (flipping ^ now) << x;
        flipping = now;
      }
      for (int shift = 1; shift < 64; shift *= 2) change ^= change << shift;
      flip_sites(first, change, runs.count_in(w));
    }
  }
  size[open] += before(runs.rows * runs.length) - open_since;
  return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();
#endif
