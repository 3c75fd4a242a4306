// Swendsen-Wang updates of bundles on the device (swendsen_wang_cuda.hpp), step by step.
#include "graphs/lattice.hpp"
#include "src/bundle/rules.hpp"
#include "src/bundle/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/bundle/words.cuh"
#include "src/cuda/bits.cuh"
#include "src/cuda/forest.cuh"
#include "src/cuda/launch.hpp"
#include "src/cuda/warp_sum.cuh"

namespace rewise::bundle {
namespace {

using namespace device;

// What the steps share: where an item lies, runs of 32 sites, the forest over all tiles, sums.

// A tile of a bundle.
template <int kDim>
struct LabelItem {
  std::uint32_t item, bundle, tile, all, graph;  // all: the bundle among all graphs'
  std::uint32_t extent[4];
  LabelTile<kDim> at;

  __device__ __forceinline__ LabelItem(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                       std::uint32_t n)
      : item(n),
        bundle(n / g.count),
        tile(n - bundle * g.count),
        all(run.first + bundle),
        graph(all / g.bundles),
        extent{g.lattice.extent0, g.lattice.extent1, g.lattice.extent2, g.lattice.extent3},
        at(extent, g.along, tile) {}

  __device__ __forceinline__ LabelRow row(const DeviceLabelTiles& g, std::uint32_t j) const {
    return at.row(extent, g.lattice.sites, j);
  }
  // Mask k of a replica, or all replicas' from replica 0 on. [64]
  __device__ __forceinline__ std::uint32_t* mask(const DeviceLabelRun& run, int k,
                                                 unsigned replica) const {
    return run.masks +
           (static_cast<std::size_t>(item) * (kDim + 1) + static_cast<unsigned>(k)) * kLabelSites +
           replica * kLabelRows;
  }
  __device__ __forceinline__ std::size_t of_replica(unsigned replica) const {
    return static_cast<std::size_t>(item) * 32 + replica;
  }
};

// Where the run starts that holds the highest bit of `up_to`; bits of `starts` are where runs do.
__device__ __forceinline__ unsigned last_start(std::uint32_t starts, std::uint32_t up_to) {
  return highest(starts & up_to);
}
// The sites of a row up to and with x.
__device__ __forceinline__ std::uint32_t up_to(unsigned x) { return ~0u >> (31 - x); }

// The starts of the runs that have a mark (one at most); the same, downwards.
__device__ __forceinline__ std::uint32_t starts_of(std::uint32_t starts, std::uint32_t marks) {
  const std::uint32_t stops = __brev(starts);
  return __brev((~stops + __brev(marks)) & stops);
}

// The nodes of one replica, in the order of their keys.
struct NodeForest : ParentForest {
  const std::uint32_t* key;

  __device__ __forceinline__ bool step(ForestWalk& walk) const {
    return ParentForest::step(walk,
                              [this](std::uint32_t a, std::uint32_t b) { return key[a] < key[b]; });
  }
  __device__ __forceinline__ void unite(std::uint32_t a, std::uint32_t b) const {
    ForestWalk walk = start(a, b);
    while (!step(walk)) {
    }
  }
};

__device__ __forceinline__ NodeForest forest_of(const DeviceLabelTiles& g,
                                                const DeviceLabelRun& run, std::uint32_t bundle,
                                                unsigned replica) {
  const std::size_t first = (static_cast<std::size_t>(bundle) * 32 + replica) * g.nodes_most;
  return {{run.parent + first}, run.key + first};
}

// The node of a site's cluster.
__device__ __forceinline__ std::uint32_t node_at(const DeviceLabelTiles& g,
                                                 const DeviceLabelRun& run, std::uint32_t graph,
                                                 std::uint32_t bundle, unsigned replica,
                                                 std::uint32_t tile, std::uint32_t place) {
  const std::size_t at = (static_cast<std::size_t>(bundle) * g.count + tile) * 32 + replica;
  const std::uint32_t root = run.label[at * kLabelSites + place];
  const LabelRank rank = run.rank[at * kLabelRows + root / 32];
  const std::uint32_t below = rank.nodes & ((1u << root % 32) - 1);
  return g.node_first[static_cast<std::size_t>(graph) * (g.count + 1) + tile] + rank.before +
         static_cast<std::uint32_t>(__popc(below));
}

// Nodes of a tile of one replica.
__device__ __forceinline__ std::uint32_t node_count(const DeviceLabelRun& run, std::uint32_t item,
                                                    unsigned replica) {
  const LabelRank last =
      run.rank[(static_cast<std::size_t>(item) * 32 + replica) * kLabelRows + kLabelRows - 1];
  return last.before + static_cast<std::uint32_t>(__popc(last.nodes));
}

// By a whole warp; its lanes' sums go to one replica's.
__device__ __forceinline__ void add_cluster_sums(LabelSums& sums, std::uint64_t square,
                                                 WideSum fourth) {
  if (!__any_sync(~0u, square != 0)) return;
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&sums.square, static_cast<unsigned long long>(square));
  atomic_add_wide(&sums.fourth_low, &sums.fourth_high, fourth);
}

// Likewise, of the sums with weights.
__device__ __forceinline__ void add_weight_sums(LabelSums& sums, std::uint64_t cross,
                                                std::uint64_t square) {
  if (!__any_sync(~0u, square != 0)) return;
  cross = warp_sum(cross);
  square = warp_sum(square);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&sums.cross, static_cast<unsigned long long>(cross));
  atomicAdd(&sums.weight_square, static_cast<unsigned long long>(square));
}

constexpr unsigned kStage = kLabelRows + 1;  // words of a replica in shared memory, padded

// Step 1: open bonds and random bits, turned. A lane draws for a site's bond and 32 replicas, four
// digits a call, until the whole warp has decided: 3.3 calls, some 130 instructions.

constexpr unsigned kDrawThreads = 256;

// One bundle's draws of a step.
struct BondDrawer {
  std::uint32_t low, high, who, step, threshold;

