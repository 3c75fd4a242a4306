#include "src/bytespin/swendsen_wang/swendsen_wang.hpp"

#include <algorithm>
#include <vector>

#include "src/base/clock.hpp"
#include "src/bytespin/swendsen_wang/run_labels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bytespin/swendsen_wang/swendsen_wang.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "src/bytespin/swendsen_wang/drawn_bonds-inl.hpp"
#include "src/label/run_flips-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

// Flips the clusters whose bit in `draws` is set. Returns the number of clusters.
std::uint32_t flip_clusters_of(const RunTable& runs, const std::uint64_t* draws,
                               std::uint32_t* size, std::uint8_t* flip, std::uint8_t* spins) {
  return flip_runs(
      runs, ClusterFlips<std::uint32_t>{size, flip},
      [&](std::uint64_t site) HWY_ATTR {
        const std::uint64_t* word = draws + site / 64;
        const std::uint64_t shift = site % 64;
        return shift == 0 ? *word : *word >> shift | word[1] << (64 - shift);
      },
      [&](std::uint64_t first, std::uint64_t bits, std::uint64_t count)
          HWY_ATTR { xor_bits(spins + first, bits, count); });
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise {
HWY_EXPORT(flip_clusters_of);
}  // namespace rewise

namespace rewise::bytespin {
namespace {

class LabelledClusters final : public ClusterUpdater {
 public:
  LabelledClusters(const GraphTables& tables, bool wolff, LabelMethod method, std::uint32_t tile)
      : tables_(tables),
        wolff_(wolff),
        labels_(tables, {0, tables.sites}, method, tile),
        flip_draws_((tables.sites + 127) / 128 * 2 + 2),
        size_(std::make_unique_for_overwrite<std::uint32_t[]>(tables.sites + 1)),
        flip_(std::make_unique_for_overwrite<std::uint8_t[]>(tables.sites + 1)) {}

  std::optional<ClusterSums> update(std::size_t t, const DrawKey& key, StopPoll& poll,
                                    std::span<std::uint8_t> spins, WorkCounters& work) override {
    if (!labels_.label(tables_.thresholds[t], key, poll, spins.data(), work)) return std::nullopt;
    const double begin = now();
    const ClusterSums sums = wolff_ ? renew_seed(key, spins) : flip_all(key, spins.data());
    work.phases.flip += now() - begin;
    work.cluster_sites += wolff_ ? sums.square : tables_.sites;
    return sums;
  }

 private:
  ClusterSums flip_all(const DrawKey& key, std::uint8_t* spins) {
    if (tables_.potts) return renew_all(key, spins);
    for (std::uint64_t k = 0; 128 * k < tables_.sites; ++k) {
      const Words4 words = key.words(Stream::bytespin_flip, k);
      flip_draws_[2 * k] = word64(words, 0);
      flip_draws_[2 * k + 1] = word64(words, 1);
    }
    const std::uint32_t clusters = HWY_DYNAMIC_DISPATCH(flip_clusters_of)(
        labels_.runs, flip_draws_.data(), size_.get(), flip_.get(), spins);
    return cluster_sums({size_.get(), clusters});
  }

  // Potts: draws a new state for every cluster.
  ClusterSums renew_all(const DrawKey& key, std::uint8_t* spins) {
    std::uint32_t* const label = labels_.runs.parent.get();
    std::uint32_t clusters = 0, run = 0;
    for (std::uint64_t begin = 0; begin < tables_.sites; ++run) {
      const std::uint64_t end = labels_.runs.run_end(begin);
      const std::uint32_t parent = label[run];
      if (parent == run) {
        flip_[clusters] = any_state(draw_at(key, Stream::bytespin_flip, begin), tables_.states);
        size_[clusters] = 0;
      }
      const std::uint32_t cluster = parent == run ? clusters++ : label[parent];
      label[run] = cluster;
      size_[cluster] += static_cast<std::uint32_t>(end - begin);
      std::fill(spins + begin, spins + end, flip_[cluster]);
      begin = end;
    }
    return cluster_sums({size_.get(), clusters});
  }

  // Wolff: sets the cluster of the seed to its new state.
  ClusterSums renew_seed(const DrawKey& key, std::span<std::uint8_t> spins) {
    const Words4 words = seed_words(key);
    const Site seed = wolff_seed(words, tables_.sites);
    const std::uint8_t state = wolff_state(words, spins[seed], tables_.states);
    const RunTable& runs = labels_.runs;
    std::uint32_t* const label = runs.parent.get();
    std::uint32_t root = runs.run_at(runs.place(seed));
    while (label[root] != root) root = label[root];
    ClusterSums sums;
    std::uint32_t run = 0;
    for (std::uint64_t begin = 0; begin < spins.size(); ++run) {
      const std::uint64_t end = runs.run_end(begin);
      label[run] = label[label[run]];
      if (label[run] == root) {
        std::fill(spins.data() + begin, spins.data() + end, state);
        sums.square += end - begin;
      }
      begin = end;
    }
    return sums;
  }

  const GraphTables& tables_;
  const bool wolff_;
  RunLabels labels_;
  std::vector<std::uint64_t> flip_draws_;  // [sites / 64 + 2] a random bit per site
  std::unique_ptr<std::uint32_t[]> size_;  // [cluster], up to sites + 1
  std::unique_ptr<std::uint8_t[]> flip_;   // [cluster], up to sites + 1
};

}  // namespace

std::unique_ptr<ClusterUpdater> make_labelled_clusters(const GraphTables& tables, bool wolff,
                                                       LabelMethod method, std::uint32_t tile) {
  return std::make_unique<LabelledClusters>(tables, wolff, method, tile);
}

}  // namespace rewise::bytespin
#endif
