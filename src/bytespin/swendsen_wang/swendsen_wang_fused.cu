// The kernels of the fast Swendsen-Wang path (swendsen_wang_fused_cuda.hpp), in this order:
//
//   - the differences between Ising and Potts
//   - the tile: the draws of its nodes in the previous update, then the labels of its clusters
//   - the bonds between tiles
#include "src/bytespin/equal_bytes.hpp"
#include "src/bytespin/swendsen_wang/border_bonds.hpp"
#include "src/bytespin/swendsen_wang/fused_labels.cuh"

namespace rewise::bytespin {
namespace {

using namespace device;

constexpr unsigned kThreads = 128;  // per block, except in kernels on tiles

// The differences between the models: how a tile in shared memory stores its spins, what its
// clusters draw, and how labels change spins. The functions are called by a block of kWarps warps;
// each warp holds all rows of the tile, a word for each lane.

// A piece is eight consecutive sites of a tile. Number of pieces per thread:
template <unsigned kWarps>
constexpr unsigned kPieces = kTileSites / (8 * 32 * kWarps);

// Ising: a cluster draws a bit, 1 if it flips. A label has the spin of its site in bit 15.
struct FusedIsing {
  static constexpr bool kPotts = false;
  using Draw = bool;
  struct Spins {
    alignas(8) std::uint64_t row[kTileLanes];
  };
  struct SiteDraws {  // by place in the tile, as if each site were the smallest of its cluster
    std::uint32_t flips[kTileSites / 32];
  };
  struct LabelDraws {  // by label without its spin
    std::uint32_t flips[kTileSites / 32 + 1];
  };

  explicit FusedIsing(const GraphView&) {}

  // Draws for the rows of this warp's band. Each of the first kRows lanes draws for one row.
  template <unsigned kWarps>
  __device__ __forceinline__ void draw_sites(SiteDraws& out, const TileWord& word,
                                             const DrawKey& key) const {
    constexpr unsigned kRows = kTileLanes / kWarps;
    const unsigned lane = threadIdx.x % 32, row = kRows * (threadIdx.x / 32) + lane % kRows;
    const Site first = __shfl_sync(~0u, word.first, static_cast<int>(row));
    const Words4 x = key.words(Stream::bytespin_flip, bit_item(first));
    if (lane >= kRows) return;
    const bool upper = (first & kWordSites) != 0;
    out.flips[2 * row] = upper ? x.w[2] : x.w[0];
    out.flips[2 * row + 1] = upper ? x.w[3] : x.w[1];
  }

  static __device__ __forceinline__ std::uint32_t closed_label(const SiteDraws& draws,
                                                               unsigned place) {
    return kClosed | (draws.flips[place / 32] >> place % 32 & 1u);
  }

  static __device__ __forceinline__ void set_closed(LabelDraws& out) {
    if (threadIdx.x == 0) out.flips[kClosed / 32] = 2;
  }
  __device__ __forceinline__ Draw draw(const DrawKey& key, Site smallest) const {
    return bit_draw(key, Stream::bytespin_flip, smallest) != 0;
  }
  // Called by a warp, for 32 labels starting at `begin`.
  static __device__ __forceinline__ void set(LabelDraws& out, std::uint32_t begin, Draw draw) {
    const std::uint32_t flips = __ballot_sync(~0u, draw);
    if (threadIdx.x % 32 == 0) out.flips[begin / 32] = flips;
  }

  static __device__ __forceinline__ std::uint32_t new_spin(const LabelDraws& draws,
                                                           std::uint32_t label) {
    const std::uint32_t number = label & kNodeMask;
    return (draws.flips[number >> 5] >> (number & 31u) ^ label >> kSpinBit) & 1u;
  }

  // The spins before the first update of a run.
  static __device__ __forceinline__ void load(Spins& out, const TileWord& word,
                                              const std::uint8_t* spins) {
    if (threadIdx.x < 32) out.row[threadIdx.x] = load_spins<true>(spins + word.first, word.count);
  }
  // Stores the new spins of a piece.
  static __device__ __forceinline__ void take(Spins& out, const TileWord&, unsigned piece,
                                              const uint2& eight, std::uint8_t*) {
    const std::uint32_t low = __dp4a(eight.x, 0x08040201u, 0u);
    reinterpret_cast<std::uint8_t*>(out.row)[piece] =
        static_cast<std::uint8_t>(__dp4a(eight.y, 0x80402010u, low));
  }
  static __device__ __forceinline__ std::uint64_t row(const Spins& spins) {
    return spins.row[threadIdx.x % 32];
  }
  // The spins of two neighbouring sites, as bit 15 of each of their two labels.
  static __device__ __forceinline__ std::uint32_t label_spins(const Spins& spins, unsigned row,
                                                              unsigned x) {
    const auto two = static_cast<std::uint32_t>(spins.row[row] >> x);
    return (two & 1u) << kSpinBit | (two & 2u) << (kSpinBit + 15);
  }
};

// Potts: a cluster draws a state. Labels do not contain spins; these stay in memory as bytes. Drawn
// bonds between unequal spins are removed (keep_equal()), so that the rest of the code treats all
// spins as equal.
struct FusedPotts {
  static constexpr bool kPotts = true;
  using Draw = std::uint8_t;
  struct Spins {
    alignas(8) std::uint8_t at[kTileSites];
  };
  struct SiteDraws {
    std::uint8_t state[kTileSites];
  };
  struct LabelDraws {
    alignas(2) std::uint8_t state[kClosed + 256];  // by label: nodes, then closed clusters
  };

  std::uint32_t states;

  explicit FusedPotts(const GraphView& graph) : states(graph.states) {}

  // Draws a state for every site: 16 calls per row, each for four sites. Drawing only for the roots
  // would not be faster: the thread with the most roots makes about as many calls, and all threads
  // would have to wait for the roots.
  template <unsigned kWarps>
  __device__ __forceinline__ void draw_sites(SiteDraws& out, const TileWord& word,
                                             const DrawKey& key) const {
    constexpr unsigned kRows = kTileLanes / kWarps;
    const unsigned lane = threadIdx.x % 32, top = kRows * (threadIdx.x / 32);
    const unsigned call = lane % kCallsPerBlock;
#pragma unroll
    for (unsigned n = 0; n < kRows / 2; ++n) {
      const unsigned row = top + 2 * n + lane / kCallsPerBlock;
      const std::uint64_t first = __shfl_sync(~0u, word.first, static_cast<int>(row));
      const Words4 x =
          key.words(Stream::bytespin_flip, first / kDrawsPerBlock * kCallsPerBlock + call);
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) {
        out.state[kWordSites * row + kCallsPerBlock * j + call] = any_state(x.w[j], states);
      }
    }
  }

