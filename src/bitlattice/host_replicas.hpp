// The spins of all replicas in host memory, whose strips (strip.hpp) are spread over threads. A
// thread usually updates the strips that it initialised, so their memory is local (NUMA).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/bitlattice/replica_rules.hpp"

namespace rewise::bitlattice {

class HostReplicas {
 public:
  // `layout` and `rules` must outlive this object. Initialises the words `own` of both colours, all
  // words but the halo. Throws Error(device) if the memory is too small.
  HostReplicas(const Layout& layout, const ReplicaRules& rules, Words own, int threads);

  // The words of a colour, [colour_words].
  std::uint32_t* words(std::size_t replica, int colour) const {
    return spins_of(replica) + (colour == 0 ? 0 : layout_.colour_words());
  }
  // Computes what the updates of replicas [first, last) at a step need. Call it before update().
  void make_draws(std::size_t first, std::size_t last, std::uint64_t step);
  // Updates parts of a colour of replicas [first, last).
  void update(std::size_t first, std::size_t last, int colour, std::span<const Words> parts,
              int threads);
  // sums: [replicas][2] bonds between unequal spins that end at own sites of colour 0, and own
  // sites that point up.
  void count(std::span<std::uint64_t> sums, int threads) const;

 private:
  std::uint32_t* spins_of(std::size_t replica) const {
    return spins_.get() + replica * layout_.words();
  }

  const Layout& layout_;
  const ReplicaRules& rules_;
  const Words own_;
  std::unique_ptr<std::uint32_t[]> spins_;  // [replicas][words]
  std::vector<Draws> draws_;                // [replicas]
};

}  // namespace rewise::bitlattice
