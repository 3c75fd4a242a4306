// A slow, simple reference of the updates of the multispin engine: one replica, one site, one draw
// at a time. It works on an edge list and restates the address rules (src/multispin/rules.hpp) with
// the Philox of Random123. Every vectorised, threaded, dense, sparse or device form must give the
// same bits.
//
// Replica r of temperature t is bit r % 32 of word group t * (R / 32) + r / 32. Updates are
// numbered 0, 1, 2, .. (`step`); local sweeps visit colours in ascending order.
//
// Random numbers: each replica has a uniform fraction per item (site or bond) and step. Its binary
// digit k, most significant first, is bit r % 32 of word k % 4 of philox(counter = (item,
// word group << 8 | k / 4, step, stream), key = seed). An event of probability P happens if
// fraction < round(2^32 P); P is capped at 1 - 2^-32 if a draw decides.
//
// Cluster updates: bonds are drawn between equal spins, or unequal ones if J = -1. A Swendsen-Wang
// cluster whose smallest site is s flips if bit r % 32 of word s % 4 of philox(item = s / 4, call
// 0, stream cluster_flip) is set. A Houdayer move flips connected regions of equal s_i s'_i in both
// replicas r and r + 2 (r % 4 < 2), by that bit of stream houdayer.
//
// In a field h, let h' be the sum of h and of the couplings' fields. Metropolis uses the energy
// 2 s h' of a flip. Glauber draws spin up with probability 1 / (1 + exp(-2 beta h')). A site is
// bound to the ghost spin if s h > 0 and its fraction < round(2^32 (1 - exp(-2 beta |h|)));
// clusters with a bound site do not flip. Houdayer moves flip regions of unequal spins only. (With
// random fields, local updates compute with reversed spins where h < 0.)
//
// Cost: about 2 us per site or bond, word group and step.
#pragma once

#include <cstdint>
#include <vector>

#include "src/engine/engine.hpp"
#include "tests/support/edge_list.hpp"

namespace rewise::oracle {

class MultispinReference {
 public:
  // Colours [sites]; list and colours are copied. `couplings`: [edges], 1 or -1; empty = all are 1.
  // `field`: [sites] in units of 2^-20; empty = none.
  MultispinReference(const EdgeList& list, std::vector<std::uint8_t> colours,
                     const EngineSpec& spec, std::vector<int> couplings = {},
                     std::vector<std::int32_t> field = {});

  void local_sweep();
  void wolff();
  void swendsen_wang();
  void houdayer();
  void advance(const Schedule& schedule, std::uint64_t cycles);

  // Spins of replica t * R + r, 0 or 1. [sites]
  const std::vector<std::uint8_t>& spins(std::size_t replica) const { return spins_[replica]; }
  std::size_t replicas() const { return spins_.size(); }
  // The same observation as from the engine. Resets the cluster sums.
  Observation measure();
  // The configuration as words, [T][R / 32][site].
  std::vector<std::uint32_t> words() const;

 private:
  std::vector<std::uint32_t> fractions(std::uint32_t stream, std::uint64_t item,
                                       std::size_t word_group) const;  // [32], by replica
  // Uniform fractions of every edge, [edges][32].
  std::vector<std::vector<std::uint32_t>> bond_fractions(std::size_t word_group) const;
  // The sites that active bonds connect to a site, beginning with the site itself.
  std::vector<std::uint32_t> cluster_of(std::uint32_t site, std::size_t replica,
                                        const std::vector<std::vector<std::uint32_t>>& fraction,
                                        std::vector<bool>& reached) const;

  EngineSpec spec_;
  EdgeList list_;
  std::vector<std::uint8_t> colours_;
  // Whether a cluster has a site that is bound to the ghost spin.
  bool is_bound(const std::vector<std::uint32_t>& cluster, std::size_t replica) const;
  double field_at(std::uint32_t site) const { return field_.empty() ? 0 : field_[site] * 0x1p-20; }

  std::vector<int> couplings_;                                              // [edges]
  std::vector<std::int32_t> field_;                                         // [sites] or empty
  std::vector<std::vector<std::pair<std::uint32_t, std::size_t>>> around_;  // neighbour, edge
  std::vector<std::vector<std::uint8_t>> spins_;                            // [T R][sites]
  std::vector<std::uint64_t> cluster_size_;                                 // [T R]
  __extension__ std::vector<unsigned __int128> cluster_quartic_;            // [T R]
  std::uint64_t cluster_updates_ = 0;
  std::uint32_t step_ = 0;
};

// The colours that updates of the library must follow: the parity of the coordinates, computed
// here, or the colours of the graph if it has no lattice.
std::vector<std::uint8_t> colours_of(const Graph& graph);

}  // namespace rewise::oracle
