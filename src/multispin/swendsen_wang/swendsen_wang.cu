// Swendsen-Wang updates of word groups on the device (swendsen_wang_cuda.hpp), step by step.
#include "graphs/lattice.hpp"
#include "src/cuda/bits.cuh"
#include "src/cuda/forest.cuh"
#include "src/cuda/launch.hpp"
#include "src/cuda/warp_sum.cuh"
#include "src/multispin/rules.hpp"
#include "src/multispin/swendsen_wang/cluster_pairs_cuda.hpp"
#include "src/multispin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/multispin/words.cuh"

namespace rewise::multispin {
namespace {

using namespace device;

// Shared by the steps: the tile of an item, runs of sites in a row of 32, the forest over all
// tiles, sums.

// A tile of a word group.
template <int kDim>
struct LabelItem {
  std::uint32_t item, word_group, tile, all, graph;  // all: the word group's number in all graphs
  std::uint32_t masks;                               // number of masks per tile
  std::uint32_t extent[4];
  LabelTile<kDim> at;

  __device__ __forceinline__ LabelItem(const DeviceLabelTiles& g, const LabelArgs& run,
                                       std::uint32_t n)
      : item(n),
        word_group(n / g.count),
        tile(n - word_group * g.count),
        all(run.first + word_group),
        graph(all / g.word_groups),
        masks(masks_per_tile(kDim, g.listed_most > 0, run.ghost != nullptr)),
        extent{g.lattice.extent0, g.lattice.extent1, g.lattice.extent2, g.lattice.extent3},
        at(extent, g.along, tile) {}

  __device__ __forceinline__ LabelRow row(const DeviceLabelTiles& g, std::uint32_t j) const {
    return at.row(extent, g.lattice.sites, j);
  }
  // The last place of tile n of a one-dimensional lattice.
  __device__ __forceinline__ std::uint32_t last_place(const DeviceLabelTiles& g,
                                                      std::uint32_t n) const {
    const std::uint32_t left = g.lattice.sites - n * kLabelTileSites;
    return (left < kLabelTileSites ? left : kLabelTileSites) - 1;
  }
  // Mask k of a replica in tile n of this word group, [64]. With replica 0: those of all replicas,
  // [32][64].
  __device__ __forceinline__ std::uint32_t* mask(const LabelArgs& run, std::uint32_t n, int k,
                                                 unsigned replica) const {
    return run.masks +
           (static_cast<std::size_t>(item - tile + n) * masks + static_cast<unsigned>(k)) *
               kLabelTileSites +
           replica * kLabelRows;
  }
  __device__ __forceinline__ std::size_t of_replica(unsigned replica) const {
    return static_cast<std::size_t>(item) * 32 + replica;
  }
};

// The index of the mask of the sites that are bound to the ghost spin.
template <int kDim>
__device__ __forceinline__ int bound_mask(const DeviceLabelTiles& g) {
  return static_cast<int>(masks_per_tile(kDim, g.listed_most > 0, false));
}

// The start of the run that contains the highest bit of `up_to`. `starts`: the bits where runs
// start.
__device__ __forceinline__ unsigned last_start(std::uint32_t starts, std::uint32_t up_to) {
  unsigned at;
  asm("bfind.u32 %0, %1;" : "=r"(at) : "r"(starts & up_to));  // one instruction
  return at;
}
// The sites of a row up to and including x.
__device__ __forceinline__ std::uint32_t up_to(unsigned x) { return ~0u >> (31 - x); }

// The starts of the runs that contain a mark; a run has at most one. An addition carries each mark
// to the start of its run. The words are reversed because carries go to higher bits, and the start
// is the lowest bit of a run.
__device__ __forceinline__ std::uint32_t starts_of(std::uint32_t starts, std::uint32_t marks) {
  const std::uint32_t stops = __brev(starts);
  return __brev((~stops + __brev(marks)) & stops);
}

// The union-find forest over the nodes of one replica. A root has the smallest key of its set.
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

__device__ __forceinline__ NodeForest forest_of(const DeviceLabelTiles& g, const LabelArgs& run,
                                                std::uint32_t word_group, unsigned replica) {
  const std::size_t first = (static_cast<std::size_t>(word_group) * 32 + replica) * g.nodes_most;
  return {{run.parent + first}, run.key + first};
}

// The node of an open site's cluster.
__device__ __forceinline__ std::uint32_t node_at(const DeviceLabelTiles& g, const LabelArgs& run,
                                                 std::uint32_t graph, std::uint32_t word_group,
                                                 unsigned replica, std::uint32_t tile,
                                                 std::uint32_t place) {
  const std::size_t at = (static_cast<std::size_t>(word_group) * g.count + tile) * 32 + replica;
  return g.node_first[static_cast<std::size_t>(graph) * (g.count + 1) + tile] +
         run.label[at * kLabelTileSites + place] - kNodeLabel;
}

// Adds the sums of all lanes to those of one replica. Called by a whole warp.
__device__ __forceinline__ void add_cluster_sums(LabelSums& sums, std::uint64_t square,
                                                 WideSum fourth) {
  if (!__any_sync(~0u, square != 0)) return;
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&sums.square, static_cast<unsigned long long>(square));
  atomic_add_wide(&sums.fourth_low, &sums.fourth_high, fourth);
}

// add_cluster_sums() for the sums with weights.
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

// Step 1: open bonds and random bits, transposed. A lane draws one bond of a site for 32 replicas.
// It compares random digits with the threshold, four binary digits per Philox call, until all bonds
// of the warp are decided: 3.3 calls, some 130 instructions. Houdayer moves draw no bonds.

constexpr unsigned kDrawThreads = 256;

// The draws of one word group in a step.
struct BondDrawer {
  std::uint32_t low, high, group, step, threshold;

  // Returns those replicas of `asking` in which the bond opens. Called by whole warps.
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
  template <bool kHoudayer>
  __device__ __forceinline__ std::uint32_t flips(std::uint32_t site) const {
    constexpr Stream stream = kHoudayer ? Stream::houdayer : Stream::cluster_flip;
    const Words4 words =
        random_words(std::uint64_t{high} << 32 | low, stream, site / 4, group, 0, step);
    const std::uint32_t even = (site & 2u) != 0 ? words.w[2] : words.w[0];
    const std::uint32_t odd = (site & 2u) != 0 ? words.w[3] : words.w[1];
    return (site & 1u) != 0 ? odd : even;
  }
};

// Houdayer moves: the replicas in which a bond is open, from the words of its two ends. Only the
// bits of the first replica of each couple are meaningful.
__device__ __forceinline__ std::uint32_t equal_products(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t differ = a ^ b;
  return ~(differ ^ differ >> kPartnerDistance);
}

// The words of a site and of its next neighbour in each direction.
template <int kDim>
struct SiteWords {
  std::uint32_t own = 0, ahead[kDim > 0 ? kDim : 1]{};

