// The configuration of a study: defaults, ranges, and round trips of the resolved text.
#include "src/settings/config.hpp"

#include <algorithm>
#include <filesystem>

#include "src/base/error.hpp"
#include "src/settings/schema.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/errors.hpp"

using namespace rewise;
using rewise::oracle::usage_error;

namespace {

const std::string kMin = "[lattice]\ndim = 2\nsizes = [64, 32]\np = [0.1, 0]\n";

}  // namespace

TEST_CASE("everything but dim, sizes and p has a default") {
  const StudyConfig config = parse_study_config(kMin, "s.toml");
  CHECK(config.name == "study");
  CHECK(config.seed == 1);
  CHECK(config.dim() == 2);
  CHECK(config.sizes == std::vector<std::vector<std::uint32_t>>{{32, 32}, {64, 64}});
  CHECK(config.p == std::vector<double>{0, 0.1});
  CHECK(config.rule() == Rule::rewire);
  CHECK(config.graphs == std::vector<std::uint32_t>{50, 50});
  CHECK(config.engine == EngineKind::multispin);
  CHECK(!config.schedule());
  CHECK(!config.cluster());
  CHECK(config.replicas == 32);
  CHECK(config.temperatures.empty());
  CHECK(!config.equilibrate);
  CHECK(!config.measure);
  CHECK(!config.every);
  CHECK(!config.target_error);
  CHECK(config.most_graphs == 10000);
  CHECK(config.more_sizes == 1);
  CHECK(config.device == "auto");
  CHECK(config.threads == 0);
  CHECK(config.checkpoint == 300);
  CHECK(!config.time_limit);
}

TEST_CASE("whole numbers may be written with a power of ten, and remain whole numbers") {
  const auto read = [](const std::string& measure, const std::string& size) {
    return to_toml(parse_study_config("[lattice]\ndim = 2.0\nsizes = [" + size +
                                          ", 64]\np = [0.1]\n[sampling]\nmeasure = " + measure,
                                      "s.toml"));
  };
  CHECK(read("1e4", "3.2e1") == read("10000", "32"));
  CHECK(read("1e4", "3.2e1").find("measure = 10000\n") != std::string::npos);
  CHECK_THROWS_AS(read("1.5e0", "32"), Error);
}

TEST_CASE("a byte order mark before a configuration is skipped") {
  CHECK(to_toml(parse_study_config("\xEF\xBB\xBF" + kMin, "s.toml")) ==
        to_toml(parse_study_config(kMin, "s.toml")));
  CHECK_THROWS_AS(parse_study_config(kMin + "\xEF\xBB\xBF", "s.toml"), Error);
}

TEST_CASE("names of graph files remain readable in study.toml, and read back the same") {
  StudyConfig config = parse_study_config(
      "[lattice]\nfiles = [\"a\"]\n[sampling]\ntemperatures = [2.5]\n", "s.toml");
  config.files = {"/home/j\xc3\xbcrgen/\"a\\b'", "/\xe2\x82\xac\xf0\x9f\x98\x80\xed\x9f\xbf",
                  "/\n[run]\n\r\t\x01\x1b\x7f/c"};
  const std::string text = to_toml(config);
  CHECK(std::ranges::none_of(text,
                             [](unsigned char c) { return (c < ' ' && c != '\n') || c == 0x7f; }));
  CHECK(parse_study_config(text, "s.toml").files == config.files);
  CHECK(text.find("\"/home/j\xc3\xbcrgen/\\\"a\\\\b'\", \"/\xe2\x82\xac\xf0\x9f\x98\x80") !=
        std::string::npos);
  config.files.push_back("/\xc2\x85");  // NEL, a control character
  CHECK(to_toml(config).find("/\\u0085\"") != std::string::npos);
  CHECK(parse_study_config(to_toml(config), "s.toml").files == config.files);
  config.files.pop_back();
  config.reading = {FirstSite::one,
                    {"gr\xc3\xb6\xc3\x9f"
                     "e",
                     "a\"b"},
                    true};
  const ReadOptions again = parse_study_config(to_toml(config), "s.toml").reading;
  CHECK(again.ignore == config.reading.ignore);
  CHECK((again.first_site == FirstSite::one && again.merge));
  config.reading = {};
  CHECK(to_toml(parse_study_config(text, "s.toml")) == text);
  // Invalid UTF-8: a single byte, truncated and overlong sequences, a surrogate, beyond U+10FFFF.
  for (const char* bad : {"/\xfc", "/\xc3", "/\xe2\x82/", "/\xc0\xaf", "/\xe0\x80\xaf",
                          "/\xf0\x80\x80\xaf", "/\xed\xa0\x80", "/\xf4\x90\x80\x80", "/\x80"}) {
    config.files = {bad};
    CHECK_THROWS_AS(to_toml(config), Error);
  }
}

