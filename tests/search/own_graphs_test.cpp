// A parameter sweep over imported graphs.
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/study/study_pieces.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise::oracle;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kOwnGraphsLine = "sweep in/s.toml --no-plots --out study";

std::string own_graphs_study(const std::string& files,
                             const std::string& temperatures = "[2.0, 3.0]",
                             const std::string& measure = "200") {
  return "[lattice]\nfiles = " + files +
         "\n[sampling]\nschedule = \"1:1\"\ntemperatures = " + temperatures +
         "\nequilibrate = 50\nevery = 1\nmeasure = " + measure + "\n[run]\ndevice = \"cpu\"\n";
}

// One rewired lattice in three file formats, and a ring of six sites.
void write_graphs(const Workplace& place) {
  fs::create_directories(place / "in");
  for (const char* name : {"a.edges", "b.graphml", "c.h5"}) {
    REQUIRE(place.run("graph --size 8 --p 0.1 --seed 5 --out in/" + std::string(name)).status == 0);
  }
  place.write("in/ring.edges", "0 1\n1 2\n2 3\n3 4\n4 5\n5 0\n");
}

}  // namespace

TEST_CASE("a sweep warns of Metropolis sweeps alone on a frustrated triangle") {
  const Workplace place;
  fs::create_directories(place / "in");
  place.write("in/t.edges", "0 1 -1\n1 2 -1\n2 0 -1\n");
  const auto warned = [&](const std::string& more) {
    place.write("in/s.toml",
                "[lattice]\nfiles = \"t.edges\"\n[model]\ncouplings = \"file\"\n"
                "[sampling]\nschedule = \"1:0\"\ntemperatures = 2.0\n"
                "equilibrate = 50\nmeasure = 50\n" +
                    more);
    const Output said = place.run("sweep in/s.toml --no-plots --out " +
                                  std::string(more.empty() ? "auto" : more.substr(9, 4)));
    REQUIRE(said.status == 0);
    return said.out.find("may not reach every configuration") != std::string::npos;
  };
  CHECK(warned("local = \"metropolis\"\n"));
  CHECK_FALSE(warned("local = \"glauber\"\n"));
  CHECK_FALSE(warned(""));  // auto: the heat bath
  // study.toml is the same study, for other graphs as well.
  CHECK(place.read("auto/study.toml").find("local = \"auto\"") != std::string::npos);

  // Two of the eight states have the energy 3, the others -1.
  const double up = 2 * std::exp(-1.5), down = 6 * std::exp(0.5);
  const double exact = (3 * up - down) / (up + down) / 3;
  const Output run = place.run(
      "run --graph in/t.edges --couplings file --temperature 2 --schedule 1:0 --replicas 1024 "
      "--equilibrate 100 --measure 400 --device cpu --json");
  REQUIRE(run.status == 0);
  const json energy = json::parse(run.out)["results"][0]["energy"];
  CHECK(std::abs(energy["value"].get<double>() - exact) < 4 * energy["error"].get<double>());
}

