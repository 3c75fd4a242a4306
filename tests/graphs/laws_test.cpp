// Distributions of the rewiring rules (graphs/rewire.cpp, moments.cpp) over many graphs. Every
// chi-square test fails by chance with probability 1e-4 and every z test (|z| < 4) with 6e-5,
// together below 0.5%. The seeds are fixed.
#include <cmath>

#include "graphs/moments.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/chi_square.hpp"
#include "tests/support/statistics.hpp"

using namespace rewise;

namespace {

struct Shape {
  std::vector<std::uint32_t> extents;
  double p;
};

// Degrees of 63 or 64 evenly spaced sites of each of many graphs of 4096 sites. (The degrees of one
// graph are correlated by their sum and by excluded double bonds. These effects are of order 1/N
// and not visible with so few sites.)
std::vector<std::uint64_t> sampled_degrees(const Shape& shape, Rule rule, std::uint64_t graphs) {
  std::vector<std::uint64_t> degrees;
  for (std::uint64_t seed = 1; seed <= graphs; ++seed) {
    const Graph graph = build_graph({shape.extents, shape.p, rule, 1000 + seed});
    for (Site site = static_cast<Site>(seed % 64); site < graph.sites(); site += 65) {
      degrees.push_back(graph.degree(site));
    }
  }
  return degrees;
}

}  // namespace

TEST_CASE("rewire: degrees are Binomial(2d, 1 - p/2) + Poisson(d p)") {
  for (const Shape& shape :
       {Shape{{64, 64}, 0.05}, Shape{{64, 64}, 0.3}, Shape{{64, 64}, 1.0}, Shape{{16, 16, 16}, 0.5},
        Shape{{8, 8, 8, 8}, 0.2}, Shape{{4096}, 0.5}}) {
    const auto d = static_cast<unsigned>(shape.extents.size());
    const auto law =
        oracle::sum_law(oracle::binomial(2 * d, 1 - shape.p / 2), oracle::poisson(d * shape.p, 40));
    const auto test = oracle::chi_square_of(sampled_degrees(shape, Rule::rewire, 300), law);
    INFO("d " << d << " p " << shape.p << " statistic " << test.statistic << " cells "
              << test.cells);
    CHECK(test.cells >= 5);
    CHECK(test.p_value > 1e-4);
  }
}

TEST_CASE("add: degrees are 2d + Poisson(2 d p)") {
  for (const Shape& shape : {Shape{{64, 64}, 0.1}, Shape{{16, 16, 16}, 0.5}}) {
    const auto d = static_cast<unsigned>(shape.extents.size());
    std::vector<double> regular(2 * d + 1, 0.0);
    regular[2 * d] = 1;
    const auto law = oracle::sum_law(regular, oracle::poisson(2 * d * shape.p, 40));
    const auto test = oracle::chi_square_of(sampled_degrees(shape, Rule::add, 300), law);
    CHECK(test.cells >= 4);
    CHECK(test.p_value > 1e-4);
  }
}

TEST_CASE("rewire: moved ends are Binomial(2B, p/2), rewired bonds Binomial(B, p - p^2/4)") {
  for (const Shape& shape : {Shape{{8, 8}, 0.05}, Shape{{8, 8}, 0.5}, Shape{{8, 10}, 1.0},
                             Shape{{6, 6, 6}, 0.1}, Shape{{100}, 0.3}}) {
    const auto bonds = static_cast<unsigned>(Lattice::make(shape.extents).bonds());
    std::vector<std::uint64_t> ends, rewired;
    for (std::uint64_t seed = 1; seed <= 8000; ++seed) {
      const Graph graph = build_graph({shape.extents, shape.p, Rule::rewire, seed});
      ends.push_back(static_cast<std::uint64_t>(moments_of(graph).rewired_ends));
      rewired.push_back(graph.rewired_bonds().size());
    }
    const auto end_test = oracle::chi_square_of(ends, oracle::binomial(2 * bonds, shape.p / 2));
    const auto bond_test =
        oracle::chi_square_of(rewired, oracle::binomial(bonds, shape.p - shape.p * shape.p / 4));
    INFO("bonds " << bonds << " p " << shape.p);
    CHECK(end_test.cells >= 10);
    CHECK(end_test.p_value > 1e-4);
    CHECK(bond_test.cells >= 10);
    CHECK(bond_test.p_value > 1e-4);
  }
}

