// The data common to the replicas of a bitlattice engine on every device: the thresholds of their
// temperatures, their initial spins and their draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/bitlattice/rules.hpp"
#include "src/engine/engine.hpp"

namespace rewise::bitlattice {

class ReplicaRules {
 public:
  ReplicaRules(int dim, const EngineSpec& spec) : spec_(spec) {
    for (const double beta : spec.betas) digits_.emplace_back(dim, spec.model, beta, spec.local);
  }

  std::size_t count() const { return digits_.size() * spec_.replicas; }  // T * R
  const EngineSpec& spec() const { return spec_; }
  Draws draws(std::size_t replica, std::uint32_t step) const {
    return make_draws(digits_[replica / spec_.replicas], spec_.seed,
                      static_cast<std::uint32_t>(replica), step);
  }
  bool hot(std::size_t replica) const {
    return starts_hot(spec_.start, static_cast<std::uint32_t>(replica % spec_.replicas));
  }

 private:
  const EngineSpec spec_;
  std::vector<ThresholdDigits> digits_;  // [T]
};

}  // namespace rewise::bitlattice
