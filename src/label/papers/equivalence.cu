// Label equivalence over the whole lattice, a thread per site, in two forms:
//
//   label-equivalence  Hawick, Leist & Playne 2010: scanning (a site that sees a smaller label next
//                      to it notes it in the reference of its own), analysis (references of labels
//                      that are their own site are followed to their end), labelling (a site takes
//                      its label's reference)
//   kalentev           Kalentev et al. 2011, as Komura & Okabe 2012 and 2013 use it: labels are
//                      their own references, so that two kernels are left: scanning and analysis
//
// Pass by pass until scanning notes nothing. Rewired bonds are one more scan, a thread per bond.
// Words that only fall are lowered by atomics, where the papers let threads overwrite each other.
//
// Several devices (Komura & Okabe 2013) scan and analyse within their parts by `kalentev`, then at
// the borders. A label only falls. Joins across parts lower it by atomic operations of the system,
// where the paper's devices copy their borders to each other; joins within a part by those of the
// device. What a kernel reads meanwhile may be out of date, an earlier label of the same cluster:
// whoever lowers one reports it, and the next pass, which all devices begin together, sees it.
// Analysis writes no label that was the end of a chain, so it loses no join, if it has ended
// everywhere before the next scan.
#include <algorithm>

#include "src/label/papers/passes.cuh"

namespace rewise::papers {
namespace {

// The sites of a device, whole blocks of SystemItems(field.sites, ..); and how many of
// them at each end may have a bond that leaves: a hyperplane across the slowest direction.
struct Part {
  std::uint64_t begin, end, layer;

  explicit Part(const LabelField& field)
      : layer(field.dim > 0 ? field.geometry.stride[field.dim - 1] : 0) {
    const std::uint64_t blocks = (field.sites + kItemThreads - 1) / kItemThreads;
    begin = std::min(field.sites, field.part.begin(blocks) * kItemThreads);
    end = std::min(field.sites, field.part.end(blocks) * kItemThreads);
  }

  __device__ __forceinline__ bool has(Site site) const { return site >= begin && site < end; }
  // Sites at the borders, numbered.
  std::uint64_t border_sites() const { return std::min(end - begin, 2 * layer); }
  __device__ __forceinline__ Site border_site(std::uint64_t number) const {
    const bool all = end - begin <= 2 * layer;
    return static_cast<Site>(all || number < layer ? begin + number : end - 2 * layer + number);
  }
};

// Chains of labels: a label is the number of a site that does not come after it in its cluster, and
// that site's label goes on from there.

// Where a chain of references that begins at a label ends.
__device__ __forceinline__ std::uint32_t end_of_chain(const std::uint32_t* references,
                                                      std::uint32_t label) {
  for (std::uint32_t next = load(references + label); next != label;
       next = load(references + label)) {
    label = next;
  }
  return label;
}

// Of labels that are their own references: a site takes the end of its chain.
__device__ __forceinline__ void take_end(std::uint32_t* label, std::uint64_t site) {
  const std::uint32_t from = load(label + site), end = end_of_chain(label, from);
  if (end != from) store(label + site, end);
}

// `references`: label[] again, where there is no array of them.
struct Equivalences {
  std::uint32_t* label;
  std::uint32_t* references;
};

__device__ __forceinline__ Equivalences equivalences(const LabelField& field, bool references,
                                                     std::uint32_t who) {
  return {field.of(field.label, who), field.of(references ? field.parent : field.label, who)};
}

// The smallest label of a site's neighbours within the part.
template <int kDim>
__device__ __forceinline__ std::uint32_t least_around(const LabelField& field, const Part& part,
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
                                          bool references, const Item& item) {
  const Equivalences e = equivalences(field, references, item.who);
  const auto site = static_cast<Site>(item.index);
  const std::uint32_t least =
      least_around<kDim>(field, part, field.of(field.bonds, item.who), e.label, site);
  const std::uint32_t label = load(e.label + site);
  if (least >= label) return false;
  atomicMin(e.references + label, least);
  return true;
}

template <int kDim>
__global__ void __launch_bounds__(kItemThreads)
    scan_sites(const __grid_constant__ LabelField field, Part part, bool references,
               PassFlags flags, SystemItems items) {
  if (!goes_on(flags)) return;
  const Item item = item_of(items);
  report(flags, item.index < items.items && scan_site<kDim>(field, part, references, item));
}

__device__ __forceinline__ bool scan_shortcut(const LabelField& field, bool references,
                                              const Item& item) {
  if (field.shortcut_on[item.who * field.shortcut_count + item.index] == 0) return false;
  const Equivalences e = equivalences(field, references, item.who);
  const SitePair bond = field.shortcuts[item.index];
  const std::uint32_t a = load(e.label + bond.a), b = load(e.label + bond.b);
  if (a == b) return false;
  atomicMin(e.references + (a < b ? b : a), a < b ? a : b);
  return true;
}

__global__ void __launch_bounds__(kItemThreads)
    scan_shortcuts(const __grid_constant__ LabelField field, bool references, PassFlags flags,
                   SystemItems items) {
  if (!goes_on(flags)) return;
  const Item item = item_of(items);
  report(flags, item.index < items.items && scan_shortcut(field, references, item));
}

__device__ __forceinline__ void analyse_site(const LabelField& field, bool references,
                                             const Item& item) {
  const Equivalences e = equivalences(field, references, item.who);
  if (!references) return take_end(e.label, item.index);
  const std::uint32_t label = load(e.label + item.index);
  if (label != item.index) return;
  const std::uint32_t end = end_of_chain(e.references, label);
  if (end != label) store(e.references + item.index, end);
}

__global__ void __launch_bounds__(kItemThreads)
    analyse_sites(const __grid_constant__ LabelField field, bool references, PassFlags flags,
                  SystemItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items || (flags.changed != nullptr && *flags.changed == 0)) return;
  analyse_site(field, references, item);
}

// Only with references; nobody changes them meanwhile.
__device__ __forceinline__ void relabel_site(const LabelField& field, const Item& item) {
  const Equivalences e = equivalences(field, true, item.who);
  const std::uint32_t label = e.label[item.index], reference = e.references[label];
  if (reference != label) e.label[item.index] = reference;
}

__global__ void __launch_bounds__(kItemThreads)
    relabel_sites(const __grid_constant__ LabelField field, PassFlags flags, SystemItems items) {
  const Item item = item_of(items);
  if (item.index < items.items && *flags.changed != 0) relabel_site(field, item);
}

__device__ __forceinline__ void start_site(const LabelField& field, bool references,
                                           const Item& item) {
  const auto site = static_cast<Site>(item.index);
  field.of(field.label, item.who)[site] = site;
  if (references) field.of(field.parent, item.who)[site] = site;
  field.of(field.size, item.who)[site] = 0;
}

__global__ void start_sites(const __grid_constant__ LabelField field, bool references,
                            SystemItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) start_site(field, references, item);
}

