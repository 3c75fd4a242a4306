// A Swendsen-Wang update step by step (swendsen_wang_cuda.hpp).
#include "src/bytespin/swendsen_wang/border_bonds.hpp"
#include "src/bytespin/swendsen_wang/labels.cuh"
#include "src/cuda/forest.cuh"
#include "src/cuda/replica_items.cuh"

namespace rewise::bytespin {
namespace {

using namespace device;

constexpr unsigned kWarps = 4, kFlipWarps = 8;  // per block

// Step 1, draw: masks of drawn bonds.

constexpr std::uint64_t kCallsPerWarp = 256;
constexpr unsigned kRounds = kCallsPerWarp / 32;

// The number of calls is rounded up to whole warps.
std::uint64_t draw_warps(const GraphView& graph) {
  return (graph.bond_draws + 4 * kCallsPerWarp - 1) / (4 * kCallsPerWarp);
}

// A warp makes 256 calls for 16 blocks of draws, two blocks in each round. Lane n keeps the masks
// of round n.
__global__ void __launch_bounds__(kItemThreads)
    draw_bonds(const __grid_constant__ GraphView graph, const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ DeviceReplicas replicas, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;  // whole warps
  const std::uint64_t warp = item.index / 32;
  const unsigned lane = threadIdx.x % 32;
  const Threshold bond = graph.bond[replicas.temperature(item.replica)];
  const DrawKey key = replicas.key(item.replica);
  uint4 kept = make_uint4(0, 0, 0, 0);
#pragma unroll 4
  for (unsigned n = 0; n < kRounds; ++n) {
    const DrawnBlocks drawn(key, warp * kCallsPerWarp + n * 32 + lane, bond);
    const uint2 first = drawn.mask(false), second = drawn.mask(true);
    if (lane == n) kept = make_uint4(first.x, first.y, second.x, second.y);
  }
  if (lane < kRounds) {
    std::uint32_t* out = labels.drawn + item.replica * labels.drawn_stride;
    reinterpret_cast<uint4*>(out)[warp * kRounds + lane] = kept;
  }
}

// Determines whether a rewired bond is open, and removes the bit of its former lattice bond. Every
// draw index occurs in at most one rewired bond, so each bit is removed once.
__device__ __forceinline__ void split(const GraphView& graph, const DeviceLabels& labels,
                                      const DeviceReplicas& replicas, std::uint32_t replica,
                                      std::uint64_t index) {
  const IndexedBond bond = graph.rewired[index];
  std::uint32_t* word = labels.drawn + replica * labels.drawn_stride + (bond.draw_index >> 5);
  const std::uint32_t bit = 1u << (bond.draw_index & 31u);
  const bool gone = bond.draw_index < graph.bond_draw_index.lattice_draws;
  const bool on = ((gone ? atomicAnd(word, ~bit) : *word) & bit) != 0;
  const std::uint8_t* spins = replicas.spins_of(replica);
  labels.rewired_on[replica * graph.rewired_count + index] = on && spins[bond.a] == spins[bond.b];
}

__global__ void __launch_bounds__(kItemThreads)
    split_rewired(const __grid_constant__ GraphView graph,
                  const __grid_constant__ DeviceLabels labels,
                  const __grid_constant__ DeviceReplicas replicas, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) split(graph, labels, replicas, item.replica, item.index);
}

void launch_draw(const GraphView& graph, const DeviceLabels& labels, const DeviceReplicas& replicas,
                 cudaStream_t stream) {
  launch(draw_bonds, ReplicaItems(32 * draw_warps(graph), replicas.count), stream, graph, labels,
         replicas);
  launch(split_rewired, ReplicaItems(graph.rewired_count, replicas.count), stream, graph, labels,
         replicas);
}

// Potts: keeps the drawn lattice bonds between equal spins. A warp does so for 32 sites.
template <int kDim>
__global__ void __launch_bounds__(kItemThreads)
    keep_equal(const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ DeviceReplicas replicas, std::uint64_t sites,
               ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;  // whole warps
  const unsigned lane = threadIdx.x % 32;
  const std::uint8_t* spins = replicas.spins_of(item.replica);
  const auto site = static_cast<Site>(item.index < sites ? item.index : 0);
  std::uint32_t* drawn = labels.drawn + item.replica * labels.drawn_stride + item.index / 32 * kDim;
  std::uint32_t c[kDim];
  labels.geometry.coordinates<kDim>(site, c);
#pragma unroll
  for (int k = 0; k < kDim; ++k) {
    const Site ahead = labels.geometry.forward(site, c[k], k);
    const std::uint32_t equal = __ballot_sync(~0u, spins[site] == spins[ahead]);
    if (lane == static_cast<unsigned>(k)) drawn[k] &= equal;
  }
}

void launch_keep_equal(const GraphView& graph, const DeviceLabels& labels,
                       const DeviceReplicas& replicas, cudaStream_t stream) {
  with_dim(graph.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      launch(keep_equal<kDim>, ReplicaItems((graph.sites + 31) / 32 * 32, replicas.count), stream,
             labels, replicas, graph.sites);
    }
  });
}

