// The bitlattice engine over 1, 2, 3, 4 and 7 ranks: same spins and measured integers as one
// process, states that move from any number of ranks to any other, errors.
#include "src/bitlattice/distributed_engine.hpp"

#include <algorithm>
#include <string>

#include "src/base/error.hpp"
#include "tests/bitlattice/shapes.hpp"
#include "tests/bitlattice/shared_ranks.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_ranks.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

const std::vector<int> kRanks{1, 2, 3, 4, 7};

EngineSpec spec_of(std::size_t dim, LocalUpdate local) {
  EngineSpec spec;
  const double tc = 1.13 * static_cast<double>(2 * dim - 2);
  spec.betas = {1 / tc, 0.5 / tc};
  spec.replicas = 2;
  spec.seed = 0xFEDCBA987654321ull;
  spec.local = local;
  return spec;
}

// The shapes of one process and further ones: odd slabs, rows updated in place, one plane per rank.
std::vector<std::vector<std::uint32_t>> shapes() {
  auto shapes = bitlattice_shapes();
  std::erase_if(shapes, [](const auto& extents) { return extents.size() == 1; });
  for (const auto& more : std::vector<std::vector<std::uint32_t>>{{4096, 14},
                                                                  {8192, 10},
                                                                  {36, 22},
                                                                  {1026, 8},
                                                                  {6, 4, 14},
                                                                  {258, 4, 8},
                                                                  {4, 6, 4, 8},
                                                                  {10, 4, 4, 10}}) {
    shapes.push_back(more);
  }
  return shapes;
}

}  // namespace

TEST_CASE("bitlattice over ranks: same trajectory and sums as one process") {
  int cases = 0;
  for (const auto& extents : shapes()) {
    for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      const EngineSpec spec = spec_of(extents.size(), local);
      std::vector<Seen> expected;
      const auto one = make_bitlattice_engine(extents, spec, with_threads(1));
      for (const std::uint64_t cycles : {0, 3}) {
        one->advance({2, 0}, cycles);
        expected.push_back(look(*one));
      }
      for (const int ranks : kRanks) {
        if (static_cast<std::uint32_t>(ranks) > extents.back()) continue;
        std::string name(to_string(local));
        for (const auto extent : extents) name.append(" ").append(std::to_string(extent));
        INFO(name << " on " << ranks << " ranks");
        with_ranks(ranks, extents, spec, with_threads(ranks == 2 ? 2 : 1), [&](Engine& engine) {
          CHECK(engine.threads() == (ranks == 2 ? 4 : ranks));
          check_seen(look(engine), expected[0]);
          engine.advance({2, 0}, 3);
          check_seen(look(engine), expected[1]);
        });
        ++cases;
      }
    }
  }
  CHECK(cases > 240);
}

TEST_CASE("bitlattice over ranks: states move from any number of ranks to any other") {
  for (const auto& extents :
       std::vector<std::vector<std::uint32_t>>{{130, 10}, {4096, 8}, {6, 4, 8}, {4, 4, 4, 8}}) {
    const EngineSpec spec = spec_of(extents.size(), LocalUpdate::metropolis);
    const auto one = make_bitlattice_engine(extents, spec, with_threads(1));
    one->advance({1, 0}, 12);
    const Seen expected = look(*one);
    EngineState state;
    bool first = true;
    for (const int ranks : {3, 2, 7, 4, 1}) {  // 2, 4, 6, 8, 10 steps
      with_ranks(ranks, extents, spec, with_threads(1), [&](Engine& engine) {
        engine.advance({1, 0}, first ? 2 : 5);  // later ones are discarded by restore()
        if (!first) {
          engine.restore(state);
          engine.advance({1, 0}, 2);
        }
        state = engine.save();
      });
      first = false;
    }
    const auto last = make_bitlattice_engine(extents, spec, with_threads(2));
    last->restore(state);
    CHECK(last->save().step == 10);
    last->advance({1, 0}, 2);
    check_seen(look(*last), expected);
  }
}

