#include "experiments/console/shared_options.hpp"

#include <fmt/format.h>

#include "src/study/engine_choice.hpp"
#include "src/study/parse.hpp"

namespace rewise {

void add_lattice_options(CLI::App& app, LatticeOptions& o, const LatticeHelp& help) {
  add_whole(app, "--dim", o.dim, 1, kMaxDim, "dimension of the lattice, 1..4");
  add_text(app, "--size", o.size, "L[,L..]", help.size);
  add_text(app, "--p", o.p, help.p_type, help.p);
  add_text(app, "--rule", o.rule, "RULE", "rewire, swap or add (see 'rewise graph --help')");
  add_whole(app, "--graph-seed", o.graph_seed, 0, help.most_seed, help.seed);
}

GraphSpec lattice_spec(const LatticeOptions& options, const std::string& instead, bool bitlattice) {
  if (options.size.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("--size is missing (an even edge such as 64{})", instead));
  }
  GraphSpec spec;
  spec.extents = parse_extents(options.size, static_cast<int>(options.dim), "--size");
  if (!bitlattice) check_extents(spec.extents, "--size");
  spec.rule = choose_rule(options.rule, "--rule");
  spec.seed = options.graph_seed;
  return spec;
}

void add_graph_file_options(CLI::App& app, GraphFileOptions& o, const char* file_option) {
  add_text(app, "--first-site", o.first_site, "0|1",
           "number of the first site of an edge list [0]");
  add_text(app, "--ignore", o.ignore, "NAME[,..]",
           "attributes of the graph's file that are no part of\n"
           "the model: passed over, whatever their values");
  add_flag(app, "--merge", o.merge,
           "make one bond of several between the same two sites,\n"
           "and bonds of directed edges");
  if (file_option[0] != '-') return;
  for (const char* option : {"--first-site", "--ignore", "--merge"}) {
    require(app, option, file_option);
  }
}

ReadOptions read_options(const GraphFileOptions& o) {
  ReadOptions options;
  if (!o.first_site.empty()) {
    options.first_site =
        parse_whole(o.first_site, 0, 1, "--first-site") == 0 ? FirstSite::zero : FirstSite::one;
  }
  if (!o.ignore.empty()) options.ignore = split_list(o.ignore);
  options.all_ignored_exist = true;
  options.merge = o.merge;
  return options;
}

void add_model_options(CLI::App& app, ModelOptions& o) {
  add_text(app, "--model", o.model, "ising|potts", "potts: bytespin engine");
  add_whole(app, "--q", o.q, 2, 255, "Potts states");
}

std::string label_method_help() {
  return fmt::format("{}, or TILE+MERGE:\nbfs, union-find or self-label + relax or sew",
                     label_methods(&LabelTraits::whole));
}

std::pair<ModelKind, std::uint32_t> read_model(const ModelOptions& options) {
  const ModelKind kind = parse_model(options.model, "--model");
  check_states(kind, options.q, "--q");
  return {kind, static_cast<std::uint32_t>(options.q)};
}

void add_share_ranks(CLI::App& app, bool& share, std::string& route) {
  add_flag(app, "--share-ranks", share,
           "under mpirun or srun: the ranks share every system,\n"
           "each a slab on its GPU or its cores (bitlattice engine;\n"
           "bytespin engine: sweeps, Swendsen-Wang)");
  add_text(app, "--share-route", route, "WORD",
           "how spins go from a rank's GPU to another's: auto, the\n"
           "first of these that there is: peer (one copies from\n"
           "the other's memory: one machine), direct (MPI that takes\n"
           "addresses on a GPU: auto asks the library), host");
  require(app, "--share-route", "--share-ranks");
}

}  // namespace rewise
