// The trajectory of the bitlattice engine does not depend on threads, interruptions or the length
// of a call. Also tests its errors.
#include <xxhash.h>

#include <string>

#include "src/bitlattice/bitlattice.hpp"
#include "src/bitlattice/layout.hpp"
#include "tests/engines/identity_check.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

std::unique_ptr<Engine> make(const Graph& graph, const EngineSpec& spec,
                             const EngineOptions& options) {
  return make_bitlattice_engine(regular_extents(graph), spec, options);
}

EngineSpec spec_of(LocalUpdate local) {
  EngineSpec spec;
  spec.betas = {1 / 2.1, 1 / 2.6};
  spec.replicas = 3;
  spec.seed = 78;
  spec.local = local;
  return spec;
}

std::vector<Graph> graphs() {
  std::vector<Graph> graphs;
  for (const auto& extents : std::vector<std::vector<std::uint32_t>>{
           {36, 22}, {1030, 6}, {512, 10}, {6, 4, 8}, {4, 4, 4, 6}, {70}}) {
    graphs.push_back(build_graph({extents, 0, Rule::rewire, 3}));
  }
  return graphs;
}

template <class F>
void for_each_combination(F&& f) {
  for (const Graph& graph : graphs()) {
    for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      INFO(graph.sites() << " sites, " << graph.bonds() << " bonds, " << to_string(local));
      f(graph, spec_of(local));
    }
  }
}

}  // namespace

TEST_CASE("bitlattice trajectories: 1, 2 and 5 threads are equal") {
  for_each_combination([](const Graph& graph, const EngineSpec& spec) {
    if (graph.sites() < 1000) return;
    const auto one = make(graph, spec, with_threads(1));
    const auto expected = uninterrupted(*one, {2, 0}, 9, 3);
    for (const int threads : {2, 5}) {
      const auto many = make(graph, spec, with_threads(threads));
      CHECK(many->threads() == threads);
      const auto traces = uninterrupted(*many, {2, 0}, 9, 3);
      for (std::size_t k = 0; k < traces.size(); ++k) {
        CHECK(traces[k].hash == expected[k].hash);
        CHECK(same(traces[k].seen, expected[k].seen));
      }
    }
  });
}

TEST_CASE("bitlattice trajectories: saved, destroyed and restored at random steps") {
  std::uint64_t seed = 1;
  for_each_combination([&seed](const Graph& graph, const EngineSpec& spec) {
    check_resume(make, graph, spec, {2, 0}, {with_threads(1), with_threads(3)}, seed++);
  });
}

TEST_CASE("bitlattice trajectories: divided calls, other seeds and replicas, the last step") {
  for_each_combination([](const Graph& graph, const EngineSpec& spec) {
    check_cycles_add_up(make, graph, spec, {3, 0}, with_threads(1));
  });
  const Graph graph = build_graph({{36, 22}, 0, Rule::rewire, 3});
  check_differs(make, graph, spec_of(LocalUpdate::metropolis), {1, 0});
  const auto engine = make(graph, spec_of(LocalUpdate::metropolis), {});
  EngineState state = engine->save();
  state.step = 0xFFFFFFFDull;
  engine->restore(state);
  engine->advance({1, 0}, 3);
  expect(ExitCode::usage, "too many", [&] { engine->advance({1, 0}, 1); });
  CHECK(engine->save().step == 0x100000000ull);
}

TEST_CASE("bitlattice engine: given spins") {
  for_each_combination([](const Graph& graph, const EngineSpec& spec) {
    check_given_spins(make, graph, spec, {3, 0}, {with_threads(1), with_threads(5)});
  });
}