TEST_CASE("a parameter sweep has imported graphs as sizes") {
  Workplace place;
  write_graphs(place);
  // Paths are relative to the study file.
  place.write("in/s.toml", own_graphs_study(R"(["a.edges", "b.graphml", "c.h5", "ring.edges"])"));
  const Output output = place.run(kOwnGraphsLine);
  INFO(output.err);
  REQUIRE(output.status == 0);
  CHECK(output.out.find("\n  graph  sites  T  e ") != std::string::npos);
  CHECK(output.out.find("\n  ring   6      2  ") != std::string::npos);
  const json summary = summary_of(place);
  REQUIRE(summary["points"].size() == 4);
  std::set<std::string> labels;
  for (const auto& point : summary["points"]) {
    labels.insert(point["label"]);
    REQUIRE(point["sizes"].size() == 1);
    const auto& size = point["sizes"][0];
    CHECK(size["graph"] == point["label"]);
    CHECK(size["extents"].empty());
    CHECK(size["graphs"] == 1);
    CHECK(size["sites"] == (point["label"] == "ring" ? 6 : 64));
  }
  CHECK(labels == std::set<std::string>{"a", "b", "c", "ring"});
  // <e> of a ring of N: -(t + t^(N-1)) / (1 + t^N), t = tanh(1/T).
  const auto& ring = summary["points"][3]["sizes"][0];
  for (std::size_t k = 0; k < 2; ++k) {
    const double t = std::tanh(1 / ring["temperatures"][k].get<double>());
    const double exact = -(t + std::pow(t, 5)) / (1 + std::pow(t, 6));
    const double error = ring["energy"]["error"][k];
    CHECK(std::abs(ring["energy"]["value"][k].get<double>() - exact) < 4.5 * error);
    CHECK(error < 0.03);
  }
  // Files with the same graph share one task.
  const auto& a = summary["points"][0]["sizes"][0];
  const auto& b = summary["points"][1]["sizes"][0];
  CHECK(a["graph_hash"] == b["graph_hash"]);
  CHECK(a["energy"] == b["energy"]);
  CHECK(output.out.find("ring") != std::string::npos);
  CHECK(place.read("study/summary.csv").find(",ring,") != std::string::npos);

  // The resolved configuration works in any folder, and a renamed file is the same graph.
  const Output again = place.run(kOwnGraphsLine);
  CHECK(again.err.find("\n0 tasks computed") != std::string::npos);
  place.write("s.toml", place.read("study/study.toml"));
  CHECK(place.run("sweep s.toml --no-plots --out study").err.find("\n0 tasks computed") !=
        std::string::npos);
  fs::rename(place / "in/ring.edges", place / "in/hexagon.edges");
  place.write("in/s.toml", own_graphs_study(R"(["hexagon.edges"])"));
  const Output renamed = place.run(kOwnGraphsLine);
  CHECK(renamed.err.find("\n0 tasks computed") != std::string::npos);
  CHECK(renamed.err.find("no longer requested") != std::string::npos);
  CHECK(summary_of(place)["points"][0]["sizes"][0]["energy"] == ring["energy"]);

  // An added temperature needs only its own task.
  place.write("in/s.toml", own_graphs_study(R"(["hexagon.edges"])", "[2.0, 2.5, 3.0]"));
  const Output more = place.run(kOwnGraphsLine);
  INFO(more.err);
  CHECK(more.err.find("\n1 task computed") != std::string::npos);
}

TEST_CASE("another graph with the same file name gives another result") {
  Workplace place;
  write_graphs(place);
  place.write("in/s.toml", own_graphs_study(R"(["ring.edges"])"));
  REQUIRE(place.run(kOwnGraphsLine).status == 0);
  const json before = summary_of(place);
  place.write("in/ring.edges", "0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n7 0\n");
  CHECK(computed(place.run(kOwnGraphsLine), 1));
  CHECK(summary_of(place)["points"][0]["sizes"][0]["sites"] == 8);
  REQUIRE(place.run("sweep in/s.toml --no-plots --out fresh").status == 0);
  CHECK(summary_of(place) == summary_of(place, "fresh"));
  const auto written = fs::last_write_time(place / "study/summary.json");
  CHECK(computed(place.run(kOwnGraphsLine), 0));
  CHECK(fs::last_write_time(place / "study/summary.json") == written);  // finished already
  // The task of the first graph still exists.
  place.write("in/ring.edges", "0 1\n1 2\n2 3\n3 4\n4 5\n5 0\n");
  CHECK(computed(place.run(kOwnGraphsLine), 0));
  CHECK(summary_of(place) == before);
  fs::remove(place / "in/ring.edges");
  CHECK(place.run(kOwnGraphsLine).status == 74);
}

