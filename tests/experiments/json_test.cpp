// The JSON objects of `run`, `graph` and `info`, field by field (src/store/FORMATS.md).
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>

#include "src/base/h5.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise::oracle;
using nlohmann::json;
namespace h5 = rewise::h5;

namespace {

std::set<std::string> keys(const json& object) {
  std::set<std::string> names;
  for (const auto& [key, value] : object.items()) names.insert(key);
  return names;
}

json parsed(const Output& output) {
  INFO(output.err);
  REQUIRE(output.status == 0);
  return json::parse(output.out);  // throws if standard output has anything but one JSON value
}

}  // namespace

TEST_CASE("run: the random numbers of spins have the seed of the network unless one is given") {
  const Workplace place;
  const auto hash = [&](const std::string& seeds) {
    return parsed(place.run(std::string("run --temperature 3 --equilibrate 5 --measure 10 "
                                        "--device cpu --json ") +
                            seeds))["trajectory_hash"];
  };
  const std::string first = "--size 8 --p 0.1 ", second = first + "--graph-seed 2 ";
  CHECK(hash(first) == hash(first + "--seed 1"));
  CHECK(hash(second) == hash(second + "--seed 2"));
  CHECK(hash(second) != hash(second + "--seed 1"));
  parsed(place.run("graph --size 8 --p 0.1 --seed 2 --out g.edges --json"));
  CHECK(hash("--graph g.edges") == hash(second + "--seed 1"));
  parsed(place.run("graph --size 8 --p 0.1 --seed 2 --out g.h5 --json"));
  CHECK(hash("--graph g.h5") == hash(second));
}

TEST_CASE("run --json has exactly the documented fields") {
  const Workplace place;
  const json run = parsed(place.run(
      "run --dim 2 --size 8,6 --p 0.1 --graph-seed 3 --temperature 2.3,2.6 --schedule 1:2 "
      "--equilibrate 20 --measure 50 --every 2 --seed 5 --threads 1 --device cpu --json"));
  CHECK(keys(run) == std::set<std::string>{"graph", "results", "warnings", "trajectory_hash",
                                           "engine", "device", "threads", "seconds",
                                           "updates_per_ns"});
  CHECK(keys(run["graph"]) == std::set<std::string>{"dim", "extents", "p", "rule", "seed", "sites",
                                                    "bonds", "modified", "rewired"});
  CHECK(run["graph"]["extents"] == json({8, 6}));
  CHECK(run["graph"]["sites"] == 48);
  CHECK(run["graph"]["bonds"] == 96);
  CHECK(run["graph"]["seed"] == 3);
  CHECK(run["graph"]["rule"] == "rewire");
  REQUIRE(run["results"].size() == 2);
  for (const auto& row : run["results"]) {
    CHECK(keys(row) ==
          std::set<std::string>{"temperature", "beta", "replicas", "measurements", "status",
                                "reasons", "candidate", "energy", "abs_magnetisation", "m2", "m4",
                                "binder", "specific_heat", "susceptibility", "cluster_fraction"});
    for (const char* timed : {"energy", "abs_magnetisation", "m2", "m4"}) {
      CHECK(keys(row[timed]) == std::set<std::string>{"value", "error", "tau"});
      CHECK(row[timed]["error"] > 0);
      CHECK(row[timed]["tau"] > 0);
    }
    for (const char* plain : {"binder", "specific_heat", "susceptibility", "cluster_fraction"}) {
      CHECK(keys(row[plain]) == std::set<std::string>{"value", "error"});
    }
    CHECK(row["replicas"] == 32);
    CHECK(row["measurements"] == 50);
    CHECK(row["energy"]["value"] < 0);
    CHECK(row["energy"]["value"] > -2);
    CHECK(row["beta"].get<double>() == Approx(1 / row["temperature"].get<double>()));
    // <C>/N = <m^2>
    const double difference =
        row["cluster_fraction"]["value"].get<double>() - row["m2"]["value"].get<double>();
    const double error = std::hypot(row["cluster_fraction"]["error"].get<double>(),
                                    row["m2"]["error"].get<double>());
    CHECK(std::abs(difference) < 5 * error);
  }
  CHECK(run["engine"] == "multispin");
  CHECK(run["device"] == "cpu");
  CHECK(run["threads"] == 1);
  CHECK(run["trajectory_hash"].get<std::string>().size() == 16);
}

