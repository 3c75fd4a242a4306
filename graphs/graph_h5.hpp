// The content of the group /graph of a graph file (graph_io.hpp) and of a task file
// (src/store/task_file.hpp), and its reader and writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/h5.hpp"

namespace rewise {

struct GraphRecord {
  std::vector<std::uint32_t> extents;  // [dim]; empty for an imported graph
  double p = 0;
  std::string rule;
  std::uint64_t seed = 0;
  bool bare = false;   // without the shortcuts
  std::string source;  // file name of an imported graph, or ""
  std::uint64_t sites = 0, bonds = 0, modified = 0;
  std::vector<std::uint64_t> bond;  // [rewired] bond index
  std::vector<std::uint32_t> a, b;  // [rewired] its ends, < sites
  // J [bonds] and h [sites] from the graph's file; empty if the file has none.
  std::vector<double> weight, field;
  std::size_t rewired() const { return bond.size(); }
  friend bool operator==(const GraphRecord&, const GraphRecord&) = default;
};

GraphRecord graph_record(const Graph& graph);

// Arrays that are compressed before the HDF5 lock is acquired, in the order of writing.
using PackedArrays = std::vector<std::pair<std::string, h5::PackedArray>>;
void write_packed(h5::Group& group, const PackedArrays& arrays);

// The lists of a record, in chunks of at most `chunk` elements, deflated at `level`.
PackedArrays pack_lists(const GraphRecord& graph, std::uint64_t chunk, int level);
void write_graph(h5::Group& group, const GraphRecord& graph, const PackedArrays& lists);
// Throws Error(data) if a value is missing; does not compare the values. `modified` is not read,
// and a missing source is "".
GraphRecord read_graph_record(const h5::Group& group);

}  // namespace rewise
