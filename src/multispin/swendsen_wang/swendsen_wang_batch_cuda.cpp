#include "src/multispin/swendsen_wang/swendsen_wang_batch_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "src/base/error.hpp"
#include "src/cuda/devices.hpp"
#include "src/cuda/require_memory.hpp"
#include "src/multispin/bonds_on_device_cuda.hpp"
#include "src/multispin/host_tables_cuda.hpp"
#include "src/multispin/layout.hpp"

namespace rewise::multispin {
namespace {

// Sites with weights of one graph, tile by tile.
struct TileWeights {
  std::vector<std::uint32_t> list, first;  // place | weight << 16; [count + 1]

  void lay(const Graph& graph, const DeviceLabelTiles& tiles) {
    with_dim(graph.lattice().dim, [&]<int kDim>() {
      const auto spot_of = [&](const KeptEnds& w) {
        return LabelTile<kDim>::place_of(graph.lattice().extent, tiles.along, w.site);
      };
      first.assign(tiles.count + 1, 0);
      list.resize(graph.kept_ends().size());
      for (const KeptEnds& w : graph.kept_ends()) ++first[spot_of(w).tile + 1];
      std::partial_sum(first.begin(), first.end(), first.begin());
      std::vector<std::uint32_t> next = first;
      for (const KeptEnds& w : graph.kept_ends()) {
        const TilePlace at = spot_of(w);
        list[next[at.tile]++] = at.place | w.ends << 16;
      }
    });
  }
};

constexpr std::uint64_t kMaxItems = 1u << 26;  // a launch has up to 8 blocks per item

// Working memory of one word group: masks, labels and numbers of nodes of the tiles; nodes; listed
// bonds; sums.
std::uint64_t word_group_bytes(const DeviceLabelTiles& g, bool weighted, bool in_field) {
  const std::uint64_t tile = std::uint64_t{kLabelTileSites} * 4 *
                                 masks_per_tile(g.lattice.dim, g.listed_most > 0, in_field) +
                             32 * (kLabelTileSites * 2 + 4);
  return g.count * tile + 32 * std::uint64_t{g.nodes_most} * (weighted ? 16 : 12) +
         std::uint64_t{g.listed_most} * 4 + 32 * sizeof(LabelSums);
}

}  // namespace

SwendsenWangBatch::SwendsenWangBatch(std::span<const EngineView> engines,
                                     const DeviceGraphs& graphs, ClusterMove move, int device,
                                     cudaStream_t stream)
    : graphs_(graphs),
      move_(move),
      has_pairs_(!is_houdayer() && engines.front().spec.cluster_pairs) {
  pairs_.first_step = engines.front().spec.first_pair_step;
  lay_graphs(engines, stream);
  make_room(device, stream);
}

void SwendsenWangBatch::lay_graphs(std::span<const EngineView> engines, cudaStream_t stream) {
  const Layout& layout = engines.front().layout;
  const int dim = layout.lattice.dim;
  tiles_.lattice = graphs_.lattice({});
  tiles_.word_groups = graphs_.word_groups();
  tiles_.count = 1;
  for (int k = 0; k < std::max(dim, 1); ++k) {
    const std::uint64_t extent = dim < 2 ? layout.sites : layout.lattice.extent[unsigned(k)];
    tiles_.along[k] = tiles_along(dim, k, extent, kLabelRows);
    tiles_.count *= tiles_.along[k];
  }
  lay_weights(engines, stream);
  std::vector<std::uint32_t> listed_count, threshold;
  std::vector<GhostBonds> ghost;
  for (const EngineView& e : engines) {
    check_bond_numbers(e.graph, "Swendsen-Wang");
    listed_count.push_back(static_cast<std::uint32_t>(e.layout.rewired.count));
    for (std::uint32_t k = 0; k < e.word_groups; ++k) {
      threshold.push_back(static_cast<std::uint32_t>(e.rules_of(k).bond));
      ghost.push_back(e.rules_of(k).ghost);
    }
  }
  using Word = std::uint32_t;
  tiles_.listed_count = tables_.upload(listed_count, stream);
  run_.threshold = tables_.upload(threshold, stream);
  if (ghost.front().any) {
    if (layout.sites >= kFree / 2) {
      throw Error(ExitCode::usage,
                  fmt::format("{} sites are too many for cluster updates in a field (below 2^30)",
                              layout.sites));
    }
    run_.ghost = tables_.upload(ghost, stream);
  }
  const BondsOnDevice bonds(engines, graphs_, stream);
  const std::size_t graphs = engines.size(), count = tiles_.count,
                    rows = graphs * count * kLabelRows;
  const auto directions = static_cast<std::size_t>(dim);
  tiles_.listed_most = bonds.view().rewired_most;
  tiles_.bonds = tables_.make<Word>(rows * directions);
  run_.signs = layout.has_signs;
  if (layout.has_signs && dim > 0 && !is_houdayer()) {
    tiles_.negative = tables_.make<Word>(rows * directions);
  }
  tiles_.node_first = tables_.make<Word>(graphs * (count + 1));
  tiles_.ends_first = tables_.make<Word>(graphs * (count + 1));
  tiles_.listed = tables_.make<LabelBond>(graphs * tiles_.listed_most);
  tiles_.ends = tables_.make<ListedBondEnds>(graphs * tiles_.listed_most);
  tiles_.tile_ends = tables_.make<TileBondEnd>(graphs * 2 * tiles_.listed_most);
  DeviceArrays scratch;
  DeviceBuffer<Word> nodes(graphs);
  launch_label_tables({bonds.view(), tiles_, nodes.data(), scratch.make_zero<Word>(rows, stream),
                       scratch.make_zero<Word>(graphs * count, stream)},
                      stream);
  tiles_.nodes_most = std::ranges::max(nodes.to_host(stream));
}

void SwendsenWangBatch::lay_weights(std::span<const EngineView> engines, cudaStream_t stream) {
  std::size_t most = 0;
  for (const EngineView& e : engines) {
    weighted_ = weighted_ || (!is_houdayer() && e.graph.has_kept_ends());
    most = std::max(most, e.graph.kept_ends().size());
  }
  std::vector<TileWeights> hosts(engines.size());
  on_all_cores(hosts.size(), hosts.size() * (most + tiles_.count), [&](std::size_t k) {
    hosts[k].lay(engines[k].graph, tiles_);
    hosts[k].list.resize(most);
  });
  tiles_.weights_most = static_cast<std::uint32_t>(most);
  tiles_.weight_first = tables_.keep(joined(hosts, &TileWeights::first, stream));
  tiles_.weights = tables_.keep(joined(hosts, &TileWeights::list, stream));
}

void SwendsenWangBatch::make_room(int device, cudaStream_t stream) {
  const std::uint32_t all = graphs_.graphs() * graphs_.word_groups();
  totals_ = DeviceBuffer<unsigned long long>(kinds() * all * kReplicas);
  totals_.clear(stream);
  const std::uint64_t each = word_group_bytes(tiles_, weighted_, run_.ghost != nullptr);
  const std::uint64_t free = free_memory(device);
  if (has_pairs_) {
    // The tables of pairs use at most a quarter of the free memory, or as much as one pair needs.
    const std::uint64_t fitting = free / 4 / (kPairSlotBytes * graphs_.sites());
    pairs_.at_once = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        fitting, 1, pairs_at_once(graphs_.sites(), std::uint64_t{all} * (kReplicas / 2))));
  }
  const std::uint64_t fixed = kDriverBytes + bytes_of_pairs();
  require_device_memory(device,
                        fmt::format("{} of {} sites x {} replicas",
                                    is_houdayer() ? "Houdayer moves" : "Swendsen-Wang updates",
                                    graphs_.sites(), kReplicas),
                        fixed + each,
                        fmt::format("reduce replicas, temperatures or the size, or use {}",
                                    is_houdayer() ? "no Houdayer moves" : "Wolff updates"));
  const std::uint64_t room = items_in(free, fixed, each, 1);
  group_ =
      static_cast<std::uint32_t>(std::min<std::uint64_t>({all, room, kMaxItems / tiles_.count}));
  run_.houdayer = is_houdayer();
  run_.vec = graphs_.vec();
  // Other processes may have allocated memory since free_memory(): then the update processes
  // fewer word groups at a time.
  for (bool made = false; !made;) {
    try {
      take_memory(stream);
      made = true;
    } catch (const DeviceMemoryShort&) {
      if (group_ == 1 && pairs_.at_once <= 1) throw;
      check_cuda(cudaStreamSynchronize(stream), "clearing");
      group_ = (group_ + 1) / 2;
      pairs_.at_once = (pairs_.at_once + 1) / 2;
    }
  }
  check_cuda(cudaStreamSynchronize(stream), "clearing");
}