TEST_CASE("the file of a run has its averages, with the names of run --json and units") {
  const Workplace place;
  // The run is not in equilibrium at the first temperature. The second call extends the run.
  const std::string line =
      "run --size 16 --couplings pm --temperature 0.3,2.8 --schedule 1:0 --equilibrate 100 "
      "--device cpu --out t.h5 --json --measure ";
  REQUIRE(place.run(line + "60").status == 0);
  const json run = parsed(place.run(line + "120"));
  const std::string content = place.read("t.h5");
  const h5::File file = h5::File::open(std::as_bytes(std::span(content)));
  const h5::Group results = file.root().group("results");
  CHECK(results.text("status") == "not-equilibrated,ok");
  CHECK(results.get<double>("energy_unit") == 1);
  std::set<std::string> names;
  for (const auto& [name, value] : run["results"][1].items()) {
    if (!value.is_object() || !value.contains("error")) continue;
    INFO(name);
    names.insert(name);
    const h5::Group one = results.group(name);
    CHECK(!one.text("unit").empty());
    for (const char* what : {"value", "error", "tau"}) {
      CHECK(one.has(what) == value.contains(what));
      if (!one.has(what)) continue;
      const auto values = one.read<double>(what, 1).values;
      REQUIRE(values.size() == 2);
      CHECK(std::isnan(values[0]));
      if (value[what].is_null()) {
        CHECK(std::isnan(values[1]));
      } else {
        CHECK(values[1] == value[what].get<double>());
      }
    }
  }
  CHECK(names.contains("overlap_m2"));
  const auto stored = results.names();
  CHECK(std::set<std::string>(stored.begin(), stored.end()) == names);
  CHECK(results.group("energy").text("unit") == "J");
  CHECK(results.group("overlap_m2").has("tau"));
}

TEST_CASE("the same seed gives the same trajectory on any number of threads") {
  const Workplace place;
  const std::string line =
      "run --size 16 --p 0.1 --temperature 2.4,2.7 --equilibrate 10 --measure 10 --json --threads ";
  json one = parsed(place.run(line + "1")), three = parsed(place.run(line + "3"));
  CHECK(one["trajectory_hash"] == three["trajectory_hash"]);
  CHECK(one["results"] == three["results"]);
  const json other = parsed(place.run(line + "1 --seed 2"));
  CHECK(one["trajectory_hash"] != other["trajectory_hash"]);
}

TEST_CASE("unknown values are null: clusters without cluster updates, errors of one measurement") {
  const Workplace place;
  const json run = parsed(place.run(
      "run --size 8 --temperature 2.3 --schedule 1:0 --engine bytespin --replicas 1 --measure 1 "
      "--equilibrate 100 --json"));
  const auto& row = run["results"][0];
  CHECK(row["cluster_fraction"]["value"].is_null());
  CHECK(row["energy"]["error"].is_null());
  CHECK(row["energy"]["tau"].is_null());
  CHECK(row["energy"]["value"].is_number());
}

TEST_CASE("one replica: errors come from time blocks") {
  const Workplace place;
  const json run = parsed(
      place.run("run --size 8 --temperature 2.3 --engine bytespin --replicas 1 --measure 640 "
                "--equilibrate 50 --json"));
  CHECK(run["results"][0]["energy"]["error"] > 0);
  CHECK(run["results"][0]["cluster_fraction"]["error"] > 0);
}

TEST_CASE("JSON of a graph whose file name is not UTF-8 has replacement characters") {
  const Workplace place;
  const std::string name = "M\xEF\xBF\xBDller.edges", file = "M\xFCller.edges";
  place.write(file, "# sites 5\n0 1\n1 2\n2 0\n");
  CHECK(parsed(place.run("graph --json --from " + file))["graph"]["source"] == name);
  const std::string run = "run --temperature 2 --measure 8 --equilibrate 2 --graph " + file;
  CHECK(parsed(place.run(run + " --json"))["graph"]["source"] == name);
  CHECK(parsed(place.run("label --json " + file))["input"] == name + ", 5 sites, 3 bonds");
  CHECK(parsed(place.run("tune --temperature 2 --budget 0.1s --candidates 1:0,0:1 --json --graph " +
                         file))["settings"]
            .size() == 1);
  // The table says that the graph is imported, and nothing about rewiring.
  const std::string table = place.run(run).out;
  INFO(table);
  CHECK(table.starts_with("imported from " + name + ", 2 of 5 sites isolated\n5 sites, 3 bonds\n"));
  CHECK(table.find("rewired") == std::string::npos);
  CHECK(table.find("modified") == std::string::npos);
}

