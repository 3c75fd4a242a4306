// The slab of a rank (slab_labels_cuda.hpp).
#include "src/bytespin/swendsen_wang/slab_labels_cuda.hpp"
#include "src/cuda/replica_items.cuh"

namespace rewise::bytespin {
namespace {

// `leaving` [replicas][plane]: whether the bond from a site of the last plane to the next slab is
// occupied. These bonds are removed from the slab's.
__device__ __forceinline__ void cut_bond(const LabelArrays& slab, std::uint64_t plane,
                                         std::uint8_t* leaving, const Item& item) {
  const unsigned slowest = static_cast<unsigned>(slab.dim - 1);
  std::uint8_t& bonds = slab.of_replica(slab.bonds, item.replica)[slab.sites - plane + item.index];
  leaving[item.replica * plane + item.index] = bonds >> slowest & 1u;
  bonds = static_cast<std::uint8_t>(bonds & ~(1u << slowest));
}

__global__ void __launch_bounds__(kItemThreads)
    cut_bonds(const __grid_constant__ LabelArrays slab, std::uint64_t plane, std::uint8_t* leaving,
              ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) cut_bond(slab, plane, leaving, item);
}

__global__ void __launch_bounds__(kItemThreads)
    read_labels(const std::uint32_t* label, const Site* sites, std::uint64_t count, Site* labels) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * kItemThreads + threadIdx.x;
  if (k < count) labels[k] = label[sites[k]];
}

struct SlabJoins {
  std::uint64_t first, plane;   // of the slab, of a plane, in sites
  const std::uint8_t* leaving;  // [plane] of this replica
  const IndexedBond* outgoing;  // [outgoing_count]
  std::uint64_t outgoing_count;
  const Site* far_labels;  // [plane + outgoing_count]
  std::uint64_t* pairs;    // [plane + outgoing_count]
};

__device__ __forceinline__ std::uint64_t joined_pair(const GraphView& graph,
                                                     const DeviceReplicas& replicas,
                                                     std::uint32_t replica, const LabelArrays& slab,
                                                     const SlabJoins& joins, std::uint64_t k) {
  std::uint64_t site = slab.sites - joins.plane + k;  // counted from the slab's first
  bool joined = k < joins.plane && joins.leaving[k] != 0;
  if (k >= joins.plane) {
    const IndexedBond bond = joins.outgoing[k - joins.plane];
    const std::uint8_t* spins = replicas.spins_of(replica);
    site = bond.a - joins.first;
    joined = spins[bond.a] == spins[bond.b] &&
             is_below(draw_at(replicas.key(replica), Stream::bytespin_bond, bond.draw_index),
                      graph.bond[replicas.temperature(replica)]);
  }
  if (!joined) return SlabLabelsCuda::kNoPair;
  return (joins.first + slab.label[site]) << 32 | joins.far_labels[k];
}

__global__ void __launch_bounds__(kItemThreads)
    join_slab(const __grid_constant__ GraphView graph,
              const __grid_constant__ DeviceReplicas replicas, std::uint32_t replica,
              const __grid_constant__ LabelArrays slab, const __grid_constant__ SlabJoins joins) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * kItemThreads + threadIdx.x;
  if (k < joins.plane + joins.outgoing_count) {
    joins.pairs[k] = joined_pair(graph, replicas, replica, slab, joins, k);
  }
}

// united [count]: labels of the slab, each with the smallest label of its cluster. Stores the draws
// of the smallest labels in slab.bonds, then replaces the smallest labels in `united` by the sizes
// of the labels and sets those in slab.size to 0.
__global__ void __launch_bounds__(kItemThreads)
    adopt_draws(const __grid_constant__ GraphView graph,
                const __grid_constant__ DeviceReplicas replicas, std::uint32_t replica,
                const __grid_constant__ LabelArrays slab, SitePair* united, std::uint64_t count) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * kItemThreads + threadIdx.x;
  if (k >= count) return;
  const auto [label, smallest] = united[k];
  slab.bonds[label] = cluster_draw(replicas.key(replica), smallest, graph.potts, graph.states);
  united[k].b = slab.size[label];
  slab.size[label] = 0;
}

}  // namespace

