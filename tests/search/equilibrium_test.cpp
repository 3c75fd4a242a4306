// Equilibrium: comparison of hot and cold starts, warm-ups of a task, and studies that prove
// equilibrium or give no value.
#include "src/search/equilibrium.hpp"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "src/multispin/multispin.hpp"
#include "src/results/task_results.hpp"
#include "src/search/size_curves.hpp"
#include "tests/analysis/synthetic.hpp"
#include "tests/study/small_task.hpp"
#include "tests/study/study_pieces.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::oracle;
using nlohmann::json;

namespace {

TaskSpec wolff_task() {
  TaskSpec spec = small_task();
  spec.equilibrate = 0;
  return spec;
}

// A task without measurements.
TaskData empty_task(std::vector<double> temperatures, std::uint32_t replicas) {
  TaskData data;
  data.configuration["sampling.start"] = "mixed";
  data.graph.sites = 1000;
  data.temperature = std::move(temperatures);
  data.replicas = replicas;
  data.shape_series();
  return data;
}

// The series of a task at one temperature. `hot` is added to every measurement of the replicas with
// hot starts.
TaskData made(std::uint64_t seed, double hot) {
  TaskData data = empty_task({2.5}, 32);
  test::Dice dice(seed);
  for (int t = 0; t < 20; ++t) {
    std::vector<std::int64_t> energy, magnetisation;
    for (std::uint32_t r = 0; r < 32; ++r) {
      const double shift = starts_hot(Start::mixed, r) ? hot : 0;
      energy.push_back(std::lround(1000 + 40 * dice.normal()));
      magnetisation.push_back(std::lround(300 + 40 * (dice.normal() + shift)));
    }
    data.bond_sum.append(energy);
    data.magnetisation.append(magnetisation);
  }
  return data;
}

// A pilot in equilibrium whose tau_int of m^2 is `tau` cycles at 2.5 and half of that at 2.4.
TaskData pilot(std::uint64_t seed, double tau, std::uint64_t cycles) {
  TaskData data = empty_task({2.4, 2.5}, 32);
  test::Dice dice(seed);
  std::vector<double> state(64);
  for (double& x : state) x = dice.normal();
  for (std::uint64_t t = 0; t < cycles; ++t) {
    std::vector<std::int64_t> energy, magnetisation;
    for (std::size_t i = 0; i < state.size(); ++i) {
      const double here = i < 32 ? tau / 2 : tau;  // AR(1): tau_int = (1 + a) / (1 - a) / 2
      const double a = (2 * here - 1) / (2 * here + 1);
      state[i] = a * state[i] + std::sqrt(1 - a * a) * dice.normal();
      energy.push_back(std::lround(1000 + 40 * dice.normal()));
      magnetisation.push_back(std::lround(500 + 20 * state[i]));
    }
    data.bond_sum.append(energy);
    data.magnetisation.append(magnetisation);
  }
  return data;
}

}  // namespace

// Level 0.01: at most 1% of 2000 studies of 4 graphs in equilibrium are rejected (Bonferroni); more
// than 36 with probability 3e-4.
TEST_CASE("halves of the same distribution agree, others do not") {
  int refused = 0;
  for (std::uint64_t study = 0; study < 2000; ++study) {
    std::vector<HotColdDifference> graphs;
    for (std::uint64_t g = 0; g < 4; ++g)
      graphs.push_back(hot_cold_difference(made(4 * study + g, 0), 0, 20));
    refused += compare_halves(graphs, 0.01).agree ? 0 : 1;
  }
  CHECK(refused <= 36);
  CHECK(refused >= 1);

  // A difference that is not significant for single graphs, but for all together.
  std::vector<HotColdDifference> graphs;
  for (std::uint64_t g = 0; g < 64; ++g)
    graphs.push_back(hot_cold_difference(made(g, 0.12), 0, 20));
  const HotColdTest together = compare_halves(graphs);
  CHECK(!together.agree);
  CHECK(together.worst_z > 5);
  CHECK(compare_halves(std::span(graphs).first(4)).agree);
  // One graph out of equilibrium.
  std::vector<HotColdDifference> one;
  for (std::uint64_t g = 0; g < 64; ++g)
    one.push_back(hot_cold_difference(made(g, g == 7 ? 1 : 0), 0, 20));
  CHECK(!compare_halves(one).agree);
  // A later part of the series gives other numbers.
  TaskData late = made(1, 0);
  CHECK(hot_cold_difference(late, 10, 10).difference(0, 0) !=
        hot_cold_difference(late, 0, 20).difference(0, 0));
  CHECK(compare_halves(std::span<const HotColdDifference>()).checks == 0);
}

