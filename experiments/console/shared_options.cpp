#include "experiments/console/shared_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/h5.hpp"
#include "src/search/exchange_ladder.hpp"
#include "src/settings/engine_choice.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/schema.hpp"
#include "src/store/sealed_file.hpp"

namespace rewise {

const char* const kStopHelp =
    R"(On SIGINT (Ctrl-C), SIGTERM, SIGUSR1, SIGXCPU, SIGHUP or --time-limit, a study or a run with
--out writes checkpoints and ends with status 75. The same command continues it, with the same
results on any number of threads. A further signal, a second or more after the first one, ends
the process at once. If files are damaged and have no good copy, the status is 65;
--recompute-damaged sets such files aside and computes them again. 'rewise --help' lists all
exit statuses.)";

std::string help_lines(const std::string& text) {
  constexpr std::size_t width = 57;
  std::string out;
  std::size_t begin = 0;
  while (text.size() - begin > width) {
    const std::size_t blank = text.rfind(' ', begin + width);
    if (blank == std::string::npos || blank <= begin) break;
    out += text.substr(begin, blank - begin) + "\n";
    begin = blank + 1;
  }
  return out + text.substr(begin);
}

namespace {

std::string key_help(const Setting& key, const std::string& also) {
  return help_lines(key.help + (also.empty() ? "" : "; " + also));
}

}  // namespace

void add_key(CLI::App& app, const char* key, std::uint64_t& value, const std::string& also) {
  add_key(app, key, value, setting(key).min_integer, setting(key).max_integer, also);
}

void add_key(CLI::App& app, const char* key, std::uint64_t& value, std::uint64_t min,
             std::uint64_t max, const std::string& also) {
  const Setting& known = setting(key);
  add_integer(app, known.option, value, min, max, key_help(known, also));
}

void add_key(CLI::App& app, const char* key, std::string& value, const std::string& also) {
  const Setting& known = setting(key);
  add_text(app, known.option, value, known.option_type, key_help(known, also));
}

void add_key(CLI::App& app, const char* key, bool& value) {
  add_flag(app, setting(key).option.c_str(), value, key_help(setting(key), ""));
}

void add_temperatures(CLI::App& app, std::string& value, const std::string& also) {
  add_key(app, "sampling.temperatures", value,
          "such as 2.2,2.3; or FROM:TO:COUNT, such as 2:3:11; or FROM:TO:STEP, a step with a "
          "decimal point, such as 2:3:0.1" +
              also);
}

std::optional<TemperatureRange> exchange_range(const std::string& temperature, bool exchange) {
  const auto parts = split_list(temperature, ':');
  if (!exchange || parts.size() != 2 || temperature.find(',') != std::string::npos) {
    return std::nullopt;
  }
  const TemperatureRange range{parse_number(parts[0], "--temperature"),
                               parse_number(parts[1], "--temperature")};
  if (!(range.from > 0 && range.from < range.to)) {
    throw Error(
        ExitCode::usage,
        fmt::format("--temperature: '{}' is not a range FROM:TO with 0 < FROM < TO", temperature));
  }
  return range;
}

std::vector<double> choose_temperatures(const TaskSpec& task, const TemperatureRange& range,
                                        const TaskRunOptions& run) {
  const TaskSpec scan = exchange_scan(task, range);
  Progress progress("temperature scan", static_cast<double>(scan.cycles()));
  progress.stage(fmt::format("{} temperatures", scan.temperatures.size()));
  std::vector<double> temperatures = exchange_temperatures(
      task, range, run, [&](std::uint64_t cycles) { progress.add(static_cast<double>(cycles)); });
  progress.close();
  fmt::print(stderr, "temperatures: {}\n", fmt::join(temperatures, ", "));
  return temperatures;
}

std::vector<double> read_temperatures(const std::string& temperature, bool exchange) {
  if (temperature.empty()) return {};
  const auto range = exchange_range(temperature, exchange);
  return range ? std::vector{range->from, range->to}
               : parse_temperatures(temperature, "--temperature");
}

void add_lattice_options(CLI::App& app, LatticeOptions& o, const LatticeHelp& help) {
  add_key(app, "lattice.dim", o.dim);
  add_key(app, "lattice.sizes", o.size, "such as 64, or 64,32 in two dimensions");
  add_key(app, "lattice.p", o.p, help.p);
  add_key(app, "lattice.rule", o.rule);
  add_key(app, "lattice.parity", o.parity);
  add_integer(app, "--graph-seed", o.graph_seed, 0, help.most_seed, help.seed);
}

