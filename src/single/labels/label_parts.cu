// A label only falls. Joins across parts lower it by atomic operations of the system, where the
// paper's devices copy their borders to each other; joins within a part by those of the device.
// What a kernel reads meanwhile may be out of date, an earlier label of the same cluster: whoever
// lowers one reports it, and the next pass, which all devices begin together, sees it. Analysis
// writes no label that was the end of a chain, so it loses no join, if it has ended everywhere
// before the next scan.
#include "src/single/labels/label_parts.hpp"

#include <algorithm>

#include "src/single/device_plan.hpp"
#include "src/single/labels/label_chain.cuh"

namespace rewise::single {
namespace {

using namespace device;

// The sites of a device, whole blocks of SystemItems(field.sites, ..); and how many of
// them at each end may have a bond that leaves: a hyperplane across the slowest direction.
struct Part {
  std::uint64_t begin, end, layer;

  explicit Part(const LabelField& field) : layer(field.geometry.stride[field.dim - 1]) {
    const std::uint64_t blocks = (field.sites + kLabelThreads - 1) / kLabelThreads;
    begin = std::min(field.sites, field.part.begin(blocks) * kLabelThreads);
    end = std::min(field.sites, field.part.end(blocks) * kLabelThreads);
  }

  __device__ __forceinline__ bool has(Site site) const { return site >= begin && site < end; }
  // Sites at the borders, numbered.
  std::uint64_t border_sites() const { return std::min(end - begin, 2 * layer); }
  __device__ __forceinline__ Site border_site(std::uint64_t number) const {
    const bool all = end - begin <= 2 * layer;
    return static_cast<Site>(all || number < layer ? begin + number : end - 2 * layer + number);
  }
};

__device__ __forceinline__ void join(std::uint32_t* label, std::uint32_t a, std::uint32_t b) {
  atomicMin_system(label + max(a, b), min(a, b));
}

__device__ __forceinline__ void start_site(const LabelField& field, const Item& item) {
  field.of(field.label, item.who)[item.index] = static_cast<std::uint32_t>(item.index);
  field.of(field.size, item.who)[item.index] = 0;
}

__global__ void __launch_bounds__(kLabelThreads)
    start_part(const __grid_constant__ LabelField field, SystemItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) start_site(field, item);
}

// The smallest label of a site's neighbours within the part.
template <int kDim>
__device__ __forceinline__ std::uint32_t least_within(const LabelField& field, const Part& part,
                                                      const std::uint8_t* bonds,
                                                      const std::uint32_t* label, Site site) {
  const Geometry& g = field.geometry;
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
  const std::uint32_t mine = bonds[site];
  std::uint32_t least = 0xFFFFFFFFu;
#pragma unroll
  for (int k = 0; k < kDim; ++k) {
    const Site ahead = g.ahead(site, c[k], k), behind = g.behind(site, c[k], k);
    if ((mine >> k & 1u) != 0 && part.has(ahead)) least = min(least, load(label + ahead));
    if (part.has(behind) && (bonds[behind] >> k & 1u) != 0) {
      least = min(least, load(label + behind));
    }
  }
  return least;
}

template <int kDim>
__device__ __forceinline__ bool scan_site(const LabelField& field, const Part& part,
                                          const Item& item) {
  std::uint32_t* label = field.of(field.label, item.who);
  const auto site = static_cast<Site>(item.index);
  const std::uint32_t least =
      least_within<kDim>(field, part, field.of(field.bonds, item.who), label, site);
  const std::uint32_t mine = load(label + site);
  if (least >= mine) return false;
  atomicMin(label + mine, least);
  return true;
}

template <int kDim>
__global__ void __launch_bounds__(kLabelThreads)
    scan_part(const __grid_constant__ LabelField field, Part part, PassFlags flags,
              SystemItems items) {
  if (!goes_on(flags)) return;
  const Item item = item_of(items);
  report(flags, item.index < items.items && scan_site<kDim>(field, part, item));
}

__global__ void __launch_bounds__(kLabelThreads)
    analyse_part(const __grid_constant__ LabelField field, PassFlags flags, SystemItems items) {
  if (flags.changed != nullptr && *flags.changed == 0) return;
  const Item item = item_of(items);
  if (item.index < items.items) take_end(field.of(field.label, item.who), item.index);
}

template <int kDim>
__device__ __forceinline__ bool scan_border_site(const LabelField& field, const Part& part,
                                                 const Item& item) {
  const Geometry& g = field.geometry;
  const Site site = part.border_site(item.index);
  std::uint32_t* label = field.of(field.label, item.who);
  const std::uint32_t bonds = field.of(field.bonds, item.who)[site];
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
  bool changed = false;
#pragma unroll
  for (int k = 0; k < kDim; ++k) {
    const Site ahead = g.ahead(site, c[k], k);
    if ((bonds >> k & 1u) == 0 || part.has(ahead)) continue;
    const std::uint32_t a = load(label + site), b = load(label + ahead);
    if (a == b) continue;
    join(label, a, b);
    changed = true;
  }
  return changed;
}

template <int kDim>
__global__ void __launch_bounds__(kLabelThreads)
    scan_borders(const __grid_constant__ LabelField field, Part part, PassFlags flags,
                 SystemItems items) {
  if (!goes_on(flags)) return;
  const Item item = item_of(items);
  report(flags, item.index < items.items && scan_border_site<kDim>(field, part, item));
}

// Its ends are anywhere, so their chains are followed here.
__device__ __forceinline__ bool scan_shortcut(const LabelField& field, const Item& item) {
  if (field.shortcut_on[item.who * field.shortcut_count + item.index] == 0) return false;
  std::uint32_t* label = field.of(field.label, item.who);
  const RewiredSlot bond = field.shortcuts[item.index];
  const std::uint32_t a = end_of_chain(label, bond.a), b = end_of_chain(label, bond.b);
  if (a == b) return false;
  join(label, a, b);
  return true;
}

__global__ void __launch_bounds__(kLabelThreads)
    scan_shortcuts(const __grid_constant__ LabelField field, PassFlags flags, SystemItems items) {
  if (!goes_on(flags)) return;
  const Item item = item_of(items);
  report(flags, item.index < items.items && scan_shortcut(field, item));
}

__global__ void __launch_bounds__(kLabelThreads)
    analyse_borders(const __grid_constant__ LabelField field, Part part, PassFlags flags,
                    SystemItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items || *flags.changed == 0) return;
  take_end(field.of(field.label, item.who), part.border_site(item.index));
}

}  // namespace

