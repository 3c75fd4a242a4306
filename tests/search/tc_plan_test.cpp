// The plan of `tc`: the scan covers all known critical temperatures, and windows do not move
// without reason.
#include "analysis/scaling/regular_lattice.hpp"
#include "src/search/size_plan.hpp"

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "analysis/scaling/regular_lattice.hpp"
#include "src/search/known_tc.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

TEST_CASE("the scan covers every known critical temperature") {
  // From analysis/README.md: exact and published values, and the tree approximation of small
  // worlds.
  struct Known {
    int dim;
    double p, tc;
  };
  for (const Known& known :
       {Known{2, 0, 2.269185}, Known{2, 1e-3, 2.3175}, Known{2, 0.01, 2.4342}, Known{2, 0.1, 2.78},
        Known{3, 0, 4.5115}, Known{3, 0.01, 4.5913}, Known{3, 0.1, 4.87}, Known{4, 0, 6.68}}) {
    for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
      const TemperatureRange range = scan_range(known.dim, rule, known.p);
      INFO(known.dim << "D, p = " << known.p);
      CHECK(range.from < 0.97 * known.tc);
      CHECK(range.to > 1.03 * known.tc);
      CHECK(scan_range(known.dim, with_parity(rule, Parity::any), known.p).to == range.to);
    }
  }
  const TemperatureRange ring = scan_range(1, Rule::rewire, 1e-6);
  CHECK(ring.from > 0);
  CHECK(ring.to > ring.from);
}

TEST_CASE("the expected range contains Tc and the crossings of small sizes") {
  // From experiments/results/tc-table.csv. Rule `swap`: like `rewire` at small p, the random
  // regular graph at p = 1.
  struct Known {
    int dim;
    Rule rule;
    double p, tc;
  };
  for (const Known& known :
       {Known{2, Rule::rewire, 1e-4, 2.28264},     Known{2, Rule::rewire, 0.01, 2.434578},
        Known{2, Rule::rewire, 0.0316228, 2.5657}, Known{2, Rule::rewire, 0.1, 2.78499},
        Known{2, Rule::rewire, 0.316228, 3.1333},  Known{2, Rule::rewire, 1, 3.6583},
        Known{2, Rule::add, 0.0316228, 2.7219},    Known{2, Rule::add, 0.1, 3.2189},
        Known{2, Rule::add, 0.316228, 4.3921},     Known{2, Rule::add, 1, 7.4706},
        Known{2, Rule::swap, 0.1, 2.6683},         Known{2, Rule::swap, 1, 2.8854},
        Known{3, Rule::swap, 0.1, 4.7586},         Known{3, Rule::swap, 0.316228, 4.8894},
        Known{3, Rule::swap, 1, 4.9326},           Known{4, Rule::swap, 0.1, 6.8249},
        Known{4, Rule::swap, 0.316228, 6.9194},    Known{4, Rule::swap, 1, 6.9521},
        Known{3, Rule::rewire, 0.1, 4.8656},       Known{3, Rule::rewire, 0.316228, 5.1824},
        Known{3, Rule::rewire, 1, 5.6908},         Known{3, Rule::add, 0.1, 5.4741},
        Known{3, Rule::add, 1, 11.4775},           Known{4, Rule::rewire, 0.1, 6.9261},
        Known{4, Rule::rewire, 1, 7.7069}}) {
    StudyConfig config;
    config.rules = {known.rule};
    config.sizes = {std::vector<std::uint32_t>(static_cast<std::size_t>(known.dim), 8)};
    const TemperatureRange range = likely_range(config, known.p);
    const TemperatureRange all = scan_range(config, known.p);
    INFO(known.dim << "D, p = " << known.p << ": " << range.from << " to " << range.to);
    CHECK(range.from >= all.from);
    CHECK(range.to <= all.to);
    CHECK(range.from < known.tc - (known.p > 0.03 ? 0.01 * known.tc : 0));
    CHECK(range.to > 1.003 * known.tc);
    CHECK(range.from > regular_lattice(known.dim).tc().value);
  }
}

