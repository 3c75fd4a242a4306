// Step 2 of Swendsen-Wang updates on the device (swendsen_wang_cuda.hpp): the clusters of every
// tile.
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
#include "src/cuda/warp_sum.cuh"
#include "src/multispin/rules.hpp"
#include "src/multispin/swendsen_wang/label_item.cuh"

namespace rewise::multispin {
namespace {

using namespace device;

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
class WordTileLabeller {
  static constexpr bool kWeighted = kExtra == Extra::weights;

 public:
  static constexpr int kAcross = kDim > 1 ? kDim - 1 : 1;  // directions in which rows are joined

  __device__ __forceinline__ WordTileLabeller(const DeviceLabelTiles& g, const LabelArgs& run,
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
      const TileRow at = item_.row(g_, row(h));
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
      for (int k = 0; k < kAcross; ++k) any |= bonds.across[k][h];
      lone_[h] &= ~any;
      std::uint32_t first = first_of_runs(starts_[h], any);
      local_[h] = starts_[h] & ~starts_of(starts_[h], first);
#pragma unroll
      for (int k = 0; k < kAcross; ++k) {
        chosen.across[k][h] = first & bonds.across[k][h];
        first &= ~bonds.across[k][h];
      }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      HangingRow<kAcross>& at = space_.rows[row(h)];
      at.stops = stops_[h];
      at.alone = local_[h] | ~inside[h];
#pragma unroll
      for (int k = 0; k < kAcross; ++k) at.chosen[k] = chosen.across[k][h];
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
    std::uint32_t across[kAcross][2]{};
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
      bonds.across[0][h] = row(h) > 0 && inside[h] != 0 ? before >> 31 : 0;
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
      const std::uint32_t last_behind = item_.at.last_backward(g_.lattice.extent, k);
      tile_stride *= tiles;
      const std::uint32_t* there = item_.mask(run_, behind, k, replica_);
      if (k == 0) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          open_[h] |= (along[h] & 1u << last) | (there[row(h)] >> last_behind & 1u);
        }
        continue;
      }
      const std::uint32_t stride = LabelTile<kDim>::stride(k);
      const std::uint32_t* mask = item_.mask(run_, item_.tile, k, replica_);
      const std::uint32_t ahead[2] = {mask[row(0)], mask[row(1)]};
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t here = LabelTile<kDim>::coordinate(row(h), k);
        const std::uint32_t before = from_behind(ahead, h, stride);
        bonds.across[k - 1][h] = here > 0 ? before & inside[h] : 0;
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
    constexpr unsigned kNear = LabelTile<kDim>::stride(2);
    constexpr unsigned kFar = kDim > 3 ? LabelTile<kDim>::stride(3) : kNear;
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
        const std::uint32_t behind = from_behind(starts_, h, LabelTile<kDim>::stride(k + 1));
        const std::uint32_t idle = bonds.across[k][h] << 1 & ~starts_[h] & ~behind;
        rest.across[k][h] = bonds.across[k][h] & ~chosen.across[k][h] & ~idle;
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
          const std::uint32_t next = found == 0 ? rest.across[k][h] : 0;
          rest.across[k][h] &= next != 0 ? next - 1 : ~0u;
          if (next != 0) bond = LabelTile<kDim>::stride(k + 1) << 16 | 32 * row(h);
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
  using Labeller = WordTileLabeller<kDim, kExtra>;
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

}  // namespace

void launch_tile_labels(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream) {
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

}  // namespace rewise::multispin
