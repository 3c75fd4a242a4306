// Compares bare lattices (lattices without their shortcuts) with the rewired graphs of the same
// seed. The tests compute the geometry independently.
#include "graphs/bare.hpp"

#include <cmath>
#include <map>

#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/graphs/files.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/statistics.hpp"

using namespace rewise;

namespace {

GraphSpec spec_of(const std::vector<std::uint32_t>& extents, double p, std::uint64_t seed,
                  Rule rule = Rule::rewire) {
  return {extents, p, rule, seed};
}

Graph bare_of(GraphSpec spec) {
  spec.bare = true;
  return build_graph(spec);
}

std::vector<oracle::Pair> bonds_of(const Graph& graph) {
  std::vector<oracle::Pair> bonds;
  for_each_bond(graph, [&](Bond, Site a, Site b) { bonds.emplace_back(a, b); });
  return bonds;
}

}  // namespace

TEST_CASE(
    "a bare lattice lacks the rewired bonds, and its weights count the ends that did not move") {
  for (const auto& extents : std::vector<std::vector<std::uint32_t>>{
           {30}, {10, 6}, {4, 4}, {6, 4, 8}, {4, 6, 4, 4}, {80, 60}, {4100}, {18, 16, 18}}) {
    for (const double p : {0.0, 0.02, 0.3, 1.0}) {
      const GraphSpec spec = spec_of(extents, p, 5);
      const Graph whole = build_graph(spec), bare = bare_of(spec);
      bare.validate();
      // Computed independently: a bond of the rewired graph with both ends at their original sites
      // belongs to the bare lattice. If only one end is at its original site, it adds 1 to the
      // weight of that site (a D end).
      const auto home = oracle::lattice_bonds(extents);
      const auto now = oracle::all_bonds(whole);
      std::vector<oracle::Pair> left;
      std::map<Site, std::uint32_t> ends;
      for (std::size_t k = 0; k < home.size(); ++k) {
        const bool a = now[k].first == home[k].first, b = now[k].second == home[k].second;
        if (a && b) left.push_back(home[k]);
        if (a != b) ++ends[a ? home[k].first : home[k].second];
      }
      INFO(extents.size() << " dimensions, p = " << p);
      CHECK(bonds_of(bare) == left);
      CHECK(bare.bonds() == left.size());
      CHECK(bare.removed_bonds().size() == home.size() - left.size());
      CHECK(bare.rewired_bonds().empty());
      CHECK(bare.has_kept_ends());
      std::map<Site, std::uint32_t> weights;
      std::uint64_t sum = 0;
      for (const KeptEnds& w : bare.kept_ends()) {
        weights[w.site] = w.ends;
        sum += w.ends;
      }
      CHECK(weights == ends);
      const auto degrees = oracle::degrees(bare.sites(), left);
      for (Site site = 0; site < bare.sites(); ++site) REQUIRE(bare.degree(site) == degrees[site]);
      const BareCounts counts = bare_counts(bare_lattice(spec));
      CHECK(counts.removed == static_cast<double>(bare.removed_bonds().size()));
      CHECK(counts.d_ends == static_cast<double>(sum));
      double pairs = 0, d_pairs = 0, d_removed = 0;
      for (Site site = 0; site < bare.sites(); ++site) {
        const double removed = 2.0 * static_cast<double>(extents.size()) - degrees[site];
        const double n = ends.contains(site) ? ends[site] : 0;
        pairs += removed * (removed - 1) / 2;
        d_pairs += n * (n - 1);
        d_removed += n * (removed - 1);
      }
      CHECK(counts.removed_pairs == pairs);
      CHECK(counts.d_pairs == d_pairs);
      CHECK(counts.d_removed == d_removed);
      const auto at = [&](Site site) {
        const double n = ends.contains(site) ? ends[site] : 0;
        return std::pair(n, 2.0 * static_cast<double>(extents.size()) - degrees[site]);
      };
      double rr = 0, nr = 0, nn = 0;
      for (std::uint64_t bond = 0; bond < bare.lattice().bonds(); ++bond) {
        const auto [n, r] = at(bare.lattice().home_a(bond));
        const auto [n2, r2] = at(bare.lattice().home_b(bond));
        rr += r * r2;
        nr += n * r2 + n2 * r;
        nn += n * n2;
      }
      CHECK(counts.removed_beside_removed == rr);
      CHECK(counts.d_beside_removed == nr);
      CHECK(counts.d_beside_d == nn);
    }
  }
}