// Allocates the working memory of group_ word groups.
void SwendsenWangBatch::take_memory(cudaStream_t stream) {
  using Word = std::uint32_t;
  working_.clear();
  const std::size_t items = std::size_t{group_} * tiles_.count;
  const std::size_t nodes = std::size_t{group_} * 32 * tiles_.nodes_most;
  const std::size_t masks =
      masks_per_tile(tiles_.lattice.dim, tiles_.listed_most > 0, run_.ghost != nullptr);
  run_.masks = working_.make<Word>(items * masks * kLabelTileSites);
  run_.label = working_.make_zero<std::uint16_t>(items * 32 * kLabelTileSites, stream);
  run_.nodes = working_.make<Word>(items * 32);
  run_.parent = working_.make<Word>(nodes);
  run_.key = working_.make<Word>(nodes);
  run_.size = working_.make<Word>(nodes);
  // At least one word, even if no bond leaves a tile: a non-null pointer means that sites have
  // weights.
  if (weighted_) run_.weight = working_.make<Word>(std::max<std::size_t>(nodes, 1));
  run_.listed_open = working_.make<Word>(std::size_t{group_} * tiles_.listed_most);
  run_.sums = working_.make_zero<LabelSums>(std::size_t{group_} * 32, stream);
  const std::size_t slots = std::size_t{pairs_.at_once} * graphs_.sites();
  pairs_.slots = working_.make_zero<PairSlot>(slots, stream);
  pairs_.used = working_.make<Word>(slots);
  pairs_.count = working_.make<Word>(pairs_.at_once);
}

