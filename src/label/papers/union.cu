// Union-find by compare-and-swap (ECL-CC: Jaiganesh & Burtscher 2018): pairs of tile roots, or
// shortcuts, are inserted concurrently, the larger root under the smaller; then every site looks up
// its root.
//
// Method `fast` has two implementations on CUDA. To label given bonds, it labels tiles by
// self-labelling and joins them as here. Swendsen-Wang updates draw the bonds as they label, by a
// faster implementation (src/bytespin/swendsen_wang).
#include "src/cuda/forest.cuh"
#include "src/label/papers/passes.cuh"

namespace rewise::papers {
namespace {

__global__ void __launch_bounds__(kItemThreads)
    unite_pairs(const __grid_constant__ LabelArrays arrays, const __grid_constant__ RootPairs pairs,
                ReplicaItems strides) {
  const Item thread = item_of(strides);
  const ParentForest forest{arrays.of_replica(arrays.parent, thread.replica)};
  for_each_pair(pairs, strides, thread, [&](Site a, Site b) { forest.unite(a, b); });
}

__device__ __forceinline__ void unite_shortcut(const LabelArrays& arrays, const Item& item) {
  if (arrays.shortcut_on[item.replica * arrays.shortcut_count + item.index] == 0) return;
  const SitePair bond = arrays.shortcuts[item.index];
  ParentForest{arrays.of_replica(arrays.parent, item.replica)}.unite(bond.a, bond.b);
}

__device__ __forceinline__ void label_site(const LabelArrays& arrays, const Item& item) {
  const std::uint32_t* parent = arrays.of_replica(arrays.parent, item.replica);
  auto root = static_cast<Site>(item.index);
  for (Site up = parent[root]; up != root; up = parent[root]) root = up;
  arrays.of_replica(arrays.label, item.replica)[item.index] = root;
}

}  // namespace

void launch_unite_shortcuts(const LabelArrays& arrays, cudaStream_t stream) {
  launch_each<unite_shortcut>(arrays.shortcut_count, arrays, stream);
}

void launch_unite(const LabelArrays& arrays, const RootPairs& pairs, cudaStream_t stream) {
  launch(unite_pairs, pair_strides(arrays, pairs), stream, arrays, pairs);
  launch_each<label_site>(arrays.sites, arrays, stream);
}

}  // namespace rewise::papers