// Energies and magnetisations of 4 replicas with few possible values: averages of two replicas are
// often equal. With the variance of the two pairs alone, nearly 1% of such studies would be
// rejected.
TEST_CASE("replicas whose averages are equal by chance do not differ infinitely") {
  int refused = 0, equal = 0;
  for (std::uint64_t study = 0; study < 2000; ++study) {
    TaskData data = empty_task({2.5}, 4);
    test::Dice dice(study);
    for (int t = 0; t < 2; ++t) {
      std::vector<std::int64_t> energy, magnetisation;
      for (int r = 0; r < 4; ++r) {
        energy.push_back(1000 + 4 * std::lround(3 * dice.normal()));
        magnetisation.push_back(500 + 2 * std::lround(3 * dice.normal()));
      }
      data.bond_sum.append(energy);
      data.magnetisation.append(magnetisation);
    }
    const HotColdDifference halves = hot_cold_difference(data, 0, 2);
    equal += data.bond_sum.at(0, 0, 0) + data.bond_sum.at(0, 1, 0) ==
             data.bond_sum.at(0, 0, 2) + data.bond_sum.at(0, 1, 2);
    refused += compare_halves(std::span(&halves, 1)).agree ? 0 : 1;
  }
  CHECK(equal > 20);  // pairs of one start, for the energy
  CHECK(refused == 0);
}

TEST_CASE("a warm-up has its own updates, is part of the task id, and its sums are dropped") {
  for (const EngineKind engine : {EngineKind::multispin, EngineKind::bytespin}) {
    TaskSpec plain = wolff_task(), warm = wolff_task();
    plain.engine = warm.engine = engine;
    warm.warm_up.cycles = 5;
    CHECK(task_id(plain) != task_id(warm));
    CHECK(task_configuration(plain).count("sampling.warm_up") == 0);
    CHECK(task_configuration(warm).at("sampling.warm_up_cluster") == "swendsen-wang");
    const TaskData data = run_task({warm}, one_thread()).data;
    CHECK(data.bond_sum.time() == 12);
    CHECK(data.state.cycles == 5 + 12 * 3);
    CHECK(data.state.step == 5 * 2 + 12 * 3 * 3);
    CHECK(data.cluster_quartic_low.empty());  // sums of Wolff, not of Swendsen-Wang
    for (std::size_t r = 0; r < 32; ++r) CHECK(data.cluster_size.at(0, 0, r) <= 3 * 2 * 48);
  }
}

TEST_CASE("an interrupted warm-up continues to the same bits") {
  Workplace place;
  TaskSpec spec = wolff_task();
  spec.warm_up.cycles = 400;
  spec.equilibrate = 2;
  spec.measure = 3;
  const TaskData whole = run_task({spec}, one_thread()).data;
  const TaskPaths paths = task_paths(place / "study", task_id(spec));
  std::filesystem::create_directories(paths.finished.parent_path());
  int pieces = 0;
  TaskResult result;
  do {
    TaskRunOptions run = one_thread();
    run.stop = StopToken(std::chrono::duration<double>(0.004 + 0.001 * pieces));
    result = run_task({spec, paths}, run);
    ++pieces;
  } while (result.outcome == TaskOutcome::interrupted && pieces < 2000);
  CHECK(result.outcome == TaskOutcome::finished);
  CHECK(pieces > 2);
  CHECK(result.data.bond_sum == whole.bond_sum);
  CHECK(result.data.cluster_size == whole.cluster_size);
  CHECK(result.data.provenance.at("trajectory_hash") == whole.provenance.at("trajectory_hash"));
}

TEST_CASE("discarding doubles the measurements, at most three times") {
  SizePlan plan;
  plan.measure = 20;
  std::vector<std::uint64_t> discarded, measured;
  while (discard_more(plan)) {
    discarded.push_back(plan.discard);
    measured.push_back(plan.measure);
  }
  CHECK(discarded == std::vector<std::uint64_t>{20, 60, 140});
  CHECK(measured == std::vector<std::uint64_t>{40, 80, 160});
}

