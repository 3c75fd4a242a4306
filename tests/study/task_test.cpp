// Tasks through the library: their ids, and measurements over the stated numbers of cycles.
#include "src/study/task.hpp"

#include <algorithm>
#include <cmath>

#include "graphs/colouring.hpp"
#include "src/base/error.hpp"
#include "src/results/task_results.hpp"
#include "tests/study/small_task.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/content_digest.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using oracle::one_thread;
using oracle::small_task;

TEST_CASE("the id of a task depends on the settings that determine its results") {
  const TaskSpec spec = small_task();
  const std::string id = task_id(spec);
  CHECK(id.size() == 16);
  TaskSpec more = spec;
  more.measure = 99;
  CHECK(task_id(more) == id);
  for (int change = 0; change < 12; ++change) {
    TaskSpec other = spec;
    if (change == 0) other.graph.seed = 4;
    if (change == 1) other.graph.p = 0.2;
    if (change == 2) other.graph.extents = {6, 8};
    if (change == 3) other.temperatures = {2.3};
    if (change == 4) other.seed = 2;
    if (change == 5) other.every = 4;
    if (change == 6) other.schedule = {2, 1};
    if (change == 7) other.engine = EngineKind::bytespin;
    if (change == 8) other.equilibrate = 11;
    if (change == 9) other.staggered = true;
    if (change == 10) other.schedule.exchange = true;
    if (change == 11) other.schedule.houdayer = true;
    INFO("change " << change);
    CHECK(task_id(other) != id);
  }
}

TEST_CASE("series have the right shape, and cluster sums exclude the equilibration") {
  for (const EngineKind engine : {EngineKind::multispin, EngineKind::bytespin}) {
    TaskSpec spec = small_task();
    spec.engine = engine;
    const TaskResult result = run_task({spec}, one_thread());
    REQUIRE(result.outcome == TaskOutcome::finished);
    CHECK(result.data.bond_sum.time() == 12);
    CHECK(result.data.bond_sum.replicas() == 32);
    CHECK(result.data.bond_sum.temperatures() == 2);
    CHECK(result.data.cluster_size.time() == 12);
    // A measurement sums 6 Wolff updates, each of which flips 1 to 48 sites.
    for (const auto sum : result.data.cluster_size.values().wide()) {
      CHECK(sum >= 6);
      CHECK(sum <= 6 * 48);
    }
  }
}

TEST_CASE("the number of cycles per call of the engine changes nothing") {
  // The number of cycles per call depends on the measured speed, so it differs between two runs.
  const TaskSpec spec = small_task();
  const TaskData first = run_task({spec}, one_thread()).data;
  TaskRunOptions two = one_thread();
  two.engine.threads = 2;
  CHECK(test::content_digest(first) == test::content_digest(run_task({spec}, two).data));
}

TEST_CASE("results: energy is minus the bond sum per site, tau is in cycles") {
  const TaskSpec spec = small_task();
  const TaskData data = run_task({spec}, one_thread()).data;
  const auto results = results_of(data);
  REQUIRE(results.size() == 2);
  double sum = 0;
  for (std::size_t t = 0; t < data.bond_sum.time(); ++t) {
    for (std::size_t r = 0; r < 32; ++r) sum -= static_cast<double>(data.bond_sum.at(1, t, r));
  }
  CHECK(results[1].estimate("energy").value == Approx(sum / (48.0 * 12 * 32)));
  CHECK(results[1].tau.at("energy").value > 0.4 * 3);
  CHECK(tau_of_order(data, 1).value == Approx(results[1].tau.at("m2").value));
}

TEST_CASE("antiferromagnets measure the staggered magnetisation, other models on request") {
  const auto with_couplings = [](CouplingKind kind) {
    Model model;
    model.interactions.couplings = kind;
    return model;
  };
  const Model antiferromagnet = with_couplings(CouplingKind::antiferromagnet);
  CHECK(measures_staggered({}, antiferromagnet, nullptr, ""));
  CHECK_FALSE(measures_staggered(false, antiferromagnet, nullptr, ""));
  CHECK_FALSE(measures_staggered({}, Model{}, nullptr, ""));
  CHECK_FALSE(measures_staggered({}, with_couplings(CouplingKind::plus_minus), nullptr, ""));
  CHECK(measures_staggered(true, with_couplings(CouplingKind::plus_minus), nullptr, ""));
  Model potts = antiferromagnet;
  potts.kind = ModelKind::potts;
  CHECK_FALSE(measures_staggered({}, potts, nullptr, ""));
  const Graph triangle = imported_graph(3, {{0, 0, 1}, {1, 1, 2}, {2, 2, 0}}, "triangle");
  const Graph chain = imported_graph(3, {{0, 0, 1}, {1, 1, 2}}, "chain");
  CHECK_FALSE(measures_staggered({}, antiferromagnet, &triangle, ""));
  CHECK(measures_staggered({}, antiferromagnet, &chain, ""));
  const auto requires_what = [](const Model& model, const Graph* graph, const char* what) {
    oracle::expect(ExitCode::usage,
                   std::string("--staggered: the staggered magnetisation requires ") + what,
                   [&] { measures_staggered(true, model, graph, "--staggered"); });
  };
  requires_what(Model{}, nullptr, "couplings or fields");
  requires_what(potts, nullptr, "Ising spins");
  requires_what(antiferromagnet, &triangle, "a graph of two sublattices");
}