  __device__ __forceinline__ SiteWords() {}
  __device__ __forceinline__ SiteWords(const DeviceLabelTiles& g, const LabelArgs& run,
                                       const LabelItem<kDim>& item, std::uint32_t row,
                                       std::uint32_t site) {
    const DeviceLattice& lattice = g.lattice;
    const auto vec = static_cast<std::uint32_t>(run.vec);
    const std::uint32_t* words = run.spins + first_word(item.all, lattice.words, run.vec);
    std::uint32_t next[4], colour = 0, stride = 1;
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      std::uint32_t at;
      if (kDim == 1) {
        at = site;
      } else if (k == 0) {
        at = item.at.at[0] * 32 + threadIdx.x % 32;
      } else {
        at = item.at.at[k] * label_tile_length<kDim>(k) + LabelTile<kDim>::coordinate(row, k);
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

// The bonds that step 1 opens: drawn bonds between equal spins, drawn bonds that are satisfied
// (couplings of both signs), or all bonds between equal products (Houdayer moves).
enum class Opens { equal, satisfied, products };

template <int kDim, Opens kOpens>
__global__ void __launch_bounds__(kDrawThreads)
    draw_tile(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  __shared__ CallWords calls[8];
  __shared__ std::uint32_t stage[kDim + 1][32 * kStage];
  const LabelItem<kDim> item(g, run, blockIdx.x);
  const BondDrawer drawer{g.seeds.low[item.graph], g.seeds.high[item.graph],
                          item.all % g.word_groups, *run.first_step + run.step,
                          run.threshold[item.all]};
  if (threadIdx.x < 8) {
    calls[threadIdx.x] = CallWords(drawer.low, drawer.high, drawer.group, threadIdx.x, drawer.step);
  }
  __syncthreads();
  const unsigned lane = threadIdx.x % 32;
  for (unsigned j = threadIdx.x / 32; j < kLabelRows; j += kDrawThreads / 32) {
    const LabelRow row = item.row(g, j);
    const std::uint32_t site = row.site + lane;
    stage[kDim][lane * kStage + j] =
        transpose_bits(row.count > 0 ? drawer.flips<kOpens == Opens::products>(site) : 0);
    if constexpr (kDim > 0) {
      SiteWords<kDim> words;
      if (lane < row.count) words = SiteWords<kDim>(g, run, item, j, site);
      const std::size_t first =
          (static_cast<std::size_t>(item.graph) * g.count + item.tile) * kDim * kLabelRows + j;
      const std::uint32_t* bonds = g.bonds + first;
#pragma unroll
      for (int k = 0; k < kDim; ++k) {
        const bool there = (bonds[static_cast<unsigned>(k) * kLabelRows] >> lane & 1u) != 0;
        if constexpr (kOpens == Opens::products) {
          stage[k][lane * kStage + j] =
              transpose_bits(there ? equal_products(words.own, words.ahead[k]) : 0u);
        } else {
          std::uint32_t asking = there ? ~(words.own ^ words.ahead[k]) : 0u;
          if constexpr (kOpens == Opens::satisfied) {
            const std::uint32_t negative =
                g.negative[first + static_cast<unsigned>(k) * kLabelRows] >> lane & 1u;
            if (there) asking ^= 0u - negative;
          }
          const std::uint32_t bond = site * static_cast<unsigned>(kDim) + static_cast<unsigned>(k);
          stage[k][lane * kStage + j] = transpose_bits(drawer.open(calls, bond, asking));
        }
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k <= kDim; ++k) {
    std::uint32_t* out = item.mask(run, item.tile, k, 0);
    for (unsigned n = threadIdx.x; n < kLabelTileSites; n += kDrawThreads) {
      out[n] = stage[k][n / kLabelRows * kStage + n % kLabelRows];
    }
  }
}

// One thread per listed bond of a word group.
template <Opens kOpens>
__global__ void __launch_bounds__(kDrawThreads)
    draw_listed(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run,
                std::uint32_t blocks_per_group) {
  __shared__ CallWords calls[8];
  const std::uint32_t word_group = blockIdx.x / blocks_per_group, all = run.first + word_group;
  const std::uint32_t graph = all / g.word_groups;
  const BondDrawer drawer{g.seeds.low[graph], g.seeds.high[graph], all % g.word_groups,
                          *run.first_step + run.step, run.threshold[all]};
  if (threadIdx.x < 8) {
    calls[threadIdx.x] = CallWords(drawer.low, drawer.high, drawer.group, threadIdx.x, drawer.step);
  }
  __syncthreads();
  const std::uint32_t i = blockIdx.x % blocks_per_group * kDrawThreads + threadIdx.x;
  const bool real = i < g.listed_count[graph];
  LabelBond bond{};
  std::uint32_t asking = 0;
  if (real) {
    bond = g.listed[static_cast<std::size_t>(graph) * g.listed_most + i];
    const auto vec = static_cast<std::uint32_t>(run.vec);
    const std::uint32_t* words = run.spins + first_word(all, g.lattice.words, run.vec);
    const Slot first = kOpens == Opens::equal ? bond.a : listed_slot(bond.a);
    const std::uint32_t a = words[static_cast<std::size_t>(first) * vec],
                        b = words[static_cast<std::size_t>(bond.b) * vec];
    asking = kOpens == Opens::products ? equal_products(a, b) : ~(a ^ b);
    if constexpr (kOpens == Opens::satisfied) asking ^= listed_sign(bond.a);
  }
  const std::uint32_t open =
      kOpens == Opens::products ? asking : drawer.open(calls, bond.bond, asking);
  if (real) run.listed_open[static_cast<std::size_t>(word_group) * g.listed_most + i] = open;
}

// Marks the sites with an open listed bond and transposes the masks. One block per tile of a word
// group.
__global__ void __launch_bounds__(kDrawThreads)
    mark_ends(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  __shared__ std::uint32_t stage[32 * kStage];
  const std::uint32_t word_group = blockIdx.x / g.count, tile = blockIdx.x - word_group * g.count;
  const std::uint32_t graph = (run.first + word_group) / g.word_groups;
  for (unsigned n = threadIdx.x; n < 32 * kStage; n += kDrawThreads) stage[n] = 0;
  __syncthreads();
  const std::size_t at = static_cast<std::size_t>(graph) * (g.count + 1) + tile;
  const TileBondEnd* ends = g.tile_ends + static_cast<std::size_t>(graph) * 2 * g.listed_most;
  const std::uint32_t* open =
      run.listed_open + static_cast<std::size_t>(word_group) * g.listed_most;
  const std::uint32_t last = g.ends_first[at + 1];
  for (std::uint32_t i = g.ends_first[at] + threadIdx.x; i < last; i += kDrawThreads) {
    const TileBondEnd end = ends[i];
    atomicOr(stage + end.place % 32 * kStage + end.place / 32, open[end.listed]);
  }
  __syncthreads();
  for (unsigned j = threadIdx.x / 32; j < kLabelRows; j += kDrawThreads / 32) {
    std::uint32_t& word = stage[threadIdx.x % 32 * kStage + j];
    word = transpose_bits(word);
  }
  __syncthreads();
  const std::uint32_t masks = masks_per_tile(g.lattice.dim, true, run.ghost != nullptr);
  const std::uint32_t own = masks_per_tile(g.lattice.dim, true, false) - 1;
  std::uint32_t* out =
      run.masks + (static_cast<std::size_t>(blockIdx.x) * masks + own) * kLabelTileSites;
  for (unsigned n = threadIdx.x; n < kLabelTileSites; n += kDrawThreads) {
    out[n] = stage[n / kLabelRows * kStage + n % kLabelRows];
  }
}

// In a field: draws the sites that are bound to the ghost spin and transposes the masks. Houdayer
// moves: clears the random bits of sites with equal spins. One block per tile of a word group.
template <int kDim, bool kHoudayer>
__global__ void __launch_bounds__(kDrawThreads)
    draw_bound(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  __shared__ std::uint32_t stage[32 * kStage];
  const LabelItem<kDim> item(g, run, blockIdx.x);
  const Address at{std::uint64_t{g.seeds.high[item.graph]} << 32 | g.seeds.low[item.graph],
                   item.all % g.word_groups, *run.first_step + run.step};
  const GhostBonds ghost = run.ghost[item.all];
  const std::uint32_t* words = run.spins + first_word(item.all, g.lattice.words, run.vec);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned j = threadIdx.x / 32; j < kLabelRows; j += kDrawThreads / 32) {
    const LabelRow row = item.row(g, j);
    const std::uint32_t site = row.site + lane;
    std::uint32_t own = 0, marked = 0;
    if (lane < row.count) {
      if constexpr (kDim > 0) {
        own = SiteWords<kDim>(g, run, item, j, site).own;
      } else {
        own =
            words[(g.lattice.colour_base[0] + std::size_t{site}) * static_cast<unsigned>(run.vec)];
      }
      marked = kHoudayer ? own ^ own >> kPartnerDistance : ghost.bound(at, site, own, ~0u);
    }
    stage[lane * kStage + j] = transpose_bits(marked);
  }
  __syncthreads();
  std::uint32_t* out = item.mask(run, item.tile, kHoudayer ? kDim : bound_mask<kDim>(g), 0);
  for (unsigned n = threadIdx.x; n < kLabelTileSites; n += kDrawThreads) {
    const std::uint32_t word = stage[n / kLabelRows * kStage + n % kLabelRows];
    out[n] = kHoudayer ? out[n] & word : word;
  }
}

template <Opens kOpens>
void draw_as(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream) {
  with_dim(g.lattice.dim, [&]<int kDim>() {
    launch(draw_tile<kDim, kOpens>, LaunchShape{run.word_groups * g.count, kDrawThreads}, stream, g,
           run);
    if (run.ghost != nullptr) {
      launch(draw_bound<kDim, kOpens == Opens::products>,
             LaunchShape{run.word_groups * g.count, kDrawThreads}, stream, g, run);
    }
  });
  if (g.listed_most == 0) return;
  const std::uint32_t blocks = (g.listed_most + kDrawThreads - 1) / kDrawThreads;
  launch(draw_listed<kOpens>, LaunchShape{run.word_groups * blocks, kDrawThreads}, stream, g, run,
         blocks);
  launch(mark_ends, LaunchShape{run.word_groups * g.count, kDrawThreads}, stream, g, run);
}

void draw(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream) {
  if (run.houdayer) return draw_as<Opens::products>(g, run, stream);
  if (run.signs) return draw_as<Opens::satisfied>(g, run, stream);
  draw_as<Opens::equal>(g, run, stream);
}

// Step 2: the clusters of every tile.
//
// A warp labels a tile of one replica in shared memory. A lane holds the masks of rows `lane` and
// `lane + 32`. A run is identified by the place where it starts.
//
//   2.1  The runs of a row follow from its open bonds by bit arithmetic. So do the open sites, and
//        the sites without an open bond within the tile (most clusters in three dimensions).
//   2.2  Row after row, every run is attached to the root of one run that a bond joins it to in an
//        earlier row, and its sites are added to that root. This needs no search and has no
//        conflicts, and it makes most of the joins. Runs without such a bond are the local roots;
//        every other run is a child of a local root.
//   2.3  A remaining bond is idle if its left neighbour joins the same two runs. The other
//        remaining bonds join roots by compare-and-swap, 32 at a time: all lanes climb to the
//        roots, then all attach, then sizes are added. Then the attached local roots are set to
//        their final roots.
//   2.4  Open sites mark their roots. The weights of sites are added to the words of their roots.
//   2.5  Clusters with an open site become nodes; the sums over the others are final.
//   2.6  Row after row, every site reads its label, at most two steps up.
//
// A word of the forest is the parent of a run (below kLabelTileSites) or, for a root, the flag
// kRoot, the weight, and the size in the lower 16 bits. At the end the words of nodes, and of local
// roots under them, are labels. Lanes alternate between reading and writing shared words, with a
// barrier of the warp in between. Writes are atomic where several lanes may write the same word.

// The input of step 2.2 for a row.
template <int kAcross>
struct alignas(16) HangingRow {
  std::uint32_t stops;            // where a run starts, and sites beyond the lattice
  std::uint32_t alone;            // starts of local roots, and sites beyond the lattice
  std::uint32_t chosen[kAcross];  // bonds by which runs are attached
};
// Uses the same memory after step 2.2.
struct RootMasks {
  std::uint32_t stops[kLabelRows];
  std::uint32_t hooked[kLabelRows];  // local roots attached to another root
  std::uint32_t open[kLabelRows];    // roots of open sites
  std::uint32_t queue[64];           // bonds to be joined
};

// A warp's part of shared memory.
template <int kAcross>
struct LabelSpace {
  std::uint32_t forest[kLabelTileSites];
  union {
    HangingRow<kAcross> rows[kLabelRows];
    RootMasks roots;
  };
};

// Data of a cluster besides its size: the weights of its sites or, in a field, whether one of its
// sites is bound to the ghost spin.
enum class Extra { none, weights, bound };

template <int kDim, Extra kExtra>
class TileLabeller {
  static constexpr bool kWeighted = kExtra == Extra::weights;

 public:
  static constexpr int kAcross = kDim > 1 ? kDim - 1 : 1;  // directions in which rows are joined

  __device__ __forceinline__ TileLabeller(const DeviceLabelTiles& g, const LabelArgs& run,
                                          const LabelItem<kDim>& item, unsigned replica,
                                          LabelSpace<kAcross>& space)
      : g_(g),
        run_(run),
        item_(item),
        replica_(replica),
        space_(space),
        forest_(space.forest),
        lane_(threadIdx.x % 32),
        before_(up_to(lane_)) {}

  // Steps 2.1 to 2.3.
  __device__ __forceinline__ void join() {
    std::uint32_t along[2], inside[2];
    Masks bonds, chosen;  // bonds to earlier rows; those by which runs are attached
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const LabelRow at = item_.row(g_, row(h));
      site_[h] = at.site;
      inside[h] = static_cast<std::uint32_t>(low_bits(at.count));
      along[h] = kDim > 0 ? item_.mask(run_, item_.tile, 0, replica_)[row(h)] : 0;
      starts_[h] = ~((along[h] & inside[h] >> 1) << 1) & inside[h];
      stops_[h] = starts_[h] | ~inside[h];
      lone_[h] = starts_[h] & (stops_[h] >> 1 | 1u << 31);
      open_[h] = g_.listed_most > 0 ? item_.mask(run_, item_.tile, kDim + 1, replica_)[row(h)] : 0;
    }
    if constexpr (kDim == 1) look_along(along, inside, bonds);
    if constexpr (kDim > 1) look_across(along, inside, bonds);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      std::uint32_t any = 0;
#pragma unroll
      for (int k = 0; k < kAcross; ++k) any |= bonds.of[k][h];
      lone_[h] &= ~any;
      std::uint32_t first = first_of_runs(starts_[h], any);
      local_[h] = starts_[h] & ~starts_of(starts_[h], first);
#pragma unroll
      for (int k = 0; k < kAcross; ++k) {
        chosen.of[k][h] = first & bonds.of[k][h];
        first &= ~bonds.of[k][h];
      }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      HangingRow<kAcross>& at = space_.rows[row(h)];
      at.stops = stops_[h];
      at.alone = local_[h] | ~inside[h];
#pragma unroll
      for (int k = 0; k < kAcross; ++k) at.chosen[k] = chosen.of[k][h];
    }
    __syncwarp();
    hang_rows();
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      space_.roots.stops[row(h)] = stops_[h];
      space_.roots.hooked[row(h)] = space_.roots.open[row(h)] = 0;
    }
    __syncwarp();
    if constexpr (kDim > 1) {
      join_rest(bonds, chosen);
      shorten();
    }
  }

  // Step 2.4.
  __device__ __forceinline__ void mark() {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      for (std::uint32_t rest = first_of_runs(starts_[h], open_[h]); rest != 0; rest &= rest - 1) {
        const std::uint32_t place =
            32 * row(h) + last_start(starts_[h], (rest & (0u - rest)) * 2 - 1);
        const std::uint32_t word = forest_[place], root = (word & kRoot) != 0 ? place : word;
        atomicOr(space_.roots.open + root / 32, 1u << root % 32);
      }
    }
    __syncwarp();
    if constexpr (kDim > 1) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {  // passes marks from local roots on to their roots
        nodes_[h] = space_.roots.open[row(h)] & space_.roots.hooked[row(h)];
      }
      __syncwarp();
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        for (std::uint32_t rest = nodes_[h]; rest != 0; rest &= rest - 1) {
          const std::uint32_t root = forest_[32 * row(h) + lowest(rest)];
          atomicOr(space_.roots.open + root / 32, 1u << root % 32);
        }
      }
      __syncwarp();
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::uint32_t hooked = space_.roots.hooked[row(h)];
      nodes_[h] = space_.roots.open[row(h)] & ~hooked;
      lone_[h] &= ~nodes_[h];
      closed_[h] = local_[h] & ~hooked & ~nodes_[h] & ~lone_[h];
    }
    if constexpr (kWeighted) weigh();
    if constexpr (kExtra == Extra::bound) keep_bound();
  }

  // Step 2.5.
  __device__ __forceinline__ void hand_out() {
    std::uint32_t square = 0;
    std::uint64_t fourth = 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const auto lone = static_cast<std::uint32_t>(__popc(lone_[h]));
      square += lone;
      fourth += lone;
      for (std::uint32_t rest = closed_[h]; rest != 0; rest &= rest - 1) {
        const std::uint32_t word = forest_[32 * row(h) + lowest(rest)], n = word & kSize;
        square += n * n;
        fourth += static_cast<std::uint64_t>(n * n) * (n * n);
        if constexpr (kWeighted) {
          const std::uint32_t w = (word & ~kRoot) / kOneWeight;
          cross_ += n * w;
          weight_square_ += w * w;
        }
      }
    }
    add_sums(square, fourth);
    make_nodes();
  }

  // Step 2.6.
  __device__ __forceinline__ void write_labels() const {
    if constexpr (kDim > 1) pass_labels();
    std::uint16_t* label = run_.label + item_.of_replica(replica_) * kLabelTileSites + lane_;
#pragma unroll 8
    for (unsigned j = 0; j < kLabelRows; ++j) {
      std::uint32_t place = 32 * j + last_start(space_.roots.stops[j], before_);
      std::uint32_t word = forest_[place];
      if (word < kLabelTileSites) {
        place = word;
        word = forest_[place];
      }
      label[32 * j] = static_cast<std::uint16_t>((word & kRoot) != 0 ? place : word);
    }
  }

 private:
  static constexpr std::uint32_t kOneWeight = 1u << 16, kSize = kOneWeight - 1, kRoot = 1u << 31;

  struct Masks {
    std::uint32_t of[kAcross][2]{};
  };

  __device__ __forceinline__ unsigned row(int h) const {
    return lane_ + 32 * static_cast<unsigned>(h);
  }

  __device__ __forceinline__ std::uint32_t climb(std::uint32_t place, std::uint32_t& word) const {
    for (word = forest_[place]; (word & kRoot) == 0; word = forest_[place]) place = word;
    return place;
  }
  __device__ __forceinline__ std::uint32_t climb(std::uint32_t place) const {
    std::uint32_t word;
    return climb(place, word);
  }

  // The mask of the row that lies `step` before row(h); arbitrary if there is none.
  __device__ __forceinline__ std::uint32_t from_behind(const std::uint32_t (&rows)[2], int h,
                                                       unsigned step) const {
    const unsigned from = row(h) - step;
    const std::uint32_t low = __shfl_sync(~0u, rows[0], static_cast<int>(from & 31u));
    if (h == 0) return low;
    const std::uint32_t high = __shfl_sync(~0u, rows[1], static_cast<int>(from & 31u));
    return (from & 32u) != 0 ? high : low;
  }

  // One dimension: a row is joined to the next one by the bond from its last site.
  __device__ __forceinline__ void look_along(const std::uint32_t (&along)[2],
                                             const std::uint32_t (&inside)[2], Masks& bonds) {
    const std::uint32_t behind = (item_.tile == 0 ? g_.count : item_.tile) - 1;
    const std::uint32_t last = item_.last_place(g_, item_.tile);
    const std::uint32_t last_behind = item_.last_place(g_, behind);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::uint32_t before = from_behind(along, h, 1);
      bonds.of[0][h] = row(h) > 0 && inside[h] != 0 ? before >> 31 : 0;
      lone_[h] &= ~(along[h] & 1u << 31);
      if (row(h) == last / 32) open_[h] |= along[h] & 1u << last % 32;
    }
    if (lane_ == 0) {
      open_[0] |= item_.mask(run_, behind, 0, replica_)[last_behind / 32] >> last_behind % 32 & 1u;
    }
  }

  // Two dimensions and more: rows are joined in all directions beyond x.
  __device__ __forceinline__ void look_across(const std::uint32_t (&along)[2],
                                              const std::uint32_t (&inside)[2], Masks& bonds) {
    std::uint32_t tile_stride = 1;
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      const std::uint32_t at = item_.at.at[k], tiles = g_.along[k];
      const std::uint32_t behind = item_.tile + tile_stride * (at == 0 ? tiles - 1 : 0u - 1u);
      const std::uint32_t last = item_.at.last[k];
      const std::uint32_t last_behind =
          at == 0 ? item_.extent[k] - (tiles - 1) * label_tile_length<kDim>(k) - 1
                  : label_tile_length<kDim>(k) - 1;
      tile_stride *= tiles;
      const std::uint32_t* there = item_.mask(run_, behind, k, replica_);
      if (k == 0) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          open_[h] |= (along[h] & 1u << last) | (there[row(h)] >> last_behind & 1u);
        }
        continue;
      }
      const std::uint32_t stride = label_stride<kDim>(k);
      const std::uint32_t* mask = item_.mask(run_, item_.tile, k, replica_);
      const std::uint32_t ahead[2] = {mask[row(0)], mask[row(1)]};
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t here = LabelTile<kDim>::coordinate(row(h), k);
        const std::uint32_t before = from_behind(ahead, h, stride);
        bonds.of[k - 1][h] = here > 0 ? before & inside[h] : 0;
        if (here == 0) open_[h] |= there[row(h) + last_behind * stride];
        if (here == last)
          open_[h] |= ahead[h];
        else
          lone_[h] &= ~ahead[h];
      }
    }
  }

  // Step 2.2.
  __device__ __forceinline__ void hang_rows() const {
    constexpr unsigned kNear = label_stride<kDim>(2);
    constexpr unsigned kFar = kDim > 3 ? label_stride<kDim>(3) : kNear;
    constexpr unsigned kRing = kDim > 2 ? kFar : 4;
    const std::uint32_t own_bit = 1u << lane_;
    std::uint32_t past[kRing]{};  // the places of this lane's runs in the rows before
    for (unsigned first = 0; first < kLabelRows; first += kRing) {
#pragma unroll
      for (unsigned n = 0; n < kRing; ++n) {
        const HangingRow<kAcross> at = space_.rows[first + n];
        std::uint32_t from = past[(n + kRing - 1) % kRing], hooks = at.chosen[0];
        if (kDim == 1) from = __shfl_sync(~0u, from, 31);
#pragma unroll
        for (int k = 1; k < kAcross; ++k) {
          if ((at.chosen[k] & own_bit) != 0) {
            from = past[(n + kRing - (k == 1 ? kNear : kFar)) % kRing];
          }
          hooks |= at.chosen[k];
        }
        const bool hooked = (hooks & own_bit) != 0;
        const std::uint32_t up = kDim > 0 ? forest_[from] : 0;
        __syncwarp();
        const unsigned start = last_start(at.stops, before_);
        const std::uint32_t own = 32 * (first + n) + start;
        past[n] = own;
        if (((hooks | at.alone) & own_bit) != 0) {
          const auto end =
              static_cast<unsigned>(__clz(static_cast<int>(__brev(at.stops & ~before_))));
          const std::uint32_t root = (up & kRoot) != 0 ? from : up;
          forest_[own] = hooked ? root : kRoot;
          atomicAdd(forest_ + (hooked ? root : own), end - start);
        }
        __syncwarp();
      }
    }
  }

  // Step 2.3. The lanes append bonds to a queue, so that full warps make the joins.
  __device__ __forceinline__ void join_rest(const Masks& bonds, const Masks& chosen) {
    Masks rest;
#pragma unroll
    for (int k = 0; k < kAcross; ++k) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t behind = from_behind(starts_, h, label_stride<kDim>(k + 1));
        const std::uint32_t idle = bonds.of[k][h] << 1 & ~starts_[h] & ~behind;
        rest.of[k][h] = bonds.of[k][h] & ~chosen.of[k][h] & ~idle;
      }
    }
    std::uint32_t* queue = space_.roots.queue;
    unsigned waiting = 0;
    for (;;) {
      // The next bond of the lane, in any direction and row: its place in the lower 16 bits, the
      // distance in rows above.
      std::uint32_t found = 0, bond = 0;
#pragma unroll
      for (int k = 0; k < kAcross; ++k) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const std::uint32_t next = found == 0 ? rest.of[k][h] : 0;
          rest.of[k][h] &= next != 0 ? next - 1 : ~0u;
          if (next != 0) bond = label_stride<kDim>(k + 1) << 16 | 32 * row(h);
          found |= next;
        }
      }
      const std::uint32_t finders = __ballot_sync(~0u, found != 0);
      if (found != 0) {
        queue[waiting + static_cast<unsigned>(__popc(finders & before_)) - 1] =
            bond + lowest(found);
      }
      waiting += static_cast<unsigned>(__popc(finders));
      __syncwarp();
      if (waiting == 0) break;
      if (waiting < 32 && finders != 0) continue;
      const unsigned count = waiting < 32 ? waiting : 32;
      waiting -= count;
      join_bond(lane_ < count, lane_ < count ? queue[waiting + lane_] : 1u << 16 | 32);
    }
  }

  // Called by the whole warp: joins the runs at both ends of a bond.
  __device__ __forceinline__ void join_bond(bool open, std::uint32_t bond) const {
    const std::uint32_t row = bond % (1u << 16) / 32, behind = row - (bond >> 16);
    const std::uint32_t sites = up_to(bond % 32);
    std::uint32_t a = 32 * row + last_start(space_.roots.stops[row], sites);
    std::uint32_t b = 32 * behind + last_start(space_.roots.stops[behind], sites);
    while (__any_sync(~0u, open)) {
      std::uint32_t word_a = 0, word_b = 0, moved = 0;
      if (open) {
        a = climb(a, word_a);
        b = climb(b, word_b);
      }
      __syncwarp();
      if (open && a == b) open = false;
      if (open) {
        const std::uint32_t high = a > b ? a : b, low = a > b ? b : a;
        const std::uint32_t seen = a > b ? word_a : word_b;
        if (atomicCAS(forest_ + high, seen, low) == seen) {
          atomicOr(space_.roots.hooked + high / 32, 1u << high % 32);
          open = false;
          moved = seen & kSize;
          a = low;
        }
      }
      __syncwarp();
      if (!__any_sync(~0u, moved != 0)) continue;
      const std::uint32_t root = moved != 0 ? climb(a) : 0;
      __syncwarp();
      if (moved != 0) atomicAdd(forest_ + root, moved);
      __syncwarp();
    }
  }

  // Sets the parents of the lane's attached local roots to their final roots.
  __device__ __forceinline__ void shorten() const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      std::uint32_t rest = space_.roots.hooked[row(h)];
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

  // A local root attached to a node gets the node's label. For other attached local roots the
  // parent is the label already.
  __device__ __forceinline__ void pass_labels() const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      for (std::uint32_t rest = space_.roots.hooked[row(h)]; rest != 0; rest &= rest - 1) {
        const std::uint32_t place = 32 * row(h) + lowest(rest), root = forest_[place];
        const std::uint32_t word = forest_[root];
        if ((word & kRoot) == 0) forest_[place] = word;
      }
    }
    __syncwarp();
  }

  // Adds the weights of sites to their roots' words. Clusters of one site are summed here.
  __device__ __forceinline__ void weigh() {
    // The weights of a tile sum to less than 2^14: at most one for each bond that has an end there.
    const std::size_t tile = static_cast<std::size_t>(item_.graph) * (g_.count + 1) + item_.tile;
    const std::uint32_t first = g_.weight_first[tile], last = g_.weight_first[tile + 1];
    const std::uint32_t* weights =
        g_.weights + static_cast<std::size_t>(item_.graph) * g_.weights_most;
    std::uint32_t* lones = space_.roots.queue;  // lone_ of every row
#pragma unroll
    for (int h = 0; h < 2; ++h) lones[row(h)] = lone_[h];
    __syncwarp();
    for (std::uint32_t i = first; i < last; i += 32) {
      const std::uint32_t site = i + lane_ < last ? weights[i + lane_] : 0;
      const std::uint32_t place = site & 0xFFFFu, x = place % 32, w = site >> 16;
      const bool lone = (lones[place / 32] >> x & 1u) != 0;
      const std::uint32_t root =
          climb(place - x + last_start(space_.roots.stops[place / 32], up_to(x)));
      __syncwarp();
      if (lone) {
        cross_ += w;
        weight_square_ += w * w;
      } else if (w != 0) {
        atomicAdd(forest_ + root, w * kOneWeight);
      }
      __syncwarp();
    }
  }

  // Clusters with a bound site must not flip: clears the random bits of their first places.
  __device__ __forceinline__ void keep_bound() {
    std::uint32_t* kept = space_.roots.queue;  // those places, by row
    const std::uint32_t* bound = item_.mask(run_, item_.tile, bound_mask<kDim>(g_), replica_);
#pragma unroll
    for (int h = 0; h < 2; ++h) kept[row(h)] = 0;
    __syncwarp();
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      for (std::uint32_t rest = first_of_runs(starts_[h], bound[row(h)]); rest != 0;
           rest &= rest - 1) {
        const std::uint32_t root =
            climb(32 * row(h) + last_start(starts_[h], (rest & (0u - rest)) * 2 - 1));
        atomicOr(kept + root / 32, 1u << root % 32);
      }
    }
    __syncwarp();
    std::uint32_t* flips = item_.mask(run_, item_.tile, kDim, replica_);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      bound_[h] = kept[row(h)];
      flips[row(h)] &= ~bound_[h];
    }
  }

  // Adds the sums over clusters that are not nodes. Bounds: sum n^2 below 2^22, sum n^4 below 2^44,
  // sums with weights below 2^28.
  __device__ __forceinline__ void add_sums(std::uint32_t square, std::uint64_t fourth) const {
    LabelSums& sums = run_.sums[item_.word_group * 32 + replica_];
    square = __reduce_add_sync(~0u, square);
    const std::uint32_t low =
        __reduce_add_sync(~0u, static_cast<std::uint32_t>(fourth) & 0xFFFFFFu);
    const std::uint32_t high = __reduce_add_sync(~0u, static_cast<std::uint32_t>(fourth >> 24));
    if (lane_ == 0 && square != 0) {
      atomicAdd(&sums.square, static_cast<unsigned long long>(square));
      atomic_add_wide(&sums.fourth_low, &sums.fourth_high,
                      (static_cast<std::uint64_t>(high) << 24) + low);
    }
    if constexpr (kWeighted) {
      const std::uint32_t cross = __reduce_add_sync(~0u, cross_);
      const std::uint32_t weights = __reduce_add_sync(~0u, weight_square_);
      if (lane_ == 0 && weights != 0) {
        atomicAdd(&sums.cross, static_cast<unsigned long long>(cross));
        atomicAdd(&sums.weight_square, static_cast<unsigned long long>(weights));
      }
    }
  }

  // Makes nodes of the marked roots, one per lane at a time, and numbers them in that order.
  __device__ __forceinline__ void make_nodes() const {
    const std::uint32_t first =
        g_.node_first[static_cast<std::size_t>(item_.graph) * (g_.count + 1) + item_.tile];
    const std::size_t from =
        (static_cast<std::size_t>(item_.word_group) * 32 + replica_) * g_.nodes_most + first;
    std::uint32_t *parent = run_.parent + from, *key = run_.key + from, *size = run_.size + from;
    std::uint32_t* weight = kWeighted ? run_.weight + from : nullptr;
    std::uint32_t count = 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::uint32_t flips = item_.mask(run_, item_.tile, kDim, replica_)[row(h)];
      std::uint32_t rest = nodes_[h];
      for (;;) {
        const std::uint32_t finders = __ballot_sync(~0u, rest != 0);
        if (finders == 0) break;
        if (rest != 0) {
          const unsigned x = lowest(rest);
          const std::uint32_t number =
              count + static_cast<std::uint32_t>(__popc(finders & before_)) - 1;
          const std::uint32_t word = forest_[32 * row(h) + x];
          parent[number] = first + number;
          key[number] = (site_[h] + x) << 1 | (flips >> x & 1u);
          if (kExtra == Extra::bound && (bound_[h] >> x & 1u) == 0) key[number] |= kFree;
          size[number] = word & kSize;
          if (kWeighted) weight[number] = (word & ~kRoot) / kOneWeight;
          forest_[32 * row(h) + x] = kNodeLabel + number;
          rest &= rest - 1;
        }
        count += static_cast<std::uint32_t>(__popc(finders));
      }
    }
    if (lane_ == 0) run_.nodes[item_.of_replica(replica_)] = count;
    __syncwarp();
  }

  const DeviceLabelTiles& g_;
  const LabelArgs& run_;
  const LabelItem<kDim>& item_;
  const unsigned replica_;
  LabelSpace<kAcross>& space_;
  std::uint32_t* const forest_;
  const unsigned lane_;
  const std::uint32_t before_;  // the lanes up to and including this one
  // Masks of the lane's rows.
  std::uint32_t site_[2];    // their first sites
  std::uint32_t starts_[2];  // where a run starts
  std::uint32_t stops_[2];   // likewise, and sites beyond the lattice
  std::uint32_t local_[2];   // starts of local roots
  std::uint32_t open_[2];    // sites with an open bond that leaves the tile, or a listed one
  std::uint32_t lone_[2];    // clusters of one site; from step 2.4 on without nodes
  std::uint32_t nodes_[2], closed_[2];  // roots of nodes; roots of other clusters of several sites
  std::uint32_t bound_[2];              // first places of clusters with a bound site
  std::uint32_t cross_ = 0, weight_square_ = 0;
};