// Step 2: a warp labels a tile (tiles.hpp) in shared memory. A lane holds a word of the tile, 64
// sites of a row, as bit masks. A run is identified by the place where it starts.
//
// 1  Compute the runs of a row from its spins and drawn bonds by bit arithmetic.
// 2  Row after row, attach every run to the root of one run of the previous row that a bond joins
//    it to: no search, no conflict. This makes most of the joins.
// 3  Join the remaining bonds by compare-and-swap, one bond per lane at a time: all lanes climb to
//    the roots, then all attach. Bonds whose left neighbour joins the same two runs are skipped.
// 4  Row after row, every run looks up its root, and roots sum sizes; the sites' roots are written.
//    Clusters that touch neither the tile's border nor a modified cell are closed.
//
// Lanes alternate between reading and writing shared words, with a barrier of the warp in between.
// Writes of step 3 are atomic, because several lanes may attach the same root.

template <int kDim>
class ReplicaTileLabeller {
 public:
  // `forest`: [kTileSites] in shared memory, the warp's own.
  __device__ __forceinline__ ReplicaTileLabeller(const GraphView& graph, const DeviceLabels& labels,
                                                 const ReplicaLabels& arrays, std::uint32_t tile,
                                                 std::uint32_t* forest)
      : graph_(graph),
        replica_(arrays),
        forest_(forest),
        tile_(tile),
        lane_(threadIdx.x % 32),
        word_(tile_word<kDim>(labels.tiles, labels.geometry, tile, lane_)) {}

  // Steps 1 to 3.
  template <bool kAligned>
  __device__ __forceinline__ void join(const std::uint8_t* spins) {
    auto* quads = reinterpret_cast<uint4*>(forest_);
#pragma unroll
    for (unsigned n = 0; n < kTileSites / 128; ++n) {
      const std::uint32_t place = 4 * (32 * n + lane_);
      quads[32 * n + lane_] = make_uint4(place, place + 1, place + 2, place + 3);
    }
    const std::uint64_t all = low_bits(word_.count);
    const std::uint64_t spin = load_spins<kAligned>(spins + word_.first, word_.count);
    const std::uint64_t along = kDim > 0 && word_.count > 0 ? drawn(0) : 0;
    starts_ = (~(along & ~(spin ^ spin >> 1) & all >> 1) << 1 | 1u) & all;
    __syncwarp();
    if constexpr (kDim == 1) join_words(spin, along);
    if constexpr (kDim > 1) join_rows(bonds_ahead(1, spin, all));
#pragma unroll
    for (int k = 2; k < kDim; ++k) join_ahead(k, bonds_ahead(k, spin, all));
  }

  // Step 4.
  __device__ __forceinline__ void find_roots() {
    const std::uint64_t opening = first_of_runs(starts_, open_sites());
#pragma unroll 2
    for (unsigned row = 0; row < kTileLanes; ++row) {
      const std::uint32_t count = __shfl_sync(~0u, word_.count, row);
      if (count == 0) continue;
      find_row_roots(row, count, __shfl_sync(~0u, starts_, row), __shfl_sync(~0u, opening, row),
                     __shfl_sync(~0u, word_.first, row));
    }
    add_sum();
    __syncwarp();
  }

  // Open roots become nodes of the lattice's forest; closed clusters are added to the sums.
  __device__ __forceinline__ void hand_out(std::uint64_t& square, std::uint64_t& fourth) const {
    std::uint64_t nodes = 0;
#pragma unroll
    for (unsigned odd = 0; odd < 2; ++odd) {
      for (std::uint32_t rest = roots_[odd]; rest != 0; rest &= rest - 1) {
        const unsigned x = 2 * (static_cast<unsigned>(__ffs(static_cast<int>(rest))) - 1) + odd;
        const std::uint32_t word = forest_[kWordSites * lane_ + x], size = word >> 16;
        if ((word & kOpen) != 0) {
          nodes |= std::uint64_t{1} << x;
          replica_.parent[word_.first + x] = word_.first + x;
          replica_.size[word_.first + x] = size;
        } else {
          const std::uint64_t n2 = static_cast<std::uint64_t>(size) * size;
          square += n2;
          fourth += n2 * n2;
        }
      }
    }
    replica_.nodes[static_cast<std::size_t>(tile_) * kTileLanes + lane_] = nodes;
  }

