// A slow, simple reference of the updates of the bitlattice engine: one replica, one site, one
// digit at a time. It works on coordinates and restates the address rules
// (src/bitlattice/rules.hpp) with the Philox of Random123. Every other implementation (vectorised,
// threaded, CUDA) must give the same bits.
#pragma once

#include <cstdint>
#include <vector>

#include "src/engine/engine.hpp"

namespace rewise::oracle {

class BitlatticeReference {
 public:
  BitlatticeReference(std::vector<std::uint32_t> extents, const EngineSpec& spec);

  void sweep();
  // [sites] 0 or 1, x fastest. Replica r at temperature t has the number t * R + r, where R is the
  // number of replicas per temperature.
  const std::vector<std::uint8_t>& spins(std::size_t replica) const { return spins_[replica]; }
  std::size_t replicas() const { return spins_.size(); }
  Observation measure() const;

 private:
  struct Site {
    std::uint32_t x, row, parity;     // parity of the sum of all coordinates except x
    std::vector<std::size_t> around;  // [2 dim] the neighbours
  };

  // Updates the sites at bit `bit` of the words of a group, at most four. `item` identifies the
  // group and the colour in the address of their random words.
  void update_column(std::size_t replica, const std::vector<std::size_t>& sites, std::uint32_t item,
                     unsigned bit);

  std::vector<std::uint32_t> extents_;
  EngineSpec spec_;
  std::vector<Site> sites_;                       // [sites]
  std::vector<std::vector<std::uint8_t>> spins_;  // [T R][sites]
  std::uint32_t step_ = 0;
};

}  // namespace rewise::oracle
