// target_error of `tc`: graphs, measurements or sizes are added depending on the source of the
// error, and the result does not depend on interruptions or on the number of processes.
#include "src/search/tc/crossings_target.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/analysis/transition.hpp"
#include "tests/study/study_pieces.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sampling.hpp"

using namespace rewise;
using namespace rewise::oracle;
using nlohmann::json;
using test::TransitionModel;

namespace {

StudyConfig config_of(double target) {
  StudyConfig config;
  config.p = {0.1};
  config.sizes = {{16, 16}, {32, 32}, {64, 64}};
  config.graphs = {40, 40, 40};
  config.target_error = target;
  config.more_sizes = 0;
  return config;
}

// Synthetic graphs with a mean-field transition at 2.5, a known spread between graphs, and known
// noise.
WindowPoint point_of(const StudyConfig& config, const TransitionModel& model, std::uint64_t seed,
                     Eigen::Index graphs = 40) {
  test::Dice dice(seed);
  WindowPoint point;
  point.p = 0.1;
  for (const auto& extents : config.sizes) {
    SizeData size;
    size.extents = extents;
    size.plan = {{{1, 1}}, {2.4, 2.44, 2.48, 2.52, 2.56, 2.6}, 60, 20, 5, {}, 0};
    const double sites = extents[0] * extents[1], half = 1.6 / std::sqrt(sites);
    size.samples.sites = sites;
    size.samples.grid = temperature_grid(2.5 - half, 2.5 + half, 21);
    size.samples.spec.extents = extents;
    size.samples.spec.p = 0;  // no control variates
    TransitionModel noise = model;
    noise.spread = 0;
    const MomentTable table = test::make_table(model, sites, graphs, size.samples.grid, dice);
    const MomentTable a = test::make_table(noise, sites, graphs, size.samples.grid, dice),
                      b = test::make_table(noise, sites, graphs, size.samples.grid, dice);
    for (Eigen::Index g = 0; g < graphs; ++g) {
      GraphSample sample;
      sample.fine_grid.resize(table.temperature.size(), kMomentCount);
      sample.thermal_noise.resize(table.temperature.size(), kMomentCount);
      for (Eigen::Index m = 0; m < kMomentCount; ++m) {
        const auto k = static_cast<std::size_t>(m);
        sample.fine_grid.col(m) = table.table[k].row(g).transpose();
        sample.thermal_noise.col(m) =
            (a.table[k].row(g) - b.table[k].row(g)).transpose() / std::sqrt(2.0);
      }
      // No spread of m^2, so that U is not corrected for it: the U of this model differs strongly
      // from mean field away from Tc.
      sample.simulated = MomentRows::Ones(6, Eigen::Index{kMomentCount});
      sample.m2_pair = Eigen::ArrayXd::Ones(6);
      sample.cluster_fraction = Eigen::ArrayXd::Constant(6, 0.01);
      sample.measurements = 20;
      size.samples.graphs.push_back(std::move(sample));
    }
    point.sizes.push_back(std::move(size));
  }
  return point;
}

// `more`: further lines of [sampling].
std::string study(double target, const std::string& p, const std::string& more = "") {
  return "[study]\nname = \"tiny\"\nseed = 5\n[lattice]\ndim = 2\nsizes = [8, 12, 16]\np = [" + p +
         "]\ngraphs = 16\nmore_sizes = 0\n[sampling]\nequilibrate = 10\nevery = 1\nmeasure = 4\n"
         "schedule = \"1:1\"\n" +
         more + "target_error = " + std::to_string(target) + "\n[run]\ndevice = \"cpu\"\n";
}

double added(const json& point, const char* key) {
  double sum = 0;
  for (const auto& size : point["target"]["sizes"]) sum += size[key].get<double>();
  return sum;
}

}  // namespace

TEST_CASE("a lax target is reached at once, a strict one grows the work fourfold at most") {
  const StudyConfig lax = config_of(0.5);
  const GrowthStep done = next_step(lax, point_of(lax, {}, 1));
  CHECK(done.reached);
  CHECK(done.stopped.empty());
  CHECK(done.error < 0.5);
  double reached = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(done.thermal[k] >= 0);
    reached += done.share[k];
  }
  CHECK(reached == Approx(1));

  const StudyConfig strict = config_of(1e-6);
  const WindowPoint point = point_of(strict, {}, 1);
  const GrowthStep step = next_step(strict, point);
  CHECK(step.error == done.error);
  CHECK(!step.reached);
  CHECK(step.stopped.empty());
  CHECK(!step.another_size);
  double before = 0, after = 0, shares = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(step.members[k] >= 40);
    CHECK(step.measurements[k] >= 20);
    ErrorSource source = error_source(strict, point.sizes[k]);
    before += source.work();
    source.members = step.members[k];
    source.measurements = step.measurements[k];
    after += source.work();
    shares += step.share[k];
  }
  CHECK(after > 3.5 * before);
  CHECK(after < 4.5 * before);
  CHECK(shares == Approx(1));
  CHECK(step.work_left > 100);
  // The step depends on the graphs only.
  CHECK(next_step(strict, point_of(strict, {}, 1)).members == step.members);
}

