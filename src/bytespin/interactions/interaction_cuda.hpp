// Kernels of the updates with couplings and fields on a CUDA device (interaction_rules.hpp; same
// bits as on the CPU).
//
//   local          one thread updates one site
//   Wolff          a block grows the cluster of one replica: its sites are a queue in global
//                  memory, and a bit per site marks those in the cluster. All updates of a call are
//                  one launch
//   Swendsen-Wang  a thread joins the trees of a site and its larger neighbours (union-find by
//                  compare-and-swap, larger roots under smaller ones; Jaiganesh & Burtscher 2018),
//                  then each site flips according to its root
//   Houdayer       as Swendsen-Wang, with one set of trees per pair of replicas
//                  (src/model/partners.hpp)
//   exchange       one thread accepts or rejects the exchange of two replicas; then their bytes are
//                  exchanged
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/bytespin/cluster_updater_cuda.hpp"
#include "src/bytespin/interactions/interaction_rules.hpp"
#include "src/cuda/device_buffer.hpp"

namespace rewise::bytespin {

class InteractionClustersCuda final : public ClusterUpdaterCuda {
 public:
  InteractionClustersCuda(const InteractionRules& rules, const DeviceReplicas& replicas, bool wolff,
                          cudaStream_t stream);

  // Bytes of work space on the device.
  static std::uint64_t bytes(std::uint64_t sites, std::uint64_t replicas) {
    return replicas * (4 * sites + 4 * words(sites));
  }

  // Wolff: adds the sizes of the clusters found to replicas.pending. Swendsen-Wang: no sums.
  void run(const DeviceReplicas& replicas, std::uint32_t updates, cudaStream_t stream) override;
  // A Houdayer move. `replicas`: all replicas of all temperatures, of which r and r + 2 form
  // pairs.
  void houdayer_move(const DeviceReplicas& replicas, cudaStream_t stream);

 private:
  static std::uint64_t words(std::uint64_t sites) { return (sites + 31) / 32; }

  const InteractionRules rules_;
  const bool wolff_;
  DeviceBuffer<Site> queue_;  // [replicas][sites]; Swendsen-Wang and Houdayer: the parents
  // [replicas][words()], 0 between updates. Wolff: sites in the cluster; Swendsen-Wang: roots of
  // clusters bound to the ghost spin
  DeviceBuffer<std::uint32_t> bits_;
};

void launch_interaction_local(const InteractionRules& rules, const DeviceReplicas& replicas,
                              std::uint64_t first, std::uint64_t last, int colour,
                              cudaStream_t stream);
// One exchange step between temperatures (first, first + 1), (first + 2, first + 3) .. `bond_sums`:
// minus the energies of all replicas. Exchanges spins and walkers, and counts `attempts` and
// `exchanges`, [T]. accepted: [replicas] work space.
struct ExchangeSpace {
  std::uint32_t* walker;
  unsigned long long *attempts, *exchanges;
  std::uint8_t* accepted;
};
void launch_exchange(const InteractionRules& rules, const DeviceReplicas& replicas,
                     const unsigned long long* bond_sums, const ExchangeSpace& space,
                     std::uint32_t temperatures, std::uint32_t first, cudaStream_t stream);
void launch_interaction_bond_sums(const InteractionRules& rules, const DeviceReplicas& replicas,
                                  unsigned long long* bond_sums, cudaStream_t stream);
// Adds to arrays that must be 0 before: minus the energies [replicas]; overlap and link overlap
// [pairs][2] of replicas 2k and 2k + 1 of a temperature; and the staggered magnetisations
// [replicas], if rules.sublattice is given.
void launch_interaction_measure(const InteractionRules& rules, const DeviceReplicas& replicas,
                                unsigned long long* bond_sums, unsigned long long* overlaps,
                                unsigned long long* staggered, cudaStream_t stream);

}  // namespace rewise::bytespin