TEST_CASE("bitlattice engine: starts, and the hash of its spins") {
  const std::vector<std::uint32_t> extents{130, 6};
  for (const auto start : {Start::cold, Start::hot, Start::mixed}) {
    EngineSpec spec = spec_of(LocalUpdate::metropolis);
    spec.start = start;
    const auto engine = make_bitlattice_engine(extents, spec, {});
    Observation seen;
    engine->measure(seen);
    for (std::uint32_t replica = 0; replica < seen.bond_sum.size(); ++replica) {
      const bool hot = starts_hot(start, replica % spec.replicas);
      CHECK((seen.bond_sum[replica] == 2 * 780) == !hot);
      CHECK((seen.magnetisation[replica] == 780) == !hot);
      // A hot start gives sums of 780 and of 1560 random signs: 0 within five standard deviations.
      if (hot)
        CHECK(std::abs(static_cast<double>(seen.magnetisation[replica])) < 5 * std::sqrt(780.));
      if (hot) CHECK(std::abs(static_cast<double>(seen.bond_sum[replica])) < 5 * std::sqrt(1560.));
    }
    engine->advance({1, 0}, 5);
    // The hash is that of the spins with one byte per site.
    std::vector<std::uint8_t> all, spins(780);
    for (std::uint32_t replica = 0; replica < seen.bond_sum.size(); ++replica) {
      engine->spins(replica / spec.replicas, replica % spec.replicas, spins);
      all.insert(all.end(), spins.begin(), spins.end());
    }
    CHECK(XXH3_64bits(all.data(), all.size()) == engine->trajectory_hash());
  }
}

TEST_CASE("bitlattice engine: invalid states are errors and change nothing") {
  const auto engine = make_bitlattice_engine({100, 6}, spec_of(LocalUpdate::metropolis), {});
  engine->advance({1, 0}, 3);
  const std::uint64_t hash = engine->trajectory_hash();
  const EngineState good = engine->save();
  std::vector<EngineState> bad(5, good);
  bad[0].engine = "bytespin";
  bad[1].bytes.pop_back();
  bad[2].bytes.resize(good.bytes.size() + 4);
  bad[3].step = std::uint64_t{1} << 33;
  bad[4].bytes[7] |= 0x80;  // bit 63 of a row that has 50 sites of each colour
  for (const EngineState& state : bad) {
    expect(ExitCode::data, "engine 'bitlattice'", [&] { engine->restore(state); });
    CHECK(engine->trajectory_hash() == hash);
  }
  engine->restore(good);
  CHECK(engine->trajectory_hash() == hash);
}

TEST_CASE("bitlattice engine: errors of unsupported settings") {
  const EngineSpec spec = spec_of(LocalUpdate::metropolis);
  expect(ExitCode::usage, "bytespin or multispin engine", [&] {
    make_bitlattice_engine({4, 4}, spec, {})->advance({1, 1}, 1);
  });
  EngineSpec potts = spec;
  potts.model.kind = ModelKind::potts;
  expect(ExitCode::usage, "potts", [&] { make_bitlattice_engine({4, 4}, potts, {}); });
  EngineSpec cold = spec;
  cold.betas = {-1};
  expect(ExitCode::usage, "temperature", [&] { make_bitlattice_engine({4, 4}, cold, {}); });
  expect(ExitCode::usage, "even", [&] { make_bitlattice_engine({4, 5}, spec, {}); });
  expect(ExitCode::usage, "at least 4", [&] { make_bitlattice_engine({2, 4}, spec, {}); });
  expect(ExitCode::usage, "dimension", [&] { make_bitlattice_engine({4, 4, 4, 4, 4}, spec, {}); });
  expect(ExitCode::usage, "too many sites", [&] {
    make_bitlattice_engine({4, 65536, 65536}, spec, {});
  });
  expect(ExitCode::device, "GiB", [&] { make_bitlattice_engine({1u << 30, 1u << 9}, spec, {}); });
}

TEST_CASE("bitlattice engine: the error for rewired and imported graphs names other engines") {
  const Graph rewired = build_graph({{8, 8}, 0.1, Rule::rewire, 1});
  const Graph imported(4, {{0, 0, 1}, {1, 1, 2}, {2, 2, 3}}, {0, 1, 0, 1}, 2, "path.txt");
  for (const Graph* graph : {&rewired, &imported}) {
    expect(ExitCode::usage, "use the multispin or bytespin engine",
           [&] { regular_extents(*graph); });
  }
}

TEST_CASE("bitlattice engine: 2^34 sites are counted in 64 bits") {
  CHECK(packed_bytes({131072, 131072}) == std::uint64_t{1} << 31);
  const auto layout = bitlattice::Layout::make({131072, 131072});
  CHECK(layout.sites() == std::uint64_t{1} << 34);
  CHECK(layout.bonds() == std::uint64_t{1} << 35);
  const auto last = layout.row_place<2>(131071);
  CHECK(last.beside[0] == 0);
  CHECK(last.beside[1] == 131070);
  CHECK(last.odd_row);
}