  // Among the replicas that ask, those that draw the bond; by whole warps.
  __device__ __forceinline__ std::uint32_t open(const CallWords* calls, std::uint32_t bond,
                                                std::uint32_t asking) const {
    const SharedItem shared(low, high, static_cast<std::uint32_t>(Stream::bond), step, bond);
    std::uint32_t below = 0, t = threshold;
    for (unsigned call = 0; call < 8; ++call, t <<= 4) {
      const Words4 words = finish_call(shared, calls[call], low, high);
#pragma unroll
      for (unsigned n = 0; n < 4; ++n) {
        const std::uint32_t digit = 0u - (t >> (31 - n) & 1u);
        const std::uint32_t left = asking & ~(words.w[n] ^ digit);
        below |= (asking ^ left) & digit;
        asking = left;
      }
      if (!__any_sync(~0u, asking != 0)) break;
    }
    return below;
  }
  __device__ __forceinline__ std::uint32_t flips(std::uint32_t site) const {
    const Words4 words =
        random_words(std::uint64_t{high} << 32 | low, Stream::cluster_flip, site / 4, who, 0, step);
    const std::uint32_t even = (site & 2u) != 0 ? words.w[2] : words.w[0];
    const std::uint32_t odd = (site & 2u) != 0 ? words.w[3] : words.w[1];
    return (site & 1u) != 0 ? odd : even;
  }
};

// The words of a site and of its neighbours ahead.
template <int kDim>
struct SiteWords {
  std::uint32_t own = 0, ahead[kDim > 0 ? kDim : 1]{};

  __device__ __forceinline__ SiteWords() {}
  __device__ __forceinline__ SiteWords(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                       const LabelItem<kDim>& item, std::uint32_t row,
                                       std::uint32_t site) {
    const DeviceLattice& lattice = g.lattice;
    const auto vec = static_cast<std::uint32_t>(run.vec);
    const std::uint32_t* words =
        run.spins + static_cast<std::size_t>(item.all / vec) * lattice.words * vec + item.all % vec;
    std::uint32_t next[4], colour = 0, stride = 1;
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      std::uint32_t at;
      if (kDim == 1) {
        at = site;
      } else if (k == 0) {
        at = item.at.at[0] * 32 + threadIdx.x % 32;
      } else {
        at = item.at.at[k] * label_length<kDim>(k) + LabelTile<kDim>::coordinate(row, k);
      }
      colour += at;
      next[k] = at + 1 == item.extent[k] ? site + stride - stride * item.extent[k] : site + stride;
      stride *= item.extent[k];
    }
    own = words[static_cast<std::size_t>(lattice.colour_base[colour & 1u] + site / 2) * vec];
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      ahead[k] =
          words[static_cast<std::size_t>(lattice.colour_base[~colour & 1u] + next[k] / 2) * vec];
    }
  }
};

