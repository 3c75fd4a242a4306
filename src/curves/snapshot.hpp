// Configurations of all replicas of an engine at one time, and their correlation with another
// snapshot (configuration_correlation.hpp).
//
// The multispin engine holds 32 replicas in one word per site (Engine::words()), so differing spins
// are counted in one pass, about 40 times as fast as replica by replica. Replicas of other engines
// are compared one by one. Cost: multispin, about 0.2 ns per site and replica; memory N / 8 bytes
// per replica (Potts: N).
#pragma once

#include <cstdint>
#include <vector>

#include "src/curves/configuration_correlation.hpp"
#include "src/engine/engine.hpp"

namespace rewise {

class Snapshot {
 public:
  // For all `temperatures` of the engine with `replicas` each; `states` is 2 for Ising.
  Snapshot(const Engine& engine, std::uint64_t sites, std::uint32_t temperatures,
           std::uint32_t replicas, std::uint32_t states);

  // Computes the sums of this snapshot that comparisons need. Call once, before the first
  // comparison.
  void count();

 private:
  friend std::vector<double> correlations(const Snapshot& then, const Snapshot& now);

  std::uint64_t sites_;
  std::vector<std::uint32_t> words_;  // [T * R / 32][sites] multispin engine
  std::vector<std::uint64_t> up_;     // [T * R] multispin engine
  std::vector<SpinBits> replicas_;    // [T * R] other engines
};

// Pearson correlation of the spins of each replica, [T * R]. Requires count() of both.
std::vector<double> correlations(const Snapshot& then, const Snapshot& now);

}  // namespace rewise
