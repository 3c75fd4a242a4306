// Options that several subcommands have, in one wording and read in one way: the lattice, graphs in
// files, the model.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "experiments/console/commands.hpp"
#include "graphs/graph_io.hpp"
#include "src/engine/engine.hpp"

namespace rewise {

// Text for the right column of --help: broken into lines at blanks.
std::string help_lines(const std::string& text);
// An option for a key of a study's file (src/study/schema.hpp): its name and help are the key's,
// and the range of a whole number; `also` follows the help.
void add_key(CLI::App& app, const char* key, std::uint64_t& value, const std::string& also = "");
void add_key(CLI::App& app, const char* key, std::string& value, const std::string& also = "");
void add_key(CLI::App& app, const char* key, bool& value);
// The same, where the command has another range.
void add_key(CLI::App& app, const char* key, std::uint64_t& value, std::uint64_t least,
             std::uint64_t most, const std::string& also = "");
// --temperature, a list or a range.
void add_temperatures(CLI::App& app, std::string& value, const std::string& also = "");

struct LatticeOptions {
  std::uint64_t dim = 2, graph_seed = 1;
  std::string size, p = "0", rule = "rewire", parity = "checkerboard";
};

// What --help says where it is not the same everywhere.
struct LatticeHelp {
  const char* p = "";  // after the help of --p
  const char* seed = "seed of the graph";
  std::uint64_t most_seed = kMostSeed;
};

// --dim, --size, --p, --rule, --graph-seed.
void add_lattice_options(CLI::App& app, LatticeOptions& options, const LatticeHelp& help = {});

// All but p, which may be a list. Error(usage); `instead`: what may stand in place of --size. The
// bitlattice engine has rules of its own for extents.
GraphSpec lattice_spec(const LatticeOptions& options, const std::string& instead = "",
                       bool bitlattice = false);

// How a graph's file is read.
struct GraphFileOptions {
  std::string first_site, ignore;
  bool merge = false;
};

// --first-site, --ignore and --merge beside `file_option`; their values as the reader takes them,
// Error(usage).
void add_graph_file_options(CLI::App& app, GraphFileOptions& options, const char* file_option);
ReadOptions read_options(const GraphFileOptions& options);

struct ModelOptions {
  std::string model = "ising";
  std::uint64_t q = 2;
};

// --model, --q.
void add_model_options(CLI::App& app, ModelOptions& options);
// The words of labelling methods.
std::string label_method_help();

// The model and its q. Error(usage).
std::pair<ModelKind, std::uint32_t> read_model(const ModelOptions& options);

// --share-ranks and --share-route: the ranks of one mpirun share every system (shared_ranks.hpp).
void add_share_ranks(CLI::App& app, bool& share, std::string& route);

}  // namespace rewise
