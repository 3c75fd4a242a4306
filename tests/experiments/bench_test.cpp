// `rewise bench`: the contents of its rows, their comparison with a saved run, and its errors. Runs
// take only milliseconds, so tests assert relations between the figures, never a figure itself.
#include "experiments/commands/bench.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/commands/bench_report.hpp"
#include "src/base/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

BenchRow row(const std::string& device, std::uint32_t replicas, double rate) {
  BenchRow r;
  r.engine = "multispin";
  r.update = "wolff";
  r.device = device;
  r.extents = {16, 16};
  r.p = 0.1;
  r.temperature = 2.769;
  r.replicas = replicas;
  r.schedule = "0:8";
  r.flips_per_ns = rate;
  return r;
}

const std::string kQuick = "bench --size 8 --seconds 0.001 --repeats 1 --equilibrate 2 ";

}  // namespace

TEST_CASE("rows of a group: rate, time per update, clusters and measurement are consistent") {
  struct Case {
    EngineKind engine;
    std::uint32_t graphs, q;  // q = 0: Ising
  };
  for (const auto& [engine, graphs, q] :
       {Case{EngineKind::multispin, 1, 0}, Case{EngineKind::multispin, 3, 0},
        Case{EngineKind::bytespin, 1, 0}, Case{EngineKind::bytespin, 1, 3}}) {
    const double temperature = q == 0 ? 2.769 : 1.2;
    BenchGroup group{engine, {"cpu", -1}, {{12, 10}, 0.1, Rule::rewire, 1}, temperature, 32,
                     graphs, {}};
    if (q > 0) {
      group.model = {ModelKind::potts, q};
    }
    for (const Update update : traits(engine).updates) {
      group.updates.push_back({update});
    }
    group.updates.emplace_back();
    BenchEffort effort;
    effort.repeats = 3;  // odd, so that the median rate belongs to the median time
    effort.seconds = 1e-3;
    effort.equilibrate = 20;
    effort.mix = Schedule{1, 2};
    std::size_t reported = 0;
    const auto rows = run_bench(group, effort, StopToken(), [&](const BenchRow&) { ++reported; });
    REQUIRE(rows.size() == group.updates.size());
    CHECK(reported == rows.size());
    for (const BenchRow& r : rows) {
      INFO(to_string(engine) << " " << r.update << " " << graphs << " q " << q);
      CHECK(r.q == q);
      const double sites = 120, ns = 1e3 * r.us_per_update;
      CHECK(r.flips_per_ns > 0);
      CHECK(r.spread >= 0);
      CHECK(r.measure_per_sweep.has_value() == (r.update == "metropolis" || r.update == "glauber"));
      CHECK(r.cluster_fraction.has_value() == (r.update == "wolff"));
      if (r.update == "mix") {
        CHECK(r.schedule == "1:2");
        CHECK(r.flips_per_ns * ns > sites);  // a sweep and two clusters
        CHECK(r.flips_per_ns * ns < 3 * sites);
      } else if (r.update == "wolff") {
        CHECK(r.schedule == "0:8");
        CHECK(*r.cluster_fraction > 1 / sites);
        CHECK(*r.cluster_fraction < 1);
      } else if (r.update == "few-cluster") {
        CHECK(r.flips_per_ns * ns > 1);
        CHECK(r.flips_per_ns * ns <= sites);
      } else {
        CHECK(r.flips_per_ns * ns == Approx(sites));
      }
      if (r.measure_per_sweep) CHECK(*r.measure_per_sweep >= 0);
    }
  }
}

TEST_CASE("GPU over CPU: relative to the fastest CPU row of the same benchmark") {
  std::vector<BenchRow> rows{row("cpu", 32, 2), row("cpu", 64, 4), row("cuda:0", 1024, 400),
                             row("cuda:0", 1024, 400)};
  rows[3].p = 0;
  compare_with_cpu(rows);
  CHECK_FALSE(rows[0].over_cpu);
  CHECK(rows[2].over_cpu == 100.0);
  CHECK_FALSE(rows[3].over_cpu);
}

TEST_CASE("bench as a program: table and JSON") {
  Workplace place;
  const Output table = place.run(kQuick + "--p 0.1 --device cpu --threads 1 --schedule 1:2");
  INFO(table.err);
  REQUIRE(table.status == 0);
  for (const char* word : {"updates/ns", "us/update", "swendsen-wang", "mix 1:2", "8x8"}) {
    CHECK(table.out.find(word) != std::string::npos);
  }
  const Output first = place.run(kQuick + "--p 0.1 --device cpu --threads 1 --json");
  REQUIRE(first.status == 0);
  const auto json = nlohmann::json::parse(first.out);
  CHECK(json["rows"].size() == 4 + 5);  // bitlattice supports p = 0 only
  CHECK(json["devices"][0]["device"] == "cpu");
  CHECK(json["devices"][0]["title"].get<std::string>().ends_with("1 thread"));
  std::set<std::string> updates;
  for (const auto& r : json["rows"]) {
    updates.insert(r["engine"].get<std::string>() + " " + r["update"].get<std::string>());
    CHECK(r["flips_per_ns"] > 0);
    CHECK(r["temperature"] == 2.785);
  }
  CHECK(updates.size() == 9);
  const Output four = place.run(
      "bench --size 4 --dim 4 --p 0.1 --seconds 0.001 --repeats 1 --equilibrate 2 --device cpu "
      "--threads 1 --engine multispin --update metropolis --json");
  REQUIRE(four.status == 0);
  CHECK(nlohmann::json::parse(four.out)["rows"][0]["temperature"] == 6.9267);
}

