// Swendsen-Wang updates of systems that several CUDA devices share (swendsen_wang.hpp says what an
// update is; same bits): the idea of Komura & Okabe 2013, clusters labelled within every device's
// part first and then across, by the fast path's kernels (swendsen_wang_fused.hpp).
//
// A device has the tiles of its part, and the bonds that begin there. A tile's clusters that reach
// its border are nodes of one forest over all devices, whose arrays lie in StripedMemory, a tile's
// nodes with its device; bonds between devices join it by compare-and-swap over the link between
// them. So labels need no second kind across devices and no halo, boundary layers are read where
// they lie, and the iteration of Komura & Okabe's second stage falls away. All devices wait for all
// between two kernels, twice in an update. Between devices: labels of the sites and words of the
// nodes along the border, and of rewired bonds; per update of an L x L lattice some 64 bytes for
// each of the L bonds of a border, against 7.5 bytes for each of the L^2 / devices sites.
#pragma once

#include <memory>
#include <vector>

#include "src/cuda/device_team.hpp"
#include "src/cuda/striped_memory.hpp"
#include "src/single/swendsen_wang/swendsen_wang_fused.hpp"

namespace rewise::single {

class TeamSwendsenWang {
 public:
  // `plans` [devices]: the plan in each device's memory, which must outlive this as `team` must.
  TeamSwendsenWang(const DeviceTeam& team, const std::vector<DevicePlan>& plans,
                   std::uint32_t systems);

  // Bytes of work space on each device. Of `plan` only the numbers are used.
  static std::uint64_t bytes(const DevicePlan& plan, std::uint32_t systems, std::size_t devices);

  // As SwendsenWangCuda::run(). `systems` [devices] have a share each; `pending` and `quartic` lie
  // with the first.
  void run(std::vector<DeviceSystems> systems, std::uint32_t updates, unsigned long long* quartic);

 private:
  const DeviceTeam& team_;
  std::vector<DevicePlan> plans_;
  std::vector<FusedLabels> labels_;  // [devices], the same but for the masks
  std::vector<FusedMasks> masks_;
  std::vector<StripedMemory> arrays_;
};

}  // namespace rewise::single