  static __device__ __forceinline__ std::uint32_t closed_label(const SiteDraws& draws,
                                                               unsigned place) {
    return kClosed + draws.state[place];
  }

  static __device__ __forceinline__ void set_closed(LabelDraws& out) {
    if (threadIdx.x >= 128) return;
    auto* two = reinterpret_cast<std::uint16_t*>(out.state + kClosed);
    two[threadIdx.x] = static_cast<std::uint16_t>(0x0100u + 0x0202u * threadIdx.x);
  }
  __device__ __forceinline__ Draw draw(const DrawKey& key, Site smallest) const {
    return any_state(draw_at(key, Stream::bytespin_flip, smallest), states);
  }
  static __device__ __forceinline__ void set(LabelDraws& out, std::uint32_t begin, Draw draw) {
    out.state[begin + threadIdx.x % 32] = draw;
  }

  static __device__ __forceinline__ std::uint32_t new_spin(const LabelDraws& draws,
                                                           std::uint32_t label) {
    return draws.state[label];
  }

  static __device__ __forceinline__ void load(Spins& out, const TileWord& word,
                                              const std::uint8_t* spins) {
    for (unsigned piece = threadIdx.x; piece < kTileSites / 8; piece += blockDim.x) {
      const auto row = static_cast<int>(piece / (kWordSites / 8));
      const Site first = __shfl_sync(~0u, word.first, row);
      const bool there = __shfl_sync(~0u, word.count, row) > 0;
      const auto* from = reinterpret_cast<const uint2*>(spins + first + 8 * piece % kWordSites);
      reinterpret_cast<uint2*>(out.at)[piece] = there ? *from : uint2{0, 0};
    }
  }
  static __device__ __forceinline__ void take(Spins& out, const TileWord& word, unsigned piece,
                                              const uint2& eight, std::uint8_t* spins) {
    const auto row = static_cast<int>(piece / (kWordSites / 8));
    const Site first = __shfl_sync(~0u, word.first, row);
    const bool there = __shfl_sync(~0u, word.count, row) > 0;
    reinterpret_cast<uint2*>(out.at)[piece] = eight;
    if (there) *reinterpret_cast<uint2*>(spins + first + 8 * piece % kWordSites) = eight;
  }
  static __device__ __forceinline__ std::uint64_t row(const Spins&) { return 0; }
  static __device__ __forceinline__ std::uint32_t label_spins(const Spins&, unsigned, unsigned) {
    return 0;
  }
};

// Compares eight spins with eight others: bit i is set if bytes i of a and b are equal.
__device__ __forceinline__ std::uint32_t equal_eight(const uint2& a, const uint2& b) {
  return equal_bytes(a.x, b.x) | equal_bytes(a.y, b.y) << 4;
}

// Removes drawn bonds between unequal spins within the tile. `drawn` is FusedTileMemory::drawn,
// where the bonds of a piece in one direction are one byte. Called by the whole block, after a
// barrier for spins and drawn bonds. Ends with a barrier.
template <int kDim, unsigned kWarps>
__device__ __forceinline__ void keep_equal(std::uint32_t (&drawn)[kTileLanes][2][kDim],
                                           const FusedPotts::Spins& spins, const TileWord& word) {
  constexpr unsigned kPerRow = kWordSites / 8;
  const auto* pieces = reinterpret_cast<const uint2*>(spins.at);
#pragma unroll
  for (unsigned n = 0; n < kPieces<kWarps>; ++n) {
    const unsigned piece = 32 * kWarps * n + threadIdx.x;
    const unsigned row = piece / kPerRow, part = piece % kPerRow;
    const std::uint32_t inside = __shfl_sync(~0u, word.inside, static_cast<int>(row));
    auto* out = reinterpret_cast<std::uint8_t*>(drawn[row][part / 4]) + part % 4;
    const uint2 here = pieces[piece];
    const bool last = part + 1 == kPerRow;
    const std::uint32_t next = last ? 0 : spins.at[8 * piece + 8];
    const uint2 shifted =
        make_uint2(__funnelshift_r(here.x, here.y, 8), __funnelshift_r(here.y, next, 8));
    out[0] &= static_cast<std::uint8_t>(equal_eight(here, shifted) | (last ? 0x80u : 0u));
#pragma unroll
    for (int k = 1; k < kDim; ++k) {
      if ((inside >> k & 1u) == 0) continue;
      const uint2 ahead = pieces[piece + (kPerRow << lane_shift<kDim>(k))];
      out[4 * k] &= static_cast<std::uint8_t>(equal_eight(here, ahead));
    }
  }
  __syncthreads();
}

// The draws of a tile's nodes, read when the forest is complete. The same step sums cluster sizes:
// when a size grows from a to b, sum n^2 grows by b^2 - a^2, so no second pass over roots is
// needed.

// In shared memory.
template <unsigned kWarps, class Model>
struct RootMemory {
  typename Model::LabelDraws draws;
  std::uint32_t favourite[kWarps], favourite_size[kWarps];
};

// Called by a block of kWarps warps for one tile.
template <unsigned kWarps, class Model>
class RootFinder {
 public:
  using Memory = RootMemory<kWarps, Model>;

  __device__ __forceinline__ RootFinder(const Model& model, const FusedReplica& arrays,
                                        const DrawKey& key, std::uint32_t first, Memory& memory)
      : model_(model), replica_(arrays), key_(key), first_(first), memory_(memory) {}