TEST_CASE("add: the number of added bonds is Binomial(B, p)") {
  for (const double p : {0.02, 0.5}) {
    std::vector<std::uint64_t> added;
    for (std::uint64_t seed = 1; seed <= 8000; ++seed) {
      added.push_back(build_graph({{8, 8}, p, Rule::add, seed}).rewired_bonds().size());
    }
    const auto test = oracle::chi_square_of(added, oracle::binomial(128, p));
    CHECK(test.cells >= 8);
    CHECK(test.p_value > 1e-4);
  }
}

TEST_CASE("moved ends leave every bond and reach every site with equal probability") {
  for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
    const std::vector<std::uint32_t> extents{16, 16};
    const auto born = oracle::lattice_bonds(extents);
    std::vector<double> leaves(2 * born.size(), 0.0), reaches(256, 0.0);
    double moved = 0, arrived = 0;
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
      const Graph graph = build_graph({extents, 0.1, rule, seed});
      for (const RewiredBond& r : graph.rewired_bonds()) {
        const bool is_new = r.bond >= born.size();
        for (const bool first : {true, false}) {
          const Site now = first ? r.a : r.b;
          if (!is_new && now == (first ? born[r.bond].first : born[r.bond].second)) continue;
          // Swaps always exchange the ends of colour 1.
          if (!is_new) leaves[rule == Rule::swap ? r.bond : 2 * r.bond + (first ? 0 : 1)] += 1;
          reaches[now] += 1;
          moved += !is_new;
          arrived += 1;
        }
      }
    }
    INFO(to_string(rule));
    if (rule == Rule::swap) {
      leaves.resize(born.size());
      std::vector<double> of_colour_1;
      for (Site site = 0; site < 256; ++site) {
        if (oracle::parity(site, extents) == 1) of_colour_1.push_back(reaches[site]);
      }
      reaches = of_colour_1;
    }
    const std::vector<double> expected_reaches(reaches.size(),
                                               arrived / static_cast<double>(reaches.size()));
    CHECK(oracle::chi_square(reaches, expected_reaches).p_value > 1e-4);
    if (rule == Rule::add) continue;
    const std::vector<double> expected_leaves(leaves.size(),
                                              moved / static_cast<double>(leaves.size()));
    CHECK(oracle::chi_square(leaves, expected_leaves).p_value > 1e-4);
  }
}

TEST_CASE("exact means: moved ends and sum of squared degrees, over many graphs") {
  struct Case {
    Shape shape;
    Rule rule;
    std::uint64_t graphs;
  };
  const std::vector<Case> cases{
      {{{16, 16}, 1.0}, Rule::rewire, 6000},    {{{16, 16}, 0.3}, Rule::rewire, 6000},
      {{{32, 32}, 0.05}, Rule::rewire, 4000},   {{{8, 8, 8}, 1.0}, Rule::rewire, 2000},
      {{{8, 8, 8}, 0.2}, Rule::rewire, 4000},   {{{256}, 0.5}, Rule::rewire, 6000},
      {{{6, 6, 6, 6}, 1.0}, Rule::rewire, 800}, {{{16, 16}, 1.0}, Rule::add, 4000},
      {{{16, 16}, 0.1}, Rule::add, 6000},       {{{8, 8, 8}, 0.3}, Rule::add, 3000}};
  for (const Case& c : cases) {
    std::vector<double> ends, squares;
    GraphSpec spec{c.shape.extents, c.shape.p, c.rule, 0};
    for (spec.seed = 1; spec.seed <= c.graphs; ++spec.seed) {
      const GraphMoments moments = moments_of(build_graph(spec));
      ends.push_back(moments.rewired_ends);
      squares.push_back(moments.sum_k2);
    }
    const GraphMoments exact = exact_means(spec);
    INFO(to_string(c.rule) << " d " << c.shape.extents.size() << " p " << c.shape.p);
    const auto squares_seen = oracle::mean_of(squares), ends_seen = oracle::mean_of(ends);
    INFO("sum k^2 " << squares_seen.value << " +- " << squares_seen.error << ", exact "
                    << exact.sum_k2);
    CHECK(std::abs(squares_seen.z(exact.sum_k2)) < 4);
    if (ends_seen.error > 0) {
      CHECK(std::abs(ends_seen.z(exact.rewired_ends)) < 4);
    } else {  // add at p = 1 adds one bond per bond
      CHECK(ends_seen.value == exact.rewired_ends);
    }
  }
}

