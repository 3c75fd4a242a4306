// The kernels of a Swendsen-Wang update, step by step (swendsen_wang_cuda.hpp).
#include "src/bytespin/equal_bytes.hpp"
#include "src/bytespin/swendsen_wang/border_bonds.hpp"
#include "src/bytespin/swendsen_wang/labels.cuh"
#include "src/cuda/forest.cuh"
#include "src/cuda/launch.hpp"

namespace rewise::bytespin {
namespace {

using namespace device;

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = 4, kFlipWarps = 8;  // per block

// Step 1, draw: masks of drawn bonds and of flips.

constexpr unsigned kRounds = kCallsPerWarp / 32;

// A warp makes 256 calls for 16 blocks of slots. In each round each half of the warp draws one
// block, and four ballots give the masks of both. Lane n keeps the masks of round n.
__device__ __forceinline__ void draw_bonds(const DevicePlan& plan, const DeviceLabels& labels,
                                           const DeviceReplicas& replicas, std::uint32_t replica,
                                           std::uint64_t warp, unsigned lane) {
  const Threshold threshold = plan.bond[replicas.temperature(replica)];
  const bool never = threshold == 0;
  const auto last = static_cast<std::uint32_t>(threshold - 1);  // a draw <= last opens the bond
  const DrawKey key = replicas.key(replica);
  uint4 kept = make_uint4(0, 0, 0, 0);
#pragma unroll 4
  for (unsigned n = 0; n < kRounds; ++n) {
    const std::uint64_t call = warp * kCallsPerWarp + n * 32 + lane;
    const Words4 x = random_words(key.seed, Stream::bytespin_bond, call, key.replica, 0, key.step);
    const std::uint32_t b0 = __ballot_sync(~0u, x.w[0] <= last);
    const std::uint32_t b1 = __ballot_sync(~0u, x.w[1] <= last);
    const std::uint32_t b2 = __ballot_sync(~0u, x.w[2] <= last);
    const std::uint32_t b3 = __ballot_sync(~0u, x.w[3] <= last);
    if (lane == n) {
      kept = make_uint4(__byte_perm(b0, b1, 0x5410), __byte_perm(b2, b3, 0x5410),
                        __byte_perm(b0, b1, 0x7632), __byte_perm(b2, b3, 0x7632));
    }
  }
  if (never) kept = make_uint4(0, 0, 0, 0);
  if (lane < kRounds) {
    std::uint32_t* out = labels.drawn + replica * labels.drawn_stride;
    reinterpret_cast<uint4*>(out)[warp * kRounds + lane] = kept;
  }
}

// The flips of 128 sites per call.
__device__ __forceinline__ void draw_flips(const DeviceLabels& labels,
                                           const DeviceReplicas& replicas, std::uint32_t replica,
                                           std::uint64_t call) {
  if (4 * call >= labels.flip_stride) return;
  const DrawKey key = replicas.key(replica);
  const Words4 x = random_words(key.seed, Stream::bytespin_flip, call, key.replica, 0, key.step);
  std::uint32_t* out = labels.flips + replica * labels.flip_stride;
  reinterpret_cast<uint4*>(out)[call] = make_uint4(x.w[0], x.w[1], x.w[2], x.w[3]);
}

__global__ void __launch_bounds__(kThreads)
    draw_masks(const __grid_constant__ DevicePlan plan, const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ DeviceReplicas replicas, std::uint64_t bond_warps,
               std::uint64_t warps, FastDiv blocks_per_replica) {
  const std::uint32_t replica = blocks_per_replica.quotient(blockIdx.x);
  const std::uint32_t block = blockIdx.x - replica * blocks_per_replica.divisor;
  const std::uint64_t warp = static_cast<std::uint64_t>(block) * (kThreads / 32) + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  if (warp < bond_warps) {
    draw_bonds(plan, labels, replicas, replica, warp, lane);
  } else if (warp < warps) {
    draw_flips(labels, replicas, replica, (warp - bond_warps) * 32 + lane);
  }
}

// Determines whether a rewired bond is open, and removes the bit of its former lattice bond. Every
// slot occurs in at most one rewired bond, so each bit is removed once.
__device__ __forceinline__ void split(const DevicePlan& plan, const DeviceLabels& labels,
                                      const DeviceReplicas& replicas, std::uint32_t replica,
                                      std::uint64_t index) {
  const RewiredSlot bond = plan.rewired[index];
  std::uint32_t* word = labels.drawn + replica * labels.drawn_stride + (bond.slot >> 5);
  const std::uint32_t bit = 1u << (bond.slot & 31u);
  const bool gone = bond.slot < plan.bond_slots.lattice_slots;
  const bool on = ((gone ? atomicAnd(word, ~bit) : *word) & bit) != 0;
  const std::uint8_t* spins = replicas.spins_of(replica);
  labels.rewired_on[replica * plan.rewired_count + index] = on && spins[bond.a] == spins[bond.b];
}

__global__ void __launch_bounds__(kThreads)
    split_rewired(const __grid_constant__ DevicePlan plan,
                  const __grid_constant__ DeviceLabels labels,
                  const __grid_constant__ DeviceReplicas replicas, FastDiv blocks_per_replica) {
  const std::uint32_t replica = blocks_per_replica.quotient(blockIdx.x);
  const std::uint64_t block = blockIdx.x - replica * blocks_per_replica.divisor;
  const std::uint64_t index = block * kThreads + threadIdx.x;
  if (index < plan.rewired_count) split(plan, labels, replicas, replica, index);
}

}  // namespace

void launch_draw(const DevicePlan& plan, const DeviceLabels& labels, const DeviceReplicas& replicas,
                 cudaStream_t stream) {
  const std::uint64_t bond_calls =
      (plan.slots + kSlotsPerBlock - 1) / kSlotsPerBlock * kCallsPerBlock;
  const std::uint64_t bond_warps = (bond_calls + kCallsPerWarp - 1) / kCallsPerWarp;
  const std::uint64_t flip_calls = (plan.sites + 127) / 128;
  const std::uint64_t warps = bond_warps + (flip_calls + 31) / 32;
  const auto blocks = static_cast<std::uint32_t>((32 * warps + kThreads - 1) / kThreads);
  launch(draw_masks, {blocks * replicas.count, kThreads}, stream, plan, labels, replicas,
         bond_warps, warps, FastDiv(blocks));
  if (plan.rewired_count == 0) return;
  const auto more = static_cast<std::uint32_t>((plan.rewired_count + kThreads - 1) / kThreads);
  launch(split_rewired, {more * replicas.count, kThreads}, stream, plan, labels, replicas,
         FastDiv(more));
}

namespace {

// Potts: keeps the drawn lattice bonds between equal spins. Cost per site: reads its spin and one
// for every direction beyond x; reads and writes the bits of its bonds.

// The spins of 32 sites.
struct Group {
  std::uint32_t four[8];

