#include "src/bytespin/swendsen_wang/slab_labels_cuda.hpp"

#include <algorithm>

namespace rewise::bytespin {
namespace {

LabelArrays outline(const DevicePlan& plan, const DeviceReplicas& replicas) {
  LabelArrays arrays;
  arrays.geometry = Geometry::make(plan.lattice);
  arrays.dim = plan.lattice.dim;
  arrays.sites = plan.sites;
  arrays.replicas = replicas.count;
  arrays.stride = replicas.stride;
  arrays.shortcut_count = plan.rewired_count;
  return arrays;
}

}  // namespace

SlabLabelsCuda::SlabLabelsCuda(const DeviceStream& device, const Plan& plan,
                               const DevicePlan& on_device, const DeviceReplicas& replicas,
                               IndexRange own, const std::vector<RewiredSlot>& incoming,
                               const std::vector<RewiredSlot>& outgoing)
    : device_(device),
      own_(own),
      plane_(plan.sites / plan.lattice.extent[static_cast<unsigned>(plan.lattice.dim - 1)]),
      replicas_(replicas.count),
      plan_(on_device) {
  const cudaStream_t stream = device_.get();
  const auto here = [&](Site site) { return site >= own.first && site < own.last; };
  // A lattice bond that is gone becomes a bond of a site with itself.
  std::vector<RewiredSlot> rewired;
  for (const RewiredSlot& r : plan.rewired) {
    const BondSlots& slots = plan.bond_slots;
    if (here(r.a) && here(r.b)) rewired.push_back(r);
    if ((here(r.a) && here(r.b)) || r.slot >= slots.lattice_slots) continue;
    const auto home = static_cast<Site>((r.slot / 32 / slots.dim) << 5 | (r.slot & 31u));
    if (here(home)) rewired.push_back({r.slot, home, home});
  }
  std::vector<SitePair> ends;
  const auto counted = [&](Site site) { return static_cast<Site>(site - own.first); };
  for (const RewiredSlot& r : rewired) ends.push_back({counted(r.a), counted(r.b)});
  std::vector<Site> sites(plane_);
  for (std::uint64_t k = 0; k < plane_; ++k) sites[k] = static_cast<Site>(k);
  for (const RewiredSlot& r : incoming) sites.push_back(counted(r.b));
  rewired_ = DeviceBuffer<RewiredSlot>(rewired, stream);
  shortcuts_ = DeviceBuffer<SitePair>(ends, stream);
  counted_sites_ = DeviceBuffer<Site>(sites, stream);
  outgoing_ = DeviceBuffer<RewiredSlot>(outgoing, stream);
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
  plan_.rewired = rewired_.data();
  plan_.rewired_count = rewired.size();
  whole_ = outline(plan_, replicas);
  whole_.part = replicas.part;
  whole_.bonds = bonds_.data();
  whole_.shortcut_on = shortcut_on_.data();
  Lattice lattice = plan.lattice;
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
  launch_activate_lattice(plan_, replicas, whole_, stream);
  LabelArrays all = whole_;  // the bonds are the slab's already
  all.part = {};
  launch_activate_shortcuts(plan_, replicas.whole(), all, shortcut_on_.data(), stream);
  launch_cut_slab(slab_, plane_, leaving_.data(), stream);
  labeller_->run(slab_, [] {});
}

std::vector<Site> SlabLabelsCuda::border_labels(std::uint64_t replica) {
  const cudaStream_t stream = device_.get();
  launch_read_labels(of_replica(replica), counted_sites_.data(), counted_sites_.size(),
                     labels_.data(), stream);
  std::vector<Site> labels = labels_.to_host(stream);
  for (Site& label : labels) label = static_cast<Site>(label + own_.first);
  return labels;
}

std::vector<std::uint64_t> SlabLabelsCuda::joined(const DeviceReplicas& replicas,
                                                  std::uint64_t replica,
                                                  const std::vector<Site>& far_labels) {
  const cudaStream_t stream = device_.get();
  far_labels_.copy_in(far_labels, stream);
  launch_join_slab(plan_, replicas, static_cast<std::uint32_t>(replica), of_replica(replica),
                   {own_.first, plane_, leaving_.data() + replica * plane_, outgoing_.data(),
                    outgoing_.size(), far_labels_.data(), pairs_.data()},
                   stream);
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
  if (replica == 0) launch_draw_orientations(plan_, replicas, whole_, stream);
  adopted_.copy_in(own, stream);
  launch_adopt_draws(plan_, replicas, static_cast<std::uint32_t>(replica), arrays, adopted_.data(),
                     own.size(), stream);
  sums_.clear(stream);
  launch_sum_clusters(arrays, sums_.data(), stream);
  DeviceReplicas one = replicas.whole();
  one.count = 1;
  one.spins = replicas.spins_of(static_cast<std::uint32_t>(replica)) + own_.first;
  launch_flip_sites(plan_, one, arrays, stream);
  std::vector<SitePair> sized(own.size());
  adopted_.copy_out(sized, stream);
  const auto sums = sums_.to_host(stream);
  for (std::size_t k = 0; k < sized.size(); ++k) parts.push_back({own[k].b, sized[k].b});
  return {sums[0], WideSum{sums[2]} << 64 | sums[1]};
}

}  // namespace rewise::bytespin
