#include "src/single/swendsen_wang/swendsen_wang_team.hpp"

#include <algorithm>

#include "src/single/swendsen_wang/swendsen_wang_cuda.hpp"

namespace rewise::single {
namespace {

std::uint64_t sum_bytes(const FusedLabels& labels) {
  return std::uint64_t{3} * labels.common.copies * kUpdatesPerBatch * sizeof(unsigned long long);
}

}  // namespace

TeamSwendsenWang::TeamSwendsenWang(const DeviceTeam& team, const std::vector<DevicePlan>& plans,
                                   std::uint32_t systems)
    : team_(team), plans_(plans) {
  const FusedSizes sizes(plans.front());
  FusedLabels shared;
  sizes.describe(plans.front(), shared);
  const auto add = [&](std::uint64_t of_system) {
    arrays_.emplace_back(of_system * systems, of_system, team.devices());
    return arrays_.back().data();
  };
  sizes.for_each_array(shared, [&]<class T>(T*& array, std::uint64_t count) {
    array = reinterpret_cast<T*>(add(sizeof(T) * count));
  });
  shared.common.sums = reinterpret_cast<unsigned long long*>(add(sum_bytes(shared)));
  team.for_each([&](std::size_t part, cudaStream_t stream) {
    labels_.push_back(shared);
    masks_.emplace_back(plans[part], labels_.back(), stream);
  });
  team.use(0);
  for (StripedMemory& array : arrays_) array.clear(team.stream(0));
  team.barrier();
}

std::uint64_t TeamSwendsenWang::bytes(const DevicePlan& plan, std::uint32_t systems,
                                      std::size_t devices) {
  const std::uint64_t masks = plan.rewired_count > 0 ? 8 * FusedSizes(plan).mask_words : 0;
  return masks + (FusedSwendsenWang::bytes(plan, systems) - masks) / devices + (16u << 21);
}

void TeamSwendsenWang::run(std::vector<DeviceSystems> systems, std::uint32_t updates,
                           unsigned long long* quartic) {
  // Queues a step of an update on every device, and a barrier.
  const auto step = [&](auto launch_step, std::uint32_t n) {
    team_.for_each([&](std::size_t part, cudaStream_t stream) {
      launch_step(plans_[part], labels_[part], systems[part], n, stream);
    });
    team_.barrier();
  };
  const std::uint32_t first = systems.front().step;
  const auto set_step = [&](std::uint32_t done) {
    for (DeviceSystems& of_part : systems) of_part.step = first + done;
  };
  for (std::uint32_t begin = 0; begin < updates; begin += kUpdatesPerBatch) {
    const std::uint32_t batch = std::min(kUpdatesPerBatch, updates - begin);
    for (std::uint32_t n = 0; n < batch; ++n) {
      set_step(begin + n);
      step(launch_fused_tiles, n);
      step(launch_fused_join, n);
    }
    step(launch_fused_flip, batch - 1);
    team_.use(0);
    launch_close(labels_.front().common, systems.front(), batch, quartic, team_.stream(0));
    team_.barrier();
  }
}

}  // namespace rewise::single
