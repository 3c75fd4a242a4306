// Two forms of a sweep of a word group: one works on rows and lists only the modified cells, the
// other lists every cell. Both give the same words. Either continues where the other was stopped,
// because a checkpoint may be restored into an engine of the other form.
#include <algorithm>
#include <atomic>

#include "graphs/graph.hpp"
#include "src/multispin/local/local.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::multispin;

namespace {

using Words = std::vector<std::uint32_t>;

struct Sweeper {
  Sweeper(const Graph& graph, const Model& model, bool every_cell, LocalUpdate update)
      : layout(graph, model, every_cell),
        tables{{}, local_stream(update), cell_rule(model, update), update == LocalUpdate::glauber},
        aside(modified_room(layout)) {
    for (std::uint32_t k = 0; k <= std::max(graph.max_degree(), 8u); ++k) {
      tables.by_degree.emplace_back(k, model, 0.4, update);
    }
  }
  void sweep(Words& words, SweepPosition position) {
    const EngineOptions options;
    std::atomic<bool> stopped{false};
    StopPoll poll(options, stopped);
    REQUIRE(local_sweep(layout, tables, {7, 3, 5}, {}, poll, aside.data(), words.data(), position));
  }

  const Layout layout;
  LocalTables tables;
  Words aside;
};

}  // namespace

TEST_CASE("sweeps of rows and of listed cells give the same words") {
  const std::vector<std::uint32_t> extents =
      GENERATE(std::vector<std::uint32_t>{36, 10}, std::vector<std::uint32_t>{32, 4, 6},
               std::vector<std::uint32_t>{200}, std::vector<std::uint32_t>{34, 4, 4, 6});
  const double p = GENERATE(0.0, 0.2, 1.0);
  const auto update = GENERATE(LocalUpdate::metropolis, LocalUpdate::glauber);
  const Graph graph = build_graph({extents, p, Rule::rewire, 11});
  Model model;
  model.interactions.couplings = GENERATE(CouplingKind::ferromagnet, CouplingKind::plus_minus);
  Sweeper rows(graph, model, false, update), every(graph, model, true, update);
  REQUIRE(rows.layout.every_cell == (graph.modified_sites().size() == graph.sites()));
  Words start(rows.layout.words);
  std::uint32_t x = 1;
  for (auto& word : start) word = x = 1664525 * x + 1013904223;
  Words whole = start, listed = start;
  rows.sweep(whole, {});
  every.sweep(listed, {});
  const auto same = [&](const Words& words) {
    for (Site site = 0; site < graph.sites(); ++site) {
      const Slot slot = rows.layout.slot(site);
      if (words[slot] != whole[slot]) return false;
    }
    return true;
  };
  CHECK(same(listed));
  // Stopped within one of the colours, after some of its rows.
  const Layout& layout = rows.layout;
  for (std::uint32_t colour = 0; colour < 2; ++colour) {
    const std::uint32_t row = layout.rows / 2;
    Words words = start;
    for (Site site = 0; site < graph.sites(); ++site) {
      const Slot slot = layout.slot(site);
      const auto own_colour = static_cast<std::uint32_t>(graph.colour(site));
      if (own_colour < colour ||
          (own_colour == colour && slot < layout.colour_base[colour] + row * layout.half_row)) {
        words[slot] = whole[slot];
      }
    }
    Words on = words;
    rows.sweep(words, {colour, row});
    every.sweep(on, {colour, row});
    CHECK(same(words));
    CHECK(same(on));
  }
}
