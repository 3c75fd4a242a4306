// A warp labels a tile of one replica in shared memory (swendsen_wang_cuda.hpp). A lane holds the
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
#pragma once

#include "src/bundle/swendsen_wang/swendsen_wang.cuh"

namespace rewise::bundle::device {

inline constexpr unsigned kLabelQueue = 64;  // a warp's, twice

template <int kDim>
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
      inside[h] = lowest_bits(row_[h].count);
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
  __device__ __forceinline__ void settle() {
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
        local[h] = forest_[(32 * j + run_start(starts[h], before_)) & kPlace] & kPlace;
        label[32 * j] = static_cast<std::uint16_t>(forest_[local[h]] & kPlace);
      }
      __syncwarp();
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t count = __shfl_sync(~0u, row_[h].count, static_cast<int>(n));
        const std::uint32_t opens = __shfl_sync(~0u, opening[h], static_cast<int>(n));
        const std::uint32_t later = starts[h] & ~before_;
        const std::uint32_t end = later != 0 ? lowest_bit(later) : count;
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
        const std::uint32_t place = 32 * row(h) + lowest_bit(rest), word = forest_[place];
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
  // A tile's weights: one at most for each bond that has an end there, below 2^14.
  static constexpr std::uint32_t kWeight = kOpen - 1;
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
            from = base - 32 * label_stride<kDim>(k + 1) + run_start(behind, before_);
          }
          hooks |= more;
        }
        const std::uint32_t parent = forest_[from & kPlace];
        last = base + run_start(starts, before_);
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
            const std::uint32_t a = 32 * row(h) + run_start(starts_[h], before);
            const std::uint32_t b = back + run_start(behind, before);
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
        const std::uint32_t place = 32 * row(h) + (rest != 0 ? lowest_bit(rest) : 0);
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
        const std::uint32_t place = 32 * row(h) + (rest != 0 ? lowest_bit(rest) : 0);
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
        const unsigned x = lowest_bit(rest);
        run_.parent[forest + node] = node;
        run_.key[forest + node] = (row_[h].site + x) << 1 | (flips >> x & 1u);
        run_.size[forest + node] = forest_[32 * row(h) + x] >> 16;
        if (run_.weight != nullptr) run_.weight[forest + node] = 0;
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

}  // namespace rewise::bundle::device
