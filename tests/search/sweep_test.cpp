// `rewise sweep` from end to end: averages against exact ones, every combination of a grid once,
// automatic temperatures around the transition, nothing computed twice.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "src/search/sweep/sweep_search.hpp"
#include "src/store/task_pack.hpp"
#include "tests/analysis/torus.hpp"
#include "tests/study/study_pieces.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/kaufman.hpp"
#include "tests/support/program.hpp"

using namespace rewise;
using namespace rewise::oracle;
using nlohmann::json;

namespace {

double z(const json& curve, std::size_t t, double exact) {
  return (curve["value"][t].get<double>() - exact) / curve["error"][t].get<double>();
}

json sweep(Workplace& place, const std::string& text) {
  place.write("s.toml", text);
  const Output output = place.run("sweep s.toml --out study --no-plots --json");
  INFO(output.err);
  REQUIRE(output.status == 0);
  const json summary = json::parse(output.out);
  CHECK(json::parse(place.read("study/summary.json")) == summary);
  return summary;
}

}  // namespace

TEST_CASE("a sweep warns of errors and C from too few measurements") {
  const auto warned = [](const char* sampling, const char* graphs) {
    Workplace place;
    const json summary =
        sweep(place, std::string("[lattice]\ndim = 2\nsizes = [8]\np = [0.0]\ngraphs = ") + graphs +
                         "\n[sampling]\nschedule = \"1:1\"\nevery = 2\nequilibrate = 50\n"
                         "temperatures = [2.4]\nengine = \"single\"\n" +
                         sampling + "\n[run]\ndevice = \"cpu\"\n");
    return summary["points"][0]["warnings"].dump();
  };
  const std::string brief = warned("replicas = 1\nmeasure = 8", "1");
  CHECK(brief.find("errors are too small: with 1 replica of one graph") != std::string::npos);
  CHECK(brief.find("C and chi are too small") != std::string::npos);
  CHECK(warned("replicas = 1\nmeasure = 2000", "1") == "[]");
  CHECK(warned("replicas = 2\nmeasure = 8", "2").find("the spread between 2 graphs") !=
        std::string::npos);
  CHECK(warned("replicas = 2\nmeasure = 8", "4") == "[]");
}

TEST_CASE("a sweep out of equilibrium has no values, and warnings in terminal and summary") {
  Workplace place;
  place.write("s.toml",
              "[lattice]\ndim = 2\nsizes = [32]\np = [0.1]\ngraphs = 4\n[sampling]\n"
              "schedule = \"0:1\"\nequilibrate = 5\nmeasure = 10\nevery = 1\n"
              "temperatures = [2.6, 8.0]\n[run]\ndevice = \"cpu\"\n");
  const Output output = place.run("sweep s.toml --out study --no-plots");
  INFO(output.err << output.out);
  REQUIRE(output.status == 0);
  const json point = summary_of(place)["points"][0];
  const json& size = point["sizes"][0];
  CHECK(size["hot_cold"]["agree"] == false);
  CHECK(size["hot_cold"]["refused"][0] == 2.6);
  for (const char* name : {"energy", "m2", "binder", "specific_heat", "cluster_fraction", "tau"}) {
    CHECK(size[name]["value"][0].is_null());
  }
  CHECK(output.out.find("32x32  2.6  -  ") != std::string::npos);
  REQUIRE_FALSE(point["warnings"].empty());
  for (const json& text : point["warnings"]) {
    CHECK(output.out.find("warning: p = 0.1: " + text.get<std::string>()) != std::string::npos);
  }
}

// Some replicas are stuck in stripes. The halves agree within their errors, which the stuck
// replicas make large.
TEST_CASE("a sweep with fixed times has no values at temperatures with stuck replicas") {
  Workplace place;
  const json point = sweep(
      place,
      "[lattice]\ndim = 2\nsizes = [64]\np = [0.0]\ngraphs = 1\n[sampling]\nschedule = \"1:0\"\n"
      "temperatures = [0.8, 1.0, 2.6]\nequilibrate = 1000\nmeasure = 200\n"
      "[run]\ndevice = \"cpu\"\n")["points"][0];
  for (const json& size : point["sizes"]) {
    CAPTURE(size["extents"].dump());
    for (const std::size_t t : {0, 1}) {
      CHECK(size["abs_magnetisation"]["value"][t].is_null());
      CHECK(size["susceptibility"]["value"][t].is_null());
    }
    CHECK(size["abs_magnetisation"]["value"][2].is_number());
    CHECK(size["hot_cold"]["refused"].size() == 2);
  }
  CHECK(point["warnings"].dump().find("some replicas are stuck: ") != std::string::npos);
}