 private:
  static constexpr std::uint32_t kPlace = kTileSites - 1;
  static constexpr std::uint32_t kOpen = 1u << 15;
  static constexpr std::uint32_t kOneSite = 1u << 16;

  __device__ __forceinline__ std::uint64_t drawn(int k) const {
    return bits_from(replica_.drawn + k, kDim, word_.first);
  }

  __device__ __forceinline__ std::uint32_t climb(std::uint32_t place) const {
    for (std::uint32_t up = forest_[place] & kPlace; up != place; up = forest_[place] & kPlace) {
      place = up;
    }
    return place;
  }

  // Bit x: a bond joins site x to the next word in direction k, within the tile.
  __device__ __forceinline__ std::uint64_t bonds_ahead(int k, std::uint64_t spin,
                                                       std::uint64_t all) const {
    const std::uint64_t there = __shfl_down_sync(~0u, spin, 1u << lane_shift<kDim>(k));
    const bool inside = word_.count > 0 && (word_.inside >> k & 1u) != 0;
    return inside ? drawn(k) & ~(spin ^ there) & all : 0;
  }

  // For every bit x of `rest`: joins the run of site x and the run at place_there(x).
  template <class F>
  __device__ __forceinline__ void join_rest(std::uint64_t rest, const F& place_there) {
    while (__any_sync(~0u, rest != 0)) {
      std::uint32_t a = 0, b = 0;
      if (rest != 0) {
        const unsigned x = lowest(rest);
        a = climb(kWordSites * lane_ + run_start(starts_, x));
        b = climb(place_there(x));
      }
      __syncwarp();
      if (rest != 0) {
        const std::uint32_t high = a > b ? a : b, low = a > b ? b : a;
        if (high == low || atomicCAS(forest_ + high, high, low) == high) rest &= rest - 1;
      }
      __syncwarp();
    }
  }

  // Dimension 1: from a word's last site to the next word's first.
  __device__ __forceinline__ void join_words(std::uint64_t spin, std::uint64_t along) {
    const std::uint64_t next = __shfl_down_sync(~0u, spin, 1);
    const bool there = __shfl_down_sync(~0u, word_.count, 1) > 0 && lane_ < 31;
    const bool joined = there && (along >> 63 & 1u) != 0 && (spin >> 63 & 1u) == (next & 1u);
    join_rest(joined ? std::uint64_t{1} << 63 : 0,
              [&](unsigned) { return kWordSites * (lane_ + 1); });
  }

  // Direction 1: the next lane holds the next word.
  __device__ __forceinline__ void join_rows(std::uint64_t bonds) {
    std::uint64_t behind = __shfl_up_sync(~0u, bonds, 1);
    const std::uint64_t starts_behind = __shfl_up_sync(~0u, starts_, 1);
    if (lane_ == 0) behind = 0;
    const std::uint64_t first = first_of_runs(starts_, behind);
    std::uint64_t before = __shfl_sync(~0u, starts_, 0);
    for (unsigned row = 1; row < kTileLanes; ++row) {
      const std::uint64_t hooks = __shfl_sync(~0u, first, row);
      const std::uint64_t starts = __shfl_sync(~0u, starts_, row);
#pragma unroll
      for (unsigned odd = 0; odd < 2; ++odd) {
        const unsigned x = 2 * lane_ + odd;
        if ((hooks >> x & 1u) != 0) {
          forest_[kWordSites * row + run_start(starts, x)] =
              forest_[kWordSites * (row - 1) + run_start(before, x)];
        }
      }
      before = starts;
      __syncwarp();
    }
    const std::uint64_t idle = behind << 1 & ~starts_ & ~starts_behind;
    join_rest(behind & ~first & ~idle,
              [&](unsigned x) { return kWordSites * (lane_ - 1) + run_start(starts_behind, x); });
  }

  __device__ __forceinline__ void join_ahead(int k, std::uint64_t bonds) {
    const unsigned step = 1u << lane_shift<kDim>(k);
    const std::uint64_t starts_there = __shfl_down_sync(~0u, starts_, step);
    const std::uint64_t idle = bonds << 1 & ~starts_ & ~starts_there;
    join_rest(bonds & ~idle,
              [&](unsigned x) { return kWordSites * (lane_ + step) + run_start(starts_there, x); });
  }

