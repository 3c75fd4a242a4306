// Options that several subcommands have, in one wording and read in one way: the lattice, the
// model.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "experiments/console/commands.hpp"
#include "graphs/graph_io.hpp"
#include "src/engine/engine.hpp"

namespace rewise {

struct LatticeOptions {
  std::uint64_t dim = 2, graph_seed = 1;
  std::string size, p = "0", rule = "rewire";
};

// What --help says where it is not the same everywhere.
struct LatticeHelp {
  const char* size = "edge, or one extent per direction: even, 4 or more";
  const char* p_type = "P";
  const char* p = "rewiring probability, 0..1";
  const char* seed = "seed of the graph";
  std::uint64_t most_seed = kMostSeed;
};

// --dim, --size, --p, --rule, --graph-seed.
void add_lattice_options(CLI::App& app, LatticeOptions& options, const LatticeHelp& help = {});

// All but p, which may be a list. Error(usage); `instead`: what may stand in place of --size. The
// packed engine has rules of its own for extents.
GraphSpec lattice_spec(const LatticeOptions& options, const std::string& instead = "",
                       bool packed = false);

// --first-site beside `file_option`, for commands that read graphs; its value as the reader takes
// it, Error(usage).
void add_first_site(CLI::App& app, std::string& first_site, const char* file_option);
FirstSite parse_first_site(const std::string& first_site);

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

}  // namespace rewise
