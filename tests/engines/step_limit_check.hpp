// Every engine runs up to step 2^32 - 1 and no further.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/error.hpp"
#include "src/bitlattice/bitlattice.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/multispin/multispin.hpp"
#include "tests/support/catch.hpp"

namespace rewise::oracle {

// `last` is a schedule of three steps. Returns the hash of the configuration after the last step.
inline std::uint64_t check_step_limit(const std::function<std::unique_ptr<Engine>()>& make,
                                      const Schedule& last) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 32;
  const auto engine = make(), by_steps = make();
  for (const std::uint64_t cycles : {kMax, kMax + 1, ~std::uint64_t{0}}) {
    CHECK_THROWS_AS(engine->advance({1, 0}, cycles), Error);
  }
  EngineState state = engine->save();
  const std::uint64_t first = engine->trajectory_hash();
  state.step = kMax - 3;
  engine->restore(state);
  by_steps->restore(state);
  CHECK_THROWS_AS(engine->advance(last, 2), Error);
  CHECK(engine->trajectory_hash() == first);
  CHECK(engine->advance(last, 1));
  for (std::uint64_t k = 0; k < last.steps_per_cycle(); ++k) {
    CHECK(by_steps->advance(k < last.local ? Schedule{1, 0} : Schedule{0, 1}, 1));
  }
  const std::uint64_t hash = engine->trajectory_hash();
  CHECK(hash != first);
  CHECK(hash == by_steps->trajectory_hash());
  CHECK(engine->save().step == kMax);
  CHECK_THROWS_AS(engine->advance({1, 0}, 1), Error);
  by_steps->restore(engine->save());
  CHECK_THROWS_AS(by_steps->advance({1, 0}, 1), Error);
  state.step = kMax + 1;
  CHECK_THROWS_AS(engine->restore(state), Error);
  return hash;
}

// Checks all engines and updates on a device (-1 = CPU) and returns the hashes.
inline std::vector<std::uint64_t> check_step_limits(int device) {
  EngineOptions options;
  options.device = device;
  options.threads = 2;
  EngineSpec spec;
  spec.betas = {0.4, 0.5};
  const Graph graph = build_graph({{8, 6}, 0.1, Rule::rewire, 3});
  std::vector<std::uint64_t> hashes;
  for (const ClusterUpdate cluster :
       {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang, ClusterUpdate::few_cluster}) {
    spec.cluster = cluster;
    INFO(to_string(cluster) << " on device " << device);
    hashes.push_back(
        check_step_limit([&] { return make_bytespin_engine(graph, spec, options); }, {1, 2}));
    if (cluster == ClusterUpdate::few_cluster) continue;
    hashes.push_back(
        check_step_limit([&] { return make_multispin_engine(graph, spec, options); }, {1, 2}));
  }
  spec.cluster = ClusterUpdate::wolff;
  hashes.push_back(check_step_limit(
      [&] {
        return make_bitlattice_engine({8, 6}, spec, options);
      },
      {3, 0}));
  return hashes;
}

}  // namespace rewise::oracle
