// The commands `decorrelate`, `equilibrate` and `clusters`, run as a user does, on tiny lattices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "graphs/graph.hpp"
#include "src/curves/curve_spec.hpp"
#include "src/curves/timing.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise::oracle;
using nlohmann::json;

namespace {

json parsed(const Output& output) {
  INFO(output.err);
  REQUIRE(output.status == 0);
  return json::parse(output.out);
}

json row(const json& set, const std::string& schedule) {
  for (const auto& entry : set.at("metrics")) {
    if (entry.at("keys").at("schedule") == schedule) return entry.at("values");
  }
  throw std::runtime_error("no row " + schedule);
}

}  // namespace

TEST_CASE("single steps through a cycle make the same moves as whole cycles") {
  using namespace rewise;
  CurveSpec spec;
  spec.graph.extents = {8, 6};
  spec.graph.p = 0.1;
  const Graph graph = build_graph(spec.graph);
  const Updates mix = parse_mix("glauber/3:2", "test");
  CHECK(to_string(mix) == "glauber/3:2");
  const auto whole = curve_engine(spec, graph, 0, 2.4, mix, Start::mixed);
  const auto stepped = curve_engine(spec, graph, 0, 2.4, mix, Start::mixed);
  whole->advance(mix.schedule, 3);
  Stepper stepper(*stepped, mix.schedule);
  for (const std::uint64_t step : {1, 2, 4, 9, 14, 15}) stepper.to(step);
  CHECK(stepper.done() == 15);
  CHECK(stepped->trajectory_hash() == whole->trajectory_hash());
}

TEST_CASE("single steps make the same replica exchanges as whole cycles") {
  using namespace rewise;
  CurveSpec spec;
  spec.graph.extents = {8, 6};
  spec.graph.p = 0.1;
  const Graph graph = build_graph(spec.graph);
  spec.schedule.exchange = true;
  const std::vector<double> temperatures{2.2, 2.4, 2.7};
  for (const char* text : {"3:2", "2:0", "0:2"}) {
    Updates mix = parse_mix(text, "test");
    mix.schedule.exchange = true;
    const auto whole = curve_engine(spec, graph, 0, temperatures, mix, Start::mixed);
    const auto stepped = curve_engine(spec, graph, 0, temperatures, mix, Start::mixed);
    whole->advance(mix.schedule, 20);
    Stepper stepper(*stepped, mix.schedule);
    const std::uint64_t end = 20 * mix.schedule.updates_per_cycle();
    for (std::uint64_t step = 1; step <= end; step += 3) stepper.to(step);
    stepper.to(end);
    INFO(text);
    CHECK(stepped->trajectory_hash() == whole->trajectory_hash());
    Observation one, other;
    stepped->measure(one);
    whole->measure(other);
    CHECK(one.walker == other.walker);
    CHECK(one.exchanges == other.exchanges);
    CHECK(one.exchange_attempts == std::vector<std::uint64_t>{320, 320, 0});
  }
}

