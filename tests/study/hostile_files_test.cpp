// Files of a study that were changed by damage or on purpose are detected and reported, or written
// again. They never enter the results and never cause a crash.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/base/error.hpp"
#include "src/study/task.hpp"
#include "tests/study/small_task.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/content_digest.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using oracle::one_thread;
using oracle::Output;
using oracle::Workplace;
namespace fs = std::filesystem;

namespace {

constexpr const char* kStudy =
    "[lattice]\ndim = 2\nsizes = [4]\np = [0.1]\ngraphs = 3\n[sampling]\nmeasure = 4\n"
    "temperatures = [2.5]\nequilibrate = 3\nevery = 2\n[run]\ndevice = \"cpu\"\n";
constexpr const char* kLine = "sweep s.toml --out study --no-plots";

// Changes a file but keeps its modification time, so that only the content shows the change.
void rewrite(const Workplace& place, const std::string& name, const std::string& text) {
  const auto time = fs::last_write_time(place / name);
  place.write(name, text);
  fs::last_write_time(place / name, time);
}

std::vector<std::string> files_like(const Workplace& place, const std::string& part) {
  auto files = place.files();
  std::erase_if(files, [&](const auto& file) { return file.find(part) == std::string::npos; });
  return files;
}

// The text with the first digit other than 0 after `key` changed.
std::string other_digit(std::string text, const std::string& key) {
  const std::size_t at = text.find_first_of("123456789", text.find(key) + key.size());
  REQUIRE(at != std::string::npos);
  text[at] = text[at] == '1' ? '2' : '1';
  return text;
}

TaskSpec swendsen_wang_task() {
  TaskSpec spec = oracle::small_task();
  spec.graph.p = 0.3;
  spec.cluster = ClusterUpdate::swendsen_wang;
  spec.equilibrate = 5;
  spec.measure = 6;
  return spec;
}

}  // namespace

TEST_CASE("a summary that was changed or removed is written again from the tasks") {
  Workplace place;
  place.write("s.toml", kStudy);
  const Output first = place.run(kLine);
  INFO(first.err);
  REQUIRE(first.status == 0);
  for (const std::string name : {"study/summary.json", "study/summary.txt", "study/summary.csv"}) {
    const std::string text = place.read(name);
    const std::string changed = other_digit(text, name.ends_with("json") ? "energy" : "\n");
    for (const std::string& now : {changed, std::string("{\"points\": ["), std::string()}) {
      rewrite(place, name, now);
      const Output again = place.run(kLine);
      INFO(name << "\n" << again.err);
      CHECK(again.status == 0);
      CHECK(again.out == first.out);
      CHECK(again.err.find("0 tasks computed") != std::string::npos);
      const std::string mended = place.read(name);
      CHECK(mended.substr(0, mended.find("seconds")) == text.substr(0, text.find("seconds")));
    }
  }
}

