// Cluster updates of a word group that a team of threads makes on the CPU.
#pragma once

#include <cstdint>

#include "src/multispin/rules.hpp"
#include "src/multispin/thread_team.hpp"

namespace rewise::multispin {

struct ClusterRun {
  const Address first;   // of the first update
  const Threshold bond;  // not used by Houdayer moves
  const GhostBonds& ghost;
  const std::uint32_t count;  // updates
  const ThreadTeam& team;
  StopPoll& poll;
  // Replica r has made ahead[r] of the updates already; less than `count` at the end if the team is
  // stopped.
  UpdatesAhead& ahead;
  std::uint32_t* const spins;

  // The address of update w.
  Address at(std::uint32_t w) const { return {first.seed, first.group, first.step + w}; }
};

}  // namespace rewise::multispin
