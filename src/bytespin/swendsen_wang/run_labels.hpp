// The clusters of a Swendsen-Wang update in a replica or in a rank's slab of it, on a CPU. Draws
// the bonds of a step, finds the occupied ones and labels the clusters. The result is a table of
// runs: sites of a row that are neighbours and have one label.
//
// Labelling (src/label/method.hpp): `fast` makes a run of sites that occupied bonds connect and
// joins runs in the pass that compares spins. The other methods take the occupied bonds and return
// a label per site, from which runs are made.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/bytespin/graph_tables.hpp"
#include "src/engine/stop_poll.hpp"
#include "src/engine/subdomain.hpp"
#include "src/label/labeller.hpp"
#include "src/label/run_table.hpp"

namespace rewise::bytespin {

// The drawn bonds of a part and the spins that they join.
struct BondsOfPart {
  const Lattice& lattice;      // of the part
  const std::uint64_t* drawn;  // a bit per draw index (rules.hpp)
  const std::uint8_t* spins;   // of all sites
  std::uint64_t first;         // site of the part
  // In the part: from this site on, bonds of the slowest direction lead out of it and are omitted.
  std::uint64_t last_plane;
};

struct RewiredEnds {
  std::uint64_t draw_index;
  Site a, b;
  std::uint64_t at_a, at_b;  // RunTable::place()
};

class RunLabels {
 public:
  // `part`: whole planes of the replica, whose bonds to the next plane after the part are omitted,
  // or all sites. `tile`: edge of the method's tiles, 0 for its default.
  RunLabels(const GraphTables& tables, IndexRange part, LabelMethod method, std::uint32_t tile);

  // Draws the bonds of a step and labels the clusters of `spins` [sites of all]. A part also reads
  // the spins of the plane after it. Adds the seconds of both steps and the passes to `work`.
  // Returns false if the poll stopped it.
  bool label(const Thresholds& thresholds, const DrawKey& key, StopPoll& poll,
             const std::uint8_t* spins, WorkCounters& work);

  // The occupied bonds from the last plane of the part to the plane after it: bit k is set if the
  // bond from site a + k to site b + k is occupied. The `before` sites that precede a and b in
  // their rows may be read, too.
  std::uint64_t bonds_to_next_part(const std::uint8_t* spins, std::uint64_t a, std::uint64_t b,
                                   std::uint64_t count, std::uint64_t before) const;

  // Of the part, with sites counted from its first one. `parent`: of each run a run of the same
  // cluster that is not larger; a root is the first run of its cluster.
  RunTable runs;

 private:
  // For methods other than `fast`.
  struct SiteLabels {
    BondConfiguration occupied;
    Labeller labeller;
    std::vector<Site> label;  // [sites of the part] smallest site of the cluster
  };

  BondsOfPart bonds(const std::uint8_t* spins) const;
  bool draw(const Thresholds& thresholds, const DrawKey& key, StopPoll& poll,
            const std::uint8_t* spins);
  void make_runs(const std::vector<Site>& label);

  const GraphTables& tables_;
  const IndexRange part_;
  const bool whole_;
  const Lattice lattice_;                   // of the part
  std::unique_ptr<std::uint64_t[]> drawn_;  // [bond_draws / 64 + slack] masks of drawn bonds
  std::vector<RewiredEnds> rewired_;        // with both ends in the part
  std::vector<std::uint8_t> rewired_on_;    // whether they are occupied
  std::unique_ptr<SiteLabels> site_labels_;
};

}  // namespace rewise::bytespin