TEST_CASE("messages on equilibrium name the graphs by the seeds that run --graph-seed needs") {
  SizeData size;
  for (const std::uint64_t seed : {11u, 22u, 33u, 44u, 55u}) {
    size.samples.graphs.emplace_back().seed = seed;
  }
  CHECK(on_graphs(size, {}) == "");
  CHECK(on_graphs(size, {1}) == " on 1 of 5 graphs (graph seed 22)");
  CHECK(on_graphs(size, {0, 4}) == " on 2 of 5 graphs (graph seeds 11, 55)");
  CHECK(on_graphs(size, {0, 1, 2, 3}) == " on 4 of 5 graphs (graph seeds 11, 22, 33, ..)");
  CHECK(on_graphs(size, {0, 1, 2, 3, 4}) == " on all 5 graphs");
  // The third graph is out of equilibrium by 30 standard errors, the others by none.
  for (auto& graph : size.samples.graphs) {
    graph.halves = {Eigen::ArrayXXd::Zero(2, 3), Eigen::ArrayXXd::Ones(2, 3), 30};
  }
  size.samples.graphs[2].halves.difference(1, 2) = 30;
  CHECK(differing_starts(size, compare_halves(size)).find("m2 by") != std::string::npos);
  CHECK(
      differing_starts(size, compare_halves(size)).ends_with(" on 1 of 5 graphs (graph seed 33)"));

  // If one graph is out of equilibrium, its temperature has no values, and a warning names the
  // graph.
  Workplace place;
  place.write("s.toml",
              "[lattice]\ndim = 2\nsizes = [32]\np = [0.02]\ngraphs = 8\n[sampling]\n"
              "schedule = \"1:0\"\nevery = 2\nequilibrate = 300\nmeasure = 200\n"
              "temperatures = [0.8, 3.0]\n[run]\ndevice = \"cpu\"\n");
  const Output output = place.run("sweep s.toml --out study --no-plots");
  INFO(output.out);
  CHECK(output.status == 0);
  const auto has = [&](const std::string& text) {
    return output.out.find(text) != std::string::npos;
  };
  CHECK(has("some replicas are stuck on "));
  CHECK(has(" of 8 graphs (graph seed"));
  CHECK(has("Averages over the others\nwould be biased"));
  CHECK(!has("All checks passed"));
}

// After 36 cycles with replica exchange, both starts agree and nothing drifts significantly, but at
// low T the link overlap q_l is smaller than the energy implies. The number of bonds in this
// relation includes the added ones: with 2 N, that of the lattice alone, q_l would be off by 10
// errors or more at T = 2, also in equilibrium.
TEST_CASE("Gaussian couplings: a sweep has no values where energy and link overlap disagree") {
  const auto swept = [](int size, int graphs, const char* model, const char* sampling) {
    Workplace place;
    return sweep(place,
                 fmt::format("[lattice]\ndim = 2\nsizes = [{}]\np = [0.5]\nrule = \"add\"\n"
                             "graphs = {}\n[model]\ncouplings = \"gaussian\"\n{}\n"
                             "[sampling]\nschedule = \"1:0\"\nexchange = true\nreplicas = 16\n{}\n"
                             "[run]\ndevice = \"cpu\"\n",
                             size, graphs, model, sampling))["points"][0];
  };
  constexpr const char* text = "from what the energy implies for Gaussian couplings";
  constexpr const char* few =
      "temperatures = [0.2, 0.4, 0.7, 1.2, 2.0, 3.0]\nequilibrate = 36\nmeasure = 16\nevery = 1";
  const json early = swept(10, 16, "", few);
  const json& size = early["sizes"][0];
  CHECK(size["hot_cold"]["agree"] == true);
  // T = 2 receives spins from T = 1.2.
  CHECK(size["hot_cold"]["refused"] == json({0.2, 0.4, 0.7, 1.2, 2.0}));
  CHECK(size["link_overlap"]["value"][0].is_null());
  CHECK(size["link_overlap"]["value"][5].is_number());
  CHECK(early["warnings"].dump().find(text) != std::string::npos);

  // A field, or other couplings on some bonds: the relation does not apply.
  for (const char* other : {"field = 0.1", "on = \"shortcuts\"", "shortcut_strength = 0.5"}) {
    CAPTURE(other);
    CHECK(swept(10, 16, other, few)["warnings"].dump().find(text) == std::string::npos);
  }
  // Seven networks are too few for this check, although q_l is off by 27 errors at T = 0.4. They
  // have no values because their series are too short to determine tau.
  const json seven =
      swept(12, 7, "",
            "temperatures = [0.2, 0.4, 0.7, 1.2, 2.0]\nequilibrate = 50\nmeasure = 16\nevery = 1");
  CHECK(seven["sizes"][0]["hot_cold"]["refused"].size() >= 4);
  CHECK(seven["warnings"].dump().find(text) == std::string::npos);
  CHECK(seven["warnings"].dump().find("too few to determine tau") != std::string::npos);

  const json later = swept(8, 16, "",
                           "temperatures = [0.8, 1.2, 2.0]\nequilibrate = 300\nmeasure = 60\n"
                           "every = 2");
  CHECK(later["sizes"][0]["hot_cold"]["refused"].empty());
  CHECK(later["warnings"].empty());
}