TEST_CASE("one number or name may be written without a list") {
  const auto read = [](const std::string& text) { return parse_study_config(text, "s.toml"); };
  const std::string rest = "\n[sampling]\ntemperatures = ";
  const StudyConfig one = read("[lattice]\ndim = 2\nsizes = 16\np = 0.1" + rest + "2.5\n"),
                    list = read("[lattice]\ndim = [2]\nsizes = [16]\np = [0.1]" + rest + "[2.5]\n");
  CHECK(to_toml(one) == to_toml(list));
  CHECK(one.temperatures == std::vector<double>{2.5});
  CHECK(read("[lattice]\nfiles = \"a.edges\"\nignore = \"size\"" + rest + "2\n").files ==
        read("[lattice]\nfiles = [\"a.edges\"]\nignore = [\"size\"]" + rest + "[2]\n").files);
}

TEST_CASE("a percentage or a decimal comma in a study: the error has the right spelling") {
  const auto error_of = [](const std::string& p) {
    return usage_error([&] {
      parse_study_config("[lattice]\ndim = 2\nsizes = [16, 32]\np = " + p + "\n", "s.toml");
    });
  };
  for (const auto& [p, says] :
       {std::pair<std::string, std::string>{"0,05", "; write 0.05 for 0,05"},
        {"10%", "; write 0.1 for 10%"},
        {"[0,05, 0.1]", "; write 0.05 for 0,05"},
        {"[5%, 10%]", "; write 0.05 for 5%"},
        {"{from = 0,01, to = 0,1, per_decade = 2}", "; write 0.01 for 0,01"},
        {"\"10%\"", "text where a number is expected; write 0.1 for 10%"},
        {"\"0.1\"", "text where a number is expected (without quotes, such as 0.1)"}}) {
    INFO(p);
    const std::string error = error_of(p);
    INFO(error);
    CHECK(error.ends_with(says));
  }
  CHECK(error_of("[0.1,0.2] x").find("write") == std::string::npos);
}

TEST_CASE("ranges of p and of temperatures, extents, graphs per size in the order of the sizes") {
  const StudyConfig config = parse_study_config(
      "[lattice]\ndim = 2\nsizes = [[64, 32], 16]\np = {from = 1e-3, to = 0.1, per_decade = 2}\n"
      "graphs = [10, 90]\n[sampling]\ntemperatures = {from = 2.0, to = 3, count = 5}\n"
      "schedule = \"1:8\"\n[run]\ntime_limit = \"1.5h\"\n",
      "s.toml");
  CHECK(config.sizes == std::vector<std::vector<std::uint32_t>>{{16, 16}, {64, 32}});
  CHECK(config.graphs == std::vector<std::uint32_t>{90, 10});
  CHECK(config.p == std::vector<double>{0.001, 0.00316228, 0.01, 0.0316228, 0.1});
  CHECK(config.temperatures == std::vector<double>{2, 2.25, 2.5, 2.75, 3});
  CHECK(config.schedule() == Schedule{1, 8});
  CHECK(config.time_limit == 5400.0);
}

TEST_CASE("a range of temperatures without a count is for replica exchange") {
  const std::string head = kMin + "[sampling]\nschedule = \"1:0\"\n";
  const std::string range = "temperatures = {from = 0.9, to = 2}\n";
  const StudyConfig config = parse_study_config(head + "exchange = true\n" + range, "s.toml");
  REQUIRE(config.temperature_range);
  CHECK(config.temperature_range->from == 0.9);
  CHECK(config.temperature_range->to == 2);
  CHECK(config.temperatures.empty());
  CHECK(to_toml(parse_study_config(to_toml(config), "s.toml")) == to_toml(config));
  CHECK(to_toml(config).find("temperatures = {from = 0.9, to = 2") != std::string::npos);
  CHECK_THROWS_AS(parse_study_config(head + range, "s.toml"), Error);
  CHECK_THROWS_AS(
      parse_study_config(head + "exchange = true\ntemperatures = {from = 2, to = 2}\n", "s.toml"),
      Error);
}

