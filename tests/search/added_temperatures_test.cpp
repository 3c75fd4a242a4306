// Changes of the configuration of a parameter sweep: existing tasks are kept, new ones are added,
// and those no longer requested are reported, and removed on request.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "src/results/task_results.hpp"
#include "src/store/task_pack.hpp"
#include "tests/study/study_pieces.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/content_digest.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kLine = "sweep s.toml --no-plots --out ";

std::string study(const std::string& temperatures, const std::string& graphs = "2",
                  const std::string& rest = "equilibrate = 4\nevery = 1\nmeasure = 12\n") {
  return "[lattice]\ndim = 2\nsizes = [4, 6]\np = [0.1]\ngraphs = " + graphs +
         "\n[sampling]\nschedule = \"1:1\"\ntemperatures = " + temperatures + "\n" + rest +
         "[run]\ndevice = \"cpu\"\n";
}

// Digests of the finished tasks in a folder.
std::map<std::string, std::string> digests(const fs::path& folder) {
  std::map<std::string, std::string> found;
  std::vector<std::string> problems;
  for (const StoredTask& task : stored_tasks(folder / "tasks", problems)) {
    found[task.id] = test::content_digest(load_stored(task)->task);
  }
  CHECK(problems.empty());
  return found;
}

// Values of one quantity of the first point, by size and temperature.
std::map<std::string, double> values(const json& summary, const std::string& quantity) {
  std::map<std::string, double> found;
  for (const auto& size : summary["points"][0]["sizes"]) {
    for (std::size_t t = 0; t < size["temperatures"].size(); ++t) {
      found[size["extents"].dump() + size["temperatures"][t].dump()] = size[quantity]["value"][t];
    }
  }
  return found;
}

}  // namespace

TEST_CASE("an added temperature needs only its own tasks, existing tasks are kept") {
  Workplace place;
  place.write("s.toml", study("[2.3, 2.9]"));
  REQUIRE(place.run(kLine + "study").status == 0);
  const auto before = digests(place / "study");
  const auto old_values = values(summary_of(place), "m2");
  REQUIRE(before.size() == 4);

  place.write("s.toml", study("[2.3, 2.6, 2.9]"));
  const Output more = place.run(kLine + "study");
  INFO(more.err);
  REQUIRE(more.status == 0);
  CHECK(computed(more, 4));
  CHECK(more.err.find("T = 2.6: simulated in addition") != std::string::npos);
  CHECK(more.err.find("no longer requested") == std::string::npos);
  const auto after = digests(place / "study");
  CHECK(after.size() == 8);
  for (const auto& [id, digest] : before) CHECK(after.at(id) == digest);
  const json summary = summary_of(place);
  const auto new_values = values(summary, "m2");
  CHECK(new_values.size() == 6);
  for (const auto& [where, value] : old_values) CHECK(new_values.at(where) == value);
  CHECK(computed(place.run(kLine + "study"), 0));
  CHECK(place.read("study/study.toml").find("temperature_tasks = [[2.3, 2.9], [2.6]]") !=
        std::string::npos);

  // The study.toml of the folder gives the same numbers in a new folder, bit for bit.
  place.write("s.toml", place.read("study/study.toml"));
  const Output fresh = place.run(kLine + "fresh");
  REQUIRE(fresh.status == 0);
  CHECK(computed(fresh, 8));
  CHECK(digests(place / "fresh") == after);
  CHECK(place.read("fresh/summary.csv") == place.read("study/summary.csv"));
  CHECK(summary_of(place, "fresh") == summary);

  // More temperatures, and back again: no task is computed twice.
  place.write("s.toml", study("[2.3, 2.6, 2.7, 2.8, 2.9]"));
  CHECK(computed(place.run(kLine + "study"), 4));
  place.write("s.toml", study("[2.3, 2.6, 2.9]"));
  const Output fewer = place.run(kLine + "study");
  CHECK(computed(fewer, 0));
  CHECK(fewer.err.find("4 tasks of this folder") != std::string::npos);
  CHECK(fewer.err.find("T = 2.7,2.8;") != std::string::npos);
  const Output contents = place.run("study study");
  CHECK(contents.out.find("requested: the last complete run did not use them") !=
        std::string::npos);
  CHECK(contents.out.find("KiB) not requested\n") != std::string::npos);
  CHECK(place.run("study study --list").out.find("  settings  ") != std::string::npos);
  CHECK(place.read("fresh/summary.csv") == place.read("study/summary.csv"));
}

