#include "src/single/swendsen_wang/swendsen_wang_labels_cuda.hpp"

#include <cstddef>

namespace rewise::single {
namespace {

// The field of a plan's systems without its arrays.
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

// The ends of the rewired bonds alone.
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

SwendsenWangLabelsCuda::SwendsenWangLabelsCuda(const DeviceTeam& team,
                                               const std::vector<DevicePlan>& plans,
                                               std::uint32_t systems, std::uint64_t system_stride,
                                               LabelMethod method, std::uint32_t tile)
    : team_(team),
      plans_(plans),
      clears_sizes_(method != LabelMethod::kalentev && method != LabelMethod::label_equivalence) {
  const DevicePlan& plan = plans.front();
  team.use(0);
  const auto add = [&]<class T>(T*& array, std::uint64_t of_system) {
    arrays_.emplace_back(sizeof(T) * of_system * systems, sizeof(T) * of_system, team.devices());
    array = reinterpret_cast<T*>(arrays_.back().data());
  };
  LabelField shared = outline(plan, systems, system_stride);
  add(shared.bonds, system_stride);
  add(shared.label, system_stride);
  add(shared.size, system_stride);
  if (method != LabelMethod::kalentev) add(shared.parent, system_stride);
  if (plan.rewired_count > 0) add(shortcut_on_, plan.rewired_count);
  add(sums_, kClusterSums);
  arrays_.back().clear(team.stream(0));
  shared.shortcut_on = shortcut_on_;
  team.for_each([&](std::size_t part, cudaStream_t stream) {
    shortcuts_.push_back(ends_of(plans[part], stream));
    fields_.push_back(shared);
    fields_.back().shortcuts = shortcuts_.back().data();
    fields_.back().part = {static_cast<std::uint32_t>(part),
                           static_cast<std::uint32_t>(team.size())};
  });
  team.use(0);
  labeller_.emplace(team, method, tile, shared);
  team.barrier();
}

std::uint64_t SwendsenWangLabelsCuda::bytes(const DevicePlan& plan, std::uint32_t systems,
                                            std::uint64_t system_stride, LabelMethod method,
                                            std::uint32_t tile, std::size_t devices) {
  const std::uint64_t of_site = method == LabelMethod::kalentev ? 9 : 13;
  const std::uint64_t pages = devices > 1 ? 5u << 21 : 0;  // StripedMemory ends at whole ones
  return systems * (of_site * system_stride + plan.rewired_count + 8 * kClusterSums) / devices +
         pages + sizeof(SitePair) * plan.rewired_count +
         LabellerCuda::bytes(method, tile, outline(plan, systems, system_stride));
}

void SwendsenWangLabelsCuda::update(const std::vector<DeviceSystems>& systems,
                                    unsigned long long* quartic) {
  // Queues a step on every device, and a barrier.
  const auto step = [&](const auto& queue) {
    team_.for_each(queue);
    team_.barrier();
  };
  const auto mark = [&] {
    if (team_.size() > 1) team_.use(0);
    clock_.mark(team_.stream(0));
  };
  mark();
  step([&](std::size_t part, cudaStream_t stream) {
    launch_activate_lattice(plans_[part], systems[part], fields_[part], stream);
  });
  step([&](std::size_t part, cudaStream_t stream) {
    launch_activate_shortcuts(plans_[part], systems[part], fields_[part], shortcut_on_, stream);
  });
  mark();
  labeller_->run(fields_, mark);
  mark();
  step([&](std::size_t part, cudaStream_t stream) {
    launch_draw_orientations(plans_[part], systems[part], fields_[part], stream);
  });
  step([&](std::size_t part, cudaStream_t stream) {
    launch_flip_sites(plans_[part], systems[part], fields_[part], stream);
  });
  mark();
  step([&](std::size_t part, cudaStream_t stream) {
    const LabelField& field = fields_[part];
    if (clears_sizes_) {
      check_cuda(cudaMemsetAsync(field.size, 0, field.systems * field.stride * sizeof(*field.size),
                                 stream));
    }
    launch_count_clusters(field, stream);
  });
  step([&](std::size_t part, cudaStream_t stream) {
    launch_sum_clusters(fields_[part], sums_, stream);
  });
  if (team_.size() > 1) team_.use(0);
  launch_close_sums(systems.front(), sums_, quartic, team_.stream(0));
  mark();
  clock_.end_update(labeller_->passes());
}

void SwendsenWangLabelsCuda::run(std::vector<DeviceSystems> systems, std::uint32_t updates,
                                 unsigned long long* quartic) {
  for (std::uint32_t n = 0; n < updates; ++n) {
    update(systems, quartic);
    for (DeviceSystems& of_part : systems) ++of_part.step;
  }
  team_.barrier();
}

}  // namespace rewise::single