SlabLabelsCuda::SlabLabelsCuda(const DeviceStream& device, const GraphTables& tables,
                               const GraphView& on_device, const DeviceReplicas& replicas,
                               IndexRange own, const std::vector<IndexedBond>& incoming,
                               const std::vector<IndexedBond>& outgoing)
    : device_(device),
      own_(own),
      plane_(tables.sites / tables.lattice.extent[static_cast<unsigned>(tables.lattice.dim - 1)]),
      replicas_(replicas.count),
      graph_(on_device) {
  const cudaStream_t stream = device_.get();
  const auto here = [&](Site site) { return site >= own.first && site < own.last; };
  // A lattice bond that is gone becomes a bond of a site with itself.
  std::vector<IndexedBond> rewired;
  for (const IndexedBond& r : tables.rewired) {
    const BondDrawIndex& indices = tables.bond_draw_index;
    if (here(r.a) && here(r.b)) rewired.push_back(r);
    if ((here(r.a) && here(r.b)) || r.draw_index >= indices.lattice_draws) continue;
    const auto home =
        static_cast<Site>((r.draw_index / 32 / indices.dim) << 5 | (r.draw_index & 31u));
    if (here(home)) rewired.push_back({r.draw_index, home, home});
  }
  std::vector<SitePair> ends;
  const auto counted = [&](Site site) { return static_cast<Site>(site - own.first); };
  for (const IndexedBond& r : rewired) ends.push_back({counted(r.a), counted(r.b)});
  std::vector<Site> sites(plane_);
  for (std::uint64_t k = 0; k < plane_; ++k) sites[k] = static_cast<Site>(k);
  for (const IndexedBond& r : incoming) sites.push_back(counted(r.b));
  rewired_ = DeviceBuffer<IndexedBond>(rewired, stream);
  shortcuts_ = DeviceBuffer<SitePair>(ends, stream);
  counted_sites_ = DeviceBuffer<Site>(sites, stream);
  outgoing_ = DeviceBuffer<IndexedBond>(outgoing, stream);
  labels_ = DeviceBuffer<Site>(sites.size());
  far_labels_ = DeviceBuffer<Site>(plane_ + outgoing.size());
  pairs_ = DeviceBuffer<std::uint64_t>(plane_ + outgoing.size());
  adopted_ = DeviceBuffer<SitePair>(labels_.size() + pairs_.size());
  shortcut_on_ = DeviceBuffer<std::uint8_t>(replicas_ * rewired.size());
  bonds_ = DeviceBuffer<std::uint8_t>(replicas_ * replicas.stride);
  label_ = DeviceBuffer<std::uint32_t>(replicas_ * replicas.stride);
  size_ = DeviceBuffer<std::uint32_t>(replicas_ * replicas.stride);
  leaving_ = DeviceBuffer<std::uint8_t>(replicas_ * plane_);
  sums_ = DeviceBuffer<unsigned long long>(kClusterSums);
  bonds_.clear(stream);
  graph_.rewired = rewired_.data();
  graph_.rewired_count = rewired.size();
  whole_ = label_arrays(graph_, replicas.count);
  whole_.part = replicas.part;
  whole_.bonds = bonds_.data();
  whole_.shortcut_on = shortcut_on_.data();
  Lattice lattice = tables.lattice;
  lattice.extent[static_cast<unsigned>(lattice.dim - 1)] =
      static_cast<std::uint32_t>(own.size() / plane_);
  slab_ = whole_;
  slab_.part = {};
  slab_.geometry = Geometry::make(lattice);
  slab_.sites = own.size();
  slab_.bonds = bonds_.data() + own.first;
  slab_.shortcuts = shortcuts_.data();
  slab_.label = label_.data();
  slab_.size = size_.data();
  labeller_ = std::make_unique<LabellerCuda>(stream, LabelMethod::kalentev, 0, slab_);
  device_.wait();
}

