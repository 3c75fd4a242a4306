// `run` and `tc` on CUDA give the numbers of the CPU: the same JSON, the same trajectory hash, the
// same task files (except provenance), also if one device continues a task of the other.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "src/cuda/devices.hpp"
#include "src/store/task_pack.hpp"
#include "tests/study/study_pieces.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/content_digest.hpp"

using namespace rewise::oracle;
using nlohmann::json;

namespace {

// The JSON without entries that depend on the machine. The device is checked and removed.
json numbers(const Output& output, const std::string& device) {
  INFO(output.err);
  REQUIRE(output.status == 0);
  json object = json::parse(output.out);
  CHECK(object["device"] == device);
  for (const char* key : {"device", "threads", "seconds", "updates_per_ns", "cluster_steps"}) {
    object.erase(key);
  }
  return object;
}

std::string digest(const std::filesystem::path& file) {
  const auto loaded = rewise::load_task(file, rewise::OpenAs::reader);
  REQUIRE(loaded);
  return rewise::test::content_digest(loaded->task);
}

// The finished tasks of a study by id, from single files and results archives.
std::map<std::string, rewise::TaskData> tasks(const Workplace& place, const std::string& folder) {
  std::map<std::string, rewise::TaskData> found;
  std::vector<std::string> problems;
  for (const auto& stored : rewise::stored_tasks(place / (folder + "/tasks"), problems)) {
    auto loaded = rewise::load_stored(stored);
    REQUIRE(loaded);
    found[stored.id] = std::move(loaded->task);
  }
  CHECK(problems.empty());
  return found;
}

void check_same_study(const Workplace& place, const std::string& a, const std::string& b) {
  CHECK(summary_of(place, a) == summary_of(place, b));
  const auto those = tasks(place, a), others = tasks(place, b);
  CHECK(those.size() == others.size());
  CHECK(those.size() >= 20);
  std::size_t differing = 0;
  for (const auto& [id, task] : those) {
    REQUIRE(others.count(id) == 1);
    differing += rewise::test::content_digest(task) != rewise::test::content_digest(others.at(id));
  }
  CHECK(differing == 0);
}

// The first CUDA device that this build can use, in the notation of --device and of files.
std::string first_device() { return fmt::format("cuda:{}", rewise::cuda_devices().at(0).index); }

}  // namespace

TEST_CASE("run on CUDA: same JSON, trajectory hash and task file as on the CPU", "[gpu]") {
  const Workplace place;
  int n = 0;
  for (const std::string line :
       {"--dim 2 --size 32 --p 0.1 --temperature 2.5,2.8 --schedule 1:2 --every 3 --replicas 64",
        "--dim 2 --size 34,12 --p 0.05 --rule swap --temperature 2.4 --schedule 1:0",
        "--dim 3 --size 8,6,10 --p 0.2 --rule add --temperature 4.9,6 --local glauber",
        "--engine bytespin --dim 2 --size 30,44 --p 0.1 --temperature 2.5,2.9 --schedule 1:3",
        "--engine bytespin --dim 2 --size 64 --p 0.05 --temperature 2.6 --cluster swendsen-wang",
        "--dim 1 --size 250 --p 0.3 --temperature 1.1 --schedule 2:5",
        "--dim 4 --size 4,6,4,4 --p 0.02 --temperature 6.7 --schedule 0:7"}) {
    const std::string run = "run --equilibrate 30 --measure 40 --seed 5 --json " + line;
    const std::string cpu = fmt::format("cpu{}.h5", ++n), gpu = fmt::format("cuda{}.h5", n);
    INFO(line);
    CHECK(numbers(place.run(run + " --device cpu --out " + cpu), "cpu") ==
          numbers(place.run(run + " --device cuda --out " + gpu), first_device()));
    CHECK(digest(place / cpu) == digest(place / gpu));
  }
}

TEST_CASE("auto chooses a CUDA device and prints it, unless the task is tiny", "[gpu]") {
  const Workplace place;
  const Output large = place.run(
      "run --size 256 --temperature 2 --replicas 256 --measure 40 --equilibrate 4 --threads 1 "
      "--device auto --json");
  numbers(large, first_device());
  CHECK(large.err.find("device: " + first_device() + " (") != std::string::npos);
  const Output tiny = place.run("run --size 8 --temperature 2 --measure 4 --device auto --json");
  numbers(tiny, "cpu");
  CHECK(tiny.err.find("device: cpu (auto: the task takes about") != std::string::npos);
}

TEST_CASE("a run of one device is continued on the other", "[gpu]") {
  const Workplace place;
  const std::string run =
      "run --size 24 --p 0.1 --temperature 2.7 --schedule 1:3 --equilibrate 20 --json ";
  const json whole = numbers(place.run(run + "--measure 60 --device cpu --out whole.h5"), "cpu");
  for (const std::string first : {"cpu", "cuda"}) {
    const std::string second = first == "cpu" ? "cuda" : "cpu", file = first + ".h5 ";
    REQUIRE(place.run(run + "--measure 25 --out " + file + "--device " + first).status == 0);
    CHECK(numbers(place.run(run + "--measure 60 --out " + file + "--device " + second),
                  second == "cpu" ? "cpu" : first_device()) == whole);
    CHECK(digest(place / (first + ".h5")) == digest(place / "whole.h5"));
  }
}

