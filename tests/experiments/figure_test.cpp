// Verdicts of figures on made-up results.
#include "experiments/commands/figure.hpp"

#include <cmath>
#include <filesystem>
#include <limits>

#include "src/study/build_info.hpp"
#include "src/study/parse.hpp"
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
  CHECK(verdict("less", two_runs(never, 1, {2, 0.1}, 1)).detail.find("more than 1 ") == 0);
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
  check.source = "GTX 480, table 1";
  CHECK(check_figure(check, results).detail == "our value 2 is below 5 (GTX 480, table 1)");
  check.ratio = true;
  CHECK(check_figure(check, results).detail ==
        "our value 2 is below 5 (GTX 480, table 1), by a factor of 2.5");
  check.factor = 3;
  CHECK(check_figure(check, results).detail ==
        "our value 2 is below 3 x 5 (GTX 480, table 1), by a factor of 7.5");
  check.relation = "greater";
  check.factor = 1;
  check.right = "r[schedule=slow].equilibrium_seconds";
  CHECK(check_figure(check, results).detail ==
        "2 (schedule fast) is below 4 (schedule slow), by a factor of 2");
  // Errors of both sides: 10% and 5%.
  CHECK(check_figure(check, two_runs({2, 0.2}, 1, {4, 0.2}, 1)).detail ==
        "2.0(2) (schedule fast) is below 4.0(2) (schedule slow), by a factor of 2.0(2)");
  // None of what is beyond a horizon, or of 0.
  const Value never{kInfinite, std::nan("")};
  CHECK(check_figure(check, two_runs(never, 7, {4, 0}, 1)).detail ==
        "more than 7 (schedule fast) is above 4 (schedule slow)");
  CHECK(check_figure(check, two_runs({2, 0}, 1, never, 7)).detail ==
        "2 (schedule fast) is below more than 7 (schedule slow)");
  CHECK(check_figure(check, two_runs({0, 0}, 1, {4, 0}, 1)).detail ==
        "0 (schedule fast) is below 4 (schedule slow)");
}

TEST_CASE("verdicts: say how many standard errors lie between two values") {
  CHECK(verdict("less", two_runs({2, 0.3}, 1, {4, 0.4}, 1)).detail ==
        "2.0(3) (schedule fast) is below 4.0(4) (schedule slow), by 4.0 standard errors");
  CHECK(verdict("less", two_runs({3, 0.3}, 1, {3.5, 0.4}, 1)).detail ==
        "3.0(3) (schedule fast) and 3.5(4) (schedule slow) differ by 1.0 standard errors only");
  FigureCheck check;
  check.relation = "near";
  check.left = "r[schedule=fast].equilibrium_seconds";
  check.right = "2.17";
  check.source = "fig. 6";
  const auto near = [&](Value ours) { return check_figure(check, two_runs(ours, 1, ours, 1)); };
  CHECK(near({2.19, 0.02}).verdict == "agrees");
  CHECK(near({2.19, 0.02}).detail ==
        "our value 2.19(2) and 2.17 (fig. 6) differ by 0.02, 1.0 standard errors");
  CHECK(near({2.25, 0.02}).verdict == "disagrees");
  check.tolerance = 0.03;
  CHECK(near({2.25, 0.02}).verdict == "agrees");
  CHECK(near({2.25, 0.02}).detail ==
        "our value 2.25(2) and 2.17 (fig. 6) differ by 0.08, 2.5 standard errors beyond the 0.03 "
        "allowed for");
  CHECK(near({2.18, 0.02}).detail ==
        "our value 2.18(2) and 2.17 (fig. 6) differ by 0.01, within the 0.03 allowed for");
  CHECK(near({std::nan(""), 0.02}).verdict == "undecided");
  for (const char* word :
       {"agrees:", "disagrees:", "undecided:", "2 standard errors", "within 3"}) {
    CHECK(verdict_definitions().find(word) != std::string::npos);
  }
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
  CHECK(check_figure(check, {{"r", set}}).detail ==
        "more than 5.0(2) (schedule 1:0) is above 2.0(2) (schedule 4:1)");
}

TEST_CASE("figures: a panel may hold what the paper gives of its curves, and says where") {
  const auto figure = [](const std::string& numbers) {
    std::string text = "[[panel]]\ntheirs = [{ label = \"GTX 480\", ";
    return text.append(numbers).append(" }]\n");
  };
  const auto theirs = [&](const std::string& numbers) {
    const Figure good = parse_figure(figure(numbers), "own", "own.toml", "quick");
    REQUIRE(good.panels.size() == 1);
    REQUIRE(good.panels[0].at("theirs").size() == 1);
    return good.panels[0].at("theirs")[0];
  };
  const std::string source = "source = \"table 1\", ";
  const Json points = theirs(source + "x = [512, 8192], y = [6.533, 7.154]");
  CHECK(points.at("label") == "GTX 480");
  CHECK(points.at("source") == "table 1");
  CHECK(points.at("x") == std::vector<double>{512, 8192});
  CHECK(points.at("y") == std::vector<double>{6.533, 7.154});
  CHECK_FALSE(theirs(source + "x = [2.4]").contains("y"));
  CHECK_FALSE(theirs(source + "y = [13.4]").contains("x"));
  CHECK(theirs(source + "slope = 1.0766").at("slope") == 1.0766);
  for (const std::string& bad :
       {source + "x = [512, 8192], y = [6.533]", source + "x = [1], y = \"6\"",
        std::string("label2 = 1"), std::string("x = [512], y = [6.533]"),
        source.substr(0, source.size() - 2)}) {
    CHECK_THROWS_AS(parse_figure(figure(bad), "own", "own.toml", "quick"), Error);
  }
}

TEST_CASE("figures: every number of the papers has its place, every verdict its numbers' source") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(configs_folder() / "reproduce")) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    const Figure figure = parse_figure(read_text_file(entry.path()), entry.path().stem().string(),
                                       entry.path().string(), "paper");
    for (const auto& check : figure.checks) {
      CAPTURE(entry.path().string(), check.claim);
      const bool number = check.relation != "least" && check.right.find('[') == std::string::npos;
      CHECK(number == !check.source.empty());
    }
  }
  CHECK(files > 20);
}
