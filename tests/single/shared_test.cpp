// The single engine over 1, 2, 3, 4 and 7 ranks: spins and measured integers of one process, on
// regular and rewired lattices; states that go from any number of ranks to any other; errors.
#include "src/single/shared.hpp"

#include <string>

#include "src/base/error.hpp"
#include "src/ranks/threads.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

void with_ranks(int ranks, const Graph& graph, const EngineSpec& spec, const EngineOptions& options,
                const std::function<void(Engine&)>& f) {
  ranks::run_ranks(ranks, [&](ranks::Transport& transport) {
    if (transport.rank() > 0) {
      return follow(transport, [&](std::span<const std::uint8_t> recipe) {
        return make_single_share(recipe, transport, [&](bool) { return options; });
      });
    }
    f(*make_shared_single_engine(transport, graph, spec, options));
    dismiss_followers(transport);
  });
}

const std::vector<Schedule> kSchedules{{2, 0}, {1, 2}};

std::vector<EngineSpec> specs() {
  std::vector<EngineSpec> specs;
  for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
    for (const std::uint32_t q : {2u, 3u}) {
      EngineSpec spec;
      spec.model = q == 2 ? ModelKind::ising : ModelKind::potts;
      spec.q = q;
      spec.betas = {0.4, 0.7};
      spec.replicas = 2;
      spec.seed = 31 + q;
      spec.local = local;
      spec.cluster = ClusterUpdate::swendsen_wang;
      specs.push_back(spec);
    }
  }
  return specs;
}

}  // namespace

TEST_CASE("single over ranks: the trajectory and the sums of one process") {
  int cases = 0, turn = 0;
  for (const LatticeCase& lattice :
       lattice_cases({{8, 10}, {36, 22}, {130, 8}, {4, 4}, {6, 4, 8}, {4, 6, 4, 8}})) {
    const Graph graph = build_graph({lattice.extents, lattice.p, lattice.rule, 11});
    ++turn;
    for (const EngineSpec& spec : specs()) {
      // Metropolis and Glauber in turn.
      if (spec.local != (turn % 2 == 0 ? LocalUpdate::metropolis : LocalUpdate::glauber)) continue;
      const auto one = make_single_engine(graph, spec, with_threads(1));
      std::vector<Seen> expected{look(*one)};
      for (const Schedule& schedule : kSchedules) {
        one->advance(schedule, 2);
        expected.push_back(look(*one));
      }
      for (const int ranks : {1, 2, 3, 4, 7}) {
        if (static_cast<std::uint32_t>(ranks) > lattice.extents.back()) continue;
        INFO(graph.sites() << " sites, p = " << lattice.p << ", q = " << spec.q << ", "
                           << to_string(spec.local) << ", " << ranks << " ranks");
        with_ranks(ranks, graph, spec, with_threads(ranks == 3 ? 2 : 1), [&](Engine& engine) {
          check_seen(look(engine), expected[0]);
          for (std::size_t k = 0; k < kSchedules.size(); ++k) {
            engine.advance(kSchedules[k], 2);
            check_seen(look(engine), expected[k + 1]);
          }
        });
        ++cases;
      }
    }
  }
  CHECK(cases > 400);
}

TEST_CASE("single over ranks: states go from any number of ranks to any other") {
  const Graph graph = build_graph({{36, 22}, 0.1, Rule::rewire, 5});
  const EngineSpec spec = specs()[3];
  const auto one = make_single_engine(graph, spec, with_threads(1));
  one->advance({1, 1}, 8);
  const Seen expected = look(*one);
  EngineState state = make_single_engine(graph, spec, with_threads(1))->save();
  for (const int ranks : {3, 2, 7}) {
    with_ranks(ranks, graph, spec, with_threads(1), [&](Engine& engine) {
      engine.advance({1, 1}, 5);  // must leave nothing behind
      engine.restore(state);
      engine.advance({1, 1}, 2);
      state = engine.save();
    });
  }
  const auto last = make_single_engine(graph, spec, with_threads(2));
  last->restore(state);
  last->advance({1, 1}, 2);
  check_seen(look(*last), expected);
}

TEST_CASE("single over ranks: a state from within a sweep is gone on with") {
  const Graph graph = build_graph({{64, 64}, 0.1, Rule::rewire, 5});
  const EngineSpec spec = specs()[0];
  const auto one = make_single_engine(graph, spec, with_threads(1));
  one->advance({1, 0}, 6);
  EngineOptions options = with_threads(1);
  options.stop_grain = 100;
  int asked = 0;
  options.stop = [&] { return ++asked == 70; };
  const auto stopped = make_single_engine(graph, spec, options);
  CHECK(!stopped->advance({1, 0}, 6));
  with_ranks(3, graph, spec, with_threads(1), [&](Engine& engine) {
    engine.restore(stopped->save());
    engine.advance({1, 0}, 6);
    check_seen(look(engine), look(*one));
  });
}

TEST_CASE("single over ranks: what cannot be is one line") {
  const EngineSpec spec = specs()[0];
  const auto nothing = [](Engine&) {};
  const Graph graph = build_graph({{8, 6}, 0, Rule::rewire, 1});
  expect(ExitCode::usage, "7 ranks cannot share size 8,6",
         [&] { with_ranks(7, graph, spec, with_threads(1), nothing); });
  expect(ExitCode::usage, "a graph from a file",
         [&] { with_ranks(2, irregular_graph(400), spec, with_threads(1), nothing); });
  EngineSpec wolff = spec;
  wolff.cluster = ClusterUpdate::wolff;
  expect(ExitCode::usage, "not wolff", [&] {
    with_ranks(2, graph, wolff, with_threads(1), [](Engine& engine) { engine.advance({1, 1}, 1); });
  });
  EngineOptions device = with_threads(1);
  device.device = 0;
  expect(ExitCode::device, "--device cpu", [&] { with_ranks(2, graph, spec, device, nothing); });
}
