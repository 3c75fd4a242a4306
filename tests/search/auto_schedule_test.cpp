// schedule = "auto": chosen once, stored and reused, also by several processes at once; and in
// `rewise run`.
#include "src/search/tune/auto_schedule.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "src/base/error.hpp"
#include "tests/search/schedule_wish.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;

TEST_CASE("little work: the rule of thumb, kept even if more work is added") {
  const Workplace place;
  const auto folder = place / "study";
  const ChosenSchedule first = choose_schedule(folder, request(0.1, 5), StopToken());
  CHECK(first.schedule == Schedule{1, 7});
  CHECK_FALSE(first.tuned);
  CHECK(first.reason.find("rule of thumb") != std::string::npos);
  const ChosenSchedule second = choose_schedule(folder, request(0.1, 1e6), StopToken());
  CHECK(second.schedule == Schedule{1, 7});
  CHECK_FALSE(second.tuned);
  CHECK(second.reason == first.reason);
}

TEST_CASE("work that takes this machine little time is not tuned, even if one core needs long") {
  const Workplace place;
  ScheduleRequest w = request(0.1, kWorthTuning);
  w.seconds = 0.9 * kMinTuning / kTuneShare;
  w.fallback = {{1, 9}, ClusterUpdate::swendsen_wang};
  const ChosenSchedule chosen = choose_schedule(place / "study", w, StopToken());
  CHECK(chosen.schedule == Schedule{1, 9});
  CHECK(chosen.cluster == ClusterUpdate::swendsen_wang);
  CHECK_FALSE(chosen.tuned);
  CHECK(chosen.reason.find("rule of thumb") != std::string::npos);
}

TEST_CASE("enough work: the first thread tunes, the others use its choice") {
  const Workplace place;
  const auto folder = place / "study";
  std::vector<ChosenSchedule> chosen(3);
  std::vector<std::thread> threads;
  for (ChosenSchedule& c : chosen) {
    threads.emplace_back(
        [&] { c = choose_schedule(folder, request(0.1, kWorthTuning), StopToken()); });
  }
  for (auto& thread : threads) thread.join();
  CHECK(chosen[0].tuned + chosen[1].tuned + chosen[2].tuned == 1);
  CHECK(chosen[0].schedule == chosen[1].schedule);
  CHECK(chosen[0].schedule == chosen[2].schedule);
  CHECK(chosen[0].schedule.cluster != 7);
  CHECK(chosen[0].reason.find("T = 2.4") != std::string::npos);
  CHECK(chosen[0].reason == chosen[1].reason);

  const auto file = nlohmann::json::parse(
      place.read("study/schedules/" + schedule_class(request(0.1, 0).spec) + ".json"));
  CHECK(file["schedule"] == to_string(chosen[0].schedule));
  CHECK(file["settings"][0]["winner"]["schedule"] == file["schedule"]);
  // No lease is left.
  for (const auto& name : place.files()) CHECK(name.find(".json.lease") == std::string::npos);
}

TEST_CASE("a class contains exactly the settings on which a schedule depends") {
  const ScheduleRequest base = request(0.1, 0);
  const std::string name = schedule_class(base.spec);
  CHECK(name == "8x6_p0.1_rewire_bundle_metropolis_wolff");
  ScheduleRequest same = base;
  same.spec.seed = 99;
  same.spec.graph.seed = 5;
  same.spec.temperatures = {1, 2};
  same.spec.measure = 7;
  CHECK(schedule_class(same.spec) == name);
  for (int change = 0; change < 6; ++change) {
    TaskSpec other = base.spec;
    if (change == 0) other.graph.extents = {6, 8};
    if (change == 1) other.graph.p = 0.2;
    if (change == 2) other.graph.rule = Rule::swap;
    if (change == 3) other.engine = EngineKind::bytespin;
    if (change == 4) other.local = LocalUpdate::glauber;
    if (change == 5) other.cluster = ClusterUpdate::swendsen_wang;
    CHECK(schedule_class(other) != name);
  }
}

TEST_CASE("a damaged choice is an error that names the file") {
  const Workplace place;
  const auto folder = place / "study";
  choose_schedule(folder, request(0.1, 1), StopToken());
  const std::string name = "study/schedules/" + schedule_class(request(0.1, 0).spec) + ".json";
  for (const std::string& text :
       {std::string(""), std::string("{"), std::string("[1]"), std::string("{\"format\": 3}"),
        std::string("{\"format\": \"rewise tune\", \"class\": \"other\"}"),
        std::string("{\"format\": \"rewise tune\", "
                    "\"class\": \"8x6_p0.1_rewire_bundle_metropolis_wolff\", "
                    "\"schedule\": \"0:0\", \"reason\": \"\"}"),
        std::string("{\"format\": \"rewise tune\", "
                    "\"class\": \"8x6_p0.1_rewire_bundle_metropolis_wolff\", "
                    "\"schedule\": \"1:1\", \"cluster\": \"clumps\", \"reason\": \"\"}")}) {
    place.write(name, text);
    INFO(text);
    try {
      choose_schedule(folder, request(0.1, 1), StopToken());
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::data);
      CHECK(std::string(error.what()).find(".json") != std::string::npos);
    }
  }
}

