// Union-find by compare-and-swap over the whole lattice (ECL-CC: Jaiganesh & Burtscher 2018): every
// site begins under its smallest neighbour, all other bonds are inserted at once, the larger root
// under the smaller, then every site looks up its root. No tiles, no fixed point; `fast` where
// nothing but bonds is given. (Swendsen-Wang has a faster one, swendsen_wang_cuda.hpp.)
#include "src/single/device_plan.hpp"
#include "src/single/forest.cuh"
#include "src/single/label_grid.cuh"
#include "src/single/label_kernels.hpp"

namespace rewise::single {
namespace {

using namespace device;

// The smallest of a site and its neighbours.
template <int kDim>
__device__ __forceinline__ Site first_parent(const LabelField& field, const std::uint8_t* bonds,
                                             Site site) {
  const Geometry& g = field.geometry;
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
  const std::uint32_t mine = bonds[site];
  Site least = site;
#pragma unroll
  for (int k = 0; k < kDim; ++k) {
    const Site ahead = g.ahead(site, c[k], k), behind = g.behind(site, c[k], k);
    if ((mine >> k & 1u) != 0) least = min(least, ahead);
    if ((bonds[behind] >> k & 1u) != 0) least = min(least, behind);
  }
  return least;
}

template <int kDim>
__device__ __forceinline__ void start_site(const LabelField& field, const Item& item) {
  const auto site = static_cast<Site>(item.index);
  Site parent = site;
  if constexpr (kDim > 0) {
    parent = first_parent<kDim>(field, field.of(field.bonds, item.who), site);
  }
  field.of(field.label, item.who)[site] = parent;
}

template <int kDim>
__global__ void __launch_bounds__(kLabelThreads)
    start_sites(const __grid_constant__ LabelField field, SystemItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) start_site<kDim>(field, item);
}

template <int kDim>
__device__ __forceinline__ void unite_site(const LabelField& field, const Item& item) {
  const Geometry& g = field.geometry;
  const auto site = static_cast<Site>(item.index);
  const std::uint32_t mine = field.of(field.bonds, item.who)[site];
  if (mine == 0) return;
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
  const LatticeForest forest{field.of(field.label, item.who)};
  for (int k = 0; k < kDim; ++k) {
    if ((mine >> k & 1u) != 0) forest.unite(site, g.ahead(site, c[k], k));
  }
}

template <int kDim>
__global__ void __launch_bounds__(kLabelThreads)
    unite_sites(const __grid_constant__ LabelField field, SystemItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) unite_site<kDim>(field, item);
}

__device__ __forceinline__ void unite_shortcut(const LabelField& field, std::uint32_t* parent,
                                               const Item& item) {
  if (field.shortcut_on[item.who * field.shortcut_count + item.index] == 0) return;
  const RewiredSlot bond = field.shortcuts[item.index];
  LatticeForest{field.of(parent, item.who)}.unite(bond.a, bond.b);
}

__global__ void __launch_bounds__(kLabelThreads)
    unite_shortcuts(const __grid_constant__ LabelField field, std::uint32_t* parent,
                    SystemItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) unite_shortcut(field, parent, item);
}

__device__ __forceinline__ void finish_site(const LabelField& field, const Item& item) {
  const auto site = static_cast<Site>(item.index);
  const LatticeForest forest{field.of(field.label, item.who)};
  forest.store(site, forest.climb(site));
}

__global__ void __launch_bounds__(kLabelThreads)
    finish_sites(const __grid_constant__ LabelField field, SystemItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) finish_site(field, item);
}

}  // namespace

void launch_unite_shortcuts(const LabelField& field, std::uint32_t* parent, cudaStream_t stream) {
  if (field.shortcut_count == 0) return;
  const SystemItems items(field.shortcut_count);
  launch(unite_shortcuts, items.shape(field.systems), stream, field, parent, items);
}

void launch_unite(const LabelField& field, cudaStream_t stream) {
  const SystemItems items(field.sites);
  const LaunchShape shape = items.shape(field.systems);
  with_dim(field.dim, [&]<int kDim>() {
    launch(start_sites<kDim>, shape, stream, field, items);
    if constexpr (kDim > 0) launch(unite_sites<kDim>, shape, stream, field, items);
  });
  launch_unite_shortcuts(field, field.label, stream);
  launch(finish_sites, shape, stream, field, items);
}

}  // namespace rewise::single
