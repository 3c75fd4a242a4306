// Graphs that store couplings and fields, like graphs from files.
#pragma once

#include "graphs/graph.hpp"
#include "src/model/model.hpp"

namespace rewise {

// A graph without a lattice that stores the couplings and fields of `model` on `graph`, with the
// same sites, bonds and colours. Throws Error(usage) as for Couplings; Error(data) for a bare
// lattice.
Graph graph_with_couplings(const Graph& graph, const Model& model);

// Throws Error(usage) if a graph has fields or couplings other than 1 and the model does not use
// them, or if the model uses those of the graph and it has none.
void check_graph_couplings(const Graph& graph, const Model& model);

}  // namespace rewise
