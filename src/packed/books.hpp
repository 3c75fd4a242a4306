// What the packed engine keeps on any device: the specification, the layout, the step number; saved
// states, hashes and configurations.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/engine/engine.hpp"
#include "src/packed/rules.hpp"

namespace rewise::packed {

class Books : public Engine {
 public:
  Books(const Layout& layout, const EngineSpec& spec);

  std::string_view name() const override { return "packed"; }
  EngineState save() const override;
  void restore(const EngineState& state) override;
  void spins(std::uint32_t temperature, std::uint32_t replica,
             std::span<std::uint8_t> out) const override;
  std::uint64_t trajectory_hash() const override;
  Work work() const override { return work_; }

 protected:
  // Words of one system, [2][colour_words], from `first` on; to the host and back.
  virtual void read_words(std::size_t who, std::uint64_t first,
                          std::span<std::uint32_t> out) const = 0;
  virtual void write_words(std::size_t who, std::uint64_t first,
                           std::span<const std::uint32_t> words) = 0;

  // Advances all systems by calls of run(first, last, step, steps): `steps` steps of systems
  // [first, last) from step `step` on, done when it returns.
  bool advance_by(const EngineOptions& options, const Schedule& schedule, std::uint64_t cycles,
                  const std::function<void(std::size_t first, std::size_t last, std::uint64_t step,
                                           std::uint64_t steps)>& run);
  // Error(usage) for cluster updates, and where these cycles would need more than 2^32 steps.
  void check_schedule(const Schedule& schedule, std::uint64_t cycles) const;
  Draws draws(std::size_t who, std::uint32_t step) const {
    return make_draws(digits_[who / spec_.replicas], spec_.seed, static_cast<std::uint32_t>(who),
                      step);
  }
  bool hot(std::size_t who) const {
    return starts_hot(spec_.start, static_cast<std::uint32_t>(who % spec_.replicas));
  }
  bool glauber() const { return spec_.local == LocalUpdate::glauber; }
  // Sums of a measurement from unequal bonds and sites that are up.
  void put(std::size_t who, std::uint64_t unequal, std::uint64_t up, Observation& out) const;
  // An observation of the right shape: no cluster sums.
  void shape(Observation& out) const;

  const EngineSpec spec_;
  const Layout layout_;
  const std::size_t systems_;                  // T * R
  const std::vector<ThresholdDigits> digits_;  // [T]
  std::uint64_t step_ = 0;
  Work work_;

 private:
  // Sweeps of single systems that an advance() which was stopped made beyond step_: all systems
  // take a step in their order before the first takes the next.
  std::uint64_t sweeps_ahead_ = 0;
  double sweep_seconds_ = 0;  // of a system, 0 where it is not known
  // Calls f(bytes) for the spins of one system, in site order, some rows at a time.
  template <class F>
  void for_spins(std::size_t who, F&& f) const;
};

}  // namespace rewise::packed