void launch_part_start(const LabelField& field, cudaStream_t stream) {
  launch_items(start_part, SystemItems(field.sites, field.systems, field.part), stream, field);
}

void launch_part_equivalence(const LabelField& field, const PassFlags& flags, cudaStream_t stream) {
  const SystemItems items(field.sites, field.systems, field.part);
  with_dim(field.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      launch_items(scan_part<kDim>, items, stream, field, Part(field), flags);
    }
  });
  launch_items(analyse_part, items, stream, field, flags);
}

void launch_border_scan(const LabelField& field, const PassFlags& flags, cudaStream_t stream) {
  const Part part(field);
  with_dim(field.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      launch_items(scan_borders<kDim>, SystemItems(part.border_sites(), field.systems), stream,
                   field, part, flags);
    }
  });
  launch_items(scan_shortcuts, SystemItems(field.shortcut_count, field.systems, field.part), stream,
               field, flags);
}

void launch_border_analysis(const LabelField& field, const PassFlags& flags, cudaStream_t stream) {
  const Part part(field);
  launch_items(analyse_borders, SystemItems(part.border_sites(), field.systems), stream, field,
               part, flags);
}

void launch_part_end(const LabelField& field, cudaStream_t stream) {
  launch_items(analyse_part, SystemItems(field.sites, field.systems, field.part), stream, field,
               PassFlags{});
}

}  // namespace rewise::single
