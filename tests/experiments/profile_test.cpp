// --profile: the traces of a finished and of an interrupted run, and the line of summary.
#include <set>
#include <string>

#include "src/results/json_output.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

std::set<std::string> kinds_of(const Json& trace) {
  std::set<std::string> kinds;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    CHECK(event["ts"].get<double>() >= 0);
    CHECK(event["dur"].get<double>() >= 0);
    CHECK(event["tid"].get<int>() >= 1);
    kinds.insert(event["cat"].get<std::string>());
  }
  return kinds;
}

}  // namespace

TEST_CASE("a profile of a run is a trace of its graph, engines and files") {
  const Workplace place;
  const std::string run =
      "run --size 16 --p 0.1 --temperature 2.5 --equilibrate 10 --measure 10 --device cpu --out "
      "t.h5 --profile p.json";
  const Output output = place.run(run);
  INFO(output.err);
  REQUIRE(output.status == 0);
  const Json trace = Json::parse(place.read("p.json"));
  CHECK(kinds_of(trace) == std::set<std::string>{"engine", "files", "graph", "look", "prepare"});
  CHECK(output.err.find("profile: wall ") != std::string::npos);
  CHECK(output.err.find("engine ") != std::string::npos);
  CHECK(output.err.find("1 graphs built") != std::string::npos);
  // An existing trace is not overwritten.
  CHECK(place.run(run).status == 73);
}

TEST_CASE("an interrupted run writes its profile, too") {
  const Workplace place;
  const Output output = place.run(
      "run --size 64 --p 0.1 --temperature 2.5 --measure 1000000 --device cpu --time-limit 1s "
      "--out t.h5 --profile p.json");
  CHECK(output.status == 75);
  const auto kinds = kinds_of(Json::parse(place.read("p.json")));
  CHECK(kinds.count("engine") == 1);
}
