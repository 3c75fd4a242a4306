// Step 1 of a tile on the fast Swendsen-Wang path (fused_tile.cuh): its bonds. A block of kWarps
// warps, of which every one holds the tile's rows, a word for each lane, and draws for a band of
// them.
#pragma once

#include "src/single/swendsen_wang/fused_models.cuh"

namespace rewise::single::device {

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
  std::uint32_t square, fourth_low, fourth_high;  // of closed clusters, fourth in 22 bits each
};

// The bonds of the band's sites: a round of the warp is two blocks of 64 slots, four ballots their
// masks.
template <int kDim, unsigned kWarps>
__device__ __forceinline__ void draw_bonds(std::uint32_t (&drawn)[kTileLanes][2][kDim],
                                           const TileWord& word, const DrawKey& key,
                                           Threshold bond) {
  constexpr unsigned kRows = kTileLanes / kWarps;
  const unsigned lane = threadIdx.x % 32, top = kRows * (threadIdx.x / 32);
  const auto last = static_cast<std::uint32_t>(bond - 1);  // draws up to it happen
  const std::uint32_t never = bond == 0 ? 0 : ~0u;
  auto* out = reinterpret_cast<uint2*>(drawn[top]);
#pragma unroll 4
  for (unsigned n = 0; n < kRows * kDim / 2; ++n) {
    const unsigned block = 2 * n + lane / kCallsPerBlock;  // in the band
    const unsigned row = top + block / kDim;
    const std::uint64_t first = __shfl_sync(~0u, word.first, static_cast<int>(row));
    const std::uint64_t call =
        (first / kSlotsPerBlock * kDim + block % kDim) * kCallsPerBlock + lane % kCallsPerBlock;
    const Words4 x = random_words(key.seed, Stream::single_bond, call, key.who, 0, key.step);
    const std::uint32_t b0 = __ballot_sync(~0u, x.w[0] <= last);
    const std::uint32_t b1 = __ballot_sync(~0u, x.w[1] <= last);
    const std::uint32_t b2 = __ballot_sync(~0u, x.w[2] <= last);
    const std::uint32_t b3 = __ballot_sync(~0u, x.w[3] <= last);
    const std::uint32_t half = lane < kCallsPerBlock ? 0x5410 : 0x7632;
    if (lane % kCallsPerBlock == 0) {
      out[block] = make_uint2(__byte_perm(b0, b1, half) & never, __byte_perm(b2, b3, half) & never);
    }
  }
}

}  // namespace rewise::single::device