  // Called by all threads of the block. A barrier is required before finish(), and before reading
  // memory.draws. Near and below Tc most nodes of a tile belong to one large cluster. The block
  // therefore first sums the sizes of these nodes and adds the sum to the root's size once.
  __device__ __forceinline__ void run(std::uint32_t count) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Model::set_closed(memory_.draws);
    std::uint32_t favourite = kNone, sum = 0;
    for (std::uint32_t begin = 32 * warp; begin < count; begin += 32 * kWarps) {
      std::uint32_t size = 0;
      typename Model::Draw draw{};
      const std::uint32_t root = begin + lane < count ? look_up(begin + lane, size, draw) : kNone;
      Model::set(memory_.draws, begin, draw);
      const std::uint32_t peers = __match_any_sync(~0u, root);
      size = __reduce_add_sync(peers, size);
      const bool leads = root != kNone && lane == lowest(peers);
      if (begin == 32 * warp) {
        const std::uint32_t most = __reduce_max_sync(~0u, leads ? size : 0);
        const std::uint32_t lanes = __ballot_sync(~0u, leads && size == most);
        favourite = __shfl_sync(~0u, root, static_cast<int>(lowest(lanes)));
      }
      if (leads && root == favourite) sum += size;
      if (leads && root != favourite) grow(root, size);
    }
    sum = __reduce_add_sync(~0u, sum);
    if (lane == 0) {
      memory_.favourite[warp] = favourite;
      memory_.favourite_size[warp] = sum;
    }
  }

  __device__ __forceinline__ void finish() {
    const unsigned lane = threadIdx.x % 32;
    if (threadIdx.x >= 32) return;
    const std::uint32_t root = lane < kWarps ? memory_.favourite[lane] : kNone;
    const std::uint32_t peers = __match_any_sync(~0u, root);
    const std::uint32_t size =
        __reduce_add_sync(peers, root != kNone ? memory_.favourite_size[lane] : 0);
    if (root != kNone && lane == lowest(peers)) grow(root, size);
  }

  // Adds the sums to those of an update. Called by whole warps.
  __device__ __forceinline__ void add_up(const TileArrays& labels, std::uint32_t replicas,
                                         std::uint32_t update, std::uint32_t replica,
                                         std::uint32_t tile) {
    add_warp_sums(labels, replicas, update, replica, tile, square_, fourth_);
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  // Returns the root of a node, and in `size` the number of sites to add to it. Returns kNone if
  // the node is a root, which starts with its own size.
  __device__ __forceinline__ std::uint32_t look_up(std::uint32_t number, std::uint32_t& size,
                                                   typename Model::Draw& draw) {
    const std::uint32_t node = first_ + number;
    const std::uint32_t own = replica_.own[node];
    KeyedForest::Word word;
    const std::uint32_t root = replica_.forest.root(node, word);
    draw = model_.draw(key_, KeyedForest::key(word));
    if (root == node) {
      const std::uint64_t n2 = static_cast<std::uint64_t>(own) * own;
      square_ += n2;
      fourth_ += n2 * n2;
      return kNone;
    }
    size = own;
    return root;
  }

  __device__ __forceinline__ void grow(std::uint32_t root, std::uint32_t size) {
    const std::uint64_t before = atomicAdd(replica_.size + root, size), after = before + size;
    const std::uint64_t before2 = before * before, after2 = after * after;
    square_ += after2 - before2;
    fourth_ += static_cast<WideSum>(after2) * after2 - static_cast<WideSum>(before2) * before2;
  }

  const Model& model_;
  const FusedReplica replica_;
  const DrawKey key_;
  const std::uint32_t first_;  // the tile's first node
  Memory& memory_;
  std::uint64_t square_ = 0;
  WideSum fourth_ = 0;
};

// A block of four or eight warps draws the bonds of a tile and labels its clusters in shared
// memory. A tile has 32 rows of 64 sites along x (tiles.hpp). Every warp holds all rows as bit
// masks, a row for each lane, and works on a band of rows. A run is a sequence of sites of a row
// that bonds along x join. It is identified by the place of its first site.
//
// 1  Draw the bonds; the 64 sites of a row take 16 calls per direction.
// 2  Compute the runs of a row from its spins and bonds by bit arithmetic. (Potts: from its bonds,
//    without those between unequal spins.)
// 3  Within each band, row by row: attach every run to the root of a run of the previous row, if a
//    bond joins the two runs. Then do this for the first row of each band. This needs no search
//    and has no conflicts.
// 4  Join the remaining bonds by compare-and-swap, one bond per thread at a time: all threads climb
//    to the roots, then all attach. Bonds whose left neighbour joins the same two runs are skipped.
// 5  Look up the roots of all sites, eight sites of a thread at a time. Sum the sites and the open
//    sites of each root: a site is open if it has, or may have, a bond to another tile. Roots with
//    open sites become nodes; all other clusters are closed.
//
// Words of the forest, and indices into it, are in bytes: 4 * place.
//
// A barrier separates phases that read the forest from phases that change it, so that threads share
// words only in the atomic operations of 4 and 5. Cost: about 3700 instructions of each of four
// warps.

// In shared memory.
template <int kDim, class Model>
struct FusedTileMemory {
  alignas(16) std::uint32_t forest[kTileSites];          // parents, then sizes and labels of roots
  alignas(16) std::uint32_t drawn[kTileLanes][2][kDim];  // bonds of half a row in a direction
  typename Model::Spins spins;
  std::uint64_t starts[kTileLanes], open[kTileLanes];
  typename Model::SiteDraws draws;
  Site first[kTileLanes];
  std::uint32_t nodes;
  // Sums over closed clusters. fourth_low sums the lower 22 bits of n^4, fourth_high the rest.
  std::uint32_t square, fourth_low, fourth_high;
};

// Draws the bonds of a band of rows that begins with row `top`, into the masks `drawn` of the band.
template <int kDim, unsigned kRows>
__device__ __forceinline__ void draw_bonds(std::uint32_t (*drawn)[2][kDim], unsigned top,
                                           const TileWord& word, const DrawKey& key,
                                           Threshold bond) {
  const unsigned lane = threadIdx.x % 32;
  auto* out = reinterpret_cast<uint2*>(drawn);
#pragma unroll 4
  for (unsigned n = 0; n < kRows * kDim / 2; ++n) {
    const unsigned block = 2 * n + lane / kCallsPerBlock;  // in the band
    const unsigned row = top + block / kDim;
    const std::uint64_t first = __shfl_sync(~0u, word.first, static_cast<int>(row));
    const std::uint64_t call =
        (first / kDrawsPerBlock * kDim + block % kDim) * kCallsPerBlock + lane % kCallsPerBlock;
    const uint2 mask = DrawnBlocks(key, call, bond).mask(lane >= kCallsPerBlock);
    if (lane % kCallsPerBlock == 0) out[block] = mask;
  }
}

template <int kDim, unsigned kWarps, class Model>
class FusedTile {
 public:
  using Memory = FusedTileMemory<kDim, Model>;

