#include "src/bytespin/wolff/few_cluster.hpp"

#include <algorithm>

namespace rewise::bytespin {
namespace {

// Marks a site whose cluster has been found; not a state, since q is at most 255.
constexpr std::uint8_t kVisited = 255;

}  // namespace

FewClusterSums few_cluster_update(const Plan& plan, const FewClusterRule& rule,
                                  const Tables& tables, const DrawKey& key, StopPoll& poll,
                                  FewClusterScratch& scratch, std::span<std::uint8_t> spins) {
  const Site* const queue = scratch.growth.queue.get();
  FewClusterSums sums;
  scratch.clusters.clear();
  scratch.growth.begin_update();
  for (std::uint32_t tile = 0; tile < rule.tiles.tiles(); ++tile) {
    const SeedTiles::Seed seed = rule.tiles.seed(tile, seed_words(key, tile));
    if (const std::uint8_t old = spins[seed.site]; old != kVisited) {
      const std::uint64_t begin = sums.visited;
      const std::uint64_t size = grow_cluster(plan, tables, key, poll, scratch.growth, spins,
                                              {seed.site, kVisited, true, begin});
      if (size == 0) {
        for (const FewClusterScratch::Cluster& c : scratch.clusters) {
          for (std::uint64_t k = c.begin; k < c.end; ++k) spins[queue[k]] = c.old;
        }
        return {};
      }
      sums.visited += size;
      const auto number = static_cast<std::uint32_t>(scratch.clusters.size());
      for (std::uint64_t k = begin; k < sums.visited; ++k) scratch.cluster[queue[k]] = number;
      scratch.clusters.push_back({begin, sums.visited, 0, old});
    }
    scratch.clusters[scratch.cluster[seed.site]].tile_sites += seed.tile_sites;
  }
  // States are set only now: a cluster in its new state could be mistaken for a part of a later
  // one.
  for (const FewClusterScratch::Cluster& c : scratch.clusters) {
    sums.square += c.tile_sites * (c.end - c.begin);
    const Site smallest = *std::min_element(queue + c.begin, queue + c.end);
    const std::uint8_t state = few_cluster_state(key, smallest, rule.flip, c.old, plan.states);
    for (std::uint64_t k = c.begin; k < c.end; ++k) spins[queue[k]] = state;
  }
  return sums;
}

}  // namespace rewise::bytespin
