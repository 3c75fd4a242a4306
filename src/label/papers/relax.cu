// Label relaxation (Weigel 2011, section II.3.1): lists the roots of both ends of every occupied
// bond between tiles once (the paper's kernel prepare_relax()); then, pass by pass, sets the labels
// of both roots to the smaller one, until a pass changes nothing. Rewired bonds are further such
// pairs. Here a thread processes a bond, not a tile; the paper's relax_multithread() visits the
// same pairs. The number of passes grows with the shortest path between tiles, about (L / B)^1.08
// at Tc.
#include "src/label/papers/passes.cuh"

namespace rewise::papers {
namespace {

// The bonds across tile borders of one replica, by direction. Each direction begins at a multiple
// of 32, so that the bonds of a warp share a direction. Wrapping bonds cross the last border.
struct TileBorders {
  std::uint64_t first[kMaxDim + 1]{};
  FastDiv inner[kMaxDim]{};  // sites of a hyperplane below direction k
};

TileBorders tile_borders(const LabelArrays& arrays, const LabelTiles& tiles) {
  TileBorders borders;
  for (int k = 0; k < arrays.dim; ++k) {
    const std::uint64_t bonds = arrays.sites / arrays.geometry.extent[k] * tiles.along[k].divisor;
    borders.inner[k] = FastDiv(arrays.geometry.stride[k]);
    borders.first[k + 1] = borders.first[k] + (bonds + 31) / 32 * 32;
  }
  return borders;
}

struct Ends {
  bool joined = false;
  Site a = 0, b = 0;
};

// Returns bond `index` across the borders along direction k.
__device__ __forceinline__ Ends border_ends(const LabelArrays& arrays, const LabelTiles& tiles,
                                            const TileBorders& borders, const std::uint8_t* bonds,
                                            int k, std::uint32_t index) {
  const Geometry& g = arrays.geometry;
  const std::uint32_t rest = borders.inner[k].quotient(index);
  const std::uint32_t inner = index - rest * g.stride[k];
  const std::uint32_t outer = tiles.along[k].quotient(rest);
  const std::uint32_t border = rest - outer * tiles.along[k].divisor;
  const std::uint64_t end = std::uint64_t{border + 1} * tiles.edge[k];
  const std::uint32_t c = (end < g.extent[k] ? static_cast<std::uint32_t>(end) : g.extent[k]) - 1;
  const std::uint64_t base = std::uint64_t{outer} * g.extent[k] * g.stride[k] + inner;
  const std::uint64_t at = base + std::uint64_t{c} * g.stride[k];
  if (at >= arrays.sites) return {};
  const auto site = static_cast<Site>(at);
  return {(bonds[site] >> k & 1u) != 0, site, g.forward(site, c, k)};
}

// Lists the roots of a bond's ends if they differ, unless the lane before has the same pair.
__device__ __forceinline__ void note(const LabelArrays& arrays, const RootPairs& pairs,
                                     std::uint32_t replica, const Ends& ends) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t* parent = arrays.of_replica(arrays.parent, replica);
  const Site a = ends.joined ? parent[ends.a] : 0, b = ends.joined ? parent[ends.b] : 0;
  const Site left_a = __shfl_up_sync(~0u, a, 1), left_b = __shfl_up_sync(~0u, b, 1);
  const bool known = lane != 0 && left_a == a && left_b == b;
  const std::uint32_t all = __ballot_sync(~0u, a != b && !known);
  if (all == 0) return;
  unsigned long long begin = 0;
  if (lane == 0) {
    begin = atomicAdd(pairs.count + replica, static_cast<unsigned long long>(__popc(all)));
  }
  begin = __shfl_sync(~0u, begin, 0);
  if ((all >> lane & 1u) == 0) return;
  const auto before = static_cast<unsigned>(__popc(all & ((1u << lane) - 1)));
  Site* pair = pairs.pairs + 2 * (replica * pairs.capacity + begin + before);
  pair[0] = a;
  pair[1] = b;
}

__device__ __forceinline__ void note_border(const LabelArrays& arrays, const LabelTiles& tiles,
                                            const TileBorders& borders, const RootPairs& pairs,
                                            const Item& item) {
  Ends ends;
  if (item.index < borders.first[arrays.dim]) {
    int k = 0;
    while (item.index >= borders.first[k + 1]) ++k;
    ends = border_ends(arrays, tiles, borders, arrays.of_replica(arrays.bonds, item.replica), k,
                       static_cast<std::uint32_t>(item.index - borders.first[k]));
  }
  note(arrays, pairs, item.replica, ends);
}

__device__ __forceinline__ void note_shortcut(const LabelArrays& arrays, const RootPairs& pairs,
                                              const Item& item) {
  Ends ends;
  const std::uint64_t count = arrays.shortcut_count;
  if (item.index < count && arrays.shortcut_on[item.replica * count + item.index] != 0) {
    ends = {true, arrays.shortcuts[item.index].a, arrays.shortcuts[item.index].b};
  }
  note(arrays, pairs, item.replica, ends);
}

__global__ void note_borders(const __grid_constant__ LabelArrays arrays,
                             const __grid_constant__ LabelTiles tiles,
                             const __grid_constant__ TileBorders borders,
                             const __grid_constant__ RootPairs pairs, ReplicaItems items) {
  note_border(arrays, tiles, borders, pairs, item_of(items));
}

__global__ void note_shortcuts(const __grid_constant__ LabelArrays arrays,
                               const __grid_constant__ RootPairs pairs, ReplicaItems items) {
  note_shortcut(arrays, pairs, item_of(items));
}

__global__ void __launch_bounds__(kItemThreads)
    relax_pairs_once(const __grid_constant__ LabelArrays arrays,
                     const __grid_constant__ RootPairs pairs, PassFlags flags,
                     ReplicaItems strides) {
  if (!goes_on(flags)) return;
  const Item thread = item_of(strides);
  std::uint32_t* label = arrays.of_replica(arrays.label, thread.replica);
  bool changed = false;
  for_each_pair(pairs, strides, thread, [&](Site one, Site two) {
    const std::uint32_t a = load(label + one), b = load(label + two);
    if (a == b) return;
    atomicMin(label + (a < b ? two : one), a < b ? a : b);
    changed = true;
  });
  report(flags, changed);
}

__device__ __forceinline__ void resolve_site(const LabelArrays& arrays, const Item& item) {
  const Site root = arrays.of_replica(arrays.parent, item.replica)[item.index];
  if (root == item.index) return;
  std::uint32_t* label = arrays.of_replica(arrays.label, item.replica);
  label[item.index] = label[root];
}

}  // namespace

