// Swendsen-Wang updates of systems that several CUDA devices share by label equivalence, as Komura
// & Okabe 2013 make them (label_parts.hpp); the same bits as swendsen_wang_team.hpp, which is the
// fast path. Memory, over all devices: a byte and two words per site.
#pragma once

#include <memory>
#include <vector>

#include "src/cuda/device_team.hpp"
#include "src/cuda/striped_memory.hpp"
#include "src/single/device_plan.hpp"
#include "src/single/labels/label_clock.hpp"
#include "src/single/labels/label_cuda.hpp"

namespace rewise::single {

class TeamLabels {
 public:
  // As TeamSwendsenWang's; `system_stride` is DeviceSystems::stride.
  TeamLabels(const DeviceTeam& team, const std::vector<DevicePlan>& plans, std::uint32_t systems,
             std::uint64_t system_stride);

  // Bytes of work space on each device. Of `plan` only the numbers are used.
  static std::uint64_t bytes(const DevicePlan& plan, std::uint32_t systems,
                             std::uint64_t system_stride, std::size_t devices);

  // As TeamSwendsenWang::run(); the host waits for the devices in every update.
  void run(std::vector<DeviceSystems> systems, std::uint32_t updates, unsigned long long* quartic);

  // Waits for the first device.
  LabelTimes take_times() { return clock_->take(team_.stream(0)); }

 private:
  void update(const std::vector<DeviceSystems>& systems, unsigned long long* quartic);
  std::uint64_t label_parts();  // passes of the part that took most
  std::uint64_t join_parts();   // passes
  // Queues a step on every device, and a barrier.
  template <class Step>
  void step(const Step& queue) const {
    team_.for_each([&](std::size_t part, cudaStream_t stream) { queue(part, stream); });
    team_.barrier();
  }

  const DeviceTeam& team_;
  std::vector<DevicePlan> plans_;
  std::vector<StripedMemory> arrays_;
  std::vector<LabelField> fields_;  // [devices]
  std::uint8_t* shortcut_on_ = nullptr;
  unsigned long long* sums_ = nullptr;               // [systems][kClusterSums]
  std::vector<std::unique_ptr<FixedPoint>> within_;  // [devices]
  std::unique_ptr<FixedPoint> across_;               // flags with the first device
  std::unique_ptr<LabelClock> clock_;                // on the first device's stream
};

}  // namespace rewise::single