TEST_CASE("the table of a sweep has the schedule of each row if tau has several units") {
  const auto table = [](const char* schedule) {
    Workplace place;
    place.write("s.toml",
                std::string("[lattice]\ndim = 2\nsizes = [8]\np = [0.0]\ngraphs = 1\n[sampling]\n"
                            "equilibrate = 50\nmeasure = 40\nevery = 1\ntemperatures = [2.6]\n"
                            "schedule = ") +
                    schedule + "\n[run]\ndevice = \"cpu\"\n");
    const Output output = place.run("sweep s.toml --out study --no-plots");
    INFO(output.err << output.out);
    REQUIRE(output.status == 0);
    return output.out;
  };
  CHECK(table("\"1:1\"").find("schedule\n") == std::string::npos);
  CHECK(table("\"1:1\"").find("All checks passed: hot and cold starts agree") != std::string::npos);
  const std::string mixed = table("[\"1:1\", \"2:0\"]");
  CHECK(mixed.find("tau") < mixed.find("schedule\n"));
  CHECK(mixed.find("  1:1\n") != std::string::npos);
  CHECK(mixed.find("  2:0\n") != std::string::npos);
}

TEST_CASE("a sweep with fixed times warns of sites without bonds that keep their start") {
  const auto warned = [](const std::string& sampling) {
    Workplace place;
    const json summary =
        sweep(place,
              "[lattice]\ndim = 2\nsizes = [16]\np = [0.01, 1.0]\ngraphs = 4\n[sampling]\n"
              "every = 1\nmeasure = 4\ntemperatures = [4.0]\n" +
                  sampling + "\n[run]\ndevice = \"cpu\"\n");
    const auto said = [&](int point) {
      const std::string warnings = summary["points"][point]["warnings"].dump();
      return warnings.find("16x16: sites without bonds flip in every Metropolis sweep") !=
             std::string::npos;
    };
    CHECK_FALSE(said(0));
    return said(1);
  };
  const std::string fixed = "equilibrate = 10\n";
  CHECK(warned(fixed + "schedule = \"1:1\""));
  CHECK(warned(fixed + "schedule = \"1:0\""));
  CHECK_FALSE(warned(fixed + "schedule = \"1:1\"\nlocal = \"glauber\""));
  CHECK_FALSE(warned(fixed + "schedule = \"1:1\"\ncluster = \"swendsen-wang\""));
  CHECK_FALSE(warned(fixed + "schedule = \"0:1\""));
  CHECK_FALSE(warned("schedule = \"1:1\""));  // begins with Swendsen-Wang updates
}

// Kaufman's exact averages of the 8 x 8 torus (analysis/README.md). 8 comparisons with few graphs
// each: a false alarm at 6 standard errors of 12 graphs (11 degrees of freedom) has probability
// 9e-5 each.
TEST_CASE("a sweep gives the exact averages, from many graphs and from one") {
  const double t[] = {2.0, 2.4}, e[] = {-1.7456831703, -1.3372199279},
               c[] = {.714122603, 1.184149055};
  for (const int graphs : {12, 1}) {
    Workplace place;
    const json summary = sweep(
        place, "[lattice]\ndim = 2\nsizes = [8]\np = [0.0]\ngraphs = " + std::to_string(graphs) +
                   "\n[sampling]\nschedule = \"1:1\"\nmeasure = 400\nevery = 2\nequilibrate = 50\n"
                   "temperatures = [2.0, 2.4]\n[run]\ndevice = \"cpu\"\n");
    CHECK(summary["kind"] == "sweep");
    const json& size = summary["points"][0]["sizes"][0];
    CHECK(size["graphs"] == graphs);
    for (std::size_t k = 0; k < 2; ++k) {
      CHECK(size["temperatures"][k] == t[k]);
      CHECK(std::abs(z(size["energy"], k, e[k])) < 6);
      CHECK(std::abs(z(size["specific_heat"], k, c[k])) < 6);
      // <C>/N = <m^2>, from independent sums.
      const double m2 = size["m2"]["value"][k], fraction = size["cluster_fraction"]["value"][k];
      CHECK(std::abs(fraction - m2) <
            6 * std::hypot(size["m2"]["error"][k].get<double>(),
                           size["cluster_fraction"]["error"][k].get<double>()));
    }
    // e, |m| and m^2 at two temperatures for each graph and, if there are several, for all
    // together.
    const int of = size["graphs"].get<int>() > 1 ? size["graphs"].get<int>() + 1 : 1;
    CHECK(size["hot_cold"]["checks"] == 2 * 3 * of);
    CHECK(size["hot_cold"]["agree"] == true);
    CHECK(summary["points"][0]["warnings"].empty());
  }
}