// A glass of 64 spins at temperatures at which it equilibrates in a few cycles.
TEST_CASE("tune --exchange: the best schedule by q^2, in the table and in JSON") {
  const Workplace place;
  const std::string glass = "tune --dim 3 --size 4 --couplings pm --exchange --threads 1 ";
  const json found = parsed(place.run(
      glass + "--temperature 1.5:2.5:4 --candidates 1:0,4:0 --budget 2s --keep-all --json"));
  const json& setting = found["settings"][0];
  CHECK(setting["exchange"] == true);
  CHECK(setting["temperatures"].size() == 4);
  CHECK(!setting.contains("temperature"));
  CHECK(setting["equilibration"]["cycles"] >= 128);
  CHECK(setting["candidates"].size() == 2);
  CHECK(setting["interactions"]["couplings"] == "pm");
  for (const json& one : setting["candidates"]) {
    const double tau = one["tau"]["q2"]["value"], seconds = one["seconds_per_cycle"]["value"];
    CHECK(one["tau"].size() == 1);
    CHECK(one["rate"]["value"] == Approx(1 / (2 * std::max(0.5, tau) * seconds)));
    CHECK(one["slowest_temperature"] >= 1.5);
  }
  const std::string table =
      place.run(glass + "--temperature 1.5:2.5 --candidates 1:0 --budget 1s").out;
  INFO(table);
  CHECK(table.find(
            "\nising with couplings = pm; T = 1.5 .. 2.5 (replica exchange, 6 temperatures)") !=
        std::string::npos);
  CHECK(table.find(" tau(q^2) ") != std::string::npos);
  CHECK(table.find("  at T  ") != std::string::npos);
  CHECK(table.find("\nbest: 1:0, with ") != std::string::npos);
  CHECK(table.find("independent measurements of q^2 per second") != std::string::npos);
  // No result if the replicas are far from equilibrium at the end of the budget.
  const Output frozen = place.run(
      "tune --dim 3 --size 8 --couplings pm --exchange --temperature 0.2,0.3 "
      "--budget 0.001s");
  CHECK(frozen.status == 64);
  CHECK(frozen.out.empty());
  CHECK(frozen.err.find("rewise: no result: T = 0.2: not in equilibrium: ") != std::string::npos);
  CHECK(frozen.err.find("after 128 cycles of 1:0 (use a larger --budget") != std::string::npos);
}

TEST_CASE("graph describes imported graphs: isolated sites, triangles, no rewired bonds") {
  const Workplace place;
  place.write("house.edges", "# sites 7\n0 1\n1 2\n2 3\n3 0\n2 4\n3 4\n");
  const json found = parsed(place.run("graph --from house.edges --json"));
  CHECK(found["graph"]["isolated"] == 2);
  CHECK(found["graph"]["rewired"].is_null());
  CHECK(found["graph"]["modified"].is_null());
  CHECK(found["graph"]["source"] == "house.edges");
  CHECK(found["metrics"]["rewired_share"].is_null());
  CHECK(found["metrics"]["modified_share"].is_null());
  // One of the three pairs of neighbours of site 2 (and of site 3) is connected, and the only pair
  // of site 4.
  CHECK(found["metrics"]["clustering"]["value"] == Approx((1 + 2.0 / 3) / 7));
  CHECK(found["metrics"]["clustering"]["error"] == 0);
  const std::string table = place.run("graph --from house.edges").out;
  INFO(table);
  CHECK(table.find("\nisolated sites       2\n") != std::string::npos);
  CHECK(table.find("\nclustering           0.238095\n") != std::string::npos);
  for (const char* word : {"rewired", "modified"}) CHECK(table.find(word) == std::string::npos);
  place.write("alone.edges", "# sites 3\n");
  CHECK(parsed(place.run("graph --from alone.edges --json"))["metrics"]["mean_path"]["value"]
            .is_null());
  CHECK(place.run("graph --from alone.edges").out.find("length     - (") != std::string::npos);
}

TEST_CASE("a value of unknown error is printed alone") {
  const Workplace place;
  const std::string graph = "graph --size 64 --p 0.1 --sources 1";
  const std::string table = place.run(graph).out;
  INFO(table);
  CHECK(table.find("nan") == std::string::npos);
  CHECK(table.find("8.61099 (from 1 sampled site)") != std::string::npos);
  const json path = parsed(place.run(graph + " --json"))["metrics"]["mean_path"];
  CHECK(path["value"] > 8);
  CHECK(path["error"].is_null());
}

