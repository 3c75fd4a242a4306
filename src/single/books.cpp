#include "src/single/books.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/base/error.hpp"

namespace rewise::single {

Books::Books(const Graph& graph, const EngineSpec& spec)
    : spec_(spec),
      plan_(graph, spec),
      systems_(spec.betas.size() * spec.replicas),
      pending_(systems_) {}

void Books::check_steps(const Schedule& schedule, std::uint64_t cycles) const {
  constexpr std::uint64_t kSteps = std::uint64_t{1} << 32;
  if (cycles > (kSteps - step_) / schedule.steps_per_cycle()) {
    throw Error(ExitCode::usage,
                fmt::format("{} cycles of {} after {} steps are too many (2^32 steps in a run)",
                            cycles, to_string(schedule), step_));
  }
}

void Books::report(std::span<const unsigned long long> sums, Observation& out) {
  const auto bonds = static_cast<std::int64_t>(plan_.graph.bonds());
  const auto sites = static_cast<std::int64_t>(plan_.sites);
  out.bond_sum.resize(systems_);
  out.magnetisation.resize(systems_);
  for (std::size_t who = 0; who < systems_; ++who) {
    out.bond_sum[who] = bonds - (plan_.potts ? 1 : 2) * static_cast<std::int64_t>(sums[who]);
    out.magnetisation[who] = plan_.states * static_cast<std::int64_t>(sums[systems_ + who]) - sites;
  }
  close_sums(out);
}

void Books::close_sums(Observation& out) {
  const bool clusters = pending_updates_ > 0,
             quartic = clusters && spec_.cluster == ClusterUpdate::swendsen_wang;
  out.cluster_size.resize(clusters ? systems_ : 0);
  out.cluster_quartic_low.resize(quartic ? systems_ : 0);
  out.cluster_quartic_high.resize(quartic ? systems_ : 0);
  out.cluster_updates = pending_updates_;
  for (std::size_t who = 0; who < systems_; ++who) {
    if (clusters) out.cluster_size[who] = pending_[who].size;
    if (quartic) {
      out.cluster_quartic_low[who] = static_cast<std::uint64_t>(pending_[who].quartic);
      out.cluster_quartic_high[who] = static_cast<std::uint64_t>(pending_[who].quartic >> 64);
    }
    pending_[who] = {};
  }
  pending_updates_ = 0;
}

// State: the spins [T][R][sites], then 64-bit words: pending updates, then size, quartic (low,
// high) of every system.
EngineState Books::save() const {
  static_assert(std::endian::native == std::endian::little);
  EngineState state{"single", step_, {}};
  const std::size_t spin_bytes = systems_ * plan_.sites;
  state.bytes.resize(spin_bytes + 8 * (1 + 3 * systems_));
  for (std::size_t who = 0; who < systems_; ++who) {
    read_system(who, {state.bytes.data() + who * plan_.sites, plan_.sites});
  }
  std::uint8_t* next = state.bytes.data() + spin_bytes;
  const auto put = [&next](std::uint64_t word) {
    std::memcpy(next, &word, 8);
    next += 8;
  };
  put(pending_updates_);
  for (const Pending& pending : pending_) {
    put(pending.size);
    put(static_cast<std::uint64_t>(pending.quartic));
    put(static_cast<std::uint64_t>(pending.quartic >> 64));
  }
  return state;
}

void Books::restore(const EngineState& state) {
  const std::size_t spin_bytes = systems_ * plan_.sites;
  const std::size_t expected = spin_bytes + 8 * (1 + 3 * systems_);
  if (state.engine != name() || state.bytes.size() != expected || state.step >> 32 > 1) {
    throw Error(ExitCode::data,
                fmt::format("state of engine '{}' with {} bytes at step {} does not fit this task "
                            "(engine 'single' with {} bytes)",
                            state.engine, state.bytes.size(), state.step, expected));
  }
  const auto spins_end = state.bytes.begin() + static_cast<std::ptrdiff_t>(spin_bytes);
  if (std::any_of(state.bytes.begin(), spins_end,
                  [&](std::uint8_t s) { return s >= plan_.states; })) {
    throw Error(ExitCode::data,
                fmt::format("state of engine 'single' holds a spin that is none of 0..{}",
                            plan_.states - 1));
  }
  for (std::size_t who = 0; who < systems_; ++who) {
    write_system(who, {state.bytes.data() + who * plan_.sites, plan_.sites});
  }
  const std::uint8_t* next = state.bytes.data() + spin_bytes;
  const auto get = [&next] {
    std::uint64_t word;
    std::memcpy(&word, next, 8);
    next += 8;
    return word;
  };
  pending_updates_ = get();
  for (Pending& pending : pending_) {
    pending.size = get();
    pending.quartic = get();
    pending.quartic |= WideSum{get()} << 64;
  }
  step_ = state.step;
}

void Books::spins(std::uint32_t temperature, std::uint32_t replica,
                  std::span<std::uint8_t> out) const {
  if (temperature >= spec_.betas.size() || replica >= spec_.replicas || out.size() != plan_.sites) {
    throw Error(ExitCode::internal, fmt::format("spins({}, {}) of {} sites: out of range",
                                                temperature, replica, out.size()));
  }
  read_system(std::size_t{temperature} * spec_.replicas + replica, out);
}

std::uint64_t Books::trajectory_hash() const {
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  std::vector<std::uint8_t> system(plan_.sites);
  for (std::size_t who = 0; who < systems_; ++who) {
    read_system(who, system);
    XXH3_64bits_update(state, system.data(), system.size());
  }
  const std::uint64_t hash = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return hash;
}

}  // namespace rewise::single