  // Sites that have, or may have, a bond to another tile.
  __device__ __forceinline__ std::uint64_t open_sites() const {
    if (word_.count == 0) return 0;
    std::uint64_t open = std::uint64_t{1} | std::uint64_t{1} << (word_.count - 1);
    if (word_.edge) open = low_bits(word_.count);
    if (graph_.rewired_count > 0) {
      open |= modified_bits(graph_.site_masks, word_.first) & low_bits(word_.count);
    }
    return open;
  }

  // Each lane processes two sites of the row.
  __device__ __forceinline__ void find_row_roots(unsigned row, std::uint32_t count,
                                                 std::uint64_t starts, std::uint64_t opening,
                                                 Site first) {
    const unsigned x = 2 * lane_;
    const std::uint32_t base = kWordSites * row;
    const std::uint64_t here = starts >> x;  // bits 0 and 1: a run starts at x, at x + 1
    std::uint32_t even = 0, odd = 0;         // places of the roots
    if (x < count) {
      even = climb(base + run_start(starts, x));
      odd = (here & 2u) != 0 ? climb(base + x + 1) : even;
      reinterpret_cast<std::uint32_t*>(replica_.place + first)[lane_] = odd << 16 | even;
    }
    __syncwarp();
    if ((here & 1u) != 0 && even != base + x) forest_[base + x] = even;
    if ((here & 2u) != 0 && odd != base + x + 1) forest_[base + x + 1] = odd;
    if (x < count) {
      if (even != sum_root_) {
        add_sum();
        sum_root_ = even;
      }
      ++sum_;
    }
    if (x + 1 < count) {
      if (odd == sum_root_) {
        ++sum_;
      } else {
        atomicAdd(forest_ + odd, kOneSite);
      }
    }
    if ((opening >> x & 1u) != 0) atomicOr(forest_ + even, kOpen);
    if ((opening >> x & 2u) != 0) atomicOr(forest_ + odd, kOpen);
    const std::uint32_t even_roots = __ballot_sync(~0u, (here & 1u) != 0 && even == base + x);
    const std::uint32_t odd_roots = __ballot_sync(~0u, (here & 2u) != 0 && odd == base + x + 1);
    if (lane_ == row) {
      roots_[0] = even_roots;
      roots_[1] = odd_roots;
    }
    __syncwarp();
  }

  // The lane's count for its current root; a cluster usually continues from row to row.
  __device__ __forceinline__ void add_sum() {
    if (sum_ > 0) atomicAdd(forest_ + sum_root_, sum_ * kOneSite);
    sum_ = 0;
  }

  const GraphView& graph_;
  const ReplicaLabels replica_;
  std::uint32_t* const forest_;
  const std::uint32_t tile_;
  const unsigned lane_;
  const TileWord word_;
  std::uint64_t starts_ = 0;  // bit x: a run starts here
  std::uint32_t roots_[2]{};  // bit i: site 2 i (2 i + 1) starts a run that is a root
  std::uint32_t sum_root_ = 0, sum_ = 0;
};

template <int kDim, bool kAligned>
__global__ void __launch_bounds__(32 * kWarps)
    label_tiles(const __grid_constant__ GraphView graph,
                const __grid_constant__ DeviceLabels labels,
                const __grid_constant__ DeviceReplicas replicas, std::uint32_t update,
                ReplicaBlocks tiles) {
  alignas(16) __shared__ std::uint32_t forests[kWarps][kTileSites];
  const auto [replica, tile] = warp_position(tiles);
  if (replica >= replicas.count) return;
  const ReplicaLabels arrays(labels, replica, replicas.stride);
  ReplicaTileLabeller<kDim> labeller(graph, labels, arrays, tile, forests[threadIdx.x / 32]);
  labeller.template join<kAligned>(replicas.spins_of(replica));
  labeller.find_roots();
  std::uint64_t square = 0, fourth = 0;
  labeller.hand_out(square, fourth);
  add_warp_sums(labels, replicas.count, update, replica, tile, square, WideSum{fourth});
}

void launch_label_tiles(const GraphView& graph, const DeviceLabels& labels,
                        const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream) {
  with_dim(graph.lattice.dim, [&]<int kDim>() {
    const bool aligned = labels.tiles.length % 16 == 0;
    launch_warps<kWarps>(aligned ? label_tiles<kDim, true> : label_tiles<kDim, false>,
                         labels.tiles.count, replicas.count, stream, graph, labels, replicas,
                         update);
  });
}

// Step 3: joins clusters of different tiles.

struct Pair {
  bool joined = false;
  Site a = 0, b = 0;
};

