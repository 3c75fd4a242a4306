// Swendsen-Wang clusters of a rank's slab on its CUDA device by the first stage of Komura & Okabe
// 2013: label equivalence (`kalentev`) within the slab, as if it had open ends. What
// slab_clusters.hpp is on CPUs, of all systems. Labels are sites counted from the slab's first
// here, and of the whole lattice in what the host gets and gives. Memory: 9 bytes per site of the
// whole lattice.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/bytespin/plan.hpp"
#include "src/bytespin/swendsen_wang/slab_clusters.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_labels_cuda.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/device_stream.hpp"
#include "src/engine/share.hpp"
#include "src/label/papers/labeller_cuda.hpp"

namespace rewise::bytespin {

class SlabLabelsCuda {
 public:
  // Sites [own.first, own.last) of a lattice, whole planes. `told`: rewired bonds that begin
  // elsewhere and end here, `asked`: those that begin here and end elsewhere.
  SlabLabelsCuda(const DeviceStream& device, const Plan& plan, const DevicePlan& on_device,
                 const DeviceSystems& systems, Extent own, const std::vector<RewiredSlot>& told,
                 const std::vector<RewiredSlot>& asked);

  // Draws the bonds of the systems' step and labels all of them.
  void label(const DeviceSystems& systems);
  // Of one system: the labels of the first plane, then of `told`. [plane + told]
  std::vector<Site> border_labels(std::uint64_t who);
  // The labels that drawn bonds between equal spins join, with the labels beyond: of the plane
  // behind the slab, then of `asked`; kNoPair where nothing is joined. [plane + asked]
  static constexpr std::uint64_t kNoPair = ~std::uint64_t{0};
  std::vector<std::uint64_t> joined(const DeviceSystems& systems, std::uint64_t who,
                                    const std::vector<Site>& beyond);
  // Flips; `united`: of own labels their clusters' smallest. SlabClusters::flip() says the rest.
  SlabClusters::Sums flip(const DeviceSystems& systems, std::uint64_t who,
                          std::span<const LabelPair> united, std::vector<LabelPair>& parts);

 private:
  LabelField of_system(std::uint64_t who) const;  // of slab_

  const DeviceStream& device_;
  const Extent own_;
  const std::uint64_t plane_, systems_;
  DevicePlan plan_;                    // with the bonds of the slab
  LabelField whole_, slab_;            // the same arrays
  DeviceBuffer<RewiredSlot> rewired_;  // both ends here; and lattice bonds that are gone
  DeviceBuffer<SitePair> shortcuts_;   // likewise
  DeviceBuffer<std::uint8_t> shortcut_on_, bonds_, leaving_;
  DeviceBuffer<std::uint32_t> label_, size_;
  DeviceBuffer<Site> asked_sites_;  // of the first plane, and told
  DeviceBuffer<RewiredSlot> asked_;
  DeviceBuffer<Site> labels_, beyond_;
  DeviceBuffer<std::uint64_t> pairs_;
  DeviceBuffer<SitePair> adopted_;
  DeviceBuffer<unsigned long long> sums_;  // [kClusterSums]
  std::unique_ptr<LabellerCuda> labeller_;
};

// The steps, queued. `leaving` [systems][plane]: whether the bond out of a site of the last plane
// is occupied; it is taken out.
void launch_cut_slab(const LabelField& slab, std::uint64_t plane, std::uint8_t* leaving,
                     cudaStream_t stream);
// The labels of sites of the slab of one system. [count]
void launch_read_labels(const LabelField& slab, const Site* sites, std::uint64_t count,
                        Site* labels, cudaStream_t stream);
struct SlabJoins {
  std::uint64_t first = 0, plane = 0;     // of the slab, of a plane, in sites
  const std::uint8_t* leaving = nullptr;  // [plane] of this system
  const RewiredSlot* asked = nullptr;     // [asked_count]
  std::uint64_t asked_count = 0;
  const Site* beyond = nullptr;    // [plane + asked_count]
  std::uint64_t* pairs = nullptr;  // likewise
};
void launch_join_slab(const DevicePlan& plan, const DeviceSystems& systems, std::uint32_t who,
                      const LabelField& slab, const SlabJoins& joins, cudaStream_t stream);
// Of own labels `united` [count], slab.bonds at them: what the smallest of their clusters draw; and
// their sizes in place of the smallest, which are 0 then.
void launch_adopt_draws(const DevicePlan& plan, const DeviceSystems& systems, std::uint32_t who,
                        const LabelField& slab, SitePair* united, std::uint64_t count,
                        cudaStream_t stream);

}  // namespace rewise::bytespin
