// The trajectory of the bytespin engine does not depend on threads, the length of calls, save and
// restore. Also tests its errors.
#include <cmath>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/error.hpp"
#include "src/bytespin/bytespin.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using rewise::oracle::expect;
using rewise::oracle::with_threads;

namespace {

const std::vector<ClusterUpdate> kClusters{ClusterUpdate::wolff, ClusterUpdate::swendsen_wang,
                                           ClusterUpdate::few_cluster};

EngineSpec small_spec(ClusterUpdate cluster) {
  EngineSpec spec;
  spec.betas = {1 / 2.1, 1 / 2.4, 1 / 3.0};
  spec.replicas = 3;
  spec.seed = 11;
  spec.cluster = cluster;
  return spec;
}

Graph small_graph() { return build_graph({{10, 12}, 0.2, Rule::rewire, 5}); }

bool same(const Observation& a, const Observation& b) {
  return a.bond_sum == b.bond_sum && a.magnetisation == b.magnetisation &&
         a.cluster_size == b.cluster_size && a.cluster_quartic_low == b.cluster_quartic_low &&
         a.cluster_quartic_high == b.cluster_quartic_high && a.cluster_updates == b.cluster_updates;
}

Observation measured(Engine& engine) {
  Observation out;
  engine.measure(out);
  return out;
}

}  // namespace

TEST_CASE("the number of threads changes nothing") {
  const Graph graph = small_graph();
  for (const ClusterUpdate cluster : kClusters) {
    const EngineSpec spec = small_spec(cluster);
    const auto one = make_bytespin_engine(graph, spec, with_threads(1));
    one->advance({2, 3}, 20);
    const Observation expected = measured(*one);
    for (const int threads : {2, 5}) {
      const auto many = make_bytespin_engine(graph, spec, with_threads(threads));
      CHECK(many->threads() == threads);
      many->advance({2, 3}, 20);
      CHECK(many->trajectory_hash() == one->trajectory_hash());
      CHECK(same(measured(*many), expected));
    }
  }
}

TEST_CASE("one call or several make the same moves") {
  const Graph graph = small_graph();
  for (const ClusterUpdate cluster : kClusters) {
    const EngineSpec spec = small_spec(cluster);
    const auto whole = make_bytespin_engine(graph, spec, with_threads(1));
    const auto pieces = make_bytespin_engine(graph, spec, with_threads(1));
    whole->advance({1, 2}, 6);
    for (int k = 0; k < 3; ++k) pieces->advance({1, 2}, 2);
    CHECK(whole->trajectory_hash() == pieces->trajectory_hash());
    CHECK(same(measured(*whole), measured(*pieces)));
  }
}

TEST_CASE("a run that is saved, restored and continued equals an uninterrupted one") {
  const Graph graph = small_graph();
  for (const ClusterUpdate cluster : kClusters) {
    const EngineSpec spec = small_spec(cluster);
    const auto engine = make_bytespin_engine(graph, spec, with_threads(1));
    engine->advance({1, 2}, 5);
    const EngineState state = engine->save();
    CHECK(state.engine == "single");
    CHECK(state.step == 15);
    engine->advance({1, 2}, 5);
    const auto other = make_bytespin_engine(graph, spec, with_threads(2));
    other->restore(state);
    other->advance({1, 2}, 5);
    CHECK(other->trajectory_hash() == engine->trajectory_hash());
    CHECK(same(measured(*other), measured(*engine)));  // includes pending cluster sums
  }
}

TEST_CASE("an invalid state is refused") {
  const Graph graph = small_graph();
  const EngineSpec spec = small_spec(ClusterUpdate::wolff);
  const auto engine = make_bytespin_engine(graph, spec, with_threads(1));
  const EngineState good = engine->save();
  const auto code_of = [&](const EngineState& state) {
    try {
      engine->restore(state);
    } catch (const Error& error) {
      return error.exit_code();
    }
    return ExitCode::done;
  };
  EngineState bad = good;
  bad.engine = "multispin";
  CHECK(code_of(bad) == ExitCode::data);
  bad = good;
  bad.bytes.pop_back();
  CHECK(code_of(bad) == ExitCode::data);
  bad = good;
  bad.bytes[7] = 2;
  CHECK(code_of(bad) == ExitCode::data);
  CHECK(code_of(good) == ExitCode::done);
}

TEST_CASE("a flip probability of few-cluster updates that is no probability is a usage error") {
  const Graph graph = small_graph();
  EngineSpec spec = small_spec(ClusterUpdate::few_cluster);
  for (const double flip : {0.0, 1.0, -0.5, std::nan("")}) {
    spec.few_cluster.flip = flip;
    expect(ExitCode::usage, "few-cluster flip probability",
           [&] { make_bytespin_engine(graph, spec, {}); });
  }
}

TEST_CASE("a method of Wolff updates that needs CUDA is a usage error on the CPU") {
  EngineOptions options;
  options.methods = {.wolff = WolffMethod::persistent};
  expect(ExitCode::usage, "persistent",
         [&] { make_bytespin_engine(small_graph(), small_spec(ClusterUpdate::wolff), options); });
}

TEST_CASE("cold, hot and mixed starts") {
  const Graph graph = small_graph();
  EngineSpec spec = small_spec(ClusterUpdate::wolff);
  std::vector<std::uint8_t> spins(graph.sites());
  const auto ups = [&](Start start, std::uint32_t replica) {
    spec.start = start;
    make_bytespin_engine(graph, spec, with_threads(1))->spins(1, replica, spins);
    std::size_t up = 0;
    for (const std::uint8_t s : spins) up += s;
    return up;
  };
  for (const std::uint32_t replica : {0u, 1u, 2u}) {
    CHECK(ups(Start::cold, replica) == graph.sites());
    const std::size_t hot = ups(Start::hot, replica);  // expected 60 +- 5.5; 4 sigma allowed
    CHECK(hot > 38);
    CHECK(hot < 82);
    CHECK((ups(Start::mixed, replica) == graph.sites()) == (replica % 2 == 0));
  }
}

TEST_CASE("work is counted") {
  const Graph graph = small_graph();
  for (const ClusterUpdate cluster : kClusters) {
    const auto engine = make_bytespin_engine(graph, small_spec(cluster), with_threads(1));
    engine->advance({2, 3}, 4);
    const WorkCounters work = engine->work();
    CHECK(work.local_attempts == 8 * 9 * graph.sites());
    CHECK(work.cluster_updates == 12 * 9);
    Observation out;
    engine->measure(out);
    if (cluster == ClusterUpdate::wolff) {
      std::uint64_t flipped = 0;
      for (const std::uint64_t size : out.cluster_size) flipped += size;
      CHECK(work.cluster_sites == flipped);
    } else if (cluster == ClusterUpdate::swendsen_wang) {
      CHECK(work.cluster_sites == 12 * 9 * graph.sites());
    } else {  // at least one site per update, at most all sites
      CHECK(work.cluster_sites >= 12 * 9);
      CHECK(work.cluster_sites <= 12 * 9 * graph.sites());
    }
    CHECK(work.local_seconds > 0);
    CHECK(work.cluster_seconds > 0);
    CHECK(out.cluster_updates == 12);
    engine->measure(out);
    CHECK(out.cluster_updates == 0);
    CHECK(out.cluster_size.empty());
  }
}
