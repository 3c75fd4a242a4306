#include "src/multispin/bonds_on_device_cuda.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "src/multispin/host_tables_cuda.hpp"

namespace rewise::multispin {

BondsOnDevice::BondsOnDevice(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                             cudaStream_t stream) {
  // A bare lattice has removed bonds that are not rewired to other places.
  std::vector<std::size_t> rewired_of, bare_of;
  std::vector<std::uint32_t> bare_first{0};
  std::uint32_t bare_most = 0;
  for (const EngineView& e : engines) {
    rewired_of.push_back(e.layout.rewired.count);
    bare_of.push_back(e.graph.removed_bonds().size());
    bonds_.rewired_most =
        std::max(bonds_.rewired_most, static_cast<std::uint32_t>(rewired_of.back()));
    bare_most = std::max(bare_most, static_cast<std::uint32_t>(bare_of.back()));
    bare_first.push_back(bare_first.back() + static_cast<std::uint32_t>(bare_of.back()));
  }
  const Staged<std::uint32_t> rewired(rewired_of), bare(bare_of);
  on_all_cores(engines.size(), rewired.first(engines.size()) + bare.first(engines.size()),
               [&](std::size_t k) {
                 const auto to_word = [](Bond bond) { return static_cast<std::uint32_t>(bond); };
                 const Graph& graph = engines[k].graph;
                 std::ranges::transform(graph.rewired_bonds(), rewired[k].begin(), to_word,
                                        &RewiredBond::bond);
                 std::ranges::transform(graph.removed_bonds(), bare[k].begin(), to_word);
               });
  rewired_ = rewired.to_device(stream);
  const DeviceBuffer<std::uint32_t> gone = bare.to_device(stream);
  const DeviceBuffer<std::uint32_t> gone_first(std::span<const std::uint32_t>(bare_first), stream);
  bonds_.lattice = engines.front().layout.lattice;
  bonds_.places = graphs.lattice({});
  bonds_.graphs = graphs.graphs();
  bonds_.rewired = rewired_.data();
  bonds_.ends = graphs.rewired_ends();
  bonds_.gone_words = static_cast<std::size_t>((bonds_.lattice.bonds() + 31) / 32);
  gone_ = DeviceBuffer<std::uint32_t>(bonds_.graphs * bonds_.gone_words);
  gone_.clear(stream);
  bonds_.gone = gone_.data();
  launch_mark_gone(bonds_, rewired_.data(), bonds_.ends.first, bonds_.rewired_most, gone_.data(),
                   stream);
  launch_mark_gone(bonds_, gone.data(), gone_first.data(), bare_most, gone_.data(), stream);
  check_cuda(cudaStreamSynchronize(stream), "copying bonds to the device");
}

}  // namespace rewise::multispin
