// Points of a run that are kept, and runs of `reproduce` that are ended and go on.
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "src/curves/kept_points.hpp"
#include "src/study/parse.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using nlohmann::json;

namespace {

// One point of a curve: y(x), of the curve k.
CurveSet part(double x, double y, const std::string& k = "a") {
  CurveSet set;
  Curve& curve = set.table("t").curve({{"k", k}});
  curve.append("x", x);
  curve.append("y", y);
  set.metrics.push_back({{{"k", k}, {"x", number_text(x)}}, {{"y", {y, 0.5}}}});
  set.notes = {"a note"};
  return set;
}

CurveSet fail() { throw std::runtime_error("measured again"); }

// Three temperatures by two schedules, some tenths of a second each.
constexpr const char* kFigure = R"(title = "Own"
paper = "nobody"
found = "nothing"
[[run]]
name = "eq"
kind = "equilibrate"
temperature = [2.0, 2.5, 3.0]
schedules = ["1:0", "1:1"]
sizes = [32]
steps = 3000
points = 20
timings = 2
[[check]]
claim = "nothing is below nothing"
left = "1"
right = "2"
)";

json curves_of(const oracle::Workplace& place, const std::string& folder) {
  return json::parse(place.read(folder + "/curves.json"))["runs"]["eq"]["tables"]["energy"];
}

}  // namespace

TEST_CASE("parts of a run: curves of the same keys go on, metrics add up, notes are said once") {
  CurveSet whole;
  append(whole, part(1, 10));
  append(whole, part(1, 20, "b"));
  append(whole, part(2, 11));
  REQUIRE(whole.tables.size() == 1);
  const auto& curves = whole.tables[0].curves;
  REQUIRE(curves.size() == 2);
  CHECK(curves[0].columns[0].second == std::vector<double>{1, 2});
  CHECK(curves[0].columns[1].second == std::vector<double>{10, 11});
  CHECK(curves[1].columns[1].second == std::vector<double>{20});
  CHECK(whole.metrics.size() == 3);
  CHECK(whole.notes.size() == 1);
}

TEST_CASE("points that are kept are not measured again, under the same parameters only") {
  const oracle::Workplace place;
  const auto file = place / "runs/r.points.json";
  Progress progress("", 1, true);
  const double odd = 0.1 + 0.2;
  {
    KeptPoints kept(file, "L = 8");
    kept.point("one", 0, progress, [&] { return part(1, odd); });
    kept.point("two", 0, progress, [] { return part(std::nan(""), INFINITY); });
    CHECK(kept.count() == 2);
  }
  KeptPoints again(file, "L = 8");
  REQUIRE(again.count() == 2);
  const CurveSet one = again.point("one", 0, progress, fail);
  CHECK(one.tables[0].curves[0].columns[1].second[0] == odd);  // to the last bit
  const CurveSet two = again.point("two", 0, progress, fail);
  CHECK(std::isnan(two.tables[0].curves[0].columns[0].second[0]));
  CHECK(std::isinf(two.metrics[0].values[0].second.value));
  CHECK_THROWS(again.point("three", 0, progress, fail));
  CHECK(KeptPoints(file, "L = 16").count() == 0);
  again.remove();
  CHECK(KeptPoints(file, "L = 8").count() == 0);
}

TEST_CASE("a damaged file of points counts as none, and without one nothing is kept") {
  const oracle::Workplace place;
  const auto file = place / "r.points.json";
  Progress progress("", 1, true);
  for (const char* text : {"", "{\"parameters\": \"a\", \"poi", "[1]", "{\"parameters\": \"a\"}",
                           "{\"parameters\": \"a\", \"points\": 3}"}) {
    place.write("r.points.json", text);
    KeptPoints kept(file, "a");
    CHECK(kept.count() == 0);
    kept.point("p", 0, progress, [] { return part(1, 2); });
    CHECK(KeptPoints(file, "a").count() == 1);
  }
  KeptPoints none;
  none.point("p", 0, progress, [] { return part(1, 2); });
  CHECK_THROWS(none.point("p", 0, progress, fail));
}

TEST_CASE("reproduce: a signal between points ends with 75 and leaves what is finished") {
  oracle::Workplace place;
  place.write("own.toml", kFigure);
  const std::string line = "reproduce own.toml --no-plots --device cpu --out ";
  REQUIRE(place.run(line + "whole").status == 0);

  const pid_t child = place.start(line + "ended");
  for (int i = 0; i < 3000 && !place.has("ended/runs/eq.points.json"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  REQUIRE(place.has("ended/runs/eq.points.json"));
  ::kill(child, SIGTERM);
  const oracle::Output ended = place.wait(child);
  INFO(ended.err);
  REQUIRE(ended.status == 75);
  CHECK(ended.err.find("SIGTERM") != std::string::npos);
  CHECK_FALSE(place.has("ended/curves.json"));
  CHECK_FALSE(place.has("ended/runs/eq.json"));
  const json kept = json::parse(place.read("ended/runs/eq.points.json"))["points"];
  REQUIRE(kept.size() >= 1);
  REQUIRE(kept.size() < 6);

  REQUIRE(place.run(line + "ended").status == 0);
  CHECK_FALSE(place.has("ended/runs/eq.points.json"));
  const json whole = curves_of(place, "whole"), resumed = curves_of(place, "ended");
  REQUIRE(resumed.size() == 6);
  REQUIRE(whole.size() == 6);
  std::size_t same = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(resumed[i]["keys"] == whole[i]["keys"]);
    for (const char* name : {"steps", "energy_hot", "energy_cold_error", "m_hot"}) {
      CHECK(resumed[i]["columns"][name] == whole[i]["columns"][name]);
    }
    // Two timings never repeat: these were not taken again.
    for (const auto& point : kept) {
      const auto& before = point["tables"]["energy"][0];
      if (before["keys"] != resumed[i]["keys"]) continue;
      CHECK(before["columns"]["seconds_hot"] == resumed[i]["columns"]["seconds_hot"]);
      ++same;
    }
  }
  CHECK(same == kept.size());
}

TEST_CASE("reproduce: points of another configuration are not taken over") {
  oracle::Workplace place;
  place.write("own.toml", kFigure);
  const std::string line = "reproduce own.toml --no-plots --device cpu --out o";
  const oracle::Output none = place.run(line + " --time-limit 0.001s");
  CHECK(none.status == 75);
  std::filesystem::create_directories(place / "o/runs");
  place.write("o/runs/eq.points.json",
              "{\"parameters\": \"4 cpu {}\", \"points\": {\"T 2 1:0\": 1}}");
  REQUIRE(place.run(line).status == 0);
  CHECK(curves_of(place, "o").size() == 6);
}
