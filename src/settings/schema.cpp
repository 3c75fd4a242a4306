#include "src/settings/schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "analysis/series/observables.hpp"
#include "src/base/error.hpp"
#include "src/base/setting_name.hpp"
#include "src/base/utf8.hpp"
#include "src/settings/config.hpp"

namespace rewise {
namespace {

constexpr const char* kNoOption = "none";
constexpr std::uint64_t kMaxSeedOfFile = std::numeric_limits<std::int64_t>::max();
// What parse_duration() reads (src/store/signals.hpp).
constexpr const char* kTimes =
    "a time such as 90s, 5min, 1d12h, 1:30:00 (h:min:s) or 1-12:00:00 (days-h:min:s); a number "
    "without a unit: seconds";
constexpr std::uint64_t kMaxCycles = std::uint64_t{1} << 32;

// Values as TOML.

// UTF-8 stays as it is; control characters are escaped.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const auto point = next_code_point(text, at);
    if (!point) {
      throw Error(ExitCode::usage, fmt::format("'{}': the name is not UTF-8, so study.toml cannot "
                                               "contain it (rename the file, or its folder)",
                                               valid_utf8(text)));
    }
    if (*point < 0x20 || (*point >= 0x7f && *point < 0xa0)) {
      out += fmt::format("\\u{:04X}", *point);
    } else {
      if (*point == '"' || *point == '\\') out += '\\';
      out += text.substr(begin, at - begin);
    }
  }
  return out + "\"";
}