// 2 uncorrelated measurements in 2 replicas: squares of averages would lower C and chi by a
// quarter, about 10 standard errors. Kaufman's C of the 8 x 8 torus; chi of the 4 x 4 torus
// (analysis/README.md). 2 comparisons at 4 standard errors: false alarms 1.3e-4.
TEST_CASE("C and chi of many graphs with few measurements are exact") {
  const auto average = [](std::uint32_t edge, double temperature) {
    StudyConfig config;
    config.engine = EngineKind::bytespin;
    config.replicas = 2;
    SizeData size;
    size.extents = {edge, edge};
    size.plan.temperatures = {temperature};
    size.plan.schedule = {1, 3};
    size.plan.equilibrate = 20;
    size.plan.measure = 2;
    size.plan.every = 10;
    size.samples.sites = edge * edge;
    TaskRunOptions run;
    run.engine.threads = 1;
    for (std::uint32_t g = 0; g < 800; ++g) {
      const TaskSpec spec = plan_task(config, 0, size.extents, g, size.plan, "sweep");
      size.samples.spec = spec.graph;
      size.samples.graphs.push_back(graph_sample(spec, run_task({spec}, run).data, {}));
    }
    return simulated_curves(size);
  };
  const Value c = average(8, 2.27).at("specific_heat", 0),
              chi = average(4, 3.0).at("susceptibility", 0);
  const double exact_c = kaufman(8, 1 / 2.27).specific_heat,
               exact_chi = 16 * (.450988140848 - .601291326039 * .601291326039) / 3;
  INFO("C = " << c.value << " +- " << c.error << ", exact " << exact_c << "; chi = " << chi.value
              << " +- " << chi.error << ", exact " << exact_chi);
  CHECK(std::abs(c.value - exact_c) < 4 * c.error);
  CHECK(std::abs(chi.value - exact_chi) < 4 * chi.error);
  CHECK(c.error < 0.04 * exact_c);
  CHECK(chi.error < 0.04 * exact_chi);
}

TEST_CASE("a grid: every combination once, an added p needs only its own tasks") {
  Workplace place;
  const auto text = [](const std::string& p) {
    return "[lattice]\ndim = [2, 3]\nsizes = [4, [6, 4]]\np = " + p +
           "\nrule = [\"rewire\", \"swap\"]\ngraphs = [1, 2]\n[sampling]\nschedule = [\"1:1\", "
           "\"0:2\"]\nmeasure = 4\nevery = 1\nequilibrate = 2\ntemperatures = {from = 2, to = 3, "
           "count = 3}\n[run]\ndevice = \"cpu\"\n";
  };
  const json summary = sweep(place, text("[0.0, 0.1]"));
  std::set<std::string> points;
  for (const auto& point : summary["points"]) {
    points.insert(point["label"].get<std::string>() + " " + point["p"].dump());
    CHECK(point["sizes"].size() == (point["dim"] == 2 ? 2 : 1));
  }
  CHECK(points.size() == 16);
  CHECK(points.count("3d-swap-0-2 0.1") == 1);
  // 2D: one graph of 4x4, two of 6x4; 3D: one of 4x4x4; for each p, rule and schedule.
  std::vector<std::string> problems;
  CHECK(stored_tasks(place / "study/tasks", problems).size() == 8 * (1 + 2 + 1));
  CHECK(lines(place.read("study/summary.csv")) == 1 + 8 * 3 * 3);

  place.write("s.toml", text("[0.0, 0.1, 0.2]"));
  const Output more = place.run("sweep s.toml --out study --no-plots");
  CHECK(more.status == 0);
  CHECK(more.err.find("16 tasks computed") != std::string::npos);
  CHECK(more.out.find("rows more in summary.csv") != std::string::npos);
  CHECK(place.run("sweep s.toml --out study --no-plots").err.find("\n0 tasks computed") !=
        std::string::npos);
}

TEST_CASE("automatic temperatures lie around the transition of each size") {
  Workplace place;
  const json summary = sweep(place,
                             "[lattice]\ndim = 2\nsizes = [8, 16]\np = [0.1]\ngraphs = 2\n"
                             "[sampling]\nmeasure = 10\n[run]\ndevice = \"cpu\"\n");
  for (const auto& size : summary["points"][0]["sizes"]) {
    const auto& u = size["binder"]["value"];
    REQUIRE(u.size() == 13);
    CHECK(u.front().get<double>() > 0.55);
    CHECK(u.back().get<double>() < 0.3);
  }
}

TEST_CASE("the fall of U, and the window around it") {
  CHECK(fall_of_binder({1, 2, 3}, {0.6, 0.5, 0.3}).value() == Approx(2.5));
  CHECK(fall_of_binder({1, 2, 3, 4}, {0.6, 0.3, 0.5, 0.3}).value() == Approx(3.5));
  CHECK(!fall_of_binder({1, 2}, {0.3, 0.2}));
  const auto window = sweep_temperatures(2.5, 0.5);
  CHECK(window.size() == 13);
  CHECK(window.front() == Approx(2.0));
  CHECK(window.back() == Approx(3.0));
  CHECK(sweep_temperatures(2, 5).front() > 0);
}

