// What the single engine keeps on any device: the specification, the plan, the step number, the
// cluster sums; saved states, hashes and configurations, all in site order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/single/plan.hpp"
#include "src/single/swendsen_wang.hpp"

namespace rewise::single {

// Cluster sums of one system since the last measurement.
struct Pending {
  std::uint64_t size = 0;  // as Observation::cluster_size
  WideSum quartic = 0;
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

  const EngineSpec spec_;
  const Plan plan_;
  const std::size_t systems_;     // T * R
  std::vector<Pending> pending_;  // [T * R]
  std::uint64_t pending_updates_ = 0, step_ = 0;
  Work work_;
};

}  // namespace rewise::single
