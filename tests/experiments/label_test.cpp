// Runs `rewise label` as a user does. Tests images, graphs and output, and that each invalid input
// gives one line of error.
#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>

#include "experiments/commands/pgm.hpp"
#include "src/base/error.hpp"
#include "src/base/h5.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

// At a threshold of 100 it has the components {0, 4, 5} and {2, 3, 7, 11}. The default threshold is
// half of white, rounded up: 101. It excludes pixel 2, whose value is 100.
const std::string kPlain =
    "P2 # plain\n4 3\n# most\n200\n150 9 100 200\n 101 180 0 120\n0 99 0 200\n";

nlohmann::json json_of(const Output& output) {
  INFO(output.err);
  REQUIRE(output.status == 0);
  return nlohmann::json::parse(output.out);
}

}  // namespace

TEST_CASE("label: a plain PGM, its labels as PGM and HDF5") {
  const Workplace place;
  place.write("a.pgm", kPlain);
  const nlohmann::json all =
      json_of(place.run("label a.pgm --json"));  // the default threshold, 101
  CHECK(all["extents"] == nlohmann::json({4, 3}));
  CHECK(all["present"] == 6);
  CHECK(all["components"] == 2);
  CHECK(all["largest"] == 3);
  CHECK(all["largest_label"] == 0);
  CHECK(all["histogram"] == nlohmann::json::parse("[[3, 2]]"));
  const nlohmann::json low = json_of(
      place.run("label a.pgm --threshold 100 --out l.pgm --json --method self-label+sew --tile 4"));
  CHECK(low["histogram"] == nlohmann::json::parse("[[3, 1], [4, 1]]"));
  CHECK(low["tile"] == 4);
  const GrayImage ranks = parse_pgm(place.read("l.pgm"), "l.pgm");
  CHECK(ranks.white == 2);
  CHECK(ranks.pixels == std::vector<std::uint16_t>{2, 0, 1, 1, 2, 2, 0, 1, 0, 0, 0, 1});
  json_of(place.run("label a.pgm --threshold 100 --out l.h5 --json"));
  const std::string bytes = place.read("l.h5");
  const h5::File file = h5::File::open(std::as_bytes(std::span(bytes)));
  const auto label = file.root().read<std::uint32_t>("label", 2);
  CHECK(label.dims == std::vector<std::uint64_t>{3, 4});
  constexpr std::uint32_t no = 4294967295;
  CHECK(label.values == std::vector<std::uint32_t>{0, no, 2, 2, 0, 0, no, 2, no, no, no, 2});
  CHECK(file.root().read<std::uint32_t>("component_size", 1).values ==
        std::vector<std::uint32_t>{3, 4});
  const Output again = place.run("label a.pgm --out l.h5");
  CHECK(again.status == 73);
  CHECK(place.run("label a.pgm --out l.h5 --overwrite").status == 0);
  const nlohmann::json equal = json_of(place.run("label a.pgm --equal --json"));
  CHECK(equal["components"] == 11);
  CHECK(json_of(place.run("label a.pgm --threshold 100 --periodic --json"))["components"] == 1);
}

TEST_CASE("label: binary images of 8 and 16 bit, and bitmaps") {
  const Workplace place;
  using namespace std::string_literals;
  place.write("8.pgm", "P5\n3 1\n255\n\xff\x00\x80"s);
  CHECK(json_of(place.run("label 8.pgm --json"))["components"] == 2);
  place.write("16.pgm", "P5 3 1 1000\n\x03\xe8\x01\xf3\x01\xf5"s);  // 1000, 499, 501
  CHECK(json_of(place.run("label 16.pgm --json"))["components"] == 2);
  CHECK(json_of(place.run("label 16.pgm --threshold 499 --json"))["components"] == 1);
  place.write("1.pbm", "P1\n3 2\n110\n0 0 1\n");
  CHECK(json_of(place.run("label 1.pbm --json"))["components"] == 2);
  place.write("4.pbm", "P4\n9 1\n\x81\x80"s);
  CHECK(json_of(place.run("label 4.pbm --json"))["histogram"] ==
        nlohmann::json::parse("[[1, 1], [2, 1]]"));
}