  __device__ __forceinline__ FusedTile(const FusedLabels& labels, std::uint32_t tile,
                                       Memory& memory)
      : labels_(labels),
        memory_(memory),
        tile_(tile),
        lane_(threadIdx.x % 32),
        warp_(threadIdx.x / 32),
        word_(tile_word<kDim>(labels.tiles, labels.geometry, tile, lane_)) {}

  __device__ __forceinline__ const TileWord& word() const { return word_; }

  // Step 1, and the draws of all clusters, as if every site were a root. A barrier must follow
  // before step 2.
  __device__ __forceinline__ void draw(const Model& model, const DrawKey& key, Threshold bond) {
    if (threadIdx.x == 0) {
      memory_.nodes = memory_.square = memory_.fourth_low = memory_.fourth_high = 0;
    }
    draw_bonds<kDim, kBandRows>(memory_.drawn + row(0), row(0), word_, key, bond);
    model.template draw_sites<kWarps>(memory_.draws, word_, key);
  }

  // Steps 2 to 4, after a barrier for the spins.
  __device__ __forceinline__ void join(const GraphView& graph, const FusedReplica& arrays) {
    if constexpr (Model::kPotts) keep_equal<kDim, kWarps>(memory_.drawn, memory_.spins, word_);
    const std::uint64_t spin = Model::row(memory_.spins);
    const std::uint64_t all = word_.count > 0 ? ~std::uint64_t{0} : 0;
    starts_ = (~(drawn(0) & ~(spin ^ spin >> 1) & all >> 1) & all) << 1 | 1u;
    if (warp_ == 0) {
      memory_.first[lane_] = word_.first;
      memory_.starts[lane_] = starts_;
      memory_.open[lane_] = open_sites(graph);
    }
    write_border_bonds(arrays);
    std::uint64_t first = 0;
    std::uint64_t rest = 0;
#pragma unroll
    for (int k = 1; k < kDim; ++k) rest |= find_bonds(k, spin, all, first);
    hook(first);
    join_rest(rest);
  }

  // Step 5. Writes the nodes of `replica` and the labels; adds the sums of closed clusters to those
  // of an update.
  __device__ __forceinline__ void find_roots(const FusedReplica& arrays, std::uint32_t replicas,
                                             std::uint32_t update, std::uint32_t replica) {
    const std::uint32_t valid = __ballot_sync(~0u, word_.count > 0) >> kBandRows * warp_;
    climb_all();
    __syncthreads();
    const std::uint32_t roots = clear_roots(valid);
    __syncthreads();
    count_sites(valid);
    __syncthreads();
    hand_out(roots, arrays);
    __syncthreads();
    write_labels(valid, arrays);
    if (threadIdx.x == 0) {
      arrays.count[tile_] = memory_.nodes;
      const std::uint64_t fourth =
          std::uint64_t{memory_.fourth_high} * kFourthUnit + memory_.fourth_low;
      if (memory_.square != 0) {
        add_sums(labels_, replicas, update, replica, tile_, memory_.square, fourth);
      }
    }
  }

 private:
  static constexpr unsigned kBandRows = kTileLanes / kWarps;
  // When bonds are joined one by one: threads per row, and columns of each thread.
  static constexpr unsigned kRowThreads = 32 / kBandRows, kColumns = kWordSites / kRowThreads;
  static constexpr std::uint32_t kOpenSite = 1u << 16, kSizeMask = kOpenSite - 1;
  static constexpr std::uint32_t kFourthUnit = 1u << 22;

  __device__ __forceinline__ unsigned row(unsigned j) const { return kBandRows * warp_ + j; }

  __device__ __forceinline__ std::uint32_t& at(std::uint32_t place) const {
    return *reinterpret_cast<std::uint32_t*>(reinterpret_cast<char*>(memory_.forest) + place);
  }

  // The bonds of the lane's row in direction k. Call after a barrier.
  __device__ __forceinline__ std::uint64_t drawn(int k) const {
    std::uint32_t low = memory_.drawn[lane_][0][k], high = memory_.drawn[lane_][1][k];
    if (labels_.gone != nullptr && word_.count > 0) {
      const std::uint32_t* gone =
          labels_.gone + static_cast<std::size_t>(word_.first / 32) * kDim + k;
      low &= ~gone[0];
      high &= ~gone[kDim];
    }
    return static_cast<std::uint64_t>(high) << 32 | low;
  }

  // Bonds to other tiles, for the join between tiles.
  __device__ __forceinline__ void write_border_bonds(const FusedReplica& arrays) const {
    if (word_.count == 0 || warp_ >= kDim) return;
    const int k = static_cast<int>(warp_);
    std::uint32_t* out = arrays.drawn + static_cast<std::size_t>(word_.first / 32) * kDim + k;
    const std::uint64_t bonds = drawn(k);
    if (k > 0 && (word_.inside >> k & 1u) != 0) return;
    if (k > 0) out[0] = static_cast<std::uint32_t>(bonds);
    out[kDim] = static_cast<std::uint32_t>(bonds >> 32);
  }

  // Sites that have, or may have, a bond to another tile.
  __device__ __forceinline__ std::uint64_t open_sites(const GraphView& graph) const {
    if (word_.edge) return ~std::uint64_t{0};
    const std::uint64_t ends = std::uint64_t{1} << 63 | 1u;
    if (graph.rewired_count == 0 || word_.count == 0) return ends;
    return ends | bits_from(labels_.modified, 1, word_.first);
  }

  // Finds the bonds that join a row to the previous row in direction k. In direction 1, sets
  // `first` to the first such bond of each run, which step 3 uses. Returns the other bonds that
  // step 4 needs, for the row and the columns of this thread: bit kColumns (k - 1) + x.
  __device__ __forceinline__ std::uint64_t find_bonds(int k, std::uint64_t spin, std::uint64_t all,
                                                      std::uint64_t& first) const {
    const unsigned step = 1u << lane_shift<kDim>(k);
    std::uint64_t unequal = 0;
    if constexpr (!Model::kPotts) unequal = spin ^ __shfl_down_sync(~0u, spin, step);
    const bool inside = (word_.inside >> k & 1u) != 0;
    const std::uint64_t ahead = inside ? drawn(k) & ~unequal & all : 0;
    std::uint64_t behind = __shfl_up_sync(~0u, ahead, step);
    const std::uint64_t starts_behind = __shfl_up_sync(~0u, starts_, step);
    if (lane_ < step) behind = 0;
    std::uint64_t rest = behind & ~(behind << 1 & ~starts_ & ~starts_behind);
    if (k == 1) {
      first = first_of_runs(starts_, behind);
      rest &= ~first;
    }
    rest = __shfl_sync(~0u, rest, static_cast<int>(row(lane_ % kBandRows)));
    constexpr std::uint64_t kMine = (std::uint64_t{1} << kColumns) - 1;
    return (rest >> kColumns * (lane_ / kBandRows) & kMine) << kColumns * (k - 1);
  }