TEST_CASE("a time limit during tuning: the rule of thumb is stored, so that the study continues") {
  const Workplace place;
  const auto folder = place / "study";
  const StopToken now(std::chrono::duration<double>(0));
  try {
    choose_schedule(folder, request(0.1, kWorthTuning), now);
    FAIL("tuning did not stop at the time limit");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::interrupted);
  }
  const auto stored = stored_schedule(folder, request(0.1, 0).spec);
  REQUIRE(stored);
  CHECK(stored->schedule == Schedule{1, 7});
  CHECK(stored->reason.find("time limit") != std::string::npos);
}

TEST_CASE("schedules of replica exchange are tuned at one temperature, without exchange") {
  const Workplace place;
  ScheduleRequest w = request(0.1, kWorthTuning);
  w.spec.schedule.exchange = true;
  CHECK(choose_schedule(place / "a", w, StopToken()).tuned);
}

TEST_CASE("Metropolis alone is no candidate if isolated sites are likely") {
  const Workplace place;
  ScheduleRequest w = request(1, kWorthTuning);  // 48 sites, each isolated with probability 0.0085
  const ChosenSchedule chosen = choose_schedule(place / "a", w, StopToken());
  CHECK(chosen.schedule.cluster > 0);
  const std::string text = place.read("a/schedules/" + schedule_class(w.spec) + ".json");
  const auto file = nlohmann::json::parse(text);
  CHECK(file["settings"][0]["candidates"].size() == 14);
}

TEST_CASE("rewise tune --study: tc uses the stored winner") {
  const Workplace place;
  place.write("s.toml",
              "[study]\nname = \"s\"\n[lattice]\ndim = 2\nsizes = [8, 12]\np = [0.1]\n"
              "graphs = 4\n[sampling]\nmeasure = 20\n[run]\ndevice = \"cpu\"\n");
  REQUIRE(place.run("tc s.toml --out st --no-plots").status == 0);
  const auto rule =
      nlohmann::json::parse(place.read("st/schedules/8x8_p0.1_rewire_bundle_metropolis_auto.json"));
  CHECK(rule["schedule"] == "1:1");
  // A second run computes and tunes nothing.
  const Output again = place.run("tc s.toml --out st --no-plots");
  CHECK(again.status == 0);
  CHECK(again.err.find("\n0 tasks computed") != std::string::npos);

  const std::string tune = "tune --p 0.1 --device cpu --candidates 1:5 --budget 1s --study st ";
  const Output held = place.run(tune + "--size 8");
  CHECK(held.status == 73);
  CHECK(held.err.find("--overwrite") != std::string::npos);
  const Output foreign = place.run("tune --size 8 --p 0.2 --device cpu --budget 0.1s --study st");
  CHECK(foreign.status == 64);
  CHECK(foreign.err.find("has no p = 0.2") != std::string::npos);
  REQUIRE(place.run(tune + "--size 8 --overwrite").status == 0);
  REQUIRE(place.run(tune + "--size 12 --overwrite").status == 0);
  const auto tuned =
      nlohmann::json::parse(place.read("st/schedules/8x8_p0.1_rewire_bundle_metropolis_auto.json"));
  CHECK(tuned["schedule"] == "1:5");
  CHECK(tuned["settings"][0]["candidates"].size() == 2);  // with each of two cluster updates
  CHECK(place.has("st/schedules/8x8_p0.1_rewire_bundle_metropolis_" +
                  tuned["cluster"].get<std::string>() + ".json"));
  const Output other = place.run("tc s.toml --out st --no-plots");
  CHECK(other.status == 0);
  CHECK(other.err.find("\n0 tasks computed") == std::string::npos);
  const Output settled = place.run("tc s.toml --out st --no-plots");
  CHECK(settled.err.find("\n0 tasks computed") != std::string::npos);
}

TEST_CASE("rewise run --schedule auto: tuned, printed, and stored in the task file") {
  const Workplace place;
  const std::string line =
      "run --size 8 --p 0.1 --temperature 2.6,2.8 --schedule auto --equilibrate 20 --device cpu "
      "--out t.h5 --json --measure ";
  const Output first = place.run(line + "50");
  REQUIRE(first.status == 0);
  CHECK(first.err.find("schedule: ") != std::string::npos);
  CHECK(first.err.find("tuned in") != std::string::npos);
  const Output more = place.run(line + "80");
  REQUIRE(more.status == 0);
  CHECK(more.err.find("tuned in") == std::string::npos);
  CHECK(nlohmann::json::parse(more.out)["results"][0]["measurements"] == 80);
}
