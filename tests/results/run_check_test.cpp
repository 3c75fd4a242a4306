// `run` prints only values in equilibrium: the checks of a single run, their rate of false alarms,
// and the output of the program.
#include "src/results/run_check.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "src/results/run_estimates.hpp"
#include "tests/analysis/synthetic.hpp"
#include "tests/study/small_task.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;
using nlohmann::json;

namespace {

// White noise around one value. `shift(r, t)` is added to replica r at time t, in standard
// deviations.
template <class Shift>
TaskData made(std::uint64_t seed, std::uint32_t replicas, int times, const Shift& shift) {
  TaskData data;
  data.configuration = {{"sampling.start", "mixed"},
                        {"sampling.equilibrate", "100"},
                        {"sampling.every", "1"},
                        {"sampling.schedule", "1:0"},
                        {"sampling.cluster", "wolff"}};
  data.graph.sites = 1000;
  data.temperature = {2.5};
  data.replicas = replicas;
  data.shape_series();
  test::Dice dice(seed);
  for (int t = 0; t < times; ++t) {
    std::vector<std::int64_t> energy, magnetisation;
    for (std::uint32_t r = 0; r < replicas; ++r) {
      energy.push_back(std::lround(1000 + 40 * dice.normal()));
      magnetisation.push_back(std::lround(500 + 40 * (dice.normal() + shift(r, t))));
    }
    data.bond_sum.append(energy);
    data.magnetisation.append(magnetisation);
  }
  return data;
}

RunCheck check_of(const TaskData& data) { return checked_run(data).checks.front(); }

json results_of_run(const Workplace& place, const std::string& line) {
  const Output output = place.run("run --device cpu --threads 1 --json " + line);
  INFO(line << "\n" << output.err);
  REQUIRE(output.status == 0);
  return json::parse(output.out);
}

}  // namespace

// Three tests of level 1e-4 each: more than 2 rejections among 1500 runs in equilibrium have a
// probability of about 0.01.
TEST_CASE("runs of white noise are hardly ever refused, with any number of replicas") {
  const auto none = [](std::uint32_t, int) { return 0.0; };
  for (const std::uint32_t replicas : {1u, 8u, 32u}) {
    int refused = 0, warned = 0;
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
      const RunCheck check = check_of(made(3 * seed, replicas, replicas == 1 ? 400 : 60, none));
      refused += check.ok() ? 0 : 1;
      warned += static_cast<int>(check.warnings.size());
    }
    CAPTURE(replicas);
    CHECK(refused <= 2);
    CHECK(warned == 0);
  }
}

TEST_CASE("a run whose replicas stay in different valleys is refused, with all starts alike") {
  const auto reasons = [](const TaskData& data) {
    std::string all;
    for (const RunReason& reason : check_of(data).reasons) all += reason.text() + "\n";
    return all;
  };
  // Half of the replicas of each start lie higher by 0.8 standard deviations.
  const auto valley = [](std::uint32_t r, int) { return r / 2 % 2 == 0 ? 0.8 : 0.0; };
  TaskData stuck = made(7, 16, 400, valley);
  CHECK(check_of(stuck).status == RunStatus::not_equilibrated);
  CHECK(reasons(stuck).find("in different valleys") != std::string::npos);
  // After a much longer equilibration they are a sample of the valleys.
  stuck.configuration["sampling.equilibrate"] = "4000";
  CHECK(reasons(stuck) == "");
  // A slow change within the series is no valley.
  const auto slow = [](std::uint32_t r, int t) { return 0.8 * std::sin((t + 25. * r) / 64); };
  CHECK(reasons(made(8, 16, 400, slow)).find("valleys") == std::string::npos);
}