  // The starts of the runs of sites 2 lane and 2 lane + 1 of a row, in bits 0-15 and 16-31.
  __device__ __forceinline__ std::uint32_t two_places(std::uint64_t starts, unsigned row) const {
    const unsigned x = 2 * lane_, base = 4 * kWordSites * row;
    const std::uint32_t even = base + 4 * run_start(starts, x);
    const std::uint32_t odd = (starts >> (x + 1) & 1u) != 0 ? base + 4 * (x + 1) : even;
    return odd << 16 | even;
  }

  __device__ __forceinline__ std::uint64_t starts_of(unsigned row) const {
    return __shfl_sync(~0u, starts_, static_cast<int>(row));
  }

  // Step 3.
  __device__ __forceinline__ void hook(std::uint64_t first) {
    auto* quads = reinterpret_cast<uint4*>(memory_.forest);
#pragma unroll
    for (unsigned n = 0; n < kBandRows * kWordSites / 128; ++n) {
      const unsigned quad = kBandRows * kWordSites / 4 * warp_ + 32 * n + lane_;
      quads[quad] = make_uint4(16 * quad, 16 * quad + 4, 16 * quad + 8, 16 * quad + 12);
    }
    __syncwarp();
#pragma unroll
    for (unsigned j = 0; j < kBandRows; ++j) {
      places_[j] = two_places(starts_of(row(j)), row(j));
      if (j == 0) continue;
      hook_row(__shfl_sync(~0u, first, static_cast<int>(row(j))), places_[j - 1], places_[j]);
      __syncwarp();
    }
    __syncthreads();
    if constexpr (kBandRows < 1u << tile_bits<kDim>(1)) {
      if (warp_ == 0) return;
      hook_row(__shfl_sync(~0u, first, static_cast<int>(row(0))),
               two_places(starts_of(row(0) - 1), row(0) - 1), places_[0]);
    }
  }

  __device__ __forceinline__ void hook_row(std::uint64_t hooks, std::uint32_t before,
                                           std::uint32_t here) {
    const auto two = static_cast<std::uint32_t>(hooks >> 2 * lane_);
    if ((two & 1u) != 0) at(here & 0xffffu) = at(before & 0xffffu);
    if ((two & 2u) != 0) at(here >> 16) = at(before >> 16);
  }

  // Step 4. A bit of `rest` joins the thread's row to the previous one in direction
  // 1 + bit / kColumns.
  __device__ __forceinline__ void join_rest(std::uint64_t rest) {
    const unsigned mine = row(lane_ % kBandRows), corner = kColumns * (lane_ / kBandRows);
    while (__syncthreads_or(rest != 0) != 0) {
      std::uint32_t a = 0, b = 0;
      if (rest != 0) {
        const unsigned bit = lowest(rest), x = corner + bit % kColumns;
        const int k = kDim == 2 ? 1 : static_cast<int>(1 + bit / kColumns);
        const unsigned there = mine - (1u << lane_shift<kDim>(k));
        a = 4 * (kWordSites * mine + run_start(memory_.starts[mine], x));
        b = 4 * (kWordSites * there + run_start(memory_.starts[there], x));
        climb(a, b);
      }
      __syncthreads();
      if (rest != 0) {
        const std::uint32_t high = a > b ? a : b, low = a > b ? b : a;
        if (high == low || atomicCAS(&at(high), high, low) == high) rest &= rest - 1;
      }
    }
  }

  __device__ __forceinline__ void climb(std::uint32_t& a, std::uint32_t& b) const {
    for (;;) {
      const std::uint32_t up_a = at(a), up_b = at(b);
      if (up_a == a && up_b == b) return;
      a = up_a;
      b = up_b;
    }
  }

  // Replaces places_ by the places of the roots.
  __device__ __forceinline__ void climb_all() {
    constexpr unsigned kAtOnce = 4;
#pragma unroll
    for (unsigned begin = 0; begin < kBandRows; begin += kAtOnce) {
      std::uint32_t moved = 1;
      while (moved != 0) {
        moved = 0;
#pragma unroll
        for (unsigned j = begin; j < begin + kAtOnce; ++j) {
          const std::uint32_t up =
              __byte_perm(at(places_[j] & 0xffffu), at(places_[j] >> 16), 0x5410);
          moved |= up ^ places_[j];
          places_[j] = up;
        }
      }
    }
  }

  // Returns which sites of this thread are roots: bits 2 j and 2 j + 1 are its two sites in row j
  // of the band. Sets the words of these roots to 0; they become sums.
  __device__ __forceinline__ std::uint32_t clear_roots(std::uint32_t valid) {
    std::uint32_t roots = 0;
#pragma unroll
    for (unsigned j = 0; j < kBandRows; ++j) {
      if ((valid >> j & 1u) == 0) continue;
      const std::uint32_t place = 4 * (kWordSites * row(j) + 2 * lane_);
      if ((places_[j] & 0xffffu) == place) {
        at(place) = 0;
        roots |= 1u << 2 * j;
      }
      if (places_[j] >> 16 == place + 4) {
        at(place + 4) = 0;
        roots |= 2u << 2 * j;
      }
    }
    return roots;
  }

  // Sums the sites and open sites of the roots. A cluster usually continues from row to row, so a
  // thread first sums over consecutive sites of one root.
  __device__ __forceinline__ void count_sites(std::uint32_t valid) {
    std::uint32_t root = places_[0] & 0xffffu, sum = 0;
    const auto add = [&](std::uint32_t to, std::uint32_t value) {
      if (to != root) {
        atomicAdd(&at(root), sum);
        root = to;
        sum = 0;
      }
      sum += value;
    };
#pragma unroll
    for (unsigned j = 0; j < kBandRows; ++j) {
      if ((valid >> j & 1u) == 0) continue;
      const auto open = static_cast<std::uint32_t>(memory_.open[row(j)] >> 2 * lane_);
      add(places_[j] & 0xffffu, 1u | (open & 1u) << 16);
      add(places_[j] >> 16, 1u | (open & 2u) << 15);
    }
    atomicAdd(&at(root), sum);
  }