template <int kDim>
__global__ void __launch_bounds__(kDrawThreads)
    draw_tile(const __grid_constant__ DeviceLabelTiles g,
              const __grid_constant__ DeviceLabelRun run) {
  __shared__ CallWords calls[8];
  __shared__ std::uint32_t stage[kDim + 1][32 * kStage];
  const LabelItem<kDim> item(g, run, blockIdx.x);
  const BondDrawer drawer{g.seeds.low[item.graph], g.seeds.high[item.graph], item.all % g.bundles,
                          *run.first_step + run.step, run.threshold[item.all]};
  if (threadIdx.x < 8) {
    calls[threadIdx.x] = CallWords(drawer.low, drawer.high, drawer.who, threadIdx.x, drawer.step);
  }
  __syncthreads();
  const unsigned lane = threadIdx.x % 32;
  for (unsigned j = threadIdx.x / 32; j < kLabelRows; j += kDrawThreads / 32) {
    const LabelRow row = item.row(g, j);
    const std::uint32_t site = row.site + lane;
    stage[kDim][lane * kStage + j] = turn_bits(row.count > 0 ? drawer.flips(site) : 0);
    if constexpr (kDim > 0) {
      SiteWords<kDim> words;
      if (lane < row.count) words = SiteWords<kDim>(g, run, item, j, site);
      const std::uint32_t* bonds =
          g.bonds +
          (static_cast<std::size_t>(item.graph) * g.count + item.tile) * kDim * kLabelRows + j;
#pragma unroll
      for (int k = 0; k < kDim; ++k) {
        const bool there = (bonds[static_cast<unsigned>(k) * kLabelRows] >> lane & 1u) != 0;
        const std::uint32_t asking = there ? ~(words.own ^ words.ahead[k]) : 0u;
        const std::uint32_t bond = site * static_cast<unsigned>(kDim) + static_cast<unsigned>(k);
        stage[k][lane * kStage + j] = turn_bits(drawer.open(calls, bond, asking));
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k <= kDim; ++k) {
    std::uint32_t* out = item.mask(run, k, 0);
    for (unsigned n = threadIdx.x; n < kLabelSites; n += kDrawThreads) {
      out[n] = stage[k][n / kLabelRows * kStage + n % kLabelRows];
    }
  }
}

// A thread per listed bond of a bundle.
__global__ void __launch_bounds__(kDrawThreads)
    draw_listed(const __grid_constant__ DeviceLabelTiles g,
                const __grid_constant__ DeviceLabelRun run, std::uint32_t blocks_per_bundle) {
  __shared__ CallWords calls[8];
  const std::uint32_t bundle = blockIdx.x / blocks_per_bundle, all = run.first + bundle;
  const std::uint32_t graph = all / g.bundles;
  const BondDrawer drawer{g.seeds.low[graph], g.seeds.high[graph], all % g.bundles,
                          *run.first_step + run.step, run.threshold[all]};
  if (threadIdx.x < 8) {
    calls[threadIdx.x] = CallWords(drawer.low, drawer.high, drawer.who, threadIdx.x, drawer.step);
  }
  __syncthreads();
  const std::uint32_t i = blockIdx.x % blocks_per_bundle * kDrawThreads + threadIdx.x;
  const bool real = i < g.listed_count[graph];
  LabelBond bond{};
  std::uint32_t asking = 0;
  if (real) {
    bond = g.listed[static_cast<std::size_t>(graph) * g.listed_most + i];
    const auto vec = static_cast<std::uint32_t>(run.vec);
    const std::uint32_t* words =
        run.spins + static_cast<std::size_t>(all / vec) * g.lattice.words * vec + all % vec;
    asking = ~(words[static_cast<std::size_t>(bond.a) * vec] ^
               words[static_cast<std::size_t>(bond.b) * vec]);
  }
  const std::uint32_t open = drawer.open(calls, bond.bond, asking);
  if (real) run.listed_open[static_cast<std::size_t>(bundle) * g.listed_most + i] = open;
}

void draw(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream) {
  with_dim(g.lattice.dim, [&]<int kDim>() {
    launch(draw_tile<kDim>, LaunchShape{run.bundles * g.count, kDrawThreads}, stream, g, run);
  });
  if (g.listed_most == 0) return;
  const std::uint32_t blocks = (g.listed_most + kDrawThreads - 1) / kDrawThreads;
  launch(draw_listed, LaunchShape{run.bundles * blocks, kDrawThreads}, stream, g, run, blocks);
}

// Step 2: the clusters of every tile.
//
// A warp labels a tile of one replica in shared memory. A lane holds the
// masks of rows `lane` and `lane + 32`; a place stands for the run that starts there.
//
//   1  The runs of a row follow from its open bonds by bit arithmetic.
//   2  Row after row, every run hangs itself under the parent of one run that a bond joins it to in
//      an earlier row: no search, no conflict. This makes most of the joins. Runs without such a
//      bond are the local roots; all others now hang right under one of them.
//   3  The bonds left over that are not known to be idle (their left neighbour joins the same two
//      runs) join local roots by compare-and-swap, 32 at a time: all lanes climb to the roots, then
//      all hook. Then local roots learn their roots.
//   4  Row after row, every site learns its root by two steps up, and the local root its size.
//   5  Local roots hand their sizes to their roots. Clusters with an open site become nodes, in
//      order of their places; the others are summed up.
//   6  Sites with weights add them to their roots' words, from where one of each cluster takes
//   them.
//
// A word of the forest: bits 0-10 the parent's place; on a local root, bit 15 where its cluster is
// open, bits 16-31 its size. Lanes read and write shared words in turns, with a barrier of the warp
// in between; where several may write the same, these are atomic.

constexpr unsigned kLabelQueue = 64;  // a warp's, twice

template <int kDim, bool kWeighted>
class TileLabeller {
 public:
  // `forest`: [kLabelSites], `queue`: [kLabelQueue] in shared memory, the warp's own.
  __device__ __forceinline__ TileLabeller(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                          const LabelItem<kDim>& item, unsigned replica,
                                          std::uint32_t* forest, std::uint32_t* queue)
      : g_(g),
        run_(run),
        item_(item),
        replica_(replica),
        forest_(forest),
        queue_(queue),
        lane_(threadIdx.x % 32),
        before_(up_to(lane_)) {
    auto* quads = reinterpret_cast<uint4*>(forest_);
#pragma unroll
    for (unsigned n = 0; n < kLabelSites / 128; ++n) {
      const std::uint32_t place = 4 * (32 * n + lane_);
      quads[32 * n + lane_] = make_uint4(place, place + 1, place + 2, place + 3);
    }
  }

  // Steps 1 to 3.
  __device__ __forceinline__ void join() {
    std::uint32_t along[2], inside[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      row_[h] = item_.row(g_, row(h));
      inside[h] = static_cast<std::uint32_t>(low_bits(row_[h].count));
      along[h] = kDim > 0 ? item_.mask(run_, 0, replica_)[row(h)] : 0;
      starts_[h] = ~((along[h] & inside[h] >> 1) << 1) & inside[h];
    }
    __syncwarp();
    local_[0] = starts_[0];
    local_[1] = starts_[1];
    if constexpr (kDim == 1) join_chain(along);
    if constexpr (kDim > 1) join_rows(inside);
    shorten();
  }

  // Step 4. Places beyond the lattice get any label.
  __device__ __forceinline__ void find_roots() {
    const std::uint32_t* open =
        g_.open_sites +
        (static_cast<std::size_t>(item_.graph) * g_.count + item_.tile) * kLabelRows;
    std::uint16_t* label = run_.label + item_.of_replica(replica_) * kLabelSites + lane_;
    std::uint32_t opening[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) opening[h] = first_of_runs(starts_[h], open[row(h)]);
#pragma unroll 2
    for (unsigned n = 0; n < 32; ++n) {
      std::uint32_t starts[2], local[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const unsigned j = n + 32 * static_cast<unsigned>(h);
        starts[h] = __shfl_sync(~0u, starts_[h], static_cast<int>(n));
        local[h] = forest_[(32 * j + last_start(starts[h], before_)) & kPlace] & kPlace;
        label[32 * j] = static_cast<std::uint16_t>(forest_[local[h]] & kPlace);
      }
      __syncwarp();
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t count = __shfl_sync(~0u, row_[h].count, static_cast<int>(n));
        const std::uint32_t opens = __shfl_sync(~0u, opening[h], static_cast<int>(n));
        const std::uint32_t later = starts[h] & ~before_;
        const std::uint32_t end = later != 0 ? lowest(later) : count;
        if ((starts[h] >> lane_ & 1u) != 0) {
          atomicAdd(forest_ + local[h], (end - lane_) * kOneSite);
        }
        if ((opens >> lane_ & 1u) != 0) atomicOr(forest_ + local[h], kOpen);
      }
      __syncwarp();
    }
    gather_sizes();
  }

  // Step 5.
  __device__ __forceinline__ void hand_out() {
    std::uint32_t nodes[2];
    std::uint64_t square = 0, fourth = 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      nodes[h] = 0;
      for (std::uint32_t rest = local_[h]; rest != 0; rest &= rest - 1) {
        const std::uint32_t place = 32 * row(h) + lowest(rest), word = forest_[place];
        if ((word & kPlace) != place) continue;
        if ((word & kOpen) != 0) {
          nodes[h] |= rest & (0u - rest);
        } else {
          const std::uint64_t n = word >> 16, n2 = n * n;
          square += n2;
          fourth += n2 * n2;
        }
      }
    }
    add_cluster_sums(run_.sums[item_.bundle * 32 + replica_], square, fourth);
    make_nodes(nodes);
  }

  // Step 6, where sites have weights; spoils the roots' places.
  __device__ __forceinline__ void weigh() {
    // A tile's weights: one at most for each bond that has an end there, below 2^14.
    constexpr std::uint32_t kWeight = kOpen - 1;
    const std::size_t tile = static_cast<std::size_t>(item_.graph) * (g_.count + 1) + item_.tile;
    const std::uint32_t first = g_.weight_first[tile], last = g_.weight_first[tile + 1];
    const std::uint32_t* weights =
        g_.weights + static_cast<std::size_t>(item_.graph) * g_.weights_most;
    const std::uint16_t* label = run_.label + item_.of_replica(replica_) * kLabelSites;
    const auto root = [&](std::uint32_t i) { return forest_ + label[weights[i] & 0xFFFFu]; };
    __syncwarp();
    for (std::uint32_t i = first + lane_; i < last; i += 32) atomicAnd(root(i), ~kWeight);
    __syncwarp();
    for (std::uint32_t i = first + lane_; i < last; i += 32) atomicAdd(root(i), weights[i] >> 16);
    __syncwarp();
    const std::size_t forest =
        (static_cast<std::size_t>(item_.bundle) * 32 + replica_) * g_.nodes_most;
    std::uint64_t cross = 0, square = 0;
    for (std::uint32_t i = first + lane_; i < last; i += 32) {
      const std::uint32_t word = atomicAnd(root(i), ~kWeight), w = word & kWeight;
      if (w == 0) continue;  // taken by another of the cluster's sites
      if ((word & kOpen) != 0) {
        run_.weight[forest + node_at(g_, run_, item_.graph, item_.bundle, replica_, item_.tile,
                                     weights[i] & 0xFFFFu)] = w;
      } else {
        cross += static_cast<std::uint64_t>(w) * (word >> 16);
        square += static_cast<std::uint64_t>(w) * w;
      }
    }
    __syncwarp();
    add_weight_sums(run_.sums[item_.bundle * 32 + replica_], cross, square);
  }

 private:
  static constexpr std::uint32_t kPlace = kLabelSites - 1;
  static constexpr std::uint32_t kOpen = 1u << 15;
  static constexpr std::uint32_t kOneSite = 1u << 16, kSize = 0xFFFF0000u;
  static constexpr int kAcross = kDim > 1 ? kDim - 1 : 1;  // directions beyond x

  __device__ __forceinline__ unsigned row(int h) const {
    return lane_ + 32 * static_cast<unsigned>(h);
  }

  __device__ __forceinline__ std::uint32_t climb(std::uint32_t place) const {
    for (std::uint32_t up = forest_[place] & kPlace; up != place; up = forest_[place] & kPlace) {
      place = up;
    }
    return place;
  }

  // What the row `step` before row(h) holds; anything where there is none.
  __device__ __forceinline__ std::uint32_t from_behind(const std::uint32_t (&rows)[2], int h,
                                                       unsigned step) const {
    const unsigned from = row(h) - step;
    const std::uint32_t low = __shfl_sync(~0u, rows[0], static_cast<int>(from & 31u));
    if (h == 0) return low;
    const std::uint32_t high = __shfl_sync(~0u, rows[1], static_cast<int>(from & 31u));
    return (from & 32u) != 0 ? high : low;
  }

  // A chain: the last site of a row, the first of the next.
  __device__ __forceinline__ void join_chain(const std::uint32_t (&along)[2]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::uint32_t before = from_behind(along, h, 1);
      const bool joined = row(h) > 0 && row_[h].count > 0 && before >> 31 != 0;
      if (joined) local_[h] &= ~1u;
      const std::uint32_t from = 32 * (row(h) - 1) + last_start(from_behind(starts_, h, 1), ~0u);
      for (unsigned n = 0; n < 32; ++n) {
        if (lane_ == n && joined) forest_[32 * row(h)] = forest_[from];
        __syncwarp();
      }
    }
  }

  __device__ __forceinline__ void join_rows(const std::uint32_t (&inside)[2]) {
    std::uint32_t bonds[kAcross][2], starts_behind[kAcross][2], chosen[kAcross][2];
#pragma unroll
    for (int k = 1; k < kDim; ++k) {
      const std::uint32_t* mask = item_.mask(run_, k, replica_);
      const std::uint32_t ahead[2] = {mask[row(0)], mask[row(1)]};
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t behind = from_behind(ahead, h, label_stride<kDim>(k));
        const bool within = LabelTile<kDim>::coordinate(row(h), k) > 0;
        bonds[k - 1][h] = within ? behind & inside[h] : 0;
        starts_behind[k - 1][h] = from_behind(starts_, h, label_stride<kDim>(k));
      }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      std::uint32_t any = 0;
#pragma unroll
      for (int k = 0; k < kAcross; ++k) any |= bonds[k][h];
      std::uint32_t first = first_of_runs(starts_[h], any);
      local_[h] = starts_[h] & ~starts_of(starts_[h], first);
#pragma unroll
      for (int k = 0; k < kAcross; ++k) {
        chosen[k][h] = first & bonds[k][h];
        first &= ~bonds[k][h];
      }
    }
    hang_rows(chosen, starts_behind);
    join_rest(bonds, starts_behind, chosen);
  }

  // Step 2.
  __device__ __forceinline__ void hang_rows(const std::uint32_t (&chosen)[kAcross][2],
                                            const std::uint32_t (&starts_behind)[kAcross][2]) {
    std::uint32_t last = 0;  // the place of this lane's run in the row before
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll 4
      for (unsigned n = 0; n < 32; ++n) {
        const std::uint32_t base = 32 * (n + 32 * static_cast<unsigned>(h));
        const std::uint32_t starts = __shfl_sync(~0u, starts_[h], static_cast<int>(n));
        std::uint32_t from = last;
        std::uint32_t hooks = __shfl_sync(~0u, chosen[0][h], static_cast<int>(n));
#pragma unroll
        for (int k = 1; k < kAcross; ++k) {
          const std::uint32_t more = __shfl_sync(~0u, chosen[k][h], static_cast<int>(n));
          const std::uint32_t behind = __shfl_sync(~0u, starts_behind[k][h], static_cast<int>(n));
          if ((more >> lane_ & 1u) != 0) {
            from = base - 32 * label_stride<kDim>(k + 1) + last_start(behind, before_);
          }
          hooks |= more;
        }
        const std::uint32_t parent = forest_[from & kPlace];
        last = base + last_start(starts, before_);
        if ((hooks >> lane_ & 1u) != 0) forest_[last] = parent;
        __syncwarp();
      }
    }
  }

  // Step 3. What the lanes find goes through a queue, so that joins are made by full warps.
  __device__ __forceinline__ void join_rest(const std::uint32_t (&bonds)[kAcross][2],
                                            const std::uint32_t (&starts_behind)[kAcross][2],
                                            const std::uint32_t (&chosen)[kAcross][2]) {
    unsigned waiting = 0;
#pragma unroll
    for (int k = 0; k < kAcross; ++k) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t behind = starts_behind[k][h];
        const std::uint32_t idle = bonds[k][h] << 1 & ~starts_[h] & ~behind;
        const std::uint32_t back = 32 * (row(h) - label_stride<kDim>(k + 1));
        std::uint32_t rest = bonds[k][h] & ~chosen[k][h] & ~idle;
        for (;;) {
          const std::uint32_t finders = __ballot_sync(~0u, rest != 0);
          if (finders == 0) break;
          if (rest != 0) {
            const std::uint32_t before = (rest & (0u - rest)) * 2 - 1;
            const std::uint32_t a = 32 * row(h) + last_start(starts_[h], before);
            const std::uint32_t b = back + last_start(behind, before);
            const std::uint32_t others = finders & before_ & ~(1u << lane_);
            queue_[waiting + static_cast<unsigned>(__popc(others))] = a << 16 | b;
            rest &= rest - 1;
          }
          waiting += static_cast<unsigned>(__popc(finders));
          __syncwarp();
          if (waiting < 32) continue;
          waiting -= 32;
          join_pair(true, queue_[waiting + lane_]);
        }
      }
    }
    join_pair(lane_ < waiting, lane_ < waiting ? queue_[lane_] : 0);
  }

  // By the whole warp: the runs at two places.
  __device__ __forceinline__ void join_pair(bool open, std::uint32_t places) {
    std::uint32_t a = places >> 16, b = places & 0xFFFFu;
    while (__any_sync(~0u, open)) {
      if (open) {
        a = climb(a);
        b = climb(b);
      }
      __syncwarp();
      if (open) {
        const std::uint32_t high = a > b ? a : b, low = a > b ? b : a;
        open = high != low && atomicCAS(forest_ + high, high, low) != high;
      }
      __syncwarp();
    }
  }

  // The lane's local roots learn their roots.
  __device__ __forceinline__ void shorten() {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      std::uint32_t rest = local_[h];
      while (__any_sync(~0u, rest != 0)) {
        const std::uint32_t place = 32 * row(h) + (rest != 0 ? lowest(rest) : 0);
        const std::uint32_t root = rest != 0 ? climb(place) : 0;
        __syncwarp();
        if (rest != 0) forest_[place] = root;
        rest &= rest - 1;
        __syncwarp();
      }
    }
  }

  // Local roots hand what they have gathered to their roots.
  __device__ __forceinline__ void gather_sizes() {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      std::uint32_t rest = local_[h];
      while (__any_sync(~0u, rest != 0)) {
        const std::uint32_t place = 32 * row(h) + (rest != 0 ? lowest(rest) : 0);
        const std::uint32_t word = forest_[place], root = word & kPlace;
        __syncwarp();
        if (rest != 0 && root != place) {
          atomicAdd(forest_ + root, word & kSize);
          if ((word & kOpen) != 0) atomicOr(forest_ + root, kOpen);
        }
        rest &= rest - 1;
        __syncwarp();
      }
    }
  }

  __device__ __forceinline__ void make_nodes(const std::uint32_t (&nodes)[2]) {
    std::uint32_t earlier = 0;
    const std::uint32_t first =
        g_.node_first[static_cast<std::size_t>(item_.graph) * (g_.count + 1) + item_.tile];
    const std::size_t forest =
        (static_cast<std::size_t>(item_.bundle) * 32 + replica_) * g_.nodes_most;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const auto own = static_cast<std::uint32_t>(__popc(nodes[h]));
      std::uint32_t sum = own;
#pragma unroll
      for (unsigned step = 1; step < 32; step *= 2) {
        const std::uint32_t other = __shfl_up_sync(~0u, sum, step);
        if (lane_ >= step) sum += other;
      }
      const std::uint32_t before = earlier + sum - own;
      earlier += __shfl_sync(~0u, sum, 31);
      run_.rank[item_.of_replica(replica_) * kLabelRows + row(h)] = {nodes[h], before};
      const std::uint32_t flips = item_.mask(run_, kDim, replica_)[row(h)];
      std::uint32_t node = first + before;
      for (std::uint32_t rest = nodes[h]; rest != 0; rest &= rest - 1, ++node) {
        const unsigned x = lowest(rest);
        run_.parent[forest + node] = node;
        run_.key[forest + node] = (row_[h].site + x) << 1 | (flips >> x & 1u);
        run_.size[forest + node] = forest_[32 * row(h) + x] >> 16;
        if (kWeighted) run_.weight[forest + node] = 0;
      }
    }
  }

  const DeviceLabelTiles& g_;
  const DeviceLabelRun& run_;
  const LabelItem<kDim>& item_;
  const unsigned replica_;
  std::uint32_t *const forest_, *const queue_;
  const unsigned lane_;
  const std::uint32_t before_;  // the lanes up to and with this one
  LabelRow row_[2];
  std::uint32_t starts_[2];  // bit x: a run starts here
  std::uint32_t local_[2];   // bit x: it is a local root
};

