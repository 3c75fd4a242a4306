// Graph::validate(): every invariant of a graph, checked from the stored arrays. Cost: proportional
// to the stored neighbours (modified cells), not to the lattice.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

[[noreturn]] void fail(const std::string& text) {
  throw Error(ExitCode::data, "unfit graph: " + text);
}

void check_rewired_bonds(const Graph& graph) {
  const Lattice& lattice = graph.lattice();
  for (const RewiredBond& r : graph.rewired_bonds()) {
    if (r.a == r.b) fail(fmt::format("bond {} joins site {} to itself", r.bond, r.a));
    if (graph.colour(r.a) == graph.colour(r.b)) {
      fail(fmt::format("bond {} joins sites {} and {} of the same colour {}", r.bond, r.a, r.b,
                       graph.colour(r.a)));
    }
    if (lattice.dim > 0 && r.bond < lattice.bonds() && r.a == lattice.home_a(r.bond) &&
        r.b == lattice.home_b(r.bond)) {
      fail(fmt::format("bond {} is listed as rewired, but lies where it was born", r.bond));
    }
  }
}

// No neighbour twice, and every entry has its mirror image with the same bond.
void check_neighbours(const Graph& graph) {
  std::vector<std::pair<Site, Bond>> list;
  for (const Site site : graph.modified_sites()) {
    list.clear();
    graph.for_each_neighbour(site, [&](Site other, Bond bond) { list.emplace_back(other, bond); });
    std::ranges::sort(list);
    for (std::size_t k = 0; k < list.size(); ++k) {
      const auto [other, bond] = list[k];
      if (k > 0 && list[k - 1].first == other) {
        fail(fmt::format("bonds {} and {} both join sites {} and {}", list[k - 1].second, bond,
                         site, other));
      }
      if (other >= graph.sites()) fail(fmt::format("bond {} leads to site {}", bond, other));
      if (graph.colour(site) == graph.colour(other)) {
        fail(fmt::format("bond {} joins sites {} and {} of the same colour {}", bond, site, other,
                         graph.colour(site)));
      }
      bool mirrored = false;
      graph.for_each_neighbour(other, [&, b = bond](Site back, Bond back_bond) {
        mirrored = mirrored || (back == site && back_bond == b);
      });
      if (!mirrored) {
        fail(fmt::format("bond {} leads from site {} to site {}, but not back", bond, site, other));
      }
    }
  }
}

void check_counts(const Graph& graph) {
  const std::uint64_t modified = graph.modified_sites().size();
  const std::uint64_t ends =
      graph.neighbours().size() +
      (graph.sites() - modified) * 2 * static_cast<std::uint64_t>(graph.lattice().dim);
  if (ends != 2 * graph.bonds()) {
    fail(fmt::format("{} ends of bonds, but {} bonds", ends, graph.bonds()));
  }
  // A rewired bond must be found at its ends, and a lattice bond that is gone nowhere.
  for (const RewiredBond& r : graph.rewired_bonds()) {
    bool found = false;
    graph.for_each_neighbour(
        r.a, [&](Site other, Bond bond) { found = found || (other == r.b && bond == r.bond); });
    if (!found) {
      fail(fmt::format("rewired bond {} is not among the neighbours of site {}", r.bond, r.a));
    }
  }
}

}  // namespace

void Graph::validate() const {
  if (!std::ranges::is_sorted(modified_)) fail("modified cells are not in ascending order");
  if (offsets_.size() != modified_.size() + 1 || offsets_.back() != neighbours_.size() ||
      neighbours_.size() != neighbour_bonds_.size() || !std::ranges::is_sorted(offsets_)) {
    fail("offsets do not fit the neighbour lists");
  }
  check_rewired_bonds(*this);
  check_neighbours(*this);
  check_counts(*this);
}

}  // namespace rewise
