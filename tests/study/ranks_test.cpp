// Several processes of one job: the environment variables of launchers, and studies by several
// ranks, which give the same files as one process while one rank prints.
#include "src/study/ranks.hpp"

#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;
using nlohmann::json;

namespace {

Rank rank_in(const std::map<std::string, std::string>& variables) {
  return rank_from([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

CudaReport four_gpus() {
  CudaReport report;
  for (int k = 0; k < 4; ++k) {
    CudaDevice device;
    device.index = k;
    device.name = "GPU";
    if (k == 1) device.reason_unfit = "too old";
    report.devices.push_back(device);
  }
  return report;
}

}  // namespace

TEST_CASE("ranks in the environment variables of mpirun and srun") {
  CHECK(rank_in({}).size == 1);
  CHECK(rank_in({}).rank == 0);
  const Rank open = rank_in({{"OMPI_COMM_WORLD_RANK", "5"},
                             {"OMPI_COMM_WORLD_SIZE", "8"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  CHECK((open.rank == 5 && open.size == 8 && open.local == 1 && open.local_size == 4));
  const Rank slurm = rank_in({{"SLURM_PROCID", "3"},
                              {"SLURM_STEP_NUM_TASKS", "4"},
                              {"SLURM_LOCALID", "1"},
                              {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}});
  CHECK(std::string(slurm.size_variable) == "SLURM_STEP_NUM_TASKS");
  CHECK((slurm.rank == 3 && slurm.size == 4 && slurm.local == 1 && slurm.local_size == 2));
  // A batch script outside of srun is one process for any number of requested tasks.
  CHECK(rank_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).size == 1);
  CHECK(rank_in({{"PMI_RANK", "7"}, {"PMI_SIZE", "4"}}).size == 1);  // invalid
  CHECK(rank_in({{"PMI_RANK", "x"}, {"PMI_SIZE", "4"}}).size == 1);
}

TEST_CASE("each rank of a node has a GPU and a part of the cores") {
  const DeviceChoice any{{{"cuda:0", 0}}, "auto"}, listed{{{"cuda:2", 2}, {"cuda:3", 3}}, ""};
  const CudaReport report = four_gpus();
  const auto device_of = [&](int local, const DeviceChoice& choice, bool named) {
    return share_of({local, 4, local, 4}, choice, named, report).devices.front().name;
  };
  CHECK(device_of(0, any, false) == "cuda:0");
  CHECK(device_of(1, any, false) == "cuda:2");
  CHECK(device_of(2, any, false) == "cuda:3");
  CHECK(device_of(3, any, false) == "cuda:0");
  CHECK(device_of(0, listed, true) == "cuda:2");
  CHECK(device_of(3, listed, true) == "cuda:3");
  CHECK(share_of({}, listed, true, report).devices.size() == 2);
  CHECK(device_of(2, {{{"cpu", -1}}, ""}, false) == "cpu");
  CHECK(threads_of({0, 4, 0, 4}, 64, 64) == 16);
  CHECK(threads_of({0, 4, 0, 4}, 1, 64) == 1);  // bound to a core by the launcher
  CHECK(threads_of({0, 8, 0, 8}, 2, 2) == 1);
  CHECK(threads_of({}, 6, 8) == 6);
}

TEST_CASE("ranks share a study by its folder, and the first one prints and writes the summary") {
  Workplace first, second, alone;
  const std::string text =
      "[lattice]\ndim = 2\nsizes = [4, 6]\np = [0.1]\ngraphs = 6\n[sampling]\nschedule = \"1:1\"\n"
      "measure = 20\n[run]\ndevice = \"cpu\"\n";
  for (const Workplace* place : {&first, &second, &alone}) place->write("s.toml", text);
  const auto start = [&](Workplace& place, const char* rank) {
    ::setenv("OMPI_COMM_WORLD_RANK", rank, 1);
    ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    const pid_t child = place.start("tc s.toml --no-plots --out " + (first / "study").string());
    ::unsetenv("OMPI_COMM_WORLD_RANK");
    ::unsetenv("OMPI_COMM_WORLD_SIZE");
    return child;
  };
  const pid_t a = start(first, "0"), b = start(second, "1");
  const Output one = first.wait(a), two = second.wait(b);
  INFO(one.err << two.err);
  CHECK(one.status == 0);
  CHECK(two.status == 0);
  CHECK(one.out.find("critical temperatures") != std::string::npos);
  CHECK(one.err.find(" computed by this process") != std::string::npos);
  CHECK(two.out.empty());
  CHECK(two.err.empty());
  REQUIRE(alone.run("tc s.toml --no-plots --out study").status == 0);
  json together = json::parse(first.read("study/summary.json"));
  json by_itself = json::parse(alone.read("study/summary.json"));
  for (json* summary : {&together, &by_itself}) summary->erase("seconds");
  CHECK(together == by_itself);
}

TEST_CASE("ranks with separate folders run separate studies") {
  Workplace places[2];
  const std::string temperatures[]{"2.5", "2.75"};
  for (const int rank : {0, 1}) {
    places[rank].write("s.toml",
                       "[lattice]\ndim = 2\nsizes = [4]\np = [0.1]\ngraphs = 2\n[sampling]\n"
                       "measure = 4\nschedule = \"1:1\"\ntemperatures = [" +
                           temperatures[rank] + "]\n[run]\ndevice = \"cpu\"\n");
  }
  for (const char* time : {"first", "again"}) {
    INFO(time);
    pid_t processes[2];
    for (const int rank : {0, 1}) {
      ::setenv("SLURM_PROCID", std::to_string(rank).c_str(), 1);
      ::setenv("SLURM_STEP_NUM_TASKS", "2", 1);
      processes[rank] = places[rank].start("sweep s.toml --no-plots --out study");
    }
    ::unsetenv("SLURM_PROCID");
    ::unsetenv("SLURM_STEP_NUM_TASKS");
    for (const int rank : {0, 1}) {
      const Output done = places[rank].wait(processes[rank]);
      INFO(done.err);
      CHECK(done.status == 0);
      CHECK(done.out.find(temperatures[rank]) != std::string::npos);
      CHECK(places[rank].has("study/summary.json"));
      CHECK(places[rank].has("study/.finished"));
    }
  }
}

TEST_CASE("the lowest rank in a folder leads, and the next one after its end") {
  const Workplace place;
  const auto rank = [](int number) { return Rank{number, 3, number, 3}; };
  auto zero = std::make_unique<RankPresence>(rank(0), place / ".");
  const RankPresence one(rank(1), place / "."), two(rank(2), place / ".");
  CHECK(zero->led_at_start());
  CHECK_FALSE(one.led_at_start());
  CHECK_FALSE(two.led_at_start());
  CHECK(one.lower_rank_present());
  zero.reset();
  CHECK_FALSE(one.lower_rank_present());
  CHECK(two.lower_rank_present());
}

TEST_CASE("a finished study is not written again unless something changes") {
  Workplace place;
  place.write("s.toml",
              "[lattice]\ndim = 2\nsizes = [4]\np = [0.1]\ngraphs = 2\n[sampling]\nmeasure = 4\n"
              "temperatures = [2.5]\nschedule = \"1:1\"\n[run]\ndevice = \"cpu\"\n");
  const std::string line = "sweep s.toml --out study --no-plots";
  const Output first = place.run(line);
  REQUIRE(first.status == 0);
  const auto summary_time = std::filesystem::last_write_time(place / "study/summary.json");
  const auto untouched = [&] {
    return std::filesystem::last_write_time(place / "study/summary.json") == summary_time;
  };
  CHECK(place.run(line + " --threads 2").out == first.out);
  CHECK(untouched());
  std::string task;
  for (const auto& file : place.files()) {
    if (file.find("tasks/") != std::string::npos) task = file;
  }
  SECTION("a missing task is computed again") {
    std::filesystem::remove(place / task);
    const Output again = place.run(line);
    CHECK(again.err.find("\n1 task computed") != std::string::npos);
    CHECK(again.out == first.out);
  }
  SECTION("a damaged task is detected") {
    place.write(task, place.read(task).substr(0, 900));
    CHECK(place.run(line).status == 65);
  }
  SECTION("a changed summary is written again") {
    place.write("study/summary.json", "{}");
    CHECK(place.run(line).out == first.out);
  }
  SECTION("another configuration is computed") {
    place.write("s.toml",
                place.read("s.toml") + "checkpoint = \"1min\"\n");  // [run] does not count
    CHECK(place.run(line).status == 0);
    CHECK(untouched());
    std::string text = place.read("s.toml");
    place.write("s.toml", text.replace(text.find("[0.1]"), 5, "[0.2]"));
    CHECK(place.run(line).status == 0);
    CHECK(!untouched());
  }
}
