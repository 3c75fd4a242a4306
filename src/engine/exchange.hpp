// Replica exchange (Hukushima & Nemoto, J. Phys. Soc. Jpn. 65, 1604 (1996)). Steps alternate
// between the pairs of temperatures (0, 1), (2, 3) .. and (1, 2), (3, 4) .. . For each pair, all
// replicas r exchange their configurations with probability min(1, exp((beta - beta') (E - E'))).
// Energies are integers in units of 2^-20, so that all devices make the same decisions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/engine/engine.hpp"
#include "src/model/boltzmann.hpp"
#include "src/random/philox.hpp"

namespace rewise {

// The decision on exchanges between a temperature and the next one.
struct ExchangeRule {
  Boltzmann factors;   // for the difference of the two beta
  bool rises = false;  // the next beta is larger

  // `sum` and `next_sum` are minus the energies of the two replicas, `draw` is exchange_draw() of
  // the replica at the first temperature.
  RW_HD bool accepts(std::int64_t sum, std::int64_t next_sum, std::uint32_t draw) const {
    constexpr std::int64_t kMax = (std::int64_t{1} << 40) - 1;
    const std::int64_t energy = rises ? next_sum - sum : sum - next_sum;
    return is_below(draw, factors.metropolis(energy < kMax ? energy : kMax));
  }
};

// The random word for the exchange of replica t R + r with that of the next temperature.
RW_HD std::uint32_t exchange_draw(std::uint64_t seed, std::uint32_t replica, std::uint32_t step) {
  return random_words(seed, Stream::exchange, replica, 0, 0, step).w[0];
}

// Replica exchange of one engine, with its counters. All vectors are empty without
// EngineSpec::exchange.
class ReplicaExchange {
 public:
  // Throws Error(usage) for fewer than two temperatures.
  explicit ReplicaExchange(const EngineSpec& spec);

  const std::vector<ExchangeRule>& rules() const { return rules_; }

  // Makes one exchange step, with number `step`. `sums`: minus the energies of all replicas,
  // [T][R]. Calls swap(replica, next) for each pair of replicas that exchange their spins.
  template <class Swap>
  void make_step(std::span<const std::int64_t> sums, std::uint32_t step, const Swap& swap) {
    for (std::size_t t = steps % 2; t + 1 < temperatures_; t += 2) {
      for (std::size_t replica = t * replicas_; replica < (t + 1) * replicas_; ++replica) {
        const std::size_t next = replica + replicas_;
        ++attempts[t];
        const auto draw = exchange_draw(seed_, static_cast<std::uint32_t>(replica), step);
        if (!rules_[t].accepts(sums[replica], sums[next], draw)) continue;
        ++exchanges[t];
        std::swap(walker[replica], walker[next]);
        swap(replica, next);
      }
    }
    ++steps;
  }

  // Moves the counts to the columns of `out`.
  void move_counts(Observation& out);

  // save() appends the counters to `words`, which belong to EngineBase::save_sums(). restore()
  // removes the counters from the end of `words`, and returns false if they are invalid.
  void save(std::vector<std::uint64_t>& words) const;
  bool restore(std::span<const std::uint64_t>& words);

  std::uint64_t steps = 0;  // since the start
  // [T][R]: the configuration that is now in this replica started at the temperature with this
  // index.
  std::vector<std::uint32_t> walker;
  std::vector<std::uint64_t> attempts, exchanges;  // [T] since the last measurement

 private:
  std::uint64_t seed_;
  std::size_t temperatures_, replicas_;
  std::vector<ExchangeRule> rules_;  // [T - 1]
};

}  // namespace rewise
