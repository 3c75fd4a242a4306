#include "src/multispin/wolff/wolff.hpp"

#include <algorithm>

#include "src/multispin/local/measure.hpp"

namespace rewise::multispin {
namespace {

// The mean share of sites flipped per cluster at which both forms take the same time (measured:
// tests/bench/RESULTS.md). It grows with the number of times that the dense form visits a row, and
// with the number of shortcuts per site, which the dense form processes one by one.
double dense_fraction(const Graph& graph, const Layout& layout) {
  const auto shortcuts = static_cast<double>(graph.rewired_bonds().size());
  const int dim = layout.lattice.dim;
  const double paths = dim == 2 ? 1.8e-4 * layout.lattice.extent[0] : 0.06;
  const bool rows = dim > 1 && !layout.by_table;
  return (rows ? paths : 0.1) + 0.1 * shortcuts / static_cast<double>(graph.sites());
}

// Planes are faster if the mean share of sites flipped per cluster, times the updates of a cycle,
// is larger than this. The limit is smaller if a word group does not fit into the cache of a core.
double plane_fraction(const Graph& graph) { return graph.sites() > 1u << 19 ? 0.05 : 0.2; }

}  // namespace

WolffUpdate::WolffUpdate(const Graph& graph, const Layout& layout, const Model& model,
                         const EngineOptions& options)
    : form_(options.methods.wolff_form),
      layout_(layout),
      sparse_(graph, layout, model),
      dense_(graph, layout),
      dense_fraction_(dense_fraction(graph, layout)),
      plane_fraction_(plane_fraction(graph)) {}

void WolffUpdate::run(const Address& at, Threshold bond, const GhostBonds& ghost,
                      std::uint32_t count, double fraction, const ThreadTeam& team, StopPoll& poll,
                      WolffScratch& scratch, UpdatesAhead& ahead, std::uint32_t* spins) const {
  if (team.first()) {
    while (scratch.queues.size() < static_cast<std::size_t>(team.size)) {
      scratch.queues.push_back(std::make_unique<WolffQueue>(layout_.sites, layout_.has_signs));
    }
    scratch.flipped.fill(0);
  }
  team.barrier();
  const bool is_dense = form_ == WolffForm::dense || ghost.any ||
                        (form_ == WolffForm::automatic && fraction > dense_fraction_);
  if (!is_dense && fraction * count > plane_fraction_) {
    in_planes(at, bond, count, team, poll, scratch, ahead, spins);
    return;
  }
  Address here = at;
  for (std::uint32_t w = 0; w < count; ++w, ++here.step) {
    const bool done = is_dense ? dense(here, w, bond, ghost, team, poll, scratch, ahead, spins)
                               : in_words(here, w, bond, team, poll, scratch, ahead, spins);
    if (!done) return;
  }
}

// Makes all updates one replica at a time on transposed spins.
void WolffUpdate::in_planes(const Address& at, Threshold bond, std::uint32_t count,
                            const ThreadTeam& team, StopPoll& poll, WolffScratch& scratch,
                            UpdatesAhead& ahead, std::uint32_t* spins) const {
  if (team.first()) {
    scratch.planes.resize(std::size_t{kReplicas} * sparse_.plane_words);
    scratch.next_replica = 0;
  }
  team.barrier();
  const auto [first, last] = team.part(sparse_.plane_words);
  words_to_planes(sparse_, spins, first, last, scratch.planes.data());
  team.barrier();
  WolffQueue& queue = *scratch.queues[static_cast<std::size_t>(team.member)];
  for (std::uint32_t r; (r = scratch.next_replica.fetch_add(1)) < kReplicas;) {
    std::uint32_t* plane = scratch.planes.data() + std::size_t{r} * sparse_.plane_words;
    Address here = at;
    for (here.step += ahead[r]; ahead[r] < count && !poll.stopped(); ++ahead[r], ++here.step) {
      const std::uint64_t size = wolff_in_plane(sparse_, here, bond, r, poll, plane, queue);
      if (size == 0) break;
      scratch.flipped[r] += size;
      poll.must_stop(size);
    }
  }
  team.barrier();
  planes_to_words(sparse_, scratch.planes.data(), first, last, spins);
  team.barrier();
}

// Sparse form: makes update `w` of all replicas in the words of the word group. Returns false if it
// was stopped within a replica.
bool WolffUpdate::in_words(const Address& at, std::uint32_t w, Threshold bond,
                           const ThreadTeam& team, StopPoll& poll, WolffScratch& scratch,
                           UpdatesAhead& ahead, std::uint32_t* spins) const {
  if (team.first()) scratch.next_replica = 0;
  team.barrier();
  WolffQueue& queue = *scratch.queues[static_cast<std::size_t>(team.member)];
  for (std::uint32_t r; (r = scratch.next_replica.fetch_add(1)) < kReplicas;) {
    if (ahead[r] > w || poll.stopped()) continue;
    const std::uint64_t size =
        wolff_in_words(sparse_, at, bond, r, spins, team.size > 1, poll, queue);
    if (size == 0) continue;
    scratch.flipped[r] += size;
    ahead[r] = w + 1;
    poll.must_stop(size);
  }
  team.barrier();
  return std::all_of(ahead.begin(), ahead.end(), [&](std::uint32_t done) { return done > w; });
}

// Removes the clusters that are bound to the ghost spin from dense.reached.
void WolffUpdate::keep_bound(const Address& at, const GhostBonds& ghost, const ThreadTeam& team,
                             DenseScratch& dense, const std::uint32_t* spins) const {
  if (team.first()) dense.bound = 0;
  team.barrier();
  const auto [first, last] = team.part(sparse_.sites);
  std::uint32_t bound = 0;
  layout_.for_each_slot(first, last, [&](Site site, Slot slot) {
    bound |= ghost.bound(at, site, spins[slot], dense.reached[slot] & ~bound);
  });
  dense.bound |= bound;
  team.barrier();
  const std::uint32_t free = ~dense.bound;
  layout_.for_each_slot(first, last, [&](Site, Slot slot) { dense.reached[slot] &= free; });
  team.barrier();
}

// Dense form: makes update `w` of all replicas that have not made it yet. If the team is stopped,
// returns false and leaves the spins unchanged.
bool WolffUpdate::dense(const Address& at, std::uint32_t w, Threshold bond, const GhostBonds& ghost,
                        const ThreadTeam& team, StopPoll& poll, WolffScratch& scratch,
                        UpdatesAhead& ahead, std::uint32_t* spins) const {
  if (team.first() && !scratch.dense) scratch.dense.emplace(dense_);
  team.barrier();
  DenseScratch& dense = *scratch.dense;
  std::uint32_t active = 0;
  for (std::uint32_t r = 0; r < kReplicas; ++r) active |= ahead[r] > w ? 0 : 1u << r;
  if (team.first()) {
    scratch.seed_spin = 0;
    for (std::uint32_t r = 0; r < kReplicas; ++r) {
      const auto seed = layout_.slot(wolff_seed_site(at, r, sparse_.sites));
      scratch.seed_spin |= spins[seed] & 1u << r;
      dense.reached[seed] |= active & 1u << r;
    }
  }
  team.barrier();
  dense_draw(dense_, at, bond, spins, scratch.seed_spin, active, team, poll, dense);
  bool stopped = team.agrees_to_end(poll);
  if (!stopped) {
    if (team.first()) dense_grow(dense_, poll, dense);
    stopped = team.agrees_to_end(poll);
  }
  if (stopped) {
    const auto [first, last] = team.part(static_cast<std::uint32_t>(dense.reached.size()));
    std::fill(dense.reached.begin() + first, dense.reached.begin() + last, 0u);
    team.barrier();
    return false;
  }
  if (ghost.any) keep_bound(at, ghost, team, dense, spins);
  if (team.first()) {
    ReplicaSums size{};
    count_bits(dense.reached.data(), 0, dense.reached.size(), size);
    for (std::uint32_t r = 0; r < kReplicas; ++r) {
      if ((active >> r & 1u) == 0) continue;
      scratch.flipped[r] += size[r];
      ahead[r] = w + 1;
    }
  }
  team.barrier();
  dense_flip(dense_, team, dense, spins);
  poll.add(layout_.sites);
  team.barrier();
  return true;
}

}  // namespace rewise::multispin