std::uint64_t relax_pairs(const LabelArrays& arrays, const LabelTiles& tiles) {
  return tile_borders(arrays, tiles).first[arrays.dim] + arrays.shortcut_count;
}

void launch_find_pairs(const LabelArrays& arrays, const LabelTiles& tiles, const RootPairs& pairs,
                       cudaStream_t stream) {
  check_cuda(cudaMemsetAsync(pairs.count, 0, arrays.replicas * sizeof(*pairs.count), stream));
  const TileBorders borders = tile_borders(arrays, tiles);
  if (arrays.dim > 0) {
    const ReplicaItems items(borders.first[arrays.dim], arrays.replicas);
    launch(note_borders, items, stream, arrays, tiles, borders, pairs);
  }
  if (arrays.shortcut_count > 0) {
    const ReplicaItems items(arrays.shortcut_count, arrays.replicas);
    launch(note_shortcuts, items, stream, arrays, pairs);
  }
}

void launch_relax(const LabelArrays& arrays, const RootPairs& pairs, const PassFlags& flags,
                  cudaStream_t stream) {
  launch(relax_pairs_once, pair_strides(arrays, pairs), stream, arrays, pairs, flags);
}

void launch_resolve(const LabelArrays& arrays, cudaStream_t stream) {
  launch_each<resolve_site>(arrays.sites, arrays, stream);
}

}  // namespace rewise::papers