TEST_CASE("label: bonds of a graph by number") {
  const Workplace place;
  place.write("g.edges", "0 1\n1 2\n2 3\n3 4\n");
  CHECK(json_of(place.run("label g.edges --json"))["components"] == 1);
  place.write("bonds.txt", "0, 1\n3\n");
  CHECK(json_of(place.run("label g.edges --bonds bonds.txt --json"))["histogram"] ==
        nlohmann::json::parse("[[2, 1], [3, 1]]"));
}

TEST_CASE("label: a lattice with random bonds, the same result by every method") {
  const Workplace place;
  REQUIRE(place.run("graph --size 16 --out g.h5").status == 0);
  REQUIRE(place.run("graph --size 16 --p 0.2 --out r.h5").status == 0);
  for (const char* graph : {"g.h5", "r.h5"}) {
    nlohmann::json first;
    for (const char* method : {"fast", "kalentev", "bfs+relax", "union-find+sew"}) {
      nlohmann::json found = json_of(place.run(std::string("label ") + graph +
                                               " --occupy 0.5 --seed 3 --json --method " + method));
      for (const char* key : {"method", "tile", "seconds"}) found.erase(key);
      if (first.empty()) first = found;
      CHECK(found == first);
    }
    CHECK(first["sites"] == 256);
  }
  const nlohmann::json full = json_of(place.run("label g.h5 --json"));
  CHECK(full["largest"] == 256);
}

TEST_CASE("label: invalid input gives one line of error") {
  const Workplace place;
  place.write("a.pgm", kPlain);
  place.write("g.edges", "0 1\n");
  place.write("short.pgm", "P5\n30 10\n255\nab");
  place.write("more.pgm", "P2 2 1 7 3 8\n");
  place.write("no.pgm", "P6 1 1 255\n");
  place.write("b.txt", "0 1\n");
  struct Bad {
    std::string line;
    int status;
    std::string says;
  };
  for (const Bad& bad : {
           Bad{"label", 64, "FILE is missing"},
           Bad{"label a.txt", 64, "neither an image"},
           Bad{"label b.pgm", 74, "b.pgm"},
           Bad{"label short.pgm", 65, "300 bytes of pixels expected, 2"},
           Bad{"label more.pgm", 65, "out of range (0..7)"},
           Bad{"label no.pgm", 65, "not a PGM"},
           Bad{"label a.pgm --method bfs", 64, "unknown labelling method 'bfs'"},
           Bad{"label a.pgm --tile 8", 64, "does not use tiles"},
           Bad{"label a.pgm --method bfs+sew --tile 3", 64, "out of range (4..64)"},
           Bad{"label a.pgm --equal --threshold 3", 64, "exclude each other"},
           Bad{"label a.pgm --occupy 0.5", 64, "is for graphs"},
           Bad{"label a.pgm --threshold many", 64, "--threshold"},
           Bad{"label a.pgm --out a.png", 64, "--out"},
           Bad{"label g.edges --periodic", 64, "is for images"},
           Bad{"label g.edges --occupy 2", 64, "--occupy"},
           Bad{"label g.edges --bonds b.txt", 65, "bond 1 is out of range (0..0)"},
           Bad{"label g.edges --out l.pgm", 64, "--out"},
           Bad{"label a.h5:/x", 64, "rewise.labels()"},
       }) {
    const auto before = place.files();
    const Output output = place.run(bad.line);
    INFO(bad.line << "\n" << output.err);
    CHECK(output.status == bad.status);
    CHECK(output.out.empty());
    CHECK(lines(output.err) == 1);
    CHECK(output.err.find(bad.says) != std::string::npos);
    CHECK(place.files() == before);
  }
}

TEST_CASE("label writes no checkpoint: a signal ends it at once") {
  Workplace place;
  REQUIRE(place.run("graph --size 128 --metrics off --out g.h5").status == 0);
  // Without the signal this runs for minutes.
  const pid_t child = place.start("label g.h5 --device cpu --repeat 1048576");
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  ::kill(child, SIGTERM);
  CHECK(place.wait(child).status == 128 + SIGTERM);
}