TEST_CASE("the cluster update is automatic if the schedule is") {
  const auto cluster = [](const std::string& sampling) {
    return parse_study_config(kMin + "[sampling]\n" + sampling, "s.toml").cluster();
  };
  CHECK(!cluster("cluster = \"auto\"\n"));
  CHECK(!cluster("schedule = \"auto\"\n"));
  CHECK(cluster("cluster = \"wolff\"\n") == ClusterUpdate::wolff);
  CHECK(cluster("schedule = \"1:8\"\n") == ClusterUpdate::wolff);
  CHECK(cluster("schedule = [\"1:8\", \"1:1\"]\n") == ClusterUpdate::wolff);
  CHECK(cluster("cluster = \"few-cluster\"\n") == ClusterUpdate::few_cluster);
  CHECK(cluster("cluster = \"swendsen-wang\"\nschedule = \"1:2\"\n") ==
        ClusterUpdate::swendsen_wang);
  CHECK_THROWS_AS(cluster("cluster = \"auto\"\nschedule = \"1:8\"\n"), Error);
}

TEST_CASE("a schedule may name its updates, as tables do") {
  const auto read = [](const std::string& sampling) {
    return one_per_p(parse_study_config(kMin + "[sampling]\n" + sampling, "s.toml"), "s.toml");
  };
  const std::string keys = "local = \"glauber\"\ncluster = \"swendsen-wang\"\nschedule = \"4:1\"\n";
  CHECK(to_toml(read("schedule = \"glauber/swendsen-wang/4:1\"\n")) == to_toml(read(keys)));
  CHECK(
      to_toml(read("schedule = [\"16:1\", \"swendsen-wang/4:1\"]\n")) ==
      to_toml(read("schedule = [\"16:1\", \"4:1\"]\ncluster = [\"wolff\", \"swendsen-wang\"]\n")));
  CHECK(read("schedule = [\"swendsen-wang/2:1\", \"swendsen-wang/4:1\"]\n").clusters.size() == 1);
  CHECK(to_toml(read("schedule = \"swendsen-wang/1:1\"\ncluster = \"swendsen-wang\"\n")) ==
        to_toml(read("schedule = \"swendsen-wang/1:1\"\n")));
  // Sweeps alone have the update of the others.
  const StudyConfig alone = read("schedule = [\"swendsen-wang/2:1\", \"4:0\"]\n");
  CHECK(alone.clusters == std::vector{ClusterUpdate::swendsen_wang});
  for (const char* text :
       {"schedule = \"swendsen-wang/1:1\"\ncluster = \"wolff\"\n",
        "schedule = \"wolff/swendsen-wang/1:1\"\n", "schedule = \"heat/1:1\"\n",
        "schedule = \"glauber/1:1\"\nlocal = \"metropolis\"\n",
        "schedule = [\"glauber/1:1\", \"1:1\"]\n", "schedule = [\"1:1\", \"glauber/1:1\"]\n",
        "schedule = [\"wolff/1:1\", \"few-cluster/1:1\"]\n"}) {
    INFO(text);
    CHECK_THROWS_AS(read(text), Error);
  }
}