constexpr unsigned kLabelWarps = 4;  // per block, of neighbouring replicas

template <int kDim, Extra kExtra>
__global__ void __launch_bounds__(32 * kLabelWarps)
    label_tiles(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  using Labeller = TileLabeller<kDim, kExtra>;
  __shared__ LabelSpace<Labeller::kAcross> spaces[kLabelWarps];
  const unsigned warp = threadIdx.x / 32;
  const unsigned blocks = labelled_replicas(run.houdayer) / kLabelWarps;  // per item
  const LabelItem<kDim> item(g, run, blockIdx.x / blocks);
  const unsigned number = blockIdx.x % blocks * kLabelWarps + warp;
  Labeller labeller(g, run, item, label_replica(run.houdayer, number), spaces[warp]);
  labeller.join();
  labeller.mark();
  labeller.hand_out();
  labeller.write_labels();
}

void label(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream) {
  with_dim(g.lattice.dim, [&]<int kDim>() {
    const bool bound = run.ghost != nullptr && !run.houdayer;
    launch(bound                   ? label_tiles<kDim, Extra::bound>
           : run.weight == nullptr ? label_tiles<kDim, Extra::none>
                                   : label_tiles<kDim, Extra::weights>,
           LaunchShape{run.word_groups * g.count * (labelled_replicas(run.houdayer) / kLabelWarps),
                       32 * kLabelWarps},
           stream, g, run);
  });
}

