// Metrics against brute force: Floyd-Warshall distances, triangles and squares counted from the
// adjacency matrix.
#include "graphs/metrics.hpp"

#include <cmath>
#include <set>

#include "graphs/colouring.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

constexpr std::uint32_t kUnreachable = 1000000;

std::vector<std::vector<std::uint32_t>> floyd_warshall(std::size_t sites,
                                                       const std::vector<oracle::Pair>& bonds) {
  std::vector<std::vector<std::uint32_t>> d(sites, std::vector<std::uint32_t>(sites, kUnreachable));
  for (std::size_t u = 0; u < sites; ++u) d[u][u] = 0;
  for (const auto& [u, v] : bonds) d[u][v] = d[v][u] = 1;
  for (std::size_t k = 0; k < sites; ++k) {
    for (std::size_t i = 0; i < sites; ++i) {
      for (std::size_t j = 0; j < sites; ++j) d[i][j] = std::min(d[i][j], d[i][k] + d[k][j]);
    }
  }
  return d;
}

// Zhang et al. (2008), eq. 2, written term by term.
double squares_by_definition(std::size_t site, const std::vector<std::vector<std::uint32_t>>& d) {
  const std::size_t n = d.size();
  std::vector<double> degree(n, 0);
  for (std::size_t u = 0; u < n; ++u) {
    for (std::size_t v = 0; v < n; ++v) degree[u] += d[u][v] == 1;
  }
  double squares = 0, possible = 0;
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t w = 0; w < v; ++w) {
      if (d[site][v] != 1 || d[site][w] != 1) continue;
      double q = 0;
      for (std::size_t x = 0; x < n; ++x) q += x != site && d[v][x] == 1 && d[w][x] == 1;
      const double eta = 1 + q + (d[v][w] == 1);
      squares += q;
      possible += (degree[v] - eta) + (degree[w] - eta) + q;
    }
  }
  return possible > 0 ? squares / possible : 0;
}

// Watts & Strogatz (1998): the fraction of pairs of neighbours that are neighbours of each other.
double triangles_by_definition(std::size_t site, const std::vector<std::vector<std::uint32_t>>& d) {
  double joined = 0, pairs = 0;
  for (std::size_t v = 0; v < d.size(); ++v) {
    for (std::size_t w = 0; w < v; ++w) {
      if (d[site][v] != 1 || d[site][w] != 1) continue;
      joined += d[v][w] == 1;
      ++pairs;
    }
  }
  return pairs > 0 ? joined / pairs : 0;
}

void check_against_brute_force(const Graph& graph) {
  const auto bonds = oracle::all_bonds(graph);
  const auto d = floyd_warshall(graph.sites(), bonds);
  const GraphMetrics metrics =
      metrics_of(graph, {.path_sources = graph.sites(), .clustering_sites = graph.sites()});

  std::vector<std::uint64_t> counts(graph.max_degree() + 1, 0);
  double mean = 0, square = 0;
  for (const std::uint32_t k : oracle::degrees(graph.sites(), bonds)) {
    ++counts[k];
    mean += k;
    square += static_cast<double>(k) * k;
  }
  const auto n = static_cast<double>(graph.sites());
  CHECK(metrics.degree_counts == counts);
  CHECK(metrics.mean_degree == Approx(mean / n));
  CHECK(metrics.degree_variance == Approx(square / n - mean * mean / n / n).margin(1e-12));

  ClusteringCounter counter(graph);
  std::set<std::vector<bool>> components;
  std::size_t largest = 0;
  double lengths = 0, pairs = 0, clustering = 0, triangles = 0;
  std::uint32_t diameter = 0;
  for (std::size_t u = 0; u < d.size(); ++u) {
    std::vector<bool> reached;
    std::size_t size = 0;
    for (std::size_t v = 0; v < d.size(); ++v) {
      reached.push_back(d[u][v] < kUnreachable);
      size += d[u][v] < kUnreachable;
      if (u == v || d[u][v] >= kUnreachable) continue;
      lengths += d[u][v];
      ++pairs;
      diameter = std::max(diameter, d[u][v]);
    }
    components.insert(reached);
    largest = std::max(largest, size);
    clustering += squares_by_definition(u, d) / n;
    triangles += triangles_by_definition(u, d) / n;
    CHECK(counter.at(static_cast<Site>(u)).triangles ==
          Approx(triangles_by_definition(u, d)).margin(1e-12));
    CHECK(counter.at(static_cast<Site>(u)).squares ==
          Approx(squares_by_definition(u, d)).margin(1e-12));
  }
  CHECK(metrics.components == components.size());
  CHECK(metrics.largest_component == largest);
  CHECK(metrics.diameter == diameter);
  CHECK(metrics.mean_path == Approx(pairs > 0 ? lengths / pairs : 0.0));
  CHECK(metrics.mean_path_error == 0);
  CHECK(metrics.square_clustering == Approx(clustering).margin(1e-12));
  CHECK(metrics.square_clustering_error == 0);
  CHECK(metrics.clustering == Approx(triangles).margin(1e-12));
  CHECK(metrics.clustering_error == 0);
  CHECK(metrics.modified_share == Approx(static_cast<double>(graph.modified_sites().size()) / n));
}

}  // namespace

