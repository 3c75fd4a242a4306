#include "src/engine/graph_couplings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "graphs/attributes.hpp"
#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"
#include "src/engine/couplings.hpp"

namespace rewise {

Graph graph_with_couplings(const Graph& graph, const Model& model) {
  if (!graph.removed_bonds().empty()) {
    throw Error(ExitCode::data, "couplings of a lattice without its shortcuts");
  }
  const Couplings couplings(model, graph);
  std::vector<RewiredBond> bonds;
  std::vector<std::int32_t> values, fields;
  bonds.reserve(graph.bonds());
  values.reserve(graph.bonds());
  for_each_bond(graph, [&](Bond bond, Site a, Site b) {
    bonds.push_back({bond, a, b});
    values.push_back(couplings.coupling(bond));
  });
  std::vector<std::uint8_t> colours(graph.sites());
  for (std::uint64_t site = 0; site < graph.sites(); ++site) {
    colours[site] = static_cast<std::uint8_t>(graph.colour(static_cast<Site>(site)));
    if (couplings.has_field()) fields.push_back(couplings.field(static_cast<Site>(site)));
  }
  const GraphSpec& spec = graph.spec();
  std::string source =
      spec.rule == Rule::imported
          ? graph.source()
          : fmt::format("{}, p = {}, {}, graph seed {}", fmt::join(spec.extents, "x"), spec.p,
                        to_string(spec.rule), spec.seed);
  if (model.interactions.couplings != CouplingKind::file && !model.is_ferromagnet()) {
    source += ", " + to_string(model);
  }
  Graph result(graph.sites(), std::move(bonds), std::move(colours), graph.colours(), source);
  result.set_couplings_and_fields(std::move(values), std::move(fields));
  return result;
}

void check_graph_couplings(const Graph& graph, const Model& model) {
  if (model.interactions.couplings == CouplingKind::file) {
    const Couplings needed(model, graph);
    return;
  }
  const std::string coupling = first_coupling(graph);
  if (coupling.empty()) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: {}: {}", graph.source().empty() ? "the graph" : graph.source(),
                          coupling, read_couplings_setting()));
}

}  // namespace rewise
