#include "experiments/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>

#include "experiments/device.hpp"
#include "experiments/options.hpp"
#include "experiments/toml_reader.hpp"
#include "src/base/error.hpp"
#include "src/base/words.hpp"
#include "src/store/signals.hpp"

namespace rewise {
namespace {

constexpr std::uint64_t kMostU64 = std::numeric_limits<std::int64_t>::max();  // TOML integers
constexpr std::size_t kMostGridPoints = 10'000;
constexpr std::uint64_t kMostGraphs = 1'000'000;

const toml::array& need_list(const TomlSection& section, std::string_view key,
                             std::string_view allowed) {
  const toml::node& node = section.need(key);
  const auto* list = node.as_array();
  if (list == nullptr) {
    section.fail(key, node, fmt::format("{} where {} is expected", toml_type(node), allowed));
  }
  if (list->empty()) section.fail(key, node, fmt::format("the list is empty ({})", allowed));
  if (list->size() > kMostGridPoints) {
    section.fail(
        key, node,
        fmt::format("the list has {} entries (at most {})", list->size(), kMostGridPoints));
  }
  return *list;
}

void refuse_repeats(const TomlSection& section, std::string_view key, const toml::node& node,
                    bool repeated, const std::string& value) {
  if (repeated) section.fail(key, node, fmt::format("{} is given twice", value));
}

// One entry of `sizes`: a list of extents, or an edge, which stands for a lattice of each
// dimension.
std::vector<std::vector<std::uint32_t>> read_extents(const TomlSection& section,
                                                     const toml::node& node,
                                                     const std::vector<std::size_t>& dims) {
  std::vector<std::vector<std::uint32_t>> found;
  const auto extent = [&](const toml::node& n) {
    return static_cast<std::uint32_t>(section.whole_at("sizes", n, 4, 0xFFFFFFFFu));
  };
  if (const auto* list = node.as_array()) {
    auto& extents = found.emplace_back();
    for (const auto& n : *list) extents.push_back(extent(n));
    if (std::find(dims.begin(), dims.end(), extents.size()) == dims.end()) {
      section.fail("sizes", node,
                   fmt::format("{} extents for dim = {} (one per direction)", extents.size(),
                               fmt::join(dims, ", ")));
    }
  } else {
    for (const auto dim : dims) found.emplace_back(dim, extent(node));
  }
  const auto& begin = node.source().begin;
  for (const auto& extents : found) {
    check_extents(extents,
                  fmt::format("{}:{}:{}: lattice.sizes", section.file(), begin.line, begin.column));
  }
  return found;
}

std::vector<std::size_t> read_dims(const TomlSection& section) {
  const auto* list = section.need("dim").as_array();
  if (list == nullptr) return {static_cast<std::size_t>(section.whole("dim", 1, kMaxDim, 0))};
  std::vector<std::size_t> dims;
  for (const auto& node : need_list(section, "dim", "1..4 or a list such as [2, 3]")) {
    const auto dim = static_cast<std::size_t>(section.whole_at("dim", node, 1, kMaxDim));
    refuse_repeats(section, "dim", node, std::find(dims.begin(), dims.end(), dim) != dims.end(),
                   fmt::format("{}", dim));
    dims.push_back(dim);
  }
  std::sort(dims.begin(), dims.end());
  return dims;
}

double site_count(const std::vector<std::uint32_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<>());
}

// sizes and, beside them, graphs, both sorted by the number of sites.
void read_sizes(const TomlSection& section, std::uint32_t otherwise, StudyConfig& config) {
  const auto dims = read_dims(section);
  const auto& list = need_list(section, "sizes", "a list of even edges, such as [32, 64]");
  std::vector<std::vector<std::uint32_t>> sizes;
  std::vector<std::size_t> entry;  // [size] of the list, that it comes from
  for (std::size_t k = 0; k < list.size(); ++k) {
    const toml::node& node = list[k];
    for (auto& extents : read_extents(section, node, dims)) {
      refuse_repeats(section, "sizes", node,
                     std::find(sizes.begin(), sizes.end(), extents) != sizes.end(),
                     extents_text(extents));
      sizes.push_back(std::move(extents));
      entry.push_back(k);
    }
  }

  std::vector<std::uint32_t> graphs(list.size(), otherwise);
  if (const auto* node = section.find("graphs")) {
    if (const auto* counts = node->as_array()) {
      if (counts->size() != list.size()) {
        section.fail(
            "graphs", *node,
            fmt::format("{} numbers for {} sizes (one for each)", counts->size(), list.size()));
      }
      for (std::size_t k = 0; k < graphs.size(); ++k) {
        graphs[k] =
            static_cast<std::uint32_t>(section.whole_at("graphs", *counts->get(k), 1, kMostGraphs));
      }
    } else {
      std::fill(graphs.begin(), graphs.end(),
                static_cast<std::uint32_t>(section.whole_at("graphs", *node, 1, kMostGraphs)));
    }
  }
  config.most_graphs = section.whole("most_graphs", 1, kMostGraphs, config.most_graphs);
  config.more_sizes = section.whole("more_sizes", 0, 16, config.more_sizes);

  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return site_count(sizes[a]) < site_count(sizes[b]);
  });
  for (const auto k : order) {
    config.sizes.push_back(sizes[k]);
    config.graphs.push_back(graphs[entry[k]]);
  }
}

