#include "src/bundle/swendsen_wang/device_swendsen_wang.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "src/base/error.hpp"
#include "src/bundle/host_tables.hpp"

namespace rewise::bundle {
namespace {

struct Spot {
  std::uint32_t tile, place;
};

// Tile and place of a site.
template <int kDim>
Spot spot_of(const Lattice& lattice, const SwendsenWangTiles& tiles, Site site) {
  if (kDim <= 1) return {site / kLabelSites, site % kLabelSites};
  Spot spot{0, 0};
  std::uint32_t tile_stride = 1;
  for (int k = 0; k < kDim; ++k) {
    const std::uint32_t extent = lattice.extent[static_cast<unsigned>(k)];
    const std::uint32_t rest = k + 1 < kDim ? site / extent : 0;
    const std::uint32_t length = label_length<kDim>(k), at = site - rest * extent;
    spot.tile += at / length * tile_stride;
    spot.place += at % length * (k == 0 ? 1 : 32 * label_stride<kDim>(k));
    tile_stride *= tiles.along[k];
    site = rest;
  }
  return spot;
}

template <int kDim>
void cut(const Graph& graph, const Layout& layout, SwendsenWangTiles& tiles) {
  const Lattice& lattice = layout.lattice;
  tiles.count = 1;
  for (unsigned k = 0; k < (kDim < 2 ? 1 : kDim); ++k) {
    const std::uint64_t extent = kDim < 2 ? layout.sites : lattice.extent[k];
    tiles.along[k] = label_tiles(kDim, static_cast<int>(k), extent);
    tiles.count *= tiles.along[k];
  }
  tiles.bonds.assign(std::size_t{tiles.count} * kDim * kLabelRows, 0);
  std::vector<std::uint32_t> open_sites(std::size_t{tiles.count} * kLabelRows);  // that may be so
  const auto bond_word = [&](const Spot& at, int k) -> std::uint32_t& {
    return tiles.bonds[(std::size_t{at.tile} * kDim + static_cast<unsigned>(k)) * kLabelRows +
                       at.place / 32];
  };
  const auto open = [&](const Spot& at) {
    open_sites[std::size_t{at.tile} * kLabelRows + at.place / 32] |= 1u << at.place % 32;
  };
  auto removed = layout.removed.bond.begin();
  for (std::uint64_t s = 0; kDim > 0 && s < layout.sites; ++s) {
    const auto site = static_cast<Site>(s);
    const Spot here = spot_of<kDim>(lattice, tiles, site);
    for (int k = 0; k < kDim; ++k) {
      if (removed != layout.removed.bond.end() && *removed == s * kDim + static_cast<unsigned>(k)) {
        ++removed;
        continue;
      }
      bond_word(here, k) |= 1u << here.place % 32;
      const Site next = lattice.forward(site, k);
      const Spot there = spot_of<kDim>(lattice, tiles, next);
      // Within a tile places ascend; around a lattice of one tile they do not.
      if (there.tile == here.tile && next > site) continue;
      open(here);
      open(there);
    }
  }
  for (const RewiredBond& r : graph.rewired_bonds()) {
    const Spot a = spot_of<kDim>(lattice, tiles, r.a), b = spot_of<kDim>(lattice, tiles, r.b);
    open(a);
    open(b);
    tiles.listed.push_back(
        {static_cast<std::uint32_t>(r.bond), layout.slot(r.a), layout.slot(r.b)});
    tiles.ends.push_back({a.tile, b.tile, a.place | b.place << 16});
  }
  tiles.ends_first.assign(tiles.count + 1, 0);
  for (const LabelEnds& e : tiles.ends) {
    ++tiles.ends_first[e.tile_a + 1];
    ++tiles.ends_first[e.tile_b + 1];
  }
  std::partial_sum(tiles.ends_first.begin(), tiles.ends_first.end(), tiles.ends_first.begin());
  tiles.tile_ends.resize(2 * tiles.ends.size());
  std::vector<std::uint32_t> next_end = tiles.ends_first;
  for (std::uint32_t i = 0; const LabelEnds& e : tiles.ends) {
    tiles.tile_ends[next_end[e.tile_a]++] = {i, e.places & 0xFFFFu};
    tiles.tile_ends[next_end[e.tile_b]++] = {i++, e.places >> 16};
  }
  for (std::uint32_t nodes = 0, tile = 0; tile <= tiles.count; ++tile) {
    tiles.node_first.push_back(nodes);
    for (std::size_t row = 0; tile < tiles.count && row < kLabelRows; ++row) {
      nodes += static_cast<std::uint32_t>(std::popcount(open_sites[tile * kLabelRows + row]));
    }
  }
  tiles.weight_first.assign(tiles.count + 1, 0);
  tiles.weights.resize(graph.weights().size());
  for (const SiteWeight& w : graph.weights()) {
    ++tiles.weight_first[spot_of<kDim>(lattice, tiles, w.site).tile + 1];
  }
  std::partial_sum(tiles.weight_first.begin(), tiles.weight_first.end(),
                   tiles.weight_first.begin());
  std::vector<std::uint32_t> next = tiles.weight_first;
  for (const SiteWeight& w : graph.weights()) {
    const Spot at = spot_of<kDim>(lattice, tiles, w.site);
    tiles.weights[next[at.tile]++] = at.place | w.weight << 16;
  }
}

}  // namespace

SwendsenWangTiles::SwendsenWangTiles(const Graph& graph, const Layout& layout) {
  with_dim(layout.lattice.dim, [&]<int kDim>() { cut<kDim>(graph, layout, *this); });
}

namespace {

constexpr std::uint64_t kMostItems = 1u << 26;  // blocks of a launch are up to 8 an item

// Working memory of one bundle: masks, labels, ranks; nodes; listed bonds; sums.
std::uint64_t bytes_of_bundle(const DeviceLabelTiles& g, bool weighted) {
  const std::uint64_t tile =
      std::uint64_t{kLabelSites} * 4 * label_masks(g.lattice.dim, g.listed_most > 0) +
      32 * (kLabelSites * 2 + 4);
  return g.count * tile + 32 * std::uint64_t{g.nodes_most} * (weighted ? 16 : 12) +
         std::uint64_t{g.listed_most} * 4 + 32 * sizeof(LabelSums);
}

double gib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1ull << 30); }

}  // namespace

