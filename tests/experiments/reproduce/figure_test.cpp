// Verdicts of figures on made-up results.
#include "experiments/reproduce/figure.hpp"

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

TEST_CASE("verdicts: the ratio is told where it is asked for, above 1 where ours is the better") {
  const FigureResults results = two_runs({2, 0}, 1, {4, 0}, 1);
  FigureCheck check;
  check.relation = "less";
  check.left = "r[schedule=fast].equilibrium_seconds";
  check.right = std::to_string(5);
  CHECK(check_figure(check, results).detail == "2 against 5");
  check.ratio = true;
  CHECK(check_figure(check, results).detail == "2 against 5, ratio 2.5");
  check.factor = 3;
  CHECK(check_figure(check, results).detail == "2 against 3 x 5, ratio 7.5");
  check.relation = "greater";
  check.factor = 1;
  check.right = "r[schedule=slow].equilibrium_seconds";
  CHECK(check_figure(check, results).detail == "2 against 4, ratio 0.5");
  // Errors of both sides: 10% and 5%.
  CHECK(check_figure(check, two_runs({2, 0.2}, 1, {4, 0.2}, 1)).detail ==
        "2.0(2) against 4.0(2), ratio 0.50(6)");
  // None of what is beyond a horizon, or of 0.
  const Value never{kInfinite, std::nan("")};
  CHECK(check_figure(check, two_runs(never, 7, {4, 0}, 1)).detail == "beyond 7 against 4");
  CHECK(check_figure(check, two_runs({2, 0}, 1, never, 7)).detail == "2 against beyond 7");
  CHECK(check_figure(check, two_runs({0, 0}, 1, {4, 0}, 1)).detail == "0 against 4");
}

TEST_CASE("verdicts: a tau that the series was too short for is beyond its lower bound") {
  CurveSet set;
  set.about = {{"device", "cpu"}};
  const Value none{kInfinite, std::nan("")};
  set.metrics.push_back(
      {{{"schedule", "1:0"}}, {{"tau_m2_seconds", none}, {"tau_m2_above_seconds", {5, 0.2}}}});
  set.metrics.push_back({{{"schedule", "4:1"}}, {{"tau_m2_seconds", {2, 0.2}}}});
  FigureCheck check;
  check.relation = "less";
  check.left = "r[schedule=4:1].tau_m2_seconds";
  check.right = "r[schedule=1:0].tau_m2_seconds";
  CHECK(check_figure(check, {{"r", set}}).verdict == "agrees");
  check.left.swap(check.right);
  CHECK(check_figure(check, {{"r", set}}).verdict == "disagrees");
  CHECK(check_figure(check, {{"r", set}}).detail == "beyond 5.0(2) against 2.0(2)");
}

TEST_CASE("figures: a panel may hold points of the paper's, one y for each x") {
  const auto figure = [](const std::string& y) {
    std::string text = "[[panel]]\ntheirs = [{ label = \"GTX 480\", x = [512, 8192], y = ";
    return text.append(y).append(" }]\n");
  };
  const Figure good = parse_figure(figure("[6.533, 7.154]"), "own", "own.toml", "quick");
  REQUIRE(good.panels.size() == 1);
  const Json theirs = good.panels[0].at("theirs");
  REQUIRE(theirs.size() == 1);
  CHECK(theirs[0].at("label") == "GTX 480");
  CHECK(theirs[0].at("x") == std::vector<double>{512, 8192});
  CHECK(theirs[0].at("y") == std::vector<double>{6.533, 7.154});
  CHECK_THROWS_AS(parse_figure(figure("[6.533]"), "own", "own.toml", "quick"), Error);
  CHECK_THROWS_AS(parse_figure(figure("\"6\""), "own", "own.toml", "quick"), Error);
}
