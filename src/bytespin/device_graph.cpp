#include "src/bytespin/device_graph.hpp"

namespace rewise::bytespin {

std::uint64_t DeviceGraph::bytes(const GraphTables& tables) {
  return tables.site_masks.size() * sizeof(SiteMasks) + tables.graph.offsets().size() * 8 +
         tables.entries.size() * sizeof(CellBond) + tables.rewired.size() * sizeof(RewiredSlot) +
         tables.thresholds.size() * (2 * std::uint64_t{tables.max_degree} + 2) * 8;
}

DeviceGraph::DeviceGraph(const GraphTables& tables, cudaStream_t stream) : view_(tables.view()) {
  std::vector<Threshold> flip, bond;
  std::vector<std::uint64_t> weight;
  for (const Thresholds& of : tables.thresholds) {
    flip.insert(flip.end(), of.flip.begin(), of.flip.end());
    weight.insert(weight.end(), of.weight.begin(), of.weight.end());
    bond.push_back(of.bond);
  }
  // The 64 sites of a word may begin in the last masks but one.
  std::vector<SiteMasks> site_masks = tables.site_masks;
  site_masks.resize(site_masks.size() + 2);
  site_masks_ = upload(site_masks, stream);
  offsets_ = DeviceBuffer<std::uint64_t>(tables.graph.offsets(), stream);
  entries_ = upload(tables.entries, stream);
  rewired_ = upload(tables.rewired, stream);
  flip_ = upload(flip, stream);
  weight_ = upload(weight, stream);
  bond_ = upload(bond, stream);
  view_.site_masks = site_masks_.data();
  view_.offsets = offsets_.data();
  view_.entries = entries_.data();
  view_.rewired = rewired_.data();
  view_.flip = flip_.data();
  view_.weight = weight_.data();
  view_.bond = bond_.data();
}

}  // namespace rewise::bytespin