// One of 16 replicas lies 60 standard deviations off throughout.
TEST_CASE("a replica far from all others is stuck, unless replica exchange takes it to and fro") {
  const auto far = [](std::uint32_t r, int) { return r == 3 ? 60.0 : 0.0; };
  TaskData data = made(6, 16, 40, far);
  const auto stuck = [&](bool made_round_trips) {
    return stuck_replicas(data, series_at(data.bond_sum, 0), series_at(data.magnetisation, 0),
                          Value{0.5, 0.1}, 5, made_round_trips);
  };
  CHECK(stuck(false).find("|m| of 1 of 16 replicas") == 0);
  CHECK(stuck(true) == "");

  // In the ground state the averages of replicas do not differ. A short excitation is possible in
  // equilibrium. One that lasts long, or is present in the first measurement, indicates a stuck
  // replica.
  const auto excited = [&](int from, int to) {
    data.bond_sum = data.magnetisation = {};
    data.shape_series();
    for (int t = 0; t < 40; ++t) {
      std::vector<std::int64_t> energy(16, 1000);
      if (t >= from && t < to) energy[3] -= 4;
      data.bond_sum.append(energy);
      data.magnetisation.append(std::vector<std::int64_t>(16, 500));
    }
    return stuck(false);
  };
  CHECK(excited(10, 13) == "");
  CHECK(excited(10, 35).find("e of 1 of 16 replicas") == 0);
  CHECK(excited(0, 3).find("e of 1 of 16 replicas") == 0);

  CHECK(!round_trips_before(data, 1e9));  // there is no replica exchange
  data.temperature = {0.5, 2.5};
  data.shape_series();
  // The two configurations of each replica are exchanged after every `period` of 60 measurements.
  const auto exchanged = [&](int period) {
    data.walker = data.exchanges = data.exchange_attempts = {};
    data.shape_series();
    for (int t = 0; t < 60; ++t) {
      std::vector<std::uint64_t> walker(32, t / period % 2 == 0 ? 0 : 1);
      for (std::size_t r = 16; r < 32; ++r) walker[r] = 1 - walker[r];
      data.walker.append(walker);
      data.exchange_attempts.append(std::vector<std::uint64_t>(2, 1));
      data.exchanges.append(std::vector<std::uint64_t>(2, 1));
    }
  };
  exchanged(60);  // never
  CHECK(!round_trips_before(data, 1e9));
  exchanged(3);  // a round trip takes 6 cycles
  CHECK(round_trips_before(data, 10));
  CHECK(!round_trips_before(data, 4));
}

// Some replicas stay in the phase against the field: e, |m| and m^2 do not show it.
TEST_CASE("in a field, the sign of m of both starts is compared") {
  TaskData data = made(1, 32, 100, [](std::uint32_t r, int) { return r % 4 == 1 ? -25.0 : 0.0; });
  CHECK(check_of(data).ok());
  data.configuration["sampling.field"] = "0.1";
  const RunCheck check = check_of(data);
  CHECK(check.status == RunStatus::not_equilibrated);
  CHECK(check.halves.observable == "magnetisation");

  // A single replica against the field does not change the averages of the starts significantly.
  TaskData one = made(1, 32, 100, [](std::uint32_t r, int) { return r == 5 ? -25.0 : 0.0; });
  CHECK(check_of(one).ok());
  const auto stuck = [&] {
    return stuck_replicas(one, series_at(one.bond_sum, 0), series_at(one.magnetisation, 0),
                          Value{0.5, 0.1}, 5, false);
  };
  CHECK(stuck().empty());
  one.configuration["sampling.field"] = "0.1";
  CHECK(check_of(one).status == RunStatus::not_equilibrated);
  CHECK(stuck().starts_with("m of 1 of 32 replicas"));

  // A graph file with couplings has a field only if a site of it has one.
  data.configuration.erase("sampling.field");
  data.configuration["sampling.couplings"] = "file";
  data.graph.field.assign(1000, 0);
  CHECK(check_of(data).ok());
  const auto measures_m = [&] {
    return checked_run(data).results.front().values.contains("magnetisation");
  };
  CHECK(!measures_m());
  data.graph.field[7] = 0.5;
  CHECK(check_of(data).status == RunStatus::not_equilibrated);
  CHECK(measures_m());
}

