// Progress: percentages never decrease; remaining times are shown after the speed has been
// measured, and are about right; a log has a line per stage and half minute, none per graph; an
// interrupted study prints what is finished.
#include "src/study/progress.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;
using nlohmann::json;

namespace {

// Simulates `work` at `speed` per second in steps of 0.1 s, and advances the clock `now`.
template <class Look>
void work_on(WorkPace& pace, double& now, double work, double speed, Look&& look) {
  const double step = 0.1 * speed;
  for (double done = 0; done < work; done += step) {
    now += 0.1;
    pace.add(std::min(step, work - done), now);
    look();
  }
}

// A study with two small sizes and few graphs, which take moments, and a size that takes minutes.
std::string long_study(const std::string& sizes) {
  return "[study]\nname = \"long\"\n[lattice]\ndim = 2\nsizes = " + sizes +
         "\np = [0.1]\ngraphs = [3, 3, 400]\n[sampling]\nschedule = \"1:1\"\nequilibrate = 20\n"
         "measure = 400\nevery = 4\ntemperatures = [2.7, 2.8, 2.9]\n[run]\ndevice = \"cpu\"\n";
}

// Interrupts the program after it has written `text` to standard error.
Output stopped_at(Workplace& place, const std::string& line, const std::string& text) {
  const pid_t child = place.start(line);
  for (int n = 0; n < 6000 && place.errors_so_far().find(text) == std::string::npos; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(child, SIGINT);
  return place.wait(child);
}

}  // namespace

TEST_CASE("the remaining time follows from the measured speed and is unknown before") {
  WorkPace pace;
  pace.set_total(100);
  pace.begin_stage(0);
  double now = 0;
  bool early = false;
  work_on(pace, now, 100, 2, [&] {  // 50 s
    const auto left = pace.left(now);
    if (now < 1.9) {
      early = early || left.has_value();
    } else if (now > 2.2 && now < 49.95) {  // not at the very end
      REQUIRE(left.has_value());
      CHECK(*left == Approx(50 - now).margin(0.5));
    }
  });
  CHECK_FALSE(early);
}

TEST_CASE("the speed of each stage is measured separately") {
  WorkPace pace;
  pace.set_total(200);
  pace.begin_stage(0);
  double now = 0;
  work_on(pace, now, 100, 100, [] {});  // 1 s
  pace.begin_stage(now);
  CHECK_FALSE(pace.left(now).has_value());  // 1 s with the speed of the previous stage
  work_on(pace, now, 30, 1, [&] {
    if (now < 4) return;
    REQUIRE(pace.left(now).has_value());
    CHECK(*pace.left(now) == Approx(101 - now).margin(1));
  });
}

TEST_CASE("a stage that begins slowly gives no remaining time before enough work was measured") {
  WorkPace pace;
  pace.set_total(200);
  pace.begin_stage(0);
  double now = 0;
  work_on(pace, now, 100, 50, [] {});
  pace.begin_stage(now);
  work_on(pace, now, 0.1, 0.025, [&] { CHECK_FALSE(pace.left(now).has_value()); });  // 4 s
  work_on(pace, now, 10, 5, [] {});
  REQUIRE(pace.left(now).has_value());
  CHECK(*pace.left(now) < 60);
  // After a minute, slow work has a remaining time.
  pace.begin_stage(now);
  work_on(pace, now, 0.7, 0.01, [] {});
  REQUIRE(pace.left(now).has_value());
  CHECK(*pace.left(now) > 1000);
}

TEST_CASE("a percentage never decreases if the total changes, and is unknown for a guess") {
  WorkPace pace;
  pace.begin_stage(0);
  double now = 0;
  int last = 0;
  std::size_t told = 0;
  const auto look = [&] {
    const auto share = pace.share();
    if (!share) return;
    CHECK(*share >= last);
    CHECK(*share <= 100);
    last = *share;
    ++told;
  };
  pace.set_total(100, 90);  // 10 for pilots, the other 90 are a guess
  work_on(pace, now, 10, 10, look);
  CHECK(told == 0);
  pace.set_total(20);  // a small size is known
  work_on(pace, now, 8, 10, look);
  CHECK(last == 90);
  pace.set_total(1000);  // the rest is about a hundred times as much
  const std::size_t before = told;
  work_on(pace, now, 800, 100, look);
  CHECK(told == before);  // unknown, instead of a decrease to 2%
  CHECK(pace.left(now).has_value());
  work_on(pace, now, 182, 100, look);
  CHECK(last == 100);
  CHECK(told > before);
}

TEST_CASE("work that was done before counts for the percentage, not for the speed") {
  WorkPace pace;
  pace.set_total(100);
  pace.begin_stage(0);
  pace.skip(50);
  CHECK(pace.share() == 50);
  double now = 0;
  work_on(pace, now, 10, 1, [] {});
  REQUIRE(pace.left(now).has_value());
  CHECK(*pace.left(now) == Approx(40).margin(1));
}

TEST_CASE("work beyond the total has an infinite remaining time until the total is corrected") {
  WorkPace pace;
  pace.set_total(10);
  pace.begin_stage(0);
  double now = 0;
  work_on(pace, now, 10, 1, [&] {
    if (const auto left = pace.left(now)) CHECK(*left < 100);
  });
  work_on(pace, now, 50, 1, [&] {  // five times as much as planned
    REQUIRE(pace.left(now).has_value());
    CHECK(std::isinf(*pace.left(now)));
  });
  pace.set_total(120);
  REQUIRE(pace.left(now).has_value());
  CHECK(*pace.left(now) == Approx(60).margin(5));
}

TEST_CASE("the line of progress never shows 100 % or 0 s") {
  Workplace place;
  const auto line = [&](double done) {
    const int before = ::dup(STDERR_FILENO),
              file = ::open((place / "err").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ::dup2(file, STDERR_FILENO);
    {
      Progress progress("work", 10);
      progress.add(done);
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
      progress.stage("size");  // a separate line in a log
    }
    ::dup2(before, STDERR_FILENO);
    ::close(before);
    ::close(file);
    return place.read("err");
  };
  CHECK(line(5) == "work, size: 50 %\n");
  CHECK(line(10) == "work, size: 99 %\n");
  CHECK(line(30) == "work, size: 99 %, longer than estimated\n");
}

TEST_CASE("a scan shows how many networks are done, the next stage does not") {
  Workplace place;
  const int before = ::dup(STDERR_FILENO),
            file = ::open((place / "err").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  ::dup2(file, STDERR_FILENO);
  {
    Progress progress("work", 10);
    progress.stage("scan");
    progress.count(3, 8);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    progress.add(5);
    progress.stage("graphs");
  }
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(file);
  CHECK(place.read("err") == "work, scan (3 of 8 networks): 50 %\nwork, graphs: 50 %\n");
}

TEST_CASE("a log has a line per stage, none per graph") {
  Workplace place;
  place.write("s.toml",
              "[lattice]\ndim = 2\nsizes = [8, 12]\np = [0, 0.1]\ngraphs = 150\n[sampling]\n"
              "schedule = \"1:1\"\nequilibrate = 20\nmeasure = 60\nevery = 2\n"
              "temperatures = [2.2, 2.5, 2.8]\n[run]\ndevice = \"cpu\"\n");
  const auto begin = std::chrono::steady_clock::now();
  const Output output = place.run("sweep s.toml --out study --no-plots");
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  INFO(output.err);
  REQUIRE(output.status == 0);
  CHECK(output.err.find("600 tasks computed") != std::string::npos);
  // At most 3 lines (device, an empty line, the last line), 6 lines of stages (scan, times and
  // graphs of two sizes), and one line per half minute.
  CHECK(static_cast<double>(lines(output.err)) <= 3 + 6 + wall.count() / 30);
}

TEST_CASE("Ctrl-C prints the table of finished results, marked as partial, and status 75") {
  Workplace place;
  place.write("s.toml", long_study("[8, 12, 64]"));
  for (const std::string command : {"tc", "sweep"}) {
    const std::string line = command + " s.toml --no-plots --out ";
    const Output table = stopped_at(place, line + command, "64x64");
    INFO(command << "\n" << table.err << table.out);
    CHECK(table.status == 75);
    CHECK(table.err.find("stopped by SIGINT") != std::string::npos);
    CHECK(table.out.find("PARTIAL") != std::string::npos);
    CHECK(table.out.find(" 0.1  ") != std::string::npos);
    CHECK_FALSE(place.has(command + "/summary.json"));
    const Output object = stopped_at(place, line + command + " --json", "64x64");
    const json partial = json::parse(object.out);
    CHECK(object.status == 75);
    CHECK(partial["partial"] == true);
    CHECK(partial["points"][0]["sizes"].size() >= 2);
    CHECK(partial["points"][0]["sizes"][0]["graphs"] == 3);
  }
}

TEST_CASE("Ctrl-C before the first round of a target prints the table, too") {
  Workplace place;
  std::string config = long_study("[8, 12, 64]");
  const std::string given = "temperatures = [2.7, 2.8, 2.9]";
  config.replace(config.find(given), given.size(), "target_error = 1e-3");
  place.write("s.toml", config);
  const Output table = stopped_at(place, "tc s.toml --no-plots --out tc", "64x64");
  INFO(table.err << table.out);
  CHECK(table.status == 75);
  CHECK(table.out.find("PARTIAL") != std::string::npos);
  CHECK(table.err.find("no table") == std::string::npos);
}

TEST_CASE("Ctrl-C of a Potts study prints finished sizes, no values outside of the window") {
  for (const auto& [temperatures, row] :
       {std::pair<std::string, std::string>{"[0.64, 0.68, 0.72, 0.76]", "0.1  8x8    3       0.7"},
        {"[0.8, 0.85]", "0.1  8x8    3       -"}}) {
    Workplace place;
    std::string config = long_study("[8, 12, 64]") + "[model]\nname = \"potts\"\nq = 10\n";
    const auto replace = [&](const std::string& from, const std::string& to) {
      config.replace(config.find(from), from.size(), to);
    };
    replace("[2.7, 2.8, 2.9]", temperatures);
    replace("equilibrate = 20", "equilibrate = 200");
    place.write("s.toml", config);
    const Output table = stopped_at(place, "tc s.toml --no-plots --out tc", "64x64");
    INFO(table.err << table.out);
    CHECK(table.status == 75);
    CHECK(table.out.find("PARTIAL") != std::string::npos);
    CHECK(table.out.find(row) != std::string::npos);
  }
}