TEST_CASE("metrics equal brute force on small graphs of every rule") {
  for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
    for (const double p : {0.0, 0.2, 1.0}) {
      check_against_brute_force(build_graph({{6, 8}, p, rule, 4}));
      check_against_brute_force(build_graph({{4, 4, 4}, p, rule, 4}));
      check_against_brute_force(build_graph({{24}, p, rule, 4}));
    }
  }
}

TEST_CASE("metrics equal brute force on graphs with triangles, hubs and isolated sites") {
  std::vector<RewiredBond> bonds;
  const auto join = [&](Site u, Site v) { bonds.push_back({bonds.size(), u, v}); };
  for (Site leaf = 1; leaf < 8; ++leaf) join(0, leaf);         // a hub
  for (Site leaf = 1; leaf < 7; ++leaf) join(leaf, leaf + 1);  // triangles and squares
  join(9, 10);
  join(10, 11);
  check_against_brute_force(imported_graph(13, bonds, "hub"));  // sites 8 and 12 are isolated
}

TEST_CASE("known metrics of lattices") {
  const GraphMetrics metrics = metrics_of(build_graph({{8, 8}, 0.0, Rule::rewire, 1}),
                                          {.path_sources = 64, .clustering_sites = 64});
  CHECK(metrics.components == 1);
  CHECK(metrics.diameter == 8);
  CHECK(metrics.mean_path == Approx(4.0 * 64 / 63));
  CHECK(metrics.square_clustering == Approx(4.0 / 32));
  CHECK(metrics.modified_share == 0);
  CHECK(metrics.rewired_share == 0);
}

TEST_CASE("sampled metrics agree with exact ones within their error and are reproducible") {
  const Graph graph = build_graph({{32, 32}, 0.05, Rule::rewire, 3});
  const GraphMetrics exact = metrics_of(graph, {.path_sources = 1024, .clustering_sites = 1024});
  const GraphMetrics sampled = metrics_of(graph, {.path_sources = 64, .clustering_sites = 256});
  CHECK(sampled.path_sources == 64);
  CHECK(sampled.clustering_sites == 256);
  CHECK(sampled.mean_path_error > 0);
  CHECK(std::abs(sampled.mean_path - exact.mean_path) < 4 * sampled.mean_path_error);
  CHECK(std::abs(sampled.square_clustering - exact.square_clustering) <
        4 * sampled.square_clustering_error);
  CHECK(sampled.diameter <= exact.diameter);
  const GraphMetrics few = metrics_of(graph, {.path_sources = 1, .clustering_sites = 0});
  CHECK(std::isnan(few.mean_path_error));
  CHECK(few.square_clustering_error == 0);
  const GraphMetrics again = metrics_of(graph, {.path_sources = 64, .clustering_sites = 256});
  CHECK(again.mean_path == sampled.mean_path);
  CHECK(again.square_clustering == sampled.square_clustering);
}

TEST_CASE("nothing is sampled unless requested") {
  const GraphMetrics metrics = metrics_of(build_graph({{8, 8}, 0.1, Rule::rewire, 1}),
                                          {.path_sources = 0, .clustering_sites = 0});
  CHECK(metrics.path_sources == 0);
  CHECK(metrics.mean_path == 0);
  CHECK(metrics.clustering_sites == 0);
}
