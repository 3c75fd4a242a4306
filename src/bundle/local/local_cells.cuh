// A cell's part in a local update: counts its neighbours, settles its words, stores them. `spins`
// are the words of kVec bundles side by side, in the device's memory or in a block's.
#pragma once

#include <cuda/std/type_traits>

#include "src/bundle/local/settle.cuh"

namespace rewise::bundle::device {

template <int kDim, int kVec, bool kGlauber, class Known>
__device__ __forceinline__ void regular_cell(const DeviceLattice& g, const Settle& s, Known& block,
                                             int colour, std::uint32_t i, std::uint32_t* spins) {
  constexpr int kDegree = 2 * kDim;
  const Around<kDim> around(g, colour, i);
  std::uint32_t at[kDegree];
  around.places(g, at);
  const std::uint32_t slot = g.colour_base[colour] + i;
  std::uint32_t* own_at = spins + static_cast<std::size_t>(slot) * kVec;
  const std::uint32_t* other = spins + static_cast<std::size_t>(g.colour_base[1 - colour]) * kVec;
  Pack<kVec> own = load<kVec>(own_at);
  Pack<kVec> neighbour[kDegree];
#pragma unroll
  for (int k = 0; k < kDegree; ++k) {
    neighbour[k] = load<kVec>(other + static_cast<std::size_t>(at[k]) * kVec);
  }
  constexpr int kClasses = kGlauber ? kDegree + 1 : kDegree / 2;
  const std::uint32_t site = around.site(g);
  const SharedItem shared(s.draw.seed_low, s.draw.seed_high, s.draw.stream, s.draw.step, site);
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    std::uint32_t x[kDegree];
#pragma unroll
    for (int k = 0; k < kDegree; ++k) x[k] = own.w[v] ^ neighbour[k].w[v];
    const Planes<kDegree> planes(x);
    own.w[v] ^= settle_word<kClasses, kVec, true>(s, block, v, slot, site, s.thresholds.regular,
                                                  shared, planes.p, Planes<kDegree>::kCount);
  }
  store<kVec>(own_at, own);
}

// A modified cell of degree below 16: counts in a ripple of planes, then by the number of classes.
template <int kVec, class Known>
__device__ __forceinline__ void modified_cell(const DeviceCells& cells, const DeviceGroup& group,
                                              const Settle& s, Known& block, std::uint32_t cell,
                                              std::uint32_t i, std::uint32_t* spins) {
  const std::uint32_t slot = cells.slot[cell];
  const std::uint32_t site = cells.site[cell];
  Pack<kVec> own = load<kVec>(spins + static_cast<std::size_t>(slot) * kVec);
  std::uint32_t plane[kVec][kPlanes];
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
#pragma unroll
    for (unsigned p = 0; p < kPlanes; ++p) plane[v][p] = 0;
  }
  const std::uint32_t* column = cells.neighbour + group.neighbour + i;
#pragma unroll 4
  for (std::uint32_t j = 0; j < group.degree; ++j, column += group.padded) {
    const Pack<kVec> far = load<kVec>(spins + static_cast<std::size_t>(*column) * kVec);
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      std::uint32_t x = own.w[v] ^ far.w[v];
#pragma unroll
      for (unsigned p = 0; p < kPlanes; ++p) {
        const std::uint32_t carry = plane[v][p] & x;
        plane[v][p] ^= x;
        x = carry;
      }
    }
  }
  const SharedItem shared(s.draw.seed_low, s.draw.seed_high, s.draw.stream, s.draw.step, site);
  const auto settle = [&](auto classes) {
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      own.w[v] ^= settle_word<decltype(classes)::value, kVec>(
          s, block, v, slot, site, group.thresholds, shared, plane[v], kPlanes);
    }
  };
  switch (group.classes) {
    case 0:  // an isolated site under Metropolis
#pragma unroll
      for (int v = 0; v < kVec; ++v) own.w[v] = ~own.w[v];
      break;
    case 1:
      settle(cuda::std::integral_constant<int, 1>{});
      break;
    case 2:
      settle(cuda::std::integral_constant<int, 2>{});
      break;
    case 3:
      settle(cuda::std::integral_constant<int, 3>{});
      break;
    case 4:
      settle(cuda::std::integral_constant<int, 4>{});
      break;
    default:
#pragma unroll
      for (int v = 0; v < kVec; ++v) {
        std::uint32_t open = 0;
        for (std::uint32_t c = 0; c < group.classes; ++c) open |= equals(plane[v], kPlanes, c);
        own.w[v] ^= ~open | finish_word(s, shared, block.call_words[v],
                                        s.quad * kVec + static_cast<unsigned>(v), plane[v], kPlanes,
                                        group.thresholds, group.classes, 0, open);
      }
  }
  store<kVec>(spins + static_cast<std::size_t>(slot) * kVec, own);
}

// Any degree, replica by replica: hubs are rare.
template <int kVec>
__device__ void hub(const DeviceCells& cells, const DeviceGroup& group, const Settle& s,
                    std::uint32_t cell, std::uint32_t i, std::uint32_t* spins) {
  const std::size_t slot = cells.slot[cell];
  const std::uint32_t* neighbour = cells.neighbour + group.neighbour + i;
  for (unsigned v = 0; v < kVec; ++v) {
    const std::uint32_t bundle = s.quad * kVec + v;
    const Address at{static_cast<std::uint64_t>(s.draw.seed_high) << 32 | s.draw.seed_low,
                     s.draw.who + v, s.draw.step};
    const std::uint32_t own = spins[slot * kVec + v];
    std::uint32_t flips = 0;
    for (unsigned r = 0; r < kReplicas; ++r) {
      std::uint32_t disagreeing = 0;
      for (std::uint32_t j = 0; j < group.degree; ++j) {
        const std::size_t far = neighbour[static_cast<std::size_t>(j) * group.padded];
        disagreeing += (spins[far * kVec + v] ^ own) >> r & 1u;
      }
      const bool accepted =
          disagreeing >= group.classes ||
          replica_draw(at, static_cast<Stream>(s.draw.stream), cells.site[cell], r,
                       s.thresholds.table[static_cast<std::size_t>(bundle) * s.thresholds.stride +
                                          group.thresholds + disagreeing]);
      flips |= (accepted ? 1u : 0u) << r;
    }
    spins[slot * kVec + v] = own ^ flips;
  }
}

// The index-th regular cell of a colour in the block's graph.
__device__ __forceinline__ std::uint32_t regular_place(const DeviceLattice& g, int colour,
                                                       std::uint32_t index) {
  if (index >= g.regular_most[colour]) return kNoPlace;
  const std::uint32_t* list = g.regular[colour];
  return list == nullptr ? index : list[std::size_t{blockIdx.z} * (g.sites / 2) + index];
}

// A modified cell of any degree, by its place in the list; nothing where that is padding.
template <int kVec, class Known>
__device__ __forceinline__ void any_modified_cell(const DeviceCells& cells, const Settle& s,
                                                  Known& block, std::uint32_t cell,
                                                  std::uint32_t* spins) {
  const DeviceGroup group = cells.groups[cells.group_of_warp[cell / 32]];
  const std::uint32_t i = cell - group.first;
  if (i >= group.cells) return;
  if (group.degree < 1u << kPlanes) {
    modified_cell<kVec>(cells, group, s, block, cell, i, spins);
  } else {
    hub<kVec>(cells, group, s, cell, i, spins);
  }
}

}  // namespace rewise::bundle::device