TEST_CASE("tc accepts lists of schedules and cluster updates, one per p in any order of p") {
  const auto read = [](const std::string& sampling) {
    return one_per_p(parse_study_config(kMin + "[sampling]\n" + sampling, "s.toml"), "s.toml");
  };
  constexpr auto wolff = ClusterUpdate::wolff, labels = ClusterUpdate::swendsen_wang;
  // In kMin p = 0.1 comes before 0.
  const StudyConfig both =
      read("schedule = [\"16:1\", \"4:1\"]\ncluster = [\"wolff\", \"swendsen-wang\"]\n");
  CHECK(both.schedule_of(0) == Schedule{4, 1});
  CHECK(both.cluster_of(0) == labels);
  CHECK(both.schedule_of(1) == Schedule{16, 1});
  CHECK(both.cluster_of(1) == wolff);
  // The written text has p in ascending order, and the lists in the same order.
  const std::string written = to_toml(both);
  CHECK(written.find("schedule = [\"4:1\", \"16:1\"]") != std::string::npos);
  const StudyConfig again = one_per_p(parse_study_config(written, "w.toml"), "w.toml");
  CHECK(again.schedules == both.schedules);
  CHECK(again.clusters == both.clusters);
  CHECK(to_toml(again) == written);

  const StudyConfig same = read("schedule = [\"2:1\", \"2:1\"]\ncluster = \"swendsen-wang\"\n");
  CHECK(same.schedule_of(1) == Schedule{2, 1});
  CHECK(same.cluster_of(1) == labels);
  const StudyConfig cluster =
      read("schedule = \"2:1\"\ncluster = [\"swendsen-wang\", \"wolff\"]\n");
  CHECK(cluster.schedule_of(0) == Schedule{2, 1});
  CHECK(cluster.cluster_of(0) == wolff);
  const StudyConfig tuned = read("cluster = [\"swendsen-wang\", \"wolff\"]\n");
  CHECK(!tuned.schedule_of(0));
  CHECK(tuned.cluster_of(1) == labels);
  // A single value is written without a list, as in earlier versions.
  CHECK(to_toml(read("schedule = \"2:1\"\n")).find("schedule = \"2:1\"\n") != std::string::npos);

  for (const std::string& bad :
       {std::string("schedule = [\"4:1\", \"2:1\", \"1:1\"]\n"),
        std::string("schedule = [\"4:1\", \"auto\"]\n"), std::string("schedule = []\n"),
        std::string("cluster = [\"wolff\", \"wolff\", \"wolff\"]\nschedule = \"1:1\"\n"),
        std::string("cluster = [\"wolff\", \"auto\"]\n"),
        std::string("cluster = [\"wolff\", \"few-cluster\"]\n"),
        std::string("cluster = [\"wolff\", 2]\n")}) {
    INFO(bad);
    const std::string key = bad.substr(0, bad.find(' '));
    try {
      read(bad);
      FAIL("an invalid configuration was accepted");
    } catch (const Error& error) {
      INFO(error.what());
      CHECK(error.exit_code() == ExitCode::usage);
      CHECK(std::string(error.what()).find("sampling." + key) != std::string::npos);
    }
  }
}

TEST_CASE("the model has its own table, and its keys are also read from their old place") {
  const std::string now = to_toml(parse_study_config(
      kMin + "[model]\nname = \"potts\"\nq = 3\n[sampling]\nmeasure = 9\n", "s.toml"));
  CHECK(now.find("\n[model]\nname = \"potts\"\nq = 3\n\n[sampling]\n") != std::string::npos);
  CHECK(now.find("\nmodel = ") == std::string::npos);
  const std::string old = "[sampling]\nmeasure = 9\nmodel = \"potts\"\n";
  CHECK(to_toml(parse_study_config(kMin + old + "q = 3\n", "s.toml")) == now);
  const auto says = [&](const std::string& rest) -> std::string {
    try {
      parse_study_config(kMin + rest, "s.toml");
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::usage);
      return error.what();
    }
    return "";
  };
  CHECK(says(old + "q = 300\n") == "s.toml:8:5: model.q: 300 is out of range (2..255)");
  CHECK(says(old + "q = 3\n[model]\nq = 3\n").find("which is also set") != std::string::npos);
  CHECK(says("[model]\nname = \"pots\"\n").find("s.toml:6:8: model.name: unknown model 'pots'") ==
        0);
  CHECK(says("[model]\nq = 3\n").find("s.toml:6:5: model.q: 3 states") == 0);
  CHECK(says("[run]\ntime_limit = 36\n") ==
        "s.toml:6:14: run.time_limit: a whole number where text is expected (in quotes, such as "
        "\"2h\")");
  CHECK(says(old).find("s.toml: model.q is missing") == 0);
  CHECK(says(old + "q = 3\ntemperatures = \"1.5-3.5\"\n") ==
        "s.toml:9:16: sampling.temperatures: text where \"auto\", a number, a list such as [2.0, "
        "2.5], or a range such as {from = 2.0, to = 3.0, count = 11} is expected");
}

