#include "src/settings/unknown_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/words.hpp"

namespace rewise {
namespace {

using Names = std::vector<std::string_view>;

bool has(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Equivalent names in rewise and other programs. '-' matches '_'.
const std::vector<Names>& synonyms() {
  static const std::vector<Names> groups{
      {"temperature", "temperatures", "T", "t", "temp", "temps", "kT"},
      {"size", "sizes", "L", "l", "length", "edge", "extent", "extents", "lattice-size"},
      {"dim", "d", "D", "dims", "dimension", "dimensions", "ndim"},
      {"p", "prob", "probability", "rewiring", "p-rewire"},
      {"measure", "measurements", "samples"},
      {"equilibrate", "equilibration", "thermalize", "thermalise", "thermalization",
       "thermalisation", "therm", "burn-in", "burnin", "warmup", "warm-up"},
      {"seed", "random-seed", "rng-seed"},
      {"out", "o", "output", "outfile", "outdir", "out-dir"},
      {"threads", "nthreads", "num-threads", "cores", "ncores"},
      {"replicas", "chains", "walkers"},
      {"graphs", "realizations", "realisations", "disorder"},
      {"graph", "from", "files", "file", "input", "edges", "edgelist", "network"},
      {"q", "states", "nstates"},
      {"time-limit", "timeout", "walltime"},
      {"couplings-on", "on"},
      {"negative", "negative-fraction", "p-negative", "antiferro-fraction"},
  };
  return groups;
}

// Features that users may expect, and how to get them or why they do not exist.
struct Feature {
  Names names;
  const char* option;  // text for the command line
  const char* key;     // text for a TOML file
};

const std::vector<Feature>& features() {
  static const std::vector<Feature> list{
      {{"beta", "inverse-temperature"},
       "give --temperature = 1/beta",
       "give temperatures = 1/beta in [sampling]"},
      {{"J", "coupling", "couplings", "interaction", "Jij"},
       "give --couplings ferromagnet, antiferromagnet, pm, gaussian or file; temperatures are in "
       "units of J/k_B",
       "give couplings = \"ferromagnet\", \"antiferromagnet\", \"pm\", \"gaussian\" or \"file\" in "
       "[model]; temperatures are in units of J/k_B"},
      {{"h", "H", "B", "field", "magnetic-field", "external-field"},
       "give --field H",
       "give field = H in [model]"},
      {{"tempering", "parallel-tempering", "pt", "replica-exchange", "swap-replicas"},
       "give --exchange, with at least two temperatures",
       "give exchange = true in [sampling], with at least two temperatures"},
      {{"icm", "isoenergetic", "cluster-moves", "houdayer-moves"},
       "give --houdayer, with couplings or fields",
       "give houdayer = true in [sampling], with couplings or fields in [model]"},
      {{"exchange"},
       "replica exchange is for 'rewise run', 'rewise tune', 'rewise decorrelate' and studies "
       "(exchange = true in [sampling])",
       "give exchange = true in [sampling], with at least two temperatures"},
      {{"lattice", "geometry", "topology"},
       "lattices are hypercubic (--dim, --size); other graphs are read from files: {} FILE",
       "lattices are hypercubic (dim and sizes in [lattice]); for other graphs give files in "
       "[lattice] of 'rewise sweep'"},
      {{"boundary", "boundaries", "bc", "pbc", "periodic"},
       "lattices are periodic; graphs with other boundaries are read from files",
       "lattices are periodic; for other graphs give files in [lattice] of 'rewise sweep'"},
      {{"gpu", "gpus", "cuda", "cpu"},
       "give --device cuda, cpu or auto",
       "give device = \"cuda\", \"cpu\" or \"auto\" in [run]"},
      {{"model", "hamiltonian"},
       "give --model ising or potts",
       "give name = \"ising\" or \"potts\" in [model]"},
      {{"algorithm", "update", "updates", "dynamics", "wolff", "swendsen-wang", "metropolis",
        "glauber", "heat-bath"},
       "choose updates with --local, --cluster and --schedule M:W",
       "choose updates with local, cluster and schedule in [sampling]"},
      {{"sweeps", "steps", "mcs", "iterations"},
       "a run has --equilibrate cycles, then --measure measurements, --every cycles apart",
       "a run has `equilibrate` cycles, then `measure` measurements, `every` cycles apart, in "
       "[sampling]"},
  };
  return list;
}

// Whether the text about a feature applies to a command with the options `known`.
bool offers(const Feature& feature, std::span<const std::string_view> known) {
  const std::string_view text = feature.option;
  for (const std::string_view option :
       {"temperature", "dim", "device", "schedule", "measure", "local", "model", "couplings",
        "field", "exchange", "houdayer"}) {
    if (text.find(fmt::format("--{}", option)) != std::string_view::npos) {
      return has(known, option);
    }
  }
  return true;
}

std::string dashed(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

const Feature* feature_of(const std::string& name) {
  for (const Feature& feature : features()) {
    if (has(feature.names, name)) return &feature;
  }
  return nullptr;
}

// The known name that is equal or equivalent to `name`, or "".
std::string_view synonym(const std::string& name, std::span<const std::string_view> known) {
  for (const std::string_view one : known) {
    if (dashed(one) == name) return one;
  }
  for (const Names& group : synonyms()) {
    if (!has(group, name)) continue;
    for (const std::string_view other : group) {
      for (const std::string_view one : known) {
        if (dashed(one) == other) return one;
      }
    }
  }
  return "";
}

}  // namespace

std::string option_advice(std::string_view typed, std::span<const std::string_view> known,
                          std::span<const KeyTable> keys) {
  typed.remove_prefix(std::min(typed.find_first_not_of('-'), typed.size()));
  const std::string name = dashed(typed.substr(0, typed.find('=')));
  const auto meant = [](std::string_view option) {
    return fmt::format("did you mean '--{}'?", option);
  };
  if (const auto same = synonym(name, known); !same.empty())
    return meant(same);  // possibly given with one dash
  for (const KeyTable& table : keys) {
    const auto key = synonym(name, table.keys);
    if (!key.empty()) return fmt::format("give {} in [{}] of the file", key, table.table);
  }
  if (const Feature* feature = feature_of(name); feature != nullptr && !keys.empty()) {
    return feature->key;
  }
  if (const Feature* feature = feature_of(name); feature != nullptr && offers(*feature, known)) {
    std::string text = feature->option;
    const auto file = text.find("{}");
    if (file == std::string::npos) return text;
    const std::string_view option = has(known, "graph")  ? "graph"
                                    : has(known, "from") ? "from"
                                                         : "";
    if (option.empty()) return text.substr(0, text.find(';'));
    return text.replace(file, 2, fmt::format("--{}", option));
  }
  const auto nearest = nearest_word(name, known);
  return nearest.empty() ? "" : meant(nearest);
}

std::string key_advice(std::string_view typed, std::span<const std::string_view> known,
                       std::span<const KeyTable> others) {
  const std::string name = dashed(typed);
  for (const KeyTable& other : others) {
    if (has(other.keys, typed)) return fmt::format("it belongs in [{}]", other.table);
  }
  if (const auto same = synonym(name, known); !same.empty()) {
    return fmt::format("did you mean '{}'?", same);
  }
  for (const KeyTable& other : others) {
    const auto same = synonym(name, other.keys);
    if (!same.empty()) return fmt::format("did you mean '{}' in [{}]?", same, other.table);
  }
  if (name == "step" && has(known, "count")) return "give count, the number of values";
  if (const Feature* feature = feature_of(name); feature != nullptr && !others.empty()) {
    return feature->key;  // in a study file
  }
  const auto nearest = nearest_word(typed, known);
  return nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest);
}

}  // namespace rewise
