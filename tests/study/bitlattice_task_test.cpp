// Tasks of the bitlattice engine through the library and the program: no graph in memory at p = 0,
// any size, continuation from task files bit for bit, and errors in one line that name an engine
// with support for the settings.
#include "src/settings/engines.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/commands/bench_plan.hpp"
#include "src/base/error.hpp"
#include "src/bitlattice/bitlattice.hpp"
#include "src/settings/memory_need.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/content_digest.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

TaskSpec bitlattice_task(std::vector<std::uint32_t> extents) {
  TaskSpec spec;
  spec.graph.extents = std::move(extents);
  spec.engine = EngineKind::bitlattice;
  spec.temperatures = {2.3, 2.7};
  spec.replicas = 3;
  spec.schedule = {2, 0};
  spec.equilibrate = 5;
  spec.measure = 6;
  spec.every = 2;
  return spec;
}

const std::string kRun =
    "run --engine bitlattice --size 64,30 --temperature 2.3,2.6 --schedule 1:0 --replicas 4 "
    "--equilibrate 20 --device cpu ";

}  // namespace

TEST_CASE("a bitlattice task has the series of the engine and no cluster sums") {
  const TaskSpec spec = bitlattice_task({36, 22});
  TaskRunOptions run;
  run.engine.threads = 1;
  const TaskResult result = run_task({spec}, run);
  REQUIRE(result.outcome == TaskOutcome::finished);
  const TaskData& data = result.data;
  CHECK(data.graph.sites == 36 * 22);
  CHECK(data.graph.bonds == 2 * 36 * 22);
  CHECK(data.graph.modified == 0);
  CHECK(data.bond_sum.time() == 6);
  CHECK(data.bond_sum.replicas() == 3);
  CHECK(data.cluster_size.time() == 0);
  const auto engine = make_bitlattice_engine({36, 22}, engine_spec(spec), run.engine);
  engine->advance({2, 0}, 5 + 2 * 6);
  Observation last;
  engine->measure(last);
  CHECK(data.bond_sum.at(1, 5, 2) == last.bond_sum[5]);
  CHECK(data.magnetisation.at(0, 5, 1) == last.magnetisation[1]);
}

TEST_CASE("a warning for few replicas with few measurements compared with tau_int") {
  const Workplace place;
  const std::string run =
      "run --engine bitlattice --size 32 --temperature 2.3 --schedule 1:0 "
      "--device cpu --replicas 2 --equilibrate 20 --measure ";
  const Output brief = place.run(run + "40"),
               hot = place.run(
                   "run --engine bitlattice --size 32 --temperature 9 --schedule 1:0 "
                   "--device cpu --replicas 2 --equilibrate 20 --measure 640");
  CHECK(brief.out.find(": errors are too small: with 2 replicas they") != std::string::npos);
  CHECK(brief.out.find("jackknife\nover time blocks") != std::string::npos);
  CHECK(hot.out.find("warning") == std::string::npos);
  CHECK(hot.out.find("All checks passed: 10 tau or more passed before the first measurement, ") !=
        std::string::npos);
  CHECK(hot.out.find("<C>/N") == std::string::npos);  // there are no clusters
}

TEST_CASE("a bitlattice task of 2^34 sites is described without allocating its lattice") {
  const TaskSpec spec = bitlattice_task({131072, 131072});
  check_task_engine(spec);
  const GraphRecord record = regular_record(spec);
  CHECK(record.sites == std::uint64_t{1} << 34);
  CHECK(record.bonds == std::uint64_t{1} << 35);
  CHECK(task_configuration(spec).at("lattice.size") == "131072x131072");
  CHECK(useful_threads(spec, 7) == 7);
}

TEST_CASE("bench lists the bitlattice engine on regular lattices only") {
  BenchOptions options;
  options.device = "cpu";
  options.size = "16";
  options.p = "0,0.1";
  std::size_t groups = 0;
  for (const BenchGroup& group : bench_groups(make_bench_plan(options), options)) {
    if (group.engine != EngineKind::bitlattice) continue;
    ++groups;
    CHECK(group.updates.size() == 2);
    CHECK(group.replicas == 1);
    CHECK(run_bench(group, {1, 1, 0.001, 3, 0, {}, 1}, StopToken(), [](const BenchRow&) {
          }).size() == 2);
  }
  CHECK(groups == 1);
}

TEST_CASE("a bitlattice run continued from its file equals an uninterrupted one") {
  Workplace place;
  const std::string run = kRun + "--measure ";
  REQUIRE(place.run(run + "40 --threads 1 --out whole.h5").status == 0);
  REQUIRE(place.run(run + "15 --threads 2 --out parts.h5").status == 0);
  REQUIRE(place.run(run + "40 --threads 1 --out parts.h5").status == 0);
  const auto whole = load_task(place / "whole.h5", OpenAs::reader);
  const auto parts = load_task(place / "parts.h5", OpenAs::reader);
  REQUIRE(whole);
  REQUIRE(parts);
  CHECK(test::content_digest(whole->task) == test::content_digest(parts->task));
  const Output json = place.run(kRun + "--measure 40 --json");
  REQUIRE(json.status == 0);
  const auto printed = nlohmann::json::parse(json.out);
  CHECK(printed["trajectory_hash"] == whole->task.provenance.at("trajectory_hash"));
  CHECK(printed["engine"] == "bitlattice");
  CHECK(printed["graph"]["sites"] == 64 * 30);
  CHECK(printed["results"][0]["replicas"] == 4);
  const Output one = place.run(
      "run --engine bitlattice --size 8,6 --temperature 2.3 --schedule 1:0 --measure 40 --json");
  REQUIRE(one.status == 0);
  CHECK(nlohmann::json::parse(one.out)["results"][0]["replicas"] == 1);  // one large system
}

TEST_CASE("settings without support by the bitlattice engine: errors name other engines") {
  Workplace place;
  const auto refused = [&](const std::string& line, int status, const std::string& part) {
    const Output output = place.run("run --engine bitlattice " + line);
    INFO(line << ": " << output.err);
    CHECK(output.status == status);
    CHECK(lines(output.err) == 1);
    CHECK(output.out.empty());
    CHECK(output.err.find(part) != std::string::npos);
  };
  refused("--size 64 --temperature 2.3 --schedule 1:1", 64, "multispin or bytespin");
  refused("--size 63 --temperature 2.3 --schedule 1:0", 64, "even");
  refused("--size 4,65536,65536 --dim 3 --temperature 2.3 --schedule 1:0", 64, "too many sites");
  refused("--size 1073741824,512 --temperature 2.3 --schedule 1:0 --device cpu", 69, "GiB");
  refused("--size 64 --p 0.01 --temperature 2.3 --schedule 1:0", 64, "multispin or bytespin");
  place.write("ring.edges", "0 1\n1 2\n2 3\n3 0\n");
  refused("--graph ring.edges --temperature 2.3 --schedule 1:0", 64, "multispin or bytespin");
}