TEST_CASE("tc accepts one dimension and rule, sweep each schedule once, with clear errors") {
  Workplace place;
  for (const auto& [lattice, sampling, key] :
       {std::tuple{"dim = [2, 3]\nsizes = [4, 6]\np = [0.1]", "", "lattice.dim"},
        std::tuple{"dim = 2\nsizes = [4, 6]\np = [0.1]\nrule = [\"add\", \"swap\"]", "",
                   "lattice.rule"},
        std::tuple{"dim = 2\nsizes = [4, 6]\np = [0.1]", "schedule = [\"1:1\", \"1:2\"]",
                   "sampling.schedule"}}) {
    place.write("s.toml",
                std::string("[lattice]\n") + lattice + "\n[sampling]\n" + sampling + "\n");
    const Output output = place.run("tc s.toml --out study");
    CHECK(output.status == 64);
    CHECK(output.err.find(key) != std::string::npos);
    CHECK(lines(output.err) == 1);
  }
  place.write("s.toml",
              "[lattice]\ndim = 2\nsizes = [4]\np = [0.1, 0.2, 0.3]\n[sampling]\n"
              "schedule = [\"1:1\", \"1:2\", \"1:1\"]\n");
  const Output twice = place.run("sweep s.toml --out study");
  CHECK(twice.status == 64);
  CHECK(twice.err == "rewise: s.toml: sampling.schedule: 1:1 is given twice\n");
  place.write("s.toml",
              "[lattice]\ndim = 2\nsizes = [4]\np = [0.1]\n[sampling]\nmethod = \"crossings\"\n");
  const Output method = place.run("sweep s.toml --out study");
  CHECK(method.status == 64);
  CHECK(method.err ==
        "rewise: s.toml: sampling.method: tc only, because a sweep does not search for Tc\n");
}

TEST_CASE("a sweep of a frustrated model equilibrates by its own updates, not by Swendsen-Wang") {
  Workplace place;
  const json summary = sweep(place,
                             "[lattice]\ndim = 2\nsizes = [12]\np = [0.1]\ngraphs = 2\n[model]\n"
                             "couplings = \"pm\"\n[sampling]\nschedule = \"1:0\"\nmeasure = 20\n"
                             "temperatures = [0.6]\n[run]\ndevice = \"cpu\"\n");
  CHECK(summary["sampling"]["engine"] == "multispin");
  const json& size = summary["points"][0]["sizes"][0];
  CHECK(size["warm_up"] == 0);
  CHECK(size["equilibrate"] > 0);
}

TEST_CASE("a sweep prints crossings of overlaps only for couplings of both signs without a field") {
  const auto crossings = [](const std::string& model) {
    Workplace place;
    place.write("s.toml",
                "[lattice]\ndim = 2\nsizes = [4, 6]\np = [0.5]\ngraphs = 4\n[model]\n" + model +
                    "[sampling]\nschedule = \"1:0\"\nequilibrate = 300\nmeasure = 20\nevery = 2\n"
                    "temperatures = [1.0, 1.5, 2.0, 2.5]\n[run]\ndevice = \"cpu\"\n");
    const Output said = place.run("sweep s.toml --no-plots --out study");
    REQUIRE(said.status == 0);
    const auto at = said.out.find("Crossings of the overlaps");
    return at == std::string::npos ? "" : said.out.substr(at, said.out.find(':', at) - at);
  };
  const std::string glass =
      "Crossings of the overlaps of consecutive sizes, which tend to T_SG as the sizes grow";
  CHECK(crossings("couplings = \"pm\"\n") == glass);
  CHECK(crossings("couplings = \"pm\"\nnegative = 0.2\n").find("its Tc") != std::string::npos);
  CHECK(crossings("shortcut_strength = -1.0\n").find("its Tc") != std::string::npos);
  CHECK(crossings("couplings = \"antiferromagnet\"\n").empty());
  CHECK(crossings("couplings = \"pm\"\nfield = 0.2\n").empty());
}