TEST_CASE("measurements of the first five tau_int are dropped, otherwise there is a warning") {
  SizeData size;
  size.extents = {16, 16};
  size.plan.temperatures = {2.4, 2.5};
  size.plan.equilibrate = 16;
  size.plan.measure = 20;
  size.plan.every = 2;
  for (const double tau : {7.0, 5.0}) {  // mean 6 at 2.5
    GraphSample graph;
    graph.tau.resize(2);
    graph.tau << 3, tau;
    size.samples.graphs.push_back(graph);
  }
  StudyConfig config;
  CHECK(longest_tau(size) == 6);
  CHECK(measurements_to_drop(size) == 7);  // (5 * 6 - 16) cycles
  CHECK(equilibrium_warning(config, size) ==
        "16x16: 16 cycles of equilibration are only 2.7 tau_int of m^2; raise sampling.measure");
  config.equilibrate = 16;
  CHECK(equilibrium_warning(config, size).find("raise sampling.equilibrate") != std::string::npos);
  CHECK(discard(size.plan, measurements_to_drop(size)));
  CHECK(size.plan.discard == 7);
  CHECK(measurements_to_drop(size) == 0);
  CHECK(equilibrium_warning(config, size).empty());
  CHECK_FALSE(discard(size.plan, 0));
  size.plan.discard = 0;
  size.plan.equilibrate = 0;
  size.plan.warm_up.cycles = 8;  // other updates, to which tau_int does not apply
  CHECK(measurements_to_drop(size) == 0);
}

// tau_int of 4, 4, 4 and 12 cycles. The check of all graphs requires five times the mean, which is
// 6. The longest would give 66 cycles.
TEST_CASE("equilibration goes by the mean tau_int of the pilots") {
  SizePlan plan;
  plan.temperatures = {2.4, 2.5};
  plan.schedule = {1, 1};
  StudyConfig config;
  EquilibriumSearch search;
  search.plan = &plan;
  search.p = 0.1;
  search.sites = 1000;
  search.graphs = 4;
  search.pilot = [](std::uint32_t, const SizePlan& pilot_plan) {
    PlannedTask task;
    task.spec.measure = pilot_plan.measure;
    return task;
  };
  const auto run = [](const std::vector<PlannedTask>& tasks, const TaskHandler& handle) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      handle(i, pilot(i, i == 3 ? 12 : 4, tasks[i].spec.measure));
    }
  };
  establish_equilibrium(config, std::span(&search, 1), run);
  CHECK(search.failed.empty());
  CHECK(plan.equilibrate >= 5 * 6);
  CHECK(plan.equilibrate <= 50);
  CHECK(plan.every >= 5);
  CHECK(plan.every <= 8);
}

// Far too few cycles of Wolff updates only, which hardly change hot starts.
TEST_CASE("a study out of equilibrium gives no value, and says why and what to do") {
  Workplace place;
  const std::string lattice =
      "[lattice]\ndim = 2\nsizes = [16, 24, 32]\np = [0.1]\ngraphs = 16\n[run]\ndevice = \"cpu\"\n"
      "[sampling]\nschedule = \"0:1\"\ncluster = \"wolff\"\nmeasure = 10\n";
  place.write("fixed.toml",
              lattice + "equilibrate = 5\nevery = 1\ntemperatures = [2.6, 2.7, 2.8, 2.9]\n");
  const Output fixed = place.run("tc fixed.toml --out fixed --no-plots");
  INFO(fixed.err << fixed.out);
  REQUIRE(fixed.status == 0);
  const json refused = summary_of(place, "fixed")["points"][0];
  CHECK(refused["tc"].is_null());
  CHECK(refused["shift"].is_null());
  CHECK(refused["status"] == "not-equilibrated");
  CHECK(refused["reasons"][0].get<std::string>().find("raise sampling.equilibrate") !=
        std::string::npos);
  CHECK(fixed.out.find("no Tc (not-equilibrated)") != std::string::npos);
  CHECK(fixed.out.find("1 of 1 p without Tc: 0.1") != std::string::npos);
  CHECK(summary_of(place, "fixed")["local_exponents"].empty());

  // With automatic times the study warms up with Swendsen-Wang.
  place.write("auto.toml", lattice + "temperatures = [2.6, 2.7, 2.8, 2.9]\n");
  const Output found = place.run("tc auto.toml --out auto --no-plots");
  INFO(found.err << found.out);
  REQUIRE(found.status == 0);
  const json point = summary_of(place, "auto")["points"][0];
  for (const auto& size : point["sizes"]) {
    CHECK(size["hot_cold"]["agree"] == true);
    CHECK(size["hot_cold"]["checks"].get<int>() > 0);
    double longest = 0;
    for (const json& tau : size["tau"]["value"]) longest = std::max(longest, tau.get<double>());
    const double dropped = size["equilibrate"].get<double>() +
                           size["discarded"].get<double>() * size["every"].get<double>();
    CHECK((size["equilibrate"] == 0 || dropped >= 5 * longest));  // 0: there is a warm-up
  }
  CHECK(point["warnings"].dump().find("cycles of equilibration") == std::string::npos);
  CHECK(point["sizes"][2]["warm_up"].get<int>() > 0);
}