GraphSpec lattice_spec(const LatticeOptions& options, const std::string& instead,
                       ExtentRules rules) {
  if (options.size.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("--size is missing (give an even edge such as 64{})", instead));
  }
  GraphSpec spec;
  spec.extents = parse_extents(options.size, static_cast<int>(options.dim), "--size");
  if (rules == ExtentRules::of_graphs) check_extents(spec.extents, "--size");
  spec.rule =
      with_parity(choose_rule(options.rule, "--rule"), parse_parity(options.parity, "--parity"));
  spec.seed = options.graph_seed;
  return spec;
}

void add_graph_file_options(CLI::App& app, GraphFileOptions& o, const char* file_option) {
  add_key(app, "lattice.first_site", o.first_site);
  add_key(app, "lattice.ignore", o.ignore);
  add_key(app, "lattice.merge", o.merge);
  if (file_option[0] != '-') return;
  for (const char* option : {"--first-site", "--ignore", "--merge"}) {
    require(app, option, file_option);
  }
}

ReadOptions read_options(const GraphFileOptions& o, bool weights) {
  ReadOptions options;
  options.couplings = weights;
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
  o.model["q"].clear();  // the model potts requires it
  for (const char* key : kModelKeys) {
    add_key(app, fmt::format("model.{}", key).c_str(), o.model[key]);
  }
}

void add_method_options(CLI::App& app, MethodTexts& words, MethodHelp kind) {
  for (const EngineTraits& engine : engine_registry()) {
    const MethodSet* const own = factory(engine.kind).methods;
    if (own == nullptr) continue;
    for (const MethodOption& option : own->options()) {
      if (kind == MethodHelp::full || (kind == MethodHelp::lists && option.is_detail)) {
        add_text(app, option.name, words[option.name], option.type, option.help);
      } else if (kind == MethodHelp::lists) {
        add_text(app, option.name, words[option.name], fmt::format("{}[,..]", option.type),
                 fmt::format("{} engine: one row per value", engine.name));
      } else if (!option.is_detail) {
        add_text(app, option.name, words[option.name], option.type,
                 fmt::format("{} engine: as 'rewise run'", engine.name));
      }
    }
  }
}

Model read_model(const ModelOptions& options) {
  return given_model(options.model, SettingNames::options());
}

namespace {

void note_couplings_of_run(const std::string& path, const Model& model) {
  if (!model.is_ferromagnet() || graph_format(path) != GraphFormat::h5) return;
  const SealedRead sealed = read_sealed(path);
  if (sealed.state != SealState::good) return;
  const h5::File file = h5::File::open(sealed.image);
  if (!file.root().has("configuration")) return;
  const h5::Group configuration = file.root().group("configuration");
  std::vector<std::string> keys;
  for (const char* key : std::span(kModelKeys).subspan(2)) {
    const std::string name = fmt::format("sampling.{}", key);
    if (!configuration.has_attribute(name)) continue;
    keys.push_back(fmt::format("{} = {}", key, configuration.text(name)));
  }
  if (keys.empty()) return;
  fmt::print(stderr,
             "note: the run of {} had {}; its graph has none of them, and J = 1 without a field "
             "is used\n",
             path, fmt::join(keys, ", "));
}

}  // namespace

Graph read_graph_for(const Model& model, const std::string& path, const GraphFileOptions& reading,
                     bool weights) {
  Graph graph = read_graph(path, read_options(reading, weights));
  note_couplings_of_run(path, model);
  return graph;
}

void add_share_ranks(CLI::App& app, bool& share, std::string& route) {
  add_flag(app, "--share-ranks", share,
           "under mpirun or srun: the ranks share every lattice; each\nsimulates a slab on its "
           "GPU or its cores (bitlattice\nengine; bytespin engine: sweeps, Swendsen-Wang)");
  add_text(app, "--share-route", route, "WORD",
           "how spins travel between the GPUs of ranks: peer (a GPU\nreads the memory of another "
           "one of the same machine),\ndirect (MPI reads GPU memory, if the library "
           "supports\nit), host (through host memory), or auto: the first of\nthese that works");
  require(app, "--share-route", "--share-ranks");
}

void check_share_ranks(EngineKind engine) {
  if (factory(engine).can_distribute()) return;
  throw Error(ExitCode::usage, fmt::format("--share-ranks: requires --engine {}, not {}",
                                           engines_with(shares_replicas), to_string(engine)));
}

}  // namespace rewise
