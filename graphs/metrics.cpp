#include "graphs/metrics.hpp"

#include <algorithm>
#include <boost/graph/connected_components.hpp>
#include <cmath>
#include <limits>

#include "graphs/boost_adaptor.hpp"
#include "src/random/philox.hpp"

namespace rewise {
namespace {

constexpr std::uint32_t kUnreached = 0xFFFFFFFFu;

// Mean of samples, and its standard error: NaN for fewer than two samples.
class Mean {
 public:
  void add(double value) {
    ++count_;
    const double delta = value - mean_;
    mean_ += delta / static_cast<double>(count_);
    squares_ += delta * (value - mean_);
  }
  double value() const { return mean_; }
  double error() const {
    if (count_ < 2) return std::numeric_limits<double>::quiet_NaN();
    const auto n = static_cast<double>(count_);
    return std::sqrt(squares_ / (n * (n - 1)));
  }

 private:
  std::uint64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

// Returns sample k of `samples`: site k if all sites are samples, else a random site.
Site sampled_site(const Graph& graph, std::uint64_t k, std::uint64_t samples, std::uint32_t what) {
  if (samples >= graph.sites()) return static_cast<Site>(k);
  const Words4 words = random_words(graph.spec().seed, Stream::graph_sample, k, what, 0, 0);
  return uniform_below(word64(words, 0), static_cast<std::uint32_t>(graph.sites()));
}

void measure_degrees(const Graph& graph, GraphMetrics& metrics) {
  metrics.degree_counts.assign(graph.max_degree() + 1, 0);
  const auto offsets = graph.offsets();
  for (std::size_t m = 0; m + 1 < offsets.size(); ++m) {
    ++metrics.degree_counts[offsets[m + 1] - offsets[m]];
  }
  const std::uint64_t unmodified = graph.sites() - graph.modified_sites().size();
  if (unmodified > 0) {
    metrics.degree_counts[2 * static_cast<unsigned>(graph.lattice().dim)] += unmodified;
  }
  const auto sites = static_cast<double>(graph.sites());
  for (std::size_t k = 0; k < metrics.degree_counts.size(); ++k) {
    metrics.mean_degree += static_cast<double>(k * metrics.degree_counts[k]) / sites;
  }
  for (std::size_t k = 0; k < metrics.degree_counts.size(); ++k) {
    const double delta = static_cast<double>(k) - metrics.mean_degree;
    metrics.degree_variance +=
        delta * delta * static_cast<double>(metrics.degree_counts[k]) / sites;
  }
  metrics.modified_share = static_cast<double>(graph.sites_modified_by_rule().size()) / sites;
  if (graph.bonds() > 0) {
    metrics.rewired_share =
        static_cast<double>(graph.shortcuts().size()) / static_cast<double>(graph.bonds());
  }
}

void measure_components(const Graph& graph, GraphMetrics& metrics) {
  const BoostGraph view(graph);
  std::vector<Site> component(graph.sites());
  metrics.components = boost::connected_components(
      view, boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, view)));
  std::vector<std::uint64_t> sizes(metrics.components, 0);
  for (const Site c : component) ++sizes[c];
  metrics.largest_component = *std::ranges::max_element(sizes);
}

void measure_paths(const Graph& graph, std::uint64_t sources, GraphMetrics& metrics) {
  if (sources == 0) return;
  metrics.path_sources = std::min(sources, graph.sites());
  Mean over_sources;
  double all_lengths = 0, all_pairs = 0;
  for (std::uint64_t k = 0; k < metrics.path_sources; ++k) {
    double lengths = 0, pairs = 0;
    for (const std::uint32_t distance : distances_from(graph, sampled_site(graph, k, sources, 0))) {
      if (distance == 0 || distance == kUnreached) continue;
      lengths += distance;
      ++pairs;
      metrics.diameter = std::max(metrics.diameter, distance);
    }
    all_lengths += lengths;
    all_pairs += pairs;
    if (pairs > 0) over_sources.add(lengths / pairs);
  }
  if (all_pairs > 0) metrics.mean_path = all_lengths / all_pairs;
  if (metrics.path_sources < graph.sites()) metrics.mean_path_error = over_sources.error();
}

void measure_clustering(const Graph& graph, std::uint64_t sites, GraphMetrics& metrics) {
  if (sites == 0) return;
  metrics.clustering_sites = std::min(sites, graph.sites());
  ClusteringCounter counter(graph);
  Mean triangles, squares;
  for (std::uint64_t k = 0; k < metrics.clustering_sites; ++k) {
    const SiteClustering site = counter.at(sampled_site(graph, k, sites, 1));
    triangles.add(site.triangles);
    squares.add(site.squares);
  }
  metrics.clustering = triangles.value();
  metrics.square_clustering = squares.value();
  if (metrics.clustering_sites == graph.sites()) return;
  metrics.clustering_error = triangles.error();
  metrics.square_clustering_error = squares.error();
}

}  // namespace

std::vector<std::uint32_t> distances_from(const Graph& graph, Site source) {
  std::vector<std::uint32_t> distance(graph.sites(), kUnreached);
  std::vector<Site> front{source}, next;
  distance[source] = 0;
  for (std::uint32_t level = 1; !front.empty(); ++level) {
    next.clear();
    for (const Site site : front) {
      graph.for_each_neighbour(site, [&](Site other, Bond) {
        if (distance[other] != kUnreached) return;
        distance[other] = level;
        next.push_back(other);
      });
    }
    std::swap(front, next);
  }
  return distance;
}

SiteClustering ClusteringCounter::at(Site site) {
  std::vector<Site> around;
  graph_.for_each_neighbour(site, [&](Site v, Bond) { around.push_back(v); });
  if (around.size() < 2) return {};
  for (const Site v : around) near_[v] = 1;
  double degrees = 0, squares = 0;
  double joined_twice = 0;  // twice the number of joined pairs of neighbours
  for (const Site v : around) {
    degrees += graph_.degree(v);
    graph_.for_each_neighbour(v, [&](Site w, Bond) {
      if (w == site) return;
      squares += paths_[w]++;  // a square with each earlier path to w
      joined_twice += near_[w];
    });
  }
  for (const Site v : around) {
    near_[v] = 0;
    graph_.for_each_neighbour(v, [&](Site w, Bond) { paths_[w] = 0; });
  }
  // Sum over pairs v, w of (k_v - eta) + (k_w - eta) + q, where eta = 1 + q + [v and w are joined].
  const auto k = static_cast<double>(around.size());
  const double possible = (k - 1) * degrees - k * (k - 1) - squares - joined_twice;
  return {joined_twice / (k * (k - 1)), possible > 0 ? squares / possible : 0};
}

GraphMetrics metrics_of(const Graph& graph, const MetricsOptions& options) {
  GraphMetrics metrics;
  measure_degrees(graph, metrics);
  measure_components(graph, metrics);
  measure_paths(graph, options.path_sources, metrics);
  measure_clustering(graph, options.clustering_sites, metrics);
  return metrics;
}

}  // namespace rewise
