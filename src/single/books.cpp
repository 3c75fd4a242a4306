#include "src/single/books.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/base/error.hpp"
#include "src/single/single.hpp"

namespace rewise::single {

Books::Books(const Graph& graph, const EngineSpec& spec)
    : spec_(spec),
      plan_(graph, spec),
      systems_(spec.betas.size() * spec.replicas),
      pending_(systems_),
      positions_(systems_) {}

bool Books::in_step() const {
  const Position first{positions_.front().steps, {}};
  return std::all_of(positions_.begin(), positions_.end(),
                     [&](const Position& p) { return p == first; });
}

bool Books::advance_together(const EngineOptions& options, const Schedule& schedule,
                             std::uint64_t cycles,
                             const std::function<void(const Schedule&, std::uint64_t)>& run) {
  if (!in_step()) {  // as the CPU's engine leaves its systems when it is stopped
    EngineOptions on_cpu;
    on_cpu.stop = options.stop;
    const auto cpu = make_single_engine(plan_.graph, spec_, on_cpu);
    cpu->restore(save());
    const bool done = cpu->advance(schedule, cycles);
    restore(cpu->save());
    return done;
  }
  std::uint64_t at = positions_.front().steps;
  step_ += at;
  std::fill(positions_.begin(), positions_.end(), Position{});
  const bool done = run_in_pieces(options.stop, schedule, cycles, pace_, at, run);
  step_ -= at;
  std::fill(positions_.begin(), positions_.end(), Position{static_cast<std::uint32_t>(at), {}});
  return done;
}

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

// The last word of a state with positions.
constexpr std::uint64_t kUnderWay = 0x7961775265646E55;  // "UndeRway"
static_assert(sizeof(Position) == 12);

// State: the spins [T][R][sites], then 64-bit words: pending updates, then size, quartic (low,
// high) of every system; where an advance was stopped, its positions and kUnderWay.
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
  if (under_way()) {
    const std::size_t end = state.bytes.size(), extra = positions_.size() * sizeof(Position);
    state.bytes.resize(end + extra + 8);
    std::memcpy(state.bytes.data() + end, positions_.data(), extra);
    std::memcpy(state.bytes.data() + end + extra, &kUnderWay, 8);
  }
  return state;
}

// Takes the positions off the end of a state; returns what else it holds.
std::size_t Books::restore_positions(const EngineState& state) {
  const std::size_t all = state.bytes.size(), extra = positions_.size() * sizeof(Position) + 8;
  std::fill(positions_.begin(), positions_.end(), Position{});
  std::uint64_t last = 0;
  if (all < extra) return all;
  std::memcpy(&last, state.bytes.data() + all - 8, 8);
  if (last != kUnderWay) return all;
  std::memcpy(positions_.data(), state.bytes.data() + all - extra, extra - 8);
  for (const Position& p : positions_) {
    if (p.place.colour < static_cast<std::uint32_t>(plan_.graph.colours()) &&
        p.place.done <= plan_.sites && state.step + p.steps <= std::uint64_t{1} << 32) {
      continue;
    }
    throw Error(ExitCode::data,
                fmt::format("state of engine 'single' at step {} stands at colour {}, place {} of "
                            "step {} beyond it: no place of this run",
                            state.step, p.place.colour, p.place.done, p.steps));
  }
  return all - extra;
}

void Books::restore(const EngineState& state) {
  const std::size_t spin_bytes = systems_ * plan_.sites;
  const std::size_t expected = spin_bytes + 8 * (1 + 3 * systems_);
  if (state.engine != name() || restore_positions(state) != expected || state.step >> 32 > 1) {
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