TEST_CASE("the staggered magnetisation in sweep and run") {
  Workplace place;
  const std::string lattice = "[lattice]\ndim = 2\nsizes = [8]\np = [0.1]\ngraphs = 2\n",
                    sampling =
                        "[sampling]\nschedule = \"1:0\"\nequilibrate = 300\nmeasure = "
                        "60\nevery = 5\ntemperatures = [2.5, 5.0]\n",
                    cpu = "[run]\ndevice = \"cpu\"\n";
  const std::string model = "[model]\ncouplings = \"antiferromagnet\"\n";
  const json summary = sweep(place, lattice + model + sampling + cpu);
  const json& size = summary["points"][0]["sizes"][0];
  const auto at = [&](const char* name, int t) { return size[name]["value"][t].get<double>(); };
  CHECK(at("staggered_m2", 0) > 0.4);  // ordered at T = 2.5
  CHECK(at("m2", 0) < 0.05);
  CHECK(at("staggered_m2", 1) < at("staggered_m2", 0) / 2);
  CHECK(at("abs_staggered", 0) * at("abs_staggered", 0) < at("staggered_m2", 0));
  CHECK(at("staggered_m4", 0) > at("staggered_m2", 0) * at("staggered_m2", 0));
  CHECK(at("staggered_binder", 0) > at("staggered_binder", 1));
  CHECK(at("staggered_susceptibility", 0) > 0);
  const std::string csv = place.read("study/summary.csv");
  CHECK(csv.find(",staggered_binder,staggered_binder_error,staggered_susceptibility,") !=
        std::string::npos);

  const std::string run =
      "run --size 8 --p 0.1 --temperature 2.5 --schedule 1:0 --equilibrate 300 "
      "--measure 100 --device cpu --couplings ";
  const Output table = place.run(run + "antiferromagnet");
  INFO(table.err << table.out);
  CHECK(table.out.find("|m_s|") != std::string::npos);
  CHECK(table.out.find("chi_s") != std::string::npos);
  CHECK(place.run(run + "pm").out.find("m_s") == std::string::npos);
  const json asked = json::parse(place.run(run + "pm --staggered --json").out);
  CHECK(asked["results"][0].contains("staggered_m2"));
  const Output refused = place.run("run --size 8 --temperature 2.5 --staggered");
  CHECK(refused.status == 64);
  CHECK(refused.err.find("--staggered: the staggered magnetisation requires") != std::string::npos);
  Workplace other;
  const json without = sweep(other, lattice + model + sampling + "staggered = false\n" + cpu);
  CHECK_FALSE(without["points"][0]["sizes"][0].contains("staggered_m2"));
}

// The sum over all states of the 4 x 4 torus. 4 comparisons with 12 graphs at 6 standard errors:
// false alarms 4e-4. 4 with 32 replicas at 5 standard errors: 1e-4.
TEST_CASE("in a field: m with its sign and dm/dh are exact in sweep and run") {
  constexpr double h = 0.25;
  const auto exact = [](double temperature) {
    double sum = 0, m = 0, abs_m = 0, m2 = 0;
    for (const test::Torus::Level& level : test::torus().levels) {
      const auto bonds = static_cast<double>(level.bond_sum),
                 spins = static_cast<double>(level.magnetisation);
      const double weight = level.states * std::exp((bonds + h * spins - 32) / temperature);
      sum += weight;
      m += weight * spins / 16;
      abs_m += weight * std::abs(spins) / 16;
      m2 += weight * spins * spins / 256;
    }
    const auto variance = [&](double mean) { return m2 / sum - mean * mean / sum / sum; };
    return std::array{m / sum, 16 / temperature * variance(m), 16 / temperature * variance(abs_m)};
  };
  const double temperatures[] = {2.5, 4.0};
  Workplace place;
  const json summary = sweep(place,
                             "[lattice]\ndim = 2\nsizes = [4]\np = [0.0]\ngraphs = 12\n"
                             "[model]\nfield = 0.25\n[sampling]\nschedule = \"1:0\"\n"
                             "equilibrate = 200\nmeasure = 400\nevery = 4\n"
                             "temperatures = [2.5, 4.0]\n[run]\ndevice = \"cpu\"\n");
  const json& size = summary["points"][0]["sizes"][0];
  const std::string run =
      "run --size 4 --p 0 --temperature 2.5,4 --schedule 1:0 --equilibrate 200 --measure 2000 "
      "--every 4 --device cpu ";
  const json of_run = json::parse(place.run(run + "--field 0.25 --json").out)["results"];
  for (std::size_t t = 0; t < 2; ++t) {
    const auto [m, chi, of_abs_m] = exact(temperatures[t]);
    CHECK(std::abs(z(size["magnetisation"], t, m)) < 6);
    CHECK(std::abs(z(size["field_susceptibility"], t, chi)) < 6);
    const auto deviation = [&](const char* name, double value) {
      const json& one = of_run[t][name];
      return (one["value"].get<double>() - value) / one["error"].get<double>();
    };
    CHECK(std::abs(deviation("magnetisation", m)) < 5);
    CHECK(std::abs(deviation("field_susceptibility", chi)) < 5);
    CHECK(of_run[t]["magnetisation"]["tau"].get<double>() > 0);
    CHECK(chi - of_abs_m > 10 * of_run[t]["field_susceptibility"]["error"].get<double>());
  }
  CHECK(place.read("study/summary.csv")
            .find(",magnetisation,magnetisation_error,field_susceptibility,") != std::string::npos);
  CHECK(place.read("study/summary.txt").find("dm/dh") != std::string::npos);
  CHECK(place.read("study/summary.txt").find("Overlaps") == std::string::npos);
  CHECK(place.run(run + "--field-random pm").out.find("dm/dh") != std::string::npos);
  CHECK(place.run(run).out.find("dm/dh") == std::string::npos);
}

