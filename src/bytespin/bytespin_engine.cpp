#include "src/bytespin/bytespin_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/base/error.hpp"
#include "src/bytespin/bytespin.hpp"

namespace rewise::bytespin {

BytespinEngine::BytespinEngine(const Graph& graph, const EngineSpec& spec)
    : EngineBase(EngineKind::bytespin, spec, graph.sites(), graph.bonds(),
                 spec.betas.size() * spec.replicas, graph.sites()),
      tables_(graph, spec),
      positions_(replicas_) {}

bool BytespinEngine::advance_replicas(
    const EngineOptions& options, const Schedule& schedule, std::uint64_t cycles,
    const std::function<void(const Schedule&, std::uint64_t)>& run) {
  if (!in_step()) {
    return advance_on_cpu(make_bytespin_engine, tables_.graph, options.stop, schedule, cycles);
  }
  EngineBase* self = this;
  return advance_together({&self, 1}, step_seconds_, options.stop, schedule, cycles, run);
}

void BytespinEngine::check_spins(Bytes spins) const {
  if (std::any_of(spins.begin(), spins.end(),
                  [&](std::uint8_t s) { return s >= tables_.states; })) {
    throw Error(ExitCode::data,
                fmt::format("invalid spin in the state of engine 'bytespin' (allowed: 0..{})",
                            tables_.states - 1));
  }
}

// The number of updates in the sums, then the sizes and the quartic sum (low, high) of every
// replica.
std::vector<std::uint64_t> BytespinEngine::save_sums() const {
  std::vector<std::uint64_t> words{cluster_updates_};
  for (std::size_t replica = 0; replica < replicas_; ++replica) {
    const WideSum quartic = is_swendsen_wang() ? cluster_quartic_[replica] : 0;
    words.insert(words.end(), {cluster_size_[replica], static_cast<std::uint64_t>(quartic),
                               static_cast<std::uint64_t>(quartic >> 64)});
  }
  return words;
}

bool BytespinEngine::restore_sums(std::span<const std::uint64_t> words) {
  if (words.size() != 1 + 3 * replicas_) return false;
  cluster_updates_ = words[0];
  for (std::size_t replica = 0; replica < replicas_; ++replica) {
    const auto replica_words = words.subspan(1 + 3 * replica, 3);
    cluster_size_[replica] = replica_words[0];
    if (is_swendsen_wang())
      cluster_quartic_[replica] = WideSum{replica_words[2]} << 64 | replica_words[1];
  }
  return true;
}

EngineBase::Bytes BytespinEngine::position(std::size_t replica) const {
  return {reinterpret_cast<const std::uint8_t*>(&positions_[replica]), sizeof(SweepPosition)};
}

bool BytespinEngine::set_position(std::size_t replica, Bytes bytes) {
  static_assert(sizeof(SweepPosition) == 8);
  SweepPosition& position = positions_[replica];
  std::memcpy(&position, bytes.data(), sizeof position);
  return position.colour < static_cast<std::uint32_t>(tables_.graph.colours()) &&
         position.done <= tables_.sites;
}

}  // namespace rewise::bytespin
