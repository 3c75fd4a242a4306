#include "experiments/json_output.hpp"

#include <fmt/format.h>

#include <cmath>

#include "experiments/options.hpp"

namespace rewise {

Json value_json(Value v) {
  const auto number = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  return {{"value", number(v.value)}, {"error", number(v.error)}};
}

Json graph_json(const GraphRecord& graph, std::uint64_t rewired) {
  Json json;
  const bool lattice = !graph.extents.empty();
  json["dim"] = lattice ? Json(graph.extents.size()) : Json(nullptr);
  json["extents"] = graph.extents;
  json["p"] = lattice ? Json(graph.p) : Json(nullptr);
  json["rule"] = graph.rule;
  json["seed"] = lattice ? Json(graph.seed) : Json(nullptr);
  json["sites"] = graph.sites;
  json["bonds"] = graph.bonds;
  json["modified"] = graph.modified;
  json["rewired"] = rewired;
  return json;
}

std::string graph_title(const GraphRecord& graph) {
  if (graph.extents.empty()) return fmt::format("imported from {}", graph.source);
  return fmt::format("{}D {}, p = {}, {}, graph seed {}", graph.extents.size(),
                     extents_text(graph.extents), number_text(graph.p), graph.rule, graph.seed);
}

}  // namespace rewise