constexpr unsigned kLabelWarps = 2;  // per block, of neighbouring replicas

template <int kDim, bool kWeighted>
__global__ void __launch_bounds__(32 * kLabelWarps)
    label_tiles(const __grid_constant__ DeviceLabelTiles g,
                const __grid_constant__ DeviceLabelRun run) {
  alignas(16) __shared__ std::uint32_t forests[kLabelWarps][kLabelSites];
  __shared__ std::uint32_t queues[kLabelWarps][kLabelQueue];
  const unsigned warp = threadIdx.x / 32;
  const LabelItem<kDim> item(g, run, blockIdx.x / (32 / kLabelWarps));
  TileLabeller<kDim, kWeighted> labeller(g, run, item,
                                         blockIdx.x % (32 / kLabelWarps) * kLabelWarps + warp,
                                         forests[warp], queues[warp]);
  labeller.join();
  labeller.find_roots();
  labeller.hand_out();
  if constexpr (kWeighted) labeller.weigh();
}

void label(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream) {
  with_dim(g.lattice.dim, [&]<int kDim>() {
    launch(run.weight == nullptr ? label_tiles<kDim, false> : label_tiles<kDim, true>,
           LaunchShape{run.bundles * g.count * (32 / kLabelWarps), 32 * kLabelWarps}, stream, g,
           run);
  });
}

