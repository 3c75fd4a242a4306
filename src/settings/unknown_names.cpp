#include "src/settings/unknown_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/words.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/schema.hpp"

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

// Features that users may expect, and how to get them or why they do not exist. {TABLE.KEY REST} is
// a setting of the schema: "--field REST" on the command line, "field REST in [model]" in a file;
// an equals sign that REST begins with is for files only. {TABLE.KEY: a, b} lists words,
// {TABLE.KEY:} all words that are allowed.
struct Feature {
  Names names;
  const char* text;
  const char* file_text = nullptr;  // the text for a file, if it is another one
};

const std::vector<Feature>& features() {
  static const std::vector<Feature> list{
      {{"beta", "inverse-temperature"},
       "give {sampling.temperatures} = 1/beta",
       "give temperatures = 1/beta in [sampling]"},
      {{"J", "coupling", "couplings", "interaction", "Jij"},
       "give {model.couplings:}; temperatures are in units of J/k_B"},
      {{"h", "H", "B", "field", "magnetic-field", "external-field"}, "give {model.field = H}"},
      {{"tempering", "parallel-tempering", "pt", "replica-exchange", "swap-replicas"},
       "give {sampling.exchange}, with at least two temperatures"},
      {{"icm", "isoenergetic", "cluster-moves", "houdayer-moves"},
       "give {sampling.houdayer}, with couplings or fields"},
      {{"exchange"},
       "replica exchange is for 'rewise run', 'rewise tune', 'rewise decorrelate' and studies "
       "(exchange = true in [sampling])"},
      {{"lattice", "geometry", "topology"},
       "lattices are hypercubic ({lattice.dim}, {lattice.sizes}); other graphs are read from "
       "files: {lattice.files FILE}",
       "lattices are hypercubic (dim and sizes in [lattice]); for other graphs give files in "
       "[lattice] of 'rewise sweep'"},
      {{"boundary", "boundaries", "bc", "pbc", "periodic"},
       "lattices are periodic; graphs with other boundaries are read from files"},
      {{"gpu", "gpus", "cuda", "cpu"}, "give {run.device: cuda, cpu, auto}"},
      {{"model", "hamiltonian"}, "give {model.name:}"},
      {{"algorithm", "update", "updates", "dynamics", "wolff", "swendsen-wang", "metropolis",
        "glauber", "heat-bath"},
       "choose updates with {sampling.local}, {sampling.cluster} and {sampling.schedule M:W}",
       "choose updates with local, cluster and schedule in [sampling]"},
      {{"sweeps", "steps", "mcs", "iterations"},
       "a run has {sampling.equilibrate} cycles, then {sampling.measure} measurements, "
       "{sampling.every} cycles apart",
       "a run has `equilibrate` cycles, then `measure` measurements, `every` cycles apart, in "
       "[sampling]"},
  };
  return list;
}

// A setting with what follows it in braces, as an option or as a key.
std::string setting_text(const Setting& one, std::string_view rest, bool for_file) {
  std::string text = for_file ? one.key : one.option;
  if (rest.starts_with(':')) {
    const std::vector<std::string> words =
        split_list(rest.size() > 1 ? rest.substr(2) : std::string_view(one.allowed));
    text += for_file ? " = " : " ";
    for (std::size_t k = 0; k < words.size(); ++k) {
      std::string_view word = words[k];
      if (word.starts_with(' ')) word.remove_prefix(1);
      text += k == 0 ? "" : k + 1 < words.size() ? ", " : " or ";
      text += for_file ? fmt::format("\"{}\"", word) : std::string(word);
    }
  } else {
    text += rest.starts_with(" = ") && !for_file ? rest.substr(2) : rest;
    if (for_file && one.type == "boolean") text += " = true";
  }
  return for_file ? fmt::format("{} in [{}]", text, one.table) : text;
}

// The text about a feature for a file or, without `for_file`, for a command with the options
// `known`; "" if one of those in the text is not among them.
std::string advice_on(const Feature& feature, bool for_file,
                      std::span<const std::string_view> known = {}) {
  std::string_view text =
      for_file && feature.file_text != nullptr ? feature.file_text : feature.text;
  std::string out;
  for (auto open = text.find('{'); open != std::string_view::npos; open = text.find('{')) {
    const auto close = text.find('}');
    std::string_view inside = text.substr(open + 1, close - open - 1);
    const auto end = std::min(inside.find_first_of(" :"), inside.size());
    const Setting& one = setting(inside.substr(0, end));
    out += text.substr(0, open);
    const std::string_view option = std::string_view(one.option).substr(2);
    if (for_file || has(known, option)) {
      out += setting_text(one, inside.substr(end), for_file);
    } else if (option == "graph") {  // 'rewise graph' reads files by another option
      if (!has(known, "from")) return out.substr(0, out.find(';'));
      out += fmt::format("--from{}", inside.substr(end));
    } else {
      return "";
    }
    text.remove_prefix(close + 1);
  }
  return out += text;
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
  if (const Feature* feature = feature_of(name)) {
    std::string advice = advice_on(*feature, !keys.empty(), known);
    if (!advice.empty()) return advice;
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
    return advice_on(*feature, true);  // in a study file
  }
  const auto nearest = nearest_word(typed, known);
  return nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest);
}

}  // namespace rewise
