// What the models differ in on the fast Swendsen-Wang path (swendsen_wang_fused.hpp): how a tile in
// shared memory keeps its spins, what its clusters draw, and what labels make of it. The functions
// are for a block of kWarps warps, each of which holds the tile's rows, a word for each lane.
#pragma once

#include "src/single/equal_bytes.hpp"
#include "src/single/swendsen_wang/fused_nodes.cuh"
#include "src/single/swendsen_wang/tile_words.cuh"

namespace rewise::single::device {

// A block goes over the sites of a tile by pieces of eight for each thread.
template <unsigned kWarps>
constexpr unsigned kPieces = kTileSites / (8 * 32 * kWarps);

// Ising: a cluster draws a bit, whether it flips. A label has the spin of its site in bit 15.
struct FusedIsing {
  static constexpr bool kPotts = false;
  using Draw = bool;
  struct Spins {
    alignas(8) std::uint64_t row[kTileLanes];
  };
  struct SiteDraws {  // of places, as if each were a cluster's smallest site
    std::uint32_t flips[kTileSites / 32];
  };
  struct LabelDraws {  // of labels without their spins
    std::uint32_t flips[kTileSites / 32 + 1];
  };

  explicit FusedIsing(const DevicePlan&) {}

  // Those of a warp's band of rows, a row for each of the first lanes.
  template <unsigned kWarps>
  __device__ __forceinline__ void draw_sites(SiteDraws& out, const TileWord& word,
                                             const DrawKey& key) const {
    constexpr unsigned kRows = kTileLanes / kWarps;
    const unsigned lane = threadIdx.x % 32, row = kRows * (threadIdx.x / 32) + lane % kRows;
    const Site first = __shfl_sync(~0u, word.first, static_cast<int>(row));
    const Words4 x =
        random_words(key.seed, Stream::single_flip, bit_item(first), key.who, 0, key.step);
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
    return bit_of(random_words(key.seed, Stream::single_flip, bit_item(smallest), key.who, 0,
                               key.step),
                  smallest) != 0;
  }
  // By a warp, for 32 labels from `begin` on.
  static __device__ __forceinline__ void set(LabelDraws& out, std::uint32_t begin, Draw draw) {
    const std::uint32_t flips = __ballot_sync(~0u, draw);
    if (threadIdx.x % 32 == 0) out.flips[begin / 32] = flips;
  }

  static __device__ __forceinline__ std::uint32_t new_spin(const LabelDraws& draws,
                                                           std::uint32_t label) {
    const std::uint32_t number = label & kNodeMask;
    return (draws.flips[number >> 5] >> (number & 31u) ^ label >> kSpinBit) & 1u;
  }

  // The first spins of a run.
  static __device__ __forceinline__ void load(Spins& out, const TileWord& word,
                                              const std::uint8_t* spins) {
    if (threadIdx.x < 32) out.row[threadIdx.x] = load_spins<true>(spins + word.first, word.count);
  }
  // The new spins of a piece.
  static __device__ __forceinline__ void take(Spins& out, const TileWord&, unsigned piece,
                                              const uint2& eight, std::uint8_t*) {
    const std::uint32_t low = __dp4a(eight.x, 0x08040201u, 0u);
    reinterpret_cast<std::uint8_t*>(out.row)[piece] =
        static_cast<std::uint8_t>(__dp4a(eight.y, 0x80402010u, low));
  }
  static __device__ __forceinline__ std::uint64_t row(const Spins& spins) {
    return spins.row[threadIdx.x % 32];
  }
  // The spins of two neighbouring sites as those of their labels.
  static __device__ __forceinline__ std::uint32_t label_spins(const Spins& spins, unsigned row,
                                                              unsigned x) {
    const auto two = static_cast<std::uint32_t>(spins.row[row] >> x);
    return (two & 1u) << kSpinBit | (two & 2u) << (kSpinBit + 15);
  }
};

// Potts: a cluster draws a state. Labels have no spins, these stay in memory as bytes; and drawn
// bonds between unequal ones are taken out (keep_equal()), so that all look the same to the rest.
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
    alignas(2) std::uint8_t state[kClosed + 256];  // of a closed cluster's label: its state
  };

  std::uint32_t states;

  explicit FusedPotts(const DevicePlan& plan) : states(plan.states) {}

  // A row takes 16 calls, so lanes make one each for four sites: about as many as a thread would
  // make for the roots alone of which it has most, and without waiting for them.
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
          random_words(key.seed, Stream::single_flip,
                       first / kSlotsPerBlock * kCallsPerBlock + call, key.who, 0, key.step);
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
    return any_state(slot_draw(key, Stream::single_flip, smallest), states);
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

// The spins of eight sites ahead of those of a piece, as the pair of words that follows its own.
__device__ __forceinline__ std::uint32_t equal_eight(const uint2& a, const uint2& b) {
  return equal_bytes(a.x, b.x) | equal_bytes(a.y, b.y) << 4;
}

// Takes the drawn bonds between unequal spins out, but for those to other tiles. drawn:
// FusedTileMemory::drawn, of which a piece is a byte for each direction. By the block, which must
// have waited for spins and drawn bonds, and waits for the result.
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

}  // namespace rewise::single::device