// Replicas r and r + 2 are equal. The error of a mean of n values is s / sqrt(n); s^2 has 31
// degrees of freedom with 32 replicas, 15 with 16 couples.
TEST_CASE("with Houdayer moves partners count once in errors and in checks") {
  TaskData data = made(5, 32, 60, [](std::uint32_t, int) { return 0.0; });
  TaskData coupled = data;
  coupled.bond_sum = coupled.magnetisation = {};
  coupled.shape_series();
  for (std::size_t t = 0; t < 60; ++t) {
    std::vector<std::int64_t> energy, magnetisation, overlap, link;
    for (std::size_t r = 0; r < 32; ++r) {
      energy.push_back(data.bond_sum.at(0, t, r - r % 4 / 2 * 2));
      magnetisation.push_back(data.magnetisation.at(0, t, r - r % 4 / 2 * 2));
    }
    for (std::size_t pair = 0; pair < 16; ++pair) {
      overlap.push_back(energy[2 * pair]);
      link.push_back(magnetisation[2 * pair]);
    }
    coupled.bond_sum.append(energy);
    coupled.magnetisation.append(magnetisation);
    coupled.overlap.append(overlap);
    coupled.link_overlap.append(link);
  }
  coupled.graph.bonds = 2000;
  const TemperatureResult alone = results_of(coupled).front();
  const HotColdDifference halves = hot_cold_difference(coupled, 0, 60);
  coupled.configuration["sampling.houdayer"] = "true";
  const TemperatureResult members = results_of(coupled).front();
  const HotColdDifference of_members = hot_cold_difference(coupled, 0, 60);
  const Value energy = members.estimate("energy"), plain = alone.estimate("energy");
  CHECK(energy.value == Approx(plain.value));
  CHECK(energy.error == Approx(plain.error * std::sqrt(31. / 15)));
  CHECK(halves.dof == 30);
  CHECK(of_members.dof == 14);
  CHECK(of_members.difference(0, 0) == Approx(halves.difference(0, 0)));
  CHECK(of_members.variance(0, 0) == Approx(halves.variance(0, 0) * 15 / 7));
  CHECK(overlap_rows_of(coupled, 0).rows() == 8);
  CHECK(overlap_changes_of(coupled, 0).rows() == 8);
  CHECK(members.values.size() == alone.values.size());
  CHECK(members.estimate("overlap_m2").value == Approx(alone.estimate("overlap_m2").value));
  CHECK(members.estimate("overlap_m2").error > alone.estimate("overlap_m2").error);
}

// 300 runs: at most 0.09 rejections are expected (3e-4 per run, for all temperatures), more than 2
// with probability 1e-4.
TEST_CASE("runs of a small lattice in equilibrium are hardly ever refused") {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    TaskSpec spec = small_task();
    spec.seed = seed;
    spec.equilibrate = 60;
    spec.measure = 40;
    spec.every = 1;
    for (const RunCheck& check : checked_run(run_task({spec}, one_thread()).data).checks) {
      refused += check.ok() ? 0 : 1;
    }
  }
  CHECK(refused <= 2);
}

