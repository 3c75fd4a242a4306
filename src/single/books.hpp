// What the single engine keeps on any device: the specification, the plan, the step number, the
// cluster sums; saved states, hashes and configurations, all in site order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/engine/pieces.hpp"
#include "src/single/local/metropolis.hpp"
#include "src/single/plan.hpp"
#include "src/single/swendsen_wang/swendsen_wang.hpp"

namespace rewise::single {

// Cluster sums of one system since the last measurement.
struct Pending {
  std::uint64_t size = 0;  // as Observation::cluster_size
  WideSum quartic = 0;
};

// How far a system has come on an advance() that was stopped: whole steps, then a part of a sweep.
struct Position {
  std::uint32_t steps = 0;
  SweepPlace place;
  bool operator==(const Position&) const = default;
};

class Books : public Engine {
 public:
  Books(const Graph& graph, const EngineSpec& spec);

  std::string_view name() const override { return "single"; }
  EngineState save() const override;
  void restore(const EngineState& state) override;
  void spins(std::uint32_t temperature, std::uint32_t replica,
             std::span<std::uint8_t> out) const override;
  std::uint64_t trajectory_hash() const override;
  Work work() const override { return work_; }

 protected:
  // The spins of one system, to the host and back. [sites]
  virtual void read_system(std::size_t who, std::span<std::uint8_t> out) const = 0;
  virtual void write_system(std::size_t who, std::span<const std::uint8_t> spins) = 0;

  bool is_wolff() const { return spec_.cluster == ClusterUpdate::wolff; }
  // Error(usage) where these cycles would need more than 2^32 steps.
  void check_steps(const Schedule& schedule, std::uint64_t cycles) const;
  // The sums of all systems on CUDA, [2][systems]: bonds between unequal spins (modulo 2^64); spins
  // up, or of Potts the sites in the most frequent state. With the cluster sums, see below.
  void report(std::span<const unsigned long long> sums, Observation& out);
  // Hands out the cluster sums and starts new ones.
  void close_sums(Observation& out);

  // advance() of engines that make a step of all systems together; run(schedule, cycles) counts the
  // steps it makes.
  bool advance_together(const EngineOptions& options, const Schedule& schedule,
                        std::uint64_t cycles,
                        const std::function<void(const Schedule&, std::uint64_t)>& run);
  // Stopped on the way; all systems at the end of the same step.
  bool under_way() const { return !in_step() || positions_.front().steps > 0; }
  bool in_step() const;

  const EngineSpec spec_;
  const Plan plan_;
  const std::size_t systems_;        // T * R
  std::vector<Pending> pending_;     // [T * R]
  std::vector<Position> positions_;  // [T * R] beyond step_
  std::uint64_t pending_updates_ = 0, step_ = 0;
  Work work_;

 private:
  std::size_t restore_positions(const EngineState& state);
  Pace pace_;
};

}  // namespace rewise::single
