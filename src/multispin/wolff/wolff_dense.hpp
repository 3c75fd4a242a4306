// What the dense form of a Wolff update (wolff.hpp) works with: bonds, reached sets, its three
// steps.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/multispin/layout.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/thread_team.hpp"

namespace rewise::multispin {

// One end of a shortcut (a rewired bond), filed under the row of its near end.
struct ShortcutEnd {
  Slot near, far;
  std::uint32_t far_row, shortcut;
};

// By rows: lattice bonds are implicit and only the shortcuts are listed. Otherwise every bond is.
struct DenseGeometry {
  DenseGeometry(const Graph& graph, const Layout& layout);

  const Layout& layout;
  bool by_rows = false;
  std::uint32_t count = 0;                // listed bonds
  std::vector<std::uint32_t> bond;        // [padded] index of each
  std::vector<Slot> a, b;                 // [padded] its ends; padding joins a slot with itself
  std::vector<std::uint32_t> row_ends;    // [rows + 1] into shortcut_end
  std::vector<ShortcutEnd> shortcut_end;  // [2 count]
  // (neighbour k, place in the field) of each removed lattice bond at its colour-0 end.
  std::vector<std::pair<int, std::uint32_t>> removed_at;
};

struct DenseScratch {
  explicit DenseScratch(const DenseGeometry& geometry);

  std::vector<std::uint32_t> reached;      // [words] replicas whose cluster holds the site
  std::vector<std::uint32_t> open;         // [padded] replicas in which a listed bond is crossed
  std::vector<std::uint32_t> bond_fields;  // [2 dim][field_stride] of lattice bonds, or joined
  std::size_t field_stride = 0;
  std::vector<std::uint8_t> awake, fresh;  // [rows] to be visited; changed from outside

  std::uint32_t* bond_field(int k) {
    return bond_fields.data() + static_cast<std::size_t>(k) * field_stride + kGuard;
  }
};

// Step 1: which bonds can be crossed by the clusters of the active replicas, given the spins of
// their seeds. Shared by a team. Left undone where the watch stops it, as is step 2.
void dense_draw(const DenseGeometry& geometry, const Address& at, Threshold bond,
                const std::uint32_t* spins, std::uint32_t seed_spin, std::uint32_t active,
                const ThreadTeam& team, StopWatch& watch, DenseScratch& scratch);
// Step 2: grows scratch.reached from what it holds to its fixed point.
void dense_grow(const DenseGeometry& geometry, StopWatch& watch, DenseScratch& scratch);
// Step 3: flips what was reached and empties it. Shared by a team.
void dense_flip(const DenseGeometry& geometry, const ThreadTeam& team, DenseScratch& scratch,
                std::uint32_t* spins);

}  // namespace rewise::multispin
