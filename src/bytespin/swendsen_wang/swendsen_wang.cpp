#include "src/bytespin/swendsen_wang/swendsen_wang.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "src/bytespin/draws.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_labels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bytespin/swendsen_wang/swendsen_wang.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "src/bytespin/swendsen_wang/drawn_bonds-inl.hpp"
#include "src/label/run_flips-inl.hpp"
#include "src/label/runs-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

using bytespin::any_state;
using bytespin::DrawKey;
using bytespin::Plan;
using bytespin::slot_draw;
using bytespin::SwendsenWangScratch;

// Joins the runs of equal spins along occupied bonds.
void join_runs(const Plan& plan, SwendsenWangScratch& scratch, const std::uint8_t* spins) {
  const DrawnBonds bonds{scratch.drawn.data(), spins, plan.bond_slots.dim};
  RunJoiner<DrawnBonds> joiner(plan.lattice, scratch.runs, bonds);
  joiner.join();
  for (std::size_t i = 0; i < scratch.rewired.size(); ++i) {
    const SwendsenWangScratch::RewiredEnds& r = scratch.rewired[i];
    if (scratch.rewired_on[i] == 0 || spins[r.a] != spins[r.b]) continue;
    joiner.join_places(r.at_a, r.at_b);
  }
}

// Flips the clusters whose bit in flip_draws is set. Returns the number of clusters.
std::uint32_t flip_clusters_of(SwendsenWangScratch& scratch, std::uint8_t* spins) {
  const std::uint64_t* draws = scratch.flip_draws.data();
  return flip_runs(
      scratch.runs, ClusterFlips<std::uint32_t>{scratch.size.get(), scratch.flip.get()},
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
HWY_EXPORT(join_runs);
HWY_EXPORT(flip_clusters_of);
}  // namespace rewise

namespace rewise::bytespin {
namespace {

// Measures the wall-clock time of the steps of an update.
class StepClock {
 public:
  // Adds the seconds since the last step.
  void add_to(double& seconds) {
    const auto now = std::chrono::steady_clock::now();
    seconds += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  void restart() { last_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Potts: draws a new state for every cluster. Returns the number of clusters.
std::uint64_t renew_runs(const Plan& plan, const DrawKey& key, SwendsenWangScratch& scratch,
                         std::uint8_t* spins) {
  std::uint32_t* const label = scratch.runs.parent.get();
  std::uint32_t clusters = 0, run = 0;
  for (std::uint64_t begin = 0; begin < plan.sites; ++run) {
    const std::uint64_t end = scratch.runs.run_end(begin);
    const std::uint32_t parent = label[run];
    if (parent == run) {
      scratch.flip[clusters] = any_state(slot_draw(key, Stream::bytespin_flip, begin), plan.states);
      scratch.size[clusters] = 0;
    }
    const std::uint32_t cluster = parent == run ? clusters++ : label[parent];
    label[run] = cluster;
    scratch.size[cluster] += static_cast<std::uint32_t>(end - begin);
    std::fill(spins + begin, spins + end, scratch.flip[cluster]);
    begin = end;
  }
  return clusters;
}

// Wolff: sets the cluster of one site to a new state. Returns its size.
std::uint64_t renew_runs_of(Site seed, std::uint8_t state, RunTable& runs,
                            std::span<std::uint8_t> spins) {
  std::uint32_t* const label = runs.parent.get();
  std::uint32_t root = runs.run_at(runs.place(seed));
  while (label[root] != root) root = label[root];
  std::uint64_t size = 0;
  std::uint32_t run = 0;
  for (std::uint64_t begin = 0; begin < spins.size(); ++run) {
    const std::uint64_t end = runs.run_end(begin);
    label[run] = label[label[run]];
    if (label[run] == root) {
      std::fill(spins.data() + begin, spins.data() + end, state);
      size += end - begin;
    }
    begin = end;
  }
  return size;
}

ClusterSums flip_clusters(const Plan& plan, const DrawKey& key, SwendsenWangScratch& scratch,
                          std::span<std::uint8_t> spins) {
  for (std::uint64_t k = 0; !plan.potts && 128 * k < plan.sites; ++k) {
    const Words4 words = random_words(key.seed, Stream::bytespin_flip, k, key.replica, 0, key.step);
    scratch.flip_draws[2 * k] = word64(words, 0);
    scratch.flip_draws[2 * k + 1] = word64(words, 1);
  }
  if (scratch.labels) return flip_by_labels(plan, key, scratch.flip_draws, *scratch.labels, spins);
  const std::uint64_t clusters =
      plan.potts ? renew_runs(plan, key, scratch, spins.data())
                 : HWY_DYNAMIC_DISPATCH(flip_clusters_of)(scratch, spins.data());
  return cluster_sums({scratch.size.get(), clusters});
}

// Draws the bonds. The bits of rewired bonds are read into rewired_on; those of moved or removed
// lattice bonds are then cleared in the lattice's masks. Returns false if stopped.
bool draw_bonds(const Plan& plan, const Tables& tables, const DrawKey& key, StopPoll& poll,
                SwendsenWangScratch& scratch) {
  const std::uint64_t blocks = (plan.slots + kSlotsPerBlock - 1) / kSlotsPerBlock;
  const std::uint64_t piece = poll.active() ? poll.grain() / kSlotsPerBlock + 1 : blocks;
  for (std::uint64_t first = 0; first < blocks; first += piece) {
    const std::uint64_t count = std::min(piece, blocks - first);
    draw_masks(key, Stream::bytespin_bond, tables.bond, first, count, scratch.drawn.data() + first);
    if (poll.must_stop(count * kSlotsPerBlock / 4)) return false;
  }
  for (std::size_t i = 0; i < scratch.rewired.size(); ++i) {
    const std::uint64_t slot = scratch.rewired[i].slot;
    scratch.rewired_on[i] = scratch.drawn[slot / 64] >> slot % 64 & 1u;
  }
  for (const std::uint64_t slot : plan.gone) {
    scratch.drawn[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
  }
  return true;
}

// Draws the bonds and labels the clusters. Returns false if stopped.
bool label_clusters(const Plan& plan, const Tables& tables, const DrawKey& key, StopPoll& poll,
                    SwendsenWangScratch& scratch, std::span<const std::uint8_t> spins,
                    StepClock& clock, ClusterPhaseTimes& phases) {
  if (!draw_bonds(plan, tables, key, poll, scratch)) return false;
  if (scratch.labels) {
    SiteLabels& labels = *scratch.labels;
    occupy_bonds(plan, scratch, spins);
    clock.add_to(phases.activate);
    const LabelSeconds seconds = labels.labeller.run(labels.occupied, labels.label);
    clock.restart();
    phases.label += seconds.label;
    phases.merge += seconds.merge;
    return !poll.must_stop(plan.sites);
  }
  clock.add_to(phases.activate);
  HWY_DYNAMIC_DISPATCH(join_runs)(plan, scratch, spins.data());
  clock.add_to(phases.label);
  return !poll.must_stop(plan.sites);
}

}  // namespace

SwendsenWangScratch::SwendsenWangScratch(const Plan& plan, LabelMethod method, std::uint32_t tile)
    : drawn((plan.slots + kSlotsPerBlock - 1) / kSlotsPerBlock + 2 * kMaxDim),
      flip_draws((plan.sites + 127) / 128 * 2 + 2),
      rewired_on(plan.rewired.size()),
      runs(plan.lattice, plan.sites),
      size(std::make_unique_for_overwrite<std::uint32_t[]>(plan.sites + 1)),
      flip(std::make_unique_for_overwrite<std::uint8_t[]>(plan.sites + 1)) {
  for (const RewiredSlot& r : plan.rewired) {
    rewired.push_back({r.slot, r.a, r.b, runs.place(r.a), runs.place(r.b)});
  }
  tile_edge(method, plan.lattice.dim, tile);  // throws if a tile is given for `fast`
  if (method != LabelMethod::fast) labels = std::make_unique<SiteLabels>(plan, method, tile);
}

SwendsenWangScratch::~SwendsenWangScratch() = default;

std::optional<ClusterSums> swendsen_wang_update(const Plan& plan, const Tables& tables,
                                                const DrawKey& key, StopPoll& poll,
                                                SwendsenWangScratch& scratch,
                                                std::span<std::uint8_t> spins,
                                                ClusterPhaseTimes& phases) {
  StepClock clock;
  if (!label_clusters(plan, tables, key, poll, scratch, spins, clock, phases)) return std::nullopt;
  const ClusterSums sums = flip_clusters(plan, key, scratch, spins);
  clock.add_to(phases.flip);
  return sums;
}

std::uint64_t wolff_by_labels(const Plan& plan, const Tables& tables, const DrawKey& key,
                              StopPoll& poll, SwendsenWangScratch& scratch,
                              std::span<std::uint8_t> spins, ClusterPhaseTimes& phases) {
  StepClock clock;
  if (!label_clusters(plan, tables, key, poll, scratch, spins, clock, phases)) return 0;
  const Words4 words = random_words(key.seed, Stream::bytespin_seed, 0, key.replica, 0, key.step);
  const Site seed = wolff_seed(words, plan.sites);
  const std::uint8_t state = wolff_state(words, spins[seed], plan.states);
  const std::uint64_t size = scratch.labels ? renew_by_labels(seed, state, *scratch.labels, spins)
                                            : renew_runs_of(seed, state, scratch.runs, spins);
  clock.add_to(phases.flip);
  return size;
}

}  // namespace rewise::bytespin
#endif
