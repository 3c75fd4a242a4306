// The rule of thumb for CUDA: measured settings, interpolation between them, and the time of a
// cycle.
#include "src/search/cuda_rule.hpp"

#include "src/search/auto_schedule.hpp"
#include "src/search/costs.hpp"
#include "src/study/engines.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

std::string rule(std::vector<std::uint32_t> extents, double p, bool any_cluster = true) {
  TaskSpec spec;
  spec.graph = {std::move(extents), p, Rule::rewire, 1};
  return to_string(cuda_candidate(spec, any_cluster, sweeps_alone(spec)));
}

}  // namespace

TEST_CASE("rule of thumb on CUDA: results of the tuner, and the nearest one for other lattices") {
  CHECK(rule({64, 64}, 0) == "4:1");
  CHECK(rule({256, 256}, 0) == "4:1");
  CHECK(rule({256, 256}, 0.01) == "swendsen-wang/4:1");
  CHECK(rule({1024, 1024}, 0.01) == "1:32");
  CHECK(rule({320, 200}, 0.008) == "swendsen-wang/4:1");
  CHECK(rule({4096, 4096}, 0.02) == "1:32");
  CHECK(rule({64, 64}, 1e-6) == "4:1");  // no shortcuts expected
  CHECK(rule({24, 24, 24}, 0.01) == "1:0");
  CHECK(rule({64, 64, 64}, 0) == "4:1");
  CHECK(rule({64, 64, 64}, 0.1) == "1:0");
  CHECK(rule({32, 32, 32, 32}, 0.01) == "1:32");
}

TEST_CASE("rule of thumb on CUDA: the requested cluster update, sweeps only if allowed") {
  CHECK(rule({256, 256}, 0.01, false) == "1:16");
  TaskSpec spec;
  spec.graph = {{256, 256}, 0.01, Rule::rewire, 1};
  spec.cluster = ClusterUpdate::swendsen_wang;
  CHECK(to_string(cuda_candidate(spec, false, true)) == "swendsen-wang/4:1");
  CHECK(rule({256, 256}, 0.1) == "64:1");  // a third of an isolated site expected
  spec.graph.p = 0.1;
  CHECK(to_string(cuda_candidate(spec, false, true)) == "1:0");
  spec.local = LocalUpdate::glauber;
  CHECK(sweeps_alone(spec));
}

TEST_CASE("estimated times of a full CUDA device: within a third of the measured ones") {
  struct Cycle {
    double edge, p;
    Updates candidate;
    double microseconds;  // tests/bench/RESULTS.md
  };
  constexpr auto wolff = ClusterUpdate::wolff, labels = ClusterUpdate::swendsen_wang;
  for (const Cycle& c :
       {Cycle{64, 0, {{4, 1}, wolff}, 0.0339}, Cycle{64, 0.01, {{16, 1}, labels}, 0.0914},
        Cycle{256, 0, {{4, 1}, wolff}, 0.423}, Cycle{256, 0.01, {{16, 1}, wolff}, 0.821},
        Cycle{256, 0.01, {{4, 1}, labels}, 0.876}, Cycle{256, 0.1, {{64, 1}, wolff}, 2.50},
        Cycle{256, 0.1, {{16, 1}, labels}, 1.84}, Cycle{512, 0, {{1, 1}, wolff}, 1.64},
        Cycle{512, 1e-3, {{4, 1}, labels}, 2.92}, Cycle{1024, 0.01, {{1, 1}, wolff}, 0.99},
        Cycle{1024, 0.01, {{1, 32}, wolff}, 19.7}}) {
    INFO(to_string(c.candidate) << ", L = " << c.edge << ", p = " << c.p);
    const auto cuda_seconds = factory(kDefaultEngine).cuda_seconds;
    CHECK(cuda_seconds({}, c.candidate.schedule, c.candidate.cluster, c.p, c.edge * c.edge) ==
          Approx(1e-6 * c.microseconds).epsilon(0.3));
  }
  // In a field Wolff updates visit every site.
  Model in_field;
  in_field.interactions.field = 0.1;
  const auto seconds = [&](const Model& model, Schedule schedule) {
    return factory(kDefaultEngine).cuda_seconds(model, schedule, wolff, 0.01, 1 << 20);
  };
  CHECK(seconds(in_field, {1, 0}) == seconds({}, {1, 0}));
  CHECK(seconds(in_field, {0, 1}) > 5 * seconds({}, {0, 1}));
}
