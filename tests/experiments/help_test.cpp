// `rewise help`: keys of a study's file, and the page of all keys.
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise::oracle;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("help explains a key: type, default, allowed values, options, example") {
  const Workplace place;
  for (const char* name : {"replicas", "sampling.replicas"}) {
    const Output output = place.run(std::string("help ") + name);
    REQUIRE(output.status == 0);
    INFO(output.out);
    CHECK(output.out.starts_with("replicas in [sampling]\n"));
    CHECK(has(output.out, "type     integer\n"));
    CHECK(has(output.out, "default  32\n"));
    CHECK(has(output.out, "allowed  1 .. 2^20\n"));
    CHECK(has(output.out, "--replicas of run, tune,"));
    CHECK(has(output.out, "[sampling]\n           replicas = 64\n"));
  }
  const std::string names = place.run("help name").out;  // of the study, and of the model
  CHECK(has(names, "name in [study]\n"));
  CHECK(has(names, "formerly model in [sampling], still accepted\n"));
  CHECK(has(place.run("help sampling.model").out, "name in [model]\n"));
}

TEST_CASE("help lists all keys, those of a table, and prints the help of subcommands") {
  const Workplace place;
  const std::string all = place.run("help").out, part = place.run("help lattice").out;
  for (const char* key : {"seed", "most_graphs", "few_cluster_tile", "keep_states"}) {
    CHECK(has(all, std::string("\n  ") + key + " "));
  }
  CHECK(has(part, "\n  most_graphs "));
  CHECK(!has(part, "keep_states"));
  CHECK(place.run("help tc").out == place.run("tc --help").out);
}

TEST_CASE("help of an unknown key suggests a near one") {
  const Workplace place;
  struct Bad {
    const char *line, *says;
  };
  for (const Bad& bad : {Bad{"help mesure", "'mesure' (did you mean 'measure'?)"},
                         Bad{"help temperature", "(did you mean 'temperatures'?)"},
                         Bad{"help xyzzy", "('rewise help' lists all keys)"}}) {
    const Output output = place.run(bad.line);
    INFO(output.err);
    CHECK(output.status == 64);
    CHECK(output.out.empty());
    CHECK(lines(output.err) == 1);
    CHECK(has(output.err, bad.says));
  }
}

TEST_CASE("the page of all keys is what the program prints") {
  std::ifstream file(std::string(REWISE_CONFIGS) + "/../KEYS.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(!page.empty());
  CHECK(Workplace().run("help --markdown").out == page);  // write it anew where they differ
}
