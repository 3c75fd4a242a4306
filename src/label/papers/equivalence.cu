// Label equivalence over the whole lattice, a thread per site, in two forms:
//
//   label-equivalence  Hawick, Leist & Playne 2010. Scanning: a site that has a neighbour with a
//                      smaller label writes this label to the reference of the site's label.
//                      Analysis: references of root labels are followed to their end. Labelling: a
//                      site copies the reference of its label.
//   kalentev           Kalentev et al. 2011, as Komura & Okabe 2012 and 2013 use it: labels are
//                      their own references, which leaves two kernels: scanning and analysis
//
// Passes repeat until scanning changes nothing. Rewired bonds are one more scan, a thread per bond.
// Labels and references only fall; atomics lower them, where the papers let threads overwrite each
// other. A pass may read an outdated label of the same cluster; the thread that lowers a label
// reports a change, so that the next pass reads the new one. Analysis does not write to the end of
// a chain, so no join is lost.
#include "src/label/papers/passes.cuh"

namespace rewise::papers {
namespace {

// The label of a site is the number of a site of the same cluster, at or before it. Labels thus
// form chains, each of which ends at a site that is its own label.

// Returns the end of the chain of references that begins at a label.
__device__ __forceinline__ std::uint32_t end_of_chain(const std::uint32_t* references,
                                                      std::uint32_t label) {
  for (std::uint32_t next = load(references + label); next != label;
       next = load(references + label)) {
    label = next;
  }
  return label;
}

// Without an array of references: replaces a site's label by the end of its chain.
__device__ __forceinline__ void take_end(std::uint32_t* label, std::uint64_t site) {
  const std::uint32_t from = load(label + site), end = end_of_chain(label, from);
  if (end != from) store(label + site, end);
}

// Without an array of references, `references` is `label`.
struct Equivalences {
  std::uint32_t* label;
  std::uint32_t* references;
};

__device__ __forceinline__ Equivalences equivalences(const LabelArrays& arrays, bool references,
                                                     std::uint32_t replica) {
  return {arrays.of_replica(arrays.label, replica),
          arrays.of_replica(references ? arrays.parent : arrays.label, replica)};
}

// The smallest label of a site's neighbours.
template <int kDim>
__device__ __forceinline__ std::uint32_t least_around(const LabelArrays& arrays,
                                                      const std::uint8_t* bonds,
                                                      const std::uint32_t* label, Site site) {
  const Geometry& g = arrays.geometry;
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
  const std::uint32_t mine = bonds[site];
  std::uint32_t least = 0xFFFFFFFFu;
#pragma unroll
  for (int k = 0; k < kDim; ++k) {
    const Site ahead = g.forward(site, c[k], k), behind = g.backward(site, c[k], k);
    if ((mine >> k & 1u) != 0) least = min(least, load(label + ahead));
    if ((bonds[behind] >> k & 1u) != 0) least = min(least, load(label + behind));
  }
  return least;
}

template <int kDim>
__device__ __forceinline__ bool scan_site(const LabelArrays& arrays, bool references,
                                          const Item& item) {
  const Equivalences e = equivalences(arrays, references, item.replica);
  const auto site = static_cast<Site>(item.index);
  const std::uint32_t least =
      least_around<kDim>(arrays, arrays.of_replica(arrays.bonds, item.replica), e.label, site);
  const std::uint32_t label = load(e.label + site);
  if (least >= label) return false;
  atomicMin(e.references + label, least);
  return true;
}

__device__ __forceinline__ bool scan_shortcut(const LabelArrays& arrays, bool references,
                                              const Item& item) {
  if (arrays.shortcut_on[item.replica * arrays.shortcut_count + item.index] == 0) return false;
  const Equivalences e = equivalences(arrays, references, item.replica);
  const SitePair bond = arrays.shortcuts[item.index];
  const std::uint32_t a = load(e.label + bond.a), b = load(e.label + bond.b);
  if (a == b) return false;
  atomicMin(e.references + (a < b ? b : a), a < b ? a : b);
  return true;
}

template <auto kScan>
__global__ void __launch_bounds__(kItemThreads)
    scan(const __grid_constant__ LabelArrays arrays, bool references, PassFlags flags,
         ReplicaItems items) {
  if (!goes_on(flags)) return;
  const Item item = item_of(items);
  report(flags, item.index < items.items && kScan(arrays, references, item));
}

__device__ __forceinline__ void analyse_site(const LabelArrays& arrays, bool references,
                                             const Item& item) {
  const Equivalences e = equivalences(arrays, references, item.replica);
  if (!references) return take_end(e.label, item.index);
  const std::uint32_t label = load(e.label + item.index);
  if (label != item.index) return;
  const std::uint32_t end = end_of_chain(e.references, label);
  if (end != label) store(e.references + item.index, end);
}

// Only with references, which are constant during this kernel.
__device__ __forceinline__ void relabel_site(const LabelArrays& arrays, bool references,
                                             const Item& item) {
  const Equivalences e = equivalences(arrays, references, item.replica);
  const std::uint32_t label = e.label[item.index], reference = e.references[label];
  if (reference != label) e.label[item.index] = reference;
}

// Calls kStep() for every site if the scans of this pass changed something.
template <auto kStep>
__global__ void __launch_bounds__(kItemThreads)
    after_change(const __grid_constant__ LabelArrays arrays, bool references, PassFlags flags,
                 ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index < items.items && *flags.changed != 0) kStep(arrays, references, item);
}

__device__ __forceinline__ void start_site(const LabelArrays& arrays, const Item& item,
                                           std::uint32_t size, bool parents) {
  const auto site = static_cast<Site>(item.index);
  arrays.of_replica(arrays.label, item.replica)[site] = site;
  if (parents) arrays.of_replica(arrays.parent, item.replica)[site] = site;
  arrays.of_replica(arrays.size, item.replica)[site] = size;
}

}  // namespace

void launch_start(const LabelArrays& arrays, std::uint32_t size, bool parents,
                  cudaStream_t stream) {
  launch_each<start_site>(arrays.sites, arrays, stream, size, parents);
}

void launch_equivalence(const LabelArrays& arrays, bool references, const PassFlags& flags,
                        cudaStream_t stream) {
  const ReplicaItems items(arrays.sites, arrays.replicas, arrays.part);
  with_dim(arrays.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      launch(scan<scan_site<kDim>>, items, stream, arrays, references, flags);
    }
  });
  launch(scan<scan_shortcut>, ReplicaItems(arrays.shortcut_count, arrays.replicas), stream, arrays,
         references, flags);
  launch(after_change<analyse_site>, items, stream, arrays, references, flags);
  if (references) launch(after_change<relabel_site>, items, stream, arrays, references, flags);
}

}  // namespace rewise::papers
