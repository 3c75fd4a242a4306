// Interrupted and resumed equals uninterrupted, in the content digest of the task file and the
// trajectory hash: with other numbers of threads, after signals, time limits and with more
// measurements.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "src/store/task_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/content_digest.hpp"
#include "tests/support/program.hpp"

using namespace rewise::oracle;

namespace {

const std::string kRun =
    "run --size 32 --p 0.1 --temperature 2.5,2.8 --schedule 1:2 --equilibrate 100 --every 3 "
    "--device cpu ";

rewise::TaskData load(const Workplace& place, const std::string& name) {
  const auto loaded = rewise::load_task(place / name, rewise::OpenAs::reader);
  REQUIRE(loaded);
  return loaded->task;
}

void check_same(const Workplace& place, const std::string& a, const std::string& b) {
  const auto first = load(place, a), second = load(place, b);
  CHECK(rewise::test::content_digest(first) == rewise::test::content_digest(second));
  CHECK(first.provenance.at("trajectory_hash") == second.provenance.at("trajectory_hash"));
}

// Waits until the program holds its lease, which is shortly before its first cycle.
void wait_for(const Workplace& place, const std::string& name) {
  for (int k = 0; k < 2000 && !place.has(name); ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  REQUIRE(place.has(name));
}

}  // namespace

TEST_CASE("a run ended by signals and resumed equals an uninterrupted one") {
  Workplace place;
  const std::string long_run =
      "run --size 128 --p 0.1 --temperature 2.5,2.8 --schedule 1:2 --equilibrate 20 --every 2 "
      "--measure 150 --device cpu ";
  REQUIRE(place.run(long_run + "--threads 1 --out whole.h5").status == 0);

  int interrupted = 0, threads = 1;
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP, SIGXCPU, SIGTERM}) {
    const pid_t child =
        place.start(long_run + "--threads " + std::to_string(threads) + " --out parts.h5");
    threads = 3 - threads;
    wait_for(place, "parts.lease");
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    ::kill(child, signal);
    const Output output = place.wait(child);
    INFO(output.err);
    if (output.status == 0) break;
    REQUIRE(output.status == 75);
    CHECK(output.out.empty());
    CHECK(output.err.find("a checkpoint was written: run the same command again") !=
          std::string::npos);
    CHECK(place.has("parts.part.h5"));
    CHECK(!place.has("parts.h5"));
    CHECK(!place.has("parts.lease"));
    ++interrupted;
  }
  CHECK(interrupted >= 1);
  REQUIRE(place.run(long_run + "--threads 2 --out parts.h5").status == 0);
  CHECK(!place.has("parts.part.h5"));
  check_same(place, "whole.h5", "parts.h5");
}

TEST_CASE("a time limit shorter than a checkpoint interval ends with status 75") {
  const Workplace place;
  const std::string line = kRun + "--measure 60 --out t.h5 ";
  // The run ends on a machine of any speed, because each start does at least one of its 280 cycles.
  Output output;
  int starts = 0;
  do {
    output = place.run(line + "--time-limit 0.02s");
    REQUIRE((output.status == 75 || output.status == 0));
  } while (output.status == 75 && ++starts < 300);
  REQUIRE(output.status == 0);
  REQUIRE(place.run(kRun + "--measure 60 --out whole.h5").status == 0);
  check_same(place, "whole.h5", "t.h5");
}

TEST_CASE("a run stopped before its first measurement says how far the equilibration is") {
  const Workplace place;
  const std::string line =
      "run --size 32 --temperature 2.5 --schedule 1:0 --equilibrate 100000000 --measure 4 "
      "--time-limit 0.2s --device cpu --out t.h5";
  const std::string total = " of 100000000 cycles to equilibrate";
  const Output first = place.run(line);
  INFO(first.err);
  CHECK(first.status == 75);
  CHECK(first.err.find("stopped by the time limit after ") != std::string::npos);
  CHECK(first.err.find(total + "; a checkpoint was written") != std::string::npos);
  CHECK(first.err.find("after 0 of") == std::string::npos);
  const Output second = place.run(line);
  INFO(second.err);
  const auto at = second.err.find("continuing after ");
  REQUIRE(at != std::string::npos);
  const std::string kept = second.err.substr(at + 11, second.err.find('\n', at) - at - 11);
  CHECK(kept.ends_with(total));
  CHECK(first.err.find(kept + ";") != std::string::npos);
}

TEST_CASE("without --out nothing is kept, and a message says so") {
  const Workplace place;
  const Output output = place.run(kRun + "--measure 1000000 --time-limit 0.05s");
  CHECK(output.status == 75);
  CHECK(output.err.find("nothing was kept") != std::string::npos);
  CHECK(place.files().empty());
}