// Steps 3 and 4: join the clusters of different tiles, and look up every node's root.

constexpr unsigned kNodeThreads = 256;
constexpr unsigned kNodeWarps = kNodeThreads / 32;
constexpr unsigned kNodeBlocks =
    2048 / kNodeThreads;             // per multiprocessor; limits the registers per thread
constexpr unsigned kJoinQueue = 64;  // of a warp
constexpr unsigned kListedBonds = 1024, kListedThreads = 128;  // of a block

// Joins a tile of one replica to the next tile in each direction. Open bonds go through a queue, so
// that full warps join them.
template <int kDim>
class Joiner {
 public:
  // `queue`: [kJoinQueue] in shared memory, the warp's own.
  __device__ __forceinline__ Joiner(const DeviceLabelTiles& g, const LabelArgs& run,
                                    const LabelItem<kDim>& item, unsigned replica,
                                    std::uint32_t* queue)
      : g_(g),
        run_(run),
        item_(item),
        replica_(replica),
        lane_(threadIdx.x % 32),
        queue_(queue),
        forest_(forest_of(g, run, item.word_group, replica)) {
    if constexpr (kDim == 1) ahead_[0] = item_.tile + 1 == g_.count ? 0 : item_.tile + 1;
    if constexpr (kDim > 1) {
#pragma unroll
      for (int k = 0; k < kDim; ++k) ahead_[k] = item_.at.ahead(g_.along, k);
    }
  }

