#include "src/bytespin/swendsen_wang/swendsen_wang_labels_cuda.hpp"

#include <cstddef>

namespace rewise::bytespin {
namespace {

// The field of a plan's systems, without its arrays.
LabelField outline(const DevicePlan& plan, std::uint32_t systems, std::uint64_t stride) {
  LabelField field;
  field.geometry = Geometry::make(plan.lattice);
  field.dim = plan.lattice.dim;
  field.sites = plan.sites;
  field.systems = systems;
  field.stride = stride;
  field.shortcut_count = plan.rewired_count;
  return field;
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
                                               std::uint32_t systems, std::uint64_t system_stride,
                                               LabelMethod method, std::uint32_t tile)
    : device_(device),
      plan_(plan),
      shortcuts_(ends_of(plan, device.get())),
      field_(outline(plan, systems, system_stride)),
      clears_sizes_(method != LabelMethod::kalentev && method != LabelMethod::label_equivalence) {
  const auto add = [&]<class T>(T*& array, std::uint64_t of_system) {
    arrays_.emplace_back(sizeof(T) * of_system * systems);
    array = reinterpret_cast<T*>(arrays_.back().data());
  };
  add(field_.bonds, system_stride);
  add(field_.label, system_stride);
  add(field_.size, system_stride);
  if (method != LabelMethod::kalentev) add(field_.parent, system_stride);
  if (plan.rewired_count > 0) add(shortcut_on_, plan.rewired_count);
  add(sums_, kClusterSums);
  arrays_.back().clear(device.get());
  field_.shortcut_on = shortcut_on_;
  field_.shortcuts = shortcuts_.data();
  labeller_.emplace(device.get(), method, tile, field_);
}

std::uint64_t SwendsenWangLabelsCuda::bytes(const DevicePlan& plan, std::uint32_t systems,
                                            std::uint64_t system_stride, LabelMethod method,
                                            std::uint32_t tile) {
  const std::uint64_t of_site = method == LabelMethod::kalentev ? 9 : 13;
  return systems * (of_site * system_stride + plan.rewired_count + 8 * kClusterSums) +
         sizeof(SitePair) * plan.rewired_count +
         LabellerCuda::bytes(method, tile, outline(plan, systems, system_stride));
}

void SwendsenWangLabelsCuda::update(const DeviceSystems& systems, unsigned long long* quartic) {
  const cudaStream_t stream = device_.get();
  const auto mark = [&] { clock_.mark(stream); };
  mark();
  launch_activate_lattice(plan_, systems, field_, stream);
  launch_activate_shortcuts(plan_, systems, field_, shortcut_on_, stream);
  mark();
  labeller_->run(field_, mark);
  mark();
  launch_draw_orientations(plan_, systems, field_, stream);
  launch_flip_sites(plan_, systems, field_, stream);
  mark();
  if (clears_sizes_) {
    check_cuda(cudaMemsetAsync(field_.size, 0,
                               field_.systems * field_.stride * sizeof(*field_.size), stream));
  }
  launch_count_clusters(field_, stream);
  launch_sum_clusters(field_, sums_, stream);
  launch_close_sums(systems, sums_, quartic, stream);
  mark();
  clock_.end_update(labeller_->passes());
}

void SwendsenWangLabelsCuda::run(DeviceSystems systems, std::uint32_t updates,
                                 unsigned long long* quartic) {
  for (std::uint32_t n = 0; n < updates; ++n, ++systems.step) update(systems, quartic);
}

}  // namespace rewise::bytespin
