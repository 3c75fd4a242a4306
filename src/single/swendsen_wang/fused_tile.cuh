// A block of four or eight warps draws the bonds of a tile and labels its clusters in shared memory
// (swendsen_wang_fused.hpp). A tile has 32 rows of 64 sites along x (tiles.hpp); every warp holds
// all of them as bit masks, a row for each lane, and works on a band of rows. A place stands for
// the run that starts there.
//
//   1  Bonds are drawn, a row's 64 sites by 16 calls per direction.
//   2  The runs of a row follow from its spins and bonds by bit arithmetic. (Potts: from its bonds,
//      of which those between unequal spins have been taken out.)
//   3  Row after row of a band, every run hangs itself under the root of one run that a bond joins
//      it to in the row before; then the first rows of the bands likewise: no search, no conflict.
//   4  The bonds left over that are not known to be idle (their left neighbour joins the same two
//      runs) are joined by compare-and-swap, one of each thread at a time: all threads climb to the
//      roots, then all hook.
//   5  All runs climb to their roots, 16 sites of a thread at a time; roots learn the sizes of
//      their clusters and whether these are open. Open roots become nodes.
//
// A word of the forest, and places where they are looked up, are in bytes: 4 * place.
//
// Between a phase that reads the forest and one that changes it the block waits, so that threads
// never race for a word but in the atomic operations of 4 and 5. Cost: some 3700 instructions of
// each of four warps.
#pragma once

#include "src/single/swendsen_wang/fused_draws.cuh"
#include "src/single/swendsen_wang/fused_settle.cuh"
#include "src/single/swendsen_wang/tile_words.cuh"