template <int kDim>
__device__ __forceinline__ void join_bond(const GraphView& graph, const DeviceLabels& labels,
                                          const BorderBonds& borders,
                                          const DeviceReplicas& replicas, std::uint32_t replica,
                                          std::uint64_t index) {
  const ReplicaLabels arrays(labels, replica, replicas.stride);
  Pair pair;
  if (index >= borders.first[kDim]) {
    const std::uint64_t i = index - borders.first[kDim];
    if (i < graph.rewired_count && labels.rewired_on[replica * graph.rewired_count + i] != 0) {
      pair = {true, graph.rewired[i].a, graph.rewired[i].b};
    }
  } else {
    if constexpr (kDim > 0) {
      const BorderBond bond = border_bond<kDim>(labels.geometry, borders, graph.sites, index);
      const std::uint8_t* spins = replicas.spins_of(replica);
      pair = {bond.exists &&
                  bit_at(arrays.drawn, GraphView::draw_index_of<kDim>(bond.a, bond.direction)) &&
                  spins[bond.a] == spins[bond.b],
              bond.a, bond.b};
    }
  }
  std::uint32_t a = 0, b = 0;
  if (pair.joined) {
    a = site_at<kDim>(labels.geometry, pair.a, arrays.place[pair.a]);
    b = site_at<kDim>(labels.geometry, pair.b, arrays.place[pair.b]);
  }
  // The bond to the left often joins the same two clusters.
  const bool left_joined = __shfl_up_sync(~0u, pair.joined, 1);
  const std::uint32_t left_a = __shfl_up_sync(~0u, a, 1), left_b = __shfl_up_sync(~0u, b, 1);
  const bool known = threadIdx.x % 32 != 0 && left_joined && left_a == a && left_b == b;
  if (pair.joined && !known) ParentForest{arrays.parent}.unite(a, b);
}

template <int kDim>
__global__ void __launch_bounds__(kItemThreads)
    join_bonds(const __grid_constant__ GraphView graph, const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ BorderBonds borders,
               const __grid_constant__ DeviceReplicas replicas, ReplicaItems items) {
  const Item item = item_of(items);
  join_bond<kDim>(graph, labels, borders, replicas, item.replica, item.index);
}

void launch_join(const GraphView& graph, const DeviceLabels& labels, const DeviceReplicas& replicas,
                 cudaStream_t stream) {
  with_dim(graph.lattice.dim, [&]<int kDim>() {
    const BorderBonds borders = BorderBonds::make<kDim>(graph, labels.tiles, labels.geometry);
    launch(join_bonds<kDim>, ReplicaItems(borders.first[kDim + 1], replicas.count), stream, graph,
           labels, borders, replicas);
  });
}

// Step 4: every node's root, and the sizes of the roots' clusters.

// Sets the parents of a tile's nodes to their roots, once each. The sets do not change any more.
template <int kDim>
__device__ __forceinline__ void find_tile_roots(const DeviceLabels& labels,
                                                const DeviceReplicas& replicas,
                                                std::uint32_t replica, std::uint32_t tile,
                                                std::uint16_t* list) {
  const unsigned lane = threadIdx.x % 32;
  const ReplicaLabels arrays(labels, replica, replicas.stride);
  const ParentForest forest{arrays.parent};
  const std::uint64_t nodes = arrays.nodes[static_cast<std::size_t>(tile) * kTileLanes + lane];
  const unsigned count = list_nodes(nodes, list);
  if (count == 0) return;
  __syncwarp();
  const Site first = tile_word<kDim>(labels.tiles, labels.geometry, tile, lane).first;
  RootSums sums([&](Site root, std::uint32_t size) { atomicAdd(arrays.size + root, size); });
  for_each_node(list, count, first, [&](bool there, Site node, std::uint32_t) {
    const Site root = there ? forest.climb(node) : node;
    const bool moves = root != node;
    if (moves) forest.store(node, root);
    sums.add(moves ? root : kNone, moves ? arrays.size[node] : 0);
  });
  sums.close();
}

template <int kDim>
__global__ void __launch_bounds__(32 * kWarps)
    find_roots(const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ DeviceReplicas replicas, ReplicaBlocks tiles) {
  __shared__ std::uint16_t lists[kWarps][kTileSites];
  const auto [replica, tile] = warp_position(tiles);
  if (replica >= replicas.count) return;
  find_tile_roots<kDim>(labels, replicas, replica, tile, lists[threadIdx.x / 32]);
}

// Step 5, Ising: sites flip with their roots; sums over clusters.

// The random bits of the 64 sites from `first` on (bit_draw()).
__device__ __forceinline__ std::uint64_t flip_bits(const DrawKey& key, Site first) {
  const std::uint32_t item = bit_item(first), shift = first & 63u;
  const Words4 words = key.words(Stream::bytespin_flip, item);
  const bool upper = (first & 64u) != 0;
  const std::uint64_t low = upper ? word64(words, 1) : word64(words, 0);
  if (shift == 0) return low;
  const std::uint64_t high =
      upper ? word64(key.words(Stream::bytespin_flip, item + 1), 0) : word64(words, 1);
  return low >> shift | high << (64 - shift);
}

