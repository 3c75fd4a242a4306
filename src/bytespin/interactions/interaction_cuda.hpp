// Kernels of the updates with couplings and fields on a CUDA device (interaction_plan.hpp; same
// bits as on the CPU).
//
//   local          one thread updates one site
//   Wolff          a block grows the cluster of one replica: its sites are a queue in global
//                  memory, and a bit per site marks those in the cluster. All updates of a call are
//                  one launch
//   Swendsen-Wang  a thread joins the trees of a site and its larger neighbours (union-find by
//                  compare-and-swap, larger roots under smaller ones; Jaiganesh & Burtscher 2018),
//                  then each site flips according to its root
//   Houdayer       as Swendsen-Wang, with one set of trees per couple of replicas
//                  (src/model/partners.hpp)
//   exchange       one thread accepts or rejects the exchange of two replicas; then their bytes are
//                  exchanged
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/bytespin/interactions/interaction_plan.hpp"

namespace rewise::bytespin {

// Work space of cluster updates. The bits are 0 between updates.
struct InteractionScratch {
  Site* queue = nullptr;          // [replicas][sites]; Swendsen-Wang: the parents
  std::uint32_t* bits = nullptr;  // [replicas][words()] Wolff: sites in the cluster;
                                  // Swendsen-Wang: roots of clusters bound to the ghost spin
  unsigned long long* visited = nullptr;  // [replicas] sites of clusters found

  static RW_HD std::uint64_t words(std::uint64_t sites) { return (sites + 31) / 32; }
};

void launch_interaction_local(const InteractionPlan& interactions, const DeviceReplicas& replicas,
                              std::uint64_t first, std::uint64_t last, int colour,
                              cudaStream_t stream);
void launch_interaction_wolff(const InteractionPlan& interactions, const DeviceReplicas& replicas,
                              const InteractionScratch& scratch, std::uint32_t updates,
                              cudaStream_t stream);
void launch_interaction_swendsen_wang(const InteractionPlan& interactions,
                                      const DeviceReplicas& replicas,
                                      const InteractionScratch& scratch, cudaStream_t stream);
// `replicas`: all replicas of all temperatures, of which r and r + 2 form couples. Uses
// scratch.queue.
void launch_interaction_houdayer(const InteractionPlan& interactions,
                                 const DeviceReplicas& replicas, const InteractionScratch& scratch,
                                 cudaStream_t stream);
// One exchange step between temperatures (first, first + 1), (first + 2, first + 3) .. `bond_sums`:
// minus the energies of all replicas. Exchanges spins and walkers, and counts `attempts` and
// `exchanges`, [T]. accepted: [replicas] work space.
struct ExchangeSpace {
  std::uint32_t* walker;
  unsigned long long *attempts, *exchanges;
  std::uint8_t* accepted;
};
void launch_exchange(const InteractionPlan& interactions, const DeviceReplicas& replicas,
                     const unsigned long long* bond_sums, const ExchangeSpace& space,
                     std::uint32_t temperatures, std::uint32_t first, cudaStream_t stream);
void launch_interaction_bond_sums(const InteractionPlan& interactions,
                                  const DeviceReplicas& replicas, unsigned long long* bond_sums,
                                  cudaStream_t stream);
// Adds to arrays that must be 0 before: minus the energies [replicas]; overlap and link overlap
// [pairs][2] of replicas 2k and 2k + 1 of a temperature.
void launch_interaction_measure(const InteractionPlan& interactions, const DeviceReplicas& replicas,
                                unsigned long long* bond_sums, unsigned long long* overlaps,
                                cudaStream_t stream);
// Adds to an array that must be 0 before: the staggered magnetisations [replicas].
void launch_interaction_staggered(const InteractionPlan& interactions,
                                  const DeviceReplicas& replicas, unsigned long long* staggered,
                                  cudaStream_t stream);

}  // namespace rewise::bytespin