// Second stage of several devices.

__device__ __forceinline__ void join(std::uint32_t* label, std::uint32_t a, std::uint32_t b) {
  atomicMin_system(label + max(a, b), min(a, b));
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
__global__ void __launch_bounds__(kItemThreads)
    scan_borders(const __grid_constant__ LabelField field, Part part, PassFlags flags,
                 SystemItems items) {
  if (!goes_on(flags)) return;
  const Item item = item_of(items);
  report(flags, item.index < items.items && scan_border_site<kDim>(field, part, item));
}

// A shortcut's ends are anywhere, so their chains are followed here.
__device__ __forceinline__ bool join_shortcut(const LabelField& field, const Item& item) {
  if (field.shortcut_on[item.who * field.shortcut_count + item.index] == 0) return false;
  std::uint32_t* label = field.of(field.label, item.who);
  const SitePair bond = field.shortcuts[item.index];
  const std::uint32_t a = end_of_chain(label, bond.a), b = end_of_chain(label, bond.b);
  if (a == b) return false;
  join(label, a, b);
  return true;
}

__global__ void __launch_bounds__(kItemThreads)
    join_shortcuts(const __grid_constant__ LabelField field, PassFlags flags, SystemItems items) {
  if (!goes_on(flags)) return;
  const Item item = item_of(items);
  report(flags, item.index < items.items && join_shortcut(field, item));
}

__global__ void __launch_bounds__(kItemThreads)
    analyse_borders(const __grid_constant__ LabelField field, Part part, PassFlags flags,
                    SystemItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items || *flags.changed == 0) return;
  take_end(field.of(field.label, item.who), part.border_site(item.index));
}

}  // namespace

void launch_equivalence_start(const LabelField& field, bool references, cudaStream_t stream) {
  launch(start_sites, SystemItems(field.sites, field.systems, field.part), stream, field,
         references);
}

void launch_equivalence(const LabelField& field, bool references, const PassFlags& flags,
                        cudaStream_t stream) {
  const SystemItems items(field.sites, field.systems, field.part);
  with_dim(field.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      launch(scan_sites<kDim>, items, stream, field, Part(field), references, flags);
    }
  });
  if (field.part.count == 1) {
    launch(scan_shortcuts, SystemItems(field.shortcut_count, field.systems), stream, field,
           references, flags);
  }
  launch(analyse_sites, items, stream, field, references, flags);
  if (references) launch(relabel_sites, items, stream, field, flags);
}

void launch_border_scan(const LabelField& field, const PassFlags& flags, cudaStream_t stream) {
  const Part part(field);
  with_dim(field.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      launch(scan_borders<kDim>, SystemItems(part.border_sites(), field.systems), stream, field,
             part, flags);
    }
  });
  launch(join_shortcuts, SystemItems(field.shortcut_count, field.systems, field.part), stream,
         field, flags);
}

void launch_border_analysis(const LabelField& field, const PassFlags& flags, cudaStream_t stream) {
  const Part part(field);
  launch(analyse_borders, SystemItems(part.border_sites(), field.systems), stream, field, part,
         flags);
}

void launch_ends(const LabelField& field, cudaStream_t stream) {
  launch(analyse_sites, SystemItems(field.sites, field.systems, field.part), stream, field, false,
         PassFlags{});
}

}  // namespace rewise::papers
