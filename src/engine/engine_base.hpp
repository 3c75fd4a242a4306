// What every engine keeps on every device: the specification, the number of the step, the cluster
// sums, the work done; and what follows from these and the spins: saved states, hashes, the end of
// the addressable steps.
//
// The spins of an engine are parts that are saved and advanced one by one: systems, or word groups
// of 32 replicas. An advance() that is stopped leaves every part some whole steps beyond step_ and
// at a place within its next step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/base/wide_sum.hpp"
#include "src/engine/engine.hpp"
#include "src/engine/pieces.hpp"
#include "src/engine/registry.hpp"

namespace rewise {

// Steps are numbered by 32 bits.
inline constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 32;

class EngineBase : public Engine {
 public:
  std::string_view name() const final { return to_string(kind_); }
  EngineState save() const final { return save_state(true); }
  void restore(const EngineState& state) final;
  void spins(std::uint32_t temperature, std::uint32_t replica,
             std::span<std::uint8_t> out) const final;
  std::uint64_t trajectory_hash(const EngineState* saved = nullptr) const final;
  Work work() const final { return work_; }
  // Whether an advance() was stopped on its way, here or before the state was saved.
  virtual bool under_way() const { return !in_step() || ahead_.front() > 0; }

 protected:
  using Bytes = std::span<const std::uint8_t>;

  EngineBase(EngineKind kind, const EngineSpec& spec, std::uint64_t sites, std::uint64_t bonds,
             std::size_t parts, std::size_t part_bytes);

  // A part's spins as they are saved, to the host and back. [part_bytes]
  virtual void read_part(std::size_t part, std::span<std::uint8_t> out) const = 0;
  virtual void write_part(std::size_t part, Bytes spins) = 0;
  // A part's spins as they are hashed: in site order, by one or several calls of `hash`; and
  // whether they are saved so.
  virtual void hash_part(std::size_t part, const std::function<void(Bytes)>& hash) const;
  virtual bool hashed_as_saved() const { return true; }
  virtual void read_replica(std::size_t replica, std::span<std::uint8_t> out) const = 0;  // [sites]
  // Error(data) for saved spins, [parts][part_bytes], that are none.
  virtual void check_spins(Bytes) const {}
  // The cluster sums as they are saved; the reverse, false where `words` are not so many.
  virtual std::vector<std::uint64_t> save_sums() const = 0;
  virtual bool restore_sums(std::span<const std::uint64_t> words) = 0;
  // The place of a part within its next step, as it is saved (all 0: at its beginning); the
  // reverse, false for no place of this run.
  virtual Bytes place(std::size_t) const { return {}; }
  virtual bool set_place(std::size_t, Bytes bytes) { return bytes.empty(); }
  // Of an advance() that was stopped on its way: steps and place of all parts.
  virtual std::vector<std::uint8_t> save_way() const;
  virtual bool restore_way(std::uint64_t step, Bytes way);

  // A state, or what of it comes behind the spins.
  EngineState save_state(bool with_spins) const;
  // restore() from the latter, all but the spins, of which there are so many bytes.
  void restore_rest(const EngineState& rest, std::uint64_t spin_bytes);
  std::size_t parts() const { return ahead_.size(); }
  bool is_wolff() const { return spec_.cluster == ClusterUpdate::wolff; }
  bool is_swendsen_wang() const { return spec_.cluster == ClusterUpdate::swendsen_wang; }

  // Error(usage) where these cycles would need more than 2^32 steps; their steps.
  std::uint64_t check_steps(const Schedule& schedule, std::uint64_t cycles) const;
  // Whether all parts are at the beginning of the same step.
  bool in_step() const;
  // Ends an advance() by `steps` whose parts went their way one by one; false where one of them has
  // not come to its end.
  bool all_arrived(std::uint64_t steps);
  // advance() of engines, all in_step() at the same step, that make every step of all their parts
  // together: calls run(schedule, cycles), which counts what it does.
  static bool advance_together(std::span<EngineBase* const> engines, Pace& pace,
                               const std::function<bool()>& stop, const Schedule& schedule,
                               std::uint64_t cycles,
                               const std::function<void(const Schedule&, std::uint64_t)>& run);
  // advance() of such an engine whose parts are not in_step(), as the engine on the CPU leaves
  // them: on that one.
  bool advance_on(std::unique_ptr<Engine> cpu, const Schedule& schedule, std::uint64_t cycles);
  // Counts finished cycles; `visited` sites by their cluster updates (Swendsen-Wang visits all).
  void count(const Schedule& schedule, std::uint64_t cycles, std::uint64_t visited);

  SumUnits sum_units() const;
  // A measurement from counts of every replica, as SumUnits takes them: empties `out`, fills the
  // sums of bonds and spins, then calls report_sums(). Columns of an engine's own come after it.
  void report(const unsigned long long* unequal, const unsigned long long* up, Observation& out);
  // Moves the cluster sums to `out`, whose columns of clusters are empty, and starts new ones.
  void report_sums(Observation& out);

  // Other cluster updates from here on; no cluster sums wait for a measurement.
  void change_cluster(ClusterUpdate cluster);

  EngineSpec spec_;
  const std::size_t replicas_;  // T * R
  std::uint64_t step_ = 0;      // of advances that came to an end
  Work work_;
  std::vector<std::uint32_t> ahead_;         // [parts] whole steps beyond step_
  std::vector<std::uint64_t> cluster_size_;  // [T * R] since the last measurement
  std::vector<WideSum> cluster_quartic_;     // [T * R] likewise, Swendsen-Wang only
  // [T * R] likewise, sum n w and sum w^2; none but of the multispin engine on a graph with
  // weights.
  std::vector<std::uint64_t> cluster_cross_, cluster_weight_;
  std::uint64_t cluster_updates_ = 0;  // that they cover

 private:
  const EngineKind kind_;
  const std::uint64_t sites_, bonds_;
  const std::size_t part_bytes_;
};

}  // namespace rewise
