// Adapts a Graph to Boost.Graph, read-only and without a copy. BoostGraph models IncidenceGraph,
// AdjacencyGraph and VertexListGraph. The neighbours of unmodified sites are not stored but
// computed while iterators move.
//     BoostGraph view(graph);  boost::connected_components(view, ...);
// The Graph must outlive the view. An iterator step costs a few ns; the creation of an iterator
// costs one call of modified_index().
#pragma once

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/iterator/iterator_facade.hpp>
#include <boost/property_map/property_map.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "graphs/graph.hpp"

namespace rewise {

// A bond seen from one of its sites. It equals the same bond seen from the other site.
struct BondView {
  Site source = 0, target = 0;
  Bond bond = 0;
  friend bool operator==(const BondView& x, const BondView& y) { return x.bond == y.bond; }
};

// A position in the neighbour list of a site.
class NeighbourCursor {
 public:
  NeighbourCursor() = default;
  NeighbourCursor(const Graph& graph, Site site, std::uint32_t place)
      : graph_(&graph), site_(site), place_(place) {
    if (const auto m = graph.modified_index(site)) {
      stored_ = true;
      first_ = graph.offsets()[*m];
    }
  }
  BondView view() const {
    if (stored_) {
      return {site_, graph_->neighbours()[first_ + place_],
              graph_->neighbour_bonds()[first_ + place_]};
    }
    const Lattice& lattice = graph_->lattice();
    const auto d = static_cast<unsigned>(lattice.dim), dir = place_ / 2;
    if (place_ % 2 == 0) {
      return {site_, lattice.forward(site_, static_cast<int>(dir)), Bond{site_} * d + dir};
    }
    const Site back = lattice.backward(site_, static_cast<int>(dir));
    return {site_, back, Bond{back} * d + dir};
  }
  void move(std::ptrdiff_t n) { place_ = static_cast<std::uint32_t>(std::ptrdiff_t{place_} + n); }
  std::ptrdiff_t place() const { return place_; }

 private:
  const Graph* graph_ = nullptr;
  std::uint64_t first_ = 0;  // offset of the stored neighbours
  Site site_ = 0;
  std::uint32_t place_ = 0;
  bool stored_ = false;
};

template <class Value>
class NeighbourIterator : public boost::iterator_facade<NeighbourIterator<Value>, Value,
                                                        boost::random_access_traversal_tag, Value> {
 public:
  NeighbourIterator() = default;
  NeighbourIterator(const Graph& graph, Site site, std::uint32_t place)
      : cursor_(graph, site, place) {}

 private:
  friend class boost::iterator_core_access;
  Value dereference() const {
    if constexpr (std::is_same_v<Value, Site>) {
      return cursor_.view().target;
    } else {
      return cursor_.view();
    }
  }
  bool equal(const NeighbourIterator& other) const {
    return cursor_.place() == other.cursor_.place();
  }
  void increment() { cursor_.move(1); }
  void decrement() { cursor_.move(-1); }
  void advance(std::ptrdiff_t n) { cursor_.move(n); }
  std::ptrdiff_t distance_to(const NeighbourIterator& other) const {
    return other.cursor_.place() - cursor_.place();
  }

  NeighbourCursor cursor_;
};

class BoostGraph {
 public:
  struct traversal_category : virtual boost::incidence_graph_tag,
                              virtual boost::adjacency_graph_tag,
                              virtual boost::vertex_list_graph_tag {};
  using vertex_descriptor = Site;
  using edge_descriptor = BondView;
  using directed_category = boost::undirected_tag;
  using edge_parallel_category = boost::disallow_parallel_edge_tag;
  using vertices_size_type = std::uint64_t;
  using edges_size_type = std::uint64_t;
  using degree_size_type = std::uint32_t;
  using vertex_iterator = boost::counting_iterator<Site>;
  using out_edge_iterator = NeighbourIterator<BondView>;
  using adjacency_iterator = NeighbourIterator<Site>;
  using in_edge_iterator = out_edge_iterator;
  using edge_iterator = void;

  explicit BoostGraph(const Graph& graph) : graph_(&graph) {}
  const Graph& graph() const { return *graph_; }
  static Site null_vertex() { return static_cast<Site>(kMaxSites); }

 private:
  const Graph* graph_;
};

inline std::uint64_t num_vertices(const BoostGraph& g) { return g.graph().sites(); }
inline std::pair<BoostGraph::vertex_iterator, BoostGraph::vertex_iterator> vertices(
    const BoostGraph& g) {
  return {BoostGraph::vertex_iterator(0),
          BoostGraph::vertex_iterator(static_cast<Site>(g.graph().sites()))};
}
inline std::uint32_t out_degree(Site site, const BoostGraph& g) { return g.graph().degree(site); }
inline std::uint32_t degree(Site site, const BoostGraph& g) { return g.graph().degree(site); }
inline Site source(const BondView& e, const BoostGraph&) { return e.source; }
inline Site target(const BondView& e, const BoostGraph&) { return e.target; }
inline std::pair<BoostGraph::out_edge_iterator, BoostGraph::out_edge_iterator> out_edges(
    Site site, const BoostGraph& g) {
  return {{g.graph(), site, 0}, {g.graph(), site, g.graph().degree(site)}};
}
inline std::pair<BoostGraph::adjacency_iterator, BoostGraph::adjacency_iterator> adjacent_vertices(
    Site site, const BoostGraph& g) {
  return {{g.graph(), site, 0}, {g.graph(), site, g.graph().degree(site)}};
}
inline boost::typed_identity_property_map<Site> get(boost::vertex_index_t, const BoostGraph&) {
  return {};
}
inline Site get(boost::vertex_index_t, const BoostGraph&, Site site) { return site; }

}  // namespace rewise

template <>
struct boost::property_map<rewise::BoostGraph, boost::vertex_index_t> {
  using type = boost::typed_identity_property_map<rewise::Site>;
  using const_type = type;
};
