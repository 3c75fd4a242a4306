// The bytespin engine over ranks that share one CUDA device: same spins, sums and checkpoints as
// one process on the CPU, states that move from CUDA to CPU and back, errors.
#include <string>

#include "src/bytespin/methods.hpp"
#include "tests/bytespin/shared_ranks.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace shared_cuda_test {
namespace {

EngineOptions on(int device) {
  EngineOptions options;
  options.device = device;
  options.threads = 2;
  return options;
}

constexpr distributed::DeviceRoute kRoutes[]{distributed::DeviceRoute::peer,
                                             distributed::DeviceRoute::direct,
                                             distributed::DeviceRoute::host};

// Compares the states after some updates by each schedule.
void check_ranks(const std::vector<LatticeCase>& lattices, const std::vector<Schedule>& schedules,
                 const std::vector<int>& numbers, std::uint64_t cycles) {
  std::size_t turn = 0;
  for (const LatticeCase& lattice : lattices) {
    const Graph graph = build_graph({lattice.extents, lattice.p, lattice.rule, 11});
    for (const EngineSpec& spec : shared_specs()) {
      const auto one = make_bytespin_engine(graph, spec, on(-1));
      std::vector<Seen> expected{look(*one)};
      for (const Schedule& schedule : schedules) {
        one->advance(schedule, cycles);
        expected.push_back(look(*one));
      }
      for (const int ranks : numbers) {
        std::string name;
        for (const auto extent : lattice.extents) name.append(std::to_string(extent)).append(" ");
        INFO(name << to_string(lattice.rule) << " " << lattice.p << ", q = " << spec.model.q << ", "
                  << to_string(spec.local) << ", " << ranks << " ranks");
        // One route per case, in rotation: the result must not depend on the route.
        const auto route = kRoutes[++turn % 3];
        with_ranks(
            ranks, graph, spec, on(0),
            [&](Engine& engine) {
              check_seen(look(engine), expected[0]);
              for (std::size_t k = 0; k < schedules.size(); ++k) {
                engine.advance(schedules[k], cycles);
                check_seen(look(engine), expected[k + 1]);
              }
            },
            route);
      }
    }
  }
}

}  // namespace

TEST_CASE("bytespin over ranks on CUDA: same sweeps as one process on the CPU", "[gpu]") {
  check_ranks(lattice_cases({{36, 22}, {130, 8}, {64, 70}, {6, 4, 8}, {4, 6, 4, 8}}), {{2, 0}},
              {1, 2, 3, 7}, 2);
}

// Lattices with and without a full last row of tiles, with as many rows of tiles as ranks or more.
TEST_CASE("bytespin over ranks on CUDA: same Swendsen-Wang as one process on the CPU", "[gpu]") {
  check_ranks(lattice_cases({{64, 96}, {192, 70}, {64, 10, 12}, {64, 4, 6, 6}}),
              {{1, 2}, {0, 1}, {0, 19}}, {1, 2, 3}, 2);
}

TEST_CASE("bytespin over ranks on CUDA: label methods kalentev and fast give the same trajectory",
          "[gpu]") {
  int turn = 0;
  for (const LatticeCase& lattice :
       lattice_cases({{36, 22}, {130, 8}, {64, 10}, {6, 4, 8}, {4, 6, 4, 8}})) {
    const Graph graph = build_graph({lattice.extents, lattice.p, lattice.rule, 12});
    const EngineSpec spec = shared_specs()[++turn % 2 == 0 ? 0 : 1];
    const auto one = make_bytespin_engine(graph, spec, on(-1));
    one->advance({1, 3}, 2);
    const Seen expected = look(*one);
    EngineOptions options = on(0);
    options.methods = {.label = LabelMethod::kalentev};
    for (const int ranks : {1, 2, 3}) {
      INFO(graph.sites() << " sites, p = " << lattice.p << ", q = " << spec.model.q << ", " << ranks
                         << " ranks");
      with_ranks(
          ranks, graph, spec, options,
          [&](Engine& engine) {
            engine.advance({1, 3}, 2);
            check_seen(look(engine), expected);
            CHECK(engine.work().label_passes >= 6 * spec.betas.size() * spec.replicas);
          },
          kRoutes[static_cast<std::size_t>(turn) % 3]);
    }
  }
}

TEST_CASE("bytespin over ranks on CUDA: a large lattice", "[gpu]") {
  const LatticeCase plain{{1024, 1000}, 0.0, Rule::rewire}, rewired{{1024, 1000}, 0.05, Rule::swap};
  check_ranks({plain, rewired}, {{1, 1}, {0, 20}}, {2, 5}, 1);
}

TEST_CASE("bytespin over ranks on CUDA: states move to other ranks and devices", "[gpu]") {
  const Graph graph = build_graph({{64, 100}, 0.1, Rule::rewire, 5});
  const EngineSpec spec = shared_specs()[3];
  const auto one = make_bytespin_engine(graph, spec, on(-1));
  one->advance({1, 1}, 8);
  const Seen expected = look(*one);
  EngineState state = make_bytespin_engine(graph, spec, on(-1))->save();
  for (const auto& [ranks, device] : {std::pair{3, 0}, {2, -1}, {2, 0}}) {
    with_ranks(ranks, graph, spec, on(device), [&](Engine& engine) {
      engine.advance({1, 1}, 5);  // discarded by restore()
      engine.restore(state);
      engine.advance({1, 1}, 2);
      state = engine.save();
    });
  }
  const auto last = make_bytespin_engine(graph, spec, on(0));
  last->restore(state);
  last->advance({1, 1}, 2);
  check_seen(look(*last), expected);
}

TEST_CASE("bytespin over ranks on CUDA: a tiny case for the sanitizer", "[gpu][tiny]") {
  check_ranks({{{64, 66}, 0.1, Rule::rewire}, {{64, 8, 12}, 0.0, Rule::rewire}}, {{1, 0}, {0, 3}},
              {3}, 1);
}

TEST_CASE("bytespin over ranks on CUDA: errors of unsupported settings", "[gpu]") {
  const EngineSpec spec = shared_specs()[0];
  const auto advance = [](Engine& engine) { engine.advance({1, 1}, 1); };
  expect(ExitCode::usage, "a first extent that is a multiple of 64", [&] {
    with_ranks(2, build_graph({{36, 64}, 0, Rule::rewire, 1}), spec, on(0), advance);
  });
  expect(ExitCode::usage, "a last extent above 64", [&] {
    with_ranks(3, build_graph({{64, 64}, 0, Rule::rewire, 1}), spec, on(0), advance);
  });
  EngineOptions sewn = on(0);
  sewn.methods = {.label = LabelMethod::self_label_sew};
  expect(ExitCode::usage,
         "ranks that share a replica support the label method fast or kalentev "
         "only, not self-label+sew",
         [&] {
           with_ranks(2, build_graph({{64, 64}, 0, Rule::rewire, 1}), spec, sewn, advance);
         });
  expect(ExitCode::device, "--device cuda:1000", [&] {
    with_ranks(2, build_graph({{64, 64}, 0, Rule::rewire, 1}), spec, on(1000), advance);
  });
}

}  // namespace shared_cuda_test
