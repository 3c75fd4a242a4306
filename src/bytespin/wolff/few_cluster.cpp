#include "src/bytespin/wolff/few_cluster.hpp"

#include <algorithm>
#include <vector>

#include "src/bytespin/wolff/wolff.hpp"

namespace rewise::bytespin {
namespace {

// Marks a site whose cluster has been found; not a state, since q is at most 255.
constexpr std::uint8_t kVisited = 255;

class FewClusterUpdate final : public ClusterUpdater {
 public:
  FewClusterUpdate(const GraphTables& tables, const FewClusterRule& rule)
      : tables_(tables),
        rule_(rule),
        growth_(tables),
        cluster_of_(std::make_unique_for_overwrite<std::uint32_t[]>(tables.sites)) {}

  std::optional<ClusterSums> update(std::size_t t, const DrawKey& key, StopPoll& poll,
                                    std::span<std::uint8_t> spins, WorkCounters& work) override {
    const Site* const queue = growth_.queue.get();
    std::uint64_t visited = 0;
    clusters_.clear();
    growth_.begin_update();
    for (std::uint32_t tile = 0; tile < rule_.tiles.tiles(); ++tile) {
      const SeedTiles::Seed seed = rule_.tiles.seed(tile, seed_words(key, tile));
      if (const std::uint8_t old = spins[seed.site]; old != kVisited) {
        const std::uint64_t begin = visited;
        const std::uint64_t size = grow_cluster(tables_, tables_.thresholds[t], key, poll, growth_,
                                                spins, {seed.site, kVisited, begin});
        if (size == 0) {
          for (const Cluster& c : clusters_) set(spins, c, c.old);
          return std::nullopt;
        }
        visited += size;
        const auto number = static_cast<std::uint32_t>(clusters_.size());
        for (std::uint64_t k = begin; k < visited; ++k) cluster_of_[queue[k]] = number;
        clusters_.push_back({begin, visited, 0, old});
      }
      clusters_[cluster_of_[seed.site]].tile_sites += seed.tile_sites;
    }
    // States are set only now: a cluster in its new state could be mistaken for a part of a later
    // one.
    ClusterSums sums;
    for (const Cluster& c : clusters_) {
      sums.square += c.tile_sites * (c.end - c.begin);
      const Site smallest = *std::min_element(queue + c.begin, queue + c.end);
      set(spins, c, few_cluster_state(key, smallest, rule_.flip, c.old, tables_.states));
    }
    work.cluster_sites += visited;
    return sums;
  }

 private:
  struct Cluster {
    std::uint64_t begin, end;  // its sites in growth_.queue
    std::uint64_t tile_sites;  // total over the tiles whose seeds it contains
    std::uint8_t old;          // state before the update
  };

  void set(std::span<std::uint8_t> spins, const Cluster& cluster, std::uint8_t state) const {
    for (std::uint64_t k = cluster.begin; k < cluster.end; ++k) spins[growth_.queue[k]] = state;
  }

  const GraphTables& tables_;
  const FewClusterRule rule_;
  WolffScratch growth_;
  std::unique_ptr<std::uint32_t[]> cluster_of_;  // [sites] number of a visited site's cluster
  std::vector<Cluster> clusters_;
};

}  // namespace

std::unique_ptr<ClusterUpdater> make_few_cluster(const GraphTables& tables,
                                                 const FewClusterRule& rule) {
  return std::make_unique<FewClusterUpdate>(tables, rule);
}

}  // namespace rewise::bytespin