TEST_CASE("on small lattices the mean of sum k^2 deviates by no more than the stated bound") {
  struct Case {
    std::vector<std::uint32_t> extents;
    double p;
    Rule rule;
  };
  for (const Case& c : {Case{{4, 4}, 1.0, Rule::rewire}, Case{{4, 4}, 0.5, Rule::rewire},
                        Case{{6, 6}, 1.0, Rule::rewire}, Case{{16}, 1.0, Rule::rewire},
                        Case{{6, 6}, 1.0, Rule::add}, Case{{4, 4, 4}, 1.0, Rule::add},
                        Case{{8, 8}, 1.0, Rule::add}}) {
    constexpr std::uint64_t graphs = 3000;
    GraphSpec spec{c.extents, c.p, c.rule, 0};
    double sum = 0, squares = 0;
    for (spec.seed = 1; spec.seed <= graphs; ++spec.seed) {
      const double off = moments_of(build_graph(spec)).sum_k2 - exact_means(spec).sum_k2;
      sum += off;
      squares += off * off;
    }
    const double mean = sum / graphs, spread = std::sqrt(squares / graphs - mean * mean);
    INFO(to_string(c.rule) << " d " << c.extents.size() << " p " << c.p << " off by "
                           << mean / spread);
    CHECK(std::abs(mean) / spread < shift_of_sum_k2(spec) + 4 / std::sqrt(graphs));
  }
  CHECK(shift_of_sum_k2({{8, 8}, 1.0, Rule::swap, 1}) == 0);
}

TEST_CASE("swap: the sum of squared degrees is exact, moments match a plain count") {
  const GraphSpec spec{{10, 8}, 0.3, Rule::swap, 4};
  CHECK(moments_of(build_graph(spec)).sum_k2 == exact_means(spec).sum_k2);
  CHECK(std::isnan(exact_means(spec).rewired_ends));
  for (const Rule rule : {Rule::rewire, Rule::add}) {
    const Graph graph = build_graph({{10, 8}, 0.3, rule, 4});
    double squares = 0;
    for (const std::uint32_t k : oracle::degrees(graph.sites(), oracle::all_bonds(graph))) {
      squares += static_cast<double>(k) * k;
    }
    CHECK(moments_of(graph).sum_k2 == squares);
  }
}

TEST_CASE("the moments of a graph follow from its rewired bonds alone") {
  for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
    for (const double p : {0.0, 0.02, 0.3, 1.0}) {
      const Graph graph = build_graph({{12, 10}, p, rule, 9});
      const GraphMoments whole = moments_of(graph),
                         listed = moments_of(graph.lattice(), graph.rewired_bonds());
      INFO(to_string(rule) << " p " << p);
      CHECK(listed.rewired_ends == whole.rewired_ends);
      CHECK(listed.sum_k2 == whole.sum_k2);
    }
  }
}