TEST_CASE("every key has a description and a valid example") {
  const std::string files = "[lattice]\nfiles = [\"a.edges\"]\n";
  const auto beside = [](const Setting& one) -> std::string {
    if (one.key == "q") return "name = \"potts\"\n";
    if (one.name() == "model.name") return "q = 3\n";
    if (one.key.starts_with("few_cluster")) return "cluster = \"few-cluster\"\n";
    if (one.key == "negative" || one.key == "coupling_seed") return "couplings = \"pm\"\n";
    if (one.key == "field_width") return "field_random = \"pm\"\n";
    if (one.key == "on") return "couplings = \"pm\"\n";
    if (one.key == "staggered" || one.key == "houdayer") return "schedule = \"1:0\"\n";
    if (one.key == "target_observables") return "target_error = 1e-3\n";
    if (one.key == "temperature_tasks") return "temperatures = [2.0, 2.25, 2.5]\n";
    return "";
  };
  for (const Setting& one : settings()) {
    INFO(one.name());
    CHECK(!one.type.empty());
    CHECK(!one.help.empty());
    CHECK(!one.standard.empty());
    CHECK(find_setting(one.table, one.key) == &one);
    std::string text = one.table == "lattice" ? "" : kMin;
    if (one.table == "lattice") {
      text = one.command == "sweep" && one.key != "files" ? files : "[lattice]\n";
      for (const char* line : {"dim = 2\n", "sizes = [64]\n", "p = [0.1]\n"}) {
        if (one.command != "sweep" && !std::string(line).starts_with(one.key + " ")) text += line;
      }
    } else {
      if (one.key == "staggered" || one.key == "houdayer") text += "[model]\nfield = 0.1\n";
      text += "[" + one.table + "]\n" + beside(one);
    }
    text += one.key + " = " + one.example + "\n";
    // schedule = "auto" compares schedules by the magnetisation, which does not suit all models.
    if (one.table == "model") text += "[sampling]\nschedule = \"1:0\"\n";
    INFO(text);
    const StudyConfig config = parse_study_config(text, "s.toml");
    CHECK(one.text(config) != one.text(StudyConfig{}));
    CHECK(one.text(parse_study_config(to_toml(config), "s.toml")) == one.text(config));
  }
}

TEST_CASE("a target begins with fewer graphs, unless they are given") {
  const auto graphs = [](const std::string& rest) {
    return parse_study_config(kMin + rest, "s.toml").graphs;
  };
  using Graphs = std::vector<std::uint32_t>;
  CHECK(graphs("[sampling]\ntarget_error = 1e-4\n") == Graphs{32, 32});
  CHECK(graphs("graphs = 70\n[sampling]\ntarget_error = 1e-4\n") == Graphs{70, 70});
  CHECK(graphs("[sampling]\ntarget_error = \"none\"\n") == Graphs{50, 50});
  CHECK_THROWS_AS(graphs("[sampling]\ntarget_error = \"little\"\n"), Error);
  CHECK_THROWS_AS(graphs("[sampling]\ntarget_error = 2\n"), Error);
}

TEST_CASE("the resolved configuration reads back the same") {
  for (const std::string& text :
       {kMin,
        kMin + "[study]\nname = \"a.b-c_1\"\nseed = 9\n[sampling]\nmeasure = 7\n"
               "temperatures = [2.5, 1e-3, 1234567.0e-3]\ntarget_error = 1e-5\n",
        kMin + "[sampling]\nschedule = \"1:2\"\ncluster = \"swendsen-wang\"\n[run]\n"
               "keep_states = false\n",
        kMin + "[sampling]\ntemperatures = [2, 2.5, 3]\ntemperature_tasks = [[3.0, 2.0, 4.0], "
               "[2.5]]\n"}) {
    const std::string written = to_toml(parse_study_config(text, "s.toml"));
    INFO(written);
    CHECK(to_toml(parse_study_config(written, "written.toml")) == written);
  }
}

TEST_CASE("temperatures that share a task") {
  const auto tasks = [](const std::string& sampling) {
    return parse_study_config(kMin + "[sampling]\n" + sampling, "s.toml").temperature_tasks;
  };
  CHECK(tasks("temperatures = [2, 3]\n").empty());
  CHECK(tasks("temperatures = [2, 3]\ntemperature_tasks = [[3, 1], [2]]\n") ==
        std::vector<std::vector<double>>{{1, 3}, {2}});
  for (const char* bad :
       {"temperatures = [2, 3]\ntemperature_tasks = [[3]]\n",
        "temperatures = [2, 3]\ntemperature_tasks = [[2, 3], [3]]\n",
        "temperatures = [2, 3]\ntemperature_tasks = [2, 3]\n",
        "temperatures = [2, 3]\ntemperature_tasks = [[2, 3], []]\n",
        "temperatures = [2, 3]\ntemperature_tasks = [[2, 3], [-1]]\n",
        "temperatures = [2, 3]\ntemperature_tasks = 2\n", "temperature_tasks = [[2, 3]]\n"}) {
    INFO(bad);
    try {
      tasks(bad);
      FAIL("an invalid configuration was accepted");
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::usage);
      CHECK(std::string(error.what()).find("temperature_tasks") != std::string::npos);
    }
  }
}