TEST_CASE("graphs written as edge lists are read back with the same sites") {
  const Workplace place;
  // The last site is among the isolated ones of seed 5, the first site is that of seed 10.
  for (const auto& [seed, isolated] : {std::pair{"5", 2}, {"10", 1}}) {
    const std::string name = "g" + std::string(seed) + ".edges";
    const Output made =
        place.run("graph --dim 1 --size 16 --p 1 --seed " + std::string(seed) + " --out " + name);
    CHECK(made.out.find("\nisolated sites       " + std::to_string(isolated) + "\n") !=
          std::string::npos);
    const json back = parsed(place.run("graph --from " + name + " --json"));
    CHECK(back["graph"]["sites"] == 16);
    CHECK(back["graph"]["isolated"] == isolated);
  }
}

TEST_CASE("graph --json describes the network") {
  const Workplace place;
  const json graph = parsed(place.run("graph --size 16 --p 0.1 --seed 4 --out g.edges --json"));
  CHECK(keys(graph) == std::set<std::string>{"graph", "metrics"});
  for (const char* key : {"dim", "extents", "p", "rule", "seed", "sites", "bonds", "modified",
                          "rewired", "colours", "hash"}) {
    CHECK(graph["graph"].contains(key));
  }
  CHECK(graph["graph"]["rewired"] > 10);
  CHECK(graph["metrics"]["mean_degree"] == 4.0);
  CHECK(graph["metrics"]["mean_path"]["value"] > 3);
  std::uint64_t sites = 0;
  for (const auto& count : graph["metrics"]["degree_counts"]) sites += count.get<std::uint64_t>();
  CHECK(sites == 256);

  // The edge list is read as an imported graph of the same size, which can be simulated.
  const json again = parsed(place.run("graph --from g.edges --json"));
  CHECK(again["graph"]["rule"] == "imported");
  CHECK(again["graph"]["bonds"] == 512);
  CHECK(again["graph"]["colours"] == 2);
  CHECK(again["graph"]["dim"].is_null());
  const json run = parsed(
      place.run("run --graph g.edges --temperature 2.5 --measure 20 --equilibrate 20 --json"));
  CHECK(run["graph"]["sites"] == 256);
}

TEST_CASE("run uses graphs from files without changes: a bare lattice, a chain") {
  const Workplace place;
  const std::string run = " --temperature 2.5 --measure 10 --equilibrate 10 ";
  const json bare = parsed(place.run("graph --size 16 --p 0.1 --bare --out b.h5 --json"));
  const Output said = place.run("run --graph b.h5 --out t.h5" + run);
  CHECK(said.status == 0);
  CHECK(said.out.find("rewire, graph seed 1, without its shortcuts") != std::string::npos);
  const json again = parsed(place.run("graph --from t.h5 --json"));
  CHECK(again["graph"]["hash"] == bare["graph"]["hash"]);
  CHECK(again["graph"]["bonds"] == bare["graph"]["bonds"]);

  for (const char* engine : {"--engine bytespin", "--model potts --q 3"}) {
    const Output single = place.run(std::string("run --graph b.h5 ") + engine + run);
    CHECK(single.status == 64);
    CHECK(single.err.find("without its shortcuts") != std::string::npos);
  }

  REQUIRE(place.run("graph --dim 1 --size 64 --p 0.1 --out c.h5").status == 0);
  CHECK(parsed(place.run("run --graph c.h5 --json" + run))["trajectory_hash"] ==
        parsed(place.run("run --dim 1 --size 64 --p 0.1 --json" + run))["trajectory_hash"]);
}

TEST_CASE("a warning if Metropolis flips isolated sites together and Wolff skips them") {
  const Workplace place;
  const std::string run = "run --size 64 --temperature 4 --measure 4 --equilibrate 4 ";
  const auto warned = [&](const std::string& more) {
    const Output said = place.run(run + more);
    REQUIRE(said.status == 0);
    return said.out.find(
               "sites without bonds flip in every Metropolis sweep and so stay aligned") !=
           std::string::npos;
  };
  CHECK(warned("--p 1"));
  CHECK(warned("--p 1 --schedule 1:0"));
  CHECK_FALSE(warned("--p 1 --local glauber"));
  CHECK_FALSE(warned("--p 1 --cluster swendsen-wang"));
  CHECK_FALSE(warned("--p 1 --schedule 0:1"));
  CHECK_FALSE(warned("--p 0.1"));
}

