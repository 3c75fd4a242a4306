// What all systems of a single engine share: the graph with the slots of its bonds (rules.hpp) and
// the tables of every temperature.
#pragma once

#include <cstdint>
#include <vector>

#include "src/engine/engine.hpp"
#include "src/single/rules.hpp"

namespace rewise::single {

// Which of 32 sites are no plain lattice cells, and where to find the modified ones.
struct SiteGroup {
  std::uint32_t modified;  // bit: modified
  std::uint32_t edge;      // bit: a lattice neighbour is across the periodic boundary
  std::uint32_t before;    // modified sites before this group
};

// A bond of a modified cell. Three 32-bit words, so that few cache lines hold a cell.
struct Entry {
  Site to;
  std::uint32_t slot_low, slot_high;
  std::uint64_t slot() const { return std::uint64_t{slot_high} << 32 | slot_low; }
};

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
  std::uint64_t slots;               // of bonds
  std::vector<Entry> entries;        // [entries] as graph.neighbours()
  std::vector<SiteGroup> groups;     // [sites / 32 + 1]
  std::vector<RewiredSlot> rewired;  // [rewired bonds]
  std::vector<std::uint64_t> gone;   // slots of lattice bonds that are gone, ascending
  std::vector<Tables> tables;        // [T]
};

}  // namespace rewise::single