SwendsenWangBatch::SwendsenWangBatch(std::span<const EngineView> engines,
                                     const DeviceGraphs& graphs, int device, cudaStream_t stream)
    : graphs_(graphs) {
  lay_graphs(engines, stream);
  make_room(device, stream);
}

void SwendsenWangBatch::lay_graphs(std::span<const EngineView> engines, cudaStream_t stream) {
  auto hosts = tables_of<SwendsenWangTiles>(engines);
  std::vector<std::uint32_t> listed_count, threshold;
  for (const SwendsenWangTiles& host : hosts) {
    const auto listed = static_cast<std::uint32_t>(host.listed.size());
    listed_count.push_back(listed);
    tiles_.nodes_most = std::max(tiles_.nodes_most, host.node_first.back());
    tiles_.listed_most = std::max(tiles_.listed_most, listed);
    tiles_.weights_most =
        std::max(tiles_.weights_most, static_cast<std::uint32_t>(host.weights.size()));
  }
  for (const EngineView& e : engines) {
    seeds_.push_back(e.spec.seed);
    weighted_ = weighted_ || e.graph.is_weighted();
    for (std::uint32_t k = 0; k < e.bundles; ++k) {
      threshold.push_back(static_cast<std::uint32_t>(e.bond[k / e.groups]));
    }
  }
  for (SwendsenWangTiles& host : hosts) {
    host.listed.resize(tiles_.listed_most);
    host.ends.resize(tiles_.listed_most);
    host.tile_ends.resize(2 * std::size_t{tiles_.listed_most});
    host.weights.resize(tiles_.weights_most);
  }
  bonds_ = joined(hosts, &SwendsenWangTiles::bonds, stream);
  node_first_ = joined(hosts, &SwendsenWangTiles::node_first, stream);
  listed_ = joined(hosts, &SwendsenWangTiles::listed, stream);
  ends_ = joined(hosts, &SwendsenWangTiles::ends, stream);
  tile_ends_ = joined(hosts, &SwendsenWangTiles::tile_ends, stream);
  ends_first_ = joined(hosts, &SwendsenWangTiles::ends_first, stream);
  weight_first_ = joined(hosts, &SwendsenWangTiles::weight_first, stream);
  weights_ = joined(hosts, &SwendsenWangTiles::weights, stream);
  const auto upload = [&](const std::vector<std::uint32_t>& host) {
    return DeviceBuffer<std::uint32_t>(std::span<const std::uint32_t>(host), stream);
  };
  listed_count_ = upload(listed_count);
  threshold_ = upload(threshold);
  check_cuda(cudaStreamSynchronize(stream), "copying tiles to the device");
  tiles_.lattice = graphs_.lattice({});
  tiles_.bundles = graphs_.bundles();
  std::copy_n(hosts.front().along, 4, tiles_.along);
  tiles_.count = hosts.front().count;
  tiles_.bonds = bonds_.data();
  tiles_.node_first = node_first_.data();
  tiles_.listed_count = listed_count_.data();
  tiles_.listed = listed_.data();
  tiles_.ends = ends_.data();
  tiles_.tile_ends = tile_ends_.data();
  tiles_.ends_first = ends_first_.data();
  tiles_.weight_first = weight_first_.data();
  tiles_.weights = weights_.data();
}