  // The bond from the last site of a tile of a chain to the next tile.
  __device__ __forceinline__ void join_chain() {
    const std::uint32_t last = item_.last_place(g_, item_.tile);
    const bool joined = lane_ == 0 && (mask(0)[last / 32] >> last % 32 & 1u) != 0;
    push(joined, 0, last, 0);
    finish();
  }

  // The bonds along x from the tile's last column, a lane per row; then those along the other
  // directions from its last rows, a lane per site.
  __device__ __forceinline__ void join_faces() {
    const std::uint32_t x = item_.at.last[0];
    for (unsigned row = lane_; row < kLabelRows; row += 32) {
      push((mask(0)[row] >> x & 1u) != 0, 0, 32 * row + x, 32 * row);
    }
#pragma unroll
    for (int k = 1; k < kDim; ++k) {
      const unsigned stride = label_stride<kDim>(k), length = label_tile_length<kDim>(k);
      const unsigned last = item_.at.last[k] * stride;
      for (unsigned n = 0; n < kLabelRows / length; ++n) {
        const unsigned row = n / stride * stride * length + n % stride;
        const std::uint32_t bonds = mask(k)[row + last];
        push((bonds >> lane_ & 1u) != 0, k, 32 * (row + last) + lane_, 32 * row + lane_);
      }
    }
    finish();
  }