// The flips of the clusters whose root within the tile is a site of this word, at the bit of that
// site. Nodes that are not roots of the lattice's forest get the flip of their root. Other bits are
// not used. Adds the sums over the roots.
__device__ __forceinline__ std::uint64_t root_flips(const ReplicaLabels& arrays, const DrawKey& key,
                                                    const TileWord& word, std::uint64_t nodes,
                                                    std::uint64_t& square, WideSum& fourth) {
  if (word.count == 0) return 0;
  std::uint64_t flips = flip_bits(key, word.first);
  for (; nodes != 0; nodes &= nodes - 1) {
    const unsigned x = lowest(nodes);
    const Site node = word.first + x;
    const Site root = arrays.parent[node];
    if (root == node) {
      const std::uint64_t n = arrays.size[node], n2 = n * n;
      square += n2;
      fourth += static_cast<WideSum>(n2) * n2;
    } else {
      const std::uint64_t flip = bit_draw(key, Stream::bytespin_flip, root);
      flips = (flips & ~(std::uint64_t{1} << x)) | flip << x;
    }
  }
  return flips;
}

template <int kDim, bool kWide>
__global__ void __launch_bounds__(32 * kFlipWarps)
    flip_tiles(const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ DeviceReplicas replicas, std::uint32_t update,
               ReplicaBlocks tiles) {
  __shared__ std::uint64_t flips[kFlipWarps][kTileLanes];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto [replica, tile] = warp_position(tiles);
  if (replica >= replicas.count) return;
  const ReplicaLabels arrays(labels, replica, replicas.stride);
  const TileWord word = tile_word<kDim>(labels.tiles, labels.geometry, tile, lane);
  const std::uint64_t nodes = arrays.nodes[static_cast<std::size_t>(tile) * kTileLanes + lane];
  std::uint64_t square = 0;
  WideSum fourth = 0;
  flips[warp][lane] = root_flips(arrays, replicas.key(replica), word, nodes, square, fourth);
  __syncwarp();
  const auto* set = reinterpret_cast<const std::uint32_t*>(flips[warp]);
  renew_sites<kWide>(arrays, word, replicas.spins_of(replica),
                     [&](std::uint32_t place, std::uint8_t spin) {
                       return static_cast<std::uint8_t>(spin ^ flip_of(set, place));
                     });
  add_warp_sums(labels, replicas.count, update, replica, tile, square, fourth);
}

// Step 5, Potts: every cluster gets the state that its root draws. Cost per site: a quarter of a
// Philox call, two bytes of labels read, a byte of spin written. States are drawn as if every site
// were a root: each lane makes one call for four sites, while drawing for roots alone would leave
// most lanes idle.

// The shared memory of a warp.
struct TileStates {
  std::uint8_t state[kTileSites];  // by place of the root
  std::uint16_t node[kTileSites];  // places of the nodes
};

// Half a warp draws a block of 64 by 16 calls. A word lies in one block or two.
__device__ __forceinline__ void draw_states(const DrawKey& key, const TileWord& word,
                                            std::uint32_t states, std::uint8_t* out) {
  const unsigned lane = threadIdx.x % 32, call = lane % kCallsPerBlock;
  for (unsigned row = lane / kCallsPerBlock; row < kTileLanes; row += 2) {
    const std::uint32_t count = __shfl_sync(~0u, word.count, row);
    const std::uint64_t first = __shfl_sync(~0u, word.first, row);
    for (std::uint64_t site = first & ~std::uint64_t{63}; site < first + count; site += 64) {
      const std::uint64_t item = site / kDrawsPerBlock * kCallsPerBlock + call;
      const Words4 words = key.words(Stream::bytespin_flip, item);
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) {
        const std::uint64_t x = site + call + 16 * j - first;
        if (x < count) out[kWordSites * row + x] = any_state(words.w[j], states);
      }
    }
  }
}

// Nodes that are not roots get the state of their root. Adds the sums over the roots.
__device__ __forceinline__ void renew_nodes(const ReplicaLabels& arrays, const DrawKey& key,
                                            const TileWord& word, std::uint32_t states,
                                            unsigned count, TileStates& tile, std::uint64_t& square,
                                            WideSum& fourth) {
  for_each_node(tile.node, count, word.first, [&](bool there, Site node, std::uint32_t place) {
    const Site root = there ? arrays.parent[node] : node;
    if (root != node) {
      tile.state[place] = any_state(draw_at(key, Stream::bytespin_flip, root), states);
    } else if (there) {
      const std::uint64_t n = arrays.size[node], n2 = n * n;
      square += n2;
      fourth += static_cast<WideSum>(n2) * n2;
    }
  });
}

