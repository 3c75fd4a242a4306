#include "src/multispin/wolff/wolff_batch_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "src/base/error.hpp"
#include "src/cuda/devices.hpp"
#include "src/cuda/require_memory.hpp"
#include "src/multispin/bonds_on_device_cuda.hpp"
#include "src/multispin/host_tables_cuda.hpp"
#include "src/multispin/wolff/wolff.hpp"
#include "src/multispin/wolff/wolff_dense_cuda.hpp"

namespace rewise::multispin {
namespace {

struct Pair {
  std::uint32_t bond;
  Site a, b;
  Slot sign = 0;  // kNegative if J = -1
};

// Marks the bonds of the lattice. In one dimension, bonds between tiles are returned instead.
template <int kDim>
std::vector<Pair> lay_lattice_bonds(const Graph& graph, const Layout& layout, WolffTiles& tiles) {
  const Lattice& lattice = graph.lattice();
  constexpr unsigned dim = kDim;
  tiles.bonds.assign(std::size_t{tiles.count} * dim * 32, 0);
  if (layout.has_signs) tiles.negative.assign(tiles.bonds.size(), 0);
  const auto word = [](std::vector<std::uint32_t>& words, const TilePlace& at,
                       unsigned k) -> std::uint32_t& {
    return words[(std::size_t{at.tile} * dim + k) * kTileRows + at.place / 32];
  };
  const auto is_negative = [&](Site site, unsigned k) {
    return layout.has_signs && (layout.sign[lattice.colour(site)][site / 2] >> 2 * k & 1u) != 0;
  };
  for (Site site = 0; site < graph.sites(); ++site) {
    const TilePlace at = DenseTile<kDim>::place_of(lattice.extent, tiles.along, site);
    for (unsigned k = 0; k < dim; ++k) {
      word(tiles.bonds, at, k) |= 1u << at.place % 32;
      if (is_negative(site, k)) word(tiles.negative, at, k) |= 1u << at.place % 32;
    }
  }
  graph.for_each_gone([&](Bond bond) {
    const TilePlace at =
        DenseTile<kDim>::place_of(lattice.extent, tiles.along, lattice.home_a(bond));
    word(tiles.bonds, at, static_cast<unsigned>(bond % dim)) &= ~(1u << at.place % 32);
  });
  std::vector<Pair> between;
  for (std::uint32_t tile = 0; dim == 1 && tile < tiles.count; ++tile) {
    const auto last =
        static_cast<Site>(std::min<std::uint64_t>(graph.sites(), (tile + 1ull) * kTileSites) - 1);
    const TilePlace at = DenseTile<kDim>::place_of(lattice.extent, tiles.along, last);
    std::uint32_t& bonds = word(tiles.bonds, at, 0);
    if ((bonds >> at.place % 32 & 1u) == 0) continue;
    bonds &= ~(1u << at.place % 32);
    const Slot sign = is_negative(last, 0) ? kNegative : 0;
    between.push_back({last, last, lattice.forward(last, 0), sign});
  }
  return between;
}

template <int kDim>
void file_ends(const Lattice& lattice, const Layout& layout, const std::vector<Pair>& pairs,
               WolffTiles& tiles) {
  if (pairs.size() > 0x7FFFFFFFu) {
    throw Error(ExitCode::data, fmt::format("{} rewired bonds are too many for the dense Wolff "
                                            "update (below 2^31)",
                                            pairs.size()));
  }
  const auto lists_of = [](const TilePlace& a, const TilePlace& b) {
    const std::size_t outer = a.tile == b.tile ? 0 : 1;
    return std::pair{2 * std::size_t{a.tile} + outer, 2 * std::size_t{b.tile} + outer};
  };
  tiles.end_first.assign(2 * std::size_t{tiles.count} + 1, 0);
  std::vector<std::array<TilePlace, 2>> pair_sites;
  pair_sites.reserve(pairs.size());
  for (const Pair& p : pairs) {
    pair_sites.push_back({DenseTile<kDim>::place_of(lattice.extent, tiles.along, p.a),
                          DenseTile<kDim>::place_of(lattice.extent, tiles.along, p.b)});
    const auto [a, b] = lists_of(pair_sites.back()[0], pair_sites.back()[1]);
    ++tiles.end_first[a + 1];
    if (a != b) ++tiles.end_first[b + 1];
  }
  for (std::size_t k = 1; k < tiles.end_first.size(); ++k) {
    tiles.end_first[k] += tiles.end_first[k - 1];
  }
  std::vector<std::uint32_t> next(tiles.end_first.begin(), tiles.end_first.end() - 1);
  tiles.end.resize(tiles.end_first.back());
  tiles.listed.reserve(pairs.size());
  for (auto next_pair = pair_sites.begin(); const Pair& p : pairs) {
    const auto [near, far] = *next_pair++;
    const auto [a, b] = lists_of(near, far);
    ListedBond bond{p.bond, layout.slot(p.a) | p.sign, layout.slot(p.b), 0, 0};
    bond.end_a = bond.end_b = next[a]++;
    if (a != b) {
      bond.end_b = next[b]++;
      tiles.end[bond.end_b] = {far.place | near.place << 10, near.tile, bond.end_a};
    }
    tiles.end[bond.end_a] = {near.place | far.place << 10, far.tile, bond.end_b};
    tiles.listed.push_back(bond);
  }
}

}  // namespace

WolffTiles::WolffTiles(const Graph& graph, const Layout& layout) {
  const Lattice& lattice = graph.lattice();
  count = 1;
  for (int k = 0; k < std::max(lattice.dim, 1); ++k) {
    const std::uint64_t extent =
        lattice.dim < 2 ? graph.sites() : lattice.extent[static_cast<unsigned>(k)];
    along[k] = tiles_along(lattice.dim, k, extent, kTileRows);
    count *= along[k];
  }
  with_dim(lattice.dim, [&]<int kDim>() {
    std::vector<Pair> pairs;
    if constexpr (kDim > 0) pairs = lay_lattice_bonds<kDim>(graph, layout, *this);
    pairs.reserve(pairs.size() + graph.rewired_bonds().size());
    auto entry = layout.rewired.a.begin();
    for (const RewiredBond& r : graph.rewired_bonds()) {
      pairs.push_back({static_cast<std::uint32_t>(r.bond), r.a, r.b, *entry++ & kNegative});
    }
    file_ends<kDim>(lattice, layout, pairs, *this);
  });
}

namespace {

constexpr std::uint32_t kLine = 16;  // distance of two counters in words, so that they are in
                                     // different cache lines
constexpr std::uint64_t kMinQueue = 65536;  // larger than the number of resident warps of a device
constexpr std::uint64_t kMaxQueue = 1ull << 30;

// Bytes of working memory of one word group: reached and open words, columns at edges of tiles,
// state and up to four entries in the queue per tile; three words per end of a listed bond.
std::uint64_t word_group_bytes(std::uint32_t tiles, int dim, std::uint64_t ends) {
  const std::uint64_t words = (1 + static_cast<unsigned>(dim)) * std::uint64_t{kTileSites} + 69;
  return tiles * words * 4 + ends * 12 + 4;
}

}  // namespace

std::uint64_t DenseWolffBatch::least_bytes(const EngineView& engine, int vec) {
  const WolffTiles tiles(engine.graph, engine.layout);
  return static_cast<unsigned>(few_of(vec)) *
         word_group_bytes(tiles.count, engine.layout.lattice.dim, tiles.end.size());
}

DenseWolffBatch::DenseWolffBatch(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                                 int device, cudaStream_t stream)
    : graphs_(graphs) {
  lay_graphs(engines, stream);
  make_room(device, stream);
}

void DenseWolffBatch::lay_graphs(std::span<const EngineView> engines, cudaStream_t stream) {
  std::vector<WolffTiles> hosts(engines.size());
  on_all_cores(hosts.size(), hosts.size() * graphs_.sites(),
               [&](std::size_t k) { hosts[k] = WolffTiles(engines[k].graph, engines[k].layout); });
  std::vector<std::uint32_t> listed_count;
  for (const WolffTiles& host : hosts) {
    listed_count.push_back(static_cast<std::uint32_t>(host.listed.size()));
    tiles_.ends = std::max(tiles_.ends, static_cast<std::uint32_t>(host.end.size()));
    tiles_.listed_most = std::max(tiles_.listed_most, listed_count.back());
  }
  for (WolffTiles& host : hosts) {
    host.end.resize(tiles_.ends, {0, 0, 0});
    host.listed.resize(tiles_.listed_most, {0, 0, 0, 0, 0});
  }
  tiles_.bonds = memory_.keep(joined(hosts, &WolffTiles::bonds, stream));
  tiles_.signs = engines.front().layout.has_signs;
  if (tiles_.signs) tiles_.negative = memory_.keep(joined(hosts, &WolffTiles::negative, stream));
  tiles_.end_first = memory_.keep(joined(hosts, &WolffTiles::end_first, stream));
  tiles_.end = memory_.keep(joined(hosts, &WolffTiles::end, stream));
  tiles_.listed = memory_.keep(joined(hosts, &WolffTiles::listed, stream));
  tiles_.listed_count = memory_.upload(listed_count, stream);
  const WolffTiles& first = hosts.front();
  tiles_.lattice = graphs_.lattice({});
  tiles_.word_groups = graphs_.word_groups();
  std::copy_n(first.along, kMaxDim, tiles_.along);
  tiles_.count = first.count;
}

void DenseWolffBatch::make_room(int device, cudaStream_t stream) {
  const auto pack = static_cast<std::uint32_t>(few_of(graphs_.vec()));
  const std::uint32_t all = graphs_.graphs() * graphs_.word_groups();
  const std::uint64_t each = word_group_bytes(tiles_.count, tiles_.lattice.dim, tiles_.ends);
  const std::uint64_t fixed = kMinQueue * 4 + kDriverBytes;
  const std::uint64_t free = require_device_memory(
      device, fmt::format("dense Wolff updates of {} replicas", pack * kReplicas),
      fixed + each * pack, "reduce replicas, temperatures or the size");
  const std::uint64_t room = items_in(free, fixed, each, pack);
  const std::uint64_t queue_room = kMaxQueue / 2 / tiles_.count;
  group_ =
      static_cast<std::uint32_t>(std::min<std::uint64_t>({all, room, queue_room}) / pack * pack);
  const std::size_t items = std::size_t{group_} * tiles_.count;
  const auto dim = static_cast<std::size_t>(tiles_.lattice.dim);
  const std::size_t ends = std::size_t{group_} * tiles_.ends;
  const std::size_t entries = std::max<std::size_t>(kMinQueue, std::bit_ceil(2 * items));
  using Word = std::uint32_t;
  run_.vec = graphs_.vec();
  run_.grow_blocks = dense_grow_blocks(tiles_.lattice.dim);
  run_.seed_spin = memory_.make<Word>(group_);
  run_.bound = memory_.make<Word>(group_);
  run_.reached = memory_.make_zero<Word>(items * kTileSites, stream);
  run_.edge = memory_.make_zero<Word>(items * 64, stream);
  run_.open = memory_.make<Word>(items * kTileSites * dim);
  run_.open_end = memory_.make<Word>(ends);
  run_.sent = memory_.make<Word>(ends);
  run_.mail = memory_.make<Word>(ends);
  run_.state = memory_.make_zero<Word>(items, stream);
  auto* const counters = memory_.make<unsigned long long>(2 * kLine);
  run_.queue = {memory_.make_zero<Word>(entries, stream), static_cast<Word>(entries - 1),
                reinterpret_cast<Word*>(counters), counters + kLine};
  check_cuda(cudaStreamSynchronize(stream), "clearing");
}

void DenseWolffBatch::queue(const GraphRange& range, const WolffRun& first, std::uint32_t updates,
                            cudaStream_t stream) {
  const std::uint32_t all = range.count * graphs_.word_groups();
  DeviceTiles tiles = tiles_;
  const std::size_t rows =
      std::size_t{range.first} * tiles.count * static_cast<unsigned>(tiles.lattice.dim) * kTileRows;
  tiles.bonds += rows;
  if (tiles.signs) tiles.negative += rows;
  tiles.end_first += std::size_t{range.first} * (2 * tiles.count + 1);
  tiles.end += std::size_t{tiles_.ends} * range.first;
  tiles.listed_count += range.first;
  tiles.listed += std::size_t{tiles_.listed_most} * range.first;
  tiles.seeds = graphs_.seeds(range);
  DenseWolffArgs run = run_;
  static_cast<WolffRun&>(run) =
      first.from(std::size_t{range.first} * graphs_.word_groups(), range.first * graphs_.words());
  for (run.first = 0; run.first < all; run.first += group_) {
    run.word_groups = std::min(group_, all - run.first);
    for (std::uint32_t u = 0; u < updates; ++u) {
      run.step = first.step + u;
      launch_dense_wolff(tiles, run, stream);
    }
  }
}

namespace {

// The mean share of sites flipped per cluster at which both forms take the same time (measured:
// tests/bench/RESULTS.md). The sparse form is slower if its planes are in global memory. The time
// of the dense form grows with the mean number of shortcuts per site; if all bonds are rewired, it
// is slower than the sparse form near Tc.
double dense_share(const WolffLaunch& shape, double shortcuts) {
  constexpr double kFewShortcuts = 0.2;
  if (shape.slots > shape.near) return 0.06 + 0.25 * std::max(0.0, shortcuts - kFewShortcuts);
  return 0.12 + 0.42 * shortcuts;
}

// Extra time if word groups of a launch use different forms, relative to the dense form for all:
// 0.25 at L = 512, 0.5 at 256, 0.7 at 32^3.
constexpr double kBothForms = 0.4;

// The special sites of one graph that have too many links for one row.
struct CrowdedSites {
  std::vector<std::uint64_t> to;  // row numbers, counted through all graphs
  std::vector<uint2> rows, more;