TEST_CASE("results: the staggered observables follow from the series") {
  TaskSpec spec = small_task();
  spec.model.interactions.couplings = CouplingKind::antiferromagnet;
  spec.schedule = {1, 0};
  const TaskData without = run_task({spec}, one_thread()).data;
  CHECK(without.staggered.empty());
  CHECK_FALSE(results_of(without)[0].values.contains("abs_staggered"));
  spec.staggered = true;
  const TaskData data = run_task({spec}, one_thread()).data;
  CHECK(data.bond_sum == without.bond_sum);
  CHECK(data.provenance.at("trajectory_hash") == without.provenance.at("trajectory_hash"));
  REQUIRE(data.staggered.time() == 12);
  const double count = 12 * 32, sites = 48;
  double first = 0, second = 0, fourth = 0, pairs = 0;
  for (std::size_t r = 0; r < 32; ++r) {
    double mean = 0;
    for (std::size_t t = 0; t < 12; ++t) {
      const double m = std::abs(static_cast<double>(data.staggered.at(1, t, r))) / sites;
      mean += m / 12;
      second += m * m / count;
      fourth += m * m * m * m / count;
    }
    pairs -= mean * mean / (32 * 31);
    first += mean / 32;
  }
  pairs += first * first * 32 / 31;
  const TemperatureResult at = results_of(data)[1];
  CHECK(at.estimate("abs_staggered").value == Approx(first));
  CHECK(at.estimate("staggered_m2").value == Approx(second));
  CHECK(at.estimate("staggered_m4").value == Approx(fourth));
  CHECK(at.estimate("staggered_susceptibility").value ==
        Approx(sites * (second - pairs) / at.temperature));
  // The jackknife corrects the ratio for bias.
  CHECK(at.estimate("staggered_binder").value ==
        Approx(1 - fourth / (3 * second * second)).epsilon(0.1));
  CHECK(at.tau.at("staggered_m2").value > 0.4 * 3);
  CHECK(at.longest_tau.value >= at.tau.at("staggered_m2").value);
}

TEST_CASE("results: cluster sums that may exceed 64 bits give no moments") {
  TaskSpec spec = small_task();
  spec.cluster = ClusterUpdate::swendsen_wang;
  TaskData data = run_task({spec}, one_thread()).data;
  CHECK(cluster_sums_fit(data, 0));
  const auto sites = std::int64_t{1} << 30;
  data.graph.sites = static_cast<std::uint64_t>(sites);
  // 16 updates. If one cluster contains all sites, the sum is 16 * 2^60 = 2^64.
  data.configuration["sampling.every"] = "8";
  const auto with_m = [&](std::int64_t m) {
    data.magnetisation = Series<std::int64_t>(2, spec.replicas);
    std::vector<std::int64_t> row(2 * spec.replicas, -m);
    std::fill_n(row.begin(), spec.replicas, 0);  // the first temperature
    for (std::uint64_t t = 0; t < spec.measure; ++t) data.magnetisation.append(row);
  };
  with_m(sites - 1);
  CHECK(cluster_sums_fit(data, 1));
  data.configuration["sampling.every"] = "16";
  CHECK_FALSE(cluster_sums_fit(data, 1));
  CHECK(cluster_moments_of(data, 1, 1).empty());
  CHECK(improved_less_plain(data, 1).rows() == 0);
  CHECK(cluster_sums_fit(data, 0));
  with_m(sites / 8);
  CHECK(cluster_sums_fit(data, 1));
}

TEST_CASE("the content of an imported graph is part of the id of a task") {
  TaskSpec spec = small_task();
  spec.imported = std::make_shared<const Graph>(build_graph(spec.graph));
  const auto configuration = task_configuration(spec);
  CHECK(configuration.at("graph.hash") == graph_hash(*spec.imported));
  CHECK(configuration.count("lattice.p") == 0);
  // A built graph and an equal imported graph give the same trajectory.
  TaskSpec built = small_task();
  CHECK(run_task({spec}, one_thread()).data.bond_sum ==
        run_task({built}, one_thread()).data.bond_sum);
}
