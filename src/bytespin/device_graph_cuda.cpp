#include "src/bytespin/device_graph_cuda.hpp"

namespace rewise::bytespin {

std::uint64_t DeviceGraph::bytes(const GraphTables& tables) {
  return tables.site_masks.size() * sizeof(SiteMasks) + tables.graph.offsets().size() * 8 +
         tables.entries.size() * sizeof(CellBond) + tables.rewired.size() * sizeof(IndexedBond) +
         tables.thresholds.size() * (2 * std::uint64_t{tables.max_degree} + 2) * 8;
}

DeviceGraph::DeviceGraph(const GraphTables& tables, cudaStream_t stream) : view_(tables.view()) {
  std::vector<Threshold> flip, bond;
  std::vector<std::uint64_t> weight;
  for (const Thresholds& one : tables.thresholds) {
    flip.insert(flip.end(), one.flip.begin(), one.flip.end());
    weight.insert(weight.end(), one.weight.begin(), one.weight.end());
    bond.push_back(one.bond);
  }
  // The 64 sites of a word may begin in the last masks but one.
  std::vector<SiteMasks> site_masks = tables.site_masks;
  site_masks.resize(site_masks.size() + 2);
  view_.site_masks = memory_.upload(site_masks, stream);
  view_.offsets = memory_.upload(tables.graph.offsets(), stream);
  view_.entries = memory_.upload(tables.entries, stream);
  view_.rewired = memory_.upload(tables.rewired, stream);
  view_.flip = memory_.upload(flip, stream);
  view_.weight = memory_.upload(weight, stream);
  view_.bond = memory_.upload(bond, stream);
}

}  // namespace rewise::bytespin