TEST_CASE("bitlattice over ranks: stopped between replicas and continued by one process") {
  const std::vector<std::uint32_t> extents{36, 22};
  const EngineSpec spec = spec_of(2, LocalUpdate::glauber);
  const auto one = make_bitlattice_engine(extents, spec, with_threads(1));
  one->advance({1, 0}, 5);
  EngineOptions options = with_threads(1);
  int asked = 0;
  options.stop = [&] { return ++asked == 1; };  // after a sweep of one of four replicas
  EngineState state;
  with_ranks(3, extents, spec, options, [&](Engine& engine) {
    CHECK(!engine.advance({1, 0}, 5));
    state = engine.save();
  });
  const auto other = make_bitlattice_engine(extents, spec, with_threads(1));
  CHECK(state.bytes.size() > other->save().bytes.size());
  other->restore(state);
  other->advance({1, 0}, 5);
  check_seen(look(*other), look(*one));
}

TEST_CASE("bitlattice over ranks: several engines, one after the other and at once") {
  const std::vector<std::uint32_t> a{36, 22}, b{8, 10};
  const EngineSpec spec = spec_of(2, LocalUpdate::metropolis);
  distributed::run_ranks(3, [&](distributed::Transport& transport) {
    if (transport.rank() > 0) {
      return follow_orders(transport, [&](std::span<const std::uint8_t> bytes) {
        return make_bitlattice_subdomain(bytes, transport, [](bool) { return with_threads(1); });
      });
    }
    for (int round = 0; round < 2; ++round) {
      const auto x = make_distributed_bitlattice_engine(transport, a, spec, with_threads(1));
      const auto y = make_distributed_bitlattice_engine(transport, b, spec, with_threads(1));
      for (int k = 0; k < 3; ++k) {
        x->advance({1, 0}, 1);
        y->advance({2, 0}, 1);
      }
      const auto one = make_bitlattice_engine(a, spec, {}),
                 other = make_bitlattice_engine(b, spec, {});
      one->advance({1, 0}, 3);
      other->advance({2, 0}, 3);
      check_seen(look(*x), look(*one));
      check_seen(look(*y), look(*other));
    }
    dismiss_followers(transport);
  });
}

TEST_CASE("bitlattice over ranks: errors of unsupported settings") {
  const EngineSpec spec = spec_of(2, LocalUpdate::metropolis);
  const auto nothing = [](Engine&) {};
  expect(ExitCode::usage, "7 ranks cannot share size 8,6: it has 6 rows along its last extent",
         [&] {
           with_ranks(7, {8, 6}, spec, with_threads(1), nothing);
         });
  expect(ExitCode::usage, "one row", [&] { with_ranks(2, {64}, spec, with_threads(1), nothing); });
  expect(ExitCode::usage, "even", [&] { with_ranks(2, {8, 5}, spec, with_threads(1), nothing); });
  EngineSpec potts = spec;
  potts.model.kind = ModelKind::potts;
  expect(ExitCode::usage, "potts", [&] { with_ranks(2, {8, 6}, potts, with_threads(1), nothing); });
  expect(ExitCode::usage, "the bitlattice engine has no cluster updates", [&] {
    with_ranks(2, {8, 6}, spec, with_threads(1), [](Engine& engine) { engine.advance({1, 1}, 1); });
  });
  expect(ExitCode::device, "GiB", [&] {
    with_ranks(2, {1u << 30, 1u << 9}, spec, with_threads(1), nothing);
  });
  // An invalid state changes nothing, on any rank.
  with_ranks(3, {100, 6}, spec, with_threads(1), [&](Engine& engine) {
    engine.advance({1, 0}, 3);
    const Seen before = look(engine);
    EngineState bad = before.state;
    bad.bytes.pop_back();
    expect(ExitCode::data, "engine 'bitlattice'", [&] { engine.restore(bad); });
    check_seen(look(engine), before);
  });
}
