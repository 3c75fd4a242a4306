// Texts that users type: lists and ranges of temperatures.
#include "experiments/console/options.hpp"

#include <string>
#include <vector>

#include "tests/experiments/program.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::oracle;

TEST_CASE("temperatures: a list, a range, or both") {
  const auto read = [](const char* text) { return parse_temperatures(text, "--temperature"); };
  CHECK(read("2.3,2.1") == std::vector<double>{2.3, 2.1});
  CHECK(read("2:3:11") == std::vector<double>{2, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9, 3});
  CHECK(read("1,2:3:2,4") == std::vector<double>{1, 2, 3, 4});
  CHECK(parse_steps("0.3:0.4:9", "x")[7] == 0.3875);
}

TEST_CASE("every command that takes temperatures takes a range") {
  const Workplace place;
  for (const std::string line :
       {"run --measure 4 --equilibrate 4", "tune --candidates 1:0,1:1 --budget 0.5s --no-plots",
        "bench --repeats 1 --seconds 0.001s --equilibrate 1 --engine single --update metropolis "
        "--p 0",
        "clusters --measure 8 --equilibrate 4"}) {
    const Output output = place.run(line + " --size 8 --device cpu --temperature 2.25:2.75:2");
    INFO(line << "\n" << output.err);
    CHECK(output.status == 0);
    CHECK(output.out.find("2.25") != std::string::npos);
    CHECK(output.out.find("2.75") != std::string::npos);
  }
}