TEST_CASE("a finished task is kept, a larger --measure adds to it, other settings are refused") {
  const Workplace place;
  REQUIRE(place.run(kRun + "--measure 20 --out t.h5").status == 0);
  const std::string before = place.read("t.h5");

  const Output again = place.run(kRun + "--measure 20 --out t.h5 --json");
  CHECK(again.status == 0);
  CHECK(again.err.find("already contains this run") != std::string::npos);
  CHECK(nlohmann::json::parse(again.out)["results"].size() == 2);
  CHECK(place.run(kRun + "--measure 10 --out t.h5").status == 0);

  const Output other = place.run(kRun + "--measure 20 --seed 9 --out t.h5");
  CHECK(other.status == 73);
  CHECK(other.err.find("sampling.seed") != std::string::npos);
  CHECK(place.read("t.h5") == before);

  REQUIRE(place.run(kRun + "--measure 50 --out t.h5").status == 0);
  REQUIRE(place.run(kRun + "--measure 50 --out whole.h5").status == 0);
  check_same(place, "whole.h5", "t.h5");
}

TEST_CASE("a checkpoint of other settings is refused with the differing key") {
  const Workplace place;
  REQUIRE(place.run(kRun + "--measure 1000000 --time-limit 0.05s --out t.h5").status == 75);
  const std::string before = place.read("t.part.h5");
  const Output output = place.run(kRun + "--measure 1000000 --replicas 64 --out t.h5");
  CHECK(output.status == 65);
  CHECK(output.err.find("sampling.replicas") != std::string::npos);
  CHECK(place.read("t.part.h5") == before);
  CHECK(!place.has("t.h5"));
}

TEST_CASE("a run with damaged files is refused, and --recompute-damaged computes it again") {
  const Workplace place;
  const std::string line = kRun + "--measure 20 --json --out t.h5";
  const auto numbers = [](const Output& output) {
    const auto printed = nlohmann::json::parse(output.out);
    return printed["results"].dump() + printed["trajectory_hash"].dump();
  };
  const Output first = place.run(line);
  REQUIRE(first.status == 0);
  std::string flipped = place.read("t.h5");
  flipped[flipped.size() / 2] ^= 1;

  // A finished file, and a checkpoint without a finished file.
  for (const std::string name : {"t.h5", "t.part.h5"}) {
    std::filesystem::remove(place / "t.h5");
    place.write(name, flipped);
    const Output refused = place.run(line);
    INFO(name << "\n" << refused.err);
    CHECK(refused.status == 65);
    CHECK(refused.out.empty());
    for (const auto& word : {name, std::string("--recompute-damaged")}) {
      CHECK(refused.err.find(word) != std::string::npos);
    }
    CHECK((place.read(name) == flipped));
    CHECK(place.files().size() == 1);
    const Output anew = place.run(line + " --recompute-damaged");
    INFO(anew.err);
    CHECK(anew.status == 0);
    CHECK(anew.err.find(name + ".damaged-1") != std::string::npos);
    CHECK(numbers(anew) == numbers(first));
    CHECK((place.read(name + ".damaged-1") == flipped));
    std::filesystem::remove(place / (name + ".damaged-1"));
    CHECK(numbers(place.run(line)) == numbers(first));
  }

  // The schedule is read from the files, too.
  place.write("t.h5", flipped);
  const std::string tuned =
      "run --size 16 --temperature 2.3 --schedule auto --measure 20 --device cpu --out t.h5";
  CHECK(place.run(tuned).status == 65);
  CHECK(place.run(tuned + " --recompute-damaged").status == 0);
  CHECK((place.read("t.h5.damaged-1") == flipped));

  // A checkpoint of other settings is not damaged: it is kept.
  REQUIRE(place.run(kRun + "--measure 1000000 --time-limit 0.05s --out u.h5").status == 75);
  const std::string kept = place.read("u.part.h5");
  const Output other =
      place.run(kRun + "--measure 1000000 --replicas 64 --recompute-damaged --out u.h5");
  CHECK(other.status == 65);
  CHECK(other.err.find("--recompute-damaged") == std::string::npos);
  CHECK((place.read("u.part.h5") == kept));
}

TEST_CASE("a task that another process computes is refused") {
  Workplace place;
  const pid_t child = place.start(kRun + "--measure 1000000 --out t.h5");
  wait_for(place, "t.lease");
  Workplace elsewhere;  // separate output files
  const Output output =
      elsewhere.run(kRun + "--measure 1000000 --out " + (place / "t.h5").string());
  CHECK(output.status == 73);
  CHECK(output.err.find("in use by pid " + std::to_string(child)) != std::string::npos);
  ::kill(child, SIGTERM);
  CHECK(place.wait(child).status == 75);
}