void SwendsenWangBatch::make_room(int device, cudaStream_t stream) {
  const std::uint32_t all = graphs_.graphs() * graphs_.bundles();
  totals_ = DeviceBuffer<unsigned long long>(kinds() * all * kReplicas);
  totals_.clear(stream);
  const std::uint64_t each = bytes_of_bundle(tiles_, weighted_),
                      fixed = 64ull << 20;  // for the driver
  const std::size_t free = free_device_memory();
  // A quarter stays for others, unless one bundle needs it.
  const std::uint64_t room_of_all = free > fixed ? (free - fixed) / each : 0;
  const std::uint64_t room =
      std::max<std::uint64_t>(room_of_all * 3 / 4, std::min<std::uint64_t>(room_of_all, 1));
  group_ =
      static_cast<std::uint32_t>(std::min<std::uint64_t>({all, room, kMostItems / tiles_.count}));
  if (group_ == 0) {
    throw Error(ExitCode::device,
                fmt::format("cuda:{}: {:.1f} GiB are needed for the Swendsen-Wang update of {} "
                            "sites x 32 replicas, {:.1f} GiB are free (reduce replicas, "
                            "temperatures or the size, or take Wolff updates)",
                            device, gib(fixed + each), graphs_.sites(), gib(free)));
  }
  // Between the question and this others may have taken some of it: fewer at a time then.
  for (bool made = false; !made;) {
    try {
      take_memory();
      made = true;
    } catch (const DeviceMemoryShort&) {
      if (group_ == 1) throw;
      group_ = (group_ + 1) / 2;
    }
  }
  label_.clear(stream);
  sums_.clear(stream);
  run_.threshold = threshold_.data();
  run_.vec = graphs_.vec();
  run_.masks = masks_.data();
  run_.label = label_.data();
  run_.nodes = nodes_.data();
  run_.parent = parent_.data();
  run_.key = key_.data();
  run_.size = size_.data();
  run_.weight = weighted_ ? weight_.data() : nullptr;
  run_.listed_open = listed_open_.data();
  run_.sums = sums_.data();
  check_cuda(cudaStreamSynchronize(stream), "clearing");
}

