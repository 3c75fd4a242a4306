// The .h5 form of a graph (layout: graph_io.hpp). Split off so that HDF5 stays out of the rest.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "graphs/graph_io.hpp"

namespace rewise {

// A whole file's bytes.
std::vector<std::byte> graph_h5_bytes(const Graph& graph, H5Bonds listed = H5Bonds::rewired);
Graph read_graph_h5(std::istream& in, const std::string& name);  // Error(data)

}  // namespace rewise
