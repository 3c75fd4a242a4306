#include "src/single/swendsen_wang_labels_cuda.hpp"

#include <utility>

#include "src/single/label_steps.hpp"

namespace rewise::single {
namespace {

LabelField outline(const DevicePlan& plan, std::uint32_t systems, std::uint64_t stride) {
  LabelField field;
  field.geometry = Geometry::make(plan.lattice);
  field.dim = plan.lattice.dim;
  field.sites = plan.sites;
  field.systems = systems;
  field.stride = stride;
  field.shortcuts = plan.rewired;
  field.shortcut_count = plan.rewired_count;
  return field;
}

}  // namespace

SwendsenWangLabelsCuda::SwendsenWangLabelsCuda(const DevicePlan& plan, const DeviceSystems& systems,
                                               LabelMethod method, std::uint32_t tile,
                                               cudaStream_t stream)
    : plan_(plan), field_(outline(plan, systems.systems, systems.stride)) {
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
  for (std::size_t n = 0; n < kTimedUpdates * kMarks; ++n) events_.emplace_back(true);
}

std::uint64_t SwendsenWangLabelsCuda::bytes(const DevicePlan& plan, std::uint32_t systems,
                                            std::uint64_t system_stride, LabelMethod method,
                                            std::uint32_t tile) {
  return systems * (13 * system_stride + plan.rewired_count + 8 * kClusterSums) +
         LabellerCuda::bytes(method, tile, outline(plan, systems, system_stride));
}

void SwendsenWangLabelsCuda::update(const DeviceSystems& systems, unsigned long long* quartic,
                                    cudaStream_t stream) {
  if (marked_ == events_.size()) read_events(stream);
  mark(stream);
  launch_activate(plan_, systems, field_, shortcut_on_.data(), stream);
  mark(stream);
  labeller_->run(field_, stream, [&](cudaStream_t) { mark(stream); });
  mark(stream);
  launch_flip_labels(plan_, systems, field_, stream);
  mark(stream);
  launch_cluster_sums(systems, field_, sums_.data(), quartic, stream);
  mark(stream);
  times_.passes += labeller_->passes();
  ++times_.updates;
}

void SwendsenWangLabelsCuda::run(const DeviceSystems& systems, std::uint32_t updates,
                                 unsigned long long* quartic, cudaStream_t stream) {
  DeviceSystems now = systems;
  for (std::uint32_t n = 0; n < updates; ++n, ++now.step) update(now, quartic, stream);
}

void SwendsenWangLabelsCuda::read_events(cudaStream_t stream) {
  check_cuda(cudaStreamSynchronize(stream), "waiting for the device");
  for (std::size_t n = 0; n < marked_; n += kMarks) {
    const auto step = [&](std::size_t k) {
      return events_[n + k].seconds_since(events_[n + k - 1]);
    };
    times_.steps.activate += step(1);
    times_.steps.label += step(2);
    times_.steps.merge += step(3);
    times_.steps.flip += step(4);
    times_.sums += step(5);
  }
  marked_ = 0;
}

LabelTimes SwendsenWangLabelsCuda::take_times(cudaStream_t stream) {
  read_events(stream);
  return std::exchange(times_, {});
}

}  // namespace rewise::single