TEST_CASE("spread between graphs adds graphs, thermal noise adds measurements") {
  const StudyConfig config = config_of(1e-5);
  TransitionModel spread;
  spread.spread = 0.3;
  spread.noise = 1e-4;
  const GrowthStep graphs = next_step(config, point_of(config, spread, 2));
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(graphs.measurements[k] == 20);
    CHECK(graphs.thermal[k] < 0.1);
  }
  TransitionModel noise;
  noise.spread = 0;
  noise.noise = 0.02;
  const WindowPoint noisy = point_of(config, noise, 2);
  const GrowthStep longer = next_step(config, noisy);
  bool measures_longer = false;
  for (std::size_t k = 0; k < 3; ++k) {
    // Variances of 40 graphs have errors of about 30%.
    if (longer.share[k] > 0.01) CHECK(longer.thermal[k] > 0.5);
    measures_longer = measures_longer || longer.measurements[k] > 20;
  }
  CHECK(measures_longer);
}

TEST_CASE("graphs with few measurements are measured longer if that lowers the error") {
  const StudyConfig config = config_of(1e-5);
  TransitionModel noise;
  noise.spread = 0;
  noise.noise = 0.02;
  WindowPoint point = point_of(config, noise, 2);
  for (SizeData& size : point.sizes) size.plan.measure = 4;
  const GrowthStep step = next_step(config, point);
  for (std::size_t k = 0; k < 3; ++k) {
    if (step.share[k] > 0.2) CHECK(step.measurements[k] >= 8);
  }
}

TEST_CASE("a target for a p without crossings is missed, and the study says why") {
  for (const auto& [lattice, why] :
       {std::pair{"dim = 1\nsizes = [16, 24, 32]\np = [0.0]", "no transition at p = 0"},
        {"dim = 2\nsizes = \"auto\"\np = [1e-9]", "too few shortcuts for crossings"}}) {
    Workplace place;
    place.write("s.toml", std::string("[lattice]\n") + lattice +
                              "\n[sampling]\ntarget_error = 0.01\nmethod = \"crossings\"\n[run]\n"
                              "device = \"cpu\"\n");
    const Output output = place.run("tc s.toml --out study --no-plots");
    INFO(output.err << output.out);
    REQUIRE(output.status == 0);
    const json target = summary_of(place)["points"][0]["target"];
    CHECK(target["asked"] == 0.01);
    CHECK(target["error"].is_null());
    CHECK(target["reached"] == false);
    REQUIRE(target["stopped"].is_string());
    CHECK(target["stopped"].get<std::string>().find(why) != std::string::npos);
    CHECK(output.out.find("MISSED: ") != std::string::npos);
    CHECK(output.out.find("not yet") == std::string::npos);
  }
}

TEST_CASE("limits and a bad extrapolation end the rounds, with the reason") {
  StudyConfig config = config_of(1e-6);
  config.most_graphs = 40;
  TransitionModel model;
  model.noise = 1e-6;  // more measurements would not help
  const GrowthStep capped = next_step(config, point_of(config, model, 3));
  CHECK(!capped.reached);
  CHECK(capped.stopped == "lattice.most_graphs = 40 is reached");

  // The correction causes a systematic error above the target: a larger size is added if allowed.
  StudyConfig far = config_of(5e-6);
  TransitionModel bent;
  bent.spread = 0.01;
  bent.noise = 1e-4;
  bent.correction = 6;
  far.more_sizes = 1;
  const WindowPoint point = point_of(far, bent, 4);
  CHECK(next_step(far, point).another_size);
  far.more_sizes = 0;
  far.most_graphs = 40;  // otherwise graphs of the largest size would be added
  // Here the statistical error is larger than the systematic one, and can still be lowered.
  const GrowthStep noisy = next_step(far, point);
  CHECK(!noisy.reached);
  CHECK(noisy.stopped.find("larger sizes are needed") == std::string::npos);
  bent.spread = 1e-3;
  const GrowthStep stuck = next_step(far, point_of(far, bent, 4));
  CHECK(!stuck.reached);
  CHECK(!stuck.another_size);
  CHECK(stuck.stopped.find("larger sizes are needed") != std::string::npos);
}