  // The thread's site that belongs to a bit of clear_roots().
  __device__ __forceinline__ unsigned place_of(unsigned bit) const {
    return kWordSites * row(bit / 2) + 2 * lane_ + bit % 2;
  }

  // Replaces the word of each root by the label of its sites: the draw of a closed cluster, or the
  // number of the node of an open one.
  __device__ __forceinline__ void hand_out(std::uint32_t roots, const FusedReplica& arrays) {
    std::uint32_t open = 0, square = 0;
    std::uint64_t fourth = 0;
    for (; roots != 0; roots &= roots - 1) {
      const unsigned place = place_of(lowest(roots));
      const std::uint32_t size = memory_.forest[place];
      if (size >= kOpenSite) {
        open |= roots & -roots;
        continue;
      }
      square += size * size;
      fourth += static_cast<std::uint64_t>(size * size) * (size * size);
      memory_.forest[place] = Model::closed_label(memory_.draws, place);
    }
    add_closed(square, fourth);
    const auto count = static_cast<std::uint32_t>(__popc(open));
    std::uint32_t up_to = count;
    for (unsigned step = 1; step < 32; step *= 2) {
      const std::uint32_t before = __shfl_up_sync(~0u, up_to, step);
      if (lane_ >= step) up_to += before;
    }
    std::uint32_t begin = 0;
    if (lane_ == 31 && up_to > 0) begin = atomicAdd(&memory_.nodes, up_to);
    begin = __shfl_sync(~0u, begin, 31);
    make_nodes(open, begin + up_to - count, arrays);
  }

  __device__ __forceinline__ void add_closed(std::uint32_t square, std::uint64_t fourth) {
    square = __reduce_add_sync(~0u, square);
    if (square == 0) return;
    const std::uint32_t low =
        __reduce_add_sync(~0u, static_cast<std::uint32_t>(fourth % kFourthUnit));
    const std::uint32_t high =
        __reduce_add_sync(~0u, static_cast<std::uint32_t>(fourth / kFourthUnit));
    if (lane_ != 0) return;
    atomicAdd(&memory_.square, square);
    atomicAdd(&memory_.fourth_low, low);
    atomicAdd(&memory_.fourth_high, high);
  }

  __device__ __forceinline__ void make_nodes(std::uint32_t open, std::uint32_t number,
                                             const FusedReplica& arrays) {
    const std::uint32_t base = tile_ * labels_.capacity;
    for (; open != 0; open &= open - 1, ++number) {
      const unsigned place = place_of(lowest(open));
      const std::uint32_t size = memory_.forest[place] & kSizeMask, node = base + number;
      const Site site = memory_.first[place / kWordSites] + place % kWordSites;
      arrays.forest.words[node] = KeyedForest::make(node, site);
      arrays.own[node] = static_cast<std::uint16_t>(size);
      arrays.size[node] = size;
      memory_.forest[place] = number;
    }
  }

  __device__ __forceinline__ void write_labels(std::uint32_t valid,
                                               const FusedReplica& arrays) const {
    auto* out = reinterpret_cast<std::uint32_t*>(arrays.label +
                                                 static_cast<std::size_t>(tile_) * kTileSites);
#pragma unroll
    for (unsigned j = 0; j < kBandRows; ++j) {
      if ((valid >> j & 1u) == 0) continue;
      const std::uint32_t labels =
          __byte_perm(at(places_[j] & 0xffffu), at(places_[j] >> 16), 0x5410);
      out[32 * row(j) + lane_] = labels | Model::label_spins(memory_.spins, row(j), 2 * lane_);
    }
  }

  const FusedLabels& labels_;
  Memory& memory_;
  const std::uint32_t tile_;
  const unsigned lane_, warp_;
  const TileWord word_;
  std::uint64_t starts_ = 0;  // bit x of the lane's row: a run starts here
  // [row of the band] for this thread's two sites: the places of their runs, later of their roots
  std::uint32_t places_[kBandRows];
};

// The kernels that work on tiles: new spins of the previous update, bonds, clusters.

// A block has eight warps if there are fewer tiles than this, and four otherwise: few tiles do not
// fill the device with four warps each.
inline constexpr unsigned kManyTiles = 1024;
// Warps per multiprocessor, which limit the registers per thread. Four more warps make Potts
// updates 3% faster if they cause no spills.
template <int kDim, class Model>
constexpr unsigned kMaxWarps = Model::kPotts&& kDim == 2 ? 36 : 32;

template <int kDim, unsigned kWarps, class Model>
struct TileMemory {
  FusedTileMemory<kDim, Model> tile;
  RootMemory<kWarps, Model> roots;
};

__device__ __forceinline__ uint4 eight_labels(const FusedReplica& arrays, std::uint32_t tile,
                                              unsigned piece) {
  const auto* from = reinterpret_cast<const uint4*>(arrays.label) +
                     static_cast<std::size_t>(tile) * (kTileSites / 8);
  return from[blockDim.x * piece + threadIdx.x];
}

// The new spins of two labels as bytes.
template <class Model>
__device__ __forceinline__ std::uint32_t two_spins(const typename Model::LabelDraws& draws,
                                                   std::uint32_t labels) {
  return Model::new_spin(draws, labels & 0xffffu) | Model::new_spin(draws, labels >> 16) << 8;
}
template <class Model>
__device__ __forceinline__ uint2 eight_spins(const typename Model::LabelDraws& draws,
                                             const uint4& labels) {
  return make_uint2(two_spins<Model>(draws, labels.x) | two_spins<Model>(draws, labels.y) << 16,
                    two_spins<Model>(draws, labels.z) | two_spins<Model>(draws, labels.w) << 16);
}

template <unsigned kWarps>
struct TileLabels {
  uint4 pieces[kPieces<kWarps>];

