// Verdicts of figures on made-up results.
#include "experiments/figure.hpp"

#include <cmath>
#include <limits>

#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Runs "fast" and "slow" of which one may not have reached equilibrium within its horizon.
FigureResults two_runs(Value fast, double fast_horizon, Value slow, double slow_horizon) {
  CurveSet set;
  set.about = {{"device", "cpu"}};
  set.metrics.push_back(
      {{{"schedule", "fast"}},
       {{"equilibrium_seconds", fast}, {"apart_until_seconds", {fast_horizon, 0}}}});
  set.metrics.push_back(
      {{{"schedule", "slow"}},
       {{"equilibrium_seconds", slow}, {"apart_until_seconds", {slow_horizon, 0}}}});
  return {{"r", set}};
}

Verdict verdict(const std::string& relation, const FigureResults& results) {
  FigureCheck check;
  check.relation = relation;
  check.left = "r[schedule=fast].equilibrium_seconds";
  check.right = "r[schedule=slow].equilibrium_seconds";
  return check_figure(check, results);
}

}  // namespace

TEST_CASE("verdicts: what was not reached is beyond its horizon, and no more is known") {
  const Value never{kInfinite, std::nan("")};
  // Reached before the other's horizon.
  CHECK(verdict("less", two_runs({2, 0.1}, 1, never, 5)).verdict == "agrees");
  CHECK(verdict("greater", two_runs({2, 0.1}, 1, never, 5)).verdict == "disagrees");
  CHECK(verdict("less", two_runs(never, 5, {2, 0.1}, 1)).verdict == "disagrees");
  // The other was not looked at for as long, or within two errors of it.
  CHECK(verdict("less", two_runs({9, 0.1}, 1, never, 5)).verdict == "undecided");
  CHECK(verdict("less", two_runs({4, 1}, 1, never, 5)).verdict == "undecided");
  CHECK(verdict("greater", two_runs(never, 1, {2, 0.1}, 1)).verdict == "undecided");
  CHECK(verdict("less", two_runs(never, 1, never, 5)).verdict == "undecided");
  CHECK(verdict("near", two_runs(never, 2, {2, 0.1}, 1)).verdict == "undecided");
  CHECK(verdict("less", two_runs(never, 1, {2, 0.1}, 1)).detail.find("beyond 1") == 0);
  // Both reached.
  CHECK(verdict("less", two_runs({2, 0.1}, 1, {3, 0.1}, 2)).verdict == "agrees");
  CHECK(verdict("less", two_runs({2, 0.1}, 1, {2.2, 0.1}, 2)).verdict == "undecided");
  CHECK(verdict("less", two_runs({3, 0.1}, 1, {2, 0.1}, 2)).verdict == "disagrees");
}