// from, from * 10^(1/per_decade), .. up to `to`, each rounded to six digits.
std::vector<double> read_log_range(const TomlSection& section, const toml::table& table) {
  const TomlSection range(table, "lattice.p", section.file(), {"from", "to", "per_decade"});
  range.need("from");
  range.need("to");
  const double from = range.number("from", 1e-12, 1, 0), to = range.number("to", 1e-12, 1, 0);
  const auto per_decade = range.whole("per_decade", 1, 1000, 1);
  if (to < from) section.fail("p", table, fmt::format("the range {}..{} is empty", from, to));
  std::vector<double> p;
  for (int k = 0;; ++k) {
    const double exact =
        from * std::pow(10.0, static_cast<double>(k) / static_cast<double>(per_decade));
    if (exact > to * (1 + 1e-9)) return p;
    p.push_back(std::strtod(fmt::format("{:.6g}", exact).c_str(), nullptr));
  }
}

void read_p(const TomlSection& section, StudyConfig& config) {
  const toml::node& node = section.need("p");
  if (const auto* table = node.as_table()) {
    config.p = read_log_range(section, *table);
  } else {
    for (const auto& entry : need_list(section, "p", "a list, or {from, to, per_decade}")) {
      const double p = section.number_at("p", entry, 0, 1) + 0.0;  // -0 becomes 0
      refuse_repeats(section, "p", entry,
                     std::find(config.p.begin(), config.p.end(), p) != config.p.end(),
                     fmt::format("{}", p));
      config.p.push_back(p);
    }
  }
  std::sort(config.p.begin(), config.p.end());
}

void read_temperatures(const TomlSection& section, StudyConfig& config) {
  constexpr double least = 1e-3, most = 1e6;
  const auto* node = section.find("temperatures");
  if (node == nullptr) return;
  if (const auto* word = node->as_string(); word != nullptr && word->get() == "auto") return;
  if (const auto* table = node->as_table()) {
    const TomlSection range(*table, "sampling.temperatures", section.file(),
                            {"from", "to", "count"});
    for (const auto key : {"from", "to", "count"}) range.need(key);
    const double from = range.number("from", least, most, 0),
                 to = range.number("to", least, most, 0);
    const auto count = range.whole("count", 1, 4096, 1);
    if (to < from || (count > 1 && to == from)) {
      section.fail("temperatures", *node, fmt::format("the range {}..{} is empty", from, to));
    }
    for (std::uint64_t k = 0; k < count; ++k) {
      const double exact =
          count == 1 ? from
                     : from + (to - from) * static_cast<double>(k) / static_cast<double>(count - 1);
      config.temperatures.push_back(std::strtod(fmt::format("{:.8g}", exact).c_str(), nullptr));
    }
    return;
  }
  for (const auto& entry :
       need_list(section, "temperatures", "\"auto\", a list, or {from, to, count}")) {
    const double t = section.number_at("temperatures", entry, least, most);
    refuse_repeats(section, "temperatures", entry,
                   std::find(config.temperatures.begin(), config.temperatures.end(), t) !=
                       config.temperatures.end(),
                   fmt::format("{}", t));
    config.temperatures.push_back(t);
  }
  std::sort(config.temperatures.begin(), config.temperatures.end());
}

