// Bit planes of wolff.hpp: 32 words of 32 replicas become 32 words of 32 sites, and back.
#include <algorithm>

#include "src/bundle/wolff/wolff.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bundle/wolff/planes.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "src/bundle/wolff/planes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::bundle {
namespace HWY_NAMESPACE {

void WordsToPlanes(const WolffGeometry& g, const std::uint32_t* spins, std::uint32_t first,
                   std::uint32_t last, std::uint32_t* planes) {
  std::uint32_t tile[32];
  for (std::uint32_t w = first; w < last; ++w) {
    const std::uint64_t begin = 32 * std::uint64_t{w};
    const std::uint64_t end = std::min<std::uint64_t>(begin + 32, g.sites);
    if (begin >= end) break;
    if (end < begin + 32) std::fill(tile, tile + 32, 0u);
    walk_sites(g.layout, begin, end,
               [&](std::uint64_t i, std::uint64_t slot) HWY_ATTR { tile[i] = spins[slot]; });
    transpose(tile);
    for (std::size_t r = 0; r < kReplicas; ++r) planes[r * g.plane_words + w] = tile[r];
  }
}

void PlanesToWords(const WolffGeometry& g, const std::uint32_t* planes, std::uint32_t first,
                   std::uint32_t last, std::uint32_t* spins) {
  std::uint32_t tile[32];
  for (std::uint32_t w = first; w < last; ++w) {
    const std::uint64_t begin = 32 * std::uint64_t{w};
    const std::uint64_t end = std::min<std::uint64_t>(begin + 32, g.sites);
    if (begin >= end) break;
    for (std::size_t r = 0; r < kReplicas; ++r) tile[r] = planes[r * g.plane_words + w];
    transpose(tile);
    walk_sites(g.layout, begin, end,
               [&](std::uint64_t i, std::uint64_t slot) HWY_ATTR { spins[slot] = tile[i]; });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::bundle
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise::bundle {
HWY_EXPORT(WordsToPlanes);
HWY_EXPORT(PlanesToWords);
void words_to_planes(const WolffGeometry& geometry, const std::uint32_t* spins, std::uint32_t first,
                     std::uint32_t last, std::uint32_t* planes) {
  HWY_DYNAMIC_DISPATCH(WordsToPlanes)(geometry, spins, first, last, planes);
}
void planes_to_words(const WolffGeometry& geometry, const std::uint32_t* planes,
                     std::uint32_t first, std::uint32_t last, std::uint32_t* spins) {
  HWY_DYNAMIC_DISPATCH(PlanesToWords)(geometry, planes, first, last, spins);
}
}  // namespace rewise::bundle
#endif
