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
#include <boost/iterator/transform_iterator.hpp>
#include <boost/property_map/property_map.hpp>
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

// The bonds of a site by their position in its neighbour list.
class BondsOfSite {
 public:
  BondsOfSite() = default;
  BondsOfSite(const Graph& graph, Site site) : graph_(&graph), site_(site) {
    if (const auto m = graph.modified_index(site)) {
      stored_ = true;
      first_ = graph.offsets()[*m];
    }
  }
  BondView operator()(std::uint32_t place) const {
    if (stored_) {
      return {site_, graph_->neighbours()[first_ + place],
              graph_->neighbour_bonds()[first_ + place]};
    }
    const Lattice& lattice = graph_->lattice();
    const auto d = static_cast<unsigned>(lattice.dim), dir = place / 2;
    if (place % 2 == 0) {
      return {site_, lattice.forward(site_, static_cast<int>(dir)), Bond{site_} * d + dir};
    }
    const Site back = lattice.backward(site_, static_cast<int>(dir));
    return {site_, back, Bond{back} * d + dir};
  }

 private:
  const Graph* graph_ = nullptr;
  std::uint64_t first_ = 0;  // offset of the stored neighbours
  Site site_ = 0;
  bool stored_ = false;
};

struct NeighboursOfSite : BondsOfSite {
  using BondsOfSite::BondsOfSite;
  Site operator()(std::uint32_t place) const { return BondsOfSite::operator()(place).target; }
};

template <class Of, class Value>
using ItemIterator =
    boost::transform_iterator<Of, boost::counting_iterator<std::uint32_t>, Value, Value>;

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
  using out_edge_iterator = ItemIterator<BondsOfSite, BondView>;
  using adjacency_iterator = ItemIterator<NeighboursOfSite, Site>;
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
template <class ItemOfSite, class Value>
std::pair<ItemIterator<ItemOfSite, Value>, ItemIterator<ItemOfSite, Value>> items_of(
    Site site, const BoostGraph& g) {
  using Position = boost::counting_iterator<std::uint32_t>;
  const ItemOfSite items(g.graph(), site);
  return {{Position(0), items}, {Position(g.graph().degree(site)), items}};
}
inline auto out_edges(Site site, const BoostGraph& g) {
  return items_of<BondsOfSite, BondView>(site, g);
}
inline auto adjacent_vertices(Site site, const BoostGraph& g) {
  return items_of<NeighboursOfSite, Site>(site, g);
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
