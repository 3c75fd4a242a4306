// Union-find by compare-and-swap (ECL-CC: Jaiganesh & Burtscher 2018): pairs of tile roots, or
// shortcuts, are inserted concurrently, the larger root under the smaller; then every site looks up
// its root.
//
// Method `fast` has two implementations on CUDA. To label given bonds, it labels tiles by
// self-labelling and joins them as here. Swendsen-Wang updates draw the bonds as they label, by a
// faster implementation (src/bytespin/swendsen_wang).
#include <algorithm>

#include "src/cuda/forest.cuh"
#include "src/cuda/system_items.cuh"
#include "src/label/papers/kernels.hpp"

namespace rewise::papers {
namespace {

// The threads of a replica stride over its pairs.
__device__ __forceinline__ void unite_system(const LabelField& field, const RootPairs& pairs,
                                             std::uint32_t system, std::uint64_t thread,
                                             std::uint64_t threads) {
  const ParentForest forest{field.of(field.parent, system)};
  const Site* list = pairs.pairs + 2 * system * pairs.capacity;
  const std::uint64_t count = pairs.count[system];
  for (std::uint64_t i = thread; i < count; i += threads)
    forest.unite(list[2 * i], list[2 * i + 1]);
}

__global__ void __launch_bounds__(kItemThreads)
    unite_pairs(const __grid_constant__ LabelField field, const __grid_constant__ RootPairs pairs,
                SystemItems items) {
  const Item item = item_of(items);
  unite_system(field, pairs, item.who, item.index,
               std::uint64_t{items.blocks.per_system.divisor} * kItemThreads);
}

__device__ __forceinline__ void unite_shortcut(const LabelField& field, const Item& item) {
  if (field.shortcut_on[item.who * field.shortcut_count + item.index] == 0) return;
  const SitePair bond = field.shortcuts[item.index];
  ParentForest{field.of(field.parent, item.who)}.unite(bond.a, bond.b);
}

__global__ void __launch_bounds__(kItemThreads)
    unite_shortcuts(const __grid_constant__ LabelField field, SystemItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) unite_shortcut(field, item);
}

__device__ __forceinline__ void label_site(const LabelField& field, const Item& item) {
  const std::uint32_t* parent = field.of(field.parent, item.who);
  auto root = static_cast<Site>(item.index);
  for (Site up = parent[root]; up != root; up = parent[root]) root = up;
  field.of(field.label, item.who)[item.index] = root;
}

__global__ void __launch_bounds__(kItemThreads)
    label_sites(const __grid_constant__ LabelField field, SystemItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) label_site(field, item);
}

}  // namespace

void launch_unite_shortcuts(const LabelField& field, cudaStream_t stream) {
  if (field.shortcut_count == 0) return;
  const SystemItems items(field.shortcut_count, field.systems);
  launch(unite_shortcuts, items, stream, field);
}

void launch_unite(const LabelField& field, const RootPairs& pairs, cudaStream_t stream) {
  constexpr std::uint64_t kMaxThreads = 1u << 19;  // more than a device runs at once
  const std::uint64_t each = std::max<std::uint64_t>(kMaxThreads / field.systems, kItemThreads);
  const SystemItems strides(std::clamp<std::uint64_t>(pairs.capacity, 1, each), field.systems);
  launch(unite_pairs, strides, stream, field, pairs);
  const SystemItems items(field.sites, field.systems);
  launch(label_sites, items, stream, field);
}

}  // namespace rewise::papers
