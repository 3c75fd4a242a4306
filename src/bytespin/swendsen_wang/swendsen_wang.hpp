// Swendsen-Wang update (Swendsen & Wang 1987): bonds between equal spins are drawn with probability
// 1 - exp(-2 beta); every cluster flips with probability 1/2 (Potts: 1 - exp(-beta), and a new
// state for every cluster). The smallest site of a cluster addresses its flip, so the trajectory
// does not depend on the labelling method.
//
// Labelling (src/label/method.hpp): `fast` gives one label to each run of sites of a row that
// occupied bonds connect, joins runs in the pass that compares spins, and flips whole runs. The
// other methods take the occupied bonds and return a label per site, which then selects the flip of
// that site.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/bytespin/plan.hpp"
#include "src/engine/stop_poll.hpp"
#include "src/label/cluster_sums.hpp"
#include "src/label/method.hpp"
#include "src/label/run_table.hpp"

namespace rewise::bytespin {

struct SiteLabels;  // swendsen_wang_labels.hpp

// The work space of one thread, large enough for every replica of the plan.
struct SwendsenWangScratch {
  struct RewiredEnds {
    std::uint64_t slot;
    Site a, b;
    std::uint64_t at_a, at_b;  // RunTable::place()
  };

  // `tile`: edge of the method's tiles, 0 for its default.
  SwendsenWangScratch(const Plan& plan, LabelMethod method, std::uint32_t tile);
  ~SwendsenWangScratch();

  std::vector<std::uint64_t> drawn;       // [slots / 64 + 8] masks of drawn bonds
  std::vector<std::uint64_t> flip_draws;  // [sites / 64 + 2] a random bit per site
  std::vector<RewiredEnds> rewired;       // [rewired bonds]
  std::vector<std::uint8_t> rewired_on;   // [rewired bonds] drawn
  RunTable runs;                          // `parent`: of each run; later its cluster index
  std::unique_ptr<std::uint32_t[]> size;  // [cluster], up to sites + 1
  std::unique_ptr<std::uint8_t[]> flip;   // [cluster], up to sites + 1
  std::unique_ptr<SiteLabels> labels;     // for methods other than `fast`
};

// Makes one update, and adds the seconds of each of its steps to `steps`. If the poll stops the
// update, no spin is flipped and nothing is returned.
std::optional<ClusterSums> swendsen_wang_update(const Plan& plan, const Tables& tables,
                                                const DrawKey& key, StopPoll& poll,
                                                SwendsenWangScratch& scratch,
                                                std::span<std::uint8_t> spins,
                                                ClusterPhaseTimes& phases);

// Wolff update (wolff.hpp) by labelling: labels all clusters and gives the new state to the cluster
// that contains the seed. Costs as much as a Swendsen-Wang update, even if that cluster is small.
// Returns the size of the cluster, or 0 if the poll stopped the update.
std::uint64_t wolff_by_labels(const Plan& plan, const Tables& tables, const DrawKey& key,
                              StopPoll& poll, SwendsenWangScratch& scratch,
                              std::span<std::uint8_t> spins, ClusterPhaseTimes& phases);

}  // namespace rewise::bytespin