TEST_CASE("different starts, stuck replicas and drifting series are refused") {
  const auto hot = [](std::uint32_t r) { return starts_hot(Start::mixed, r); };
  const RunCheck differ =
      check_of(made(1, 32, 60, [&](auto r, int) { return hot(r) ? 0.5 : 0.0; }));
  CHECK(differ.status == RunStatus::not_equilibrated);
  CHECK(differ.reasons.at(0).reason.find("hot and cold differ in abs_magnetisation") !=
        std::string::npos);
  // Four replicas with hot start are stuck. The mean of their half is within 2 standard errors.
  const auto stuck = [&](std::uint32_t r, int) { return hot(r) && r % 10 == 1 ? -9.0 : 0.0; };
  for (const int times : {20, 60, 600}) {
    CAPTURE(times);
    const RunCheck check = check_of(made(2, 32, times, stuck));
    CHECK(check.halves.agree);
    CHECK(check.status == RunStatus::not_equilibrated);
    CHECK(check.reasons.at(0).reason.find("some replicas are stuck") != std::string::npos);
  }
  // A single stuck replica, for any length of the run. A short excursion does not count.
  for (const int times : {20, 60, 600}) {
    CAPTURE(times);
    const RunCheck check =
        check_of(made(5, 32, times, [](std::uint32_t r, int) { return r == 7 ? -9.0 : 0.0; }));
    CHECK(check.status == RunStatus::not_equilibrated);
    CHECK(check.reasons.at(0).reason.find("1 of 32 replicas is") != std::string::npos);
  }
  CHECK(check_of(made(6, 32, 60, [](std::uint32_t r, int t) {
          return r == 7 && t == 30 ? -9.0 : 0.0;
        })).ok());
  // Few measurements with a long autocorrelation time, after few cycles.
  TaskData slow = made(7, 32, 60, [](std::uint32_t r, int) { return r % 8 / 2.0; });
  CHECK(check_of(slow).reasons.at(0).reason.find("too few to determine tau") != std::string::npos);
  slow.configuration["sampling.equilibrate"] = "10000";
  CHECK(check_of(slow).ok());
  // Both starts drift in the same way.
  for (const std::uint32_t replicas : {1u, 4u, 32u}) {
    CAPTURE(replicas);
    const double step = replicas == 32 ? 0.5 : 1.5;
    const auto drift = [&](std::uint32_t, int t) { return t < 100 ? step : 0; };
    CHECK(check_of(made(3, replicas, 200, drift)).status != RunStatus::ok);
  }
  TaskData early = made(4, 32, 60, [](auto, int) { return 0.0; });
  early.configuration["sampling.equilibrate"] = "1";
  CHECK(check_of(early).ok());
  CHECK(check_of(early).warnings.size() == 1);
  early.configuration["sampling.start"] = "hot";  // no second start proves equilibrium
  CHECK(check_of(early).status == RunStatus::not_equilibrated);
}

TEST_CASE("run prints values only at temperatures in equilibrium") {
  const Workplace place;
  // The exact |m| at 0.8 is 0.9999. Replicas with hot start, stuck in stripes, give 0.87(5).
  const std::string line =
      "--size 64 --temperature 0.8,1.5,2.6 --schedule 1:0 --equilibrate 1000 --measure 200";
  const json run = results_of_run(place, line);
  for (const std::size_t bad : {0, 1}) {
    const json& row = run["results"][bad];
    CHECK(row["status"] == "not-equilibrated");
    CHECK(row["reasons"][0].get<std::string>().find("raise --equilibrate") != std::string::npos);
    for (const char* name : {"energy", "abs_magnetisation", "m2", "m4", "binder", "specific_heat",
                             "susceptibility", "cluster_fraction"}) {
      CHECK(row[name]["value"].is_null());
      CHECK(row[name]["error"].is_null());
    }
    CHECK(row["candidate"]["energy"]["value"].is_number());
  }
  const json& good = run["results"][2];
  CHECK(good["status"] == "ok");
  CHECK(good["reasons"].empty());
  CHECK(good["candidate"].is_null());
  CHECK(good["energy"]["value"].is_number());
  CHECK(run["warnings"].size() == 2);

  const Output table = place.run("run --device cpu " + line);
  CHECK(table.err.find("not in equilibrium") == std::string::npos);  // the table says it, once
  CHECK(table.out.find("warning: ") == std::string::npos);
  CHECK(table.out.find("All checks passed") == std::string::npos);
  CHECK(table.out.find("\n  0.8  -  ") != std::string::npos);
  CHECK(table.out.find("\n  2.6  -1.") != std::string::npos);
  CHECK(table.out.find("T = 0.8: no values (not-equilibrated): ") != std::string::npos);
  CHECK(table.out.find("not in equilibrium") == std::string::npos);  // the status says it
}

