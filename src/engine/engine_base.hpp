// The base class of all engines on all devices. It holds the specification, the step number, the
// cluster sums and the work counters. It implements saved states, hashes of the spins and the limit
// on step numbers.
//
// The spins of an engine consist of parts that are saved and advanced individually: replicas, or
// word groups of 32 replicas. A stopped advance() leaves each part some whole steps beyond step_,
// at a position within its next step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/base/wide_sum.hpp"
#include "src/engine/engine.hpp"
#include "src/engine/registry.hpp"
#include "src/engine/run_in_pieces.hpp"

namespace rewise {

// Steps are numbered by 32 bits.
inline constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 32;

class EngineBase : public Engine {
 public:
  std::string_view name() const final { return to_string(kind_); }
  EngineState save() const final { return save_state(true); }
  void restore(const EngineState& state) final;
  void spins(std::uint32_t temperature, std::uint32_t replica,
             std::span<std::uint8_t> out) const final;
  void write_spins(std::span<const std::uint8_t> spins) final;
  std::uint64_t trajectory_hash(const EngineState* saved = nullptr) const final;
  WorkCounters work() const final { return work_; }
  bool is_mid_advance() const override { return !in_step() || steps_ahead_.front() > 0; }

 protected:
  using Bytes = std::span<const std::uint8_t>;
  using MakeEngine = std::unique_ptr<Engine> (*)(const Graph&, const EngineSpec&,
                                                 const EngineOptions&);

  EngineBase(EngineKind kind, const EngineSpec& spec, std::uint64_t sites, std::uint64_t bonds,
             std::size_t parts, std::size_t part_bytes);

  // A part's spins in the saved form, copied to and from the host. [part_bytes]
  virtual void read_part(std::size_t part, std::span<std::uint8_t> out) const = 0;
  virtual void write_part(std::size_t part, Bytes spins) = 0;
  // hash_part() hashes the spins of a part in site order, by one or several calls of `hash`.
  // hashed_as_saved() returns whether the saved form has the same order.
  virtual void hash_part(std::size_t part, const std::function<void(Bytes)>& hash) const;
  virtual bool hashed_as_saved() const { return true; }
  virtual void read_replica(std::size_t replica, std::span<std::uint8_t> out) const = 0;  // [sites]
  // The inverse of read_replica(): writes the spins of a replica, [sites], to the saved form of its
  // part, where they are 0 before the call.
  virtual void pack_replica(std::size_t replica, Bytes spins,
                            std::span<std::uint8_t> part) const = 0;
  // Throws Error(data) if saved spins, [parts][part_bytes], are invalid.
  virtual void check_spins(Bytes) const {}
  // The cluster sums in the saved form. restore_sums() returns false for a wrong number of words.
  virtual std::vector<std::uint64_t> save_sums() const = 0;
  virtual bool restore_sums(std::span<const std::uint64_t> words) = 0;
  // The position of a part within its next step in the saved form; all 0 = at its beginning.
  // set_position() returns false for a position that this run cannot have.
  virtual Bytes position(std::size_t) const { return {}; }
  virtual bool set_position(std::size_t, Bytes bytes) { return bytes.empty(); }
  // Steps and positions of all parts after a stopped advance().
  virtual std::vector<std::uint8_t> save_progress() const;
  virtual bool restore_progress(std::uint64_t step, Bytes way);

  // A state with or without its spins.
  EngineState save_state(bool with_spins) const;
  // Restores a state without its spins. `spin_bytes`, their total size, is checked.
  void restore_without_spins(const EngineState& rest, std::uint64_t spin_bytes);
  std::size_t parts() const { return steps_ahead_.size(); }
  bool is_wolff() const { return spec_.cluster == ClusterUpdate::wolff; }
  bool is_swendsen_wang() const { return spec_.cluster == ClusterUpdate::swendsen_wang; }
  // Whether measurements have sums over clusters. With couplings or fields the spins of a cluster
  // differ, and cluster sizes do not give an estimator of m^2.
  virtual bool has_cluster_sums() const { return spec_.model.is_ferromagnet(); }

  // Number of steps of these cycles. Throws Error(usage) if there would be more than 2^32 steps.
  std::uint64_t check_steps(const Schedule& schedule, std::uint64_t cycles) const;
  // True if all parts are at the beginning of the same step.
  bool in_step() const;
  // Completes an advance() by `steps` whose parts were advanced individually; returns false if a
  // part has not reached the end.
  bool all_arrived(std::uint64_t steps);
  // advance() for engines that make each step of all their parts together. All engines must be
  // in_step() at the same step. Calls run(schedule, cycles), which must call count().
  static bool advance_together(std::span<EngineBase* const> engines, StepSeconds& step_seconds,
                               const std::function<bool()>& stop, const Schedule& schedule,
                               std::uint64_t cycles,
                               const std::function<void(const Schedule&, std::uint64_t)>& run);
  // advance() by `steps` steps, for CPU engines that make the last `closing` steps of a cycle for
  // all parts together. advance_to(n) advances all parts to n steps beyond step_, where the closing
  // steps of a cycle begin. close(step) makes the closing steps, which are numbered from `step` on.
  // Both advance_to() and this function return false if stopped.
  bool advance_and_close(const EngineOptions& options, const Schedule& schedule,
                         std::uint64_t steps, std::uint64_t closing,
                         const std::function<bool(std::uint64_t)>& advance_to,
                         const std::function<void(std::uint32_t)>& close);
  // advance() for an engine that uses advance_together() and was restored from the state of a
  // stopped CPU engine, so that its parts are not in_step(). Moves the state to a CPU engine of
  // `graph`, advances that engine and copies its state back.
  bool advance_on_cpu(MakeEngine make, const Graph& graph, const std::function<bool()>& stop,
                      const Schedule& schedule, std::uint64_t cycles);
  // Adds finished cycles to step_ and the counters. `visited`: number of sites that their cluster
  // updates visited; ignored for Swendsen-Wang, which visits all sites.
  void count(const Schedule& schedule, std::uint64_t cycles, std::uint64_t visited);

  SumUnits sum_units() const;
  // Makes a measurement from the counts of all replicas (SumUnits): empties `out`, fills the sums
  // of bonds and spins, then calls move_cluster_sums(). An engine fills its additional columns
  // afterwards.
  void fill_observation(const unsigned long long* unsatisfied, const unsigned long long* up,
                        Observation& out);
  // Moves the cluster sums to `out`, whose cluster columns are empty, and resets them.
  virtual void move_cluster_sums(Observation& out);

  EngineSpec spec_;
  const std::size_t replicas_;  // T * R
  std::uint64_t step_ = 0;      // of completed calls of advance()
  WorkCounters work_;
  std::vector<std::uint32_t> steps_ahead_;   // [parts] whole steps beyond step_
  std::vector<std::uint64_t> cluster_size_;  // [T * R] since the last measurement
  std::vector<WideSum> cluster_quartic_;     // [T * R] likewise, Swendsen-Wang only
  std::uint64_t cluster_updates_ = 0;        // covered by these sums

 private:
  const EngineKind kind_;
  const std::uint64_t sites_, bonds_;
  const std::size_t part_bytes_;
};

}  // namespace rewise
