// Parsing of numbers, and of lists and ranges of temperatures.
#include "src/settings/parse.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/errors.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;

TEST_CASE("temperatures: a list, a range, or both") {
  const auto read = [](const char* text) { return parse_temperatures(text, "--temperature"); };
  CHECK(read("2.3,2.1") == std::vector<double>{2.3, 2.1});
  CHECK(read("2:3:11") == std::vector<double>{2, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9, 3});
  CHECK(read("1,2:3:2,4") == std::vector<double>{1, 2, 3, 4});
  CHECK(parse_steps("0.3:0.4:9", "x")[7] == 0.3875);
}

TEST_CASE("the third part of a range is the number of values if whole, and a step otherwise") {
  const std::vector<double> eleven{2, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9, 3};
  for (const char* text : {"2.0:3.0:0.1", "2:3:.1", "2:3:1e-1", "2:3:11", "2:3:1.1e1"}) {
    INFO(text);
    CHECK(parse_steps(text, "x") == eleven);
  }
  CHECK(parse_steps("0:1:0.3333333333333333", "x").size() == 4);
  CHECK(parse_steps("2:5:1.5", "x") == std::vector<double>{2, 3.5, 5});
  CHECK(parse_steps("2:2.5:0.5", "x") == std::vector<double>{2, 2.5});
  for (const auto& [text, says] :
       {std::pair<std::string, std::string>{"2:3:0.3",
                                            "--t: '2:3:0.3': a step of 0.3 does not lead from "
                                            "2 to 3 (3.33333 steps"},
        {"2:3:1.5", "a step of 1.5 does not lead"},
        {"2:3:1",
         "'1' is not a whole number in 2..10000 (a whole third part is the number of values; one "
         "with a fraction"},
        {"2:3:0", "'0' is not a whole number"},
        {"2:12:2.0", "2.0 is ambiguous (a count or a step): write 2 for the"},
        {"2:3:-0.1", "neither a count of values (2..10000) nor a step"},
        {"2:3:1e-9", "more than 10000 values"},
        {"2:3:nan", "'nan' is not a finite number"},
        {"3:2:0.1", "TO = 2 must be greater than FROM = 3"},
        {"2:3", "not a range FROM:TO:COUNT"}}) {
    INFO(text);
    CHECK(usage_error([&] { parse_steps(text, "--t"); }).find(says) != std::string::npos);
  }
}

TEST_CASE("temperatures written as a range of other programs: the error has the right spelling") {
  for (const char* text : {"1.5-3.5", "1.5..3.5", "1.5 to 3.5", "1.5;3.5", "1.5 3.5"}) {
    CHECK(usage_error([&] { parse_temperatures(text, "--temperature"); }) ==
          fmt::format("--temperature: '{}' is not a number; write 1.5,3.5 for two values, "
                      "1.5:3.5:11 for a range of 11 values, or 1.5:3.5:0.1 for a range in steps "
                      "of 0.1",
                      text));
  }
  CHECK(parse_temperatures("1e-1", "x") == std::vector<double>{0.1});
  CHECK_THROWS(parse_temperatures("2.3-", "x"));
}

TEST_CASE("a percentage or a decimal comma: the error has the right spelling") {
  for (const auto& [text, says] :
       {std::pair<std::string, std::string>{"10%",
                                            "'10%' is not a finite number; write 0.1 for 10%"},
        {"0.5%", "'0.5%' is not a finite number; write 0.005 for 0.5%"},
        {"0,05", "'0,05' is not a finite number; write 0.05 for 0,05"},
        {"05", "05 is out of range (0..1); commas separate values: write 0.05 for 0,05"},
        {"5", "5 is out of range (0..1)"},
        {"ten%", "'ten%' is not a finite number"},
        {"0,1,2", "'0,1,2': give one value; 'rewise sweep' simulates several"}}) {
    INFO(text);
    CHECK(usage_error([&] { parse_p(text, "--p"); }) == "--p: " + says);
  }
}

TEST_CASE("every command with temperatures accepts a range") {
  const Workplace place;
  for (const std::string line :
       {"run --measure 4 --equilibrate 4", "tune --candidates 1:0,1:1 --budget 0.5s --no-plots",
        "bench --repeats 1 --seconds 0.001s --equilibrate 1 --engine bytespin --update metropolis "
        "--p 0",
        "clusters --measure 8 --equilibrate 4"}) {
    const Output output = place.run(line + " --size 8 --device cpu --temperature 2.25:2.75:2");
    INFO(line << "\n" << output.err);
    CHECK(output.status == 0);
    // On a busy machine tune skips temperatures, and names them on standard error.
    const std::string said = output.out + output.err;
    CHECK(said.find("2.25") != std::string::npos);
    CHECK(said.find("2.75") != std::string::npos);
  }
}
