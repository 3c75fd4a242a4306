#include "src/engine/exchange.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/error.hpp"

namespace rewise {

ReplicaExchange::ReplicaExchange(const EngineSpec& spec)
    : seed_(spec.seed), temperatures_(spec.betas.size()), replicas_(spec.replicas) {
  if (!spec.exchange) return;
  if (temperatures_ < 2) {
    throw Error(ExitCode::usage, "replica exchange requires at least two temperatures");
  }
  for (std::size_t t = 0; t + 1 < temperatures_; ++t) {
    const double rise = spec.betas[t + 1] - spec.betas[t];
    rules_.push_back({Boltzmann(std::abs(rise)), rise > 0});
  }
  for (std::size_t replica = 0; replica < temperatures_ * replicas_; ++replica) {
    walker.push_back(static_cast<std::uint32_t>(replica / replicas_));
  }
  attempts.assign(temperatures_, 0);
  exchanges = attempts;
}

void ReplicaExchange::move_counts(Observation& out) {
  out.walker.assign(walker.begin(), walker.end());
  out.exchange_attempts = attempts;
  out.exchanges = exchanges;
  std::fill(attempts.begin(), attempts.end(), 0);
  std::fill(exchanges.begin(), exchanges.end(), 0);
}

void ReplicaExchange::save(std::vector<std::uint64_t>& words) const {
  if (rules_.empty()) return;
  words.push_back(steps);
  words.insert(words.end(), walker.begin(), walker.end());
  words.insert(words.end(), attempts.begin(), attempts.end());
  words.insert(words.end(), exchanges.begin(), exchanges.end());
}

bool ReplicaExchange::restore(std::span<const std::uint64_t>& words) {
  if (rules_.empty()) return true;
  const std::size_t own = 1 + walker.size() + 2 * temperatures_;
  if (words.size() < own) return false;
  const std::uint64_t* from = words.data() + words.size() - own;
  words = words.first(words.size() - own);
  steps = *from++;
  for (std::uint32_t& at : walker) {
    if (*from >= temperatures_) return false;
    at = static_cast<std::uint32_t>(*from++);
  }
  for (std::uint64_t& count : attempts) count = *from++;
  for (std::uint64_t& count : exchanges) count = *from++;
  return true;
}

}  // namespace rewise
