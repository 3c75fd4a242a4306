// The data common to all replicas of a bytespin engine: the graph with the slots of its bonds
// (rules.hpp) and the tables of every temperature.
#pragma once

#include <cstdint>
#include <vector>

#include "src/bytespin/cells.hpp"
#include "src/bytespin/device_plan.hpp"
#include "src/bytespin/rules.hpp"
#include "src/engine/engine.hpp"

namespace rewise::bytespin {

// Thresholds of one temperature.
struct Tables {
  // Ising: [2 max_degree + 1] by field_index(). Potts, Metropolis: [max_degree + 1] by the number
  // of equal neighbours that the move loses.
  std::vector<Threshold> flip;
  // Potts, Glauber: 2^40 exp(-beta n), [max_degree + 1]; a state has n neighbours fewer than the
  // most frequent state has.
  std::vector<std::uint64_t> weight;
  Threshold bond = 0;
};

struct Plan {
  Plan(const Graph& graph, const EngineSpec& spec);

  const Graph& graph;
  Lattice lattice;
  std::uint64_t sites;
  std::uint32_t max_degree;
  bool potts;
  std::uint32_t states;  // 2, or the q of Potts
  SumUnits units;
  BondSlots bond_slots;
  SiteSlots site_slots;
  std::uint64_t slots;               // of bonds
  std::vector<Entry> entries;        // [entries] as graph.neighbours()
  std::vector<SiteGroup> groups;     // [sites / 32 + 1]
  std::vector<RewiredSlot> rewired;  // [rewired bonds]
  std::vector<std::uint64_t> gone;   // slots of lattice bonds that are gone, ascending
  std::vector<Tables> tables;        // [T]

  // Calls f(neighbour) for every bond of a site.
  template <class F>
  void for_each_neighbour(Site site, F&& f) const {
    const SiteGroup& group = groups[site / 32];
    const std::uint32_t bit = 1u << site % 32;
    if ((group.modified & bit) == 0) {
      for (int k = 0; k < lattice.dim; ++k) {
        f(lattice.forward(site, k));
        f(lattice.backward(site, k));
      }
      return;
    }
    const std::uint32_t index = group.index(bit);
    const auto offsets = graph.offsets();
    for (std::uint64_t k = offsets[index]; k < offsets[index + 1]; ++k) f(entries[k].to);
  }
};

// The numbers of a plan, without pointers.
DevicePlan outline(const Plan& plan);
// outline() with pointers to the plan's memory, without tables.
DevicePlan host_plan(const Plan& plan);

}  // namespace rewise::bytespin
