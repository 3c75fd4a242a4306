// Houdayer's isoenergetic cluster moves (Houdayer, Eur. Phys. J. B 22, 479 (2001); Zhu, Ochoa &
// Katzgraber, Phys. Rev. Lett. 115, 077201 (2015)), and the pairs of replicas that they move.
//
// A move acts on two replicas a and b of one network at one temperature. Let q_i = s_i^a s_i^b. Its
// clusters are the connected regions of equal q_i, over all bonds. Each cluster flips in both
// replicas with probability 1/2; in a field only those of q_i = -1 do.
//
//   - At a bond between two clusters, s_i^a s_j^a = -s_i^b s_j^b before and after. Within a cluster
//     s_i s_j does not change, and where q_i = -1 the field terms of the replicas cancel. So the
//     sum of the two energies is conserved for any couplings and fields.
//   - The q_i do not change. So the reverse move has the same clusters and the same probability.
//
// Together, detailed balance holds for the product of two Boltzmann distributions of one
// temperature, without rejection. In zero field clusters of q_i = 1 flip, too, so that replica b
// and its mirror image -b have the same moves.
//
// Replicas r and r + 2 with r % 4 < 2 are partners, a Houdayer pair. Both have the same kind of
// start (starts_hot()), so that the comparison of ordered and random starts remains one of
// independent replicas. The overlap is measured for replicas 2k and 2k + 1, which are not partners,
// so that moves change it. Partners are correlated in time: a statistical error must count them as
// one member of the sample, and likewise the two overlaps of replicas 4k to 4k + 3.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/hd.hpp"

namespace rewise {

inline constexpr std::uint32_t kPartnerDistance = 2;

// The number of Houdayer pairs among `replicas` replicas of one temperature; the rest have no
// partner.
RW_HD constexpr std::uint32_t houdayer_pairs(std::uint32_t replicas) {
  return replicas / 4 * 2 + (replicas % 4 == 3 ? 1 : 0);
}
RW_HD constexpr std::uint32_t first_of_houdayer_pair(std::uint32_t pair) {
  return pair / 2 * 4 + pair % 2;
}

// A member of the sample is a Houdayer pair, or a replica without partner. Members alternate
// between ordered and random starts, as replicas do.
constexpr std::size_t member_of_replica(std::size_t replica) {
  return replica / 4 * 2 + replica % 2;
}
constexpr std::size_t members_of(std::size_t replicas) {
  return replicas / 4 * 2 + (replicas % 4 < 2 ? replicas % 4 : 2);
}

}  // namespace rewise
