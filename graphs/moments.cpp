#include "graphs/moments.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "src/base/constants.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

// `sites`: those of the lattice, or of a graph without one.
GraphMoments moments_of(const Lattice& lattice, std::uint64_t sites,
                        std::span<const RewiredBond> rewired) {
  const auto regular = 2.0 * lattice.dim;
  GraphMoments moments{0, static_cast<double>(sites) * regular * regular};
  // Calls f(site, change of its degree) for each end that left or reached a site. Counts the ends
  // that reached a site in moments.rewired_ends.
  const auto for_each_move = [&](const auto& f) {
    for (const RewiredBond& r : rewired) {
      const bool added = r.bond >= lattice.bonds();
      for (const auto& [home, now] : {std::pair(added ? r.a : lattice.home_a(r.bond), r.a),
                                      std::pair(added ? r.b : lattice.home_b(r.bond), r.b)}) {
        if (!added && home == now) continue;
        moments.rewired_ends += 1;
        if (!added) f(home, -1);
        f(now, +1);
      }
    }
  };
  const auto change = [&](double more) { moments.sum_k2 += more * (2 * regular + more); };
  // Counting is faster than sorting if ends have moved on much of the lattice.
  if (8 * rewired.size() > sites) {
    std::vector<std::int32_t> changes(sites);
    for_each_move([&](Site site, int more) { changes[site] += more; });
    for (const std::int32_t more : changes) change(more);
    return moments;
  }
  std::vector<std::pair<Site, int>> moves;
  for_each_move([&](Site site, int more) { moves.emplace_back(site, more); });
  std::ranges::sort(moves);
  for (auto move = moves.begin(); move != moves.end();) {
    double more = 0;
    for (const Site site = move->first; move != moves.end() && move->first == site; ++move) {
      more += move->second;
    }
    change(more);
  }
  return moments;
}

}  // namespace

GraphMoments moments_of(const Graph& graph) {
  const Lattice lattice = graph.origin();
  return moments_of(lattice, graph.sites(), graph.shortcuts());
}

GraphMoments moments_of(const Lattice& lattice, std::span<const RewiredBond> rewired) {
  return moments_of(lattice, lattice.sites(), rewired);
}

GraphMoments exact_means(const GraphSpec& spec) {
  const Lattice lattice = Lattice::make(spec.extents);
  const double d = lattice.dim, p = spec.p;
  const auto sites = static_cast<double>(lattice.sites());
  const auto bonds = static_cast<double>(lattice.bonds());
  const double n = sites / 2, q = p / 2, r = 1 / (n - 1);
  switch (spec.rule) {
    case Rule::rewire: {
      const double same_site_pairs = n * d * (2 * d - 1);  // of ends: n C(2d, 2)
      const double other_pairs = bonds * (bonds - 1) / 2 - same_site_pairs;
      const double pairs = same_site_pairs * ((1 - q) * (1 - q) + q * q * r) +
                           other_pairs * (2 * q * (1 - q) * r + q * q * (n - 2) * r * r);
      const double excess = (2 - q) * q * ((1 - q) * (d - 0.5 + q / 4) + d * q);
      return {2 * bonds * q, 2 * bonds + 4 * pairs - 8 * d * q * excess};
    }
    case Rule::add:
      return {2 * p * bonds, 4 * d * d * sites + (8 * d + 2) * p * bonds +
                                 4 * bonds * (bonds - 1) * p * p / sites - 8 * d * d * p * p};
    case Rule::rewire_any:
      return {2 * bonds * q, kNaN};
    case Rule::add_any:
      return {2 * p * bonds, kNaN};
    case Rule::swap:
    case Rule::swap_any:
      return {kNaN, 4 * d * d * sites};
    case Rule::imported:
      break;
  }
  throw Error(ExitCode::usage, "an imported graph belongs to no ensemble and has no mean");
}

double shift_of_sum_k2(const GraphSpec& spec) {
  if (base_rule(spec.rule) == Rule::swap) return 0;
  const auto dim = static_cast<double>(spec.extents.size());
  double sites = 1;
  for (const std::uint32_t extent : spec.extents) sites *= extent;
  return 0.15 * spec.p * std::pow(dim / 2, 2.7) * std::pow(64 / sites, 2);
}

}  // namespace rewise
