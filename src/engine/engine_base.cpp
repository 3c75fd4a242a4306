#include "src/engine/engine_base.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "src/base/digest.hpp"
#include "src/base/error.hpp"
#include "src/engine/stop_poll.hpp"

namespace rewise {
namespace {

static_assert(std::endian::native == std::endian::little);

// The last word of a state that was saved after a stopped advance().
constexpr std::uint64_t kUnderWay = 0x7961775265646E55;  // "UndeRway"

}  // namespace

EngineBase::EngineBase(EngineKind kind, const EngineSpec& spec, std::uint64_t sites,
                       std::uint64_t bonds, std::size_t parts, std::size_t part_bytes)
    : spec_(spec),
      replicas_(spec.betas.size() * spec.replicas),
      steps_ahead_(parts, 0),
      cluster_size_(replicas_, 0),
      cluster_quartic_(is_swendsen_wang() ? replicas_ : 0, 0),
      kind_(kind),
      sites_(sites),
      bonds_(bonds),
      part_bytes_(part_bytes) {}

// Steps

std::uint64_t EngineBase::check_steps(const Schedule& schedule, std::uint64_t cycles) const {
  if (schedule.exchange && !spec_.exchange) {
    throw Error(ExitCode::internal, "replica exchange in an engine that was made without it");
  }
  if (schedule.houdayer && !spec_.houdayer) {
    throw Error(ExitCode::internal, "Houdayer moves in an engine that was made without them");
  }
  const std::uint64_t each = schedule.steps_per_cycle();
  if (cycles > (kMaxSteps - step_) / each || cycles * each == kMaxSteps) {
    throw Error(ExitCode::usage,
                fmt::format("{} cycles of {} after {} steps are too many (at most 2^32 steps in a "
                            "run; start another run with another seed)",
                            cycles, to_string(schedule), step_));
  }
  return cycles * each;
}

bool EngineBase::in_step() const {
  for (std::size_t part = 0; part < parts(); ++part) {
    const Bytes at = position(part);
    if (steps_ahead_[part] != steps_ahead_.front()) return false;
    if (std::any_of(at.begin(), at.end(), [](std::uint8_t byte) { return byte != 0; }))
      return false;
  }
  return true;
}

bool EngineBase::all_arrived(std::uint64_t steps) {
  if (*std::min_element(steps_ahead_.begin(), steps_ahead_.end()) < steps) return false;
  for (std::uint32_t& ahead : steps_ahead_) ahead -= static_cast<std::uint32_t>(steps);
  return true;
}

bool EngineBase::advance_together(std::span<EngineBase* const> engines, StepSeconds& step_seconds,
                                  const std::function<bool()>& stop, const Schedule& schedule,
                                  std::uint64_t cycles,
                                  const std::function<void(const Schedule&, std::uint64_t)>& run) {
  for (const EngineBase* e : engines) e->check_steps(schedule, cycles);
  const std::uint64_t total = schedule.steps_per_cycle() * cycles;
  const std::uint64_t before = engines.front()->steps_ahead_.front();
  for (EngineBase* e : engines) {
    e->step_ += before;
    std::fill(e->steps_ahead_.begin(), e->steps_ahead_.end(), 0);
  }
  const std::uint64_t steps = run_in_pieces(stop, schedule, cycles, step_seconds, before, run);
  const bool done = steps >= total;
  const std::uint64_t ahead = done ? steps - total : steps;  // beyond step_
  for (EngineBase* e : engines) {
    e->step_ -= ahead;
    std::fill(e->steps_ahead_.begin(), e->steps_ahead_.end(), static_cast<std::uint32_t>(ahead));
  }
  return done;
}

bool EngineBase::advance_and_close(const EngineOptions& options, const Schedule& schedule,
                                   std::uint64_t steps, std::uint64_t closing,
                                   const std::function<bool(std::uint64_t)>& advance_to,
                                   const std::function<void(std::uint32_t)>& close) {
  const std::uint64_t each = schedule.steps_per_cycle();
  const std::uint64_t least = *std::min_element(steps_ahead_.begin(), steps_ahead_.end());
  std::atomic<bool> stopped{false};
  // advance_to() also polls, but if cycles are short, a part may do too little work in each call.
  StopPoll poll(options, stopped);
  for (std::uint64_t end = least / each * each + each; end <= steps; end += each) {
    if (!advance_to(end - closing)) return false;
    close(static_cast<std::uint32_t>(step_ + end - closing));
    std::fill(steps_ahead_.begin(), steps_ahead_.end(), static_cast<std::uint32_t>(end));
    if (end < steps && poll.must_stop(each * sites_ * parts())) return false;
  }
  return true;
}

bool EngineBase::advance_on_cpu(MakeEngine make, const Graph& graph,
                                const std::function<bool()>& stop, const Schedule& schedule,
                                std::uint64_t cycles) {
  EngineOptions on_cpu;
  on_cpu.stop = stop;
  const std::unique_ptr<Engine> cpu = make(graph, spec_, on_cpu);
  cpu->restore(save());
  const bool done = cpu->advance(schedule, cycles);
  restore(cpu->save());
  return done;
}

void EngineBase::count(const Schedule& schedule, std::uint64_t cycles, std::uint64_t visited) {
  const std::uint64_t updates = schedule.cluster * cycles;
  step_ += schedule.steps_per_cycle() * cycles;
  if (has_cluster_sums()) cluster_updates_ += updates;
  work_.local_attempts += schedule.local * cycles * replicas_ * sites_;
  work_.cluster_updates += updates * replicas_;
  work_.cluster_sites += is_swendsen_wang() ? updates * replicas_ * sites_ : visited;
}

// Measurements

SumUnits EngineBase::sum_units() const { return spec_.model.sum_units(bonds_, sites_); }

void EngineBase::fill_observation(const unsigned long long* unsatisfied,
                                  const unsigned long long* up, Observation& out) {
  const SumUnits units = sum_units();
  out.clear();
  out.bond_sum.resize(replicas_);
  out.magnetisation.resize(replicas_);
  for (std::size_t r = 0; r < replicas_; ++r) {
    out.bond_sum[r] = units.energy_sum(unsatisfied[r], up[r]);
    out.magnetisation[r] = units.magnetisation(up[r]);
  }
  move_cluster_sums(out);
}

void EngineBase::move_cluster_sums(Observation& out) {
  out.cluster_updates = cluster_updates_;
  if (cluster_updates_ == 0) return;
  out.cluster_size = cluster_size_;
  for (const WideSum quartic : cluster_quartic_) {
    out.cluster_quartic_low.push_back(static_cast<std::uint64_t>(quartic));
    out.cluster_quartic_high.push_back(static_cast<std::uint64_t>(quartic >> 64));
  }
  std::fill(cluster_size_.begin(), cluster_size_.end(), 0);
  std::fill(cluster_quartic_.begin(), cluster_quartic_.end(), 0);
  cluster_updates_ = 0;
}

// States. A state consists of the spins of all parts and the words of the cluster sums. After a
// stopped advance(), the positions of all parts (save_progress()) and kUnderWay follow.

EngineState EngineBase::save_state(bool with_spins) const {
  EngineState state{std::string(traits(kind_).stored_name), step_, {}};
  const std::vector<std::uint64_t> sums = save_sums();
  const std::vector<std::uint8_t> way =
      is_mid_advance() ? save_progress() : std::vector<std::uint8_t>{};
  const std::size_t spin_bytes = with_spins ? parts() * part_bytes_ : 0;
  state.bytes.resize(spin_bytes + 8 * sums.size() + (way.empty() ? 0 : way.size() + 8));
  for (std::size_t part = 0; with_spins && part < parts(); ++part) {
    read_part(part, std::span(state.bytes).subspan(part * part_bytes_, part_bytes_));
  }
  std::uint8_t* at = state.bytes.data() + spin_bytes;
  if (!sums.empty()) std::memcpy(at, sums.data(), 8 * sums.size());
  at = std::copy(way.begin(), way.end(), at + 8 * sums.size());
  if (!way.empty()) std::memcpy(at, &kUnderWay, 8);
  return state;
}

void EngineBase::restore(const EngineState& state) {
  const Bytes bytes = state.bytes;
  const std::size_t there = std::min(parts() * part_bytes_, bytes.size());
  const Bytes spins = bytes.first(there), rest = bytes.subspan(there);
  restore_without_spins({state.engine, state.step, {rest.begin(), rest.end()}}, there);
  check_spins(spins);
  for (std::size_t part = 0; part < parts(); ++part) {
    write_part(part, spins.subspan(part * part_bytes_, part_bytes_));
  }
}

void EngineBase::restore_without_spins(const EngineState& state, std::uint64_t spin_bytes) {
  const Bytes bytes = state.bytes;
  std::vector<std::uint8_t> way(save_progress().size(), 0);
  std::size_t end = bytes.size();
  if (end >= way.size() + 8 && std::memcmp(bytes.data() + end - 8, &kUnderWay, 8) == 0) {
    end -= way.size() + 8;
    std::copy_n(bytes.data() + end, way.size(), way.data());
  }
  std::vector<std::uint64_t> sums(end / 8);
  if (!sums.empty()) std::memcpy(sums.data(), bytes.data(), 8 * sums.size());
  if (state.engine != traits(kind_).stored_name || state.step > kMaxSteps ||
      spin_bytes != parts() * part_bytes_ || end % 8 != 0 || !restore_sums(sums)) {
    throw Error(ExitCode::data,
                fmt::format("state of engine '{}' with {} bytes at step {} does not fit this task "
                            "(engine '{}' with {} bytes)",
                            state.engine, spin_bytes + bytes.size(), state.step, name(),
                            parts() * part_bytes_ + 8 * save_sums().size()));
  }
  if (!restore_progress(state.step, way)) {
    throw Error(ExitCode::data,
                fmt::format("state of engine '{}' after step {}: its position within the next "
                            "step is invalid for this run",
                            name(), state.step));
  }
  step_ = state.step;
}

// For each part: its whole steps beyond step_ (32 bits), then its position within the next step.
std::vector<std::uint8_t> EngineBase::save_progress() const {
  std::vector<std::uint8_t> way;
  for (std::size_t part = 0; part < parts(); ++part) {
    const auto* steps = reinterpret_cast<const std::uint8_t*>(&steps_ahead_[part]);
    const Bytes at = position(part);
    way.insert(way.end(), steps, steps + 4);
    way.insert(way.end(), at.begin(), at.end());
  }
  return way;
}

bool EngineBase::restore_progress(std::uint64_t step, Bytes way) {
  const std::size_t each = way.size() / parts();
  for (std::size_t part = 0; part < parts(); ++part) {
    const Bytes from = way.subspan(part * each, each);
    std::memcpy(&steps_ahead_[part], from.data(), 4);
    if (step + steps_ahead_[part] > kMaxSteps || !set_position(part, from.subspan(4))) return false;
  }
  return true;
}

// Spins

void EngineBase::spins(std::uint32_t temperature, std::uint32_t replica,
                       std::span<std::uint8_t> out) const {
  if (temperature >= spec_.betas.size() || replica >= spec_.replicas || out.size() != sites_) {
    throw Error(ExitCode::internal, fmt::format("spins({}, {}) of {} sites: out of range",
                                                temperature, replica, out.size()));
  }
  read_replica(std::size_t{temperature} * spec_.replicas + replica, out);
}

void EngineBase::write_spins(Bytes spins) {
  if (step_ > 0) throw Error(ExitCode::internal, "spins can be given before the first step only");
  const std::uint64_t each = spec_.replicas * sites_, all = replicas_ * sites_;
  if (spins.size() != sites_ && spins.size() != each && spins.size() != all) {
    throw Error(ExitCode::usage,
                fmt::format("start: {} spins (allowed: {} for all replicas, {} for all "
                            "temperatures, or {})",
                            spins.size(), sites_, each, all));
  }
  const std::uint32_t states = spec_.model.q;
  const auto invalid =
      std::find_if(spins.begin(), spins.end(), [&](std::uint8_t s) { return s >= states; });
  if (invalid != spins.end()) {
    throw Error(ExitCode::usage,
                fmt::format("start: invalid spin {} (allowed: 0..{})", *invalid, states - 1));
  }
  const std::size_t in_part = replicas_ / parts();
  for (std::size_t part = 0; part < parts(); ++part) {
    std::vector<std::uint8_t> packed(part_bytes_, 0);
    for (std::size_t replica = part * in_part; replica < (part + 1) * in_part; ++replica) {
      pack_replica(replica, spins.subspan(replica * sites_ % spins.size(), sites_), packed);
    }
    write_part(part, packed);
  }
}

void EngineBase::hash_part(std::size_t part, const std::function<void(Bytes)>& hash) const {
  std::vector<std::uint8_t> spins(part_bytes_);
  read_part(part, spins);
  hash(spins);
}

std::uint64_t EngineBase::trajectory_hash(const EngineState* saved) const {
  if (saved != nullptr && hashed_as_saved()) {
    return XXH3_64bits(saved->bytes.data(), parts() * part_bytes_);
  }
  Digest64 hash;
  for (std::size_t part = 0; part < parts(); ++part) {
    hash_part(part, [&](Bytes spins) { hash.add(spins.data(), spins.size()); });
  }
  return hash.value();
}

}  // namespace rewise