TEST_CASE("bench of Potts: rows of the bytespin engine, near Tc") {
  Workplace place;
  const Output ran =
      place.run(kQuick + "--model potts --q 3 --p 0,0.1 --device cpu --threads 1 --json");
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  const auto json = nlohmann::json::parse(ran.out);
  std::set<std::string> updates;
  for (const auto& r : json["rows"]) {
    updates.insert(r["update"].get<std::string>());
    CHECK(r["engine"] == "bytespin");
    CHECK(r["model"] == "potts");
    CHECK(r["q"] == 3);
    CHECK(r["flips_per_ns"] > 0);
    const double tc = 0.994972861;
    CHECK(r["temperature"].get<double>() ==
          Approx(r["p"] == 0.0 ? tc : tc * 2.785 / 2.269185).epsilon(1e-4));
  }
  CHECK(json["rows"].size() == 2 * 5);
  CHECK(updates ==
        std::set<std::string>{"metropolis", "glauber", "wolff", "swendsen-wang", "few-cluster"});
  const Output table = place.run(kQuick +
                                 "--model potts --q 5 --p 0 --device cpu --threads 1 --update "
                                 "swendsen-wang --label-method fast,bfs+sew,kalentev");
  REQUIRE(table.status == 0);
  for (const char* row : {"(fast), q = 5", "(bfs+sew), q = 5", "(kalentev), q = 5"}) {
    CHECK(table.out.find(row) != std::string::npos);
  }
}

TEST_CASE("bench: --replicas means --systems if the multispin engine is not selected") {
  const Workplace place;
  const Output ran = place.run(
      kQuick + "--engine bytespin --replicas 1,3 --device cpu --update metropolis --p 0 --json");
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  const auto json = nlohmann::json::parse(ran.out);
  REQUIRE(json["rows"].size() == 2);
  CHECK(json["rows"][0]["replicas"] == 1);
  CHECK(json["rows"][1]["replicas"] == 3);
}

TEST_CASE("bench: invalid input gives one line of error and its exit status") {
  Workplace place;
  struct Bad {
    std::string line;
    int status;
    std::string says;
  };
  for (const Bad& bad : {
           Bad{"--engine multispn", 64, "did you mean 'multispin'"},
           Bad{"--update wolf", 64, "did you mean 'wolff'"},
           Bad{"--device gpu", 64, "--device"},
           Bad{"--device cpu --wolff-method persistent", 64, "persistent"},
           Bad{"--wolff-method frontir", 64, "did you mean 'frontier'"},
           Bad{"--device cuda:999", 69, "cuda:999"},
           Bad{"--model pots", 64, "did you mean 'potts'"},
           Bad{"--q 3", 64, "--q"},
           Bad{"--model potts --q 256", 64, "--q"},
           Bad{"--model potts --q 3 --engine multispin", 64,
               "does not support potts with q = 3 (use bytespin)"},
           Bad{"--model potts --q 3 --dim 3 --size 4", 64, "--temperature is missing"},
           Bad{"--label-method kalentef", 64, "did you mean 'kalentev'"},
           Bad{"--replicas 33", 64, "64"},
           Bad{"--replicas 1", 64, "use --systems for the others"},
           Bad{"--engine bytespin --replicas 1 --systems 2", 64, "--replicas: for the"},
           Bad{"--systems 0", 64, "--systems"},
           Bad{"--graphs 257", 64, "--graphs"},
           Bad{"--size 7", 64, "extent 7"},
           Bad{"--size 8,", 64, "--size"},
           Bad{"--p 2", 64, "--p"},
           Bad{"--dim 1 --size 64", 64, "--temperature is missing"},
           Bad{"--schedule 0:0", 64, "0:0"},
           Bad{"--seconds soon", 64, "--seconds"},
       }) {
    const Output output = place.run("bench " + bad.line);
    INFO(bad.line << "\n" << output.err);
    CHECK(output.status == bad.status);
    CHECK(output.out.empty());
    CHECK(lines(output.err) == 1);
    CHECK(output.err.find(bad.says) != std::string::npos);
  }
}