// The words of a key that takes one or a list of them.
std::vector<std::string> read_words(const TomlSection& section, std::string_view key,
                                    std::string_view otherwise) {
  const auto* node = section.find(key);
  if (node == nullptr || !node->is_array()) return {section.text(key, otherwise)};
  std::vector<std::string> words;
  for (const auto& entry : need_list(section, key, "a word, or a list of them")) {
    const auto* word = entry.as_string();
    if (word == nullptr) {
      section.fail(key, entry, fmt::format("{} where text is expected", toml_type(entry)));
    }
    refuse_repeats(section, key, entry,
                   std::find(words.begin(), words.end(), word->get()) != words.end(), word->get());
    words.push_back(word->get());
  }
  return words;
}

void read_rules(const TomlSection& section, StudyConfig& config) {
  constexpr std::array<std::string_view, 3> known{"rewire", "swap", "add"};
  config.rules.clear();
  for (const auto& rule : read_words(section, "rule", "rewire")) {
    parse_word(rule, known, "rule", section.origin("rule"));
    config.rules.push_back(parse_rule(rule));
  }
  config.rule = config.rules.front();
}

void read_schedules(const TomlSection& section, StudyConfig& config) {
  const auto words = read_words(section, "schedule", "auto");
  if (words == std::vector<std::string>{"auto"}) return;
  for (const auto& word : words) {
    config.schedules.push_back(parse_schedule(word, section.origin("schedule")));
  }
  config.schedule = config.schedules.front();
}

void read_sampling(const TomlSection& section, StudyConfig& config) {
  config.model = parse_model(section.text("model", "ising"), section.origin("model"));
  config.q = static_cast<std::uint32_t>(section.whole("q", 2, 255, 2));
  check_states(config.model, config.q, section.origin("q"));
  read_schedules(section, config);
  config.local =
      choose_local_update(section.text("local", "auto"), config.dim(), section.origin("local"));
  config.cluster =
      parse_cluster_update(section.text("cluster", "wolff"), section.origin("cluster"));
  config.engine = choose_engine(section.text("engine", "auto"), config.model, config.cluster,
                                section.origin("engine"));
  for (const char* key : {"few_cluster_tile", "few_cluster_flip"}) {
    if (section.find(key) == nullptr || config.cluster == ClusterUpdate::few_cluster) continue;
    throw Error(ExitCode::usage, fmt::format("{}: is for cluster = \"few-cluster\", not \"{}\"",
                                             section.origin(key), to_string(config.cluster)));
  }
  config.few_cluster_tile =
      static_cast<std::uint32_t>(section.whole("few_cluster_tile", 0, 0xFFFFFFFFu, 0));
  config.few_cluster_flip =
      section.number("few_cluster_flip", 1e-6, 1 - 1e-6, config.few_cluster_flip);
  config.replicas = static_cast<std::uint32_t>(section.whole("replicas", 1, 1u << 20, 32));
  check_replicas(config.engine, config.replicas, section.origin("replicas"));
  read_temperatures(section, config);
  constexpr std::uint64_t most = std::uint64_t{1} << 32;
  config.equilibrate = section.whole_or_auto("equilibrate", 0, most);
  config.measure = section.whole_or_auto("measure", 2, most);
  config.every = section.whole_or_auto("every", 1, most);
}

void read_target(const TomlSection& section, StudyConfig& config) {
  const auto* node = section.find("target_error");
  const auto* word = node == nullptr ? nullptr : node->as_string();
  if (node == nullptr || (word != nullptr && word->get() == "none")) return;
  config.target_error = section.number("target_error", 1e-9, 1, 1);
}

void read_run(const TomlSection& section, StudyConfig& config) {
  config.device = section.text("device", "auto");
  check_device_words(config.device, section.origin("device"));
  config.threads = static_cast<int>(section.whole("threads", 0, 4096, 0));
  config.checkpoint =
      parse_duration(section.text("checkpoint", "5min"), section.origin("checkpoint")).count();
  const std::string limit = section.text("time_limit", "none");
  if (limit != "none") {
    config.time_limit = parse_duration(limit, section.origin("time_limit")).count();
  }
}