// `run` would reject each of these networks: the series are too short to determine tau, and few
// cycles were dropped before them.
TEST_CASE("a sweep of a spin glass with short series has no values at low temperatures") {
  const auto swept = [](int equilibrate, int measure) {
    Workplace place;
    return sweep(place, fmt::format("[lattice]\ndim = 2\nsizes = [8]\np = [0.2]\ngraphs = 12\n"
                                    "[model]\ncouplings = \"gaussian\"\n[sampling]\n"
                                    "schedule = \"1:0\"\nexchange = true\nequilibrate = {}\n"
                                    "measure = {}\nevery = 1\n"
                                    "temperatures = [0.3, 0.5, 0.8, 1.2, 2.0]\n"
                                    "[run]\ndevice = \"cpu\"\n",
                                    equilibrate, measure))["points"][0];
  };
  const json brief = swept(50, 40);
  CHECK(brief["sizes"][0]["overlap_m2"]["value"][0].is_null());
  CHECK(brief["sizes"][0]["overlap_m2"]["value"][4].is_number());
  CHECK(brief["warnings"].dump().find("40 measurements are too few to determine tau") !=
        std::string::npos);
  const json longer = swept(3000, 1000);
  CHECK(longer["sizes"][0]["hot_cold"]["refused"].empty());
}

TEST_CASE("tc of a spin glass: the same T_SG by one and two threads, stopped and continued") {
  const std::string study =
      "[lattice]\ndim = 2\nsizes = [4, 6, 8, 10]\np = [1.0]\nrule = \"swap\"\nparity = \"any\"\n"
      "graphs = 16\nmost_graphs = 64\n[model]\ncouplings = \"pm\"\n[sampling]\nschedule = "
      "\"1:0\"\nlocal = \"glauber\"\nexchange = true\ntemperatures = {from = 0.9, to = 2.4}\n"
      "equilibrate = 100\nmeasure = 40\nevery = 2\ntarget_error = 1e-3\n[run]\ndevice = "
      "\"cpu\"\n";
  Workplace place;
  place.write("s.toml", study);
  const auto run = [&](const std::string& options) {
    return place.run("tc s.toml --no-plots --json " + options);
  };
  const Output one = run("--out one --threads 1");
  INFO(one.err);
  REQUIRE(one.status == 0);
  const Output stopped = run("--out two --threads 2 --time-limit 0.3s");
  CHECK((stopped.status == 75 || stopped.status == 0));
  const Output two = run("--out two --threads 2");
  REQUIRE(two.status == 0);
  json first = json::parse(one.out), second = json::parse(two.out);
  for (json* summary : {&first, &second}) {
    for (const char* key : {"seconds", "device", "threads"}) summary->erase(key);
  }
  CHECK(first["points"] == second["points"]);
  const json& point = first["points"][0];
  CHECK(point["order"] == "spin-glass");
  CHECK(point["overlap_crossings"].size() == 6);  // three pairs of sizes, two observables
  CHECK(point["target"]["asked"] == 1e-3);
  CHECK(point["target"]["stopped"].is_string());
  CHECK(point["tc"].is_null() == (point["status"] != "ok"));
  CHECK(point["reasons"].empty() == (point["status"] == "ok"));
  // Each size has its own temperatures. Larger sizes have more of them.
  std::size_t before = 0;
  for (const json& size : point["sizes"]) {
    const auto temperatures = size["temperatures"].get<std::vector<double>>();
    CHECK(temperatures.front() == 0.9);
    CHECK(temperatures.back() == 2.4);
    CHECK(temperatures.size() >= std::max<std::size_t>(before, 6));
    before = temperatures.size();
  }
  CHECK(place.read("one/tc.csv").starts_with("p,tc,error,systematic,"));
}

TEST_CASE("tc rejects studies of couplings that neither crossings nor the tree condition support") {
  const auto refused = [](const std::string& change, const std::string& what) {
    Workplace place;
    std::string text =
        "[lattice]\ndim = 2\nsizes = [8, 12, 16]\np = [0.5]\nrule = \"swap\"\ngraphs = 8\n"
        "[model]\ncouplings = \"pm\"\n[sampling]\nschedule = \"1:0\"\nexchange = true\n"
        "temperatures = {from = 1, to = 2}\n";
    const auto colon = change.find('>');
    const std::string old = change.substr(0, colon);
    REQUIRE(text.find(old) != std::string::npos);
    text.replace(text.find(old), old.size(), change.substr(colon + 1));
    place.write("s.toml", text);
    const Output output = place.run("tc s.toml --no-plots");
    INFO(text << output.err);
    CHECK(output.status == 64);
    CHECK(output.err.find(what) != std::string::npos);
  };
  refused("\"pm\">\"pm\"\nnegative = 0.3", "couplings of mean 0");
  refused("\"pm\">\"pm\"\nfield = 0.5", "with a field");
  refused("[0.5]>[0.0]", "no transition above T = 0");
  refused("[8, 12, 16]>[8, 12]", "three sizes");
  refused("{from = 1, to = 2}>\"auto\"", "does not support spin glasses");
  refused("{from = 1, to = 2}>[1, 1.5, 2]", "four temperatures");
  refused("schedule = \"1:0\"\n>", "require a single schedule");
  refused("exchange = true\n>", "key 'count' is missing");
  refused("exchange = true\n>exchange = true\nmethod = \"both\"\n", "a single method");
  refused("couplings = \"pm\"\n>", "a range without a count");
}

