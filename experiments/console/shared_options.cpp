#include "experiments/console/shared_options.hpp"

#include <fmt/format.h>

#include "experiments/console/engine_choice.hpp"
#include "experiments/console/options.hpp"

namespace rewise {

void add_lattice_options(CLI::App& app, LatticeOptions& o, const LatticeHelp& help) {
  add_whole(app, "--dim", o.dim, 1, kMaxDim, "dimension of the lattice, 1..4");
  add_text(app, "--size", o.size, "L[,L..]", help.size);
  add_text(app, "--p", o.p, help.p_type, help.p);
  add_text(app, "--rule", o.rule, "RULE", "rewire, swap or add (see 'rewise graph --help')");
  add_whole(app, "--graph-seed", o.graph_seed, 0, help.most_seed, help.seed);
}

GraphSpec lattice_spec(const LatticeOptions& options, const std::string& instead, bool packed) {
  if (options.size.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("--size is missing (an even edge such as 64{})", instead));
  }
  GraphSpec spec;
  spec.extents = parse_extents(options.size, static_cast<int>(options.dim), "--size");
  if (!packed) check_extents(spec.extents, "--size");
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
  add_flag(app, "--merge", o.merge, "make one bond of several between the same two sites");
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
  options.merge = o.merge;
  return options;
}

void add_model_options(CLI::App& app, ModelOptions& o) {
  add_text(app, "--model", o.model, "ising|potts", "potts: single engine");
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

}  // namespace rewise
