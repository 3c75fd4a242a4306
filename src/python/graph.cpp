// Graphs: built by a rule, from edges or from files; their arrays without copies.
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <span>

#include "graphs/attributes.hpp"
#include "graphs/colouring.hpp"
#include "graphs/graph_io.hpp"
#include "graphs/metrics.hpp"
#include "graphs/rounded_numbers.hpp"
#include "src/base/error.hpp"
#include "src/base/fixed_point.hpp"
#include "src/engine/graph_couplings.hpp"
#include "src/python/bindings.hpp"
#include "src/settings/engine_choice.hpp"
#include "src/store/sealed_file.hpp"

namespace rewise::python {
namespace {

SharedGraph built(const std::vector<std::uint32_t>& extents, double p, const std::string& rule,
                  std::uint64_t seed, const std::string& parity, bool bare) {
  GraphSpec spec;
  check_extents(extents, "size");
  if (extents.size() > kMaxDim) {
    throw Error(ExitCode::usage,
                fmt::format("size: {} extents are out of range (1..{})", extents.size(), kMaxDim));
  }
  if (!(p >= 0 && p <= 1)) {
    throw Error(ExitCode::usage, fmt::format("p: {} is out of range (0..1)", p));
  }
  spec.extents = extents;
  spec.p = p;
  spec.rule = with_parity(choose_rule(rule, "rule"), parse_parity(parity, "parity"));
  spec.seed = seed;
  spec.bare = bare;
  SharedGraph shared;
  LongCall().run(
      [&](const Listener&) { shared.graph = std::make_shared<const Graph>(build_graph(spec)); });
  return shared;
}

using Edges = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

SharedGraph from_edges(const Edges& edges, std::uint64_t sites, const std::string& source) {
  const std::size_t count = edges.shape(0);
  if (sites == 0 || sites > kMaxSites) {
    throw Error(ExitCode::usage,
                fmt::format("sites: {} is out of range (1..{})", sites, kMaxSites));
  }
  std::vector<RewiredBond> bonds(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::int64_t a = edges(k, 0), b = edges(k, 1);
    for (const std::int64_t site : {a, b}) {
      if (site >= 0 && static_cast<std::uint64_t>(site) < sites) continue;
      throw Error(ExitCode::data,
                  fmt::format("edge {}: site {} is out of range (0..{})", k, site, sites - 1));
    }
    bonds[k] = {k, static_cast<Site>(a), static_cast<Site>(b)};
  }
  SharedGraph shared;
  LongCall().run([&](const Listener&) {
    shared.graph = std::make_shared<const Graph>(imported_graph(sites, std::move(bonds), source));
  });
  return shared;
}

SharedGraph read(const std::string& path, std::optional<int> first_site,
                 const std::vector<std::string>& ignore, bool merge) {
  ReadOptions options{
      .ignore = ignore, .merge = merge, .couplings = true, .all_ignored_exist = true};
  if (first_site) options.first_site = *first_site == 0 ? FirstSite::zero : FirstSite::one;
  SharedGraph shared;
  LongCall().run([&](const Listener&) {
    shared.graph = std::make_shared<const Graph>(read_graph(path, options));
  });
  return shared;
}

// An array in the graph's own memory, which stays alive as long as the array.
template <class T>
nb::object view(nb::handle self, const T* data, std::size_t size) {
  return nb::cast(nb::ndarray<nb::numpy, const T>(data, {size}, self));
}

nb::object degrees(const SharedGraph& self) {
  const Graph& graph = *self.graph;
  std::vector<std::uint32_t> degree(graph.sites(),
                                    static_cast<std::uint32_t>(2 * graph.lattice().dim));
  const auto offsets = graph.offsets();
  const auto modified = graph.modified_sites();
  for (std::size_t m = 0; m < modified.size(); ++m) {
    degree[modified[m]] = static_cast<std::uint32_t>(offsets[m + 1] - offsets[m]);
  }
  return array_of(std::move(degree));
}

nb::object edges(const SharedGraph& self) {
  std::vector<std::uint32_t> ends;
  ends.reserve(2 * self.graph->bonds());
  for_each_bond(*self.graph, [&](Bond, Site a, Site b) {
    ends.push_back(a);
    ends.push_back(b);
  });
  return array_of(std::move(ends), {static_cast<std::size_t>(self.graph->bonds()), 2});
}

using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Converts to units of 2^-20. `name` and `item` are for error messages.
std::vector<std::int32_t> fixed(const std::optional<Numbers>& values, std::uint64_t count,
                                const char* name, const char* item) {
  std::vector<std::int32_t> all;
  if (!values) return all;
  if (values->size() != count) {
    throw Error(ExitCode::usage, fmt::format("{}: {} values, but the graph has {} {}s", name,
                                             values->size(), count, item));
  }
  RoundedNumbers rounded;
  for (std::size_t k = 0; k < values->size(); ++k) {
    const double value = (*values)(k);
    const std::optional<std::int32_t> units = to_fixed(value);
    if (!units) {
      throw Error(ExitCode::data,
                  fmt::format("{}: {} of {} {} is out of range (0, or from {} to below {} in "
                              "absolute value; the value is rounded to a multiple of 2^-20)",
                              name, value, item, k, kMinCoupling, kMaxCoupling));
    }
    all.push_back(*units);
    rounded.add(value, *units);
  }
  rounded.check(fmt::format("{}: all values", name));
  return all;
}

// A copy of the graph with the given weights (J of bonds, h of sites). It keeps sites, bonds and
// colours, but not the lattice.
SharedGraph with_weights(const SharedGraph& self, const std::optional<Numbers>& weights,
                         const std::optional<Numbers>& fields) {
  const Graph& graph = *self.graph;
  auto of_bonds = fixed(weights, graph.bonds(), "weights", "bond");
  auto of_sites = fixed(fields, graph.sites(), "fields", "site");
  SharedGraph shared;
  LongCall().run([&](const Listener&) {
    auto made = std::make_shared<Graph>(graph_with_couplings(graph, Model{}));
    made->set_couplings_and_fields(std::move(of_bonds), std::move(of_sites));
    shared.graph = std::move(made);
  });
  return shared;
}

// A copy of the graph whose weights are the couplings and fields of a model. `words`: settings of
// the model by key.
SharedGraph weighted(const SharedGraph& self, const ModelTexts& words) {
  const Model model = given_model(words, SettingNames::arguments());
  SharedGraph shared;
  LongCall().run([&](const Listener&) {
    shared.graph = std::make_shared<const Graph>(graph_with_couplings(*self.graph, model));
  });
  return shared;
}

nb::object numbers(std::span<const std::int32_t> fixed) {
  if (fixed.empty()) return nb::none();
  std::vector<double> values(fixed.begin(), fixed.end());
  for (double& value : values) value *= kFixedUnit;
  return array_of(std::move(values));
}

nb::object colour(const SharedGraph& self) {
  std::vector<std::uint8_t> colours(self.graph->sites());
  for (std::uint64_t site = 0; site < colours.size(); ++site) {
    colours[site] = static_cast<std::uint8_t>(self.graph->colour(static_cast<Site>(site)));
  }
  return array_of(std::move(colours));
}

nb::dict metrics(const SharedGraph& self, std::uint64_t path_sources,
                 std::uint64_t clustering_sites) {
  GraphMetrics m;
  LongCall().run([&](const Listener&) {
    m = metrics_of(*self.graph, {path_sources, clustering_sites});
  });
  nb::dict result;
  result["mean_degree"] = m.mean_degree;
  result["degree_variance"] = m.degree_variance;
  result["degree_counts"] = array_of(m.degree_counts);
  const bool lattice = self.graph->origin().dim > 0;
  result["modified_share"] = lattice ? nb::cast(m.modified_share) : nb::none();
  result["rewired_share"] = lattice ? nb::cast(m.rewired_share) : nb::none();
  result["components"] = m.components;
  result["largest_component"] = m.largest_component;
  result["path_sources"] = m.path_sources;
  result["mean_path"] = m.mean_path;
  result["mean_path_error"] = m.mean_path_error;
  result["diameter"] = m.diameter;
  result["clustering_sites"] = m.clustering_sites;
  result["clustering"] = m.clustering;
  result["clustering_error"] = m.clustering_error;
  result["square_clustering"] = m.square_clustering;
  result["square_clustering_error"] = m.square_clustering_error;
  return result;
}

}  // namespace

void bind_graph(nb::module_& module) {
  static_assert(
      sizeof(RewiredBond) == 16 && offsetof(RewiredBond, a) == 8 && offsetof(RewiredBond, b) == 12,
      "graph.py reads these bytes");
  nb::class_<Attributes>(module, "Attributes")
      .def(nb::init<const std::vector<std::string>&, bool>())
      // J of an edge or h of a node; None if absent.
      .def("see",
           [](Attributes& self, const std::string& owner, const std::string& name,
              const std::string& value) {
             const Meaning meaning = self.see(owner, name, value, 0);
             return meaning.kind == Meaning::none ? std::optional<double>()
                                                  : kFixedUnit * meaning.value;
           })
      .def("refuse", &Attributes::reject_unknown, nb::arg("file"),
           nb::arg("all_ignored_exist") = false);
  nb::class_<SharedGraph>(module, "Graph")
      .def_static("build", &built, nb::arg("extents"), nb::arg("p"), nb::arg("rule"),
                  nb::arg("seed"), nb::arg("parity"), nb::arg("bare") = false)
      .def_static("from_edges", &from_edges)
      .def("with_weights", &with_weights, nb::arg("weights").none(), nb::arg("fields").none())
      .def("weighted", &weighted)
      .def_prop_ro("weights",
                   [](const SharedGraph& self) { return numbers(self.graph->bond_couplings()); })
      .def_prop_ro("fields",
                   [](const SharedGraph& self) { return numbers(self.graph->site_fields()); })
      .def_static("read", &read, nb::arg("path"), nb::arg("first_site").none(), nb::arg("ignore"),
                  nb::arg("merge"))
      .def("write",
           [](const SharedGraph& self, const std::string& path, bool overwrite, bool full) {
             nb::gil_scoped_release released;
             const GraphFormat format = graph_format(path);
             write_file(path, overwrite ? Overwrite::yes : Overwrite::no, [&](const TextSink& out) {
               write_graph(*self.graph, format, out, full ? H5Bonds::all : H5Bonds::rewired);
             });
           })
      .def_prop_ro("extents", [](const SharedGraph& self) { return self.graph->spec().extents; })
      .def_prop_ro("p", [](const SharedGraph& self) { return self.graph->spec().p; })
      .def_prop_ro("rule",
                   [](const SharedGraph& self) {
                     return std::string(to_string(base_rule(self.graph->spec().rule)));
                   })
      .def_prop_ro("parity",
                   [](const SharedGraph& self) {
                     return std::string(to_string(parity_of(self.graph->spec().rule)));
                   })
      .def_prop_ro("seed", [](const SharedGraph& self) { return self.graph->spec().seed; })
      .def_prop_ro("bare", [](const SharedGraph& self) { return self.graph->spec().bare; })
      .def_prop_ro("source", [](const SharedGraph& self) { return self.graph->source(); })
      .def_prop_ro("dim", [](const SharedGraph& self) { return self.graph->origin().dim; })
      .def_prop_ro("sites", [](const SharedGraph& self) { return self.graph->sites(); })
      .def_prop_ro("bonds", [](const SharedGraph& self) { return self.graph->bonds(); })
      .def_prop_ro("colours", [](const SharedGraph& self) { return self.graph->colours(); })
      .def_prop_ro("hash", [](const SharedGraph& self) { return graph_hash(*self.graph); })
      .def_prop_ro("modified",
                   [](nb::handle self) -> nb::object {
                     const Graph& graph = *nb::cast<SharedGraph&>(self).graph;
                     if (parity_of(graph.spec().rule) == Parity::any) {
                       return array_of(graph.sites_modified_by_rule());
                     }
                     const auto sites = graph.modified_sites();
                     return nb::cast(view(self, sites.data(), sites.size()));
                   })
      .def_prop_ro("rewired_bytes",
                   [](nb::handle self) -> nb::object {
                     const Graph& graph = *nb::cast<SharedGraph&>(self).graph;
                     if (parity_of(graph.spec().rule) == Parity::any) {
                       const std::vector<RewiredBond> bonds = graph.shortcuts();
                       const auto* bytes = reinterpret_cast<const std::uint8_t*>(bonds.data());
                       return nb::cast(
                           array_of(std::vector<std::uint8_t>(bytes, bytes + 16 * bonds.size())));
                     }
                     const auto bonds = graph.rewired_bonds();
                     return nb::cast(view(self, reinterpret_cast<const std::uint8_t*>(bonds.data()),
                                          bonds.size_bytes()));
                   })
      .def("degrees", &degrees)
      .def("edges", &edges)
      .def("colour", &colour)
      .def("validate", [](const SharedGraph& self) { self.graph->validate(); })
      .def("metrics", &metrics);
}

}  // namespace rewise::python
