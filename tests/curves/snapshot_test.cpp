// Correlations computed for all replicas together, against those computed replica by replica.
#include "src/curves/snapshot.hpp"
#include "graphs/graph.hpp"
#include "src/curves/curve_spec.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

std::vector<SpinBits> one_by_one(const Engine& engine, const CurveSpec& spec) {
  std::vector<SpinBits> replicas;
  std::vector<std::uint8_t> buffer(spec.sites());
  for (std::uint32_t r = 0; r < spec.replicas; ++r) {
    engine.spins(0, r, buffer);
    replicas.emplace_back(buffer, spec.model.q);
  }
  return replicas;
}

void compare(const CurveSpec& spec, double temperature, Start start) {
  const Graph graph = build_graph(spec.graph);
  const Updates mix = parse_mix("1:1", "test");
  const auto engine = curve_engine(spec, graph, 0, temperature, mix, start);
  Snapshot then(*engine, spec.sites(), 1, spec.replicas, spec.model.q);
  then.count();
  const auto plain_then = one_by_one(*engine, spec);
  for (int cycle = 0; cycle < 3; ++cycle) {
    Snapshot now(*engine, spec.sites(), 1, spec.replicas, spec.model.q);
    now.count();
    const auto found = correlations(then, now);
    const auto plain_now = one_by_one(*engine, spec);
    REQUIRE(found.size() == spec.replicas);
    for (std::uint32_t r = 0; r < spec.replicas; ++r) {
      INFO("cycle " << cycle << " replica " << r);
      CHECK(found[r] == Approx(pearson(plain_then[r], plain_now[r])).margin(1e-12));
      if (cycle == 0) CHECK(found[r] == Approx(1));
    }
    engine->advance(mix.schedule, 1);
  }
}

}  // namespace

TEST_CASE("snapshots: correlations of the replicas of a word equal those of single replicas") {
  CurveSpec spec;
  spec.replicas = 64;
  spec.graph.p = 0.1;
  // Fewer, about as many and more words than fit into the counters before a flush (4080).
  for (const auto& extents :
       std::vector<std::vector<std::uint32_t>>{{4, 4}, {6, 10}, {64, 66}, {4, 6, 8}, {128, 64}}) {
    spec.graph.extents = extents;
    compare(spec, 2.5, Start::hot);
  }
}

TEST_CASE("snapshots: correlation 1 for equal spins without variance, and other engines") {
  CurveSpec spec;
  spec.graph.extents = {8, 8};
  compare(spec, 0.5, Start::cold);  // all spins remain equal, or nearly so
  spec.engine = EngineKind::bytespin;
  spec.replicas = 5;
  compare(spec, 2.5, Start::hot);
  spec.model = {ModelKind::potts, 3};
  compare(spec, 1.2, Start::hot);
}

TEST_CASE("snapshots of several temperatures hold the replicas of each") {
  CurveSpec spec;
  spec.graph.extents = {8, 8};
  const Graph graph = build_graph(spec.graph);
  const Updates mix = parse_mix("1:1", "test");
  const std::vector<double> temperatures{1.5, 3.0};
  for (const EngineKind engine : {EngineKind::multispin, EngineKind::bytespin}) {
    spec.engine = engine;
    const auto many = curve_engine(spec, graph, 0, temperatures, mix, Start::mixed);
    Snapshot then(*many, spec.sites(), 2, spec.replicas, 2);
    then.count();
    many->advance(mix.schedule, 2);
    Snapshot now(*many, spec.sites(), 2, spec.replicas, 2);
    now.count();
    const auto found = correlations(then, now);
    REQUIRE(found.size() == 2 * spec.replicas);
    many->restore(curve_engine(spec, graph, 0, temperatures, mix, Start::mixed)->save());
    std::vector<std::vector<std::uint8_t>> before;
    std::vector<std::uint8_t> spins(spec.sites());
    for (std::uint32_t index = 0; index < 2 * spec.replicas; ++index) {
      many->spins(index / spec.replicas, index % spec.replicas, spins);
      before.push_back(spins);
    }
    many->advance(mix.schedule, 2);
    for (std::uint32_t index = 0; index < 2 * spec.replicas; ++index) {
      many->spins(index / spec.replicas, index % spec.replicas, spins);
      INFO(index);
      CHECK(found[index] ==
            Approx(pearson(SpinBits(before[index], 2), SpinBits(spins, 2))).margin(1e-12));
    }
  }
}
