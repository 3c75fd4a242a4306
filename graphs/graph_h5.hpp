// The .h5 form of a graph (layout: graph_io.hpp). Split off so that HDF5 stays out of the rest.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace rewise {

std::vector<std::byte> graph_h5_bytes(const Graph& graph);       // a whole file's bytes
Graph read_graph_h5(std::istream& in, const std::string& name);  // Error(data)

}  // namespace rewise
