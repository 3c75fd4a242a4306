// `rewise tc` from end to end on a tiny study: its files; a second run does nothing; a larger study
// computes nothing twice; an interruption changes no number.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "src/store/task_pack.hpp"
#include "tests/study/study_pieces.hpp"
#include "tests/support/catch.hpp"

using namespace rewise::oracle;
using nlohmann::json;

namespace {

std::string study(int graphs, const std::string& p) {
  return "[study]\nname = \"tiny\"\nseed = 11\n[lattice]\ndim = 2\nsizes = [8, 12, 16]\np = [" + p +
         "]\ngraphs = " + std::to_string(graphs) + "\n[run]\ndevice = \"cpu\"\n";
}

bool says(const Output& output, const std::string& text) {
  return output.err.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a tiny study: Tc near the exact value, nothing computed twice, more graphs are added") {
  Workplace place;
  place.write("s.toml", study(20, "0.0, 0.1"));
  const Output first = place.run("tc s.toml --out study --no-plots");
  INFO(first.err << first.out);
  REQUIRE(first.status == 0);
  CHECK(first.out.find("critical temperatures") != std::string::npos);
  CHECK(place.has("study/study.toml"));
  CHECK(place.has("study/summary.csv"));
  const json summary = json::parse(place.read("study/summary.json"));
  REQUIRE(summary["points"].size() == 2);
  const auto& regular = summary["points"][0];
  const auto& rewired = summary["points"][1];
  CHECK(regular["tc_exact"].get<double>() == Approx(2.269185314));
  // 5 standard errors plus the size of corrections at L <= 16. A wrong program would be far
  // outside.
  CHECK(std::abs(regular["tc"]["value"].get<double>() - 2.2692) <
        5 * regular["tc"]["error"].get<double>() + 0.01);
  CHECK(std::abs(rewired["tc"]["value"].get<double>() - 2.78) <
        5 * rewired["tc"]["error"].get<double>() + 0.05);
  CHECK(summary["tc0"]["source"] == "exact");
  CHECK(summary["tc0"]["measured"]["value"] == regular["tc"]["value"]);
  CHECK(rewired["shift"]["value"].get<double>() > 0.3);
  CHECK(regular["sizes"].size() == 3);
  CHECK(regular["sizes"][0]["graphs"] == 20);
  for (const auto& file : place.files()) {
    INFO(file);
    CHECK(file.find(".part.") == std::string::npos);
    CHECK(file.find(".lease") == std::string::npos);
  }

  const auto& tc = regular["tc"];
  CHECK(tc["total_error"].get<double>() ==
        Approx(std::hypot(tc["error"].get<double>(), tc["systematic"].get<double>())));
  CHECK(first.out.find(tc["text"].get<std::string>()) != std::string::npos);

  // The data for lines and bands of the fits in plots.
  for (const json& limit : {regular["tc"], regular["binder_limit"], rewired["tc"]}) {
    REQUIRE(!limit["fit"].empty());
    const double error = limit["fit_limit"]["error"];
    CHECK(error > 0);
    for (const auto& line : limit["fit"]) {
      const double covariance = line["covariance"];
      CHECK(covariance != 0);
      CHECK(std::abs(covariance) <= error * line["amplitude"]["error"].get<double>());
    }
  }
  CHECK(regular["scaling"]["w"].get<double>() == Approx(0.875));
  CHECK(rewired["scaling"]["y"].get<double>() == Approx(0.5));
  for (const auto& crossing : rewired["crossings"]) {
    const bool pair = crossing["sites"].size() == 2;  // else a crossing of U with its limit
    CHECK(crossing.contains("height_used") == (pair && crossing["quantity"] == "binder"));
    CHECK(crossing["extents"].size() == crossing["sites"].size());
    CHECK((pair || crossing["shift"].get<double>() * crossing["sites"][0].get<double>() == -1));
  }

  // tc.csv has a row per p with the numbers of the summary.
  const std::string rows = place.read("study/tc.csv");
  CHECK(lines(rows) == 3);
  CHECK(rows.starts_with("p,tc,error,systematic,total_error,relative_error,shift,shift_error,"));
  const auto& shifted = rewired["tc"];
  std::string begin = rewired["p"].dump();
  for (const char* key : {"value", "error", "systematic", "total_error"}) {
    begin.append(",").append(shifted[key].dump());
  }
  CHECK(rows.find(begin.append(",")) != std::string::npos);
  CHECK(rows.find(",8x8,16x16,") != std::string::npos);
  const Output object = place.run("tc s.toml --out study --no-plots --json");
  CHECK(object.status == 0);
  CHECK(json::parse(object.out) == summary);

  const std::string toml = place.read("study/study.toml");
  std::string renamed = study(20, "0.3");
  renamed.replace(renamed.find("tiny"), 4, "other");
  place.write("other.toml", renamed);
  const Output other = place.run("tc other.toml --out study --no-plots");
  CHECK(other.status == 73);
  CHECK(says(other, "contains the study \"tiny\", not \"other\""));
  CHECK(place.read("study/study.toml") == toml);

  const auto files = place.files();
  const auto tasks = [&place] {
    std::vector<std::string> problems;
    return rewise::stored_tasks(place / "study/tasks", problems).size();
  };
  const std::size_t before = tasks();
  const Output again = place.run("tc s.toml --out study --no-plots --threads 1");
  CHECK(again.status == 0);
  CHECK(says(again, "0 tasks computed"));
  CHECK(again.out == first.out);
  CHECK(place.files() == files);

  place.write("s.toml", study(24, "0.0, 0.1, 0.05"));
  const Output grown = place.run("tc s.toml --out study --no-plots");
  REQUIRE(grown.status == 0);
  // 4 more graphs x 3 sizes x 2 old p; the new p: scan 8, pilots 3, graphs 3 x 24; a window may
  // have to move once or twice (16 graphs each).
  CHECK(tasks() >= before + 4 * 3 * 2 + 8 + 3 + 3 * 24);
  CHECK(tasks() <= before + 4 * 3 * 2 + 8 + 3 + 3 * 24 + 2 * 16);
  CHECK(place.files().size() < 60);  // tasks are in results archives
}

TEST_CASE("tc with a schedule for each p: same results as separate studies") {
  const Workplace place;
  const auto text = [](const std::string& p, const std::string& sampling) {
    return study(16, p) + "[sampling]\nmethod = \"crossings\"\n" + sampling;
  };
  place.write("both.toml", text("0.1, 0.05",
                                "schedule = [\"2:1\", \"1:2\"]\n"
                                "cluster = [\"swendsen-wang\", \"wolff\"]\n"));
  place.write("a.toml", text("0.05", "schedule = \"1:2\"\n"));
  place.write("b.toml", text("0.1", "schedule = \"2:1\"\ncluster = \"swendsen-wang\"\n"));
  for (const std::string name : {"both", "a", "b"}) {
    const Output output = place.run("tc " + name + ".toml --no-plots --out " + name);
    INFO(output.err);
    REQUIRE(output.status == 0);
  }
  const json both = summary_of(place, "both");
  CHECK(both["sampling"]["schedule"] == json({"1:2", "2:1"}));  // in the order of p
  CHECK(both["sampling"]["cluster"] == json({"wolff", "swendsen-wang"}));
  REQUIRE(both["points"].size() == 2);
  const json alone[] = {summary_of(place, "a")["points"][0], summary_of(place, "b")["points"][0]};
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(both["points"][i]["sizes"] == alone[i]["sizes"]);
    CHECK(both["points"][i]["tc"] == alone[i]["tc"]);
  }
  CHECK(both["points"][0]["sizes"][2]["schedule"] == "1:2");
  CHECK(both["points"][1]["sizes"][2]["cluster"] == "swendsen-wang");
  CHECK(place.run("tc both.toml --no-plots --out both").err.find("0 tasks computed") !=
        std::string::npos);