TEST_CASE("temperatures that exchange replicas with one without equilibrium have no values") {
  const auto beside = [](const std::vector<double>& temperatures, const std::vector<double>& bad) {
    std::vector<std::size_t> found;
    for (const AffectedTemperature& one : affected_temperatures(temperatures, bad))
      found.push_back(one.index);
    return found;
  };
  const std::vector<double> all = {0.5, 0.8, 1.1, 1.4, 1.7};
  CHECK(beside(all, {}).empty());
  CHECK(beside(all, {0.5}) == std::vector<std::size_t>{1});
  CHECK(beside(all, {0.8}) == std::vector<std::size_t>{0, 2});
  CHECK(beside(all, {0.5, 1.4}) == std::vector<std::size_t>{1, 2, 4});
  CHECK(beside(all, {1.7}) == std::vector<std::size_t>{0, 1, 2, 3});
  CHECK(beside({1.7, 1.4, 1.1}, {1.4}) == std::vector<std::size_t>{0, 2});

  // At T = 0.986, q^2 would be 0.121(11), and at 1.18 0.0619(19). After 20 000 cycles of
  // equilibration they are 0.1744(8) and 0.0858(4).
  const Workplace place;
  const json run = results_of_run(
      place,
      "--dim 2 --size 12 --p 0.1 --couplings pm --temperature 0.8:2.0 --schedule 1:0 --exchange "
      "--equilibrate 20 --measure 100");
  const json& results = run["results"];
  REQUIRE(results.size() == 6);
  CHECK(results[0]["status"] == "not-equilibrated");
  CHECK(results[1]["status"] == "not-equilibrated");
  const auto reason = [&](std::size_t k) { return results[k]["reasons"][0].get<std::string>(); };
  CHECK(reason(1).find("tau of q^2 is 4.3 cycles, and 20 cycles") != std::string::npos);
  CHECK(reason(2).find("exchanged with T = 0.985918") != std::string::npos);
  CHECK(results[2]["overlap_m2"]["value"].is_null());
  CHECK(results[5]["status"] == "ok");
}

TEST_CASE("run says that its checks passed only if every tau is known") {
  Workplace place;
  const auto lines = [&](const std::string& measure) {
    return place
        .run(
            "run --device cpu --threads 1 --dim 3 --size 6 --couplings pm --exchange "
            "--temperature 0.6,0.9,1.3,1.8 --schedule 1:0 --equilibrate 3000 --measure " +
            measure)
        .out;
  };
  const std::string few = lines("300");
  CHECK(few.find("All checks passed") == std::string::npos);
  CHECK(few.find("No check failed (ordered and random starts agree, the measurements do not "
                 "drift), but the measurements are too few to determine tau at T = 0.6.\n") !=
        std::string::npos);
  CHECK(lines("30000").find("All checks passed: ordered and random starts agree") !=
        std::string::npos);
}

// 1 to 5 of 32 replicas are stuck in stripes. At p = 0 the exact |m| is above 0.999, and chi is far
// below 1.
TEST_CASE("runs with few stuck replicas have no values, short and long ones") {
  const Workplace place;
  for (const char* line : {"--size 32 --temperature 0.8 --measure 3000 --seed 1",
                           "--size 32 --temperature 0.8 --measure 3000 --seed 6",
                           "--size 32 --temperature 0.8 --measure 200 --seed 2",
                           "--size 64 --temperature 1.0 --measure 2000 --seed 4",
                           "--size 64 --temperature 0.8 --p 0.01 --measure 200 --seed 1"}) {
    CAPTURE(line);
    const json run =
        results_of_run(place, std::string("--schedule 1:0 --equilibrate 1000 ") + line);
    CHECK(run["results"][0]["status"] == "not-equilibrated");
  }
}

// Small lattices below Tc flip as a whole now and then; near Tc, averages of |m| differ strongly.
TEST_CASE("rare excursions in equilibrium do not count as stuck replicas") {
  const Workplace place;
  for (int seed = 1; seed <= 3; ++seed) {
    for (const char* line : {"--schedule 1:0 --equilibrate 3000 --measure 200 --temperature "
                             "1.6,1.8,2.0,2.1,2.2,2.27,2.4",
                             "--equilibrate 300 --measure 8 --temperature 0.6,0.9,2.0,2.27,3"}) {
      const json run = results_of_run(place, fmt::format("--size 16 --seed {} {}", seed, line));
      for (const json& row : run["results"]) {
        CAPTURE(seed, line, row["temperature"].get<double>());
        CHECK(row["status"] == "ok");
      }
    }
  }
}