  __device__ __forceinline__ TileLabels(const FusedReplica& arrays, std::uint32_t tile) {
#pragma unroll
    for (unsigned n = 0; n < kPieces<kWarps>; ++n) pieces[n] = eight_labels(arrays, tile, n);
  }
};

// The spins of a tile after an update.
template <int kDim, unsigned kWarps, class Model>
__device__ __forceinline__ void take_spins(const TileLabels<kWarps>& labels, const TileWord& word,
                                           TileMemory<kDim, kWarps, Model>& memory,
                                           std::uint8_t* spins) {
#pragma unroll
  for (unsigned n = 0; n < kPieces<kWarps>; ++n) {
    Model::take(memory.tile.spins, word, 32 * kWarps * n + threadIdx.x,
                eight_spins<Model>(memory.roots.draws, labels.pieces[n]), spins);
  }
}

// Looks up the roots of the previous update, by the whole block. The finder's memory.draws is
// complete on return.
template <unsigned kWarps, class Model>
__device__ __forceinline__ void find_roots_before(RootFinder<kWarps, Model>& finder,
                                                  std::uint32_t count) {
  finder.run(count);
  __syncthreads();
  finder.finish();
}

// kFirst: the first update of a run reads its spins from bytes, later ones from labels.
template <int kDim, bool kFirst, unsigned kWarps, class Model>
__device__ __forceinline__ void label_tile(const Model& model, const GraphView& graph,
                                           const FusedLabels& labels,
                                           const DeviceReplicas& replicas, std::uint32_t update,
                                           std::uint32_t replica, std::uint32_t number,
                                           TileMemory<kDim, kWarps, Model>& memory) {
  const FusedReplica arrays(labels, replica, update), before(labels, replica, update + 1);
  FusedTile<kDim, kWarps, Model> tile(labels, number, memory.tile);
  tile.draw(model, replicas.key(replica), graph.bond[replicas.temperature(replica)]);
  wait_for_kernel_before();
  RootFinder<kWarps, Model> finder(model, before, {replicas.seed, replica, replicas.step - 1},
                                   number * labels.capacity, memory.roots);
  if constexpr (kFirst) {
    Model::load(memory.tile.spins, tile.word(), replicas.spins_of(replica));
  } else {
    const TileLabels<kWarps> sites(before,
                                   number);  // loaded while the nodes look up their roots
    find_roots_before(finder, before.count[number]);
    take_spins(sites, tile.word(), memory, replicas.spins_of(replica));
  }
  __syncthreads();
  tile.join(graph, arrays);
  tile.find_roots(arrays, replicas.count, update, replica);
  if constexpr (!kFirst) {
    finder.add_up(labels, replicas.count, update - 1, replica, number);
  }
}

template <int kDim, bool kFirst, unsigned kWarps, class Model>
__global__ void __launch_bounds__(32 * kWarps, kMaxWarps<kDim, Model> / kWarps)
    label_tiles(const __grid_constant__ Model model, const __grid_constant__ GraphView graph,
                const __grid_constant__ FusedLabels labels,
                const __grid_constant__ DeviceReplicas replicas, std::uint32_t update,
                const __grid_constant__ ReplicaBlocks tiles) {
  __shared__ TileMemory<kDim, kWarps, Model> memory;
  let_next_kernel_begin();
  const auto [replica, tile] = tiles.position(blockIdx.x);
  label_tile<kDim, kFirst>(model, graph, labels, replicas, update, replica, tile, memory);
}

template <int kDim, unsigned kWarps, class Model>
__device__ __forceinline__ void flip_tile(const Model& model, const FusedLabels& labels,
                                          const DeviceReplicas& replicas, std::uint32_t update,
                                          std::uint32_t replica, std::uint32_t tile,
                                          RootMemory<kWarps, Model>& memory) {
  const FusedReplica arrays(labels, replica, update);
  const Tiles& tiles = labels.tiles;
  const TileWord word = tile_word<kDim>(tiles, labels.geometry, tile, threadIdx.x % 32);
  RootFinder<kWarps, Model> finder(model, arrays, replicas.key(replica), tile * labels.capacity,
                                   memory);
  wait_for_kernel_before();
  find_roots_before(finder, arrays.count[tile]);
  std::uint8_t* spins = replicas.spins_of(replica);
#pragma unroll
  for (unsigned n = 0; n < kPieces<kWarps>; ++n) {
    const unsigned place = 8 * (32 * kWarps * n + threadIdx.x);
    const auto row = static_cast<int>(place / kWordSites);
    const Site first = __shfl_sync(~0u, word.first, row);
    if (__shfl_sync(~0u, word.count, row) == 0) continue;
    *reinterpret_cast<uint2*>(spins + first + place % kWordSites) =
        eight_spins<Model>(memory.draws, eight_labels(arrays, tile, n));
  }
  finder.add_up(labels, replicas.count, update, replica, tile);
}

template <int kDim, unsigned kWarps, class Model>
__global__ void __launch_bounds__(32 * kWarps)
    flip_tiles(const __grid_constant__ Model model, const __grid_constant__ FusedLabels labels,
               const __grid_constant__ DeviceReplicas replicas, std::uint32_t update,
               const __grid_constant__ ReplicaBlocks tiles) {
  __shared__ RootMemory<kWarps, Model> memory;
  const auto [replica, tile] = tiles.position(blockIdx.x);
  flip_tile<kDim, kWarps>(model, labels, replicas, update, replica, tile, memory);
}

// Launches kernel<kWarps>() for the tiles of the replicas' part.
template <class Kernel, class... Arguments>
void launch_for_tiles(const FusedLabels& labels, const DeviceReplicas& replicas,
                      cudaStream_t stream, const Kernel& kernel, const Arguments&... arguments) {
  const ReplicaBlocks tiles = replicas.blocks(labels.tiles.count);
  const auto with = [&]<unsigned kWarps>() {
    launch(kernel.template operator()<kWarps>(), tiles,
           {.threads = 32 * kWarps, .starts_early = labels.starts_early}, stream, arguments...);
  };
  if (tiles.count() < kManyTiles) {
    with.template operator()<8>();
  } else {
    with.template operator()<4>();
  }
}

template <class Model>
void launch_tiles(const GraphView& graph, const FusedLabels& labels, const DeviceReplicas& replicas,
                  std::uint32_t update, cudaStream_t stream) {
  with_tiled_dim(graph.lattice.dim, [&]<int kDim>() {
    const auto kernel = [&]<unsigned kWarps>() {
      return update == 0 ? label_tiles<kDim, true, kWarps, Model>
                         : label_tiles<kDim, false, kWarps, Model>;
    };
    launch_for_tiles(labels, replicas, stream, kernel, Model(graph), graph, labels, replicas,
                     update);
  });
}

template <class Model>
void launch_flips(const GraphView& graph, const FusedLabels& labels, const DeviceReplicas& replicas,
                  std::uint32_t update, cudaStream_t stream) {
  with_tiled_dim(graph.lattice.dim, [&]<int kDim>() {
    const auto kernel = [&]<unsigned kWarps>() { return flip_tiles<kDim, kWarps, Model>; };
    launch_for_tiles(labels, replicas, stream, kernel, Model(graph), labels, replicas, update);
  });
}

// The bonds between tiles, and the masks that are made once.

// A bond of the list, with the data that are available before the tiles are labelled.
struct Candidate {
  bool drawn = false;  // for a bond across a border: whether the bond exists
  Site a = 0, b = 0;
  int direction = -1;  // across a border
};

// The sites of a rank, or all. Only bonds with both ends among them are joined.
struct SlabSites {
  std::uint64_t first, last;

