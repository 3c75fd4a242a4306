#include "src/search/tune/race.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>

#include "analysis/series/decorrelation.hpp"

namespace rewise {
namespace {

class Race {
 public:
  Race(std::span<const std::unique_ptr<Contender>> contenders, const RaceRules& rules,
       const StopToken& stop)
      : contenders_(contenders), rules_(rules), stop_(stop) {
    result_.records.resize(contenders.size());
  }

  RaceResult run() {
    while (!stop_.stop_requested()) {
      drop_hopeless();
      result_.settled = all_accurate();
      const auto next = most_promising();
      if (!next) break;
      take_turn(*next);
    }
    rank();
    return result_;
  }

 private:
  static constexpr double kOptimism = 2;       // standard errors
  static constexpr double kMinTurns = 300;     // of the shortest turn, within a budget
  static constexpr double kLongestTurns = 10;  // limit in units of the longest turn
  static constexpr double kExtension = 4;      // of the budget, until two can be compared

  ContenderRecord& record(std::size_t k) { return result_.records[k]; }
  double shortest_turn() const { return rules_.budget / kMinTurns; }

  bool comparable() const {
    std::size_t measured = 0;
    for (std::size_t k = 0; k < contenders_.size(); ++k) {
      measured += result_.records[k].dropped || contenders_[k]->standing().rate.value > 0;
    }
    return measured >= std::min<std::size_t>(2, contenders_.size());
  }

  double left() const { return rules_.budget * (comparable() ? 1 : kExtension) - result_.seconds; }

  bool needs_measurement(std::size_t k) {
    const Standing now = contenders_[k]->standing();
    return !record(k).dropped && (!now.sound || now.rate.error > rules_.enough * now.rate.value);
  }

  bool all_accurate() {
    for (std::size_t k = 0; k < contenders_.size(); ++k) {
      if (needs_measurement(k)) return false;
    }
    return true;
  }

  // Upper bound of the rate.
  static double bound(const Standing& now) {
    return now.rate.value > 0 ? rate_bounds(now.rate, kOptimism).high : now.upper_bound;
  }

  // The best contender among those whose turn fits into the remaining time; the very first turn
  // always fits. If no contender is dropped (infinite z), the time is divided in proportion to the
  // bounds.
  std::optional<std::size_t> most_promising() {
    std::optional<std::size_t> best;
    double highest = -1;
    for (std::size_t k = 0; k < contenders_.size(); ++k) {
      const Standing now = contenders_[k]->standing();
      if (!needs_measurement(k) || (result_.seconds > 0 && now.shortest_turn > left())) continue;
      const double share = std::isinf(rules_.z) ? record(k).seconds + shortest_turn() : 1;
      if (bound(now) / share > highest) {
        highest = bound(now) / share;
        best = k;
      }
    }
    return left() > 0 ? best : std::nullopt;
  }

  void take_turn(std::size_t k) {
    const double longest = rules_.budget / kLongestTurns;
    const double preferred = std::max(record(k).seconds, contenders_[k]->standing().shortest_turn);
    const double seconds =
        contenders_[k]->run(std::min(std::clamp(preferred, shortest_turn(), longest), left()));
    record(k).seconds += seconds;
    ++record(k).turns;
    result_.seconds += seconds;
  }

  void drop_hopeless() {
    double leaders_low = 0;
    for (std::size_t k = 0; k < contenders_.size(); ++k) {
      const Standing now = contenders_[k]->standing();
      if (record(k).dropped || now.rate.value <= 0) continue;
      leaders_low =
          std::max(leaders_low, now.rate.value * std::exp(-rules_.z * now.relative_error));
    }
    for (std::size_t k = 0; k < contenders_.size(); ++k) {
      if (record(k).dropped || !is_hopeless(contenders_[k]->standing(), leaders_low, rules_.z)) {
        continue;
      }
      record(k).dropped = true;
      contenders_[k]->dropped();
    }
  }

  // Ranks by the lower bound of the rate, because estimates from short series tend to be too high.
  // Contenders without a measurement come last.
  void rank() {
    result_.ranking.resize(contenders_.size());
    std::iota(result_.ranking.begin(), result_.ranking.end(), std::size_t{0});
    const auto key = [&](std::size_t k) {
      const Standing now = contenders_[k]->standing();
      return std::tuple(record(k).dropped, std::isinf(now.relative_error),
                        -now.rate.value * std::exp(-std::min(now.relative_error, 2.0)));
    };
    std::stable_sort(result_.ranking.begin(), result_.ranking.end(),
                     [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  }

  std::span<const std::unique_ptr<Contender>> contenders_;
  const RaceRules& rules_;
  const StopToken& stop_;
  RaceResult result_;
};

}  // namespace

bool is_hopeless(const Standing& one, double leaders_low, double z) {
  if (std::isinf(z)) return false;
  if (one.upper_bound < leaders_low) return true;
  return one.rate.value > 0 && rate_bounds(one.rate, z).high < leaders_low;
}

RaceResult race(std::span<const std::unique_ptr<Contender>> contenders, const RaceRules& rules,
                const StopToken& stop) {
  return Race(contenders, rules, stop).run();
}

}  // namespace rewise
