#include "src/bundle/wolff/wolff.hpp"

#include <fmt/format.h>

#include "src/base/error.hpp"
#include "src/base/stop.hpp"
#include "src/bundle/wolff/wolff_dense.hpp"

namespace rewise::bundle {
namespace {

void mark(std::vector<std::uint32_t>& bits, Site site) { bits[site / 32] |= 1u << site % 32; }

// Whole rows at the boundary of any dimension but x; else only the two ends of the row.
void mark_boundary(const Lattice& lattice, std::vector<std::uint32_t>& bits) {
  const std::uint32_t length = lattice.extent[0];
  const auto rows = static_cast<std::uint32_t>(lattice.sites() / length);
  for (std::uint32_t row = 0; row < rows; ++row) {
    bool whole = false;
    std::uint32_t rest = row;
    for (unsigned k = 1; k < static_cast<unsigned>(lattice.dim); ++k) {
      const std::uint32_t x = rest % lattice.extent[k];
      whole = whole || x == 0 || x + 1 == lattice.extent[k];
      rest /= lattice.extent[k];
    }
    const Site first = row * length;
    mark(bits, first);
    mark(bits, first + length - 1);
    for (Site site = first; whole && site < first + length; ++site) mark(bits, site);
  }
}

}  // namespace

WolffGeometry::WolffGeometry(const Graph& graph, const Layout& l)
    : layout(l), lattice(graph.lattice()), sites(static_cast<std::uint32_t>(graph.sites())) {
  const Bond largest = lattice.bonds() + graph.rewired_bonds().size();
  if (largest > 0xFFFFFFFFull) {
    throw Error(ExitCode::usage,
                fmt::format("{} bonds are too many for Wolff updates of the bundle engine (at most "
                            "2^32 - 1)",
                            largest));
  }
  plane_words = (sites + 31) / 32;
  plane_words = (plane_words + kGuard - 1) / kGuard * kGuard;
  special.assign(plane_words, 0);
  for (const Site site : graph.modified_sites()) mark(special, site);
  if (lattice.dim > 0) mark_boundary(lattice, special);
  special_before.resize(plane_words);
  offset.push_back(0);
  std::uint32_t count = 0;
  StopCheck check;
  for (std::uint32_t w = 0; w < plane_words; ++w) {
    check();
    special_before[w] = count;
    for (std::uint32_t bits = special[w]; bits != 0; bits &= bits - 1) {
      const Site site = 32 * w + static_cast<unsigned>(__builtin_ctz(bits));
      graph.for_each_neighbour(site, [&](Site neighbour, Bond bond) {
        link.push_back({neighbour, static_cast<std::uint32_t>(bond)});
      });
      offset.push_back(link.size());
      ++count;
    }
  }
}

DenseGeometry::DenseGeometry(const Graph& graph, const Layout& l)
    : layout(l), by_rows(l.lattice.dim > 0 && !l.by_table) {
  const Lattice& lattice = l.lattice;
  const auto list = [&](Bond index, Site from, Site to) {
    bond.push_back(static_cast<std::uint32_t>(index));
    a.push_back(l.slot(from));
    b.push_back(l.slot(to));
  };
  if (!by_rows && lattice.dim > 0) {
    const auto dim = static_cast<unsigned>(lattice.dim);
    auto removed = l.removed.bond.begin();
    for (Bond index = 0; index < lattice.bonds(); ++index) {
      if (removed != l.removed.bond.end() && *removed == index) {
        ++removed;
        continue;
      }
      const auto site = static_cast<Site>(index / dim);
      list(index, site, lattice.forward(site, static_cast<int>(index % dim)));
    }
  }
  StopCheck check;
  for (const RewiredBond& r : graph.rewired_bonds()) {
    check();
    list(r.bond, r.a, r.b);
  }
  count = static_cast<std::uint32_t>(bond.size());
  const std::size_t padded = (bond.size() + kGuard - 1) / kGuard * kGuard;
  bond.resize(padded, 0);
  a.resize(padded, kGuard);
  b.resize(padded, kGuard);
  if (!by_rows) return;

  std::vector<std::vector<ShortcutEnd>> ends(l.rows);
  std::uint32_t shortcut = 0;
  for (const RewiredBond& r : graph.rewired_bonds()) {
    check();
    const std::uint32_t row_a = r.a / lattice.extent[0], row_b = r.b / lattice.extent[0];
    ends[row_a].push_back({a[shortcut], b[shortcut], row_b, shortcut});
    ends[row_b].push_back({b[shortcut], a[shortcut], row_a, shortcut});
    ++shortcut;
  }
  row_ends.push_back(0);
  for (const auto& row : ends) {
    shortcut_end.insert(shortcut_end.end(), row.begin(), row.end());
    row_ends.push_back(static_cast<std::uint32_t>(shortcut_end.size()));
  }
  for (const Bond index : l.removed.bond) {
    const auto dim = static_cast<unsigned>(lattice.dim);
    const auto site = static_cast<Site>(index / dim);
    const auto direction = static_cast<int>(index % dim);
    const bool here = lattice.colour(site) == 0;
    const Site end = here ? site : lattice.forward(site, direction);
    removed_at.emplace_back(2 * direction + (here ? 0 : 1), end / 2);
  }
}

}  // namespace rewise::bundle
