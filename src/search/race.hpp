// Finds the best of several contenders when each measurement costs time.
//
// The next turn goes to the contender with the highest optimistic bound among those that are not
// known well enough. A contender whose bound lies below the leader's pessimistic one is dropped. A
// rate from a short series is too high, if anything, since the end of its correlations is missing;
// a contender that is measured longer therefore falls behind those that are really good, after
// about as much time as the best takes for a few decorrelated measurements. A turn is as long as
// all turns before it of the same contender.
//
// Bounds are rate * exp(+-z sigma), sigma the relative error. Errors of tau from short series are
// themselves uncertain, so z = 3 is wide: the best of ten, a tenth better than the next, is dropped
// in less than one race of a hundred (race_test.cpp counts).
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/series/statistics.hpp"
#include "src/store/signals.hpp"

namespace rewise {

// What is known of a contender so far.
struct Standing {
  Value rate{0, 0};    // the more the better; 0 while nothing is known
  bool sound = false;  // enough was measured for its error to be honest
  // Relative error downwards: the rate of a short series may be too high by it. Infinite: not even
  // that is known, and the contender cannot lead.
  double doubt = std::numeric_limits<double>::infinity();
  double least_turn = 0;                                  // seconds of the shortest turn
  double most = std::numeric_limits<double>::infinity();  // a bound that needs no measurement
};

class Contender {
 public:
  virtual ~Contender() = default;
  virtual Standing standing() const = 0;
  // Works for about this long, at least one step; gives the seconds that it took.
  virtual double run(double seconds) = 0;
  virtual void dropped() {}  // no more turns: frees its memory
};

struct RaceRules {
  double budget = 30;    // seconds
  double z = 3;          // of the bounds; infinite: none is dropped
  double enough = 0.03;  // relative error at which a contender is known well enough
};

struct ContenderRecord {
  bool dropped = false;
  int turns = 0;       // that it had
  double seconds = 0;  // spent on it
};

struct RaceResult {
  std::vector<ContenderRecord> records;  // [contender]
  std::vector<std::size_t> ranking;      // those still in, best first; then those dropped, likewise
  double seconds = 0;
  bool settled = false;  // one is left, or all that are left are known well enough
};

// Whether `one` cannot be the best any more, given the leader's pessimistic bound.
bool is_hopeless(const Standing& one, double leaders_low, double z);

// At least one contender. Ends early, unsettled, when told to stop.
RaceResult race(std::span<const std::unique_ptr<Contender>> contenders, const RaceRules& rules,
                const StopToken& stop);

}  // namespace rewise