namespace rewise::single::device {

__device__ __forceinline__ unsigned lowest_bit(std::uint32_t bits) {
  return static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
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
        word_(tile_word<kDim>(labels.common.tiles, labels.common.geometry, tile, lane_)) {}

  __device__ __forceinline__ const TileWord& word() const { return word_; }

  // Step 1, and what clusters draw as if every site were a root. The block waits before step 2.
  __device__ __forceinline__ void draw(const Model& model, const DrawKey& key, Threshold bond) {
    if (threadIdx.x == 0) {
      memory_.nodes = memory_.square = memory_.fourth_low = memory_.fourth_high = 0;
    }
    draw_bonds<kDim, kWarps>(memory_.drawn, word_, key, bond);
    model.template draw_sites<kWarps>(memory_.draws, word_, key);
  }

  // Steps 2 to 4, once the block has waited for the spins.
  __device__ __forceinline__ void join(const DevicePlan& plan, const FusedSystem& system) {
    if constexpr (Model::kPotts) keep_equal<kDim, kWarps>(memory_.drawn, memory_.spins, word_);
    const std::uint64_t spin = Model::row(memory_.spins);
    const std::uint64_t all = word_.count > 0 ? ~std::uint64_t{0} : 0;
    starts_ = (~(drawn(0) & ~(spin ^ spin >> 1) & all >> 1) & all) << 1 | 1u;
    if (warp_ == 0) {
      memory_.first[lane_] = word_.first;
      memory_.starts[lane_] = starts_;
      memory_.open[lane_] = open_sites(plan);
    }
    share_borders(system);
    std::uint64_t first = 0;
    std::uint64_t rest = 0;
#pragma unroll
    for (int k = 1; k < kDim; ++k) rest |= find_bonds(k, spin, all, first);
    hook(first);
    join_rest(rest);
  }

  // Step 5. Nodes of `system` and labels are written; the sums of closed clusters are added to
  // those of an update.
  __device__ __forceinline__ void settle(const FusedSystem& system, const DeviceLabels& common,
                                         std::uint32_t systems, std::uint32_t update,
                                         std::uint32_t who) {
    const std::uint32_t valid = __ballot_sync(~0u, word_.count > 0) >> kBandRows * warp_;
    climb_all();
    __syncthreads();
    const std::uint32_t roots = clear_roots(valid);
    __syncthreads();
    count_sites(valid);
    __syncthreads();
    hand_out(roots, system);
    __syncthreads();
    write_labels(valid, system);
    if (threadIdx.x == 0) {
      system.count[tile_] = memory_.nodes;
      const std::uint64_t fourth =
          std::uint64_t{memory_.fourth_high} * kFourthUnit + memory_.fourth_low;
      if (memory_.square != 0) {
        add_sums(common, systems, update, who, tile_, memory_.square, fourth);
      }
    }
  }

 private:
  static constexpr unsigned kBandRows = kTileLanes / kWarps;
  // Threads of a row where bonds are joined one by one, and columns of each.
  static constexpr unsigned kRowThreads = 32 / kBandRows, kColumns = kWordSites / kRowThreads;
  static constexpr std::uint32_t kOpenSite = 1u << 16, kSizeMask = kOpenSite - 1;
  static constexpr std::uint32_t kFourthUnit = 1u << 22;

  __device__ __forceinline__ unsigned row(unsigned j) const { return kBandRows * warp_ + j; }

  __device__ __forceinline__ std::uint32_t& at(std::uint32_t place) const {
    return *reinterpret_cast<std::uint32_t*>(reinterpret_cast<char*>(memory_.forest) + place);
  }

  // A row's bonds in direction k; after the block has waited.
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
  __device__ __forceinline__ void share_borders(const FusedSystem& system) const {
    if (word_.count == 0 || warp_ >= kDim) return;
    const int k = static_cast<int>(warp_);
    std::uint32_t* out = system.drawn + static_cast<std::size_t>(word_.first / 32) * kDim + k;
    const std::uint64_t bonds = drawn(k);
    if (k > 0 && (word_.inside >> k & 1u) != 0) return;
    if (k > 0) out[0] = static_cast<std::uint32_t>(bonds);
    out[kDim] = static_cast<std::uint32_t>(bonds >> 32);
  }

  // Sites that have, or may have, a bond to another tile.
  __device__ __forceinline__ std::uint64_t open_sites(const DevicePlan& plan) const {
    if (word_.edge) return ~std::uint64_t{0};
    const std::uint64_t ends = std::uint64_t{1} << 63 | 1u;
    if (plan.rewired_count == 0 || word_.count == 0) return ends;
    return ends | bits_from(labels_.modified, 1, word_.first);
  }

  // The bonds that join a row to the one behind it in direction k. Direction 1: `first` the first
  // of each run, by which the run hangs itself up. Returns the others, but for idle ones, of the
  // row and the columns that this thread joins: bit kColumns (k - 1) + x.
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

  // Where the runs of a row's sites 2 lane and 2 lane + 1 start, as bits 0-15 and 16-31.
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

  // Step 4. A bit of `rest` joins the thread's row to the one behind it in direction 1 +
  // bit / kColumns.
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

  // places_ become the places of the roots.
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

  // The thread's sites that are roots: bit 2 j + odd for row j of the band. Their words become
  // sums.
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

  // Sites and open sites of the roots. A cluster mostly goes on from row to row, so a thread adds
  // up what it has of one root.
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

  // A thread's site by its bit in clear_roots().
  __device__ __forceinline__ unsigned place_of(unsigned bit) const {
    return kWordSites * row(bit / 2) + 2 * lane_ + bit % 2;
  }

  // Roots get the labels of their sites: closed ones what they draw, open ones numbers of nodes.
  __device__ __forceinline__ void hand_out(std::uint32_t roots, const FusedSystem& system) {
    std::uint32_t open = 0, square = 0;
    std::uint64_t fourth = 0;
    for (; roots != 0; roots &= roots - 1) {
      const unsigned place = place_of(lowest_bit(roots));
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
    make_nodes(open, begin + up_to - count, system);
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
                                             const FusedSystem& system) {
    const std::uint32_t base = tile_ * labels_.capacity;
    for (; open != 0; open &= open - 1, ++number) {
      const unsigned place = place_of(lowest_bit(open));
      const std::uint32_t size = memory_.forest[place] & kSizeMask, node = base + number;
      const Site site = memory_.first[place / kWordSites] + place % kWordSites;
      system.forest.words[node] = KeyedForest::make(node, site);
      system.own[node] = static_cast<std::uint16_t>(size);
      system.size[node] = size;
      memory_.forest[place] = number;
    }
  }

  __device__ __forceinline__ void write_labels(std::uint32_t valid,
                                               const FusedSystem& system) const {
    auto* out = reinterpret_cast<std::uint32_t*>(system.label +
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
  std::uint64_t starts_ = 0;         // bit x of the lane's row: a run starts here
  std::uint32_t places_[kBandRows];  // of runs, then of their roots: two sites of each of the rows
};

}  // namespace rewise::single::device