TEST_CASE("every configuration that comes with the program is valid") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(REWISE_CONFIGS)) {
    if (entry.path().extension() != ".toml") continue;
    INFO(entry.path());
    CHECK_NOTHROW(read_study_config(entry.path()));
    ++count;
  }
  CHECK(count >= 1);
}

TEST_CASE("couplings, fields and replica exchange of a study") {
  const auto read = [](const std::string& more) {
    return parse_study_config(kMin + more, "s.toml");
  };
  const StudyConfig config = read(
      "[model]\ncouplings = \"pm\"\nnegative = 0.25\non = \"shortcuts\"\nfield = 0.5\n"
      "field_random = \"gaussian\"\nfield_width = 0.1\ncoupling_seed = 7\n"
      "[sampling]\nschedule = \"1:0\"\nexchange = true\nhoudayer = true\n");
  const Interactions& of = config.model.interactions;
  CHECK(of.couplings == CouplingKind::plus_minus);
  CHECK(of.negative_fraction == 0.25);
  CHECK(of.on_shortcuts);
  CHECK(of.field == 0.5);
  CHECK(of.random_field == RandomField::gaussian);
  CHECK(of.field_width == 0.1);
  CHECK(of.seed == 7);
  CHECK(config.exchange);
  CHECK(config.houdayer);
  CHECK(config.engine == EngineKind::bytespin);  // the engine that supports all fields
  CHECK(read("[model]\ncouplings = \"pm\"\n[sampling]\nschedule = \"1:0\"\nexchange = true\n")
            .engine == EngineKind::multispin);
  CHECK(read("[model]\ncouplings = \"pm\"\n[sampling]\nschedule = \"1:1\"\n").engine ==
        EngineKind::multispin);
  const StudyConfig again = parse_study_config(to_toml(config), "s.toml");
  CHECK(again.model == config.model);
  CHECK(again.exchange);
  CHECK(again.houdayer);

  // For the ferromagnet none of these keys is written, as in earlier versions.
  const std::string plain = to_toml(read(""));
  for (const char* key :
       {"couplings", "field", "exchange", "houdayer", "negative", "coupling_seed"}) {
    CHECK(plain.find(key) == std::string::npos);
  }
  for (const char* wrong :
       {"[model]\ncouplings = \"file\"\non = \"shortcuts\"\n", "[model]\nnegative = 0.5\n",
        "[model]\nname = \"potts\"\nq = 3\nfield = 0.1\n", "[model]\ncoupling_seed = 1\n",
        "[model]\ncouplings = \"gaussian\"\n[sampling]\nengine = \"multispin\"\n",
        "[model]\nfield = 0.1\nfield_random = \"pm\"\n[sampling]\nengine = \"multispin\"\n",
        "[model]\ncouplings = \"pm\"\n[sampling]\nschedule = \"1:1\"\n"
        "cluster = \"few-cluster\"\nengine = \"multispin\"\n",
        "[model]\non = \"shortcuts\"\n"}) {
    INFO(wrong);
    CHECK_THROWS_AS(read(wrong), Error);
  }
  // Couplings of shortcuts, without shortcuts. A list of p may include 0.
  const std::string bare = "[lattice]\ndim = 2\nsizes = [64]\np = [0]\n";
  for (const std::string wrong :
       {"shortcut_strength = 0.5\n", "couplings = \"pm\"\non = \"shortcuts\"\n"}) {
    INFO(wrong);
    const std::string model = "[model]\n" + wrong + "[sampling]\nschedule = \"1:0\"\n";
    CHECK_NOTHROW(read(model));
    CHECK_THROWS_AS(parse_study_config(bare + model, "s.toml"), Error);
  }
}