// For group_ bundles at a time.
void SwendsenWangBatch::take_memory() {
  using Words = DeviceBuffer<std::uint32_t>;
  for (Words* words : {&masks_, &nodes_, &parent_, &key_, &size_, &weight_, &listed_open_}) {
    *words = Words();
  }
  label_ = {};
  const std::size_t items = std::size_t{group_} * tiles_.count;
  const std::size_t masks = label_masks(tiles_.lattice.dim, tiles_.listed_most > 0);
  masks_ = Words(items * masks * kLabelSites);
  label_ = DeviceBuffer<std::uint16_t>(items * 32 * kLabelSites);
  nodes_ = Words(items * 32);
  parent_ = Words(std::size_t{group_} * 32 * tiles_.nodes_most);
  key_ = Words(parent_.size());
  size_ = Words(parent_.size());
  // At least a word: that there is one says that sites have weights, where no bond leaves a tile,
  // too.
  if (weighted_) weight_ = Words(std::max<std::size_t>(parent_.size(), 1));
  listed_open_ = Words(std::size_t{group_} * tiles_.listed_most);
  sums_ = DeviceBuffer<LabelSums>(std::size_t{group_} * 32);
}

std::uint32_t SwendsenWangBatch::launches() const {
  const std::uint32_t all = graphs_.graphs() * graphs_.bundles();
  return (all + group_ - 1) / group_ * (tiles_.listed_most > 0 ? 9 : 6);
}

void SwendsenWangBatch::queue(const GraphRange& range, const std::uint32_t* first_step,
                              std::uint32_t step, std::uint32_t updates, std::uint32_t* spins,
                              cudaStream_t stream) {
  const std::size_t from = std::size_t{range.first} * graphs_.bundles();
  const std::uint32_t all = range.count * graphs_.bundles();
  DeviceLabelTiles tiles = tiles_;
  const auto dim = static_cast<std::size_t>(tiles.lattice.dim);
  tiles.bonds += std::size_t{range.first} * tiles.count * dim * kLabelRows;
  tiles.node_first += std::size_t{range.first} * (tiles.count + 1);
  tiles.listed_count += range.first;
  tiles.listed += std::size_t{range.first} * tiles.listed_most;
  tiles.ends += std::size_t{range.first} * tiles.listed_most;
  tiles.tile_ends += std::size_t{range.first} * 2 * tiles.listed_most;
  tiles.ends_first += std::size_t{range.first} * (tiles.count + 1);
  tiles.weight_first += std::size_t{range.first} * (tiles.count + 1);
  tiles.weights += std::size_t{range.first} * tiles.weights_most;
  for (std::uint32_t k = 0; k < range.count; ++k) {
    tiles.seeds.low[k] = static_cast<std::uint32_t>(seeds_[range.first + k]);
    tiles.seeds.high[k] = static_cast<std::uint32_t>(seeds_[range.first + k] >> 32);
  }
  DeviceLabelRun run = run_;
  run.first_step = first_step;
  run.threshold += from;
  run.spins = spins + range.first * graphs_.words();
  run.square = totals_.data() + from * kReplicas;
  const std::size_t kind = totals_.size() / kinds();
  run.quartic_low = run.square + kind;
  run.quartic_high = run.quartic_low + kind;
  if (weighted_) {
    run.cross = run.quartic_high + kind;
    run.weight_square = run.cross + kind;
  }
  for (std::uint32_t first = 0; first < all; first += group_) {
    run.first = first;
    run.bundles = std::min(group_, all - first);
    for (std::uint32_t u = 0; u < updates; ++u) {
      run.step = step + u;
      launch_swendsen_wang(tiles, run, stream);
    }
  }
}

}  // namespace rewise::bundle
