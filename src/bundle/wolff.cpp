#include "src/bundle/wolff.hpp"

#include <fmt/format.h>

#include "src/base/error.hpp"

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
  for (std::uint32_t w = 0; w < plane_words; ++w) {
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

}  // namespace rewise::bundle