TEST_CASE("tasks of a window of temperatures that moved are abandoned, not results") {
  const Workplace place;
  const Output run =
      place.run("tc " REWISE_CONFIGS "/small.toml --out study --no-plots --device cpu");
  INFO(run.err);
  REQUIRE(run.status == 0);
  std::map<std::string, int> purposes;
  const json listed = json::parse(place.read("study/tasks.json"));
  for (const json& purpose : listed["tasks"]) ++purposes[purpose];
  CHECK(purposes["graph"] == 2 * 3 * 8);  // p, sizes, networks
  CHECK(purposes["abandoned"] > 0);
  const std::string list = place.run("study study --list").out;
  const auto rows = [&](const std::string& purpose) {
    int found = 0;
    for (auto at = list.find(" " + purpose + " "); at != std::string::npos;
         at = list.find(" " + purpose + " ", at + 1)) {
      ++found;
    }
    return found;
  };
  CHECK(rows("result") - 1 == purposes["graph"]);  // once in the legend
  CHECK(rows("abandoned") - 1 == purposes["abandoned"]);
  CHECK(rows("graph") == 0);
}

TEST_CASE("automatic times do not change if a temperature is added") {
  Workplace place;
  place.write("s.toml", study("[2.4, 3.0]", "3", "measure = 20\n"));
  REQUIRE(place.run(kLine + "study").status == 0);
  const auto old_values = values(summary_of(place), "m2");
  place.write("s.toml", study("[2.4, 2.7, 3.0]", "3", "measure = 20\n"));
  const Output more = place.run(kLine + "study");
  INFO(more.err);
  REQUIRE(more.status == 0);
  CHECK(computed(more, 6));
  const auto new_values = values(summary_of(place), "m2");
  for (const auto& [where, value] : old_values) CHECK(new_values.at(where) == value);
}

TEST_CASE("a larger `measure` adds measurements, a smaller one needs no run") {
  Workplace place;
  const auto rest = [](int measure) {
    return "equilibrate = 4\nevery = 1\nmeasure = " + std::to_string(measure) + "\n";
  };
  place.write("s.toml", study("[2.3, 2.9]", "2", rest(12)));
  REQUIRE(place.run(kLine + "study").status == 0);
  const auto before = digests(place / "study");
  const std::string few = place.read("study/summary.csv");
  place.write("s.toml", study("[2.3, 2.6, 2.9]", "2", rest(30)));
  const Output more = place.run(kLine + "study");
  REQUIRE(more.status == 0);
  CHECK(more.err.find("no longer requested") == std::string::npos);
  const auto after = digests(place / "study");
  for (const auto& [id, digest] : before) CHECK(after.count(id) == 1);  // the same tasks, extended
  place.write("s.toml", place.read("study/study.toml"));
  REQUIRE(place.run(kLine + "fresh").status == 0);
  CHECK(digests(place / "fresh") == after);
  place.write("s.toml", study("[2.3, 2.9]", "2", rest(12)));
  const Output fewer = place.run(kLine + "study");
  CHECK(computed(fewer, 0));
  CHECK(place.read("study/summary.csv") == few);
}

TEST_CASE("a study with added temperatures is the same in pieces and by two processes") {
  check_pieces("sweep", study("[2.3, 2.6, 2.9]", "6",
                              "temperature_tasks = [[2.3, 2.9], [2.6]]\nequilibrate = 50\n"
                              "every = 1\nmeasure = 4000\n"));
}