TEST_CASE("graphs in task files may have many more isolated sites than bonds") {
  const Workplace place;
  std::string text = "<graphml><graph edgedefault=\"undirected\">";
  for (int k = 0; k < 70000; ++k) text += "<node id=\"" + std::to_string(k) + "\"/>";
  text += "<edge source=\"0\" target=\"1\"/></graph></graphml>";
  place.write("g.graphml", text);
  REQUIRE(place
              .run("run --graph g.graphml --temperature 2 --measure 2 --equilibrate 1 --replicas 1 "
                   "--engine bytespin --out t.h5")
              .status == 0);
  CHECK(parsed(place.run("graph --from t.h5 --json"))["graph"]["sites"] == 70000);
}

TEST_CASE("JSON of a dry run: memory, disk, seconds, tasks") {
  const Workplace place;
  const json estimate = parsed(place.run("run --size 64 --temperature 2.3 --dry-run --json"));
  CHECK(estimate["memory_bytes"] > 0);
  CHECK(estimate["disk_bytes"] == 0);
  CHECK(estimate["cpu_seconds"] > 0);
  // Also where there is no GPU: then a line on standard error says so.
  const json of_gpu =
      parsed(place.run("run --size 64 --temperature 2.3 --device cuda --dry-run --json"));
  CHECK(of_gpu["device_bytes"] > 0);
  CHECK(parsed(place.run(
      "run --size 64 --temperature 2.3 --schedule auto --dry-run --json"))["cpu_seconds"]
            .is_null());
  place.write("s.toml", "[lattice]\ndim = 2\nsizes = [16, 32]\np = [0.01, 0.1]\ngraphs = 3\n");
  const json study = parsed(place.run("tc s.toml --dry-run --json"));
  CHECK(study["tasks"].size() == 4);
  CHECK(study["tasks"][3]["size"] == json({32, 32}));
  CHECK(study["tasks"][3]["tasks"] == 3);
  CHECK(study["all_is_known"] == false);
  CHECK(study["tasks"][3]["temperatures"] == 7);
  CHECK(parsed(place.run("sweep s.toml --dry-run --json"))["tasks"][3]["temperatures"] == 13);
  place.write("t.toml",
              "[lattice]\ndim = 2\nsizes = [16, 32]\np = [0.01]\ngraphs = 3\n"
              "[sampling]\ntarget_error = 1e-2\n");
  CHECK(parsed(place.run("tc t.toml --dry-run --json"))["tasks"][0]["tasks"] == 16);  // minimum
  const std::string glass =
      "[lattice]\ndim = 3\nsizes = [4]\np = [0.1]\ngraphs = 2\n[model]\ncouplings = \"pm\"\n"
      "[sampling]\nschedule = \"1:0\"\nmeasure = 100\ntemperatures = [1.0, 1.5]\n";
  place.write("g.toml", glass);
  const double without = parsed(place.run("sweep g.toml --dry-run --json"))["disk_bytes"];
  place.write("g.toml", glass + "exchange = true\n");
  CHECK(parsed(place.run("sweep g.toml --dry-run --json"))["disk_bytes"] > without);  // walkers
  place.write("t.toml",
              "[lattice]\ndim = 2\nsizes = [16, 32]\np = [0.01]\ngraphs = 3\n"
              "[sampling]\nmethod = \"tree\"\n");
  const json tree = parsed(place.run("tc t.toml --dry-run --json"));
  CHECK(tree["tasks"].empty());
  CHECK(tree["cpu_seconds"].is_null());
  CHECK(tree["disk_bytes"].is_null());
  CHECK(tree["all_is_known"] == false);
  const Output text = place.run("tc t.toml --dry-run");
  CHECK(text.status == 0);
  CHECK(text.out.starts_with("no estimate for method = \"tree\""));
}

TEST_CASE("info --json names version, engines and libraries") {
  const Workplace place;
  const json info = parsed(place.run("info --json"));
  for (const char* key :
       {"version", "revision", "compiler", "simd", "threads", "engines", "libraries", "cuda"}) {
    CHECK(info.contains(key));
  }
  CHECK(info["libraries"].contains("HDF5"));
}