// Metropolis always flips sites without bonds, so those of a replica with cold start stay aligned
// (at Tc(1) and 256 x 256 sites, m^2 is 3.3(8)% larger than from hot starts). Swendsen-Wang updates
// randomise them.
TEST_CASE("sites without bonds: Metropolis keeps them aligned, Swendsen-Wang updates come first") {
  const Graph graph = build_graph({{32, 32}, 1.0, Rule::rewire, 1});
  std::vector<Site> lone;
  for (Site site = 0; site < graph.sites(); ++site) {
    if (graph.degree(site) == 0) lone.push_back(site);
  }
  REQUIRE(lone.size() >= 4);
  EngineSpec spec;
  spec.betas = {1 / 3.6};
  spec.replicas = 32;
  spec.start = Start::cold;
  const auto aligned = [&](Engine& engine) {
    int replicas = 0;
    std::vector<std::uint8_t> spins(graph.sites());
    for (std::uint32_t r = 0; r < 32; ++r) {
      engine.spins(0, r, spins);
      replicas += std::ranges::all_of(lone, [&](Site s) { return spins[s] == spins[lone[0]]; });
    }
    return replicas;
  };
  const auto sweeps = make_multispin_engine(graph, spec, {});
  sweeps->advance({1, 0}, 60);
  CHECK(aligned(*sweeps) == 32);
  spec.cluster = ClusterUpdate::swendsen_wang;
  const auto both = make_multispin_engine(graph, spec, {});
  both->advance({1, 1}, 2);
  CHECK(aligned(*both) < 16);

  Workplace place;
  place.write("s.toml",
              "[lattice]\ndim = 2\nsizes = [16]\np = [0.1, 1.0]\ngraphs = 4\n[run]\n"
              "device = \"cpu\"\n[sampling]\nschedule = \"4:1\"\ncluster = \"wolff\"\n"
              "temperatures = [3.6]\n");
  const Output output = place.run("sweep s.toml --out study --no-plots");
  INFO(output.err << output.out);
  REQUIRE(output.status == 0);
  const json points = summary_of(place)["points"];
  CHECK(points[0]["sizes"][0]["warm_up"] == 0);
  CHECK(points[1]["sizes"][0]["warm_up"] == 2);
  CHECK(points[1]["sizes"][0]["equilibrate"].get<int>() > 0);

  // The warning depends on the rule of the row.
  place.write("rules.toml",
              "[lattice]\ndim = 2\nsizes = [8]\np = [1.0]\nrule = [\"add\", \"rewire\"]\n"
              "graphs = 2\n[run]\ndevice = \"cpu\"\n[sampling]\nschedule = \"1:0\"\n"
              "temperatures = [4]\nequilibrate = 20\nmeasure = 20\nevery = 1\n");
  const Output rules = place.run("sweep rules.toml --out rules --no-plots");
  INFO(rules.err << rules.out);
  CHECK(rules.out.find("rewire: 8x8: sites without bonds") != std::string::npos);
  CHECK(rules.out.find("add: 8x8: sites without bonds") == std::string::npos);
}

TEST_CASE("one dimension: no transition at p = 0, found without tasks, and one at p > 0") {
  Workplace place;
  place.write("s.toml",
              "[lattice]\ndim = 1\nsizes = [32, 48, 64]\np = [0.0, 0.5]\ngraphs = 8\n[run]\n"
              "device = \"cpu\"\n[sampling]\nschedule = \"1:1\"\n");
  const Output output = place.run("tc s.toml --out study --no-plots");
  INFO(output.err << output.out);
  REQUIRE(output.status == 0);
  const json summary = summary_of(place);
  const json& regular = summary["points"][0];
  CHECK(regular["tc"].is_null());
  CHECK(regular["status"] == "no-transition");
  CHECK(regular["sizes"].empty());
  CHECK(output.out.find("p = 0: no Tc (no-transition)") != std::string::npos);
  CHECK(summary["tc0"].is_null());
  CHECK(summary["points"][1]["sizes"].size() == 3);
  CHECK(summary["points"][1]["crossings"].size() == 7);
  CHECK(place.has("study/summary.csv"));
}
