// The configurations of all replicas of an engine at one time, and how far they are correlated with
// those of another (configuration_correlation.hpp says what that is).
//
// A saved state of the multispin engine has 32 replicas in a word per site: the spins that differ
// are counted for all of them in one pass, some 40 times as fast as replica by replica. The other
// engines' replicas are taken one by one.
// Cost: multispin, about 0.2 ns per site and replica; memory N / 8 bytes per replica (Potts: N).
#pragma once

#include <cstdint>
#include <vector>

#include "src/curves/configuration_correlation.hpp"
#include "src/engine/engine.hpp"

namespace rewise {

class Snapshot {
 public:
  // One temperature, `states` 2 for Ising.
  Snapshot(const Engine& engine, std::uint64_t sites, std::uint32_t replicas, std::uint32_t states);

  // Counts what a comparison needs of each snapshot alone; once, before the first.
  void count();

 private:
  friend std::vector<double> correlations(const Snapshot& then, const Snapshot& now);

  std::uint64_t sites_;
  std::vector<std::uint32_t> words_;  // [replicas / 32][sites] multispin engine
  std::vector<std::uint64_t> up_;     // [replicas] likewise
  std::vector<SpinBits> replicas_;    // [replicas] other engines
};

// Pearson correlation of the spins of each replica; both counted.
std::vector<double> correlations(const Snapshot& then, const Snapshot& now);

}  // namespace rewise