TEST_CASE("run chooses temperatures at which replica exchange has the requested acceptance") {
  Workplace place;
  const auto accepted = [&](const std::string& options) {
    const Output output = place.run(
        "run --dim 3 --size 6 --couplings pm --schedule 1:0 --exchange --temperature "
        "1:2.5 --equilibrate 300 --measure 200 --every 2 --json " +
        options);
    INFO(output.err);
    REQUIRE(output.status == 0);
    const json result = json::parse(output.out);
    CHECK(result["results"].front()["temperature"] == 1);
    CHECK(result["results"].back()["temperature"] == 2.5);
    return result["exchange"]["accepted"].get<std::vector<double>>();
  };
  const auto shares = accepted("--threads 1");
  REQUIRE(shares.size() > 5);
  // The temperatures are chosen for an acceptance of 0.3 if energies are normally distributed;
  // their number is rounded up, which raises it. C comes from a scan of 100 measurements.
  for (const double share : shares) {
    CHECK(share > 0.22);
    CHECK(share < 0.45);
  }
  CHECK(accepted("--threads 2 --out t.h5") == shares);
  CHECK(place.run("run --size 8 --couplings pm --exchange --temperature 2:1").status == 64);
  CHECK(place.run("run --size 8 --couplings pm --temperature 1:2").status == 64);
}

TEST_CASE("replica exchange without a round trip is a warning of run and sweep") {
  const std::string none = "no replica went from the lowest to the highest temperature and back";
  Workplace place;
  const auto warnings_of = [&](const std::string& temperatures) {
    const Output output = place.run(
        "run --dim 3 --size 4 --couplings pm --schedule 1:0 --exchange --measure 300 --json "
        "--temperature " +
        temperatures);
    INFO(output.err);
    REQUIRE(output.status == 0);
    const json result = json::parse(output.out);
    const bool warned = output.err.find("warning: replica exchange: " + none) != std::string::npos;
    CHECK(warned == (result["exchange"]["round_trips"] == 0));
    CHECK(warned == (result["warnings"].dump().find(none) != std::string::npos));
    return warned;
  };
  CHECK(warnings_of("0.2,4"));
  CHECK(!warnings_of("1.2,1.6,2"));
  for (const bool far : {true, false}) {
    Workplace own;
    const json summary = sweep(
        own, fmt::format("[lattice]\ndim = 3\nsizes = [4]\np = [0]\ngraphs = 2\n[model]\n"
                         "couplings = \"pm\"\n[sampling]\nschedule = \"1:0\"\nexchange = true\n"
                         "equilibrate = 50\nmeasure = 300\ntemperatures = {}\n[run]\n"
                         "device = \"cpu\"\n",
                         far ? "[0.2, 4.0]" : "[1.2, 1.6, 2.0]"));
    const std::string warnings = summary["points"][0]["warnings"].dump();
    INFO(warnings);
    CHECK((warnings.find("on 2 of 2 graphs " + none) != std::string::npos) == far);
    const json& size = summary["points"][0]["sizes"][0];
    CHECK((size["exchange"]["round_trips"] == 0) == far);
    CHECK((size["exchange"]["trips_per_1000_cycles"]["value"] == 0) == far);
    const std::size_t temperatures = size["temperatures"].size();
    const json& accepted = size["exchange_accepted"]["value"];
    REQUIRE(accepted.size() == temperatures);
    CHECK(accepted.back().is_null());
    if (far) continue;
    CHECK(accepted[0] > 0.2);
    CHECK(accepted[0] < 1);
    REQUIRE(size["overlap_tau"]["value"].size() == temperatures);
    // Half of `every` for independent measurements; the lowest temperature is the slowest.
    CHECK(size["overlap_tau"]["value"][2] >= 0.5 * size["every"].get<double>() * 0.9);
    CHECK(size["overlap_tau"]["value"][0] > size["overlap_tau"]["value"][2]);
    const std::string table = own.read("study/summary.txt"), csv = own.read("study/summary.csv");
    INFO(table);
    CHECK(table.find("Replica exchange: fraction of accepted") != std::string::npos);
    CHECK(table.find("T = 1.2 and 1.6") != std::string::npos);
    CHECK(table.find("tau(q^2)") != std::string::npos);
    CHECK(csv.find(",overlap_tau,overlap_tau_error,exchange_accepted,exchange_accepted_error\n") !=
          std::string::npos);
  }
}