TEST_CASE("a dry run prints the needs of imported graphs and computes nothing") {
  Workplace place;
  write_graphs(place);
  place.write("in/s.toml", own_graphs_study(R"(["a.edges", "ring.edges"])"));
  const Output output = place.run(kOwnGraphsLine + " --dry-run");
  INFO(output.out << output.err);
  REQUIRE(output.status == 0);
  CHECK(
      output.out.starts_with("  graph       sites  tasks  temperatures  memory each  disk each\n"));
  CHECK(output.out.find("\n  ring.edges  6      1      ") != std::string::npos);
  CHECK(output.out.find("\n2 tasks, about ") != std::string::npos);
  CHECK(!place.has("study"));
  const json need = json::parse(place.run(kOwnGraphsLine + " --dry-run --json").out);
  REQUIRE(need["tasks"].size() == 2);
  CHECK(need["tasks"][0]["sites"] == 64);
  CHECK(need["tasks"][1]["graph"] == "ring.edges");
  CHECK(need["tasks"][1]["tasks"] == 1);
  CHECK(need["tasks"][1]["memory_bytes"] > 0);
  CHECK(need["cpu_seconds"] > 0);
  place.write("in/ring.edges", "0 0\n");
  CHECK(place.run(kOwnGraphsLine + " --dry-run").status == 65);
}

TEST_CASE("imported graphs in folders of any UTF-8 name, round trip through study.toml") {
  for (const auto& [name, written] : {std::pair{"j\xc3\xbcrgen", "j\\u00fcrgen"},
                                      {"j\xc3\xbcrgen", "j\xc3\xbcrgen"},
                                      {"\xf0\x9f\x98\x80", "\\U0001F600"},
                                      {"b[run]", "b[run]"},
                                      {"a\n[run]\n", "a\\n[run]\\n"},
                                      {"\"\\'#\x01\x7f", "\\\"\\\\'#\\u0001\\u007f"}}) {
    Workplace place;
    fs::create_directories(place / "in" / name);
    place.write("in/" + std::string(name) + "/a.edges", "0 1\n1 2\n2 3\n3 0\n");
    const auto run = [&](const std::string& line, const std::string& says) {
      const Output output = place.run(line);
      INFO(name << ": " << line << "\n" << output.err);
      CHECK(output.status == 0);
      CHECK((output.err + output.out).find(says) != std::string::npos);
      CHECK(output.err.find("warning") == std::string::npos);
    };
    const auto ask = [&](const std::string& temperatures, const std::string& measure) {
      place.write("in/s.toml", own_graphs_study("[\"" + std::string(written) + "/a.edges\"]",
                                                temperatures, measure));
    };
    ask("[2.0, 3.0]", "200");
    run(kOwnGraphsLine, "\n1 task computed");
    run("sweep study/study.toml --no-plots --out study", "\n0 tasks computed");
    run("study study --prune", "0 tasks removed");
    ask("[2.0, 3.0]", "300");  // another configuration
    run(kOwnGraphsLine, "\n1 task computed");
    CHECK(summary_of(place)["points"][0]["sizes"][0]["measurements"] == 300);
    ask("[2.0, 2.5, 3.0]", "300");
    run(kOwnGraphsLine, "T = 2.5: simulated in addition");
    run("study study --prune", "0 tasks removed");
  }

  Workplace place;
  fs::create_directories(place / "in\xff");
  place.write("in\xff/a.edges", "0 1\n1 2\n2 3\n3 0\n");
  place.write("in\xff/s.toml", own_graphs_study(R"(["a.edges"])"));
  const Output output = place.run("sweep in\xff/s.toml --no-plots --out study");
  INFO(output.err);
  CHECK(output.status == 64);
  CHECK(output.err.find("not UTF-8") != std::string::npos);
  CHECK(lines(output.err) == 1);
}

