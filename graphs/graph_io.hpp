// Graphs in files. The format follows from the file's ending:
//   .edges    a comment "# sites N", then one bond per line, "u v" or "u v J", in bond order; sites
//             are numbered from 0. Comments "# field SITE H". Read back as an imported graph.
//             edge_list.cpp describes other variants that are read.
//   .graphml  one undirected graph; nodes are numbered in the order of the file. Attributes weight
//             (J of an edge) and field (h of a node). Read back as an imported graph.
//   .h5       sealed like a task file (src/base/seal.hpp), with the same group /graph, so that a
//             task file is a graph file too. h5py and h5dump open both. Attributes: dim, extents,
//             p, rule, seed, source, sites, bonds, modified, rewired, hash. Datasets: bond, a, b of
//             the rewired bonds; colour if there is no lattice; weight [bonds] and field [sites],
//             J and h as numbers, if the graph has them. A bare lattice (attribute bare) and a
//             graph of an `_any` rule are rebuilt from their seed. Read back as the same graph,
//             including its lattice; `hash` is checked. H5Bonds::all adds a dataset ends
//             [bonds][2], the two sites of every bond, for other programs; it is not read back.
//
// Reading: couplings and fields are read if ReadOptions::couplings is set. Otherwise they are
// errors, unless J = 1 and h = 0. Numbers of unknown meaning are errors and are never dropped
// silently (attributes.hpp). Either all bonds have a coupling or none. If the sites of an edge list
// seem to be numbered from 1 (1 to n, without gaps), the caller must state the first number. Throws
// Error(data) with file and line for invalid lines, self-loops, double bonds (unless they are to be
// merged), and site numbers that are out of range or have large gaps; Error(io) for an unreadable
// file.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/text_sink.hpp"

namespace rewise {

// The number of the first site in an edge list.
enum class FirstSite { unsaid, zero, one };

struct ReadOptions {
  FirstSite first_site = FirstSite::unsaid;
  std::vector<std::string> ignore = {};  // names of attributes to ignore
  // Merges all edges between the same two sites, directed ones included, into one bond; their
  // couplings must be equal.
  bool merge = false;
  bool couplings = false;          // accepts couplings and fields
  bool all_ignored_exist = false;  // throws Error(usage) if no attribute has a name in `ignore`
};

// Throws Error(usage) if `first_site` is given for a file that is not an edge list.
Graph read_graph(const std::string& path, const ReadOptions& options = {});

enum class GraphFormat { edges, graphml, h5 };
GraphFormat graph_format(const std::string& path);  // by its ending; throws Error(usage)

enum class H5Bonds { rewired, all };
// Passes the bytes of a file to `out`; write_file() (src/store/sealed_file.hpp) writes it.
void write_graph(const Graph& graph, GraphFormat format, const TextSink& out,
                 H5Bonds listed = H5Bonds::rewired);

// Largest number of sites without bonds in a file, so that a few damaged bytes do not lead to an
// allocation of gigabytes.
inline constexpr std::uint64_t kMaxLoneSites = std::uint64_t{1} << 24;

// The implementations of read_graph and write_graph. `name` is the name of the file in Error(data).
Graph read_edge_list(std::istream& in, const std::string& name, const ReadOptions& options = {});
void write_edges(const Graph& graph, const TextSink& out);
Graph read_graphml(std::istream& in, const std::string& name, const ReadOptions& options = {});
void write_graphml(const Graph& graph, const TextSink& out);
Graph read_graph_h5(std::istream& in, const std::string& name);
std::vector<std::byte> graph_h5_bytes(const Graph& graph, H5Bonds listed = H5Bonds::rewired);

// Calls f(bond, a, b) for every bond, in bond order.
template <class F>
void for_each_bond(const Graph& graph, F&& f) {
  const Lattice& lattice = graph.lattice();
  auto next = graph.rewired_bonds().begin();
  const auto end = graph.rewired_bonds().end();
  auto removed = graph.removed_bonds().begin();
  const Bond born = lattice.dim > 0 ? lattice.bonds() : 0;
  for (Bond bond = 0; bond < born; ++bond) {
    if (next != end && next->bond == bond) {
      f(bond, next->a, next->b);
      ++next;
    } else if (removed != graph.removed_bonds().end() && *removed == bond) {
      ++removed;
    } else {
      f(bond, lattice.home_a(bond), lattice.home_b(bond));
    }
  }
  for (; next != end; ++next) f(next->bond, next->a, next->b);
}

}  // namespace rewise