TEST_CASE("runs of every engine and model are checked") {
  const Workplace place;
  const auto status = [&](const std::string& line) {
    return results_of_run(place, line)["results"][0]["status"].get<std::string>();
  };
  const std::string cold = " --size 32 --schedule 1:0 --equilibrate 200 --measure 100 ";
  CHECK(status("--engine bytespin --temperature 0.8" + cold) == "not-equilibrated");
  CHECK(status("--engine bitlattice --replicas 32 --temperature 0.8" + cold) == "not-equilibrated");
  CHECK(status("--model potts --q 3 --temperature 0.4" + cold) == "not-equilibrated");
  CHECK(status("--p 0.01 --temperature 0.8" + cold) == "not-equilibrated");
  CHECK(status("--start hot --temperature 0.8" + cold) == "not-equilibrated");
  CHECK(status("--engine bitlattice --temperature 2.27" + cold) != "ok");  // one replica
  CHECK(status("--size 32 --temperature 2.2 --schedule 1:0 --equilibrate 0 --measure 20") ==
        "not-equilibrated");
  CHECK(status("--size 64 --temperature 2.2 --schedule 0:1 --equilibrate 20 --measure 20") ==
        "not-equilibrated");

  const std::string warm = " --size 16 --equilibrate 200 --measure 100 ";
  CHECK(status("--temperature 2.5" + warm) == "ok");
  CHECK(status("--temperature 0.3" + warm) == "ok");  // sweeps flip no spin
  CHECK(status("--temperature 0.9" + warm) == "ok");  // sweeps flip few spins
  CHECK(status("--engine bytespin --replicas 8 --temperature 3" + warm) == "ok");
  CHECK(status("--model potts --q 3 --temperature 1.5" + warm) == "ok");
  CHECK(status("--engine bitlattice --schedule 1:0 --size 64 --temperature 5 --equilibrate 100 "
               "--measure 400") == "ok");
  CHECK(status("--temperature 2.5 --size 16 --equilibrate 200 --measure 1") == "ok");
  CHECK(status("--temperature 9 --size 16 --equilibrate 10 --measure 10") == "ok");
  place.run("graph --size 16 --p 0.1 --out g.edges");
  CHECK(status("--graph g.edges --temperature 3 --equilibrate 100 --measure 100") == "ok");
  CHECK(status("--graph g.edges --temperature 0.3 --schedule 1:0 --equilibrate 5 --measure 20") ==
        "not-equilibrated");
}

// When a file is extended, its earlier measurements are checked again.
TEST_CASE("a run that is extended is checked as a whole") {
  const Workplace place;
  const std::string line =
      "--size 32 --temperature 2.2 --schedule 1:0 --equilibrate 5 --out t.h5 --measure ";
  CHECK(results_of_run(place, line + "20")["results"][0]["status"] == "not-equilibrated");
  CHECK(results_of_run(place, line + "20")["results"][0]["status"] == "not-equilibrated");
  CHECK(results_of_run(place, line + "30")["results"][0]["status"] == "not-equilibrated");
}

TEST_CASE("columns of results have an entry for every temperature") {
  TaskData data = made(3, 32, 20, [](auto, int) { return 0.0; });
  CheckedRun run = checked_run(data);
  run.results.push_back(run.results.front());
  run.checks.push_back(run.checks.front());
  run.results.back().values["improved_m2"] = {0.25, 0.01};  // sums of clusters fit here only
  const ResultColumn column = result_record(data, run).columns.at("improved_m2");
  REQUIRE(column.value.size() == 2);
  CHECK(std::isnan(column.value[0]));
  CHECK(column.value[1] == 0.25);
  CHECK(column.error[1] == 0.01);
}
