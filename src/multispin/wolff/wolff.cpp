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
  return (dim > 1 && layout.has_rows() ? paths : 0.1) +
         0.1 * shortcuts / static_cast<double>(graph.sites());
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

void WolffUpdate::run(const ClusterRun& run, double fraction, WolffScratch& scratch) const {
  if (run.team.first()) {
    while (scratch.queues.size() < static_cast<std::size_t>(run.team.size)) {
      scratch.queues.push_back(std::make_unique<WolffQueue>(layout_.sites, layout_.has_signs));
    }
    scratch.flipped.fill(0);
  }
  run.team.barrier();
  const bool is_dense = form_ == WolffForm::dense || run.ghost.any ||
                        (form_ == WolffForm::automatic && fraction > dense_fraction_);
  if (!is_dense && fraction * run.count > plane_fraction_) return in_planes(run, scratch);
  for (std::uint32_t w = 0; w < run.count; ++w) {
    if (!(is_dense ? dense(run, w, scratch) : in_words(run, w, scratch))) return;
  }
}

// Makes all updates one replica at a time on transposed spins.
void WolffUpdate::in_planes(const ClusterRun& run, WolffScratch& scratch) const {
  const ThreadTeam& team = run.team;
  if (team.first()) {
    scratch.planes.resize(std::size_t{kReplicas} * sparse_.plane_words);
    scratch.next_replica = 0;
  }
  team.barrier();
  const auto [first, last] = team.own_range(sparse_.plane_words);
  transpose_spins(sparse_, true, first, last, run.spins, scratch.planes.data());
  team.barrier();
  WolffQueue& queue = *scratch.queues[static_cast<std::size_t>(team.member)];
  for (std::uint32_t r; (r = scratch.next_replica.fetch_add(1)) < kReplicas;) {
    std::uint32_t* plane = scratch.planes.data() + std::size_t{r} * sparse_.plane_words;
    for (std::uint32_t& done = run.ahead[r]; done < run.count && !run.poll.stopped(); ++done) {
      const std::uint64_t size =
          wolff_cluster(sparse_, run.at(done), run.bond, r, {plane, true, false}, run.poll, queue);
      if (size == 0) break;
      scratch.flipped[r] += size;
      run.poll.must_stop(size);
    }
  }
  team.barrier();
  transpose_spins(sparse_, false, first, last, run.spins, scratch.planes.data());
  team.barrier();
}

// Sparse form: makes update `w` of all replicas in the words of the word group. Returns false if it
// was stopped within a replica.
bool WolffUpdate::in_words(const ClusterRun& run, std::uint32_t w, WolffScratch& scratch) const {
  const ThreadTeam& team = run.team;
  if (team.first()) scratch.next_replica = 0;
  team.barrier();
  WolffQueue& queue = *scratch.queues[static_cast<std::size_t>(team.member)];
  for (std::uint32_t r; (r = scratch.next_replica.fetch_add(1)) < kReplicas;) {
    if (run.ahead[r] > w || run.poll.stopped()) continue;
    const std::uint64_t size = wolff_cluster(sparse_, run.at(w), run.bond, r,
                                             {run.spins, false, team.size > 1}, run.poll, queue);
    if (size == 0) continue;
    scratch.flipped[r] += size;
    run.ahead[r] = w + 1;
    run.poll.must_stop(size);
  }
  team.barrier();
  return std::ranges::all_of(run.ahead, [&](std::uint32_t done) { return done > w; });
}

// Removes the clusters that are bound to the ghost spin from dense.reached.
void WolffUpdate::keep_bound(const ClusterRun& run, std::uint32_t w, DenseScratch& dense) const {
  if (run.team.first()) dense.bound = 0;
  run.team.barrier();
  const Address at = run.at(w);
  const auto [first, last] = run.team.own_range(sparse_.sites);
  std::uint32_t bound = 0;
  layout_.for_each_slot(first, last, [&](Site site, Slot slot) {
    bound |= run.ghost.bound(at, site, run.spins[slot], dense.reached[slot] & ~bound);
  });
  dense.bound |= bound;
  run.team.barrier();
  const std::uint32_t free = ~dense.bound;
  layout_.for_each_slot(first, last, [&](Site, Slot slot) { dense.reached[slot] &= free; });
  run.team.barrier();
}

// Dense form: makes update `w` of all replicas that have not made it yet. If the team is stopped,
// returns false and leaves the spins unchanged.
bool WolffUpdate::dense(const ClusterRun& run, std::uint32_t w, WolffScratch& scratch) const {
  const ThreadTeam& team = run.team;
  const Address at = run.at(w);
  if (team.first() && !scratch.dense) scratch.dense.emplace(dense_);
  team.barrier();
  DenseScratch& dense = *scratch.dense;
  std::uint32_t active = 0;
  for (std::uint32_t r = 0; r < kReplicas; ++r) active |= run.ahead[r] > w ? 0 : 1u << r;
  if (team.first()) {
    scratch.seed_spin = 0;
    for (std::uint32_t r = 0; r < kReplicas; ++r) {
      const auto seed = layout_.slot(wolff_seed_site(at, r, sparse_.sites));
      scratch.seed_spin |= run.spins[seed] & 1u << r;
      dense.reached[seed] |= active & 1u << r;
    }
  }
  team.barrier();
  dense_draw(dense_, at, run.bond, run.spins, scratch.seed_spin, active, team, run.poll, dense);
  const auto [first, last] = team.own_range(static_cast<std::uint32_t>(dense.reached.size()));
  bool stopped = team.agrees_to_end(run.poll);
  if (!stopped) {
    if (team.first()) dense_grow(dense_, run.poll, dense);
    stopped = team.agrees_to_end(run.poll);
  }
  if (stopped) {
    std::fill(dense.reached.begin() + first, dense.reached.begin() + last, 0u);
    team.barrier();
    return false;
  }
  if (run.ghost.any) keep_bound(run, w, dense);
  if (team.first()) {
    ReplicaSums size{};
    count_bits(dense.reached.data(), 0, dense.reached.size(), size);
    for (std::uint32_t r = 0; r < kReplicas; ++r) {
      if ((active >> r & 1u) == 0) continue;
      scratch.flipped[r] += size[r];
      run.ahead[r] = w + 1;
    }
  }
  team.barrier();
  for (std::uint32_t slot = first; slot < last; ++slot) {
    run.spins[slot] ^= dense.reached[slot];
    dense.reached[slot] = 0;
  }
  run.poll.add(layout_.sites);
  team.barrier();
  return true;
}

}  // namespace rewise::multispin
