// `rewise study DIR --check` names damaged and missing files, and changes nothing.
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise::oracle;

namespace {

const std::string kSweep = "sweep s.toml --out study --no-plots";
const std::string kCheck = "study study --check";

// A finished study with this number of networks, and a pilot.
void make_study(const Workplace& place, int graphs) {
  place.write("s.toml",
              "[lattice]\ndim = 2\nsizes = [8]\np = [0.1]\ngraphs = " + std::to_string(graphs) +
                  "\n[sampling]\nschedule = \"1:1\"\ntemperatures = [3.0]\n"
                  "equilibrate = 10\nmeasure = 10\n");
  REQUIRE(place.run(kSweep).status == 0);
}

std::string file_that_ends(const Workplace& place, const std::string& ending) {
  for (const std::string& name : place.files()) {
    if (name.ends_with(ending)) return name;
  }
  return "";
}

void flip_a_byte(const Workplace& place, const std::string& name) {
  std::string bytes = place.read(name);
  bytes[bytes.size() / 2] ^= 1;
  place.write(name, bytes);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Expects status 65, a warning with `says`, and no change of any file.
void check_fails(const Workplace& place, const std::string& says) {
  const auto before = place.files();
  std::vector<std::string> contents;
  for (const std::string& name : before) contents.push_back(place.read(name));
  const Output output = place.run(kCheck);
  INFO(output.err);
  CHECK(output.status == 65);
  CHECK(contains(output.err, "warning: "));
  CHECK(contains(output.err, says));
  CHECK_FALSE(contains(output.out, "no damage"));
  CHECK(place.files() == before);
  for (std::size_t k = 0; k < before.size(); ++k) CHECK(place.read(before[k]) == contents[k]);
}

}  // namespace

TEST_CASE("study --check accepts intact files, and finds damaged and missing ones") {
  const Workplace place;
  make_study(place, 4);
  const Output good = place.run(kCheck);
  INFO(good.err);
  CHECK(good.status == 0);
  CHECK(good.err.empty());
  CHECK(good.out == "5 tasks and 1 other file read\nno damage\n");
  const std::string summary = place.read("study/summary.h5");
  flip_a_byte(place, "study/summary.h5");
  check_fails(place, "summary.h5 is damaged");
  place.write("study/summary.h5", summary);
  for (const std::string& name : place.files()) {
    if (!name.starts_with("study/tasks/") || !name.ends_with(".h5")) continue;
    const std::string intact = place.read(name);
    flip_a_byte(place, name);
    check_fails(place, name);
    std::filesystem::remove(place / name);
    check_fails(place, " is missing");
    place.write(name, intact);
    break;
  }
  CHECK(place.run(kCheck).status == 0);
}

TEST_CASE("study --check finds damage in archives of tasks") {
  const Workplace place;
  make_study(place, 12);
  const std::string pack = file_that_ends(place, ".pack.h5");
  REQUIRE(!pack.empty());
  CHECK(place.run(kCheck).out == "13 tasks and 1 other file read\nno damage\n");
  flip_a_byte(place, pack);
  check_fails(place, pack);
}

TEST_CASE("a damaged list of tasks is not used, and names no task that never existed") {
  const Workplace place;
  make_study(place, 4);
  std::string list = place.read("study/tasks.json");
  char& digit = list[list.find("\": \"graph\"") - 1];
  digit = digit == '0' ? '1' : '0';
  place.write("study/tasks.json", list);
  const Output output = place.run("study study");
  INFO(output.out << output.err);
  CHECK(output.status == 0);
  CHECK(contains(output.err, "tasks.json is damaged and is not used"));
  CHECK_FALSE(contains(output.out, "missing"));
  CHECK_FALSE(contains(output.out, "not requested"));
  check_fails(place, "tasks.json is damaged");
  CHECK(computed(place.run(kSweep), 0));  // writes it again
  CHECK(place.run(kCheck).status == 0);
}

TEST_CASE("study and sweep say so if they are given a file for a folder, or a folder for a file") {
  const Workplace place;
  make_study(place, 4);
  const Output folder = place.run("sweep study");
  CHECK(folder.status == 64);
  CHECK(contains(folder.err, "give the file of a study, here study/study.toml --out study\n"));
  const Output inside = place.run("study study/study.toml"), outside = place.run("study s.toml");
  CHECK(inside.status == 64);
  CHECK(contains(inside.err, "requires the folder with its results: rewise study study\n"));
  CHECK(outside.status == 64);
  CHECK(contains(outside.err, "--out of 'rewise tc'"));
}