  __device__ __forceinline__ explicit Group(const std::uint8_t* spins) {
    const auto* from = reinterpret_cast<const uint4*>(spins);
    const uint4 low = from[0], high = from[1];
    four[0] = low.x, four[1] = low.y, four[2] = low.z, four[3] = low.w;
    four[4] = high.x, four[5] = high.y, four[6] = high.z, four[7] = high.w;
  }
};

// Bit i: site i and the next site along x have equal spins. `next`: the spin after the last site.
__device__ __forceinline__ std::uint32_t equal_along(const Group& here, std::uint32_t next) {
  std::uint32_t bits = 0;
#pragma unroll
  for (unsigned j = 0; j < 8; ++j) {
    const std::uint32_t after = j < 7 ? here.four[j < 7 ? j + 1 : 7] : next;
    bits |= equal_bytes(here.four[j], __funnelshift_r(here.four[j], after, 8)) << 4 * j;
  }
  return bits;
}

__device__ __forceinline__ std::uint32_t equal_across(const Group& here, const Group& there) {
  std::uint32_t bits = 0;
#pragma unroll
  for (unsigned j = 0; j < 8; ++j) bits |= equal_bytes(here.four[j], there.four[j]) << 4 * j;
  return bits;
}

// For rows that are multiples of 32 sites: the next sites of a group beyond x are a group, too.
// Called by one thread per group.
template <int kDim>
__device__ __forceinline__ void keep_in_row(const Geometry& g, const std::uint8_t* spins,
                                            std::uint64_t group, std::uint32_t* drawn) {
  const auto site = static_cast<Site>(32 * group);
  const Group here(spins + site);
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
  const Site next = c[0] + 32 == g.extent[0] ? site - c[0] : site + 32;
  drawn[group * kDim] &= equal_along(here, spins[next]);
#pragma unroll
  for (int k = 1; k < kDim; ++k) {
    drawn[group * kDim + k] &= equal_across(here, Group(spins + g.ahead(site, c[k], k)));
  }
}

// For any rows. Called by one warp per group; lane i has site i of the group.
template <int kDim>
__device__ __forceinline__ void keep_sites(const Geometry& g, const std::uint8_t* spins,
                                           std::uint64_t sites, std::uint64_t group,
                                           std::uint32_t* drawn) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t index = 32 * group + lane;
  const auto site = static_cast<Site>(index < sites ? index : 0);
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
#pragma unroll
  for (int k = 0; k < kDim; ++k) {
    const std::uint32_t equal =
        __ballot_sync(~0u, index < sites && spins[site] == spins[g.ahead(site, c[k], k)]);
    if (lane == static_cast<unsigned>(k)) drawn[group * kDim + k] &= equal;
  }
}

template <int kDim, bool kInRow>
__global__ void __launch_bounds__(kThreads)
    keep_equal(const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ DeviceReplicas replicas, std::uint64_t sites,
               FastDiv blocks_per_replica) {
  const std::uint32_t replica = blocks_per_replica.quotient(blockIdx.x);
  const std::uint64_t block = blockIdx.x - replica * blocks_per_replica.divisor;
  const std::uint64_t thread = block * kThreads + threadIdx.x;
  const std::uint64_t group = kInRow ? thread : thread / 32;
  if (32 * group >= sites) return;
  std::uint32_t* drawn = labels.drawn + replica * labels.drawn_stride;
  if constexpr (kInRow) {
    keep_in_row<kDim>(labels.geometry, replicas.spins_of(replica), group, drawn);
  } else {
    keep_sites<kDim>(labels.geometry, replicas.spins_of(replica), sites, group, drawn);
  }
}

}  // namespace

