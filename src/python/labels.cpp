// Connected components of images, arrays and graphs.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.hpp"
#include "src/label/image.hpp"
#include "src/label/labeller.hpp"
#include "src/label/occupy.hpp"
#include "src/python/bindings.hpp"

namespace rewise::python {
namespace {

// Renumbers labels to 1, 2, .. in the order of first sites, 0 for absent sites. Returns the number
// of components.
nb::tuple numbered(std::vector<Site> label, const std::vector<std::size_t>& shape) {
  std::uint32_t components = 0;
  {
    nb::gil_scoped_release released;
    // A component's label is its smallest site, so that site is renumbered first.
    for (std::size_t site = 0; site < label.size(); ++site) {
      if (label[site] == kNoLabel) {
        label[site] = 0;
      } else if (label[site] == site) {
        label[site] = ++components;
      } else {
        label[site] = label[label[site]];
      }
    }
  }
  return nb::make_tuple(array_of(std::move(label), shape), components);
}

using Pixels = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

nb::tuple label_image(const Pixels& pixels, const std::string& rule, double threshold,
                      bool periodic, const std::string& method) {
  PixelConnection connection;
  connection.rule = rule == "equal"       ? PixelRule::equal
                    : rule == "threshold" ? PixelRule::threshold
                                          : PixelRule::nonzero;
  connection.threshold = threshold;
  connection.periodic = periodic;
  const LabelMethod by = parse_label_method(method, "method");
  std::vector<std::uint32_t> extents;  // x, the last axis, first
  std::vector<std::size_t> shape;
  for (std::size_t k = 0; k < pixels.ndim(); ++k) {
    shape.push_back(pixels.shape(k));
    if (pixels.shape(k) > kMaxSites) throw Error(ExitCode::usage, "image: is too large");
    extents.insert(extents.begin(), static_cast<std::uint32_t>(pixels.shape(k)));
  }
  std::vector<Site> label;
  LongCall().run([&](const Listener&) {
    label = label_components(
        image_configuration(extents, {pixels.data(), pixels.size()}, connection), by);
  });
  return numbered(std::move(label), shape);
}

using Mask = nb::ndarray<const std::uint8_t, nb::shape<-1>, nb::c_contig, nb::device::cpu>;

nb::tuple label_graph(const SharedGraph& shared, const Mask& occupied, const std::string& method) {
  const Graph& graph = *shared.graph;
  if (occupied.shape(0) != graph.bonds()) {
    throw Error(ExitCode::usage,
                fmt::format("occupied: {} entries for {} bonds", occupied.shape(0), graph.bonds()));
  }
  const LabelMethod by = parse_label_method(method, "method");
  std::vector<Site> label;
  const std::uint8_t* const is = occupied.data();
  LongCall().run([&](const Listener&) {
    // Bonds in the order of for_each_bond(), which edges() has. The index of an added bond is
    // beyond the lattice's, so its entry is found by counting.
    std::vector<std::uint64_t> added;
    for (const RewiredBond& r : graph.rewired_bonds()) {
      if (graph.lattice().dim > 0 && r.bond >= graph.lattice().bonds()) added.push_back(r.bond);
    }
    const std::uint64_t born = graph.lattice().dim > 0 ? graph.lattice().bonds() : 0;
    const auto place = [&](Bond bond) -> std::uint64_t {
      if (bond < born || added.empty()) return bond;
      return born + static_cast<std::uint64_t>(std::lower_bound(added.begin(), added.end(), bond) -
                                               added.begin());
    };
    label = label_components(occupied_bonds(graph, [&](Bond bond) { return is[place(bond)] != 0; }),
                             by);
  });
  return numbered(std::move(label), {static_cast<std::size_t>(graph.sites())});
}

}  // namespace

void bind_labels(nb::module_& module) {
  module.def("label_image", &label_image);
  module.def("label_graph", &label_graph);
}

}  // namespace rewise::python