TEST_CASE("known temperatures equal experiments/results, interpolation is monotone in p") {
  std::ifstream table(REWISE_RESULTS "/tc-table.csv");
  std::string line, cell;
  std::getline(table, line);
  REQUIRE(line.starts_with("dim,rule,p,"));
  REQUIRE(line.find(",z,tc,tc_error,") != std::string::npos);
  int rows = 0;
  while (std::getline(table, line)) {
    std::vector<std::string> cells;
    for (std::istringstream rest(line); std::getline(rest, cell, ',');) cells.push_back(cell);
    const int dim = std::stoi(cells[0]);
    const double p = std::stod(cells[2]), tc = std::stod(cells[8]);
    const std::optional<double> near = near_tc(dim, parse_rule(cells[1]), p);
    INFO(line);
    REQUIRE(near.has_value() == (dim > 1));
    if (dim == 1) continue;
    CHECK(std::abs(*near - tc) < 1e-4);
    ++rows;
  }
  CHECK(rows > 45);
  CHECK(*near_tc(2, Rule::rewire, 0) == 2.269185314213022);
  CHECK_FALSE(near_tc(2, Rule::imported, 0.1));
  CHECK_FALSE(near_tc(5, Rule::add, 0.1));
  for (const int dim : {2, 3, 4}) {
    for (const Rule rule : {Rule::rewire, Rule::add, Rule::swap}) {
      double before = *near_tc(dim, rule, 0);
      for (double p = 1e-7; p <= 1; p *= 1.3) {
        const double t = *near_tc(dim, rule, p);
        INFO(dim << "D, p = " << p);
        CHECK(t >= std::round(1e4 * before) / 1e4);
        before = t;
      }
    }
  }
  // Between the values of p in the table: Tc by the tree condition (swap: by crossings), to 2e-4 or
  // better.
  struct Between {
    int dim;
    Rule rule;
    double p, tc;
  };
  for (const Between& other :
       {Between{2, Rule::rewire, 0.002, 2.3394}, Between{2, Rule::rewire, 0.03, 2.5578},
        Between{2, Rule::rewire, 0.05, 2.6404}, Between{2, Rule::rewire, 0.5, 3.3192},
        Between{2, Rule::add, 0.002, 2.35581}, Between{2, Rule::add, 0.03, 2.7073},
        Between{2, Rule::add, 0.05, 2.8741}, Between{2, Rule::add, 0.5, 5.2650},
        Between{3, Rule::rewire, 0.03, 4.6792}, Between{3, Rule::rewire, 0.05, 4.7440},
        Between{3, Rule::rewire, 0.5, 5.3603}, Between{2, Rule::swap, 0.03, 2.51016},
        Between{2, Rule::swap, 0.3, 2.82543}, Between{3, Rule::swap, 0.03, 4.64043}}) {
    INFO(other.dim << "D, " << to_string(other.rule) << ", p = " << other.p);
    CHECK(*near_tc(other.dim, other.rule, other.p) == Approx(other.tc).epsilon(5e-4));
  }
}

TEST_CASE("scan temperatures cover the range, close enough for histograms to overlap") {
  const auto t = scan_temperatures({2, 3}, 32 * 32);
  CHECK(t.front() == 2);
  CHECK(t.back() == Approx(3));
  for (std::size_t k = 1; k < t.size(); ++k) {
    CHECK(t[k] > t[k - 1]);
    CHECK(t[k] / t[k - 1] < 1.07);
  }
}

TEST_CASE("a slightly different estimate of the centre gives the same window") {
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
  CHECK(plan.every == 8);
  const auto measure = plan.measure;
  CHECK(measure >= 16);
  choose_times(config, 0, 7.3, plan);
  CHECK(plan.measure > measure);
  config.measure = 6;
  config.every = 7;
  choose_times(config, 0.1, 7.3, plan);
  CHECK(plan.measure == 6);
  CHECK(plan.every == 7);
}

TEST_CASE("every graph of a study has its own seeds, independent of the rest of the grid") {
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