  place.write("long.toml", text("0.1", "schedule = [\"2:1\", \"1:2\"]\n"));
  const Output refused = place.run("tc long.toml --no-plots --out long");
  CHECK(refused.status == 64);
  CHECK(refused.err ==
        "rewise: long.toml: sampling.schedule: 2 values for 1 values of p (give one for all, or "
        "one for each)\n");
  CHECK(place.run("sweep both.toml --no-plots --out sweep")
            .err.find("all schedules of a sweep have the same") != std::string::npos);
}

TEST_CASE("plots and report need one start of Python, and their failure loses no result") {
  const Workplace place;
  place.write("s.toml",
              "[study]\nname = \"s\"\n[lattice]\ndim = 2\nsizes = [8]\np = [0.1]\ngraphs = 2\n"
              "[sampling]\ntemperatures = [2.5]\nequilibrate = 10\nmeasure = 10\nevery = 1\n"
              "[run]\ndevice = \"cpu\"\n");
  const auto with_python = [&](const std::string& ending) {
    place.write("python", "#!/bin/sh\necho \"$1\" >> '" + (place / "starts").string() + "'\n" +
                              ending + "\n");
    std::filesystem::permissions(place / "python", std::filesystem::perms::owner_all);
    ::setenv("REWISE_PYTHON", (place / "python").c_str(), 1);
    const Output output = place.run("sweep s.toml --out study");
    ::unsetenv("REWISE_PYTHON");
    return output;
  };
  CHECK(with_python("exit 0").status == 0);
  const std::string starts = place.read("starts");
  INFO(starts);
  CHECK(std::count(starts.begin(), starts.end(), '\n') == 1);
  CHECK(starts.find("report.py") != std::string::npos);
  const Output failed = with_python("exit 7");
  CHECK(failed.status == 0);
  CHECK(says(failed, "no plots and no report: report.py ended with status 7"));
  const Output told = with_python("echo 'report.py: why' >&2; exit 74");
  CHECK(told.status == 0);
  CHECK(says(told, "report.py: why"));
  CHECK_FALSE(says(told, "no plots and no report"));  // one line is enough
}