  __device__ __forceinline__ bool have(Site a, Site b) const {
    return a >= first && a < last && b >= first && b < last;
  }
};

template <int kDim>
__device__ __forceinline__ Candidate candidate(const GraphView& graph, const FusedLabels& labels,
                                               const BorderBonds& borders, const SlabSites& slab,
                                               const DeviceReplicas& replicas,
                                               std::uint32_t replica, std::uint64_t index) {
  if (index < borders.first[kDim]) {
    const BorderBond bond = border_bond<kDim>(labels.geometry, borders, graph.sites, index);
    return {bond.exists && slab.have(bond.a, bond.b), bond.a, bond.b, bond.direction};
  }
  if (index >= borders.first[kDim + 1]) return {};
  const IndexedBond bond = graph.rewired[borders.rewired<kDim>(index)];
  if (!slab.have(bond.a, bond.b)) return {};
  return {rewired_drawn(graph, replicas, replica, bond), bond.a, bond.b, -1};
}

// Both ends of a bond in the list are open sites: their labels name nodes.
template <int kDim>
__device__ __forceinline__ void join_bond(const GraphView& graph, const FusedLabels& labels,
                                          const BorderBonds& borders, const SlabSites& slab,
                                          const DeviceReplicas& replicas, std::uint32_t update,
                                          std::uint32_t replica, std::uint64_t index) {
  const FusedReplica arrays(labels, replica, update);
  const Candidate bond = candidate<kDim>(graph, labels, borders, slab, replicas, replica, index);
  wait_for_kernel_before();
  bool joined = bond.drawn;
  SiteNode a, b;
  if (joined) {
    if (bond.direction >= 0) {
      joined = bit_at(arrays.drawn, GraphView::draw_index_of<kDim>(bond.a, bond.direction));
    }
    a = node_of<kDim>(labels, arrays, bond.a);
    b = node_of<kDim>(labels, arrays, bond.b);
  }
  if (graph.potts) {  // spins are bytes, not bits of labels
    const std::uint8_t* spins = replicas.spins_of(replica);
    joined = joined && spins[bond.a] == spins[bond.b];
  } else {
    joined = joined && ((a.label ^ b.label) >> kSpinBit & 1u) == 0;
  }
  // Bonds across a border often join the same two nodes.
  const std::uint64_t pair =
      joined ? static_cast<std::uint64_t>(a.node) << 32 | b.node : ~std::uint64_t{0};
  const std::uint32_t peers = __match_any_sync(~0u, pair);
  if (joined && threadIdx.x % 32 == lowest(peers)) arrays.forest.unite(a.node, b.node);
}

template <int kDim>
__global__ void __launch_bounds__(kThreads)
    join_bonds(const __grid_constant__ GraphView graph, const __grid_constant__ FusedLabels labels,
               const __grid_constant__ BorderBonds borders, const __grid_constant__ SlabSites slab,
               const __grid_constant__ DeviceReplicas replicas, std::uint32_t update,
               const __grid_constant__ ReplicaBlocks blocks) {
  let_next_kernel_begin();
  const auto [replica, block] = blocks.position(blockIdx.x);
  join_bond<kDim>(graph, labels, borders, slab, replicas, update, replica,
                  std::uint64_t{block} * kThreads + threadIdx.x);
}

__device__ __forceinline__ void mark_gone(const GraphView& graph, std::uint32_t* gone,
                                          std::uint64_t index) {
  const std::uint64_t draw_index = graph.rewired[index].draw_index;
  if (draw_index < graph.bond_draw_index.lattice_draws)
    atomicOr(gone + (draw_index >> 5), 1u << (draw_index & 31u));
}

__global__ void __launch_bounds__(kThreads)
    make_masks(const __grid_constant__ GraphView graph, std::uint32_t* gone,
               std::uint32_t* modified) {
  const std::uint64_t index = static_cast<std::uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index < graph.rewired_count) mark_gone(graph, gone, index);
  if (32 * index < graph.sites) modified[index] = graph.site_masks[index].modified;
}

}  // namespace

void launch_fused_tiles(const GraphView& graph, const FusedLabels& labels,
                        const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream) {
  (graph.potts ? launch_tiles<FusedPotts> : launch_tiles<FusedIsing>)(graph, labels, replicas,
                                                                      update, stream);
}

void launch_fused_join(const GraphView& graph, const FusedLabels& labels,
                       const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream) {
  with_tiled_dim(graph.lattice.dim, [&]<int kDim>() {
    const BorderBonds borders =
        BorderBonds::make<kDim>(graph, labels.tiles, labels.geometry, replicas.part);
    const DeviceReplicas all = replicas.whole();  // these bonds belong to the part already
    const SlabSites slab{replicas.part.begin(graph.sites), replicas.part.end(graph.sites)};
    launch(join_bonds<kDim>, all.blocks((borders.first[kDim + 1] + kThreads - 1) / kThreads),
           {.threads = kThreads, .starts_early = labels.starts_early}, stream, graph, labels,
           borders, slab, all, update);
  });
}

void launch_fused_flip(const GraphView& graph, const FusedLabels& labels,
                       const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream) {
  (graph.potts ? launch_flips<FusedPotts> : launch_flips<FusedIsing>)(graph, labels, replicas,
                                                                      update, stream);
}

void launch_fused_masks(const GraphView& graph, std::uint32_t* gone, std::uint32_t* modified,
                        cudaStream_t stream) {
  const std::uint64_t items = std::max(graph.rewired_count, (graph.sites + 31) / 32);
  launch(make_masks, cover(items, kThreads), stream, graph, gone, modified);
}

}  // namespace rewise::bytespin