// Steps 3 and 4: joining what tiles left apart, and every node's root.

constexpr unsigned kNodeThreads = 256;
constexpr unsigned kNodeWarps = kNodeThreads / 32;
constexpr unsigned kNodeBlocks =
    2048 / kNodeThreads;  // per multiprocessor, that registers suffice for
constexpr unsigned kListedBonds = 1024, kListedThreads = 128;  // of a block

// One replica of an item.
template <int kDim>
class Joiner {
 public:
  __device__ __forceinline__ Joiner(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                    const LabelItem<kDim>& item, unsigned replica)
      : g_(g),
        run_(run),
        item_(item),
        replica_(replica),
        lane_(threadIdx.x % 32),
        forest_(forest_of(g, run, item.bundle, replica)) {}

  // The bond from the last site of a chain's tile to the next tile.
  __device__ __forceinline__ void join_chain() const {
    const std::uint32_t first = item_.tile * kLabelSites, left = g_.lattice.sites - first;
    const std::uint32_t last = (left < kLabelSites ? left : kLabelSites) - 1;
    const bool joined =
        lane_ == 0 && (item_.mask(run_, 0, replica_)[last / 32] >> last % 32 & 1u) != 0;
    join(joined, last, item_.tile + 1 == g_.count ? 0 : item_.tile + 1, 0);
  }

