#include "src/bytespin/device_graph.hpp"

#include <vector>

namespace rewise::bytespin {
namespace {

template <class T>
DeviceBuffer<T> upload(std::span<const T> host, cudaStream_t stream) {
  DeviceBuffer<T> buffer(host, stream);
  check_cuda(cudaStreamSynchronize(stream), "copying the graph to the device");
  return buffer;
}

template <class T>
DeviceBuffer<T> upload(const std::vector<T>& host, cudaStream_t stream) {
  return upload(std::span<const T>(host), stream);
}

}  // namespace

std::uint64_t DeviceGraph::bytes(const Plan& plan) {
  return plan.groups.size() * sizeof(SiteGroup) + plan.graph.offsets().size() * 8 +
         plan.entries.size() * sizeof(Entry) + plan.rewired.size() * sizeof(RewiredSlot) +
         plan.tables.size() * (2 * std::uint64_t{plan.max_degree} + 2) * 8;
}

DeviceGraph::DeviceGraph(const Plan& plan, cudaStream_t stream) : plan_(outline(plan)) {
  std::vector<Threshold> flip, bond;
  std::vector<std::uint64_t> weight;
  for (const Tables& tables : plan.tables) {
    flip.insert(flip.end(), tables.flip.begin(), tables.flip.end());
    weight.insert(weight.end(), tables.weight.begin(), tables.weight.end());
    bond.push_back(tables.bond);
  }
  // The 64 sites of a word may begin in the last group but one.
  std::vector<SiteGroup> groups = plan.groups;
  groups.resize(groups.size() + 2);
  groups_ = upload(groups, stream);
  offsets_ = upload(plan.graph.offsets(), stream);
  entries_ = upload(plan.entries, stream);
  rewired_ = upload(plan.rewired, stream);
  flip_ = upload(flip, stream);
  weight_ = upload(weight, stream);
  bond_ = upload(bond, stream);
  plan_.groups = groups_.data();
  plan_.offsets = offsets_.data();
  plan_.entries = entries_.data();
  plan_.rewired = rewired_.data();
  plan_.flip = flip_.data();
  plan_.weight = weight_.data();
  plan_.bond = bond_.data();
}

}  // namespace rewise::bytespin
