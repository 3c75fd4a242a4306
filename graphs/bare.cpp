#include "graphs/bare.hpp"

#include <algorithm>

#include "graphs/gaps.hpp"
#include "src/base/error.hpp"
#include "src/base/stop.hpp"

namespace rewise {
namespace {

void check_rule(const GraphSpec& spec) {
  if (spec.rule != Rule::imported) return;
  throw Error(ExitCode::usage, "graphs that are read from a file have no bare lattice");
}

// The site of the D end of a rewired bond, which is its unmoved end, or kMaxSites if both ends
// moved.
std::uint64_t d_end(const Lattice& lattice, const RewiredBond& r) {
  if (r.a == lattice.home_a(r.bond)) return r.a;
  if (r.b == lattice.home_b(r.bond)) return r.b;
  return kMaxSites;
}

// Rule `rewire`: removes the bonds with a moved end. `ends` gets the D ends.
void remove_rewired(const Lattice& lattice, const GraphSpec& spec, std::vector<Bond>& removed,
                    std::vector<Site>& ends) {
  // On lattices of a few sites an end stays in place if no other site is free (rewire.cpp).
  constexpr std::uint64_t many = 1u << 12;
  if (lattice.sites() < many) {
    for (const RewiredBond& r : rewired_bonds(spec)) {
      removed.push_back(r.bond);
      const std::uint64_t end = d_end(lattice, r);
      if (end < kMaxSites) ends.push_back(static_cast<Site>(end));
    }
    return;
  }
  // Larger lattices need no draws of the targets, which take most of the time of rewired_bonds().
  Gaps gaps(spec.seed, fixed_point(spec.p / 2));
  const std::uint64_t count = 2 * lattice.bonds();
  StopCheck check;
  for (std::uint64_t end = gaps.next(); end < count;) {
    check();
    const Bond bond = end / 2;
    const bool first = end % 2 == 0;
    removed.push_back(bond);
    end += 1 + gaps.next();
    if (first && end == 2 * bond + 1) {
      end += 1 + gaps.next();  // both ends moved
    } else {
      ends.push_back(first ? lattice.home_b(bond) : lattice.home_a(bond));
    }
  }
}

// Rule `swap`: bonds are removed independently with probability p; `ends` gets one random end of
// each.
void remove_bonds(const Lattice& lattice, const GraphSpec& spec, std::vector<Bond>& removed,
                  std::vector<Site>& ends) {
  Gaps gaps(spec.seed, fixed_point(spec.p));
  for (Bond bond = gaps.next(); bond < lattice.bonds(); bond += 1 + gaps.next()) {
    const bool first = random_words(spec.seed, Stream::graph_side, bond, 0, 0, 0).w[0] & 1u;
    removed.push_back(bond);
    ends.push_back(first ? lattice.home_a(bond) : lattice.home_b(bond));
  }
}

}  // namespace

Graph bare_lattice(const GraphSpec& spec) {
  check_rule(spec);
  const Lattice lattice = Lattice::make(spec.extents);
  std::vector<Bond> removed;
  std::vector<Site> ends;
  if (base_rule(spec.rule) == Rule::rewire) {
    remove_rewired(lattice, spec, removed, ends);
  } else if (base_rule(spec.rule) == Rule::swap) {
    remove_bonds(lattice, spec, removed, ends);
  }
  std::ranges::sort(ends);
  std::vector<KeptEnds> kept_ends;
  for (const Site site : ends) {
    if (!kept_ends.empty() && kept_ends.back().site == site) {
      ++kept_ends.back().ends;
    } else {
      kept_ends.push_back({site, 1});
    }
  }
  return {lattice, std::move(removed), std::move(kept_ends), spec};
}

BareCounts bare_counts(const Graph& bare) {
  BareCounts counts;
  if (!bare.has_kept_ends()) return counts;
  const Lattice& lattice = bare.lattice();
  counts.removed = static_cast<double>(bare.removed_bonds().size());
  struct LocalCounts {
    std::uint8_t ends, removed;
  };
  std::vector<LocalCounts> at(lattice.sites());
  for (const KeptEnds& w : bare.kept_ends()) at[w.site].ends = static_cast<std::uint8_t>(w.ends);
  const auto offsets = bare.offsets();
  const auto sites = bare.modified_sites();
  for (std::size_t m = 0; m < sites.size(); ++m) {
    at[sites[m]].removed = static_cast<std::uint8_t>(2 * static_cast<unsigned>(lattice.dim) -
                                                     (offsets[m + 1] - offsets[m]));
  }
  for (const Site site : sites) {  // every site with D ends has lost bonds
    const double ends = at[site].ends, removed = at[site].removed;
    counts.removed_pairs += removed * (removed - 1) / 2;
    counts.d_ends += ends;
    counts.d_pairs += ends * (ends - 1);
    counts.d_removed += ends * (removed - 1);
    double ends_beside = 0, removed_beside = 0;
    for (int direction = 0; direction < lattice.dim; ++direction) {
      const LocalCounts next = at[lattice.forward(site, direction)];
      ends_beside += next.ends;
      removed_beside += next.removed;
    }
    counts.removed_beside_removed += removed * removed_beside;
    counts.d_beside_removed += ends * removed_beside + removed * ends_beside;
    counts.d_beside_d += ends * ends_beside;
  }
  return counts;
}

BareCounts mean_bare_counts(const GraphSpec& spec) {
  check_rule(spec);
  if (base_rule(spec.rule) == Rule::add) return {};
  const Lattice lattice = Lattice::make(spec.extents);
  const double bonds = static_cast<double>(lattice.bonds()), degree = 2.0 * lattice.dim;
  const double pairs = static_cast<double>(lattice.sites()) * degree * (degree - 1);  // ordered
  const bool swap = base_rule(spec.rule) == Rule::swap;
  const double removed = swap ? spec.p : spec.p - spec.p * spec.p / 4;
  const double end = spec.p / 2 * (swap ? 1 : 1 - spec.p / 2);
  // Two neighbours have degree^2 pairs of bonds. In one of these pairs both bonds are the same
  // bond: if it is removed, both sites lose it, and it leaves a D end at no more than one of them.
  const double others = degree * degree - 1;
  return {bonds * removed,
          2 * bonds * end,
          pairs / 2 * removed * removed,
          pairs * end * end,
          pairs * end * removed,
          bonds * (others * removed * removed + removed),
          2 * bonds * (others * end * removed + end),
          bonds * others * end * end};
}

}  // namespace rewise
