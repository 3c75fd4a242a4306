// The multispin engine's updates done slowly and obviously: one replica, one site, one draw at a
// time, from an edge list and the address rules (src/multispin/rules.hpp) restated here with
// Random123's own Philox. Every vectorised, threaded, dense, sparse or device form must give the
// same bits.
//
// The rules: replica r of temperature t is bit r % 32 of word group t * (R / 32) + r / 32. Its
// uniform fraction for an item (site or bond) and step has as binary digit k, most significant
// first, that bit of word k % 4 of philox(counter = (item, word group << 8 | k / 4, step, stream),
// key = seed). An event of probability P happens where fraction < round(2^32 P); P is capped at 1 -
// 2^-32 where a draw decides. A Swendsen-Wang cluster whose smallest site is s flips by that bit of
// word s % 4 of philox(item = s / 4, call 0, stream cluster_flip). Updates are numbered 0, 1, 2, ..
// ; local sweeps visit colours in ascending order. Cost: about 2 us per site or bond, word group
// and step.
#pragma once

#include <cstdint>
#include <vector>

#include "src/engine/engine.hpp"
#include "tests/support/edge_list.hpp"

namespace rewise::oracle {

class MultispinReference {
 public:
  // Colours [sites]; list and colours are copied. `couplings`: of every edge, 1 or -1, in local
  // updates; empty: all are 1.
  MultispinReference(const EdgeList& list, std::vector<std::uint8_t> colours,
                     const EngineSpec& spec, std::vector<int> couplings = {});

  void local_sweep();
  void wolff();
  void swendsen_wang();
  void advance(const Schedule& schedule, std::uint64_t cycles);

  // Spins of replica t * R + r, 0 or 1. [sites]
  const std::vector<std::uint8_t>& spins(std::size_t replica) const { return spins_[replica]; }
  std::size_t replicas() const { return spins_.size(); }
  // As the engine would report it; starts new cluster sums.
  Observation measure();
  // The configuration as word groups of words, [T][R / 32][site].
  std::vector<std::uint32_t> words() const;

 private:
  std::vector<std::uint32_t> fractions(std::uint32_t stream, std::uint64_t item,
                                       std::size_t word_group) const;  // [32], by replica
  // Of every edge, [edges][32].
  std::vector<std::vector<std::uint32_t>> bond_fractions(std::size_t word_group) const;
  // The sites that open bonds join to a site, itself first.
  std::vector<std::uint32_t> cluster_of(std::uint32_t site, std::size_t replica,
                                        const std::vector<std::vector<std::uint32_t>>& fraction,
                                        std::vector<bool>& reached) const;

  EngineSpec spec_;
  EdgeList list_;
  std::vector<std::uint8_t> colours_;
  std::vector<int> couplings_;                                              // [edges]
  std::vector<std::vector<std::pair<std::uint32_t, std::size_t>>> around_;  // neighbour, edge
  std::vector<std::vector<std::uint8_t>> spins_;                            // [T R][sites]
  std::vector<std::uint64_t> cluster_size_;                                 // [T R]
  __extension__ std::vector<unsigned __int128> cluster_quartic_;            // [T R]
  std::uint64_t cluster_updates_ = 0;
  std::uint32_t step_ = 0;
};

// The colours that the library's updates must follow: the parity of the coordinates, worked out
// here, or the graph's own where it has no lattice.
std::vector<std::uint8_t> colours_of(const Graph& graph);

}  // namespace rewise::oracle