TEST_CASE("labels distinguish files, and each graph has its own numbers") {
  Workplace place;
  for (const char* folder : {"in/one", "in/two"}) fs::create_directories(place / folder);
  // File name; number of sites of a star; its label in the table, summary.csv and plots.
  const std::vector<std::tuple<std::string, int, std::string>> files{
      {"M\xC3\xBCller.edges", 3, "M\xC3\xBCller"},
      {"M\xC3\xB6ller.edges", 4, "M\xC3\xB6ller"},
      {"a b.edges", 5, "a b"},
      {"a_b.edges", 6, "a_b"},
      {"a,b.edges", 7, "a,b"},
      {"x.edges", 8, "in_x.edges"},
      {"one/x.edges", 9, "one_x.edges"},
      {"two/x.edges", 10, "two_x.edges"},
      {"x.graphml", 8, "x.graphml"},
      {"in_x.edges", 11, "in_x"},
      {"copy.edges", 3, "copy"},
      {"c\td.edges", 12, ""},
      {"c\nd.edges", 13, ""}};
  std::string list;
  for (const auto& [name, sites, label] : files) {
    std::string text;
    for (int leaf = 1; leaf < sites; ++leaf) text += "0 " + std::to_string(leaf) + "\n";
    if (name == "x.graphml") {
      REQUIRE(place.run("graph --from in/x.edges --out in/x.graphml").status == 0);
    } else {
      place.write("in/" + name, text);
    }
    list += (list.empty() ? "[" : ", ") + json(name).dump(-1, ' ', true);
  }
  place.write("in/s.toml", own_graphs_study(list + "]", "[2.0]", "400"));
  const Output output = place.run(kOwnGraphsLine);
  INFO(output.err);
  REQUIRE(output.status == 0);
  const json summary = summary_of(place);
  REQUIRE(summary["points"].size() == files.size());
  std::set<std::string> labels;
  for (std::size_t k = 0; k < files.size(); ++k) {
    const auto& [name, sites, label] = files[k];
    const auto& size = summary["points"][k]["sizes"][0];
    INFO(name);
    CHECK(size["sites"] == sites);
    labels.insert(summary["points"][k]["label"]);
    CHECK(size["graph"] == summary["points"][k]["label"]);
    if (!label.empty()) CHECK(size["graph"] == label);
    // A tree of N sites: <e> = -(N - 1)/N tanh(1/T).
    const double exact = -(sites - 1.0) / sites * std::tanh(0.5);
    CHECK(std::abs(size["energy"]["value"][0].get<double>() - exact) <
          5 * size["energy"]["error"][0].get<double>());
    CHECK(output.out.find(label) != std::string::npos);
  }
  CHECK(summary["points"][0]["sizes"][0]["energy"] == summary["points"][10]["sizes"][0]["energy"]);
  CHECK(labels.size() == files.size());
  const std::string csv = place.read("study/summary.csv");
  CHECK(csv.find(",M\xC3\xBCller,3,") != std::string::npos);
  CHECK(csv.find(",\"a,b\",7,") != std::string::npos);
  CHECK(place.run(kOwnGraphsLine).err.find("\n0 tasks computed") != std::string::npos);

  // Schedules share the graphs.
  std::string two = own_graphs_study(list + "]", "[2.0]", "400");
  two.replace(two.find("\"1:1\""), 5, "[\"1:1\", \"2:0\"]");
  place.write("in/s.toml", two);
  const Output both = place.run(kOwnGraphsLine);
  INFO(both.err);
  REQUIRE(both.status == 0);
  const json twice = summary_of(place);
  REQUIRE(twice["points"].size() == 2 * files.size());
  CHECK(twice["points"][3]["label"] == "M\xC3\xB6ller-2-0");
  CHECK(twice["points"][3]["sizes"][0]["sites"] == 4);
}

TEST_CASE("study.toml keeps the options for reading graph files") {
  Workplace place;
  fs::create_directories(place / "in");
  place.write("in/a.edges", "a b {'size \xC3\xBC': 1, 'rank': 2}\nb a {}\nb c {}\n");
  const std::string plain = own_graphs_study("[\"a.edges\"]");
  const auto ask = [&](const std::string& keys) {
    place.write("in/s.toml", "[lattice]\n" + keys + plain.substr(plain.find("files")));
    return place.run(kOwnGraphsLine);
  };
  CHECK(ask("").status == 65);
  const Output refused = ask("ignore = [\"rank\"]\n");
  CHECK(refused.status == 65);
  CHECK(refused.err.find("--merge") != std::string::npos);
  CHECK(ask("ignore = [\"rank\"]\nmerge = true\n").err.find("--ignore 'size \xC3\xBC'") !=
        std::string::npos);
  REQUIRE(ask("ignore = [\"rank\", \"size \\u00fc\"]\nmerge = true\n").status == 0);
  CHECK(summary_of(place)["points"][0]["sizes"][0]["sites"] == 3);
  const Output again = place.run("sweep study/study.toml --no-plots --out study");
  INFO(again.err);
  CHECK(again.err.find("\n0 tasks computed") != std::string::npos);
  CHECK(ask("ignore = \"rank\"\n").status == 65);  // the same as ["rank"]
  CHECK(ask("ignore = 3\n").status == 64);
  CHECK(ask("ignore = [3]\n").status == 64);
}