void launch_keep_equal(const DevicePlan& plan, const DeviceLabels& labels,
                       const DeviceReplicas& replicas, cudaStream_t stream) {
  const bool in_row = plan.lattice.extent[0] % 32 == 0;
  const std::uint64_t groups = (plan.sites + 31) / 32;
  const std::uint64_t threads = in_row ? groups : 32 * groups;
  const auto blocks = static_cast<std::uint32_t>((threads + kThreads - 1) / kThreads);
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      launch(in_row ? keep_equal<kDim, true> : keep_equal<kDim, false>,
             {blocks * replicas.count, kThreads}, stream, labels, replicas, plan.sites,
             FastDiv(blocks));
    }
  });
}

namespace {

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
class TileLabeller {
 public:
  // `forest`: [kTileSites] in shared memory, the warp's own.
  __device__ __forceinline__ TileLabeller(const DevicePlan& plan, const DeviceLabels& labels,
                                          const ReplicaLabels& arrays, std::uint32_t tile,
                                          std::uint32_t* forest)
      : plan_(plan),
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
    if (plan_.rewired_count > 0) {
      open |= modified_bits(plan_.groups, word_.first) & low_bits(word_.count);
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

  const DevicePlan& plan_;
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
    label_tiles(const __grid_constant__ DevicePlan plan,
                const __grid_constant__ DeviceLabels labels,
                const __grid_constant__ DeviceReplicas replicas, std::uint32_t update,
                FastDiv tiles_per_replica) {
  alignas(16) __shared__ std::uint32_t forests[kWarps][kTileSites];
  const std::uint32_t index = blockIdx.x * kWarps + threadIdx.x / 32;
  const std::uint32_t replica = tiles_per_replica.quotient(index);
  if (replica >= replicas.count) return;
  const std::uint32_t tile = index - replica * tiles_per_replica.divisor;
  const ReplicaLabels arrays(labels, replica, replicas.stride);
  TileLabeller<kDim> labeller(plan, labels, arrays, tile, forests[threadIdx.x / 32]);
  labeller.template join<kAligned>(replicas.spins_of(replica));
  labeller.find_roots();
  std::uint64_t square = 0, fourth = 0;
  labeller.hand_out(square, fourth);
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (threadIdx.x % 32 == 0 && square != 0) {
    add_sums(labels, replicas.count, update, replica, tile, square, fourth);
  }
}

}  // namespace

void launch_label_tiles(const DevicePlan& plan, const DeviceLabels& labels,
                        const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream) {
  const std::uint32_t tiles = labels.tiles.count * replicas.count;
  const LaunchShape shape{(tiles + kWarps - 1) / kWarps, 32 * kWarps};
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    const bool aligned = labels.tiles.length % 16 == 0;
    launch(aligned ? label_tiles<kDim, true> : label_tiles<kDim, false>, shape, stream, plan,
           labels, replicas, update, FastDiv(labels.tiles.count));
  });
}

