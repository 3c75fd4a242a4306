// A slow, simple reference of the updates of the bitlattice engine: one replica, one site, one
// digit at a time. It works on coordinates and restates the address rules
// (src/bitlattice/rules.hpp) with the Philox of Random123. Every vectorised, threaded or device
// form must give the same bits.
#pragma once

#include <cstdint>
#include <vector>

#include "src/engine/engine.hpp"

namespace rewise::oracle {

class BitlatticeReference {
 public:
  BitlatticeReference(std::vector<std::uint32_t> extents, const EngineSpec& spec);

  void sweep();
  // Spins of replica t * R + r: [sites], 0 or 1, x fastest.
  const std::vector<std::uint8_t>& spins(std::size_t replica) const { return spins_[replica]; }
  std::size_t replicas() const { return spins_.size(); }
  Observation measure() const;

 private:
  struct Site {
    std::uint32_t x, row, parity;  // parity of all coordinates but x
    std::vector<std::size_t> around;
  };

  void update_column(std::size_t replica, const std::vector<std::size_t>& sites, std::uint32_t item,
                     unsigned bit);

  std::vector<std::uint32_t> extents_;
  EngineSpec spec_;
  std::vector<Site> sites_;                       // [sites]
  std::vector<std::vector<std::uint8_t>> spins_;  // [T R][sites]
  std::uint32_t step_ = 0;
};

}  // namespace rewise::oracle
