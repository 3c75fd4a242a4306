// The dense form of a Wolff update (wolff.hpp): its tables of bonds, its working memory and its
// two steps of growth.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/multispin/layout.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/thread_team.hpp"

namespace rewise::multispin {

// One end of a shortcut (a rewired bond), stored with the row of the end `near`.
struct ShortcutEnd {
  Slot near, far;
  std::uint32_t far_row, shortcut;
};

// The bonds of a graph. With rows (Layout::has_rows()), lattice bonds are implicit and only
// shortcuts are listed; otherwise all bonds are listed.
struct DenseGeometry {
  DenseGeometry(const Graph& graph, const Layout& layout);

  const Layout& layout;
  BondList listed;
  std::vector<std::uint32_t> row_ends;    // [rows + 1] into shortcut_end
  std::vector<ShortcutEnd> shortcut_end;  // [2 listed.count]
  // (k, index in bond_field(k)) of each removed lattice bond, at its colour-0 end. It leads to the
  // neighbour k = 2 direction + (1 if backward).
  std::vector<std::pair<int, std::uint32_t>> removed_at;
};

struct DenseScratch {
  explicit DenseScratch(const DenseGeometry& geometry);

  std::vector<std::uint32_t> reached;  // [words] replicas whose cluster contains the site
  std::vector<std::uint32_t> open;     // [padded] replicas whose cluster may cross a listed bond
  // [2 dim][field_stride] replicas whose cluster may cross a lattice bond, or in which other open
  // bonds connect its ends
  std::vector<std::uint32_t> bond_fields;
  std::size_t field_stride = 0;
  std::vector<std::uint8_t> awake;                // [rows] 1: to be visited
  std::vector<std::uint8_t> reached_by_shortcut;  // [rows] 1: a shortcut has added to the row's
                                                  // reached sets since the last visit
  std::atomic<std::uint32_t> bound{0};  // replicas whose cluster is bound to the ghost spin

  std::uint32_t* bond_field(int k) {
    return bond_fields.data() + static_cast<std::size_t>(k) * field_stride + kGuard;
  }
};

// Step 1: draws the bonds that clusters of the active replicas may cross, given the spins of their
// seeds. Called by all threads of a team. Steps 1 and 2 return early if the poll stops them; their
// results are then incomplete.
void dense_draw(const DenseGeometry& geometry, const Address& at, Threshold bond,
                const std::uint32_t* spins, std::uint32_t seed_spin, std::uint32_t active,
                const ThreadTeam& team, StopPoll& poll, DenseScratch& scratch);
// Step 2: grows scratch.reached, which initially contains the seeds, to its fixed point. Called by
// one thread.
void dense_grow(const DenseGeometry& geometry, StopPoll& poll, DenseScratch& scratch);
}  // namespace rewise::multispin