TEST_CASE("the means of the counts over bare lattices equal mean_bare_counts()") {
  const auto numbers = [](const BareCounts& c) {
    return std::vector<double>{c.removed,          c.d_ends,    c.removed_pairs,
                               c.d_pairs,          c.d_removed, c.removed_beside_removed,
                               c.d_beside_removed, c.d_beside_d};
  };
  struct Case {
    std::vector<std::uint32_t> extents;
    double p;
    Rule rule = Rule::rewire;
  };
  for (const auto& [extents, p, rule] : std::vector<Case>{{{20, 20}, 0.05},
                                                          {{20, 20}, 0.4},
                                                          {{20, 20}, 1.0},
                                                          {{400}, 0.3},
                                                          {{8, 8, 6}, 0.2},
                                                          {{20, 20}, 0.4, Rule::swap}}) {
    constexpr std::size_t kGraphs = 400;
    std::vector<std::vector<double>> seen(kBareCounts);
    for (std::uint64_t seed = 1; seed <= kGraphs; ++seed) {
      const auto of_one = numbers(bare_counts(bare_lattice(spec_of(extents, p, seed, rule))));
      for (std::size_t k = 0; k < of_one.size(); ++k) seen[k].push_back(of_one[k]);
    }
    const auto mean = numbers(mean_bare_counts(spec_of(extents, p, 0, rule)));
    for (std::size_t k = 0; k < mean.size(); ++k) {
      const oracle::Estimate estimate = oracle::mean_of(seen[k]);
      INFO(extents.size() << " dimensions, p = " << p << ", count " << k << ": " << estimate.value
                          << " +- " << estimate.error << ", expected " << mean[k]);
      CHECK(std::abs(estimate.z(mean[k])) < 4);
    }
  }
}

TEST_CASE("the bare lattice of rule add is the whole lattice") {
  const Graph bare = bare_of({{8, 6}, 0.5, Rule::add, 3});
  CHECK(bare.bonds() == 96);
  CHECK(bare.modified_sites().empty());
  CHECK_FALSE(bare.has_kept_ends());
}

TEST_CASE("the bare lattice of rule swap has one D end at each removed bond") {
  const Graph bare = bare_of({{30, 20}, 0.3, Rule::swap, 3});
  const auto removed = bare.removed_bonds();
  CHECK(bare.bonds() == 1200 - removed.size());
  std::map<Site, std::uint32_t> removed_at;
  for (const Bond bond : removed) {
    ++removed_at[bare.lattice().home_a(bond)];
    ++removed_at[bare.lattice().home_b(bond)];
  }
  std::uint64_t sum = 0;
  for (const KeptEnds& w : bare.kept_ends()) {
    CHECK(w.ends <= removed_at[w.site]);
    sum += w.ends;
  }
  CHECK(sum == removed.size());
}

TEST_CASE("round trip of a bare lattice through an .h5 file") {
  const oracle::Folder folder;
  const Graph bare = bare_of(spec_of({8, 6}, 0.2, 9));
  const std::string path = folder / "bare.h5";
  write_graph(bare, path);
  const Graph again = read_graph(path);
  CHECK(graph_hash(again) == graph_hash(bare));
  CHECK(std::ranges::equal(again.removed_bonds(), bare.removed_bonds()));
  CHECK(std::ranges::equal(again.kept_ends(), bare.kept_ends()));
  CHECK(graph_hash(bare) != graph_hash(build_graph(spec_of({8, 6}, 0.2, 9))));
}