template <int kDim, bool kWide>
__global__ void __launch_bounds__(32 * kWarps)
    renew_tiles(const __grid_constant__ DeviceLabels labels,
                const __grid_constant__ DeviceReplicas replicas, std::uint32_t states,
                std::uint32_t update, ReplicaBlocks tiles) {
  __shared__ TileStates states_of_warps[kWarps];
  const auto [replica, number] = warp_position(tiles);
  if (replica >= replicas.count) return;
  const unsigned lane = threadIdx.x % 32;
  TileStates& tile = states_of_warps[threadIdx.x / 32];
  const ReplicaLabels arrays(labels, replica, replicas.stride);
  const TileWord word = tile_word<kDim>(labels.tiles, labels.geometry, number, lane);
  const DrawKey key = replicas.key(replica);
  const std::uint64_t nodes = arrays.nodes[static_cast<std::size_t>(number) * kTileLanes + lane];
  const unsigned count = list_nodes(nodes, tile.node);
  draw_states(key, word, states, tile.state);
  __syncwarp();
  std::uint64_t square = 0;
  WideSum fourth = 0;
  renew_nodes(arrays, key, word, states, count, tile, square, fourth);
  __syncwarp();
  renew_sites<kWide>(arrays, word, replicas.spins_of(replica),
                     [&](std::uint32_t place, std::uint8_t) { return tile.state[place]; });
  add_warp_sums(labels, replicas.count, update, replica, number, square, fourth);
}

// A block closes a replica's batch: eight threads for each of 32 updates at a time.
constexpr unsigned kCloseParts = 8, kCloseThreads = 32 * kCloseParts;

struct BatchSums {
  std::uint64_t size;
  WideSum quartic;
};

__device__ __forceinline__ BatchSums close_updates(const TileArrays& labels, std::uint32_t replicas,
                                                   std::uint32_t updates, std::uint32_t replica) {
  const unsigned part = threadIdx.x % kCloseParts;
  BatchSums sums{0, 0};
  for (std::uint32_t begin = 0; begin < updates; begin += kCloseThreads / kCloseParts) {
    const std::uint32_t update = begin + threadIdx.x / kCloseParts;
    std::uint64_t square = 0;
    WideSum fourth = 0;
    if (update < updates) {
      const std::size_t row = static_cast<std::size_t>(update) * replicas + replica;
      for (std::uint32_t copy = part; copy < labels.copies; copy += kCloseParts) {
        unsigned long long* sum = labels.sums + (row * labels.copies + copy) * 3;
        square += sum[0];
        fourth += static_cast<WideSum>(sum[2]) << 64 | sum[1];
        sum[0] = sum[1] = sum[2] = 0;
      }
    }
    square = warp_sum<kCloseParts>(square);
    fourth = warp_sum<kCloseParts>(fourth);
    if (part == 0) {
      sums.size += square;
      sums.quartic += 3 * (static_cast<WideSum>(square) * square) - 2 * fourth;
    }
  }
  return {warp_sum(sums.size), warp_sum(sums.quartic)};
}

__device__ __forceinline__ void close_replica(const TileArrays& labels,
                                              const DeviceReplicas& replicas, std::uint32_t updates,
                                              std::uint32_t replica, BatchSums* warps) {
  const BatchSums sums = close_updates(labels, replicas.count, updates, replica);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sums;
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned long long* const quartic = replicas.quartic + 2 * std::size_t{replica};
  WideSum total = static_cast<WideSum>(quartic[1]) << 64 | quartic[0];
  for (unsigned warp = 0; warp < kCloseThreads / 32; ++warp) {
    replicas.pending[replica] += warps[warp].size;
    total += warps[warp].quartic;
  }
  quartic[0] = static_cast<unsigned long long>(total);
  quartic[1] = static_cast<unsigned long long>(total >> 64);
}

__global__ void __launch_bounds__(kCloseThreads)
    close_replicas(const __grid_constant__ TileArrays labels,
                   const __grid_constant__ DeviceReplicas replicas, std::uint32_t updates) {
  __shared__ BatchSums warps[kCloseThreads / 32];
  close_replica(labels, replicas, updates, blockIdx.x, warps);
}