  // The bonds along x from the tile's last column; a lane per row.
  __device__ __forceinline__ void join_columns() const {
    const std::uint32_t x = item_.at.last[0], ahead = item_.at.ahead(g_.along, 0);
    for (unsigned row = lane_; row < kLabelRows; row += 32) {
      const bool joined =
          item_.row(g_, row).count > 0 && (item_.mask(run_, 0, replica_)[row] >> x & 1u) != 0;
      join(joined, 32 * row + x, ahead, 32 * row);
    }
  }

  // The bonds along direction k >= 1 from the tile's last rows; a lane per site.
  __device__ __forceinline__ void join_faces(int k) const {
    const std::uint32_t ahead = item_.at.ahead(g_.along, k), last = item_.at.last[k];
    const std::uint32_t stride = label_stride<kDim>(k), length = label_length<kDim>(k);
    for (unsigned n = 0; n < kLabelRows / length; ++n) {
      const unsigned there = n / stride * stride * length + n % stride;
      const unsigned row = there + last * stride;
      if (item_.row(g_, row).count == 0) continue;
      const std::uint32_t bonds = item_.mask(run_, k, replica_)[row];
      if (bonds == 0) continue;
      join((bonds >> lane_ & 1u) != 0, 32 * row + lane_, ahead, 32 * there + lane_);
    }
  }

 private:
  // By the whole warp.
  __device__ __forceinline__ void join(bool joined, std::uint32_t place, std::uint32_t other_tile,
                                       std::uint32_t other_place) const {
    std::uint32_t a = 0, b = 0;
    if (joined) {
      a = node_at(g_, run_, item_.graph, item_.bundle, replica_, item_.tile, place);
      b = node_at(g_, run_, item_.graph, item_.bundle, replica_, other_tile, other_place);
    }
    // The bond to the left often joins the same two clusters.
    const bool left_joined = __shfl_up_sync(~0u, static_cast<unsigned>(joined), 1) != 0;
    const std::uint32_t left_a = __shfl_up_sync(~0u, a, 1), left_b = __shfl_up_sync(~0u, b, 1);
    const bool known = lane_ != 0 && left_joined && left_a == a && left_b == b;
    if (joined && !known) forest_.unite(a, b);
    __syncwarp();
  }

  const DeviceLabelTiles& g_;
  const DeviceLabelRun& run_;
  const LabelItem<kDim>& item_;
  const unsigned replica_, lane_;
  const NodeForest forest_;
};

// A warp's tile of one replica; those of a replica follow each other.
struct ReplicaTile {
  std::uint32_t bundle, replica, tile;

  __device__ __forceinline__ explicit ReplicaTile(const DeviceLabelTiles& g) {
    const std::uint32_t index = blockIdx.x * kNodeWarps + threadIdx.x / 32, one = index / g.count;
    bundle = one / 32;
    replica = one % 32;
    tile = index - one * g.count;
  }
};

// A warp joins what lies ahead of a tile of one replica.
template <int kDim>
__global__ void __launch_bounds__(kNodeThreads, kNodeBlocks)
    join_tiles(const __grid_constant__ DeviceLabelTiles g,
               const __grid_constant__ DeviceLabelRun run) {
  const ReplicaTile at(g);
  const LabelItem<kDim> item(g, run, at.bundle * g.count + at.tile);
  const Joiner<kDim> joiner(g, run, item, at.replica);
  if constexpr (kDim == 1) joiner.join_chain();
  if constexpr (kDim > 1) {
    joiner.join_columns();
#pragma unroll
    for (int k = 1; k < kDim; ++k) joiner.join_faces(k);
  }
}

// Listed bonds of one replica, those that are open as pairs of nodes.
struct ListedPairs {
  std::uint32_t a[kListedBonds], b[kListedBonds];
  std::uint32_t count, next;
};

// Puts the numbers of open bonds into pairs.a.
__device__ __forceinline__ void find_open(const std::uint32_t* open, unsigned replica,
                                          std::uint32_t begin, std::uint32_t count,
                                          ListedPairs& pairs) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned n = 0; n < kListedBonds / kListedThreads; ++n) {
    const std::uint32_t i = begin + n * kListedThreads + threadIdx.x;
    const bool is_open = i < count && (open[i] >> replica & 1u) != 0;
    const std::uint32_t all = __ballot_sync(~0u, is_open);
    std::uint32_t at = 0;
    if (lane == 0) at = atomicAdd(&pairs.count, static_cast<std::uint32_t>(__popc(all)));
    at = __shfl_sync(~0u, at, 0) + static_cast<std::uint32_t>(__popc(all & ~(~0u << lane)));
    if (is_open) pairs.a[at] = i;
  }
}

// By a block that has waited for find_open().
__device__ __forceinline__ void find_pairs(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                           std::uint32_t bundle, unsigned replica,
                                           ListedPairs& pairs) {
  const std::uint32_t graph = (run.first + bundle) / g.bundles;
  const LabelEnds* all = g.ends + static_cast<std::size_t>(graph) * g.listed_most;
  for (std::uint32_t at = threadIdx.x; at < pairs.count; at += kListedThreads) {
    const LabelEnds ends = all[pairs.a[at]];
    pairs.a[at] = node_at(g, run, graph, bundle, replica, ends.tile_a, ends.places & 0xFFFFu);
    pairs.b[at] = node_at(g, run, graph, bundle, replica, ends.tile_b, ends.places >> 16);
  }
}