std::string real(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

template <class Values, class Text>
std::string list(const Values& values, const Text& text) {
  std::vector<std::string> parts;
  for (const auto& value : values) parts.push_back(text(value));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

// A single value without brackets.
template <class Values, class Text>
std::string one_or_list(const Values& values, const Text& text) {
  return values.size() == 1 ? text(values.front()) : list(values, text);
}

std::string quoted_name(auto value) { return in_quotes(to_string(value)); }
std::string truth(bool value) { return value ? "true" : "false"; }
std::string whole(std::uint64_t value) { return fmt::format("{}", value); }
std::string whole_or_auto(const std::optional<std::uint64_t>& value) {
  return value ? whole(*value) : "\"auto\"";
}
std::string seconds(double value) { return fmt::format("\"{}s\"", value); }
std::string reals(const std::vector<double>& values) { return list(values, real); }

// A key that study.toml contains only for studies of lattices.
std::string of_lattices(const StudyConfig& config, const std::string& text) {
  return config.files.empty() ? text : "";
}
std::string of_few_cluster(const StudyConfig& config, const std::string& text) {
  return config.cluster() == ClusterUpdate::few_cluster ? text : "";
}

// The allowed words: "rewire, swap, add".
template <class Word>
std::string words(Word last) {
  std::string text;
  for (int k = 0; k <= static_cast<int>(last); ++k) {
    text += (k == 0 ? "" : ", ") + std::string(to_string(static_cast<Word>(k)));
  }
  return text;
}

std::string engine_words() {
  std::string text = "auto";
  for (const EngineTraits& engine : engine_registry()) {
    if (engine.studies) text += fmt::format(", {}", engine.name);
  }
  return text;
}

std::string observable_words() {
  std::vector<std::string_view> names;
  for (const Observable& observable : observables()) names.push_back(observable.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Setting> keys_of_study() {
  using C = const StudyConfig&;
  return {
      {.key = "name",
       .type = "text",
       .allowed = "1 to 100 characters a-z, A-Z, 0-9, '.', '_', '-'; the first is not '.' or '-'",
       .help = "name of the study, and of its default folder studies/NAME",
       .more = "Without a name, the default folder is studies/FILE for FILE.toml",
       .example = "\"tc-2d\"",
       .text = [](C c) { return in_quotes(c.name); },
       .option = kNoOption},
      {.key = "seed",
       .type = "integer",
       .max_integer = kMaxSeedOfFile,
       .help = "seed of the random numbers: same seed, same results",
       .more = "In a study, also the seed of its networks",
       .example = "7",
       .text = [](C c) { return whole(c.seed); }},
  };
}

std::vector<Setting> keys_of_lattice() {
  using C = const StudyConfig&;
  return {
      {.key = "dim",
       .type = "integer",
       .standard = "required",
       .min_integer = 1,
       .max_integer = kMaxDim,
       .help = "dimension of the lattice, 1..4",
       .more = "sweep: also a list",
       .example = "2",
       .text =
           [](C c) {
             return of_lattices(c, one_or_list(c.dims(), [](int dim) {
                                  return whole(static_cast<std::uint64_t>(dim));
                                }));
           }},
      {.key = "sizes",
       .type = "list",
       .standard = "required",
       .allowed = "even numbers from 4; auto",
       .min_integer = 4,
       .max_integer = 0xFFFFFFFFu,
       .help = "edge, or one extent per direction: even, 4 or more",
       .more = "Several lattices: edges, or lists of extents such as [[32, 16]]. \"auto\" chooses "
               "three sizes by p, for a single dim",
       .example = "[32, 64, 128]",
       .text =
           [](C c) {
             const auto extents = [](const auto& e) { return list(e, whole); };
             return of_lattices(c, c.auto_sizes ? "\"auto\"" : list(c.sizes, extents));
           },
       .option = "--size",
       .option_type = "L[,L..]"},
      {.key = "p",
       .type = "list",
       .standard = "required",
       .highest = 1,
       .help = "rewiring probability, 0..1",
       .more = "A number, a list, or {from, to, per_decade}: evenly spaced in log p",
       .example = "[0.0, 0.01, 0.1]",
       .text = [](C c) { return of_lattices(c, reals(c.p)); },
       .option_type = "P"},
      {.key = "rule",
       .type = "text",
       .allowed = words(Rule::add),
       .help = "how bonds are rewired. rewire: each end of a bond moves with probability p/2; "
               "swap: bonds exchange ends, every degree stays 2d; add: each bond adds a bond with "
               "probability p",
       .more = "sweep: also a list",
       .example = "\"swap\"",
       .text =
           [](C c) {
             const auto name = [](Rule rule) { return quoted_name(base_rule(rule)); };
             return of_lattices(c, one_or_list(c.rules, name));
           },
       .option_type = "RULE"},
      {.key = "parity",
       .type = "text",
       .allowed = words(Parity::any),
       .help = "sites to which a moved end of a bond may attach. checkerboard: sites of the same "
               "colour as its old site, so that bonds join opposite colours; any: all sites",
       .more = "any: networks as in Herrero, Phys. Rev. E 77, 041102 (2008); frustrated for an "
               "antiferromagnet. Ising and Potts, multispin and bytespin engines; slower, since "
               "every site has a list of neighbours",
       .example = "\"any\"",
       .text = [](C c) { return of_lattices(c, quoted_name(parity_of(c.rule()))); }},
      {.key = "graphs",
       .type = "integer or list",
       .standard = fmt::format("{}; {} with a target_error", kDefaultGraphs, kDefaultTargetGraphs),
       .min_integer = 1,
       .max_integer = 1'000'000,
       .help = "number of networks of each size",
       .more = "One number, or a list with one per size. With a target_error: the number to begin "
               "with",
       .example = "100",
       .text =
           [](C c) {
             return of_lattices(c, c.auto_sizes ? whole(c.graphs.front()) : list(c.graphs, whole));
           }},
      {.key = "most_graphs",
       .type = "integer",
       .min_integer = 1,
       .max_integer = 1'000'000,
       .help = "with a target_error: at most this many networks of a size",
       .example = "2000",
       .text = [](C c) { return of_lattices(c, whole(c.most_graphs)); },
       .option = kNoOption},
      {.key = "more_sizes",
       .type = "integer",
       .max_integer = 16,
       .help = "with a target_error: at most this many additional, larger sizes",
       .example = "2",
       .text = [](C c) { return of_lattices(c, whole(c.more_sizes)); },
       .option = kNoOption,
       .command = "tc"},
      {.key = "files",
       .type = "list of names",
       .standard = "none",
       .allowed = ".edges, .graphml, .h5",
       .help = "use these graphs instead of building them",
       .more = "Replaces all keys of [lattice] above. Names are relative to the study's file",
       .example = "[\"a.edges\", \"b.graphml\"]",
       .text =
           [](C c) {
             return c.files.empty()
                        ? std::string()
                        : list(c.files, [](const auto& file) { return in_quotes(file.string()); });
           },
       .option = "--graph",
       .option_type = "FILE",
       .command = "sweep"},
      {.key = "first_site",
       .type = "integer",
       .standard = "by the file",
       .max_integer = 1,
       .help = "number of the first site of an edge list, 0 or 1",
       .example = "1",
       .text =
           [](C c) {
             return c.reading.first_site == FirstSite::unsaid
                        ? std::string()
                        : whole(c.reading.first_site == FirstSite::zero ? 0 : 1);
           },
       .option_type = "0|1",
       .command = "sweep"},
      {.key = "ignore",
       .type = "list of names",
       .standard = "none",
       .help = "attributes of the graph's file to skip, because they are not part of the model",
       .example = "[\"degree\"]",
       .text =
           [](C c) {
             return c.reading.ignore.empty() ? std::string() : list(c.reading.ignore, in_quotes);
           },
       .option_type = "NAME[,..]",
       .command = "sweep"},
      {.key = "merge",
       .type = "boolean",
       .help = "combine several bonds between the same two sites into one, and read directed "
               "edges as bonds",
       .example = "true",
       .text = [](C c) { return truth(c.reading.merge); },
       .omit_default = true,
       .command = "sweep"},
  };
}

std::vector<Setting> keys_of_model() {
  using C = const StudyConfig&;
  return {
      {.key = "name",
       .type = "text",
       .allowed = words(ModelKind::potts),
       .help = "spin model: ising, or potts (bytespin engine), which requires q",
       .example = "\"potts\"",
       .text = [](C c) { return quoted_name(c.model.kind); },
       .option = "--model"},
      {.key = "q",
       .type = "integer",
       .standard = "2 for ising; potts requires it",
       .min_integer = 2,
       .max_integer = 255,
       .help = "number of Potts states",
       .example = "3",
       .text = [](C c) { return c.model.is_potts() ? whole(c.model.q) : std::string(); },
       .option_type = "N"},
      {.key = "couplings",
       .type = "text",
       .allowed = words(CouplingKind::file),
       .help = "J of the bonds: ferromagnet 1, antiferromagnet -1, pm 1 or -1 at random, gaussian "
               "normal deviates, file: the weights of the graph's file",
       .more = "H = -sum J_ij s_i s_j - sum h_i s_i. Random couplings follow from the graph's seed "
               "and coupling_seed. With file, sites can have fields too",
       .example = "\"pm\"",
       .text = [](C c) { return quoted_name(c.model.interactions.couplings); },
       .omit_default = true},
      {.key = "on",
       .type = "text",
       .allowed = "all, shortcuts",
       .help = "bonds with these couplings: all, or shortcuts (all other bonds then have J = 1)",
       .example = "\"shortcuts\"",
       .text =
           [](C c) { return in_quotes(c.model.interactions.on_shortcuts ? "shortcuts" : "all"); },
       .omit_default = true,
       .option = "--couplings-on"},
      {.key = "negative",
       .type = "number",
       .standard = "0.5",
       .highest = 1,
       .help = "couplings pm: probability of J = -1, 0..1",
       .example = "0.3",
       .text =
           [](C c) {
             const Interactions& interactions = c.model.interactions;
             return interactions.couplings == CouplingKind::plus_minus
                        ? real(interactions.negative_fraction)
                        : std::string();
           },
       .option_type = "X"},
      {.key = "shortcut_strength",
       .type = "number",
       .lowest = -kMaxShortcutStrength,
       .highest = kMaxShortcutStrength,
       .help = "factor of the couplings of shortcuts",
       .example = "0.5",
       .text = [](C c) { return real(c.model.interactions.shortcut_strength); },
       .omit_default = true,
       .option_type = "X"},
      {.key = "coupling_seed",
       .type = "integer",
       .max_integer = 0xFFFFFFFFu,
       .help = "seed of random couplings and fields: another number gives other couplings on the "
               "same graph",
       .example = "1",
       .text = [](C c) { return whole(c.model.interactions.seed); },
       .omit_default = true,
       .option_type = "N"},
      {.key = "field",
       .type = "number",
       .lowest = -kMaxField,
       .highest = kMaxField,
       .help = "field h of every site (ising)",
       .example = "0.1",
       .text = [](C c) { return real(c.model.interactions.field + 0.0); },  // 0 for -0.0
       .omit_default = true,
       .option_type = "H"},
      {.key = "field_random",
       .type = "text",
       .allowed = words(RandomField::gaussian),
       .help = "random part of the field: none, pm: field_width or -field_width, gaussian: "
               "field_width times a normal deviate",
       .example = "\"gaussian\"",
       .text = [](C c) { return quoted_name(c.model.interactions.random_field); },
       .omit_default = true},
      {.key = "field_width",
       .type = "number",
       .standard = "1.0",
       .highest = kMaxFieldWidth,
       .help = "width of the random field",
       .example = "0.5",
       .text =
           [](C c) {
             const Interactions& interactions = c.model.interactions;
             return interactions.random_field == RandomField::none ? std::string()
                                                                   : real(interactions.field_width);
           },
       .option_type = "H"},
  };
}

std::vector<Setting> keys_of_sampling() {
  using C = const StudyConfig&;
  return {
      {.key = "engine",
       .type = "text",
       .standard = "\"auto\"",
       .allowed = engine_words(),
       .help =
           "how spins are stored: multispin (32 Ising replicas per word, fastest), bytespin (one "
           "byte per site), or auto: multispin if it supports the model and the updates",
       .example = "\"bytespin\"",
       .text = [](C c) { return quoted_name(c.engine); }},
      {.key = "schedule",
       .type = "text or list",
       .allowed = "\"M:W\", \"UPDATE/M:W\", auto",
       .help = "a cycle: M local sweeps, then W cluster updates. M:W, with the updates of local "
               "and cluster, or with named ones: swendsen-wang/4:1, glauber/1:0. auto: tuned "
               "first (see 'rewise tune')",
       .more = "tc: a list gives one for each p, in the order of p. sweep: a list is part of the "
               "grid",
       .example = "\"4:1\"",
       .text =
           [](C c) {
             return c.schedules.empty() ? "\"auto\""
                                        : one_or_list(c.schedules, quoted_name<Schedule>);
           },
       .option_type = "M:W"},
      {.key = "local",
       .type = "text",
       .standard = "\"auto\"",
       .allowed = "auto, " + local_updates(),
       .help =
           "update of single sites: " + local_updates() +
           ", or auto: glauber in one dimension and for graph files with small parts whose sites "
           "all have an even number of bonds (rings, ..), which Metropolis sweeps may not explore; "
           "metropolis elsewhere",
       .example = "\"glauber\"",
       // For graph files "auto" depends on the graph, so study.toml has the word itself.
       .text =
           [](C c) {
             return c.local_by_graph && !c.files.empty() ? "\"auto\"" : quoted_name(c.local);
           }},
      {.key = "cluster",
       .type = "text or list",
       .standard = "\"auto\" with schedule = \"auto\", else \"wolff\"",
       .allowed = "auto, " + words(ClusterUpdate::few_cluster),
       .help = "cluster update: wolff, swendsen-wang, few-cluster (bytespin engine), or auto: the "
               "faster of the first two",
       .more = "auto is allowed only with schedule = \"auto\". tc: a list gives wolff or "
               "swendsen-wang for each p, in the order of p",
       .example = "\"swendsen-wang\"",
       .text =
           [](C c) {
             return c.clusters.empty() ? "\"auto\""
                                       : one_or_list(c.clusters, quoted_name<ClusterUpdate>);
           },
       .option_type = "WORD"},
      {.key = "few_cluster_tile",
       .type = "integer",
       .standard = "0",
       .max_integer = 0xFFFFFFFFu,
       .help = "edge of the tiles, each of which draws one seed; 0: a few tiles, 4 x 4 in two "
               "dimensions",
       .example = "16",
       .text = [](C c) { return of_few_cluster(c, whole(c.few_cluster.tile)); }},
      {.key = "few_cluster_flip",
       .type = "number",
       .standard = fmt::format("{}", FewCluster{}.flip),
       .lowest = 1e-6,
       .highest = 1 - 1e-6,
       .help = "probability with which each cluster is flipped, below 1",
       .example = "0.5",
       .text = [](C c) { return of_few_cluster(c, fmt::format("{}", c.few_cluster.flip)); },
       .option_type = "P"},
      {.key = "replicas",
       .type = "integer",
       .min_integer = 1,
       .max_integer = 1u << 20,
       .help = "independent configurations per network and temperature; multiples of 32 for the "
               "multispin engine",
       .example = "64",
       .text = [](C c) { return whole(c.replicas); }},
      {.key = "exchange",
       .type = "boolean",
       .help = "replica exchange: at the end of each cycle, replicas of neighbouring temperatures "
               "are exchanged",
       .more = "Hukushima & Nemoto, J. Phys. Soc. Jpn. 65, 1604 (1996). For spin glasses, which "
               "local updates alone cannot equilibrate. Requires at least two temperatures",
       .example = "true",
       .text = [](C c) { return truth(c.exchange); },
       .omit_default = true},
      {.key = "houdayer",
       .type = "boolean",
       .help = "Houdayer's cluster moves: in each cycle, clusters of two replicas of a temperature "
               "flip in both, without rejection",
       .more =
           "Houdayer, Eur. Phys. J. B 22, 479 (2001); Zhu, Ochoa & Katzgraber, Phys. Rev. "
           "Lett. 115, 077201 (2015). For spin glasses in two dimensions, or wherever these "
           "clusters do not percolate. Ising spins with couplings or fields; 3 replicas or more",
       .example = "true",
       .text = [](C c) { return truth(c.houdayer); },
       .omit_default = true},
      {.key = "staggered",
       .type = "boolean",
       .standard = "true with couplings = \"antiferromagnet\", else false",
       .help =
           "measures the staggered magnetisation m_s, the difference of the sublattices, beside "
           "m; antiferromagnets do so by default",
       .more = "m_s = (1/N) sum of eps_i s_i, eps = 1 where the sum of the coordinates is even and "
               "-1 elsewhere; graphs from files: the two colours of a bipartite graph. For Ising "
               "spins with couplings or fields. In a study's file, false leaves it out",
       .example = "true",
       .text = [](C c) { return c.staggered ? truth(*c.staggered) : ""; }},
      {.key = "temperatures",
       .type = "list",
       .lowest = 1e-3,
       .highest = 1e6,
       .unit = "J/k_B",
       .help = "temperatures in units of J/k_B",
       .more =
           "A number, a list, {from, to, count} with count up to 4096, or \"auto\": around each "
           "transition (sweep: 13). With exchange, {from, to} without a count chooses "
           "temperatures with an acceptance of 0.3, for each size",
       .example = "{from = 2.0, to = 3.0, count = 11}",
       .text =
           [](C c) {
             if (const auto& range = c.temperature_range) {
               return fmt::format("{{from = {}, to = {}}}", real(range->from), real(range->to));
             }
             return c.temperatures.empty() ? "\"auto\"" : reals(c.temperatures);
           },
       .option = "--temperature",
       .option_type = "T[,T..]"},
      {.key = "temperature_tasks",
       .type = "list of lists",
       .standard = "none",
       .lowest = 1e-3,
       .highest = 1e6,
       .unit = "J/k_B",
       .help = "temperatures that are simulated together; written by the program",
       .example = "[[2.0, 2.5], [2.25]]",
       .text =
           [](C c) {
             return c.temperature_tasks.empty() ? std::string() : list(c.temperature_tasks, reals);
           },
       .option = kNoOption,
       .command = "sweep"},
      {.key = "equilibrate",
       .type = "integer",
       .max_integer = kMaxCycles,
       .unit = "cycles",
       .help = "cycles before the first measurement",
       .more = "\"auto\": until pilots from ordered and from random starts agree",
       .example = "1000",
       .text = [](C c) { return whole_or_auto(c.equilibrate); }},
      {.key = "measure",
       .type = "integer",
       .min_integer = 2,
       .max_integer = kMaxCycles,
       .help = "number of measurements per replica",
       .more = "\"auto\": 100 in sweep; in tc 20, and 60 at p = 0 (--dry-run assumes 60)",
       .example = "400",
       .text = [](C c) { return whole_or_auto(c.measure); }},
      {.key = "every",
       .type = "integer",
       .min_integer = 1,
       .max_integer = kMaxCycles,
       .unit = "cycles",
       .help = "cycles per measurement",
       .more = "\"auto\": by the autocorrelation time of pilots",
       .example = "5",
       .text = [](C c) { return whole_or_auto(c.every); }},
      {.key = "target_error",
       .type = "number",
       .lowest = 1e-9,
       .highest = 1,
       .help = "requested relative error: networks, measurements and sizes are added until it is "
               "reached",
       .more = "tc: of every Tc(p). sweep: of every observable in target_observables, at every "
               "temperature of every size",
       .example = "1e-4",
       .text = [](C c) { return c.target_error ? fmt::format("{}", *c.target_error) : "\"none\""; },
       .option = kNoOption},
      {.key = "method",
       .type = "text",
       .standard = "\"both\" with a target_error of 1e-3 or less, else \"crossings\"",
       .allowed = words(TcMethodWord::tree),
       .help = "method for Tc: crossings of the curves of different sizes, the tree condition on "
               "bare lattices, or both",
       .example = "\"tree\"",
       .text = [](C c) { return c.method ? quoted_name(*c.method) : std::string(); },
       .option = kNoOption,
       .command = "tc"},
      {.key = "target_observables",
       .type = "list",
       .standard = "[\"energy\", \"m2\"]",
       .allowed = observable_words(),
       .help = "observables to which target_error applies",
       .example = "[\"energy\", \"binder\"]",
       .text =
           [](C c) {
             return c.target_observables.empty() ? std::string()
                                                 : list(c.target_observables, in_quotes);
           },
       .option = kNoOption,
       .command = "sweep"},
  };
}

std::vector<Setting> keys_of_run() {
  using C = const StudyConfig&;
  return {
      {.key = "device",
       .type = "text",
       .allowed = "auto, cpu, cuda, cuda:N, cuda:0,1",
       .help = "auto, cpu, cuda or cuda:N; cuda is an error if it cannot be used; auto uses a "
               "GPU if there is one, unless the CPU would finish before the GPU has started",
       .more = "cuda:0,1 and so on: several GPUs, each for other networks",
       .example = "\"cuda\"",
       .text = [](C c) { return in_quotes(c.device); },
       .option_type = "DEVICE"},
      {.key = "threads",
       .type = "integer",
       .max_integer = 4096,
       .help = "threads of the CPU; 0: choose automatically; results do not depend on it",
       .example = "4",
       .text = [](C c) { return whole(static_cast<std::uint64_t>(c.threads)); }},
      {.key = "checkpoint",
       .type = "text",
       .allowed = kTimes,
       .help =
           "time between checkpoints, such as 90s, 5min or 1h; a number without a unit: seconds",
       .example = "\"10min\"",
       .text = [](C c) { return seconds(c.checkpoint); },
       .option_type = "TIME"},
      {.key = "time_limit",
       .type = "text",
       .allowed = fmt::format("{}; none", kTimes),
       .help =
           "stop with status 75 after this time, such as 90s, 30min, 1d12h, 1:30 (min:s), 1:30:00 "
           "(h:min:s), 1-12 (days-h) or 1-12:00:00; a number without a unit: seconds",
       .more = "The same command continues from the checkpoints",
       .example = "\"2h\"",
       .text = [](C c) { return c.time_limit ? seconds(*c.time_limit) : "\"none\""; },
       .option_type = "TIME"},
      {.key = "keep_states",
       .type = "boolean",
       .help = "store final configurations, from which later measurements continue",
       .example = "false",
       .text = [](C c) { return truth(c.keep_states); },
       .option = kNoOption},
  };
}

// Writes 4294967296 as 2^32.
std::string bound(std::uint64_t value) {
  if (value < 100'000) return fmt::format("{}", value);
  if (std::has_single_bit(value)) return fmt::format("2^{}", std::countr_zero(value));
  if (std::has_single_bit(value + 1)) return fmt::format("2^{} - 1", std::countr_one(value));
  return fmt::format("{}", value);
}

}  // namespace

std::string Setting::toml(const StudyConfig& config) const {
  std::string value = text(config);
  return omit_default && value == standard ? "" : value;
}

std::string Setting::range() const {
  if (!allowed.empty()) return allowed;
  if (max_integer > 0) return fmt::format("{} .. {}", bound(min_integer), bound(max_integer));
  if (highest > 0) return fmt::format("{} .. {}", lowest, highest);
  return type == "boolean" ? "true, false" : "";
}

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> list;
    const auto add = [&](const char* table, std::vector<Setting> keys) {
      for (Setting& one : keys) {
        one.table = table;
        if (one.standard.empty()) one.standard = one.text(StudyConfig{});
        if (one.option.empty()) one.option = setting_name(one.key);
        if (one.option == kNoOption) one.option.clear();
        if (one.option_type.empty() && one.type.starts_with("text")) one.option_type = "WORD";
        list.push_back(std::move(one));
      }
    };
    add("study", keys_of_study());
    add("lattice", keys_of_lattice());
    add("model", keys_of_model());
    add("sampling", keys_of_sampling());
    add("run", keys_of_run());
    return list;
  }();
  return all;
}

const Setting* find_setting(std::string_view table, std::string_view key) {
  const auto found = std::ranges::find_if(
      settings(), [&](const Setting& one) { return one.table == table && one.key == key; });
  return found == settings().end() ? nullptr : &*found;
}

const Setting& setting(std::string_view name) {
  const auto dot = std::min(name.find('.'), name.size() - 1);
  const Setting* found = find_setting(name.substr(0, dot), name.substr(dot + 1));
  if (found == nullptr) throw Error(ExitCode::internal, fmt::format("no key '{}'", name));
  return *found;
}

const std::vector<KeyTable>& study_keys() {
  static const std::vector<KeyTable> tables = [] {
    std::vector<KeyTable> list;
    for (const Setting& one : settings()) {
      if (list.empty() || list.back().table != one.table) list.push_back({one.table, {}});
      list.back().keys.push_back(one.key);
    }
    return list;
  }();
  return tables;
}

}  // namespace rewise