namespace {

// Step 3: joins clusters of different tiles.

struct Pair {
  bool joined = false;
  Site a = 0, b = 0;
};

template <int kDim>
__device__ __forceinline__ void join_bond(const DevicePlan& plan, const DeviceLabels& labels,
                                          const BorderBonds& borders,
                                          const DeviceReplicas& replicas, std::uint32_t replica,
                                          std::uint64_t index) {
  const ReplicaLabels arrays(labels, replica, replicas.stride);
  Pair pair;
  if (index >= borders.first[kDim]) {
    const std::uint64_t i = index - borders.first[kDim];
    if (i < plan.rewired_count && labels.rewired_on[replica * plan.rewired_count + i] != 0) {
      pair = {true, plan.rewired[i].a, plan.rewired[i].b};
    }
  } else {
    if constexpr (kDim > 0) {
      const BorderBond bond = border_bond<kDim>(labels.geometry, borders, plan.sites, index);
      const std::uint8_t* spins = replicas.spins_of(replica);
      pair = {bond.exists &&
                  bit_at(arrays.drawn, DevicePlan::slot_of<kDim>(bond.a, bond.direction)) &&
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
__global__ void __launch_bounds__(kThreads)
    join_bonds(const __grid_constant__ DevicePlan plan, const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ BorderBonds borders,
               const __grid_constant__ DeviceReplicas replicas, FastDiv blocks_per_replica) {
  const std::uint32_t replica = blocks_per_replica.quotient(blockIdx.x);
  const std::uint64_t block = blockIdx.x - replica * blocks_per_replica.divisor;
  join_bond<kDim>(plan, labels, borders, replicas, replica, block * kThreads + threadIdx.x);
}

}  // namespace

void launch_join(const DevicePlan& plan, const DeviceLabels& labels, const DeviceReplicas& replicas,
                 cudaStream_t stream) {
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    const BorderBonds borders = BorderBonds::make<kDim>(plan, labels.tiles, labels.geometry);
    const auto blocks =
        static_cast<std::uint32_t>((borders.first[kDim + 1] + kThreads - 1) / kThreads);
    if (blocks == 0) return;
    launch(join_bonds<kDim>, {blocks * replicas.count, kThreads}, stream, plan, labels, borders,
           replicas, FastDiv(blocks));
  });
}

namespace {

// Step 4: every node's root, and the sizes of the roots' clusters.

constexpr Site kNone = 0xFFFFFFFFu;

// Adds sizes to roots. Near and below Tc most nodes belong to one large cluster, and additions to
// its size would be the bottleneck. Therefore each warp first sums the sizes for one root, the most
// frequent one among the first 32 nodes of the tile.
class RootSums {
 public:
  __device__ __forceinline__ explicit RootSums(std::uint32_t* size) : size_(size) {}

  // Called by all lanes; a lane without a root passes kNone.
  __device__ __forceinline__ void add(Site root, std::uint32_t size) {
    const std::uint32_t peers = __match_any_sync(~0u, root);
    if (kept_ == kNone) choose(root, peers);
    const std::uint32_t total = __reduce_add_sync(peers, size);
    if (root == kept_) {
      sum_ += size;
    } else if (root != kNone && threadIdx.x % 32 == lowest(peers)) {
      atomicAdd(size_ + root, total);
    }
  }
  __device__ __forceinline__ void close() {
    const std::uint32_t total = __reduce_add_sync(~0u, sum_);
    if (threadIdx.x % 32 == 0 && total > 0) atomicAdd(size_ + kept_, total);
  }

 private:
  __device__ __forceinline__ void choose(Site root, std::uint32_t peers) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned votes = root == kNone ? 0 : static_cast<unsigned>(__popc(peers)) << 5 | lane;
    kept_ = __shfl_sync(~0u, root, static_cast<int>(__reduce_max_sync(~0u, votes) & 31u));
  }

  std::uint32_t* const size_;
  Site kept_ = kNone;  // the same on all lanes
  std::uint32_t sum_ = 0;
};

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
  RootSums sums(arrays.size);
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
               const __grid_constant__ DeviceReplicas replicas, FastDiv tiles_per_replica) {
  __shared__ std::uint16_t lists[kWarps][kTileSites];
  const std::uint32_t index = blockIdx.x * kWarps + threadIdx.x / 32;
  const std::uint32_t replica = tiles_per_replica.quotient(index);
  if (replica >= replicas.count) return;
  const std::uint32_t tile = index - replica * tiles_per_replica.divisor;
  find_tile_roots<kDim>(labels, replicas, replica, tile, lists[threadIdx.x / 32]);
}

}  // namespace

