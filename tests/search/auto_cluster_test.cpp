// cluster = "auto": the cluster update is chosen and stored together with the schedule.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "src/store/task_pack.hpp"
#include "tests/search/schedule_wish.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;

TEST_CASE("automatic cluster update: Swendsen-Wang and Wolff are compared, the choice is stored") {
  const Workplace place;
  const auto folder = place / "study";
  const ScheduleRequest w = open_request(0.1, kWorthTuning);
  const std::string name = schedule_class(w.spec, true);
  CHECK(name == "8x6_p0.1_rewire_bundle_metropolis_auto");
  const ChosenSchedule first = choose_schedule(folder, w, StopToken());
  CHECK(first.tuned);
  const auto file = nlohmann::json::parse(place.read("study/schedules/" + name + ".json"));
  int weighed[2] = {0, 0};
  for (const auto& candidate : file["settings"][0]["candidates"]) {
    ++weighed[candidate["cluster"] == "swendsen-wang"];
  }
  CHECK(weighed[0] > 10);
  CHECK(weighed[1] > 0);
  CHECK(file["settings"][0]["winner"]["cluster"] == file["cluster"]);
  CHECK(file["cluster"] == to_string(first.cluster));
  const ChosenSchedule second = choose_schedule(folder, w, StopToken());
  CHECK_FALSE(second.tuned);
  CHECK(second.schedule == first.schedule);
  CHECK(second.cluster == first.cluster);
  // Little work: the rule of thumb, with Wolff updates.
  const ChosenSchedule little = choose_schedule(folder, open_request(0.2, 1), StopToken());
  CHECK(little.schedule == Schedule{1, 7});
  CHECK(little.cluster == ClusterUpdate::wolff);
}

TEST_CASE("a stored schedule needs a cluster update, and is valid for its own class only") {
  const Workplace place;
  const auto folder = place / "study";
  const ScheduleRequest w = open_request(0.1, 1);
  const std::string name = schedule_class(w.spec);
  const std::string before = "{\"format\": \"rewise tune\", \"class\": \"" + name +
                             "\", \"schedule\": \"1:32\", \"reason\": \"tuned long ago\"";
  std::filesystem::create_directories(folder / "schedules");
  place.write("study/schedules/" + name + ".json", before + "}");
  CHECK_THROWS_AS(choose_schedule(folder, request(0.1, 1), StopToken()), Error);
  place.write("study/schedules/" + name + ".json", before + ", \"cluster\": \"wolff\"}");
  CHECK(choose_schedule(folder, w, StopToken()).schedule == Schedule{1, 7});
  const ChosenSchedule kept = choose_schedule(folder, request(0.1, 1), StopToken());
  CHECK(kept.schedule == Schedule{1, 32});
  CHECK(kept.cluster == ClusterUpdate::wolff);
  CHECK(kept.reason == "tuned long ago");
}

TEST_CASE("rewise run: the cluster update is automatic with the schedule and kept in the file") {
  const Workplace place;
  const std::string line = "run --size 8 --p 0.1 --temperature 2.6 --equilibrate 20 --device cpu ";
  const Output tuned = place.run(line + "--schedule auto --measure 20 --out a.h5");
  INFO(tuned.err);
  REQUIRE(tuned.status == 0);
  CHECK(tuned.err.find("tuned in") != std::string::npos);

  // The choice in the file is used unless the command line gives another.
  const std::string out = "--out t.h5 ";
  const std::string fixed = "--schedule 1:2 --cluster swendsen-wang ";
  REQUIRE(place.run(line + out + fixed + "--measure 20").status == 0);
  for (const std::string cluster : {"", "--cluster auto "}) {
    const Output more = place.run(line + out + "--schedule auto --measure 30 " + cluster);
    INFO(more.err);
    CHECK(more.status == 0);
    CHECK(more.err.find("tuned in") == std::string::npos);
  }
  const Output other = place.run(line + out + "--schedule auto --cluster wolff --measure 30");
  CHECK(other.status == 73);
  CHECK(other.err.find("sampling.cluster") != std::string::npos);

  const Output alone = place.run(line + "--schedule 1:2 --cluster auto");
  CHECK(alone.status == 64);
  CHECK(alone.err ==
        "rewise: --cluster: auto requires schedule auto, not 1:2 "
        "(use wolff, swendsen-wang or few-cluster)\n");
}

TEST_CASE("the tasks of a study use the chosen cluster update") {
  const Workplace place;
  const auto study = [](const std::string& sampling) {
    return "[study]\nname = \"s\"\n[lattice]\ndim = 2\nsizes = [8, 12]\np = [0.1]\ngraphs = 2\n"
           "[sampling]\nmeasure = 20\ntemperatures = [2.5, 2.6]\n" +
           sampling + "[run]\ndevice = \"cpu\"\n";
  };
  std::filesystem::create_directories(place / "st/schedules");
  place.write("st/study.toml", "");
  for (const std::string size : {"8x8", "12x12"}) {
    const std::string name = size + "_p0.1_rewire_bundle_metropolis_auto";
    place.write("st/schedules/" + name + ".json",
                "{\"format\": \"rewise tune\", \"class\": \"" + name +
                    "\", \"schedule\": \"1:2\", \"cluster\": \"swendsen-wang\", "
                    "\"reason\": \"\"}");
  }
  place.write("s.toml", study(""));
  const Output output = place.run("sweep s.toml --out st --no-plots --json");
  INFO(output.err);
  REQUIRE(output.status == 0);
  const auto summary = nlohmann::json::parse(output.out);
  CHECK(summary["sampling"]["cluster"] == "auto");
  for (const auto& size : summary["points"][0]["sizes"]) {
    CHECK(size["schedule"] == "1:2");
    CHECK(size["cluster"] == "swendsen-wang");
  }
  CHECK(place.read("st/study.toml").find("cluster = \"auto\"") != std::string::npos);
  CHECK(place.read("st/summary.csv").find(",swendsen-wang,") != std::string::npos);

  // A configuration with the same explicit choice has the same tasks: two graphs and two pilots per
  // size.
  place.write("s.toml", study("schedule = \"1:2\"\ncluster = \"swendsen-wang\"\n"));
  REQUIRE(place.run("sweep s.toml --out fixed --no-plots").status == 0);
  const auto tasks = [&](const char* folder) {
    std::vector<std::string> problems, ids;
    for (const StoredTask& task : stored_tasks(place / folder / "tasks", problems)) {
      ids.push_back(task.id);
    }
    return ids;
  };
  CHECK(tasks("fixed").size() == 2 * 4);
  CHECK(tasks("fixed") == tasks("st"));
}
