// Swendsen-Wang clusters of a rank's slab on its CUDA device by the first stage of Komura & Okabe
// 2013: label equivalence (`kalentev`) within the slab, with open boundaries, for all replicas (on
// CPUs: slab_clusters.hpp). On the device a label is a site counted from the first site of the
// slab; labels passed to and from the host are sites of the whole lattice. Memory: 9 bytes per site
// of the whole lattice.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/bytespin/graph_tables.hpp"
#include "src/bytespin/swendsen_wang/slab_clusters.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_labels_cuda.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/device_stream.hpp"
#include "src/engine/subdomain.hpp"
#include "src/label/papers/labeller_cuda.hpp"

namespace rewise::bytespin {

class SlabLabelsCuda {
 public:
  // The slab is sites [own.first, own.last) of a lattice, whole planes. `incoming`: rewired bonds
  // that begin elsewhere and end here, `outgoing`: those that begin here and end elsewhere.
  SlabLabelsCuda(const DeviceStream& device, const GraphTables& tables, const GraphView& on_device,
                 const DeviceReplicas& replicas, IndexRange own,
                 const std::vector<IndexedBond>& incoming,
                 const std::vector<IndexedBond>& outgoing);

  // Draws the bonds of the replicas' step and labels all of them.
  void label(const DeviceReplicas& replicas);
  // Labels of one replica: the first plane, then `incoming`. [plane + incoming]
  std::vector<Site> border_labels(std::uint64_t replica);
  // Pairs of labels that occupied bonds join. `far_labels`: labels of the first plane of the next
  // slab, then of the far ends of `outgoing`. kNoPair marks bonds that are not occupied. [plane +
  // outgoing]
  static constexpr std::uint64_t kNoPair = ~std::uint64_t{0};
  std::vector<std::uint64_t> joined(const DeviceReplicas& replicas, std::uint64_t replica,
                                    const std::vector<Site>& far_labels);
  // Flips as SlabClusters::flip() does; `united`: own labels with the smallest labels of their
  // clusters.
  SlabClusters::Sums flip(const DeviceReplicas& replicas, std::uint64_t replica,
                          std::span<const LabelPair> united, std::vector<LabelPair>& parts);

 private:
  LabelArrays of_replica(std::uint64_t replica) const;  // of slab_

  const DeviceStream& device_;
  const IndexRange own_;
  const std::uint64_t plane_, replicas_;
  GraphView graph_;                    // with the bonds of the slab
  LabelArrays whole_, slab_;           // two views of the same arrays
  DeviceBuffer<IndexedBond> rewired_;  // both ends here, and removed lattice bonds
  DeviceBuffer<SitePair> shortcuts_;   // likewise
  DeviceBuffer<std::uint8_t> shortcut_on_, bonds_, leaving_;
  DeviceBuffer<std::uint32_t> label_, size_;
  DeviceBuffer<Site> counted_sites_;  // of the first plane, then `incoming`
  DeviceBuffer<IndexedBond> outgoing_;
  DeviceBuffer<Site> labels_, far_labels_;
  DeviceBuffer<std::uint64_t> pairs_;
  DeviceBuffer<SitePair> adopted_;
  DeviceBuffer<unsigned long long> sums_;  // [kClusterSums]
  std::unique_ptr<LabellerCuda> labeller_;
};

}  // namespace rewise::bytespin