// A thread takes the next pair when it has joined one: ways up differ in length.
__device__ __forceinline__ void join_pairs(const NodeForest& forest, ListedPairs& pairs) {
  std::uint32_t at = threadIdx.x;
  if (at >= pairs.count) return;
  ForestWalk walk = forest.start(pairs.a[at], pairs.b[at]);
  for (;;) {
    if (!forest.step(walk)) continue;
    at = atomicAdd(&pairs.next, 1u);
    if (at >= pairs.count) return;
    walk = forest.start(pairs.a[at], pairs.b[at]);
  }
}

__global__ void __launch_bounds__(kListedThreads)
    join_listed(const __grid_constant__ DeviceLabelTiles g,
                const __grid_constant__ DeviceLabelRun run, std::uint32_t blocks_per_replica) {
  __shared__ ListedPairs pairs;
  const std::uint32_t one = blockIdx.x / blocks_per_replica, bundle = one / 32, replica = one % 32;
  if (threadIdx.x == 0) {
    pairs.count = 0;
    pairs.next = kListedThreads;
  }
  __syncthreads();
  find_open(run.listed_open + static_cast<std::size_t>(bundle) * g.listed_most, replica,
            (blockIdx.x - one * blocks_per_replica) * kListedBonds,
            g.listed_count[(run.first + bundle) / g.bundles], pairs);
  __syncthreads();
  find_pairs(g, run, bundle, replica, pairs);
  __syncthreads();
  join_pairs(forest_of(g, run, bundle, replica), pairs);
}

// From nodes to their roots, where no set changes any more: plain loads, which may be cached.
template <unsigned kCount>
__device__ __forceinline__ void climb_all(const std::uint32_t* parent,
                                          std::uint32_t (&node)[kCount]) {
  for (std::uint32_t moved = 1; moved != 0;) {
    moved = 0;
#pragma unroll
    for (unsigned n = 0; n < kCount; ++n) {
      const std::uint32_t up = parent[node[n]];
      moved |= up ^ node[n];
      node[n] = up;
    }
  }
}

// A warp goes over the nodes of a tile of one replica: they take their root's key, and add their
// sizes to its. Near and below Tc most tiles have many nodes of one large cluster: the warp adds
// them up before they are added to the root's size.
template <bool kWeighted>
__global__ void __launch_bounds__(kNodeThreads)
    root_nodes(const __grid_constant__ DeviceLabelTiles g,
               const __grid_constant__ DeviceLabelRun run) {
  constexpr std::uint32_t kNone = ~0u;
  constexpr unsigned kAtOnce = 4;
  const ReplicaTile at(g);
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t graph = (run.first + at.bundle) / g.bundles;
  const std::uint32_t count = node_count(run, at.bundle * g.count + at.tile, at.replica);
  const std::uint32_t first =
      g.node_first[static_cast<std::size_t>(graph) * (g.count + 1) + at.tile];
  const std::size_t forest = (static_cast<std::size_t>(at.bundle) * 32 + at.replica) * g.nodes_most;
  const std::uint32_t* parent = run.parent + forest;
  std::uint32_t *key = run.key + forest, *size = run.size + forest;
  std::uint32_t* weight = kWeighted ? run.weight + forest : nullptr;
  for (std::uint32_t begin = 0; begin < count; begin += 32 * kAtOnce) {
    std::uint32_t top[kAtOnce];
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
      const std::uint32_t number = begin + 32 * n + lane;
      top[n] = first + (number < count ? number : begin);
    }
    climb_all(parent, top);
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
      const std::uint32_t number = begin + 32 * n + lane, node = first + number;
      std::uint32_t root = kNone, sum = 0, heavy = 0;
      if (number < count && top[n] != node) {
        root = top[n];
        key[node] = key[root];
        sum = size[node];
        if (kWeighted) heavy = weight[node];
      }
      const std::uint32_t peers = __match_any_sync(~0u, root);
      const std::uint32_t total = __reduce_add_sync(peers, sum);
      if (root != kNone && lane == lowest(peers)) atomicAdd(size + root, total);
      if constexpr (kWeighted) {
        const std::uint32_t weights = __reduce_add_sync(peers, heavy);
        if (weights != 0 && lane == lowest(peers)) atomicAdd(weight + root, weights);
      }
    }
  }
}

void join(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream) {
  const std::uint32_t blocks = run.bundles * g.count * (32 / kNodeWarps);
  with_dim(g.lattice.dim, [&]<int kDim>() {
    if (kDim > 0) launch(join_tiles<kDim>, LaunchShape{blocks, kNodeThreads}, stream, g, run);
  });
  if (g.listed_most == 0) return;
  const std::uint32_t listed = (g.listed_most + kListedBonds - 1) / kListedBonds;
  launch(join_listed, LaunchShape{run.bundles * 32 * listed, kListedThreads}, stream, g, run,
         listed);
}

void find_roots(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream) {
  const std::uint32_t blocks = run.bundles * g.count * (32 / kNodeWarps);
  launch(run.weight == nullptr ? root_nodes<false> : root_nodes<true>,
         LaunchShape{blocks, kNodeThreads}, stream, g, run);
}

// Step 5: sites follow their roots; sums over clusters.

constexpr unsigned kFlipThreads = 512;
constexpr unsigned kFlipWarps = kFlipThreads / 32;

// A warp's part of shared memory.
struct FlipTable {
  std::uint32_t places[kLabelRows];  // bit of a place: whether its cluster flips, if it is a root
  std::uint32_t nodes[kLabelRows + 2];  // likewise by the nodes of the tile
};

// The lowest bits of `bits`, in the places of the set bits of `places`.
__device__ __forceinline__ std::uint32_t deposit(std::uint32_t bits, std::uint32_t places) {
  std::uint32_t out = 0;
  for (; places != 0; places &= places - 1, bits >>= 1) {
    if ((bits & 1u) != 0) out |= places & (0u - places);
  }
  return out;
}

