// The part of the multispin engine that CPU and CUDA share: word groups of 32 replicas with one
// word per site (layout.hpp), and the thresholds of all temperatures.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "src/engine/engine_base.hpp"
#include "src/engine/exchange.hpp"
#include "src/multispin/layout.hpp"
#include "src/multispin/local/local.hpp"
#include "src/multispin/multispin.hpp"

namespace rewise::multispin {

// What the updates need to know of a temperature.
struct TemperatureRules {
  LocalTables local;
  Threshold bond;
  GhostBonds ghost;
};

// The data of an engine that a device needs. Must not outlive the engine.
struct EngineView {
  const Graph& graph;
  const Layout& layout;
  const EngineSpec& spec;
  const std::vector<TemperatureRules>& temperatures;  // [T]
  std::uint32_t groups_per_temperature, word_groups;  // R / 32; T * R / 32
  ReplicaExchange& exchange;
  const std::vector<std::uint32_t>& second_sublattice;

  const TemperatureRules& rules_of(std::size_t word_group) const {
    return temperatures[word_group / groups_per_temperature];
  }
};

class MultispinEngine : public EngineBase {
 public:
  MultispinEngine(const Graph& graph, const EngineSpec& spec, bool every_cell = false);

  EngineView view() const {
    return {
        graph_,    layout_,           spec_, temperatures_, groups_per_temperature_, word_groups_,
        exchange_, second_sublattice_};
  }

  std::vector<std::uint32_t> words() const final;

 protected:
  using Words = std::vector<std::uint32_t>;

  // Copy the words of one word group, in slot order, to the host and back.
  virtual void read_words(std::uint32_t word_group, Words& out) const = 0;
  virtual void write_words(std::uint32_t word_group, const Words& words) = 0;
  // Copy the state of replica exchange from the device to exchange_, and back.
  virtual void fetch_exchange() const {}
  virtual void send_exchange() {}
  // Returns the initial spins of a word group.
  Words start_words(std::uint32_t word_group) const;
  std::uint32_t hot_replicas() const;  // bit r: replica r of each word group starts hot

  // Changes the cluster update. There must be no pending cluster sums.
  void change_cluster(ClusterUpdate cluster);
  void move_cluster_sums(Observation& out) final;
  // Whether overlaps of replicas are measured.
  bool has_overlaps() const { return !spec_.model.is_ferromagnet() || spec_.exchange; }

  // How far a word group has advanced within its current step: a sweep, or cluster updates.
  struct StepPosition {
    SweepPosition sweep;
    UpdatesAhead ahead{};
  };

  const Graph& graph_;
  const Layout layout_;
  const std::uint32_t groups_per_temperature_, word_groups_;  // R / 32; T * R / 32
  std::vector<TemperatureRules> temperatures_;                // [T]
  std::vector<StepPosition> positions_;                       // [word groups]
  mutable ReplicaExchange exchange_;
  // [slots] For staggered magnetisations: XOR mask that inverts the spins of the second sublattice
  // and undoes Layout::flip_mask. Empty without EngineSpec::staggered, and if the sublattices are
  // the colours of the layout and Layout::flip_mask is empty.
  std::vector<std::uint32_t> second_sublattice_;
  // Sums of Swendsen-Wang updates since the last measurement. [T * R] sum n w and sum w^2; empty on
  // a graph without weights w.
  std::vector<std::uint64_t> cluster_cross_, cluster_weight_;
  // [T * R / 2] over pairs of clusters: n^2, and with weights n w and w^2. Empty without
  // spec_.cluster_pairs.
  std::array<std::vector<std::uint64_t>, 3> pair_sums_;

 private:
  void make_weighted_sums();
  void read_part(std::size_t word_group, std::span<std::uint8_t> out) const final;
  void write_part(std::size_t word_group, Bytes spins) final;
  void read_replica(std::size_t replica, std::span<std::uint8_t> out) const final;
  void pack_replica(std::size_t replica, Bytes spins, std::span<std::uint8_t> part) const final;
  std::vector<std::uint64_t> save_sums() const final;
  bool restore_sums(std::span<const std::uint64_t> words) final;
  Bytes position(std::size_t word_group) const final;
  bool set_position(std::size_t word_group, Bytes bytes) final;
};

std::unique_ptr<Engine> make_cpu_engine(const Graph& graph, const EngineSpec& spec,
                                        const EngineOptions& options);

// On one CUDA device.
// Throws Error(device) if the device does not exist or has too little memory; the message says how
// much the task needs and what to reduce.
std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options);

// See make_multispin_batch(); the tasks must be able to share launches.
std::unique_ptr<EngineBatch> make_cuda_batch(std::span<const BatchTask> tasks,
                                             const EngineOptions& options);

}  // namespace rewise::multispin
