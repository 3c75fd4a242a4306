#include "graphs/colouring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/sequential_vertex_coloring.hpp>
#include <boost/graph/smallest_last_ordering.hpp>
#include <utility>

#include "graphs/boost_adaptor.hpp"
#include "src/base/error.hpp"

namespace rewise {

std::optional<Colouring> two_colouring(const Graph& graph) {
  constexpr std::uint8_t kNone = 0xFF;
  std::vector<std::uint8_t> colour(graph.sites(), kNone);
  std::vector<Site> queue;
  bool bipartite = true;
  for (std::uint64_t first = 0; first < graph.sites() && bipartite; ++first) {
    if (colour[first] != kNone) continue;
    colour[first] = 0;
    queue.assign(1, static_cast<Site>(first));
    for (std::size_t head = 0; head < queue.size() && bipartite; ++head) {
      const Site site = queue[head];
      const auto opposite = static_cast<std::uint8_t>(1 - colour[site]);
      graph.for_each_neighbour(site, [&](Site other, Bond) {
        if (colour[other] == kNone) {
          colour[other] = opposite;
          queue.push_back(other);
        }
        bipartite = bipartite && colour[other] == opposite;
      });
    }
  }
  if (!bipartite) return std::nullopt;
  return Colouring{std::move(colour), 2};
}

Colouring greedy_colouring(const Graph& graph) {
  const BoostGraph view(graph);
  const auto index = get(boost::vertex_index, view);
  // Sites in buckets by degree. The site of smallest remaining degree goes to the end of the order.
  std::vector<Site> order(graph.sites());
  std::vector<std::size_t> degrees(graph.sites()), marks(graph.sites());
  boost::smallest_last_vertex_ordering(view,
                                       boost::make_iterator_property_map(order.begin(), index),
                                       boost::make_iterator_property_map(degrees.begin(), index),
                                       boost::make_iterator_property_map(marks.begin(), index));
  std::vector<std::uint64_t> colour(graph.sites());
  const std::uint64_t count = boost::sequential_vertex_coloring(
      view, boost::make_iterator_property_map(order.begin(), index),
      boost::make_iterator_property_map(colour.begin(), index));
  if (count > kMaxColours) {
    throw Error(ExitCode::data, fmt::format("the graph is too dense: a greedy colouring needs {} "
                                            "colours (at most {} are allowed)",
                                            count, kMaxColours));
  }
  Colouring result{std::vector<std::uint8_t>(graph.sites()), static_cast<int>(count)};
  std::ranges::transform(colour, result.colour.begin(),
                         [](std::uint64_t c) { return static_cast<std::uint8_t>(c); });
  return result;
}

Graph imported_graph(std::uint64_t sites, std::vector<RewiredBond> bonds,
                     const std::string& source) {
  // Before the colouring, which requires that no bond joins a site to itself.
  for (const RewiredBond& bond : bonds) {
    if (bond.a != bond.b) continue;
    throw Error(ExitCode::data,
                fmt::format("invalid graph: bond {} joins site {} to itself", bond.bond, bond.a));
  }
  Colouring colouring;
  {
    const Graph plain(sites, bonds, std::vector<std::uint8_t>(sites, 0), 1, source);
    auto two = two_colouring(plain);
    colouring = two ? std::move(*two) : greedy_colouring(plain);
  }
  Graph graph(sites, std::move(bonds), std::move(colouring.colour), colouring.count, source);
  graph.validate();
  return graph;
}

}  // namespace rewise
