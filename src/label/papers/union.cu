// Union-find by compare-and-swap (ECL-CC: Jaiganesh & Burtscher 2018): pairs of tile roots, or
// shortcuts, are inserted concurrently, the larger root under the smaller; then every site looks up
// its root.
//
// Method `fast` has two implementations on CUDA. To label given bonds, it labels tiles by
// self-labelling and joins them as here. Swendsen-Wang updates draw the bonds as they label, by a
// faster implementation (src/bytespin/swendsen_wang).
#include <algorithm>

#include "src/cuda/forest.cuh"
#include "src/cuda/replica_items.cuh"
#include "src/label/papers/kernels.hpp"

namespace rewise::papers {
namespace {

// The threads of a replica stride over its pairs.
__device__ __forceinline__ void unite_replica(const LabelArrays& arrays, const RootPairs& pairs,
                                              std::uint32_t replica, std::uint64_t thread,
                                              std::uint64_t threads) {
  const ParentForest forest{arrays.of(arrays.parent, replica)};
  const Site* list = pairs.pairs + 2 * replica * pairs.capacity;
  const std::uint64_t count = pairs.count[replica];
  for (std::uint64_t i = thread; i < count; i += threads)
    forest.unite(list[2 * i], list[2 * i + 1]);
}

__global__ void __launch_bounds__(kItemThreads)
    unite_pairs(const __grid_constant__ LabelArrays arrays, const __grid_constant__ RootPairs pairs,
                ReplicaItems items) {
  const Item item = item_of(items);
  unite_replica(arrays, pairs, item.replica, item.index,
                std::uint64_t{items.blocks.per_replica.divisor} * kItemThreads);
}

__device__ __forceinline__ void unite_shortcut(const LabelArrays& arrays, const Item& item) {
  if (arrays.shortcut_on[item.replica * arrays.shortcut_count + item.index] == 0) return;
  const SitePair bond = arrays.shortcuts[item.index];
  ParentForest{arrays.of(arrays.parent, item.replica)}.unite(bond.a, bond.b);
}

__global__ void __launch_bounds__(kItemThreads)
    unite_shortcuts(const __grid_constant__ LabelArrays arrays, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) unite_shortcut(arrays, item);
}

__device__ __forceinline__ void label_site(const LabelArrays& arrays, const Item& item) {
  const std::uint32_t* parent = arrays.of(arrays.parent, item.replica);
  auto root = static_cast<Site>(item.index);
  for (Site up = parent[root]; up != root; up = parent[root]) root = up;
  arrays.of(arrays.label, item.replica)[item.index] = root;
}

__global__ void __launch_bounds__(kItemThreads)
    label_sites(const __grid_constant__ LabelArrays arrays, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) label_site(arrays, item);
}

}  // namespace

void launch_unite_shortcuts(const LabelArrays& arrays, cudaStream_t stream) {
  if (arrays.shortcut_count == 0) return;
  const ReplicaItems items(arrays.shortcut_count, arrays.replicas);
  launch(unite_shortcuts, items, stream, arrays);
}

void launch_unite(const LabelArrays& arrays, const RootPairs& pairs, cudaStream_t stream) {
  constexpr std::uint64_t kMaxThreads = 1u << 19;  // more than a device runs at once
  const std::uint64_t each = std::max<std::uint64_t>(kMaxThreads / arrays.replicas, kItemThreads);
  const ReplicaItems strides(std::clamp<std::uint64_t>(pairs.capacity, 1, each), arrays.replicas);
  launch(unite_pairs, strides, stream, arrays, pairs);
  const ReplicaItems items(arrays.sites, arrays.replicas);
  launch(label_sites, items, stream, arrays);
}

}  // namespace rewise::papers
