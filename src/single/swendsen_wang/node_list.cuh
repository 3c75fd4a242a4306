// The nodes of a tile, listed by a warp: most of them lie in the tile's first and last rows, so
// that lanes that each went over their own row's would wait for two of them.
#pragma once

#include "src/single/swendsen_wang/labels.cuh"

namespace rewise::single::device {

// nodes: bit x of a lane's word is site x of its row. Puts the nodes' places into out [kTileSites],
// in shared memory, in order; returns how many there are. The warp must wait before it reads them.
__device__ __forceinline__ unsigned list_nodes(std::uint64_t nodes, std::uint16_t* out) {
  const unsigned lane = threadIdx.x % 32;
  const auto count = static_cast<unsigned>(__popcll(nodes));
  unsigned up_to = count;
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned before = __shfl_up_sync(~0u, up_to, step);
    if (lane >= step) up_to += before;
  }
  for (unsigned at = up_to - count; nodes != 0; nodes &= nodes - 1) {
    out[at++] = static_cast<std::uint16_t>(kWordSites * lane + lowest(nodes));
  }
  return __shfl_sync(~0u, up_to, 31);
}

// Calls f(there, node, place) on all lanes, for 32 nodes of the list at a time; `there` is false on
// lanes beyond its end. `first`: the first site of the lane's row.
template <class F>
__device__ __forceinline__ void for_each_node(const std::uint16_t* list, unsigned count, Site first,
                                              F&& f) {
  for (unsigned begin = 0; begin < count; begin += 32) {
    const unsigned k = begin + threadIdx.x % 32;
    const std::uint32_t place = list[k < count ? k : 0];
    const Site row = __shfl_sync(~0u, first, static_cast<int>(place / kWordSites));
    f(k < count, row + place % kWordSites, place);
  }
}

}  // namespace rewise::single::device
