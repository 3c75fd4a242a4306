// A warp labels a tile of one replica in shared memory (swendsen_wang_cuda.hpp). A lane holds the
// masks of rows `lane` and `lane + 32`; a place stands for the run that starts there.
//
//   1  The runs of a row follow from its open bonds by bit arithmetic.
//   2  Row after row, every run hangs itself under the parent of one run that a bond joins it to in
//      an earlier row: no search, no conflict. This makes most of the joins.
//   3  The bonds left over that are not known to be idle (their left neighbour joins the same two
//      runs) are joined by compare-and-swap, one of each lane at a time: all lanes climb to the
//      roots, then all hook.
//   4  Row after row, every site learns its root, and the root its size.
//   5  Clusters with an open site become nodes, in order of their places; the others are summed up.
//
// A word of the forest: bits 0-10 the parent's place; on a root, bit 15 where its cluster is open,
// bits 16-31 its size. Lanes read and write shared words in turns, with a barrier of the warp in
// between; where several may write the same, these are atomic.
#pragma once

#include "src/bundle/swendsen_wang.cuh"

namespace rewise::bundle::device {

template <int kDim>
class TileLabeller {
 public:
  // `forest`: [kLabelSites] in shared memory, the warp's own.
  __device__ __forceinline__ TileLabeller(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                          const LabelItem<kDim>& item, unsigned replica,
                                          std::uint32_t* forest)
      : g_(g), run_(run), item_(item), replica_(replica), forest_(forest), lane_(threadIdx.x % 32) {
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
      inside[h] = lowest_bits(row_[h].count);
      along[h] = kDim > 0 ? item_.mask(run_, 0, replica_)[row(h)] : 0;
      starts_[h] = ~((along[h] & inside[h] >> 1) << 1) & inside[h];
    }
    __syncwarp();
    if constexpr (kDim == 1) join_chain(along);
    if constexpr (kDim > 1) join_rows(inside);
  }