// What the nodes of a tile do; sums over the roots among them.
template <int kDim, bool kWeighted>
__device__ __forceinline__ void node_flips(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                           const LabelItem<kDim>& item, unsigned replica,
                                           std::uint32_t* flips) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t first =
      g.node_first[static_cast<std::size_t>(item.graph) * (g.count + 1) + item.tile];
  const std::size_t forest = (static_cast<std::size_t>(item.bundle) * 32 + replica) * g.nodes_most;
  const std::uint32_t count = node_count(run, item.item, replica);
  std::uint64_t square = 0, cross = 0, weight_square = 0;
  WideSum fourth = 0;
  for (std::uint32_t begin = 0; begin < count; begin += 32) {
    bool flip = false;
    if (begin + lane < count) {
      const std::uint32_t node = first + begin + lane;
      flip = (run.key[forest + node] & 1u) != 0;
      if (run.parent[forest + node] == node) {
        const std::uint64_t n = run.size[forest + node], n2 = n * n;
        square += n2;
        fourth += static_cast<WideSum>(n2) * n2;
        if constexpr (kWeighted) {
          const std::uint64_t w = run.weight[forest + node];
          cross += n * w;
          weight_square += w * w;
        }
      }
    }
    const std::uint32_t all = __ballot_sync(~0u, flip);
    if (lane == 0) flips[begin / 32] = all;
  }
  __syncwarp();
  add_cluster_sums(run.sums[item.bundle * 32 + replica], square, fourth);
  if constexpr (kWeighted) {
    add_weight_sums(run.sums[item.bundle * 32 + replica], cross, weight_square);
  }
}

// Random bits of a tile's places: right for closed clusters; nodes have their own.
template <int kDim, bool kWeighted>
__device__ __forceinline__ void root_flips(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                           const LabelItem<kDim>& item, unsigned replica,
                                           FlipTable& table) {
  node_flips<kDim, kWeighted>(g, run, item, replica, table.nodes);
  for (unsigned row = threadIdx.x % 32; row < kLabelRows; row += 32) {
    const std::uint32_t random = item.mask(run, kDim, replica)[row];
    const LabelRank rank = run.rank[item.of_replica(replica) * kLabelRows + row];
    const std::uint32_t* from = table.nodes + rank.before / 32;
    const std::uint32_t bits = __funnelshift_r(from[0], from[1], rank.before % 32);
    table.places[row] = (random & ~rank.nodes) | deposit(bits, rank.nodes);
  }
  __syncwarp();
}

// Eight sites of every fourth row after the other, from their labels.
__device__ __forceinline__ std::uint32_t eight_flips(const std::uint32_t* places,
                                                     const uint4& labels) {
  const auto two = [&](std::uint32_t pair) {
    const std::uint32_t low = pair & 0xFFFFu, high = pair >> 16;
    return (places[low / 32] >> low % 32 & 1u) | (places[high / 32] >> high % 32 & 1u) << 1;
  };
  return two(labels.x) | two(labels.y) << 2 | two(labels.z) << 4 | two(labels.w) << 6;
}

template <int kDim, bool kWeighted>
__global__ void __launch_bounds__(kFlipThreads)
    flip_tile(const __grid_constant__ DeviceLabelTiles g,
              const __grid_constant__ DeviceLabelRun run) {
  __shared__ FlipTable tables[kFlipWarps];
  __shared__ std::uint32_t stage[32 * kStage];
  const LabelItem<kDim> item(g, run, blockIdx.x);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (unsigned replica = warp; replica < 32; replica += kFlipWarps) {
    root_flips<kDim, kWeighted>(g, run, item, replica, tables[warp]);
    const auto* labels =
        reinterpret_cast<const uint4*>(run.label + item.of_replica(replica) * kLabelSites);
    auto* out = reinterpret_cast<std::uint8_t*>(stage + replica * kStage);
#pragma unroll
    for (unsigned n = lane; n < kLabelSites / 8; n += 32) {
      out[n] = static_cast<std::uint8_t>(eight_flips(tables[warp].places, labels[n]));
    }
    __syncwarp();
  }
  __syncthreads();
  const auto vec = static_cast<std::uint32_t>(run.vec);
  std::uint32_t* spins =
      run.spins + static_cast<std::size_t>(item.all / vec) * g.lattice.words * vec + item.all % vec;
  for (unsigned j = warp; j < kLabelRows; j += kFlipWarps) {
    const std::uint32_t flips = turn_bits(stage[lane * kStage + j]);
    const LabelRow row = item.row(g, j);
    if (lane >= row.count || flips == 0) continue;
    std::uint32_t colour = row.site + lane;
    if constexpr (kDim > 1) {
      colour = lane;  // tiles begin at even x
#pragma unroll
      for (int k = 1; k < kDim; ++k) {
        colour += item.at.at[k] * label_length<kDim>(k) + LabelTile<kDim>::coordinate(j, k);
      }
    }
    const std::uint32_t site = row.site + lane;
    const std::uint32_t slot =
        kDim == 0 ? g.lattice.colour_base[0] + site : g.lattice.colour_base[colour & 1u] + site / 2;
    spins[static_cast<std::size_t>(slot) * vec] ^= flips;
  }
}

// Closes the sums of one replica's update.
__global__ void close_sums(const __grid_constant__ DeviceLabelRun run) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica >= run.bundles * 32) return;
  const LabelSums sums = run.sums[replica];
  run.sums[replica] = {0, 0, 0, 0, 0};
  const std::size_t at = static_cast<std::size_t>(run.first) * 32 + replica;
  WideSum total = static_cast<WideSum>(run.quartic_high[at]) << 64 | run.quartic_low[at];
  total += 3 * (static_cast<WideSum>(sums.square) * sums.square) -
           2 * (static_cast<WideSum>(sums.fourth_high) << 64 | sums.fourth_low);
  run.square[at] += sums.square;
  run.quartic_low[at] = static_cast<unsigned long long>(total);
  run.quartic_high[at] = static_cast<unsigned long long>(total >> 64);
  if (run.weight == nullptr) return;
  run.cross[at] += sums.cross;
  run.weight_square[at] += sums.weight_square;
}

void flip(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream) {
  with_dim(g.lattice.dim, [&]<int kDim>() {
    launch(run.weight == nullptr ? flip_tile<kDim, false> : flip_tile<kDim, true>,
           LaunchShape{run.bundles * g.count, kFlipThreads}, stream, g, run);
  });
  launch(close_sums, cover(std::uint64_t{run.bundles} * 32, 64), stream, run);
}

}  // namespace

void launch_swendsen_wang(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                          cudaStream_t stream) {
  draw(g, run, stream);
  label(g, run, stream);
  join(g, run, stream);
  find_roots(g, run, stream);
  flip(g, run, stream);
}

}  // namespace rewise::bundle