  void find(const Graph& graph, const SpecialSites& sites, std::uint64_t first_row) {
    const std::uint32_t width = link_row(graph.lattice().dim);
    const auto modified = graph.modified_sites();
    const auto offsets = graph.offsets(), bonds = graph.neighbour_bonds();
    for (std::size_t m = 0; m < modified.size(); ++m) {
      const auto links = static_cast<std::uint32_t>(offsets[m + 1] - offsets[m]);
      if (links <= width) continue;
      const Site site = modified[m];
      const std::uint32_t before = sites.special[site / 32] & ((1u << site % 32) - 1);
      to.push_back(first_row + sites.special_before[site / 32] +
                   static_cast<unsigned>(std::popcount(before)));
      const std::uint32_t behind = links - (width - 1);
      const uint2 rest = make_uint2(kMoreLinks, static_cast<std::uint32_t>(more.size()));
      more.push_back(make_uint2(behind, 0));
      for (std::uint32_t k = 0; k < links; ++k) {
        (k + 1 < width ? rows : more)
            .push_back(make_uint2(graph.neighbours()[offsets[m] + k],
                                  static_cast<std::uint32_t>(bonds[offsets[m] + k])));
      }
      rows.push_back(rest);
    }
  }
};

// With couplings or a field only the dense form is used: the sparse one recognises the sites of a
// cluster by their spins, which differ with couplings, and flips while the cluster grows.
bool only_dense(const EngineView& engine) {
  return engine.layout.has_signs || engine.temperatures.front().ghost.any;
}
WolffForm form_of(std::span<const EngineView> engines, const EngineOptions& options) {
  if (only_dense(engines.front())) return WolffForm::dense;
  return options.methods.wolff_form;
}

}  // namespace

DeviceWolffBatch::DeviceWolffBatch(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                                   const EngineOptions& options, cudaStream_t stream)
    : engines_(engines),
      graphs_(graphs),
      device_(options.device),
      form_(form_of(engines, options)),
      replicas_(graphs.graphs() * graphs.word_groups() * kReplicas),
      updates_(graphs.graphs(), 0),
      dense_groups_(replicas_ / kReplicas, 0) {
  flipped_ = DeviceBuffer<unsigned long long>(replicas_);
  flipped_.clear(stream);
  run_.flipped = flipped_.data();
  if (form_ == WolffForm::dense) mix_ = kDense;
  lay_thresholds(stream);
  if (!only_dense(engines.front())) lay_graphs(stream);
  if (mix_ != kDense) make_room(stream);
  if (mix_ == kDense) {
    dense_ = std::make_unique<DenseWolffBatch>(engines_, graphs_, device_, stream);
  }
}

void DeviceWolffBatch::lay_thresholds(cudaStream_t stream) {
  std::vector<std::uint32_t> bond;
  std::vector<GhostBonds> ghost;
  for (const EngineView& e : engines_) {
    check_bond_numbers(e.graph, "Wolff");
    for (std::uint32_t b = 0; b < e.word_groups; ++b) {
      bond.push_back(static_cast<std::uint32_t>(e.rules_of(b).bond));
      ghost.push_back(e.rules_of(b).ghost);
    }
  }
  if (ghost.front().any) run_.ghost = memory_.upload(ghost, stream);
  run_.threshold = memory_.upload(bond, stream);
}

void DeviceWolffBatch::lay_graphs(cudaStream_t stream) {
  const std::size_t count = engines_.size(), work = count * graphs_.sites();
  const std::size_t width = link_row(graphs_.lattice({}).dim);
  std::vector<std::optional<SpecialSites>> sites(count);
  on_all_cores(count, work, [&](std::size_t k) { sites[k].emplace(engines_[k].graph); });
  std::vector<std::uint64_t> first{0};  // number of rows of earlier graphs
  for (const auto& own : sites) first.push_back(first.back() + own->count);
  wolff_.plane_words = sites.front()->plane_words;
  const Staged<uint2> specials(std::vector<std::size_t>(count, wolff_.plane_words));
  std::vector<CrowdedSites> crowded(count);
  on_all_cores(count, work, [&](std::size_t k) {
    for (std::size_t w = 0; w < wolff_.plane_words; ++w) {
      specials[k][w] = make_uint2(sites[k]->special[w], sites[k]->special_before[w]);
    }
    crowded[k].find(engines_[k].graph, *sites[k], first[k]);
  });
  const uint2* const special = memory_.keep(specials.to_device(stream));
  const uint2* const more_links = memory_.keep(joined(crowded, &CrowdedSites::more, stream));
  uint2* const row = memory_.make<uint2>(first.back() * width);
  {
    const BondsOnDevice bonds(engines_, graphs_, stream);
    const auto made_to = joined(crowded, &CrowdedSites::to, stream);
    const auto made = joined(crowded, &CrowdedSites::rows, stream);
    const DeviceBuffer<std::uint64_t> rows_before(std::span<const std::uint64_t>(first), stream);
    DeviceBuffer<std::uint32_t> links(first.back());
    launch_wolff_rows({bonds.view(), special, rows_before.data(), wolff_.plane_words, row,
                       links.data(), made.data(), made_to.data(), made_to.size()},
                      first.back(), stream);
    check_cuda(cudaStreamSynchronize(stream), "laying out links");
  }
  std::vector<DeviceWolffGraph> graphs;
  std::uint64_t bonds = 0, shortcuts = 0;
  for (std::size_t more = 0, k = 0; k < engines_.size(); ++k) {
    const EngineView& e = engines_[k];
    graphs.push_back(
        {e.spec.seed, special + specials.first(k), row + first[k] * width, more_links + more});
    more += crowded[k].more.size();
    bonds = std::max(bonds, e.graph.bonds());
    shortcuts += e.layout.rewired.count;
  }
  wolff_graphs_ = memory_.upload(graphs, stream);
  wolff_.lattice = graphs_.lattice({});
  const double all_sites = static_cast<double>(graphs_.sites()) * graphs_.graphs();
  const double special_share = static_cast<double>(first.back()) / all_sites;
  launch_ =
      choose_wolff_launch(wolff_.lattice.dim, wolff_.plane_words, replicas_, bonds, special_share);
  dense_share_ = dense_share(launch_, static_cast<double>(shortcuts) / all_sites);
}

// The pool of a slot must have room for every bond, so large lattices have fewer slots.
void DeviceWolffBatch::make_room(cudaStream_t stream) {
  planes_ = DeviceBuffer<std::uint32_t>(std::size_t{replicas_} * wolff_.plane_words);
  const std::size_t pool_bytes = launch_.pool_of_slot() * sizeof(uint2);
  const std::uint64_t free =
      require_device_memory(device_, "the candidates of a Wolff cluster", pool_bytes,
                            "reduce replicas, temperatures or the size");
  launch_.restrict_slots(free / 4 / pool_bytes);
  const std::size_t slots = std::size_t{launch_.blocks} * launch_.slots;
  pool_ = DeviceBuffer<uint2>(slots * launch_.pool_of_slot());
  check_cuda(cudaMemsetAsync(pool_.data(), 0xFF, pool_.bytes(), stream), "clearing");
  progress_ = DeviceBuffer<unsigned>(1 + std::size_t{replicas_});
  forms_ = DeviceBuffer<std::uint32_t>(dense_groups_.size());
}

void DeviceWolffBatch::queue(const GraphRange& range, const std::uint32_t* first_step,
                             std::uint32_t step, std::uint32_t updates, std::uint32_t* spins,
                             cudaStream_t stream) {
  WolffRun run = run_;
  run.first_step = first_step;
  run.step = step;
  run.spins = spins;
  if (mix_ == kBoth) run.active = forms_.data();
  if (mix_ != kDense) queue_sparse(range, run, updates, stream);
  if (mix_ != kSparse) dense_->queue(range, run, updates, stream);
}

void DeviceWolffBatch::queue_sparse(const GraphRange& range, const WolffRun& first,
                                    std::uint32_t updates, cudaStream_t stream) {
  const std::uint32_t word_groups = range.count * graphs_.word_groups();
  const std::size_t before = std::size_t{range.first} * graphs_.word_groups();
  const WolffRun from = first.from(before, range.first * graphs_.words());
  std::uint32_t* planes = planes_.data() + before * kReplicas * wolff_.plane_words;
  launch_words_to_planes(wolff_, word_groups, graphs_.vec(), from.spins, planes, stream);
  progress_.clear(stream);
  SparseWolffArgs run{};
  run.graphs = wolff_graphs_ + range.first;
  run.replicas_per_graph = graphs_.replicas();
  run.replicas = range.count * graphs_.replicas();
  run.first_step = from.first_step;
  run.step = from.step;
  run.updates = updates;
  run.threshold = from.threshold;
  run.planes = planes;
  run.pool = pool_.data();
  run.pool_chunks = launch_.pool_chunks;
  run.flipped = from.flipped;
  run.progress = progress_.data();
  run.dense = from.active;
  launch_wolff(wolff_, run, launch_, stream);
  launch_planes_to_words(wolff_, word_groups, graphs_.vec(), planes, from.spins, stream);
}

void DeviceWolffBatch::count(const GraphRange& range, std::uint64_t updates) {
  for (std::uint32_t k = 0; k < range.count; ++k) updates_[range.first + k] += updates;
}

void DeviceWolffBatch::learn(std::span<const unsigned long long> flipped, cudaStream_t stream) {
  if (form_ != WolffForm::automatic || !dense_fits_) return;
  const auto all = static_cast<double>(graphs_.sites()) * kReplicas;
  std::vector<std::uint32_t> forms = dense_groups_;
  std::vector<std::size_t> counted;
  double sparse = 0, both = 0;  // time of the updates in units of the dense form of one word group
  for (std::size_t b = 0; b < forms.size(); ++b) {
    const std::uint64_t updates = updates_[b / graphs_.word_groups()];
    if (updates == 0) continue;
    double sites = 0;
    for (std::size_t r = 0; r < kReplicas; ++r) {
      sites += static_cast<double>(flipped[b * kReplicas + r]);
    }
    const double cost = sites / (dense_share_ * all * static_cast<double>(updates));
    forms[b] = cost > 1 ? ~0u : 0u;
    counted.push_back(b);
    sparse += cost;
    both += std::min(cost, 1.0);
  }
  // Two forms that run one after the other use the device less well.
  const auto dense = static_cast<double>(counted.size());
  if (std::min(sparse, dense) < both + kBothForms * dense) {
    for (const std::size_t b : counted) forms[b] = dense < sparse ? ~0u : 0u;
  }
  std::fill(updates_.begin(), updates_.end(), 0);
  if (counted.empty()) return;
  if (!dense_ && std::ranges::count(forms, ~0u) > 0) {
    const std::uint64_t least = DenseWolffBatch::least_bytes(engines_.front(), graphs_.vec());
    const std::uint64_t free = free_memory(device_);
    dense_fits_ = free / 2 > least;
    if (!dense_fits_) return;
    dense_ = std::make_unique<DenseWolffBatch>(engines_, graphs_, device_, stream);
  }
  // Counts only word groups that made updates.
  const auto dense_ones =
      std::ranges::count_if(counted, [&](std::size_t b) { return forms[b] != 0; });
  mix_ = dense_ones == 0 ? kSparse : dense_ones == std::ssize(counted) ? kDense : kBoth;
  if (forms == dense_groups_) return;
  dense_groups_ = forms;
  forms_.copy_in(dense_groups_, stream);
}

}  // namespace rewise::multispin