std::uint64_t SwendsenWangBatch::bytes_of_pairs() const {
  return std::uint64_t{pairs_.at_once} * graphs_.sites() * kPairSlotBytes;
}

std::uint32_t SwendsenWangBatch::launches() const {
  const std::uint32_t all = graphs_.graphs() * graphs_.word_groups();
  const std::uint32_t own =
      (tiles_.listed_most > 0 ? 9 : 6) - (is_houdayer() ? 1 : 0) + (run_.ghost == nullptr ? 0 : 1);
  return (all + group_ - 1) / group_ *
         (own + (has_pairs_ ? pair_launches(group_, pairs_.at_once) : 0));
}

void SwendsenWangBatch::queue(const GraphRange& range, const std::uint32_t* first_step,
                              std::uint32_t step, std::uint32_t updates, std::uint32_t* spins,
                              cudaStream_t stream) {
  const std::size_t from = std::size_t{range.first} * graphs_.word_groups();
  const std::uint32_t all = range.count * graphs_.word_groups();
  DeviceLabelTiles tiles = tiles_;
  const auto dim = static_cast<std::size_t>(tiles.lattice.dim);
  const std::size_t rows = std::size_t{range.first} * tiles.count * dim * kLabelRows;
  tiles.bonds += rows;
  if (tiles.negative != nullptr) tiles.negative += rows;
  tiles.node_first += std::size_t{range.first} * (tiles.count + 1);
  tiles.listed_count += range.first;
  tiles.listed += std::size_t{range.first} * tiles.listed_most;
  tiles.ends += std::size_t{range.first} * tiles.listed_most;
  tiles.tile_ends += std::size_t{range.first} * 2 * tiles.listed_most;
  tiles.ends_first += std::size_t{range.first} * (tiles.count + 1);
  tiles.weight_first += std::size_t{range.first} * (tiles.count + 1);
  tiles.weights += std::size_t{range.first} * tiles.weights_most;
  tiles.seeds = graphs_.seeds(range);
  LabelArgs run = run_;
  run.first_step = first_step;
  run.threshold += from;
  if (run.ghost != nullptr) run.ghost += from;
  run.spins = spins + range.first * graphs_.words();
  run.square = totals_.data() + from * kReplicas;
  const std::size_t kind = totals_.size() / kinds();
  run.quartic_low = run.square + kind;
  run.quartic_high = run.quartic_low + kind;
  if (weighted_) {
    run.cross = run.quartic_high + kind;
    run.weight_square = run.cross + kind;
  }
  DeviceClusterPairs pairs = pairs_;
  pairs.size = run.square + 5 * kind;
  pairs.cross = pairs.size + kind;
  pairs.weight = pairs.cross + kind;
  for (std::uint32_t first = 0; first < all; first += group_) {
    run.first = first;
    run.word_groups = std::min(group_, all - first);
    for (std::uint32_t u = 0; u < updates; ++u) {
      run.step = step + u;
      launch_bond_draws(tiles, run, stream);
      launch_tile_labels(tiles, run, stream);
      launch_tile_joins(tiles, run, stream);
      launch_node_roots(tiles, run, stream);
      if (has_pairs_) launch_cluster_pairs(tiles, run, pairs, stream);
      launch_label_flips(tiles, run, stream);
    }
  }
}

}  // namespace rewise::multispin
