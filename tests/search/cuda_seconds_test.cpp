// Estimated times of cycles on a CUDA device.
#include "src/settings/engines.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

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
    CHECK(cuda_seconds({}, c.candidate, c.p, c.edge * c.edge) ==
          Approx(1e-6 * c.microseconds).epsilon(0.3));
  }
  // In a field Wolff updates visit every site.
  Model in_field;
  in_field.interactions.field = 0.1;
  const auto seconds = [&](const Model& model, Schedule schedule) {
    return factory(kDefaultEngine).cuda_seconds(model, {schedule, wolff}, 0.01, 1 << 20);
  };
  CHECK(seconds(in_field, {1, 0}) == seconds({}, {1, 0}));
  CHECK(seconds(in_field, {0, 1}) > 5 * seconds({}, {0, 1}));
}
