// The bytespin engine over 1, 2, 3, 4 and 7 ranks: same spins and measured integers as one process,
// on regular and rewired lattices; states that move from any number of ranks to any other; errors.
#include <string>

#include "src/base/error.hpp"
#include "src/bytespin/methods.hpp"
#include "tests/bytespin/shared_ranks.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_ranks.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

const std::vector<Schedule> kSchedules{{2, 0}, {1, 2}};

}  // namespace

TEST_CASE("bytespin over ranks: same trajectory and sums as one process") {
  int cases = 0, turn = 0;
  for (const LatticeCase& lattice :
       lattice_cases({{8, 10}, {36, 22}, {130, 8}, {4, 4}, {6, 4, 8}, {4, 6, 4, 8}})) {
    const Graph graph = build_graph({lattice.extents, lattice.p, lattice.rule, 11});
    ++turn;
    for (const EngineSpec& spec : shared_specs()) {
      // Metropolis and Glauber alternate.
      if (spec.local != (turn % 2 == 0 ? LocalUpdate::metropolis : LocalUpdate::glauber)) continue;
      const auto one = make_bytespin_engine(graph, spec, with_threads(1));
      std::vector<Seen> expected{look(*one)};
      for (const Schedule& schedule : kSchedules) {
        one->advance(schedule, 2);
        expected.push_back(look(*one));
      }
      for (const int ranks : {1, 2, 3, 4, 7}) {
        if (static_cast<std::uint32_t>(ranks) > lattice.extents.back()) continue;
        INFO(graph.sites() << " sites, p = " << lattice.p << ", q = " << spec.model.q << ", "
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

TEST_CASE("bytespin over ranks: a tall lattice whose bonds are divided among the ranks") {
  int turn = 0;
  for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
    const Graph graph = build_graph({{4, 600}, 0.2, rule, 3});
    const EngineSpec spec = shared_specs()[static_cast<std::size_t>(turn++)];
    const auto one = make_bytespin_engine(graph, spec, with_threads(1));
    one->advance({1, 2}, 3);
    const Seen expected = look(*one);
    for (const int ranks : {3, 7}) {
      INFO(to_string(rule) << ", " << ranks << " ranks");
      with_ranks(ranks, graph, spec, with_threads(1), [&](Engine& engine) {
        engine.advance({1, 2}, 3);
        check_seen(look(engine), expected);
      });
    }
  }
}

TEST_CASE("bytespin over ranks: states move from any number of ranks to any other") {
  const Graph graph = build_graph({{36, 22}, 0.1, Rule::rewire, 5});
  const EngineSpec spec = shared_specs()[3];
  const auto one = make_bytespin_engine(graph, spec, with_threads(1));
  one->advance({1, 1}, 8);
  const Seen expected = look(*one);
  EngineState state = make_bytespin_engine(graph, spec, with_threads(1))->save();
  for (const int ranks : {3, 2, 7}) {
    with_ranks(ranks, graph, spec, with_threads(1), [&](Engine& engine) {
      engine.advance({1, 1}, 5);  // discarded by restore()
      engine.restore(state);
      engine.advance({1, 1}, 2);
      state = engine.save();
    });
  }
  const auto last = make_bytespin_engine(graph, spec, with_threads(2));
  last->restore(state);
  last->advance({1, 1}, 2);
  check_seen(look(*last), expected);
}

TEST_CASE("bytespin over ranks: label methods kalentev and fast give the same trajectory") {
  int cases = 0, turn = 0;
  for (const LatticeCase& lattice :
       lattice_cases({{36, 22}, {130, 8}, {64, 10}, {6, 4, 8}, {4, 6, 4, 8}})) {
    const Graph graph = build_graph({lattice.extents, lattice.p, lattice.rule, 12});
    const EngineSpec spec = shared_specs()[++turn % 2 == 0 ? 0 : 1];
    const auto one = make_bytespin_engine(graph, spec, with_threads(1));
    one->advance({0, 5}, 1);
    const Seen expected = look(*one);
    EngineOptions options = with_threads(1);
    options.methods = {.label = LabelMethod::kalentev};
    for (const int ranks : {1, 2, 3, 7}) {
      INFO(graph.sites() << " sites, p = " << lattice.p << ", q = " << spec.model.q << ", " << ranks
                         << " ranks");
      with_ranks(ranks, graph, spec, options, [&](Engine& engine) {
        engine.advance({0, 5}, 1);
        check_seen(look(engine), expected);
        // The final pass, which changes nothing, also counts: at least one per update and replica.
        CHECK(engine.work().label_passes >= 5 * spec.betas.size() * spec.replicas);
      });
      ++cases;
    }
  }
  CHECK(cases == 200);
}

TEST_CASE("bytespin over ranks: continues from a state within a sweep") {
  const Graph graph = build_graph({{64, 64}, 0.1, Rule::rewire, 5});
  const EngineSpec spec = shared_specs()[0];
  const auto one = make_bytespin_engine(graph, spec, with_threads(1));
  one->advance({1, 0}, 6);
  EngineOptions options = with_threads(1);
  options.stop_grain = 100;
  int polls = 0;
  options.stop = [&] { return ++polls == 70; };
  const auto stopped = make_bytespin_engine(graph, spec, options);
  CHECK(!stopped->advance({1, 0}, 6));
  with_ranks(3, graph, spec, with_threads(1), [&](Engine& engine) {
    engine.restore(stopped->save());
    engine.advance({1, 0}, 6);
    check_seen(look(engine), look(*one));
  });
}

TEST_CASE("bytespin over ranks: errors of unsupported settings") {
  const EngineSpec spec = shared_specs()[0];
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
  EngineOptions sewn = with_threads(1);
  sewn.methods = {.label = LabelMethod::self_label_sew};
  expect(ExitCode::usage,
         "ranks that share a replica support the label method fast or kalentev "
         "only, not self-label+sew",
         [&] { with_ranks(2, graph, spec, sewn, nothing); });
}

TEST_CASE("bytespin over ranks: devices of different models are an error") {
  class NoSubdomain final : public Subdomain {
   public:
    explicit NoSubdomain(std::string model) : model_(std::move(model)) {}
    std::string device() const override { return "cuda"; }
    std::string model() const override { return model_; }
    int threads() const override { return 1; }
    void fetch(std::uint64_t) override {}
    void advance(const AdvanceOrder&) override {}
    void count(std::span<std::uint64_t>) override {}
    std::uint64_t replicas() const override { return 1; }
    std::uint64_t sums() const override { return 0; }
    IndexRange part(int) const override { return {}; }
    void read(std::uint64_t, std::uint64_t, std::uint64_t, std::span<std::uint8_t>) const override {
    }
    void write(std::uint64_t, std::uint64_t, std::uint64_t,
               std::span<const std::uint8_t>) override {}

   private:
    const std::string model_;
  };
  const auto start_ranks = [](const std::vector<std::string>& models) {
    distributed::run_ranks(static_cast<int>(models.size()), [&](distributed::Transport& transport) {
      const SubdomainMaker make = [&](std::span<const std::uint8_t>) {
        return std::make_unique<NoSubdomain>(models[static_cast<std::size_t>(transport.rank())]);
      };
      if (transport.rank() > 0) return follow_orders(transport, make);
      const Subdomains subdomains(transport, {}, make);
      CHECK(subdomains.threads() == static_cast<int>(models.size()));
    });
  };
  expect(ExitCode::device, "rank 2 uses H100, but rank 0 uses H200: ranks that share a replica",
         [&] {
           start_ranks({"H200", "H200", "H100", "H200"});
         });
}
