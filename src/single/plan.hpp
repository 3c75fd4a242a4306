// What all systems of a single engine share: the graph with the slots of its bonds (rules.hpp) and
// the tables of every temperature.
#pragma once

#include <cstdint>
#include <vector>

#include "src/engine/engine.hpp"
#include "src/single/rules.hpp"

namespace rewise::single {

struct RewiredSlot {
  std::uint64_t slot;
  Site a, b;
};

// Thresholds of one temperature.
struct Tables {
  std::vector<Threshold> flip;  // [2 max_degree + 1] by field_index()
  Threshold bond = 0;
};

struct Plan {
  Plan(const Graph& graph, const EngineSpec& spec);

  const Graph& graph;
  Lattice lattice;
  std::uint64_t sites;
  std::uint32_t max_degree;
  BondSlots bond_slots;
  SiteSlots site_slots;
  std::uint64_t slots;                     // of bonds
  std::vector<std::uint64_t> entry_slots;  // [entries] beside graph.neighbours()
  std::vector<RewiredSlot> rewired;        // [rewired bonds]
  std::vector<std::uint64_t> gone;         // slots of lattice bonds that are gone, ascending
  std::vector<Tables> tables;              // [T]
};

}  // namespace rewise::single
