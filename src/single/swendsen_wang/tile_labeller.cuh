// A warp labels a tile (tiles.hpp) in shared memory. A lane holds a word of the tile, 64 sites of a
// row, as bit masks; a place stands for the run that starts there.
//
//   1  The runs of a row follow from its spins and drawn bonds by bit arithmetic.
//   2  Row after row, every run hangs itself under the root of one run that a bond joins it to in
//      the row before: no search, no conflict. This makes most of the joins.
//   3  The bonds left over that are not known to be idle (their left neighbour joins the same two
//      runs) are joined by compare-and-swap, one of each lane at a time: all lanes climb to the
//      roots, then all hook.
//   4  Row after row, every run learns its root, and the root its size; the sites' roots are
//      written out. Clusters that touch neither the tile's border nor a modified cell are closed.
//
// Lanes read and write shared words in turns, with a barrier of the warp in between; in the turns
// of step 3 several may hook the same root, so these are atomic.
//
// A word of the forest: bits 0-10 the parent's place, and after step 4, on a root, bit 15 set where
// its cluster is open and bits 16-31 the cluster's size.
#pragma once

#include "src/single/swendsen_wang/tile_words.cuh"

namespace rewise::single::device {

template <int kDim>
class TileLabeller {
 public:
  // `forest`: [kTileSites] in shared memory, the warp's own.
  __device__ __forceinline__ TileLabeller(const DevicePlan& plan, const DeviceLabels& labels,
                                          const SystemLabels& system, std::uint32_t tile,
                                          std::uint32_t* forest)
      : plan_(plan),
        system_(system),
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
  __device__ __forceinline__ void settle() {
    const std::uint64_t opening = first_of_runs(starts_, open_sites());
#pragma unroll 2
    for (unsigned row = 0; row < kTileLanes; ++row) {
      const std::uint32_t count = __shfl_sync(~0u, word_.count, row);
      if (count == 0) continue;
      settle_row(row, count, __shfl_sync(~0u, starts_, row), __shfl_sync(~0u, opening, row),
                 __shfl_sync(~0u, word_.first, row));
    }
    add_sum();
    __syncwarp();
  }

  // Open roots become nodes of the lattice's forest; the sums of the closed clusters.
  __device__ __forceinline__ void hand_out(std::uint64_t& square, std::uint64_t& fourth) const {
    std::uint64_t nodes = 0;
#pragma unroll
    for (unsigned odd = 0; odd < 2; ++odd) {
      for (std::uint32_t rest = roots_[odd]; rest != 0; rest &= rest - 1) {
        const unsigned x = 2 * (static_cast<unsigned>(__ffs(static_cast<int>(rest))) - 1) + odd;
        const std::uint32_t word = forest_[kWordSites * lane_ + x], size = word >> 16;
        if ((word & kOpen) != 0) {
          nodes |= std::uint64_t{1} << x;
          system_.parent[word_.first + x] = word_.first + x;
          system_.size[word_.first + x] = size;
        } else {
          const std::uint64_t n2 = static_cast<std::uint64_t>(size) * size;
          square += n2;
          fourth += n2 * n2;
        }
      }
    }
    system_.nodes[static_cast<std::size_t>(tile_) * kTileLanes + lane_] = nodes;
  }

 private:
  static constexpr std::uint32_t kPlace = kTileSites - 1;
  static constexpr std::uint32_t kOpen = 1u << 15;
  static constexpr std::uint32_t kOneSite = 1u << 16;

  __device__ __forceinline__ std::uint64_t drawn(int k) const {
    return bits_from(system_.drawn + k, kDim, word_.first);
  }

  __device__ __forceinline__ std::uint32_t climb(std::uint32_t place) const {
    for (std::uint32_t up = forest_[place] & kPlace; up != place; up = forest_[place] & kPlace) {
      place = up;
    }
    return place;
  }

  // Bit x: a bond joins site x to the word ahead in direction k, which is in the tile.
  __device__ __forceinline__ std::uint64_t bonds_ahead(int k, std::uint64_t spin,
                                                       std::uint64_t all) const {
    const std::uint64_t there = __shfl_down_sync(~0u, spin, 1u << lane_shift<kDim>(k));
    const bool inside = word_.count > 0 && (word_.inside >> k & 1u) != 0;
    return inside ? drawn(k) & ~(spin ^ there) & all : 0;
  }

  // Joins for every bit x of `rest` the run of site x and the run at place_there(x).
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

  // A chain: from a word's last site to the next word's first.
  __device__ __forceinline__ void join_words(std::uint64_t spin, std::uint64_t along) {
    const std::uint64_t next = __shfl_down_sync(~0u, spin, 1);
    const bool there = __shfl_down_sync(~0u, word_.count, 1) > 0 && lane_ < 31;
    const bool joined = there && (along >> 63 & 1u) != 0 && (spin >> 63 & 1u) == (next & 1u);
    join_rest(joined ? std::uint64_t{1} << 63 : 0,
              [&](unsigned) { return kWordSites * (lane_ + 1); });
  }

  // Direction 1, whose words ahead are the next lanes'.
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

  // Lanes take two sites of the row each.
  __device__ __forceinline__ void settle_row(unsigned row, std::uint32_t count,
                                             std::uint64_t starts, std::uint64_t opening,
                                             Site first) {
    const unsigned x = 2 * lane_;
    const std::uint32_t base = kWordSites * row;
    const std::uint64_t here = starts >> x;  // bits 0 and 1: a run starts at x, at x + 1
    std::uint32_t even = 0, odd = 0;         // places of the roots
    if (x < count) {
      even = climb(base + run_start(starts, x));
      odd = (here & 2u) != 0 ? climb(base + x + 1) : even;
      reinterpret_cast<std::uint32_t*>(system_.place + first)[lane_] = odd << 16 | even;
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

  // What the lane has counted for one root; a cluster mostly goes on from row to row.
  __device__ __forceinline__ void add_sum() {
    if (sum_ > 0) atomicAdd(forest_ + sum_root_, sum_ * kOneSite);
    sum_ = 0;
  }

  const DevicePlan& plan_;
  const SystemLabels system_;
  std::uint32_t* const forest_;
  const std::uint32_t tile_;
  const unsigned lane_;
  const TileWord word_;
  std::uint64_t starts_ = 0;  // bit x: a run starts here
  std::uint32_t roots_[2]{};  // bit i: site 2 i (2 i + 1) starts a run that is a root
  std::uint32_t sum_root_ = 0, sum_ = 0;
};

}  // namespace rewise::single::device