TEST_CASE("a sweep over imported graphs is the same in pieces and by two processes") {
  Workplace graphs;
  write_graphs(graphs);
  check_pieces("sweep", own_graphs_study("[\"" + (graphs / "in/a.edges").string() + "\", \"" +
                                             (graphs / "in/ring.edges").string() + "\"]",
                                         "[2.0, 3.0]", "20000"));
}

TEST_CASE("keys that do not apply to imported graphs are refused by name") {
  Workplace place;
  write_graphs(place);
  place.write("in/one.edges", "1 2\n2 3\n3 4\n4 1\n");
  const auto refused = [&](const std::string& text, const std::string& word, int status = 64,
                           const std::string& line = kOwnGraphsLine) {
    place.write("in/s.toml", text);
    const Output output = place.run(line);
    INFO(text << output.err);
    CHECK(output.status == status);
    CHECK(output.err.find(word) != std::string::npos);
    CHECK(lines(output.err) == 1);
  };
  const std::string plain = own_graphs_study(R"(["a.edges"])");
  const auto with = [&](const std::string& key) {
    return "[lattice]\n" + key + "\n" + plain.substr(plain.find("files"));
  };
  for (const char* key : {"dim = 2", "sizes = [8]", "p = [0.1]", "rule = \"swap\"", "graphs = 2"}) {
    refused(with(key), "cannot be combined with lattice.files");
  }
  refused(own_graphs_study("[]"), "files");
  refused(own_graphs_study("[3]"), "files");
  refused(own_graphs_study(R"(["a.edges", "./a.edges"])"), "files");
  refused(own_graphs_study(R"(["a.edges"])", "\"auto\""), "sampling.temperatures");
  refused(plain, "sweep only", 64, "tc in/s.toml --no-plots --out study");
  std::string target = plain;
  target.insert(target.find("equilibrate"), "target_error = 0.01\n");
  refused(target, "target_error");
  refused("[lattice]\ndim = 2\nsizes = [4]\np = [0.0]\nfirst_site = 1\n", "first_site");
  refused(own_graphs_study(R"(["one.edges"])"), "one.edges", 65);
  place.write("in/s.toml",
              "[lattice]\nfirst_site = 1\n" +
                  own_graphs_study(R"(["one.edges"])").substr(std::string("[lattice]\n").size()));
  CHECK(place.run(kOwnGraphsLine).status == 0);
  CHECK(summary_of(place)["points"][0]["sizes"][0]["sites"] == 4);
  place.write("in/s.toml", own_graphs_study(R"(["missing.edges"])"));
  CHECK(place.run("sweep in/s.toml --no-plots --out other").status == 74);
  place.write("in/broken.edges", "0 1\n1\n");
  refused(own_graphs_study(R"(["broken.edges"])"), "broken.edges:2", 65,
          "sweep in/s.toml --no-plots --out other");
  CHECK(!place.has("other"));
  place.write("in/signs.edges", "0 1 1\n1 2 -1\n2 3 1\n3 0 1\n");
  std::string signs = own_graphs_study(R"(["signs.edges"])") + "[model]\ncouplings = \"file\"\n";
  signs.replace(signs.find("\"1:1\""), 5, "\"auto\"");
  refused(signs, "the negative couplings of", 64, "sweep in/s.toml --no-plots --out signs");
}
