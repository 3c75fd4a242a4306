#include "src/single/labels/swendsen_wang_labels_cuda.hpp"

#include "src/single/labels/label_steps.hpp"

namespace rewise::single {
SwendsenWangLabelsCuda::SwendsenWangLabelsCuda(const DevicePlan& plan, const DeviceSystems& systems,
                                               LabelMethod method, std::uint32_t tile,
                                               cudaStream_t stream)
    : plan_(plan), field_(label_outline(plan, systems.systems, systems.stride)) {
  const std::size_t all = systems.systems * systems.stride;
  bonds_ = DeviceBuffer<std::uint8_t>(all);
  shortcut_on_ = DeviceBuffer<std::uint8_t>(systems.systems * plan.rewired_count);
  label_ = DeviceBuffer<std::uint32_t>(all);
  parent_ = DeviceBuffer<std::uint32_t>(all);
  size_ = DeviceBuffer<std::uint32_t>(all);
  sums_ = DeviceBuffer<unsigned long long>(std::size_t{kClusterSums} * systems.systems);
  sums_.clear(stream);
  field_.bonds = bonds_.data();
  field_.shortcut_on = shortcut_on_.data();
  field_.label = label_.data();
  field_.parent = parent_.data();
  field_.size = size_.data();
  labeller_.emplace(method, tile, field_);
}

std::uint64_t SwendsenWangLabelsCuda::bytes(const DevicePlan& plan, std::uint32_t systems,
                                            std::uint64_t system_stride, LabelMethod method,
                                            std::uint32_t tile) {
  return systems * (13 * system_stride + plan.rewired_count + 8 * kClusterSums) +
         LabellerCuda::bytes(method, tile, label_outline(plan, systems, system_stride));
}

void SwendsenWangLabelsCuda::update(const DeviceSystems& systems, unsigned long long* quartic,
                                    cudaStream_t stream) {
  clock_.mark(stream);
  launch_activate(plan_, systems, field_, shortcut_on_.data(), stream);
  clock_.mark(stream);
  labeller_->run(field_, stream, [&](cudaStream_t) { clock_.mark(stream); });
  clock_.mark(stream);
  launch_flip_labels(plan_, systems, field_, stream);
  clock_.mark(stream);
  launch_cluster_sums(systems, field_, sums_.data(), quartic, stream);
  clock_.mark(stream);
  clock_.end_update(labeller_->passes());
}

void SwendsenWangLabelsCuda::run(const DeviceSystems& systems, std::uint32_t updates,
                                 unsigned long long* quartic, cudaStream_t stream) {
  DeviceSystems now = systems;
  for (std::uint32_t n = 0; n < updates; ++n, ++now.step) update(now, quartic, stream);
}

LabelTimes SwendsenWangLabelsCuda::take_times(cudaStream_t stream) { return clock_.take(stream); }

}  // namespace rewise::single
