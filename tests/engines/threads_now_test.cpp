// Engines whose number of threads changes between calls and while they run, as happens for the last
// tasks of a study: trajectories and sums stay the same.
#include <atomic>
#include <thread>
#include <utility>

#include "src/bitlattice/bitlattice.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/multispin/multispin.hpp"
#include "tests/engines/identity_check.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

EngineSpec spec_of(ClusterUpdate cluster, std::vector<double> betas) {
  EngineSpec spec;
  spec.cluster = cluster;
  spec.betas = std::move(betas);
  spec.replicas = 64;
  spec.seed = 11;
  return spec;
}

void check_changes(EngineMaker make, const Graph& graph, const EngineSpec& spec,
                   const Schedule& schedule) {
  INFO(graph.sites() << " sites, " << to_string(spec.cluster));
  EngineOptions options;
  options.threads = 1;
  const auto expected = uninterrupted(*make(graph, spec, options), schedule, 24, 2);
  std::atomic<int> now{1};
  std::atomic<bool> over{false};
  options.threads = 5;
  options.threads_now = &now;
  const auto engine = make(graph, spec, options);
  std::thread other([&] {
    for (int k = 0; !over; ++k) {
      now = k * 3 % 8;  // includes 0 and numbers above 5
      std::this_thread::yield();
    }
  });
  const auto traces = uninterrupted(*engine, schedule, 24, 2);
  over = true;
  other.join();
  REQUIRE(traces.size() == expected.size());
  for (std::size_t k = 0; k < traces.size(); ++k) {
    CHECK(traces[k].hash == expected[k].hash);
    CHECK(same(traces[k].seen, expected[k].seen));
  }
}

}  // namespace

TEST_CASE("changing the number of threads while an engine runs changes no bit") {
  const Graph rewired = build_graph({{64, 48}, 0.1, Rule::rewire, 5});
  for (const auto cluster : {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang}) {
    // Two and six word groups, for at most five threads.
    check_changes(make_multispin_engine, rewired, spec_of(cluster, {0.36}), {1, 2});
    check_changes(make_multispin_engine, rewired, spec_of(cluster, {0.3, 0.36, 0.5}), {2, 1});
    check_changes(make_bytespin_engine, rewired, spec_of(cluster, {0.36}), {1, 1});
  }
  const Graph regular = build_graph({{256, 64}, 0, Rule::rewire, 5});
  const auto make_bitlattice = [](const Graph& graph, const EngineSpec& spec,
                                  const EngineOptions& options) {
    return make_bitlattice_engine(regular_extents(graph), spec, options);
  };
  check_changes(make_bitlattice, regular, spec_of(ClusterUpdate::wolff, {0.44}), {2, 0});
}
