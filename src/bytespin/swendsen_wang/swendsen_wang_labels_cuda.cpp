#include "src/bytespin/swendsen_wang/swendsen_wang_labels_cuda.hpp"

#include <cstddef>

namespace rewise::bytespin {
namespace {

// For the replicas of a plan; pointers are not set.
LabelArrays outline(const DevicePlan& plan, std::uint32_t replicas, std::uint64_t stride) {
  LabelArrays arrays;
  arrays.geometry = Geometry::make(plan.lattice);
  arrays.dim = plan.lattice.dim;
  arrays.sites = plan.sites;
  arrays.replicas = replicas;
  arrays.stride = stride;
  arrays.shortcut_count = plan.rewired_count;
  return arrays;
}

// The ends of the rewired bonds.
DeviceBuffer<SitePair> ends_of(const DevicePlan& plan, cudaStream_t stream) {
  static_assert(offsetof(RewiredSlot, b) == offsetof(RewiredSlot, a) + sizeof(Site));
  DeviceBuffer<SitePair> pairs(plan.rewired_count);
  if (pairs.empty()) return pairs;
  const auto* from = reinterpret_cast<const std::byte*>(plan.rewired) + offsetof(RewiredSlot, a);
  check_cuda(
      cudaMemcpy2DAsync(pairs.data(), sizeof(SitePair), from, sizeof(RewiredSlot), sizeof(SitePair),
                        plan.rewired_count, cudaMemcpyDeviceToDevice, stream),
      "copying rewired bonds");
  return pairs;
}

}  // namespace

SwendsenWangLabelsCuda::SwendsenWangLabelsCuda(const DeviceStream& device, const DevicePlan& plan,
                                               std::uint32_t replicas, std::uint64_t replica_stride,
                                               LabelMethod method, std::uint32_t tile)
    : device_(device),
      plan_(plan),
      shortcuts_(ends_of(plan, device.get())),
      arrays_(outline(plan, replicas, replica_stride)),
      clears_sizes_(method != LabelMethod::kalentev && method != LabelMethod::label_equivalence) {
  const auto add = [&]<class T>(T*& array, std::uint64_t of_replica) {
    memory_.emplace_back(sizeof(T) * of_replica * replicas);
    array = reinterpret_cast<T*>(memory_.back().data());
  };
  add(arrays_.bonds, replica_stride);
  add(arrays_.label, replica_stride);
  add(arrays_.size, replica_stride);
  if (method != LabelMethod::kalentev) add(arrays_.parent, replica_stride);
  if (plan.rewired_count > 0) add(shortcut_on_, plan.rewired_count);
  add(sums_, kClusterSums);
  memory_.back().clear(device.get());
  arrays_.shortcut_on = shortcut_on_;
  arrays_.shortcuts = shortcuts_.data();
  labeller_.emplace(device.get(), method, tile, arrays_);
}

std::uint64_t SwendsenWangLabelsCuda::bytes(const DevicePlan& plan, std::uint32_t replicas,
                                            std::uint64_t replica_stride, LabelMethod method,
                                            std::uint32_t tile) {
  const std::uint64_t of_site = method == LabelMethod::kalentev ? 9 : 13;
  return replicas * (of_site * replica_stride + plan.rewired_count + 8 * kClusterSums) +
         sizeof(SitePair) * plan.rewired_count +
         LabellerCuda::bytes(method, tile, outline(plan, replicas, replica_stride));
}

void SwendsenWangLabelsCuda::update(const DeviceReplicas& replicas, unsigned long long* quartic) {
  const cudaStream_t stream = device_.get();
  const auto mark = [&] { clock_.mark(stream); };
  mark();
  launch_activate_lattice(plan_, replicas, arrays_, stream);
  launch_activate_shortcuts(plan_, replicas, arrays_, shortcut_on_, stream);
  mark();
  labeller_->run(arrays_, mark);
  mark();
  launch_draw_orientations(plan_, replicas, arrays_, stream);
  launch_flip_sites(plan_, replicas, arrays_, stream);
  mark();
  if (clears_sizes_) {
    check_cuda(cudaMemsetAsync(arrays_.size, 0,
                               arrays_.replicas * arrays_.stride * sizeof(*arrays_.size), stream));
  }
  launch_count_clusters(arrays_, stream);
  launch_sum_clusters(arrays_, sums_, stream);
  launch_close_sums(replicas, sums_, quartic, stream);
  mark();
  clock_.end_update(labeller_->passes());
}

void SwendsenWangLabelsCuda::run(DeviceReplicas replicas, std::uint32_t updates,
                                 unsigned long long* quartic) {
  for (std::uint32_t n = 0; n < updates; ++n, ++replicas.step) update(replicas, quartic);
}

}  // namespace rewise::bytespin
