#include "experiments/race.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "analysis/decorrelation.hpp"

namespace rewise {
namespace {

class Race {
 public:
  Race(std::span<const std::unique_ptr<Contender>> contenders, const RaceRules& rules,
       const StopToken& stop)
      : contenders_(contenders), rules_(rules), stop_(stop) {
    result_.places.resize(contenders.size());
  }

  RaceResult run() {
    for (int round = 1; left() > 0 && !result_.settled && !stop_.stop_requested(); ++round) {
      const double slice = share_of(round) / static_cast<double>(running());
      for (std::size_t k = 0; k < contenders_.size(); ++k) {
        // Dropping while the round goes on spares the first turn of what cannot win.
        drop_hopeless(round);
        const bool waits = round < rules_.rounds &&
                           contenders_[k]->standing().least_turn > rules_.patience * slice;
        if (!place(k).dropped && wanting(k) && !waits) take_turn(k, slice);
        if (stop_.stop_requested()) break;
      }
      drop_hopeless(round);
      result_.settled = none_wanting();
    }
    rank();
    return result_;
  }

 private:
  Place& place(std::size_t k) { return result_.places[k]; }
  double left() const { return rules_.budget - result_.seconds; }

  std::size_t running() const {
    return static_cast<std::size_t>(std::count_if(result_.places.begin(), result_.places.end(),
                                                  [](const Place& p) { return !p.dropped; }));
  }

  // Of what is left of the budget: rounds to come are twice as long, each, as the one before.
  double share_of(int round) const {
    const int coming = std::max(1, rules_.rounds - round + 1);
    return left() / (std::exp2(coming) - 1);
  }

  bool wanting(std::size_t k) const {
    const Standing now = contenders_[k]->standing();
    return !now.sound || now.rate.error > rules_.enough * now.rate.value;
  }

  bool none_wanting() const {
    for (std::size_t k = 0; k < contenders_.size(); ++k) {
      if (!result_.places[k].dropped && wanting(k)) return false;
    }
    return true;
  }

  void take_turn(std::size_t k, double slice) {
    const double seconds = contenders_[k]->run(slice);
    place(k).seconds += seconds;
    result_.seconds += seconds;
  }

  void drop_hopeless(int round) {
    double leaders_low = 0;
    for (std::size_t k = 0; k < contenders_.size(); ++k) {
      const Standing now = contenders_[k]->standing();
      if (place(k).dropped || now.rate.value <= 0) continue;
      leaders_low = std::max(leaders_low, now.rate.value * std::exp(-rules_.z * now.doubt));
    }
    for (std::size_t k = 0; k < contenders_.size(); ++k) {
      if (place(k).dropped || !is_hopeless(contenders_[k]->standing(), leaders_low, rules_.z)) {
        continue;
      }
      place(k).dropped = true;
      place(k).round = round;
      contenders_[k]->dropped();
    }
  }

  // By the rate less its doubt: estimates from short series are too high, if anything. One of
  // which nothing but a bound is known comes after all that were measured.
  void rank() {
    result_.ranking.resize(contenders_.size());
    std::iota(result_.ranking.begin(), result_.ranking.end(), std::size_t{0});
    const auto key = [&](std::size_t k) {
      const Standing now = contenders_[k]->standing();
      return std::tuple(place(k).dropped, std::isinf(now.doubt),
                        -now.rate.value * std::exp(-std::min(now.doubt, 2.0)));
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
  if (one.most < leaders_low) return true;
  return one.rate.value > 0 && rate_bounds(one.rate, z).high < leaders_low;
}

RaceResult race(std::span<const std::unique_ptr<Contender>> contenders, const RaceRules& rules,
                const StopToken& stop) {
  return Race(contenders, rules, stop).run();
}

}  // namespace rewise