LabelArrays SlabLabelsCuda::of_replica(std::uint64_t replica) const {
  LabelArrays one = slab_;
  one.replicas = 1;
  one.bonds += replica * slab_.stride;
  one.label += replica * slab_.stride;
  one.size += replica * slab_.stride;
  return one;
}

void SlabLabelsCuda::label(const DeviceReplicas& replicas) {
  const cudaStream_t stream = device_.get();
  launch_activate_lattice(graph_, replicas, whole_, stream);
  LabelArrays all = whole_;  // the bonds are the slab's already
  all.part = {};
  launch_activate_shortcuts(graph_, replicas.whole(), all, shortcut_on_.data(), stream);
  launch(cut_bonds, ReplicaItems(plane_, slab_.replicas), stream, slab_, plane_, leaving_.data());
  labeller_->run(slab_, [] {});
}

std::vector<Site> SlabLabelsCuda::border_labels(std::uint64_t replica) {
  const cudaStream_t stream = device_.get();
  const std::uint64_t count = counted_sites_.size();
  launch(read_labels, cover(count, kItemThreads), stream, of_replica(replica).label,
         counted_sites_.data(), count, labels_.data());
  std::vector<Site> labels = labels_.to_host(stream);
  for (Site& label : labels) label = static_cast<Site>(label + own_.first);
  return labels;
}

std::vector<std::uint64_t> SlabLabelsCuda::joined(const DeviceReplicas& replicas,
                                                  std::uint64_t replica,
                                                  const std::vector<Site>& far_labels) {
  const cudaStream_t stream = device_.get();
  far_labels_.copy_in(far_labels, stream);
  const SlabJoins joins{own_.first,       plane_,           leaving_.data() + replica * plane_,
                        outgoing_.data(), outgoing_.size(), far_labels_.data(),
                        pairs_.data()};
  launch(join_slab, cover(pairs_.size(), kItemThreads), stream, graph_, replicas,
         static_cast<std::uint32_t>(replica), of_replica(replica), joins);
  return pairs_.to_host(stream);
}

SlabClusters::Sums SlabLabelsCuda::flip(const DeviceReplicas& replicas, std::uint64_t replica,
                                        std::span<const LabelPair> united,
                                        std::vector<LabelPair>& parts) {
  const cudaStream_t stream = device_.get();
  const LabelArrays arrays = of_replica(replica);
  const auto here = [&](const LabelPair& pair) {
    return pair.label >= own_.first && pair.label < own_.last;
  };
  std::vector<SitePair> own;
  for (const LabelPair& pair : united) {
    if (here(pair)) own.push_back({static_cast<Site>(pair.label - own_.first), pair.other});
  }
  launch_count_clusters(arrays, stream);
  // Orientations are addressed by the site of the whole lattice.
  if (replica == 0) launch_draw_orientations(graph_, replicas, whole_, stream);
  adopted_.copy_in(own, stream);
  launch(adopt_draws, cover(own.size(), kItemThreads), stream, graph_, replicas,
         static_cast<std::uint32_t>(replica), arrays, adopted_.data(), own.size());
  sums_.clear(stream);
  launch_sum_clusters(arrays, sums_.data(), stream);
  DeviceReplicas one = replicas.whole();
  one.count = 1;
  one.spins = replicas.spins_of(static_cast<std::uint32_t>(replica)) + own_.first;
  launch_flip_sites(graph_, one, arrays, stream);
  std::vector<SitePair> sized(own.size());
  adopted_.copy_out(sized, stream);
  const auto sums = sums_.to_host(stream);
  for (std::size_t k = 0; k < sized.size(); ++k) parts.push_back({own[k].b, sized[k].b});
  return {sums[0], WideSum{sums[2]} << 64 | sums[1]};
}

}  // namespace rewise::bytespin