TEST_CASE("tc on CUDA: same summary and task files as on the CPU, also on several devices",
          "[gpu]") {
  Workplace place;
  place.write("s.toml",
              "[study]\nname = \"small\"\nseed = 11\n[lattice]\ndim = 2\nsizes = [8, 12, 48]\n"
              "p = [0.0, 0.1]\ngraphs = [5, 5, 24]\n");
  const auto tc = [&](const std::string& device, const std::string& folder) {
    const Output output = place.run("tc s.toml --no-plots --device " + device + " --out " + folder);
    INFO(output.err);
    REQUIRE(output.status == 0);
  };
  tc("cpu", "on-cpu");
  tc("cuda", "on-cuda");
  check_same_study(place, "on-cpu", "on-cuda");
  std::string all = "cuda:";
  for (const auto& device : rewise::cuda_devices()) {
    all += fmt::format("{}{}", all == "cuda:" ? "" : ",", device.index);
  }
  tc(all, "on-all");
  check_same_study(place, "on-cpu", "on-all");
  // Each of two devices computed some tasks: those of the largest size form two or three groups.
  std::set<std::string> worked;
  for (const auto& [id, task] : tasks(place, "on-all")) {
    worked.insert(task.provenance.at("device"));
  }
  CHECK(worked.size() >= std::min<std::size_t>(2, rewise::cuda_devices().size()));
}

TEST_CASE("sweep on CUDA: cluster = auto as tuned there, and a target: same study as on the CPU",
          "[gpu]") {
  const Workplace place;
  const std::string lattice = "[lattice]\ndim = 2\nsizes = [16, 32]\np = [0.1]\n";
  const auto sweep = [&](const std::string& device, const std::string& folder) {
    const Output output =
        place.run("sweep s.toml --no-plots --device " + device + " --out " + folder);
    INFO(output.err);
    REQUIRE(output.status == 0);
  };
  place.write("s.toml", lattice +
                            "graphs = 16\n[sampling]\nschedule = \"1:1\"\n"
                            "temperatures = [2.4, 2.8]\ntarget_error = 2e-2\n");
  sweep("cpu", "target-cpu");
  sweep("cuda", "target-cuda");
  check_same_study(place, "target-cpu", "target-cuda");

  const std::string tuned_study = lattice + "graphs = 10\n[sampling]\ntemperatures = [2.6, 2.9]\n";
  place.write("s.toml", tuned_study);
  std::filesystem::create_directory(place / "auto-cuda");
  place.write("auto-cuda/study.toml", tuned_study);
  for (const std::string size : {"16", "32"}) {
    const Output tuned = place.run("tune --p 0.1 --temperature 2.75 --budget 0.3s --device cuda " +
                                   ("--study auto-cuda --size " + size));
    INFO(tuned.err);
    REQUIRE(tuned.status == 0);
  }
  std::filesystem::copy(place / "auto-cuda", place / "auto-cpu",
                        std::filesystem::copy_options::recursive);
  sweep("cuda", "auto-cuda");
  sweep("cpu", "auto-cpu");
  check_same_study(place, "auto-cpu", "auto-cuda");
}

TEST_CASE("bench lists rows of CUDA and of the CPU, with their ratio", "[gpu]") {
  const Workplace place;
  const Output output = place.run(
      "bench --engine multispin --size 64 --p 0.1 --graphs 1,3 --seconds 0.005 --repeats 3 "
      "--threads "
      "2 "
      "--json");
  INFO(output.err);
  REQUIRE(output.status == 0);
  std::size_t on_cuda = 0;
  const json bench = json::parse(output.out);
  for (const auto& row : bench["rows"]) {
    if (row["device"] == "cpu") continue;
    ++on_cuda;
    CHECK(row["over_cpu"] > 0);
    if (row["update"] == "metropolis" || row["update"] == "glauber") {
      CHECK(row["measure_per_sweep"] >= 0);
    }
  }
  CHECK(on_cuda == 2 * 4 * rewise::cuda_devices().size());

  const Output potts = place.run(
      "bench --model potts --q 3 --size 32 --p 0 --seconds 0.005 --repeats 3 --threads 2 --json");
  INFO(potts.err);
  REQUIRE(potts.status == 0);
  std::multiset<std::string> updates;
  const json parsed = json::parse(potts.out);
  for (const auto& row : parsed["rows"]) {
    CHECK(row["q"] == 3);
    CHECK(row["flips_per_ns"] > 0);
    if (row["device"] != "cpu") updates.insert(row["update"].get<std::string>());
  }
  CHECK(updates.size() == 5 * rewise::cuda_devices().size());
  CHECK(updates.count("swendsen-wang") == rewise::cuda_devices().size());
}
