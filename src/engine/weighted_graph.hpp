// Graphs whose couplings and fields are weights, as those from files.
#pragma once

#include "graphs/graph.hpp"
#include "src/model/model.hpp"

namespace rewise {

// The couplings and fields of `model` on `graph` as weights of a graph without a lattice, with the
// same sites, bonds and colours. Error(usage) as for Couplings; Error(data) for a bare lattice.
Graph weighted_graph(const Graph& graph, const Model& model);

// Error(usage) if a graph has weights other than 1, or fields, that the model does not take, and if
// the model takes weights that it does not have.
void check_weights(const Graph& graph, const Model& model);

}  // namespace rewise