TEST_CASE("tasks no longer requested are shown and removed, no others are") {
  const std::string graphs = GENERATE("2", "9");  // single files, results archives
  Workplace place;
  place.write("s.toml", study("[2.3, 2.9]", graphs));
  REQUIRE(place.run(kLine + "study").status == 0);
  const auto wanted = digests(place / "study");
  const std::string csv = place.read("study/summary.csv");
  CHECK(place.run("study study --prune").out.find("0 tasks removed") != std::string::npos);
  place.write("s.toml", study("[2.3, 2.6, 2.9]", graphs));
  REQUIRE(place.run(kLine + "study").status == 0);
  CHECK(place.run("study study --prune").out.find("0 tasks removed") != std::string::npos);
  place.write("s.toml", study("[2.3, 2.9]", graphs));
  const Output fewer = place.run(kLine + "study");
  const std::string count = std::to_string(2 * std::stoi(graphs));
  INFO(fewer.err);
  CHECK(fewer.err.find(count + " tasks of this folder") != std::string::npos);
  CHECK(fewer.err.find("T = 2.6;") != std::string::npos);
  CHECK(fewer.err.find("rewise study study --prune") != std::string::npos);

  const Output shown = place.run("study study");
  CHECK(shown.out.find("4x4, p = 0.1, rewire") != std::string::npos);
  CHECK(shown.out.find("was not completed") == std::string::npos);
  CHECK(shown.out.find(count + " (") != std::string::npos);
  CHECK(lines(place.run("study study --list").out) == 2 * wanted.size() + 7);

  // Not while another process works in the folder.
  const int lock = ::open((place / "study/.study.lock").c_str(), O_RDWR);
  REQUIRE(lock >= 0);
  REQUIRE(::flock(lock, LOCK_SH) == 0);
  CHECK(place.run("study study --prune").status == 73);
  ::close(lock);
  CHECK(digests(place / "study").size() == 2 * wanted.size());

  const Output pruned = place.run("study study --prune");
  CHECK(pruned.status == 0);
  CHECK(pruned.out.find(count + " tasks removed") != std::string::npos);
  CHECK(digests(place / "study") == wanted);
  const auto summary = fs::last_write_time(place / "study/summary.json");
  const Output again = place.run(kLine + "study");
  CHECK(computed(again, 0));
  CHECK(again.err.find("no longer requested") == std::string::npos);
  CHECK(fs::last_write_time(place / "study/summary.json") == summary);  // still finished
  CHECK(place.read("study/summary.csv") == csv);
}

TEST_CASE("nothing is removed if the requested tasks are not known") {
  Workplace place;
  place.write("s.toml", study("[2.3]"));
  REQUIRE(place.run(kLine + "study").status == 0);
  const auto before = digests(place / "study");
  // The edited study is stopped before its end.
  place.write("s.toml",
              study("[2.3, 2.5]", "4", "equilibrate = 4\nevery = 1\nmeasure = 2000000\n"));
  REQUIRE(place.run(kLine + "study --time-limit 0.2s").status == 75);
  const Output stopped = place.run("study study");
  CHECK(stopped.status == 0);
  CHECK(stopped.out.find("This study was not completed: about 0 % of the 8 tasks for results") !=
        std::string::npos);
  const Output refused = place.run("study study --prune");
  CHECK(refused.status == 65);
  CHECK(refused.err.find("was not completed") != std::string::npos);
  for (const auto& [id, digest] : before) CHECK(digests(place / "study").count(id) == 1);
  CHECK(place.run("study nowhere").status == 74);
  CHECK(place.run("study study --list --prune").status == 64);
}

TEST_CASE("tasks with some of the temperatures are combined into one with all") {
  const auto task = [](std::vector<double> temperatures, std::int64_t first) {
    TaskData data;
    data.configuration["sampling.every"] = "1";
    data.temperature = std::move(temperatures);
    data.replicas = 2;
    data.shape_series();
    for (std::int64_t time = 0; time < 3; ++time) {
      std::vector<std::int64_t> row;
      for (std::size_t k = 0; k < 2 * data.temperature.size(); ++k) {
        row.push_back(first + 10 * time + static_cast<std::int64_t>(k));
      }
      data.bond_sum.append(row);
      data.magnetisation.append(row);
    }
    return data;
  };
  const TaskData all = at_temperatures({task({1, 2, 4}, 100), task({3}, 500)}, {1, 3, 4});
  CHECK(all.temperature == std::vector<double>{1, 3, 4});
  CHECK(all.bond_sum.time() == 3);
  CHECK(all.bond_sum.replica(0, 1) == std::vector<std::int64_t>{101, 111, 121});
  CHECK(all.bond_sum.replica(1, 0) == std::vector<std::int64_t>{500, 510, 520});
  CHECK(all.magnetisation.replica(2, 1) == std::vector<std::int64_t>{105, 115, 125});
  CHECK(all.cluster_size.empty());
}