 private:
  __device__ __forceinline__ const std::uint32_t* mask(int k) const {
    return item_.mask(run_, item_.tile, k, replica_);
  }

  // The following functions are called by the whole warp.
  __device__ __forceinline__ void push(bool joined, int direction, std::uint32_t place,
                                       std::uint32_t other_place) {
    const std::uint32_t finders = __ballot_sync(~0u, joined);
    if (finders == 0) return;
    if (joined) {
      const auto others = static_cast<unsigned>(__popc(finders & ((1u << lane_) - 1)));
      queue_[waiting_ + others] =
          (static_cast<unsigned>(direction) * kLabelTileSites + other_place) * kLabelTileSites +
          place;
    }
    waiting_ += static_cast<unsigned>(__popc(finders));
    __syncwarp();
    if (waiting_ < 32) return;
    waiting_ -= 32;
    join(true, queue_[waiting_ + lane_]);
  }
  __device__ __forceinline__ void finish() {
    if (waiting_ > 0) join(lane_ < waiting_, lane_ < waiting_ ? queue_[lane_] : 0);
  }

  __device__ __forceinline__ void join(bool joined, std::uint32_t bond) {
    std::uint32_t a = 0, b = 0;
    if (joined) {
      const std::uint32_t direction = bond / (kLabelTileSites * kLabelTileSites);
      std::uint32_t other = ahead_[0];
#pragma unroll
      for (unsigned k = 1; k < kDim; ++k) {
        if (direction == k) other = ahead_[k];
      }
      a = node_at(g_, run_, item_.graph, item_.word_group, replica_, item_.tile,
                  bond % kLabelTileSites);
      b = node_at(g_, run_, item_.graph, item_.word_group, replica_, other,
                  bond / kLabelTileSites % kLabelTileSites);
    }
    // The previous bond often joins the same two clusters.
    const std::uint32_t last_a = __shfl_up_sync(~0u, a, 1), last_b = __shfl_up_sync(~0u, b, 1);
    const bool known = lane_ != 0 && last_a == a && last_b == b;
    if (joined && !known) forest_.unite(a, b);
    __syncwarp();
  }