void launch_flip(const GraphView& graph, const DeviceLabels& labels, const DeviceReplicas& replicas,
                 std::uint32_t update, cudaStream_t stream) {
  const bool wide = labels.tiles.length % 16 == 0;
  with_dim(graph.lattice.dim, [&]<int kDim>() {
    if (graph.potts) {
      launch_warps<kWarps>(wide ? renew_tiles<kDim, true> : renew_tiles<kDim, false>,
                           labels.tiles.count, replicas.count, stream, labels, replicas,
                           graph.states, update);
    } else {
      launch_warps<kFlipWarps>(wide ? flip_tiles<kDim, true> : flip_tiles<kDim, false>,
                               labels.tiles.count, replicas.count, stream, labels, replicas,
                               update);
    }
  });
}

// The memory of the labels.

// Calls array(pointer, elements per replica) for every array of `labels`.
template <class F>
void for_each_array(DeviceLabels& labels, const GraphView& graph, F&& array) {
  const std::uint64_t stride = replica_stride(graph.sites);
  array(labels.drawn, labels.drawn_stride);
  array(labels.sums, std::uint64_t{3} * labels.copies * kUpdatesPerBatch);
  array(labels.rewired_on, graph.rewired_count);
  array(labels.place, stride);
  array(labels.parent, stride);
  array(labels.size, stride);
  array(labels.nodes, std::uint64_t{labels.tiles.count} * kTileLanes);
  if (graph.potts) array(labels.blank, stride);
}

DeviceLabels make_labels(const GraphView& graph) {
  DeviceLabels labels;
  labels.geometry = Geometry::make(graph.lattice);
  labels.tiles = make_tiles(graph);
  labels.drawn_stride = draw_warps(graph) * kCallsPerWarp / 8 + kMaskSlack;
  labels.copies = sum_copies(labels.tiles);
  return labels;
}

}  // namespace

void launch_find_roots(const GraphView& graph, const DeviceLabels& labels,
                       const DeviceReplicas& replicas, cudaStream_t stream) {
  with_dim(graph.lattice.dim, [&]<int kDim>() {
    launch_warps<kWarps>(find_roots<kDim>, labels.tiles.count, replicas.count, stream, labels,
                         replicas);
  });
}

void launch_close(const TileArrays& labels, const DeviceReplicas& replicas, std::uint32_t updates,
                  cudaStream_t stream) {
  launch(close_replicas, {replicas.count, kCloseThreads}, stream, labels, replicas, updates);
}

Tiles make_tiles(const GraphView& graph) {
  return with_dim(graph.lattice.dim,
                  [&]<int kDim>() { return Tiles::make<kDim>(graph.lattice, graph.sites); });
}

std::uint32_t sum_copies(const Tiles& tiles) { return std::clamp(tiles.count / 32, 1u, 64u); }

SwendsenWangCuda::SwendsenWangCuda(const GraphView& graph, const DeviceReplicas& replicas,
                                   cudaStream_t stream)
    : graph_(graph), labels_(make_labels(graph)) {
  for_each_array(labels_, graph, [&]<class T>(T*& array, std::uint64_t count) {
    array = arrays_.make_zero<T>(replicas.count * count, stream);
  });
}

std::uint64_t SwendsenWangCuda::bytes(const GraphView& graph, std::uint32_t replicas) {
  DeviceLabels labels = make_labels(graph);
  std::uint64_t replica_bytes = 0;
  for_each_array(labels, graph,
                 [&]<class T>(T*, std::uint64_t count) { replica_bytes += sizeof(T) * count; });
  return replicas * replica_bytes;
}

void SwendsenWangCuda::run(const DeviceReplicas& replicas, std::uint32_t updates,
                           cudaStream_t stream) {
  DeviceReplicas now = replicas;
  for (std::uint32_t begin = 0; begin < updates; begin += kUpdatesPerBatch) {
    const std::uint32_t batch = std::min(kUpdatesPerBatch, updates - begin);
    for (std::uint32_t n = 0; n < batch; ++n, ++now.step) {
      label(now, n, stream);
      launch_find_roots(graph_, labels_, now, stream);
      launch_flip(graph_, labels_, now, n, stream);
    }
    launch_close(labels_, now, batch, stream);
  }
}

void SwendsenWangCuda::label(const DeviceReplicas& replicas, std::uint32_t update,
                             cudaStream_t stream) {
  launch_draw(graph_, labels_, replicas, stream);
  DeviceReplicas seen = replicas;
  if (graph_.potts) {
    launch_keep_equal(graph_, labels_, replicas, stream);
    seen.spins = labels_.blank;
  }
  launch_label_tiles(graph_, labels_, seen, update, stream);
  launch_join(graph_, labels_, seen, stream);
}

}  // namespace rewise::bytespin
