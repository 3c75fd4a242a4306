#include "src/bytespin/graph_tables.hpp"

#include <algorithm>
#include <bit>

#include "graphs/geometry.hpp"
#include "src/base/error.hpp"
#include "src/base/setting_name.hpp"
#include "src/base/stop.hpp"

namespace rewise::bytespin {
namespace {

Thresholds make_thresholds(const EngineSpec& spec, double beta, int max_degree) {
  const bool potts = spec.model.is_potts();
  Thresholds thresholds;
  thresholds.bond = threshold(spec.model.bond_probability(beta));
  for (int fewer_equal = potts ? 0 : -max_degree; fewer_equal <= max_degree; ++fewer_equal) {
    const LocalUpdate rule = potts ? LocalUpdate::metropolis : spec.local;
    thresholds.flip.push_back(spec.model.flip_threshold(rule, beta, fewer_equal));
    if (potts) thresholds.weight.push_back(spec.model.heat_bath_weight(beta, fewer_equal));
  }
  return thresholds;
}

// Whether a row along direction 0 lies at an edge in another direction.
bool at_edge(const Lattice& lattice, std::uint64_t row) {
  for (unsigned k = 1; k < static_cast<unsigned>(lattice.dim); ++k) {
    const std::uint64_t x = row % lattice.extent[k];
    if (x == 0 || x + 1 == lattice.extent[k]) return true;
    row /= lattice.extent[k];
  }
  return false;
}

// Works row by row, because a division per site would take longer than an update of a large
// lattice.
std::vector<SiteMasks> make_site_masks(const Graph& g) {
  std::vector<SiteMasks> site_masks(g.sites() / 32 + 1);
  const Lattice& lattice = g.lattice();
  const auto mark = [&](std::uint64_t site) { site_masks[site / 32].edge |= 1u << site % 32; };
  const std::uint64_t length = lattice.dim > 0 ? lattice.extent[0] : 0;
  const std::uint64_t rows = lattice.dim > 0 ? g.sites() / length : 0;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t first = row * length, last = first + length - 1;
    const std::uint64_t step = at_edge(lattice, row) ? 1 : last - first;
    for (std::uint64_t site = first; site <= last; site += step) mark(site);
    // Rows begin at even sites, and colours alternate.
    const std::uint32_t ones =
        lattice.colour(static_cast<Site>(first)) == 1 ? 0x55555555u : 0xAAAAAAAAu;
    for (std::uint64_t word = first / 32; word <= last / 32; ++word) {
      const std::uint64_t begin = std::max(first, 32 * word) % 32;
      const std::uint64_t end = std::min(last, 32 * word + 31) % 32;
      site_masks[word].colour |= ones & ~0u << begin & ~0u >> (31 - end);
    }
  }
  for (const Site site : g.modified_sites()) site_masks[site / 32].modified |= 1u << site % 32;
  std::uint32_t before = 0;
  for (SiteMasks& masks : site_masks) {
    masks.before = before;
    before += static_cast<std::uint32_t>(std::popcount(masks.modified));
  }
  return site_masks;
}

}  // namespace

GraphTables::GraphTables(const Graph& g, const EngineSpec& spec)
    : graph(g), units(spec.model.sum_units(g.bonds(), g.sites())) {
  lattice = g.lattice();
  const Geometry geometry = Geometry::make(lattice);
  std::copy(std::begin(geometry.stride), std::end(geometry.stride), stride);
  sites = g.sites();
  max_degree = g.max_degree();
  potts = spec.model.is_potts();
  states = spec.model.q;
  bond_draw_index = BondDrawIndex::make(lattice);
  site_draw_index = SiteDrawIndex::make(lattice);
  bond_draws = bond_draw_index.lattice_draws;
  // Sums over bonds, and labels on devices, support moved bonds but not removed ones.
  if (g.spec().bare) {
    throw Error(ExitCode::usage,
                "the bytespin engine does not support a lattice without its shortcuts (use " +
                    setting_value("engine", "multispin") +
                    ", or read the graph as a list of bonds)");
  }
  entries.reserve(g.neighbours().size());
  StopCheck check;
  for (std::size_t k = 0; k < g.neighbours().size(); ++k) {
    check();
    const std::uint64_t draw_index = bond_draw_index.at(g.neighbour_bonds()[k]);
    entries.push_back({g.neighbours()[k], static_cast<std::uint32_t>(draw_index),
                       static_cast<std::uint32_t>(draw_index >> 32)});
  }
  for (const RewiredBond& r : g.rewired_bonds()) {
    check();
    const std::uint64_t draw_index = bond_draw_index.at(r.bond);
    rewired.push_back({draw_index, r.a, r.b});
    bond_draws = std::max(bond_draws, draw_index + 1);
  }
  g.for_each_gone([&](Bond bond) { gone.push_back(bond_draw_index.at(bond)); });
  site_masks = make_site_masks(g);
  std::sort(gone.begin(), gone.end());
  for (const double beta : spec.betas) {
    thresholds.push_back(make_thresholds(spec, beta, static_cast<int>(max_degree)));
  }
}

}  // namespace rewise::bytespin