void launch_find_roots(const DevicePlan& plan, const DeviceLabels& labels,
                       const DeviceReplicas& replicas, cudaStream_t stream) {
  const std::uint32_t tiles = labels.tiles.count * replicas.count;
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    launch(find_roots<kDim>, {(tiles + kWarps - 1) / kWarps, 32 * kWarps}, stream, labels, replicas,
           FastDiv(labels.tiles.count));
  });
}

namespace {

// Step 5, Ising: sites flip with their roots; sums over clusters.

// The flips of the clusters whose root within the tile is a site of this word, at the bit of that
// site. Nodes that are not roots of the lattice's forest get the flip of their root. Other bits are
// not used. Adds the sums over the roots.
template <int kDim>
__device__ __forceinline__ std::uint64_t root_flips(const ReplicaLabels& arrays,
                                                    const TileWord& word, std::uint64_t nodes,
                                                    std::uint64_t& square, WideSum& fourth) {
  if (word.count == 0) return 0;
  std::uint64_t flips = bits_from(arrays.flips, 1, word.first);
  for (; nodes != 0; nodes &= nodes - 1) {
    const unsigned x = lowest(nodes);
    const Site node = word.first + x;
    const Site root = arrays.parent[node];
    if (root == node) {
      const std::uint64_t n = arrays.size[node], n2 = n * n;
      square += n2;
      fourth += static_cast<WideSum>(n2) * n2;
    } else {
      const auto flip = static_cast<std::uint64_t>(bit_at(arrays.flips, root));
      flips = (flips & ~(std::uint64_t{1} << x)) | flip << x;
    }
  }
  return flips;
}

template <int kDim, bool kWide>
__global__ void __launch_bounds__(32 * kFlipWarps)
    flip_tiles(const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ DeviceReplicas replicas, std::uint32_t update,
               FastDiv tiles_per_replica) {
  __shared__ std::uint64_t flips[kFlipWarps][kTileLanes];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::uint32_t index = blockIdx.x * kFlipWarps + warp;
  const std::uint32_t replica = tiles_per_replica.quotient(index);
  if (replica >= replicas.count) return;
  const std::uint32_t tile = index - replica * tiles_per_replica.divisor;
  const ReplicaLabels arrays(labels, replica, replicas.stride);
  const TileWord word = tile_word<kDim>(labels.tiles, labels.geometry, tile, lane);
  const std::uint64_t nodes = arrays.nodes[static_cast<std::size_t>(tile) * kTileLanes + lane];
  std::uint64_t square = 0;
  WideSum fourth = 0;
  flips[warp][lane] = root_flips<kDim>(arrays, word, nodes, square, fourth);
  __syncwarp();
  flip_sites<kWide>(arrays, word, reinterpret_cast<const std::uint32_t*>(flips[warp]),
                    replicas.spins_of(replica));
  if (!__any_sync(~0u, square != 0)) return;
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (lane == 0) add_sums(labels, replicas.count, update, replica, tile, square, fourth);
}

void flip_clusters(const DevicePlan& plan, const DeviceLabels& labels,
                   const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream) {
  const std::uint32_t tiles = labels.tiles.count * replicas.count;
  const LaunchShape shape{(tiles + kFlipWarps - 1) / kFlipWarps, 32 * kFlipWarps};
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    const bool wide = labels.tiles.length % 16 == 0;
    launch(wide ? flip_tiles<kDim, true> : flip_tiles<kDim, false>, shape, stream, labels, replicas,
           update, FastDiv(labels.tiles.count));
  });
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

