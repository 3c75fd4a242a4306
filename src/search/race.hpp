// Who is best, when every look costs time: the next turn is always of the contender that may be
// best yet (the highest optimistic bound of those that are not known well enough), and one whose
// bound lies below the leader's pessimistic one gets no more. A rate from a short series is too
// high, if anything, since the end of its correlations is missing; so whoever is looked at longer
// falls behind those that are really good, after about as much time as the best takes for a few
// decorrelated measurements. Turns are as long as all before them of the same contender.
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
  // Relative error downwards, where the rate may be too high because the series is short; the best
  // may be that much worse. Infinite: not even that is known, and the contender leads nobody.
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
  virtual void dropped() {}  // no more turns: memory may go
};

struct RaceRules {
  double budget = 30;    // seconds
  double z = 3;          // of the bounds; infinite: nobody is dropped
  double enough = 0.03;  // relative error at which a contender has been looked at enough
};

struct Place {
  bool dropped = false;
  int turns = 0;       // that it had
  double seconds = 0;  // spent on it
};

struct RaceResult {
  std::vector<Place> places;         // [contender]
  std::vector<std::size_t> ranking;  // those still in, best first; then those dropped, likewise
  double seconds = 0;
  bool settled = false;  // one is left, or all who are left are known well enough
};

// Whether `one` cannot be the best any more, given the leader's pessimistic bound.
bool is_hopeless(const Standing& one, double leaders_low, double z);

// At least one contender. Ends early, unsettled, when told to stop.
RaceResult race(std::span<const std::unique_ptr<Contender>> contenders, const RaceRules& rules,
                const StopToken& stop);

}  // namespace rewise
