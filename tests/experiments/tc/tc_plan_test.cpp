// The plan of `tc`: the scan covers what is known, windows do not move for nothing.
#include "experiments/tc/tc_plan.hpp"

#include <cmath>
#include <set>

#include "tests/support/catch.hpp"

using namespace rewise;

TEST_CASE("the scan covers every known critical temperature") {
  // analysis/README.md: exact, published, and the tree approximation of small worlds.
  struct Known {
    int dim;
    double p, tc;
  };
  for (const Known& known :
       {Known{2, 0, 2.269185}, Known{2, 1e-3, 2.3175}, Known{2, 0.01, 2.4342}, Known{2, 0.1, 2.78},
        Known{3, 0, 4.5115}, Known{3, 0.01, 4.5913}, Known{3, 0.1, 4.87}, Known{4, 0, 6.68}}) {
    for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
      const Range range = scan_range(known.dim, rule, known.p);
      INFO(known.dim << "D, p = " << known.p);
      CHECK(range.low < 0.97 * known.tc);
      CHECK(range.high > 1.03 * known.tc);
    }
  }
  const Range ring = scan_range(1, Rule::rewire, 1e-6);
  CHECK(ring.low > 0);
  CHECK(ring.high > ring.low);
}

TEST_CASE("scan temperatures fill the range, close enough for histograms to overlap") {
  const auto t = scan_temperatures({2, 3}, 32 * 32);
  CHECK(t.front() == 2);
  CHECK(t.back() == Approx(3));
  for (std::size_t k = 1; k < t.size(); ++k) {
    CHECK(t[k] > t[k - 1]);
    CHECK(t[k] / t[k - 1] < 1.07);
  }
}

TEST_CASE("a slightly better estimate of the centre plans the same window") {
  const double width = half_window(2.4, 2, 0.1, 64 * 64);
  CHECK(width == Approx(1.3 * 2.4 / 64));
  const double grain = width / 16;
  const double centre = std::round(2.4 / grain) * grain;
  const auto window = window_temperatures(centre, width);
  CHECK(window == window_temperatures(centre + 0.4 * grain, width));
  CHECK(window != window_temperatures(centre + 0.6 * grain, width));
  CHECK(window.front() == Approx(centre - width).epsilon(1e-6));
  CHECK(window.back() == Approx(centre + width).epsilon(1e-6));
}

TEST_CASE("times follow from tau unless the configuration fixes them") {
  StudyConfig config;
  SizePlan plan;
  choose_times(config, 0.1, 7.3, plan);
  CHECK(plan.equilibrate == 20 + 88);
  CHECK(plan.every == 8);
  const auto measure = plan.measure;
  CHECK(measure >= 16);
  choose_times(config, 0, 7.3, plan);
  CHECK(plan.measure > measure);
  config.equilibrate = 5;
  config.measure = 6;
  config.every = 7;
  choose_times(config, 0.1, 7.3, plan);
  CHECK(plan.equilibrate == 5);
  CHECK(plan.measure == 6);
  CHECK(plan.every == 7);
}

TEST_CASE("every graph of a study has seeds of its own, whatever the grid around it") {
  StudyConfig config;
  config.seed = 3;
  SizePlan plan;
  plan.temperatures = {2.4};
  std::set<std::uint64_t> seeds;
  for (const double p : {0.0, 0.1}) {
    for (const std::uint32_t edge : {8u, 12u}) {
      for (std::uint32_t graph = 0; graph < 5; ++graph) {
        const TaskSpec spec = plan_task(config, p, {edge, edge}, graph, plan, "tc");
        seeds.insert(spec.seed);
        seeds.insert(spec.graph.seed);
      }
    }
  }
  CHECK(seeds.size() == 40);
  config.seed = 4;
  CHECK(seeds.count(plan_task(config, 0.1, {8, 8}, 0, plan, "tc").seed) == 0);
}
