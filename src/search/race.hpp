// Finds the best of several contenders when each measurement takes time.
//
// The next turn goes to the contender with the highest optimistic bound among those whose rates are
// not yet accurate enough. A contender is dropped if its bound lies below the leader's pessimistic
// bound. The rate of a short series tends to be too high, because the tail of its correlations is
// missing. A contender that is measured longer therefore falls behind better ones after about the
// time that the best needs for a few decorrelated measurements. Each turn is as long as all
// previous turns of the contender together.
//
// Bounds are rate * exp(+-z sigma), with sigma the relative error; the optimistic bound that
// selects the next turn has z = 2. Errors of tau from short series are uncertain themselves, so z =
// 3 is wide: the best of ten, if it is a tenth better than the next, is dropped in less than one
// race of a hundred (measured by race_test.cpp).
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
  // Relative error downwards by which a short series may overestimate the rate. Infinite if
  // unknown; the contender then cannot lead.
  double doubt = std::numeric_limits<double>::infinity();
  double least_turn = 0;                                  // seconds
  double most = std::numeric_limits<double>::infinity();  // bound before any measurement
};

class Contender {
 public:
  virtual ~Contender() = default;
  virtual Standing standing() const = 0;
  // Measures for about `seconds`, at least one step; returns the seconds used.
  virtual double run(double seconds) = 0;
  virtual void dropped() {}  // no more turns: releases its memory
};

struct RaceRules {
  double budget = 30;    // seconds; up to four times as many until two contenders are measured
  double z = 3;          // width of the bounds; infinite: no contender is dropped
  double enough = 0.03;  // relative error at which a contender is known well enough
};

struct ContenderRecord {
  bool dropped = false;
  int turns = 0;       // number of turns
  double seconds = 0;  // time spent
};

struct RaceResult {
  std::vector<ContenderRecord> records;  // [contender]
  // Remaining contenders, best first; then dropped ones, in the same order.
  std::vector<std::size_t> ranking;
  double seconds = 0;
  bool settled = false;  // one contender is left, or all remaining rates are accurate enough
};

// Whether `one` can no longer be the best, given the leader's pessimistic bound.
bool is_hopeless(const Standing& one, double leaders_low, double z);

// Needs at least one contender. A stop request ends the race early, with `settled` false.
RaceResult race(std::span<const std::unique_ptr<Contender>> contenders, const RaceRules& rules,
                const StopToken& stop);

}  // namespace rewise