const toml::table& table_or_empty(const TomlSection& root, std::string_view key) {
  static const toml::table empty;
  const auto* node = root.find(key);
  if (node == nullptr) return empty;
  const auto* table = node->as_table();
  if (table == nullptr) {
    throw Error(ExitCode::usage,
                fmt::format("{}:{}:{}: '{}' is {} (a table, [{}], is expected)", root.file(),
                            node->source().begin.line, node->source().begin.column, key,
                            toml_type(*node), key));
  }
  return *table;
}

}  // namespace

void check_extents(const std::vector<std::uint32_t>& extents, const std::string& origin) {
  try {
    Lattice::make(extents);
  } catch (const Error& error) {
    throw Error(error.exit_code(), fmt::format("{}: {}", origin, error.what()));
  }
}

LocalUpdate choose_local_update(const std::string& text, int dim, const std::string& origin) {
  if (text != "auto") return parse_local_update(text, origin);
  return dim == 1 ? LocalUpdate::glauber : LocalUpdate::metropolis;
}

void check_engine_name(const std::string& engine, const std::string& origin, bool packed) {
  constexpr std::array<std::string_view, 3> engines{"bundle", "single", "packed"};
  if (parse_word(engine, engines, "engine", origin) == 2 && !packed) {
    throw Error(ExitCode::usage, fmt::format("{}: the packed engine is one of 'rewise run' and "
                                             "'rewise bench' (bundle or single here)",
                                             origin));
  }
}

std::string choose_engine(const std::string& text, ModelKind model, ClusterUpdate cluster,
                          const std::string& origin, bool packed) {
  const bool potts = model == ModelKind::potts, few = cluster == ClusterUpdate::few_cluster;
  if (text == "auto") return potts || few ? "single" : "bundle";
  check_engine_name(text, origin, packed);
  if (text == "bundle" && potts) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: the bundle engine is for Ising only (single takes potts)", origin));
  }
  if (text == "bundle" && few) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: the bundle engine has no few-cluster updates (single has)", origin));
  }
  return text;
}

void check_states(ModelKind model, std::uint64_t q, const std::string& origin) {
  if (model == ModelKind::potts || q == 2) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: {} states are for model potts (ising has 2)", origin, q));
}

void check_replicas(const std::string& engine, std::uint64_t replicas, const std::string& origin) {
  if (engine != "bundle" || (replicas > 0 && replicas % 32 == 0)) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: {} replicas do not fill bundles of 32 (the next number that does is "
                          "{})",
                          origin, replicas, replicas / 32 * 32 + 32));
}

StudyConfig parse_study_config(std::string_view text, const std::string& file) {
  const toml::table root_table = parse_toml(text, file);
  const TomlSection root(root_table, "", file, {"study", "lattice", "sampling", "run"});
  const TomlSection study(table_or_empty(root, "study"), "study", file, {"name", "seed"});
  const TomlSection lattice(table_or_empty(root, "lattice"), "lattice", file,
                            {"dim", "sizes", "p", "rule", "graphs", "most_graphs", "more_sizes"});
  const TomlSection sampling(
      table_or_empty(root, "sampling"), "sampling", file,
      {"engine", "schedule", "local", "cluster", "replicas", "temperatures", "equilibrate",
       "measure", "every", "target_error", "model", "q", "few_cluster_tile", "few_cluster_flip"});
  const TomlSection run(table_or_empty(root, "run"), "run", file,
                        {"device", "threads", "checkpoint", "time_limit"});

  StudyConfig config;
  config.name = study.text("name", "study");
  config.seed = study.whole("seed", 0, kMostU64, 1);
  read_target(sampling, config);
  read_sizes(lattice, config.target_error ? 32 : 50, config);
  read_p(lattice, config);
  read_rules(lattice, config);
  read_sampling(sampling, config);
  read_run(run, config);
  return config;
}

StudyConfig read_study_config(const std::filesystem::path& file) {
  return parse_study_config(read_text_file(file), file.string());
}

}  // namespace rewise