TEST_CASE("a damaged schedule file is an error, and --recompute-damaged chooses it again") {
  Workplace place;
  place.write("s.toml", kStudy);
  const Output first = place.run(kLine);
  INFO(first.err);
  REQUIRE(first.status == 0);
  const auto schedules = files_like(place, "schedules/");
  REQUIRE(schedules.size() == 1);
  std::string text = place.read(schedules.front());
  for (const std::string& now : {other_digit(text, "\"schedule\""), std::string("{\"format\""),
                                 std::string(100'000, '['), std::string("[]")}) {
    rewrite(place, schedules.front(), now);
    const Output refused = place.run(kLine);
    INFO(refused.err);
    CHECK(refused.status == 65);
    CHECK(refused.err.find(schedules.front()) != std::string::npos);
    CHECK(files_like(place, "tasks/").size() == 3);
  }
  const Output anew = place.run(std::string(kLine) + " --recompute-damaged");
  INFO(anew.err);
  CHECK(anew.status == 0);
  CHECK(anew.out == first.out);
  CHECK(place.has(schedules.front() + ".damaged-1"));
}

TEST_CASE("all damaged results are reported, and --recompute-damaged computes them again") {
  Workplace place;
  place.write("s.toml", kStudy);
  const Output first = place.run(kLine);
  REQUIRE(first.status == 0);
  const auto tasks = files_like(place, "tasks/");
  REQUIRE(tasks.size() == 3);
  place.write(tasks[0], place.read(tasks[0]).substr(0, 900));
  std::string flipped = place.read(tasks[1]);
  flipped[flipped.size() / 2] ^= 1;
  place.write(tasks[1], flipped);
  fs::remove(place / tasks[2]);
  fs::remove(place / "study/summary.json");
  const Output refused = place.run(kLine);
  INFO(refused.err);
  CHECK(refused.status == 65);
  CHECK(refused.err.find("2 results are damaged") != std::string::npos);
  for (const std::size_t k : {0u, 1u}) CHECK(refused.err.find(tasks[k]) != std::string::npos);
  CHECK(refused.err.find("--recompute-damaged") != std::string::npos);
  CHECK(place.has(tasks[2]));  // the others are computed
  CHECK(place.read(tasks[1]) == flipped);
  const Output anew = place.run(std::string(kLine) + " --recompute-damaged");
  INFO(anew.err);
  CHECK(anew.status == 0);
  CHECK(anew.out == first.out);
  CHECK(anew.err.find("2 tasks computed") != std::string::npos);
  for (const std::size_t k : {0u, 1u}) CHECK(place.has(tasks[k] + ".damaged-1"));
  CHECK(place.run(kLine).out == first.out);
}

TEST_CASE("a task file with a correct digest and wrong content is an error") {
  const Workplace place;
  const TaskSpec spec = swendsen_wang_task();
  const TaskPaths paths = task_paths(place / "", task_id(spec));
  fs::create_directories(place / "tasks");
  REQUIRE(run_task({spec, paths}, one_thread()).outcome == TaskOutcome::finished);
  const TaskData good = load_task(paths.finished, OpenAs::reader)->task;
  REQUIRE(read_finished(spec, paths));
  TaskSpec more = spec;
  more.measure = 8;

  const auto set = [](auto& series, auto value) {
    auto values = series.by_temperature();
    values[7] = value;
    series = std::remove_cvref_t<decltype(series)>::from_file_order(
        series.temperatures(), series.time(), series.replicas(), values);
  };
  // Each forgery contradicts itself or the specification.
  const std::vector<std::function<void(TaskData&)>> forgeries{
      [](TaskData& t) { t.state.cycles = 0; },
      [](TaskData& t) { t.state.cycles += 3; },
      [](TaskData& t) { t.state.cycles -= 1; },
      [](TaskData& t) { t.state.cycles = 109; },
      [](TaskData& t) { t.state.cycles = UINT64_MAX; },
      [](TaskData& t) { t.state.step += 3; },
      [](TaskData& t) { t.state.step = 0; },
      [](TaskData& t) { t.graph.seed = 4; },
      [](TaskData& t) { t.graph.p = 0.2; },
      [](TaskData& t) { t.graph.rule = "swap"; },
      [](TaskData& t) { std::swap(t.graph.extents[0], t.graph.extents[1]); },
      [](TaskData& t) { t.graph.bonds = 97; },
      [](TaskData& t) { t.temperature[1] = 5e-324; },
      [](TaskData& t) { std::swap(t.temperature[0], t.temperature[1]); },
      [](TaskData& t) { t.configuration["sampling.measure"] = std::string("5"); },
      [](TaskData& t) { t.configuration["sampling.measure"] = "many"; },
      [](TaskData& t) { t.configuration["sampling.seed"] = std::string("2"); },
      [&](TaskData& t) { set(t.magnetisation, std::int64_t{49}); },
      [&](TaskData& t) { set(t.magnetisation, INT64_MAX); },
      [&](TaskData& t) { set(t.magnetisation, INT64_MIN); },
      [&](TaskData& t) { set(t.bond_sum, std::int64_t{-97}); },
      [&](TaskData& t) { set(t.cluster_size, std::uint64_t{6 * 48 * 48 + 1}); },
      [&](TaskData& t) { set(t.cluster_quartic_high, std::uint64_t{1}); },
      [](TaskData& t) { t.bond_sum.truncate(5), t.magnetisation.truncate(5); },
  };
  for (std::size_t k = 0; k < forgeries.size(); ++k) {
    INFO("forgery " << k);
    TaskData task = good;
    forgeries[k](task);
    try {
      save_task(paths.finished, task);
    } catch (const Error&) {  // the writer already detects it
      save_task(paths.finished, good);
      continue;
    }
    for (const TaskSpec& wanted : {spec, more}) {
      try {
        read_finished(wanted, paths);
        FAIL_CHECK("the file is accepted");
      } catch (const Error& error) {
        CHECK(error.exit_code() == ExitCode::data);
        CHECK(std::string(error.what()).find(paths.finished.string()) != std::string::npos);
      }
    }
  }

  // Forgeries that are detected only when a run continues from the state.
  const std::vector<std::function<void(TaskData&)>> states{
      [](TaskData& t) { t.state.bytes[9] ^= 4; },
      [](TaskData& t) { t.state.bytes.pop_back(); },
      [](TaskData& t) { t.graph.a[0] = (t.graph.a[0] + 2) % 48; },
      [](TaskData& t) { t.graph.modified -= 1; },
  };
  for (std::size_t k = 0; k < states.size(); ++k) {
    INFO("state " << k);
    TaskData task = good;
    states[k](task);
    save_task(paths.finished, task);
    try {
      run_task({more, paths}, one_thread());
      FAIL_CHECK("the file is accepted");
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::data);
      CHECK(std::string(error.what()).find(paths.finished.string()) != std::string::npos);
    }
  }
  save_task(paths.finished, good);
  const TaskResult longer = run_task({more, paths}, one_thread());
  CHECK(test::content_digest(longer.data) ==
        test::content_digest(run_task({more}, one_thread()).data));
}