  const DeviceLabelTiles& g_;
  const LabelArgs& run_;
  const LabelItem<kDim>& item_;
  const unsigned replica_, lane_;
  std::uint32_t* const queue_;
  unsigned waiting_ = 0;
  const NodeForest forest_;
  std::uint32_t ahead_[kDim > 0 ? kDim : 1]{};  // tiles
};

// The tile and replica of a warp. The tiles of one replica are consecutive.
struct ReplicaTile {
  std::uint32_t word_group, replica, tile;

  __device__ __forceinline__ ReplicaTile(const DeviceLabelTiles& g, bool houdayer) {
    const std::uint32_t index = blockIdx.x * kNodeWarps + threadIdx.x / 32, one = index / g.count;
    word_group = one / labelled_replicas(houdayer);
    replica = label_replica(houdayer, one % labelled_replicas(houdayer));
    tile = index - one * g.count;
  }
};

// A warp joins a tile of one replica to the next tile in each direction.
template <int kDim>
__global__ void __launch_bounds__(kNodeThreads, kNodeBlocks)
    join_tiles(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  __shared__ std::uint32_t queues[kNodeWarps][kJoinQueue];
  const ReplicaTile at(g, run.houdayer);
  const LabelItem<kDim> item(g, run, at.word_group * g.count + at.tile);
  Joiner<kDim> joiner(g, run, item, at.replica, queues[threadIdx.x / 32]);
  if constexpr (kDim == 1) joiner.join_chain();
  if constexpr (kDim > 1) joiner.join_faces();
}

// Open listed bonds of one replica as pairs of nodes.
struct ListedPairs {
  std::uint32_t a[kListedBonds], b[kListedBonds];
  std::uint32_t count, next;
};

// Writes the indices of open bonds to pairs.a.
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

// Replaces the indices by pairs of nodes. Called by a block after find_open() and a barrier.
__device__ __forceinline__ void find_pairs(const DeviceLabelTiles& g, const LabelArgs& run,
                                           std::uint32_t word_group, unsigned replica,
                                           ListedPairs& pairs) {
  const std::uint32_t graph = (run.first + word_group) / g.word_groups;
  const ListedBondEnds* all = g.ends + static_cast<std::size_t>(graph) * g.listed_most;
  for (std::uint32_t at = threadIdx.x; at < pairs.count; at += kListedThreads) {
    const ListedBondEnds ends = all[pairs.a[at]];
    pairs.a[at] = node_at(g, run, graph, word_group, replica, ends.tile_a, ends.places & 0xFFFFu);
    pairs.b[at] = node_at(g, run, graph, word_group, replica, ends.tile_b, ends.places >> 16);
  }
}

// A thread takes the next pair as soon as it has joined one, because paths to roots differ in
// length.
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
    join_listed(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run,
                std::uint32_t blocks_per_replica) {
  __shared__ ListedPairs pairs;
  const std::uint32_t one = blockIdx.x / blocks_per_replica,
                      word_group = one / labelled_replicas(run.houdayer),
                      replica = label_replica(run.houdayer, one % labelled_replicas(run.houdayer));
  if (threadIdx.x == 0) {
    pairs.count = 0;
    pairs.next = kListedThreads;
  }
  __syncthreads();
  find_open(run.listed_open + static_cast<std::size_t>(word_group) * g.listed_most, replica,
            (blockIdx.x - one * blocks_per_replica) * kListedBonds,
            g.listed_count[(run.first + word_group) / g.word_groups], pairs);
  __syncthreads();
  find_pairs(g, run, word_group, replica, pairs);
  __syncthreads();
  join_pairs(forest_of(g, run, word_group, replica), pairs);
}

// Replaces nodes by their roots. The sets do not change any more, so plain (cached) loads suffice.
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

// A warp processes the nodes of a tile of one replica: each node gets the key of its root, and its
// size is added to the root's. Near and below Tc most tiles of a plane have many nodes of one large
// cluster, so the warp first sums the sizes of nodes with a common root, for up to two roots.
template <bool kWeighted>
__global__ void __launch_bounds__(kNodeThreads)
    root_nodes(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  constexpr std::uint32_t kNone = ~0u;
  constexpr unsigned kAtOnce = 4;
  const ReplicaTile at(g, run.houdayer);
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t graph = (run.first + at.word_group) / g.word_groups;
  const std::uint32_t count =
      run.nodes[(static_cast<std::size_t>(at.word_group) * g.count + at.tile) * 32 + at.replica];
  const std::uint32_t first =
      g.node_first[static_cast<std::size_t>(graph) * (g.count + 1) + at.tile];
  const std::size_t forest =
      (static_cast<std::size_t>(at.word_group) * 32 + at.replica) * g.nodes_most;
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
#pragma unroll
      for (int common = 0; common < 2; ++common) {
        const std::uint32_t left = __ballot_sync(~0u, root != kNone);
        if (left == 0) break;
        const std::uint32_t one = __shfl_sync(~0u, root, static_cast<int>(lowest(left)));
        const std::uint32_t total = __reduce_add_sync(~0u, root == one ? sum : 0);
        std::uint32_t weights = 0;
        if (kWeighted) weights = __reduce_add_sync(~0u, root == one ? heavy : 0);
        if (lane == lowest(left)) {
          atomicAdd(size + one, total);
          if (kWeighted && weights != 0) atomicAdd(weight + one, weights);
        }
        if (root == one) root = kNone;
      }
      if (root != kNone) {
        atomicAdd(size + root, sum);
        if (kWeighted && heavy != 0) atomicAdd(weight + root, heavy);
      }
    }
  }
}

