// The data common to all replicas of a bytespin engine, in the host's memory: the graph with the
// draw indices of its bonds (rules.hpp) and the thresholds of every temperature.
#pragma once

#include <cstdint>
#include <vector>

#include "src/bytespin/graph_view.hpp"
#include "src/engine/engine.hpp"

namespace rewise::bytespin {

// Thresholds of one temperature.
struct Thresholds {
  // Ising: [2 max_degree + 1] by field_index(). Potts, Metropolis: [max_degree + 1] by the number
  // of equal neighbours that the move loses.
  std::vector<Threshold> flip;
  // Potts, Glauber: 2^40 exp(-beta n), [max_degree + 1]; a state has n neighbours fewer than the
  // most frequent state has.
  std::vector<std::uint64_t> weight;
  Threshold bond = 0;
};

struct GraphTables : GraphNumbers {
  GraphTables(const Graph& graph, const EngineSpec& spec);

  const Graph& graph;
  SumUnits units;
  std::vector<CellBond> entries;       // [entries] as graph.neighbours()
  std::vector<SiteMasks> site_masks;   // [sites / 32 + 1]
  std::vector<IndexedBond> rewired;    // [rewired bonds]
  std::vector<std::uint64_t> gone;     // draw indices of lattice bonds that are gone, ascending
  std::vector<Thresholds> thresholds;  // [T]

  // Of these tables, without thresholds.
  GraphView view() const {
    return {*this,          site_masks.data(), graph.offsets().data(),
            entries.data(), rewired.data(),    rewired.size()};
  }

  // Calls f(neighbour) for every bond of a site.
  template <class F>
  void for_each_neighbour(Site site, F&& f) const {
    const SiteMasks& masks = site_masks[site / 32];
    const std::uint32_t bit = 1u << site % 32;
    if ((masks.modified & bit) == 0) {
      for (int k = 0; k < lattice.dim; ++k) {
        f(lattice.forward(site, k));
        f(lattice.backward(site, k));
      }
      return;
    }
    const std::uint32_t index = masks.index(bit);
    const auto offsets = graph.offsets();
    for (std::uint64_t k = offsets[index]; k < offsets[index + 1]; ++k) f(entries[k].to);
  }
};

}  // namespace rewise::bytespin
