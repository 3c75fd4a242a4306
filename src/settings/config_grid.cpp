#include "src/settings/config_grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/error.hpp"
#include "src/base/round_to_digits.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/schema.hpp"
#include "src/settings/toml_lists.hpp"

namespace rewise {
namespace {

// Reads one entry of `sizes`: a list of extents, or one edge. An edge stands for one lattice of
// each dimension in `dims`.
std::vector<std::vector<std::uint32_t>> read_extents(const TomlSection& section,
                                                     const toml::node& node,
                                                     const std::vector<std::size_t>& dims) {
  std::vector<std::vector<std::uint32_t>> lattices;
  const auto extent = [&](const toml::node& n) {
    return static_cast<std::uint32_t>(section.whole_at("sizes", n));
  };
  if (const auto* list = node.as_array()) {
    auto& extents = lattices.emplace_back();
    for (const auto& n : *list) extents.push_back(extent(n));
    if (std::find(dims.begin(), dims.end(), extents.size()) == dims.end()) {
      section.fail("sizes", node,
                   fmt::format("{} extents for dim = {} (give one per direction)", extents.size(),
                               fmt::join(dims, ", ")));
    }
  } else {
    if (node.is_string()) {
      section.fail("sizes", node, "text where a list of even edges is expected, such as [32, 64]");
    }
    for (const auto dim : dims) lattices.emplace_back(dim, extent(node));
  }
  for (const auto& extents : lattices) check_extents(extents, section.origin("sizes", node));
  return lattices;
}

std::vector<std::size_t> read_dims(const TomlSection& section) {
  std::vector<std::size_t> dims;
  for (const toml::node* node : need_list(section, "dim", "1..4 or a list such as [2, 3]")) {
    const auto dim = static_cast<std::size_t>(section.whole_at("dim", *node));
    append_once(dims, dim, section.origin("dim", *node), fmt::format("{}", dim));
  }
  std::sort(dims.begin(), dims.end());
  return dims;
}

// Chooses three sizes for sizes = "auto". The smallest size has 200 shortcuts at the smallest
// p > 0 for which 2^18 sites suffice, and at least 1024 sites (dim > 2: 4096). The other two have 2
// and 4 times its edge (dim > 2: 1.5 and 2 times).
void choose_sizes(const TomlSection& section, const std::vector<std::size_t>& dims,
                  std::uint32_t graphs, StudyConfig& config) {
  if (dims.size() != 1) {
    section.fail("sizes", *section.find("sizes"), "\"auto\" requires a single dim");
  }
  config.auto_sizes = true;
  constexpr double min_sites[] = {0, 1024, 1024, 4096, 4096}, max_sites = 1 << 18, shortcuts = 200;
  const auto dim = static_cast<double>(dims.front());
  double sites = min_sites[dims.front()];
  for (const double p : config.p) {
    const double needed = shortcuts / (dim * p);
    if (p == 0 || needed > max_sites) continue;
    sites = std::max(sites, needed);
    break;  // p ascends
  }
  const auto edge = [&](double factor) {
    return 2 * static_cast<std::uint32_t>(std::ceil(factor * std::pow(sites, 1 / dim) / 2 - 1e-9));
  };
  for (const double factor : {1.0, dim > 2 ? 1.5 : 2.0, dim > 2 ? 2.0 : 4.0}) {
    config.sizes.emplace_back(dims.front(), edge(factor));
    config.graphs.push_back(graphs);
  }
  if (const auto* node = section.find("graphs")) {
    std::fill(config.graphs.begin(), config.graphs.end(),
              static_cast<std::uint32_t>(section.whole_at("graphs", *node)));
  }
}

// Reads `sizes` and the corresponding `graphs`, both sorted by the number of sites.
void read_sizes(const TomlSection& section, std::uint32_t otherwise, StudyConfig& config) {
  const auto dims = read_dims(section);
  const auto list = need_list(section, "sizes", "a list of even edges, such as [32, 64]");
  std::vector<std::vector<std::uint32_t>> sizes;
  std::vector<std::size_t> entry;  // [size] index of the list entry that produced it
  for (std::size_t k = 0; k < list.size(); ++k) {
    const toml::node& node = *list[k];
    for (const auto& extents : read_extents(section, node, dims)) {
      append_once(sizes, extents, section.origin("sizes", node), extents_text(extents));
      entry.push_back(k);
    }
  }

  std::vector<std::uint32_t> graphs(list.size(), otherwise);
  if (const auto* node = section.find("graphs")) {
    if (const auto* counts = node->as_array()) {
      if (counts->size() != list.size()) {
        section.fail("graphs", *node,
                     fmt::format("{} numbers for {} sizes (give one for each size)", counts->size(),
                                 list.size()));
      }
      for (std::size_t k = 0; k < graphs.size(); ++k) {
        graphs[k] = static_cast<std::uint32_t>(section.whole_at("graphs", *counts->get(k)));
      }
    } else {
      std::fill(graphs.begin(), graphs.end(),
                static_cast<std::uint32_t>(section.whole_at("graphs", *node)));
    }
  }

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

// Values from, from * 10^(1/per_decade), .. up to `to`, each rounded to six digits.
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
    p.push_back(round_to_digits(exact, 6));
  }
}

void read_p(const TomlSection& section, StudyConfig& config) {
  const toml::node& node = section.need("p");
  if (const auto* table = node.as_table()) {
    config.p = read_log_range(section, *table);
  } else {
    for (const toml::node* entry :
         need_list(section, "p", "a number, a list, or {from, to, per_decade}")) {
      const double p = section.number_at("p", *entry) + 0.0;  // -0 becomes 0
      append_once(config.p, p, section.origin("p", *entry), fmt::format("{}", p));
    }
  }
  config.p_given.resize(config.p.size());
  std::iota(config.p_given.begin(), config.p_given.end(), std::size_t{0});
  std::sort(config.p_given.begin(), config.p_given.end(),
            [&](std::size_t a, std::size_t b) { return config.p[a] < config.p[b]; });
  std::sort(config.p.begin(), config.p.end());
}

void read_rules(const TomlSection& section, StudyConfig& config) {
  const Parity parity = parse_parity(section.text("parity", to_string(Parity::checkerboard)),
                                     section.origin("parity"));
  config.rules.clear();
  for (const auto& rule : read_words(section, "rule", "rewire")) {
    config.rules.push_back(with_parity(choose_rule(rule, section.origin("rule")), parity));
  }
}

// Reads imported graphs; paths are relative to the folder of the study file.
void read_files(const TomlSection& section, StudyConfig& config) {
  for (const char* key :
       {"dim", "sizes", "p", "rule", "parity", "graphs", "most_graphs", "more_sizes"}) {
    if (!section.has(key)) continue;
    throw Error(ExitCode::usage,
                fmt::format("{}: cannot be combined with lattice.files; it describes lattices that "
                            "the program builds",
                            section.origin(key)));
  }
  const auto base = std::filesystem::path(section.file()).parent_path();
  for (const toml::node* node : need_list(section, "files", "a list of file names")) {
    const toml::node& entry = *node;
    const auto* text = entry.as_string();
    if (text == nullptr || text->get().empty()) {
      section.fail("files", entry,
                   fmt::format("{} where a file name is expected", toml_type(entry)));
    }
    const auto file = std::filesystem::absolute(base / text->get()).lexically_normal();
    append_once(config.files, file, section.origin("files", entry), file.string());
  }
  if (section.has("first_site")) {
    config.reading.first_site =
        section.whole("first_site", 0) == 0 ? FirstSite::zero : FirstSite::one;
  }
  config.reading.merge = section.flag("merge", config.reading.merge);
  if (section.has("ignore")) {
    for (const toml::node* node : need_list(section, "ignore", "a list of attribute names")) {
      const toml::node& entry = *node;
      const auto* name = entry.as_string();
      if (name == nullptr) {
        section.fail("ignore", entry,
                     fmt::format("{} where an attribute name is expected", toml_type(entry)));
      }
      append_once(config.reading.ignore, name->get(), section.origin("ignore", entry),
                  printable(name->get()));
    }
  }
  config.p = {0};
  config.graphs.assign(config.files.size(), 1);
  config.rules = {Rule::imported};
}

void read_temperature_list(const TomlSection& section, StudyConfig& config) {
  const auto* node = section.find("temperatures");
  if (node == nullptr) return;
  if (const auto* word = node->as_string(); word != nullptr && word->get() == "auto") return;
  if (const auto* table = node->as_table()) {
    const TomlSection range(*table, "sampling.temperatures", section.file(),
                            {"from", "to", "count"});
    for (const auto key : {"from", "to"}) range.need(key);
    if (!config.exchange && !range.has("count")) {
      section.fail("temperatures", *node,
                   "key 'count' is missing (optional only with exchange = true, which then "
                   "chooses the temperatures)");
    }
    const Setting& known = setting("sampling.temperatures");
    const double from = range.number("from", known.lowest, known.highest, 0),
                 to = range.number("to", known.lowest, known.highest, 0);
    const auto count = range.whole("count", 1, 4096, 1);
    if (to < from || (count > 1 && to == from)) {
      section.fail("temperatures", *node, fmt::format("the range {}..{} is empty", from, to));
    }
    if (!range.has("count")) {
      if (to > from) {
        config.temperature_range = {from, to};
      } else {
        config.temperatures = {from};  // too few: check_exchange_temperatures()
      }
      return;
    }
    for (std::uint64_t k = 0; k < count; ++k) {
      const double exact =
          count == 1 ? from
                     : from + (to - from) * static_cast<double>(k) / static_cast<double>(count - 1);
      config.temperatures.push_back(round_to_digits(exact, 8));
    }
    return;
  }
  for (const toml::node* entry :
       need_list(section, "temperatures", "\"auto\", a number, a list, or {from, to, count}")) {
    if (entry->is_string()) {
      section.fail("temperatures", *entry,
                   "text where \"auto\", a number, a list such as [2.0, 2.5], or a range such as "
                   "{from = 2.0, to = 3.0, count = 11} is expected");
    }
    const double t = section.number_at("temperatures", *entry);
    append_once(config.temperatures, t, section.origin("temperatures", *entry),
                fmt::format("{}", t));
  }
  std::sort(config.temperatures.begin(), config.temperatures.end());
}

// Reads which temperatures share a task. Each temperature of the study must occur exactly once.
void read_temperature_tasks(const TomlSection& section, StudyConfig& config) {
  constexpr std::string_view key = "temperature_tasks";
  const auto* node = section.find(key);
  if (node == nullptr) return;
  std::vector<double> all;
  for (const toml::node* item : need_list(section, key, "a list of lists of temperatures")) {
    const toml::node& entry = *item;
    const auto* list = entry.as_array();
    if (list == nullptr || list->empty()) {
      section.fail(key, entry,
                   fmt::format("{} where a list of temperatures is expected", toml_type(entry)));
    }
    auto& together = config.temperature_tasks.emplace_back();
    for (const auto& one : *list) {
      const double t = section.number_at(key, one);
      append_once(all, t, section.origin(key, one), fmt::format("{}", t));
      together.push_back(t);
    }
    std::sort(together.begin(), together.end());
  }
  for (const double t : config.temperatures) {
    if (std::find(all.begin(), all.end(), t) != all.end()) continue;
    section.fail(key, *node, fmt::format("temperature {} of sampling.temperatures is missing", t));
  }
  if (config.temperatures.empty()) {
    section.fail(key, *node, "requires a list in sampling.temperatures, not \"auto\"");
  }
}

}  // namespace

void read_lattice(const TomlSection& section, std::uint32_t graphs, StudyConfig& config) {
  if (section.has("files")) return read_files(section, config);
  for (const char* key : {"first_site", "ignore", "merge"}) {
    if (!section.has(key)) continue;
    throw Error(ExitCode::usage, section.origin(key) + ": applies to files, not to lattices");
  }
  const toml::node* sizes = section.find("sizes");
  const bool choose = sizes != nullptr && sizes->is_string() && section.text("sizes", "") == "auto";
  if (!choose) read_sizes(section, graphs, config);
  config.most_graphs = section.whole("most_graphs", config.most_graphs);
  config.more_sizes = section.whole("more_sizes", config.more_sizes);
  read_p(section, config);
  if (choose) choose_sizes(section, read_dims(section), graphs, config);
  read_rules(section, config);
}

void read_temperatures(const TomlSection& section, StudyConfig& config) {
  read_temperature_list(section, config);
  read_temperature_tasks(section, config);
}

}  // namespace rewise
