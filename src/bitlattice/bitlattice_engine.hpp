// The base of the bitlattice engine on every device: replicas of one bit per site, laid out in two
// colours (layout.hpp), and the thresholds of all temperatures.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/bitlattice/replica_rules.hpp"
#include "src/engine/engine_base.hpp"

namespace rewise::bitlattice {

// Throws Error(device) if this many replicas do not fit into the memory of the machine, or of a
// CUDA device, which becomes current.
void check_machine_memory(const Layout& layout, std::size_t replicas);
void check_device_memory(const Layout& layout, std::size_t replicas, int device);

class BitlatticeEngine : public EngineBase {
 public:
  BitlatticeEngine(const Layout& layout, const EngineSpec& spec);

 protected:
  // Copies words of one replica, [2][colour_words], starting at `first`, to the host and back.
  virtual void read_words(std::size_t replica, std::uint64_t first,
                          std::span<std::uint32_t> out) const = 0;
  virtual void write_words(std::size_t replica, std::uint64_t first,
                           std::span<const std::uint32_t> words) = 0;

  // Advances all replicas by calls of run(first, last, step, steps), which makes `steps` steps of
  // replicas [first, last), starting at step `step`. Throws Error(usage) for cluster updates.
  bool advance_replicas(const EngineOptions& options, const Schedule& schedule,
                        std::uint64_t cycles,
                        const std::function<void(std::size_t first, std::size_t last,
                                                 std::uint64_t step, std::uint64_t steps)>& run);
  Draws draws(std::size_t replica, std::uint32_t step) const { return rules_.draws(replica, step); }
  bool hot(std::size_t replica) const { return rules_.hot(replica); }
  // sums: [replicas][2] unequal bonds, sites up.
  template <class Sums>
  void fill_observation(const Sums& sums, Observation& out) {
    std::vector<unsigned long long> unequal(replicas_), up(replicas_);
    for (std::size_t replica = 0; replica < replicas_; ++replica) {
      unequal[replica] = sums[2 * replica];
      up[replica] = sums[2 * replica + 1];
    }
    EngineBase::fill_observation(unequal.data(), up.data(), out);
  }
  void check_spins(Bytes spins) const final;  // of whole rows

  const Layout layout_;
  const ReplicaRules rules_;

 private:
  void read_part(std::size_t replica, std::span<std::uint8_t> out) const final;
  void write_part(std::size_t replica, Bytes spins) final;
  void hash_part(std::size_t replica, const std::function<void(Bytes)>& hash) const final;
  bool hashed_as_saved() const final { return false; }
  void read_replica(std::size_t replica, std::span<std::uint8_t> out) const final;
  void pack_replica(std::size_t replica, Bytes spins, std::span<std::uint8_t> part) const final;
  std::vector<std::uint64_t> save_sums() const final { return {}; }
  bool restore_sums(std::span<const std::uint64_t> words) final { return words.empty(); }
  bool is_mid_advance() const final { return sweeps_ahead_ > 0; }
  std::vector<std::uint8_t> save_progress() const final;
  bool restore_progress(std::uint64_t step, Bytes way) final;

  // Number of sweeps of single replicas beyond step_, after a stopped advance(). All replicas take
  // a step, in order, before the first replica takes the next step.
  std::uint64_t sweeps_ahead_ = 0;
  double sweep_seconds_ = 0;  // of a replica; 0 if unknown
};

// Throws Error(device) if the memory of the machine is too small.
std::unique_ptr<Engine> make_cpu_engine(const Layout& layout, const EngineSpec& spec,
                                        const EngineOptions& options);

// On one CUDA device. Throws Error(device) if there is no such device or its memory is too small;
// the message says how much is needed and what to reduce.
std::unique_ptr<Engine> make_cuda_engine(const Layout& layout, const EngineSpec& spec,
                                         const EngineOptions& options);

}  // namespace rewise::bitlattice