TEST_CASE("grids of steps: ascending, at most the given number of points, up to the last step") {
  using rewise::step_grid;
  CHECK(step_grid(5, 10, false) == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
  CHECK(step_grid(100, 4, true) == std::vector<std::uint64_t>{25, 50, 75, 100});
  const auto grid = step_grid(1000, 30, false);
  CHECK(grid.front() == 1);
  CHECK(grid.back() == 1000);
  CHECK(grid.size() <= 30);
  CHECK(step_grid(1, 60, false) == std::vector<std::uint64_t>{1});
}

TEST_CASE("seconds of a part of a cycle count its sweeps and its cluster updates") {
  using namespace rewise;
  const StepCost cost{1, 100};
  CHECK(seconds_of(cost, {2, 1}, 0) == 0);
  CHECK(seconds_of(cost, {2, 1}, 2) == 2);
  CHECK(seconds_of(cost, {2, 1}, 3) == 102);
  CHECK(seconds_of(cost, {2, 1}, 7) == 205);
}

TEST_CASE("decorrelate: correlations fall from near 1, taus are positive, files are written") {
  const Workplace place;
  const json set = parsed(place.run(
      "decorrelate --size 8 --temperature 3.0 --schedule 1:0,swendsen-wang/0:1,2:1 --steps 30 "
      "--origins 4 --equilibrate 20 --engine bytespin --replicas 6 --device cpu --seed 3 "
      "--out d --no-plots --json"));
  CHECK(place.run("decorrelate --size 8 --temperature 3.0 --device cpu --out d").status == 73);
  CHECK(set["format"] == "rewise curves");
  CHECK(set["kind"] == "decorrelate");
  const auto& curves = set["tables"]["correlation"];
  REQUIRE(curves.size() == 3);
  for (const auto& curve : curves) {
    const auto& columns = curve["columns"];
    CHECK(columns["steps"].front() == 1);
    CHECK(columns["steps"].back() == 30);
    const double first = columns["abs_correlation"].front(),
                 last = columns["abs_correlation"].back();
    CHECK(first <= 1);
    CHECK(last < first);
    CHECK(columns["seconds"].back() > columns["seconds"].front());
    CHECK(columns["seconds_low"].back() <= columns["seconds"].back());
    CHECK(columns["seconds_high"].back() >= columns["seconds"].back());
  }
  CHECK(row(set, "1:0").at("tau_e_steps").at("value") > 0);
  CHECK(row(set, "1:0").at("cluster_seconds").at("value") == 0);
  CHECK(row(set, "2:1").at("cluster_seconds").at("value") > 0);
  CHECK(place.files() == std::vector<std::string>{"d/autocorrelation.csv", "d/correlation.csv",
                                                  "d/curves.json", "d/metrics.csv"});
  CHECK(lines(place.read("d/correlation.csv")) == 1 + 3 * curves[0]["columns"]["steps"].size());
}

TEST_CASE("decorrelate, equilibrate, clusters: the default seed is that of the first graph") {
  const Workplace place;
  for (const std::string command : {"decorrelate", "equilibrate --schedule 1:0", "clusters"}) {
    const std::string words = command + " --size 8 --temperature 3.0 --device cpu --json";
    CHECK(parsed(place.run(words))["about"]["seed"] == 1);
    CHECK(parsed(place.run(words + " --graph-seed 4"))["about"]["seed"] == 4);
    CHECK(parsed(place.run(words + " --graph-seed 4 --seed 1"))["about"]["seed"] == 1);
  }
}

// With few-cluster updates alone bytespin would be chosen, with sweeps alone multispin.
TEST_CASE("all schedules of a curve use one engine, which decides about the number of replicas") {
  const Workplace place;
  const Output output = place.run(
      "equilibrate --device cpu --size 8 --temperature 2.3 --schedule few-cluster/0:1,1:0 "
      "--replicas 10 --steps 4 --timings 1");
  INFO(output.err);
  CHECK(output.status == 0);
  CHECK(output.out.find("bytespin") != std::string::npos);
}

TEST_CASE("decorrelate: a lower bound of tau if the series is too short") {
  const Workplace place;
  const json set =
      parsed(place.run("decorrelate --size 64 --temperature 2.269185314213022 --schedule 1:0,0:1 "
                       "--steps 60 --origins 2 --equilibrate 10 --device cpu --seed 3 --json"));
  const auto& sweeps = row(set, "1:0");
  CHECK(sweeps.at("tau_m2_steps").at("infinite") == true);
  CHECK(sweeps.at("tau_m2_seconds").at("infinite") == true);
  CHECK(sweeps.at("tau_m2_above_steps").at("value") > 10);
  CHECK(sweeps.at("tau_m2_above_steps").at("value") < 120);
  CHECK(sweeps.at("tau_m2_above_seconds").at("value") > 0);
  const auto& clusters = row(set, "0:1");
  CHECK(clusters.at("tau_m2_steps").at("value") < 10);
  CHECK(!clusters.contains("tau_m2_above_steps"));
}

// Two replicas at (almost) equal temperatures are exchanged in every second cycle. The
// autocorrelation at a temperature is then that of a replica, times the probability that the
// temperature has the same replica again: 1/2, 0, 1/2, 1 after 1, 2, 3, 4 cycles.
TEST_CASE("decorrelate: autocorrelation at a temperature while replicas are exchanged") {
  const Workplace place;
  const std::string base =
      "decorrelate --size 8 --schedule 1:0 --steps 400 --origins 10 --replicas 64 --device cpu "
      "--equilibrate 200 --json ";
  const json alone = parsed(place.run(base + "--temperature 2.5 --seed 4"));
  const json swapped =
      parsed(place.run(base + "--temperature 2.5,2.500001 --exchange --seed 5 --out d --no-plots"));
  CHECK(!alone["about"].contains("exchange"));
  CHECK(swapped["about"]["exchange"] == true);
  REQUIRE(swapped["tables"]["autocorrelation"].size() == 2);
  const json& free = alone["tables"]["autocorrelation"][0]["columns"];
  CHECK(!free.contains("rho_q2"));
  for (const json& curve : swapped["tables"]["autocorrelation"]) {
    const json& columns = curve["columns"];
    REQUIRE(columns["cycles"][3] == 4);
    for (const char* name : {"e", "abs_m", "m2"}) {
      const double same[] = {0.5, 0, 0.5, 1};
      for (int lag = 1; lag <= 4; ++lag) {
        const auto rho = [&](const json& at) {
          return at.at(std::string("rho_") + name)[static_cast<std::size_t>(lag - 1)].get<double>();
        };
        const auto error = [&](const json& at) {
          return at.at(std::string("rho_") + name + "_error")[static_cast<std::size_t>(lag - 1)]
              .get<double>();
        };
        INFO(name << ", lag " << lag << ": " << rho(columns) << " and " << rho(free));
        const double expected = same[lag - 1] * rho(free);
        // 24 comparisons of 5 standard errors: false alarms 1.4e-5.
        CHECK(std::abs(rho(columns) - expected) <
              5 * std::hypot(error(columns), same[lag - 1] * error(free)));
      }
    }
    CHECK(columns["rho_q2"][1].get<double>() < 0.1);
  }
  const json& first = swapped["metrics"][0]["values"];
  CHECK(first.at("exchange_accepted").at("value") > 0.999);
  CHECK(swapped["metrics"][1]["values"].at("exchange_accepted").at("value").is_null());
  // Each replica returns to its temperature every fourth cycle.
  CHECK(first.at("trips_per_1000_cycles").at("value") > 245);
  CHECK(first.at("trips_per_1000_cycles").at("value") < 250.001);
  double longest = 0;
  for (const char* name : {"tau_e_steps", "tau_abs_m_steps", "tau_m2_steps", "tau_q2_steps"}) {
    longest = std::max(longest, first.at(name).at("value").get<double>());
  }
  CHECK(first.at("tau_q2_cycles") == first.at("tau_q2_steps"));  // 1:0 has one step per cycle
  CHECK(first.at("independent_cycles").at("value").get<double>() == Approx(2 * longest));
  CHECK(place.read("d/metrics.csv").find("independent_cycles") != std::string::npos);
}

TEST_CASE("decorrelate with exchange: chosen temperatures, round trips, refusals") {
  const Workplace place;
  const std::string glass = "decorrelate --dim 3 --size 4 --couplings pm --steps 20 --origins 3 ";
  const Output found = place.run(glass + "--schedule 1:0,2:0 --temperature 1.2:2 --exchange");
  INFO(found.out << found.err);
  REQUIRE(found.status == 0);
  CHECK(found.err.find("temperatures: 1.2, ") != std::string::npos);
  for (const char* words : {"accepted", "round trips", "tau(q^2)", "independent", "exchange, us"}) {
    CHECK(found.out.find(words) != std::string::npos);
  }
  // A row per schedule, then one per schedule and temperature.
  const auto ladder = found.err.substr(found.err.find("temperatures: "));
  const auto temperatures = 1 + std::count(ladder.begin(), ladder.end(), ',');
  CHECK(lines(found.out) <= 12 + 2 + 2 * static_cast<std::size_t>(temperatures));
  const json all = parsed(
      place.run(glass + "--schedule 2:0 --temperature 1.2,2 --exchange --json --device cpu"));
  const json& values = all["metrics"][0]["values"];
  for (const char* name : {"e", "abs_m", "m2", "q2"}) {
    const auto tau = [&](const char* unit) {
      const json& bound = values.value(fmt::format("tau_{}_above_{}", name, unit), json());
      return (bound.is_null() ? values.at(fmt::format("tau_{}_{}", name, unit)) : bound)
          .at("value")
          .get<double>();
    };
    CHECK(tau("steps") == Approx(2 * tau("cycles")));
  }
  std::istringstream text(found.out);
  for (std::string one; std::getline(text, one);) CHECK(one.size() <= 100);
  const std::string none = "no replica went from the lowest to the highest temperature";
  const Output stuck = place.run(glass + "--schedule 1:0 --temperature 0.2,4 --exchange");
  CHECK(stuck.out.find("warning: 1:0: replica exchange: " + none) != std::string::npos);
  // The ladder is that of `run`.
  const Output run = place.run(
      "run --dim 3 --size 4 --couplings pm --schedule 1:0 --exchange --temperature 1.2:2 "
      "--equilibrate 1 --measure 2");
  CHECK(run.err.find(found.err.substr(found.err.find("temperatures: "),
                                      found.err.find('\n', found.err.find("temperatures: ")) -
                                          found.err.find("temperatures: "))) != std::string::npos);
  for (const auto& [options, what] :
       {std::pair{"--temperature 1.2 --exchange", "requires at least two temperatures"},
        std::pair{"--temperature 2:1 --exchange", "0 < FROM < TO"},
        std::pair{"--temperature 1:2", "--temperature"}}) {
    const Output refused = place.run(glass + "--schedule 1:0 " + options);
    INFO(refused.err);
    CHECK(refused.status == 64);
    CHECK(lines(refused.err) == 1);
    CHECK(refused.err.find(what) != std::string::npos);
  }
}

TEST_CASE("printed tables have at most 100 columns, and show bounds for unknown values") {
  const Workplace place;
  for (const std::string line :
       {"decorrelate --size 64 --temperature 2.269185314213022,2.5 --schedule "
        "1:0,glauber/swendsen-wang/1:1 --engine bytespin --replicas 4 --steps 60 --origins 2 "
        "--equilibrate 10",
        "equilibrate --size 16 --temperature 3 --schedule 1:0,glauber/swendsen-wang/1:1 "
        "--engine bytespin --replicas 4 --steps 120",
        "clusters --size 16 --temperature 2.269185,2.5 --measure 40 --equilibrate 20"}) {
    const Output output = place.run(line + " --device cpu");
    INFO(output.out << output.err);
    REQUIRE(output.status == 0);
    std::istringstream text(output.out);
    for (std::string one; std::getline(text, one);) CHECK(one.size() <= 100);
    CHECK(output.out.find("_seconds") == std::string::npos);
    CHECK(output.out.find("share_large") == std::string::npos);
    if (line.starts_with("clusters")) {
      CHECK(output.out.find("fit_q: probability of a worse fit") != std::string::npos);
      CHECK(output.out.find("> N/2") != std::string::npos);
    }
    if (!line.starts_with("decorrelate")) continue;
    for (const char* words :
         {"sweep, us", "cycle, us", "|correlation|", "after steps", "1/30, us", "|m|, us"}) {
      CHECK(output.out.find(words) != std::string::npos);
    }
    CHECK(output.out.find("> ") != std::string::npos);  // bound of tau of m^2 at Tc, sweeps only
    CHECK(output.out.find("tau_m2_above") == std::string::npos);
  }
}

TEST_CASE("times: a repeat slowed down by other processes widens the range, not the value") {
  using namespace rewise;
  const Timing timing = timing_of({1.0, 1.1, 90.0, 0.9, 1.0});
  CHECK(timing.median.value == 1.0);
  CHECK(timing.median.error < 0.1);
  CHECK(timing.shortest == 0.9);
  CHECK(timing.longest == 90.0);
  CHECK(std::isnan(timing_of({2.0}).median.error));
  Eigen::ArrayXXd repeats(3, 1);
  repeats << 1.0, 0.9, 90.0;
  Curve curve;
  add_timings(curve, "total", repeats);
  REQUIRE(curve.columns.size() == 4);
  CHECK(curve.columns[0].second == std::vector<double>{1.0});
  CHECK(curve.columns[2] == std::pair<std::string, std::vector<double>>{"total_low", {0.9}});
  CHECK(curve.columns[3] == std::pair<std::string, std::vector<double>>{"total_high", {90.0}});
}

TEST_CASE("equilibrate: hot and cold starts meet at the exact energy of a small torus") {
  const Workplace place;
  const json set = parsed(
      place.run("equilibrate --size 8 --temperature 3.0 --schedule 1:0,glauber/1:0,1:1 --steps 400 "
                "--points 40 --replicas 1024 --device cpu --seed 4 --json"));
  const auto& curves = set["tables"]["energy"];
  REQUIRE(curves.size() == 3);
  for (const auto& curve : curves) {
    const auto& columns = curve["columns"];
    CHECK(columns["energy_hot"].front() > columns["energy_cold"].front());
    // Kaufman's exact energy, within 4.5 errors (false alarms: 1e-5 for each of 6).
    for (const char* name : {"energy_hot", "energy_cold"}) {
      const double value = columns[name].back(),
                   error = columns[std::string(name) + "_error"].back();
      CHECK(std::abs(value + 0.8413154279) < 4.5 * error);
    }
  }
  for (const std::string name : {"seconds_hot", "seconds_cold", "step_seconds_hot"}) {
    int spread = 0;  // number of points whose three timings differ, as a clock may be coarse
    const auto& columns = curves[0]["columns"];
    for (std::size_t i = 0; i < columns[name].size(); ++i) {
      CHECK(columns[name + "_error"][i] >= 0);
      CHECK(columns[name + "_low"][i] <= columns[name][i]);
      CHECK(columns[name + "_high"][i] >= columns[name][i]);
      spread += columns[name + "_high"][i] > columns[name + "_low"][i] ? 1 : 0;
    }
    CHECK(spread > 20);
  }
  CHECK(row(set, "1:0").at("last_step_seconds").at("error") >= 0);
  CHECK(row(set, "1:0").at("equilibrium_steps").at("value") < 200);
  CHECK(row(set, "1:0").at("steps_to_5%").at("value") > 1);
  CHECK(row(set, "1:0").at("steps_to_5%").at("value") <
        row(set, "glauber/1:0").at("steps_to_5%").at("value"));
  CHECK(row(set, "1:0").at("steps_end").at("value") == 400);
  const json few = parsed(place.run(
      "equilibrate --size 8 --temperature 3.0 --schedule 1:0 --steps 20 --device cpu --json"));
  CHECK_FALSE(row(few, "1:0").contains("energy_at_100"));
  CHECK(row(set, "1:0").contains("energy_at_100"));
  CHECK(row(set, "1:0").at("seconds_to_5%").at("value") <
        row(set, "1:0").at("seconds_end").at("value"));
  CHECK(row(set, "glauber/1:0").at("equilibrium_steps").at("value") >
        row(set, "1:0").at("equilibrium_steps").at("value"));
}

TEST_CASE("clusters: the mean cluster size over N is <m^2>, and the densities add up to one") {
  const Workplace place;
  const json set = parsed(
      place.run("clusters --size 16 --temperature 2.269185314213022 --schedule 1:1 --measure 400 "
                "--equilibrate 60 --device cpu --seed 5 --fit 2:100 --out c --no-plots --json"));
  const auto& values = row(set, "1:1");
  const double fraction = values.at("cluster_fraction").at("value");
  const double m2 = values.at("m2").at("value");
  const double error = std::hypot(values.at("cluster_fraction").at("error").get<double>(),
                                  values.at("m2").at("error").get<double>());
  CHECK(std::abs(fraction - m2) < 4 * error);  // false alarm 6e-5
  CHECK(values.at("exponent").at("value") > 0.9);
  CHECK(values.at("exponent").at("value") < 1.4);
  double sum = 0;
  for (const double share : set["tables"]["shares"][0]["columns"]["share"]) sum += share;
  CHECK(sum == Approx(1));
  CHECK(place.has("c/sizes.csv"));
  CHECK(place.run("clusters --size 8 --temperature 2 --schedule 1:2 --device cpu").status == 64);
  for (const char* model : {"--couplings pm", "--field 0.1"}) {
    const Output refused = place.run(
        "clusters --size 8 --temperature 2 --schedule 0:1 --device cpu " + std::string(model));
    CHECK(refused.status == 64);
    CHECK(refused.err.find("clusters: with couplings or fields") != std::string::npos);
  }
}

TEST_CASE("curves: invalid input gives one line of error and status 64") {
  const Workplace place;
  for (const char* arguments : {"decorrelate --temperature 2", "decorrelate --size 8",
                                "equilibrate --size 8 --temperature 2 "
                                "--schedule 1:0,1:0",
                                "decorrelate --size 8 --temperature 2 --schedule glaubre/1:0",
                                "clusters --size 8 --temperature 2 --fit 5"}) {
    const Output output = place.run(arguments);
    INFO(arguments << ": " << output.err);
    CHECK(output.status == 64);
    CHECK(output.out.empty());
    CHECK(lines(output.err) == 1);
  }
}