TEST_CASE("a study reaches its target and lists what was added") {
  struct Case {
    const char* p;
    double target, less;
    const char* added;  // measurements of equal graphs (p = 0), more graphs if rewired
  };
  for (const Case& c :
       {Case{"0.0", 7e-3, 9e-3, "measurements_added"}, Case{"0.3", 7e-3, 9e-3, "graphs_added"}}) {
    Workplace place;
    place.write("s.toml", study(c.target, c.p));
    const Output output = place.run("tc s.toml --out study --no-plots");
    INFO(output.err << output.out);
    REQUIRE(output.status == 0);
    CHECK(output.out.find("Target: a relative error of 0.0") != std::string::npos);
    CHECK(output.err.find("round 1: relative error") != std::string::npos);
    const json summary = summary_of(place);
    CHECK(summary["sampling"]["target_error"] == c.target);
    const json& point = summary["points"][0];
    REQUIRE(point["status"] == "ok");
    const auto &tc = point["tc"], &target = point["target"];
    CHECK(target["reached"] == true);
    CHECK(target["stopped"].is_null());
    const double error = tc["total_error"].get<double>() / tc["value"].get<double>();
    CHECK(tc["systematic"].get<double>() > 0);
    CHECK(target["error"].get<double>() == Approx(error));
    CHECK(error <= c.target);
    CHECK(target["rounds"] >= 1);
    CHECK(added(point, "share") == Approx(1));
    for (std::size_t k = 0; k < 3; ++k) {
      const auto& size = target["sizes"][k];
      CHECK(size["graphs_before"] == 16);
      CHECK(point["sizes"][k]["graphs"] ==
            size["graphs_before"].get<int>() + size["graphs_added"].get<int>());
      CHECK(point["sizes"][k]["measurements"] ==
            size["measurements_before"].get<int>() + size["measurements_added"].get<int>());
    }
    CHECK(added(point, c.added) > 0);

    const Output again = place.run("tc s.toml --out study --no-plots");
    CHECK(again.err.find("0 tasks computed") != std::string::npos);
    CHECK(again.out == output.out);
    // A less strict target afterwards needs no run, and tasks that its rounds would not have
    // requested do not enter the results.
    place.write("s.toml", study(c.less, c.p));
    const Output less = place.run("tc s.toml --out study --no-plots");
    CHECK(less.err.find("0 tasks computed") != std::string::npos);
    REQUIRE(place.run("tc s.toml --out other --no-plots").status == 0);
    CHECK(summary_of(place) == summary_of(place, "other"));
  }
}

TEST_CASE("a lax target begins with few measurements, except at p = 0 and if `measure` is given") {
  for (const auto& [p, more, measurements] :
       {std::tuple{"1.0", "", 4}, {"1.0", "measure = 12\n", 12}, {"0.0", "", 60}}) {
    Workplace place;
    place.write("s.toml", std::string("[lattice]\ndim = 2\nsizes = [8, 12, 16]\np = [") + p +
                              "]\ngraphs = 16\n[sampling]\nschedule = \"1:1\"\n" + more +
                              "target_error = 0.5\n[run]\ndevice = \"cpu\"\n");
    const Output output = place.run("tc s.toml --out study --no-plots");
    INFO(output.err << output.out);
    REQUIRE(output.status == 0);
    const json summary = summary_of(place);
    const json& point = summary["points"][0];
    CHECK(point["target"]["rounds"] == 0);
    for (const auto& size : point["sizes"]) {
      CHECK(size["measurements"] == measurements + size["discarded"].get<int>());
    }
  }
}

TEST_CASE("a target reached in pieces and by two processes equals one uninterrupted run") {
  // Temperatures are given. The search for windows is covered by tests of resumed studies, and here
  // with REWISE_LONG_TESTS=1.
  const bool found = longer(1) > 1;
  const std::string window = found ? "" : "temperatures = [2.5, 2.7, 2.9]\n";
  check_pieces("tc", study(found ? 6e-3 : 1.5e-2, "0.5", window));
}

TEST_CASE("a size is added below the crossover, and a target out of reach is reported") {
  Workplace place;
  place.write("s.toml",
              "[lattice]\ndim = 2\nsizes = [4, 6]\np = [0.1]\ngraphs = 16\nmost_graphs = 18\n"
              "[sampling]\nequilibrate = 10\nmeasure = 60\nschedule = \"1:1\"\n"
              "method = \"crossings\"\ntarget_error = 1e-4\n[run]\ndevice = \"cpu\"\n");
  const Output output = place.run("tc s.toml --out study --no-plots");
  INFO(output.err << output.out);
  REQUIRE(output.status == 0);
  CHECK(output.out.find("MISSED: ") != std::string::npos);
  const json summary = summary_of(place);
  const json& point = summary["points"][0];
  REQUIRE(point["sizes"].size() == 3);
  CHECK(point["sizes"][2]["extents"] == json({10, 10}));
  CHECK(point["target"]["sizes"][2]["graphs_before"] == 0);
  CHECK(point["target"]["reached"] == false);
  CHECK(point["target"]["stopped"].is_string());
  for (const auto& size : point["sizes"]) CHECK(size["graphs"] <= 18);
}