  // Step 4.
  __device__ __forceinline__ void settle() {
    const std::uint32_t* open =
        g_.open_sites +
        (static_cast<std::size_t>(item_.graph) * g_.count + item_.tile) * kLabelRows;
    std::uint16_t* label = run_.label + item_.of_replica(replica_) * kLabelSites;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::uint32_t opening = first_of_runs(starts_[h], open[row(h)]);
      roots_[h] = 0;
#pragma unroll 2
      for (unsigned n = 0; n < 32; ++n) {
        const std::uint32_t count = __shfl_sync(~0u, row_[h].count, n);
        if (count == 0) continue;
        const unsigned j = 32 * static_cast<unsigned>(h) + n;
        const std::uint32_t starts = __shfl_sync(~0u, starts_[h], n);
        settle_row(32 * j, count, starts, __shfl_sync(~0u, opening, n), label);
        const std::uint32_t roots = __ballot_sync(~0u, is_root_);
        if (lane_ == n) roots_[h] = roots;
      }
    }
    add_sum();
    __syncwarp();
  }

  // Step 5.
  __device__ __forceinline__ void hand_out() {
    std::uint32_t nodes[2];
    std::uint64_t square = 0, fourth = 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      nodes[h] = 0;
      for (std::uint32_t rest = roots_[h]; rest != 0; rest &= rest - 1) {
        const unsigned x = lowest_bit(rest);
        const std::uint32_t word = forest_[32 * row(h) + x];
        if ((word & kOpen) != 0) {
          nodes[h] |= 1u << x;
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

 private:
  static constexpr std::uint32_t kPlace = kLabelSites - 1;
  static constexpr std::uint32_t kOpen = 1u << 15;
  static constexpr std::uint32_t kOneSite = 1u << 16;
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
      const std::uint32_t from = 32 * (row(h) - 1) + run_start(from_behind(starts_, h, 1), ~0u);
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
    const std::uint32_t before = up_to(lane_);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll 4
      for (unsigned n = h == 0 ? 1 : 0; n < 32; ++n) {
        const std::uint32_t base = 32 * (n + 32 * static_cast<unsigned>(h));
        const std::uint32_t starts = __shfl_sync(~0u, starts_[h], static_cast<int>(n));
        std::uint32_t from = ~0u;
#pragma unroll
        for (int k = 0; k < kAcross; ++k) {
          const std::uint32_t hooks = __shfl_sync(~0u, chosen[k][h], static_cast<int>(n));
          const std::uint32_t behind = __shfl_sync(~0u, starts_behind[k][h], static_cast<int>(n));
          if ((hooks >> lane_ & 1u) != 0) {
            from = base - 32 * label_stride<kDim>(k + 1) + run_start(behind, before);
          }
        }
        if (from != ~0u) forest_[base + run_start(starts, before)] = forest_[from];
        __syncwarp();
      }
    }
  }

  // Step 3.
  __device__ __forceinline__ void join_rest(const std::uint32_t (&bonds)[kAcross][2],
                                            const std::uint32_t (&starts_behind)[kAcross][2],
                                            const std::uint32_t (&chosen)[kAcross][2]) {
#pragma unroll
    for (int k = 0; k < kAcross; ++k) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t behind = starts_behind[k][h];
        const std::uint32_t idle = bonds[k][h] << 1 & ~starts_[h] & ~behind;
        const std::uint32_t back = 32 * (row(h) - label_stride<kDim>(k + 1));
        std::uint32_t rest = bonds[k][h] & ~chosen[k][h] & ~idle;
        while (__any_sync(~0u, rest != 0)) {
          std::uint32_t a = 0, b = 0;
          if (rest != 0) {
            const std::uint32_t before = (rest & (0u - rest)) * 2 - 1;
            a = climb(32 * row(h) + run_start(starts_[h], before));
            b = climb(back + run_start(behind, before));
          }
          __syncwarp();
          if (rest != 0) {
            const std::uint32_t high = a > b ? a : b, low = a > b ? b : a;
            if (high == low || atomicCAS(forest_ + high, high, low) == high) rest &= rest - 1;
          }
          __syncwarp();
        }
      }
    }
  }

  // A lane takes a site of the row that starts at place `base`.
  __device__ __forceinline__ void settle_row(std::uint32_t base, std::uint32_t count,
                                             std::uint32_t starts, std::uint32_t opening,
                                             std::uint16_t* label) {
    const std::uint32_t place = base + lane_;
    const bool here = lane_ < count;
    const std::uint32_t root = here ? climb(base + run_start(starts, up_to(lane_))) : place;
    label[place] = static_cast<std::uint16_t>(root);
    is_root_ = here && root == place;
    __syncwarp();
    if (here) {
      if (root != sum_root_) {
        add_sum();
        sum_root_ = root;
      }
      ++sum_;
      if ((opening >> lane_ & 1u) != 0) atomicOr(forest_ + root, kOpen);
    }
    __syncwarp();
  }

  // What the lane has counted for one root; a cluster mostly goes on from row to row.
  __device__ __forceinline__ void add_sum() {
    if (sum_ > 0) atomicAdd(forest_ + sum_root_, sum_ * kOneSite);
    sum_ = 0;
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
        const unsigned x = lowest_bit(rest);
        run_.parent[forest + node] = node;
        run_.key[forest + node] = (row_[h].site + x) << 1 | (flips >> x & 1u);
        run_.size[forest + node] = forest_[32 * row(h) + x] >> 16;
      }
    }
  }

  const DeviceLabelTiles& g_;
  const DeviceLabelRun& run_;
  const LabelItem<kDim>& item_;
  const unsigned replica_;
  std::uint32_t* const forest_;
  const unsigned lane_;
  LabelRow row_[2];
  std::uint32_t starts_[2];   // bit x: a run starts here
  std::uint32_t roots_[2]{};  // bit x: its run is a root
  bool is_root_ = false;
  std::uint32_t sum_root_ = 0, sum_ = 0;
};

}  // namespace rewise::bundle::device
