// The base of the bytespin engine on every device: replicas of one byte per site, in site order,
// and the tables that they share (graph_tables.hpp).
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "src/bytespin/graph_tables.hpp"
#include "src/bytespin/local/local.hpp"
#include "src/engine/engine_base.hpp"

namespace rewise::bytespin {

// Whether a run needs the engine of interactions/: with couplings, fields or replica exchange.
inline bool has_interactions(const EngineSpec& spec) {
  return !spec.model.is_ferromagnet() || spec.exchange;
}

class BytespinEngine : public EngineBase {
 public:
  BytespinEngine(const Graph& graph, const EngineSpec& spec);

 protected:
  bool is_few_cluster() const { return spec_.cluster == ClusterUpdate::few_cluster; }
  // The engine of interactions/ does not measure them, not even with replica exchange only.
  bool has_cluster_sums() const final { return !has_interactions(spec_); }
  // Throws Error(usage) for a schedule that the model does not allow.
  virtual void check_schedule(const Schedule&) const {}
  // advance() for engines that step all replicas together. run(schedule, cycles) makes the updates
  // and calls count().
  bool advance_replicas(const EngineOptions& options, const Schedule& schedule,
                        std::uint64_t cycles,
                        const std::function<void(const Schedule&, std::uint64_t)>& run);

  const GraphTables tables_;
  std::vector<SweepPosition> positions_;  // [T * R] progress within step step_ + steps_ahead_

  void check_spins(Bytes spins) const final;
  std::vector<std::uint64_t> save_sums() const override;
  bool restore_sums(std::span<const std::uint64_t> words) override;

 private:
  void read_replica(std::size_t replica, std::span<std::uint8_t> out) const final {
    read_part(replica, out);
  }
  void pack_replica(std::size_t, Bytes spins, std::span<std::uint8_t> part) const final {
    std::copy(spins.begin(), spins.end(), part.begin());
  }
  Bytes position(std::size_t replica) const final;
  bool set_position(std::size_t replica, Bytes bytes) final;

  StepSeconds step_seconds_;
};

}  // namespace rewise::bytespin