void join(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream) {
  const std::uint32_t replicas = run.word_groups * labelled_replicas(run.houdayer);
  const std::uint32_t blocks = replicas / kNodeWarps * g.count;
  with_dim(g.lattice.dim, [&]<int kDim>() {
    if (kDim > 0) launch(join_tiles<kDim>, LaunchShape{blocks, kNodeThreads}, stream, g, run);
  });
  if (g.listed_most == 0) return;
  const std::uint32_t listed = (g.listed_most + kListedBonds - 1) / kListedBonds;
  launch(join_listed, LaunchShape{replicas * listed, kListedThreads}, stream, g, run, listed);
}

void find_roots(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream) {
  const std::uint32_t blocks =
      run.word_groups * labelled_replicas(run.houdayer) / kNodeWarps * g.count;
  launch(run.weight == nullptr ? root_nodes<false> : root_nodes<true>,
         LaunchShape{blocks, kNodeThreads}, stream, g, run);
}

// Step 5: sites flip by the keys of their roots; sums over clusters.

constexpr unsigned kFlipThreads = 512;
constexpr unsigned kFlipWarps = kFlipThreads / 32;

// Words of a table with one bit per label, 1 if its cluster flips: the labels of places, then those
// of nodes.
constexpr unsigned kLabelWords = 2 * kLabelRows;

// The flips of the nodes of a tile; sums over the roots among the nodes.
template <int kDim, bool kWeighted>
__device__ __forceinline__ void node_flips(const DeviceLabelTiles& g, const LabelArgs& run,
                                           const LabelItem<kDim>& item, unsigned replica,
                                           std::uint32_t* flips) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t first =
      g.node_first[static_cast<std::size_t>(item.graph) * (g.count + 1) + item.tile];
  const std::size_t forest =
      (static_cast<std::size_t>(item.word_group) * 32 + replica) * g.nodes_most;
  const std::uint32_t count = run.nodes[item.of_replica(replica)];
  std::uint64_t square = 0, cross = 0, weight_square = 0;
  WideSum fourth = 0;
  constexpr unsigned kAtOnce = kDim == 3 ? 2 : 1;
  for (std::uint32_t begin = 0; begin < count; begin += 32 * kAtOnce) {
    std::uint32_t key[kAtOnce], parent[kAtOnce];
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
      const std::uint32_t number = begin + 32 * n + lane, node = first + number;
      key[n] = number < count ? run.key[forest + node] : 0;
      parent[n] = number < count ? run.parent[forest + node] : ~0u;
    }
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
      const std::uint32_t node = first + begin + 32 * n + lane;
      const std::uint32_t all = __ballot_sync(~0u, (key[n] & 1u) != 0);
      if (lane == 0 && begin + 32 * n < count) flips[begin / 32 + n] = all;
      if (parent[n] == node) {
        const std::uint64_t size = run.size[forest + node], size2 = size * size;
        square += size2;
        fourth += static_cast<WideSum>(size2) * size2;
        if constexpr (kWeighted) {
          const std::uint64_t w = run.weight[forest + node];
          cross += size * w;
          weight_square += w * w;
        }
      }
    }
  }
  __syncwarp();
  add_cluster_sums(run.sums[item.word_group * 32 + replica], square, fourth);
  if constexpr (kWeighted) {
    add_weight_sums(run.sums[item.word_group * 32 + replica], cross, weight_square);
  }
}

// A cluster that is not a node flips by the random bit of its first place, a node by the lowest bit
// of its key.
template <int kDim, bool kWeighted>
__device__ __forceinline__ void label_flips(const DeviceLabelTiles& g, const LabelArgs& run,
                                            const LabelItem<kDim>& item, unsigned replica,
                                            std::uint32_t* flips) {
  node_flips<kDim, kWeighted>(g, run, item, replica, flips + kLabelRows);
  const std::uint32_t* random = item.mask(run, item.tile, kDim, replica);
  for (unsigned row = threadIdx.x % 32; row < kLabelRows; row += 32) flips[row] = random[row];
  __syncwarp();
}

// The flips of eight sites of a row from their labels.
__device__ __forceinline__ std::uint32_t eight_flips(const std::uint32_t* flips,
                                                     const uint4& labels) {
  const auto two = [&](std::uint32_t pair) {
    const std::uint32_t low = pair & 0xFFFFu, high = pair >> 16;
    return (flips[low / 32] >> low % 32 & 1u) | (flips[high / 32] >> high % 32 & 1u) << 1;
  };
  return two(labels.x) | two(labels.y) << 2 | two(labels.z) << 4 | two(labels.w) << 6;
}

template <int kDim, bool kWeighted>
__global__ void __launch_bounds__(kFlipThreads)
    flip_tile(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  __shared__ std::uint32_t tables[kFlipWarps][kLabelWords];
  __shared__ std::uint32_t stage[32 * kStage];
  const LabelItem<kDim> item(g, run, blockIdx.x);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (unsigned number = warp; number < labelled_replicas(run.houdayer); number += kFlipWarps) {
    const unsigned replica = label_replica(run.houdayer, number);
    label_flips<kDim, kWeighted>(g, run, item, replica, tables[warp]);
    const auto* labels =
        reinterpret_cast<const uint4*>(run.label + item.of_replica(replica) * kLabelTileSites);
    auto* out = reinterpret_cast<std::uint8_t*>(stage + replica * kStage);
#pragma unroll
    for (unsigned n = lane; n < kLabelTileSites / 8; n += 32) {
      out[n] = static_cast<std::uint8_t>(eight_flips(tables[warp], labels[n]));
      if (run.houdayer) out[n + kPartnerDistance * kStage * 4] = out[n];
    }
    __syncwarp();
  }
  __syncthreads();
  const auto vec = static_cast<std::uint32_t>(run.vec);
  std::uint32_t* spins = run.spins + first_word(item.all, g.lattice.words, run.vec);
  for (unsigned j = warp; j < kLabelRows; j += kFlipWarps) {
    const std::uint32_t flips = transpose_bits(stage[lane * kStage + j]);
    const LabelRow row = item.row(g, j);
    if (lane >= row.count || flips == 0) continue;
    std::uint32_t colour = row.site + lane;
    if constexpr (kDim > 1) {
      colour = lane;  // tiles begin at even x
#pragma unroll
      for (int k = 1; k < kDim; ++k) {
        colour += item.at.at[k] * label_tile_length<kDim>(k) + LabelTile<kDim>::coordinate(j, k);
      }
    }
    const std::uint32_t site = row.site + lane;
    const std::uint32_t slot =
        kDim == 0 ? g.lattice.colour_base[0] + site : g.lattice.colour_base[colour & 1u] + site / 2;
    spins[static_cast<std::size_t>(slot) * vec] ^= flips;
  }
}

// Adds the sums of one replica's update to its totals and clears them.
__global__ void close_sums(const __grid_constant__ LabelArgs run) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica >= run.word_groups * 32) return;
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

void flip(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream) {
  with_dim(g.lattice.dim, [&]<int kDim>() {
    launch(run.weight == nullptr ? flip_tile<kDim, false> : flip_tile<kDim, true>,
           LaunchShape{run.word_groups * g.count, kFlipThreads}, stream, g, run);
  });
  if (run.houdayer) return;
  launch(close_sums, cover(std::uint64_t{run.word_groups} * 32, 64), stream, run);
}

}  // namespace

void launch_swendsen_wang(const DeviceLabelTiles& g, const LabelArgs& run,
                          const DeviceClusterPairs* pairs, cudaStream_t stream) {
  draw(g, run, stream);
  label(g, run, stream);
  join(g, run, stream);
  find_roots(g, run, stream);
  if (pairs != nullptr) launch_cluster_pairs(g, run, *pairs, stream);
  flip(g, run, stream);
}

}  // namespace rewise::multispin
