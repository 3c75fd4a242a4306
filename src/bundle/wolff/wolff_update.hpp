// Wolff updates of one bundle by a team of threads, in the form that suits its clusters
// (wolff.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/bundle/team.hpp"
#include "src/bundle/wolff/wolff.hpp"
#include "src/bundle/wolff/wolff_dense.hpp"
#include "src/engine/engine.hpp"

namespace rewise::bundle {

// Working memory of one bundle in progress.
struct WolffScratch {
  std::vector<std::uint32_t> planes;                // [32][plane_words]
  std::vector<std::unique_ptr<WolffQueue>> queues;  // one per team member
  std::optional<DenseScratch> dense;
  std::atomic<std::uint32_t> next_replica{0};
  std::atomic<std::uint32_t> outgrown{0};  // replicas whose cluster turned dense
  std::uint32_t seed_spin = 0;
  std::array<std::uint64_t, kReplicas> flipped{};  // sites flipped in this call, per replica
};

class WolffUpdate {
 public:
  WolffUpdate(const Graph& graph, const Layout& layout, const EngineOptions& options)
      : options_(options), layout_(layout), sparse_(graph, layout), dense_(graph, layout) {}

  // `count` updates of all replicas, from step at.step on; replica r has made ahead[r] of them
  // already, and where the team was stopped it may be fewer than `count` at the end. `fraction` is
  // the mean share of sites that a cluster of this bundle flipped lately (a guess that changes
  // speed only). scratch.flipped holds the flipped sites per replica. Ends with a barrier.
  void run(const Address& at, Threshold bond, std::uint32_t count, double fraction,
           const Team& team, StopWatch& watch, WolffScratch& scratch, UpdatesAhead& ahead,
           std::uint32_t* spins) const;

 private:
  void in_planes(const Address& at, Threshold bond, std::uint32_t count, const Team& team,
                 StopWatch& watch, WolffScratch& scratch, UpdatesAhead& ahead,
                 std::uint32_t* spins) const;
  bool in_words(const Address& at, std::uint32_t w, Threshold bond, std::uint64_t limit,
                const Team& team, StopWatch& watch, WolffScratch& scratch, UpdatesAhead& ahead,
                std::uint32_t* spins) const;
  bool turn_dense(const Address& at, Threshold bond, const Team& team, StopWatch& watch,
                  WolffScratch& scratch, std::uint32_t* spins) const;

  const EngineOptions options_;
  const Layout& layout_;
  const WolffGeometry sparse_;
  const DenseGeometry dense_;
};

}  // namespace rewise::bundle