TEST_CASE("a folder of a version without the table model is continued with the same tasks") {
  Workplace place;
  const std::string grid = "[lattice]\ndim = 2\nsizes = [8, 12]\np = [0.1]\ngraphs = 2\n",
                    sampling =
                        "[sampling]\ntemperatures = [0.9, 1.0]\nequilibrate = 10\nmeasure = 10\n"
                        "every = 1\nschedule = \"1:1\"\n",
                    model = "model = \"potts\"\nq = 3\n", run = "[run]\ndevice = \"cpu\"\n";
  // study.toml as written by version 0.1 for this study.
  const std::string before =
      "# rewise sweep; seed 1; potts with q = 3; configuration 0670b11431c7e0a1\n"
      "[study]\nname = \"s\"\nseed = 1\n\n"
      "[lattice]\ndim = 2\nsizes = [[8, 8], [12, 12]]\np = [0.1]\nrule = \"rewire\"\n"
      "graphs = [2, 2]\nmost_graphs = 10000\nmore_sizes = 1\n\n"
      "[sampling]\nengine = \"bytespin\"\nschedule = \"1:1\"\nlocal = \"metropolis\"\n"
      "cluster = \"wolff\"\nmodel = \"potts\"\nq = 3\nreplicas = 32\ntemperatures = [0.9, 1.0]\n"
      "equilibrate = 10\nmeasure = 10\nevery = 1\ntarget_error = \"none\"\n\n"
      "[run]\ndevice = \"cpu\"\nthreads = 0\ncheckpoint = \"300s\"\ntime_limit = \"none\"\n"
      "keep_states = true\n";
  const std::string name = "[study]\nname = \"s\"\n", line = "sweep s.toml --no-plots --out st";
  place.write("other.toml", name + grid + sampling + "[model]\nname = \"potts\"\nq = 4\n" + run);
  place.write("s.toml", name + grid + sampling + model + run);
  std::filesystem::create_directory(place / "st");
  place.write("st/study.toml", before);
  const Output other = place.run("sweep other.toml --no-plots --out st");
  CHECK(other.status == 73);
  CHECK(other.err.find("potts with q = 3") != std::string::npos);
  CHECK(place.read("st/study.toml") == before);
  const Output old = place.run(line);
  INFO(old.err);
  REQUIRE(old.status == 0);
  CHECK(old.err.find("edited") == std::string::npos);
  CHECK(old.err.find("st/study.toml") == std::string::npos);
  CHECK(old.err.find("sampling.model: this key is now name in [model]\n") != std::string::npos);
  CHECK(place.read("st/study.toml").find("\n[model]\nname = \"potts\"\nq = 3\n") !=
        std::string::npos);
  for (const char* task :
       {"44559a5a1d9dfd1c", "a49af19128e2be2d", "d9332ef3744dbe98", "dfd8dfbd1c20d174"}) {
    CHECK(place.has(std::string("st/tasks/") + task + ".h5"));
  }
  place.write("s.toml", name + grid + sampling + "[model]\nname = \"potts\"\nq = 3\n" + run);
  const Output now = place.run(line);
  CHECK(now.status == 0);
  CHECK(now.err.find("sampling.model") == std::string::npos);
  CHECK(now.err.find("\n0 tasks computed") != std::string::npos);
}