// Half a warp draws a block of 64 slots by 16 calls. A word lies in one block or two.
__device__ __forceinline__ void draw_states(const DrawKey& key, const TileWord& word,
                                            std::uint32_t states, std::uint8_t* out) {
  const unsigned lane = threadIdx.x % 32, call = lane % kCallsPerBlock;
  for (unsigned row = lane / kCallsPerBlock; row < kTileLanes; row += 2) {
    const std::uint32_t count = __shfl_sync(~0u, word.count, row);
    const std::uint64_t first = __shfl_sync(~0u, word.first, row);
    for (std::uint64_t site = first & ~std::uint64_t{63}; site < first + count; site += 64) {
      const std::uint64_t item = site / kSlotsPerBlock * kCallsPerBlock + call;
      const Words4 words =
          random_words(key.seed, Stream::bytespin_flip, item, key.replica, 0, key.step);
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
      tile.state[place] = any_state(slot_draw(key, Stream::bytespin_flip, root), states);
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
                std::uint32_t update, FastDiv tiles_per_replica) {
  __shared__ TileStates tiles[kWarps];
  const std::uint32_t index = blockIdx.x * kWarps + threadIdx.x / 32;
  const std::uint32_t replica = tiles_per_replica.quotient(index);
  if (replica >= replicas.count) return;
  const std::uint32_t number = index - replica * tiles_per_replica.divisor;
  const unsigned lane = threadIdx.x % 32;
  TileStates& tile = tiles[threadIdx.x / 32];
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
  if (!__any_sync(~0u, square != 0)) return;
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (lane == 0) add_sums(labels, replicas.count, update, replica, number, square, fourth);
}

void renew_clusters(const DevicePlan& plan, const DeviceLabels& labels,
                    const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream) {
  const std::uint32_t tiles = labels.tiles.count * replicas.count;
  const LaunchShape shape{(tiles + kWarps - 1) / kWarps, 32 * kWarps};
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    const bool wide = labels.tiles.length % 16 == 0;
    launch(wide ? renew_tiles<kDim, true> : renew_tiles<kDim, false>, shape, stream, labels,
           replicas, plan.states, update, FastDiv(labels.tiles.count));
  });
}

// A block closes a replica's batch: eight threads for each of 32 updates at a time.
constexpr unsigned kCloseParts = 8, kCloseThreads = 32 * kCloseParts;

struct BatchSums {
  std::uint64_t size;
  WideSum quartic;
};

__device__ __forceinline__ BatchSums close_updates(const DeviceLabels& labels,
                                                   std::uint32_t replicas, std::uint32_t updates,
                                                   std::uint32_t replica) {
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

__device__ __forceinline__ void close_replica(const DeviceLabels& labels,
                                              const DeviceReplicas& replicas, std::uint32_t updates,
                                              std::uint32_t replica, unsigned long long* quartic,
                                              BatchSums* warps) {
  const BatchSums sums = close_updates(labels, replicas.count, updates, replica);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sums;
  __syncthreads();
  if (threadIdx.x != 0) return;
  WideSum total = static_cast<WideSum>(quartic[2 * replica + 1]) << 64 | quartic[2 * replica];
  for (unsigned warp = 0; warp < kCloseThreads / 32; ++warp) {
    replicas.pending[replica] += warps[warp].size;
    total += warps[warp].quartic;
  }
  quartic[2 * replica] = static_cast<unsigned long long>(total);
  quartic[2 * replica + 1] = static_cast<unsigned long long>(total >> 64);
}

__global__ void __launch_bounds__(kCloseThreads)
    close_replicas(const __grid_constant__ DeviceLabels labels,
                   const __grid_constant__ DeviceReplicas replicas, std::uint32_t updates,
                   unsigned long long* quartic) {
  __shared__ BatchSums warps[kCloseThreads / 32];
  close_replica(labels, replicas, updates, blockIdx.x, quartic, warps);
}

}  // namespace

void launch_flip(const DevicePlan& plan, const DeviceLabels& labels, const DeviceReplicas& replicas,
                 std::uint32_t update, cudaStream_t stream) {
  (plan.potts ? renew_clusters : flip_clusters)(plan, labels, replicas, update, stream);
}

void launch_close(const DeviceLabels& labels, const DeviceReplicas& replicas, std::uint32_t updates,
                  unsigned long long* quartic, cudaStream_t stream) {
  launch(close_replicas, {replicas.count, kCloseThreads}, stream, labels, replicas, updates,
         quartic);
}

}  // namespace rewise::bytespin
