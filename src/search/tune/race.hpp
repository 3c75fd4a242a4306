// Finds the best of several contenders when each measurement takes time.
//
// Contenders are measured one at a time, in turns. The next turn goes to the contender with the
// highest optimistic bound among those whose rates are not yet accurate enough. Each turn is as
// long as all previous turns of the contender together. A contender is dropped if its optimistic
// bound lies below the leader's pessimistic bound.
//
// A short series tends to overestimate the rate, because it misses the tail of the correlations.
// Further measurement lowers the rate of a bad contender below that of better ones. This takes
// about as long as a few decorrelated measurements of the best contender.
//
// Bounds are rate * exp(+-z sigma), where sigma is the relative error. The bound that selects the
// next turn has z = 2. Contenders are dropped with z = 3, since errors of tau from short series are
// themselves uncertain. If the best of ten contenders is 10% better than the second, it is dropped
// in less than 1% of the races (measured by race_test.cpp).
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/series/statistics.hpp"
#include "src/store/signals.hpp"

namespace rewise {

// The current estimate for a contender.
struct Standing {
  Value rate{0, 0};    // larger is better; 0 if unknown
  bool sound = false;  // enough measurements for a reliable error
  // Relative error of the rate towards lower values, which includes the bias of a short series.
  // Infinite if unknown; then the contender cannot be the leader.
  double relative_error = std::numeric_limits<double>::infinity();
  double shortest_turn = 0;  // length of the shortest possible turn, seconds
  // Upper bound of the rate before any measurement.
  double upper_bound = std::numeric_limits<double>::infinity();
};

class Contender {
 public:
  virtual ~Contender() = default;
  virtual Standing standing() const = 0;
  // Measures for about `seconds`, at least one step. Returns the seconds used.
  virtual double run(double seconds) = 0;
  virtual void dropped() {}  // called when it gets no more turns; may release memory
};

struct RaceRules {
  double budget = 30;    // seconds; extended up to fourfold until two contenders are measured
  double z = 3;          // width of the bounds for dropping; infinite: no contender is dropped
  double enough = 0.03;  // relative error below which a rate is accurate enough
};

struct ContenderRecord {
  bool dropped = false;
  int turns = 0;
  double seconds = 0;  // of all turns
};

struct RaceResult {
  std::vector<ContenderRecord> records;  // [contender]
  // Indices of the contenders: the remaining ones, then the dropped ones, both with the best first.
  std::vector<std::size_t> ranking;
  double seconds = 0;
  bool settled = false;  // the rates of all remaining contenders are accurate enough
};

// Whether `one` can no longer be the best, given the leader's pessimistic bound.
bool is_hopeless(const Standing& one, double leaders_low, double z);

// Requires at least one contender. A stop request ends the race early, with `settled` false.
RaceResult race(std::span<const std::unique_ptr<Contender>> contenders, const RaceRules& rules,
                const StopToken& stop);

}  // namespace rewise