TEST_CASE("a damaged study.toml is set aside with a warning, and the study is resumed") {
  const Workplace place;
  place.write("s.toml", study(4, "0.1"));
  const std::string line = "tc s.toml --out study --no-plots";
  REQUIRE(place.run(line).status == 0);
  const std::string toml = place.read("study/study.toml");
  std::filesystem::remove(place / "study/.finished");  // otherwise there would be nothing to do
  int n = 0;
  for (const std::string& damaged : {std::string("[study]\nname = \"tin"), std::string(100, '\0'),
                                     "name\n" + toml, std::string("[study]\nname = 3\n")}) {
    place.write("study/study.toml", damaged);
    const Output resumed = place.run(line);
    INFO(resumed.err);
    CHECK(resumed.status == 0);
    CHECK(says(resumed, "warning: study/study.toml:"));
    CHECK(says(resumed, "\n0 tasks computed"));
    CHECK(place.read("study/study.toml") == toml);
    CHECK(place.read("study/study.toml.damaged-" + std::to_string(++n)) == damaged);
    std::filesystem::remove(place / "study/.finished");
  }
  place.write("study/study.toml", "");
  const Output empty = place.run(line);
  CHECK(empty.status == 0);
  CHECK_FALSE(says(empty, "warning"));
  CHECK(place.read("study/study.toml") == toml);
}

TEST_CASE("an interrupted study, resumed with other threads, equals an uninterrupted one") {
  Workplace place;
  place.write("s.toml", study(4, "0.1"));
  REQUIRE(place.run("tc s.toml --out whole --no-plots --threads 2").status == 0);
  const auto outputs = run_in_pieces(place, "tc s.toml --out parts --no-plots", 0.01, 2, 3);
  for (std::size_t k = 0; k + 1 < outputs.size(); ++k) {
    CHECK((outputs[k].out.empty() || outputs[k].out.find("PARTIAL") != std::string::npos));
    CHECK(says(outputs[k], "time limit"));
  }
  INFO(outputs.back().err);
  REQUIRE(outputs.back().status == 0);
  CHECK(outputs.size() > 1);  // was interrupted
  CHECK(summary_of(place, "whole") == summary_of(place, "parts"));
}

TEST_CASE("several p searched at the same time: same numbers as one by one, also in pieces") {
  Workplace place;
  place.write("s.toml", study(4, "0.05, 0.1, 0.5") +
                            "[sampling]\nschedule = \"1:1\"\ntarget_error = 8e-3\n"
                            "method = \"crossings\"\n");
  const Output one = place.run("tc s.toml --out one --no-plots --threads 1");
  INFO(one.err << one.out);
  REQUIRE(one.status == 0);
  CHECK(says(one, "round 1: "));
  const Output beside = place.run("tc s.toml --out beside --no-plots --threads 3");
  REQUIRE(beside.status == 0);
  CHECK(beside.out == one.out);
  CHECK(summary_of(place, "beside") == summary_of(place, "one"));
  const auto outputs = run_in_pieces(place, "tc s.toml --out parts --no-plots", 0.01, 2.5, 3);
  CHECK(outputs.size() > 1);  // was interrupted
  REQUIRE(outputs.back().status == 0);
  CHECK(summary_of(place, "parts") == summary_of(place, "one"));
}

TEST_CASE("a study ends at a signal, with checkpoints") {
  Workplace place;
  place.write("s.toml", study(100000, "0.1"));
  const pid_t child = place.start("tc s.toml --out study --no-plots");
  for (int n = 0; n < 4000 && !place.has("study/tasks"); ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ::kill(child, SIGTERM);
  const Output output = place.wait(child);
  INFO(output.err);
  CHECK(output.status == 75);
  CHECK(says(output, "SIGTERM"));
  CHECK(output.out.empty());
  for (const auto& file : place.files()) CHECK(file.find(".lease") == std::string::npos);
}

TEST_CASE("two processes in one folder give the numbers of one process") {
  Workplace one, two, alone;
  for (const Workplace* place : {&one, &two, &alone}) place->write("s.toml", study(6, "0.1"));
  REQUIRE(alone.run("tc s.toml --out study --no-plots").status == 0);
  const std::string shared = " --no-plots --threads 1 --out " + (one / "study").string();
  const pid_t a = one.start("tc s.toml" + shared), b = two.start("tc s.toml" + shared);
  CHECK(one.wait(a).status == 0);
  CHECK(two.wait(b).status == 0);
  CHECK(summary_of(one) == summary_of(alone));
}
