#include "src/curves/curve_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "src/base/error.hpp"
#include "src/base/table.hpp"
#include "src/study/build_info.hpp"

namespace rewise {
namespace {

Json keys_json(const CurveKeys& keys) {
  Json json = Json::object();
  for (const auto& [name, value] : keys) json[name] = value;
  return json;
}

Json curve_json(const Curve& curve) {
  Json columns = Json::object();
  for (const auto& [name, values] : curve.columns) {
    Json list = Json::array();
    for (const double x : values) list.push_back(number_json(x));
    columns[name] = std::move(list);
  }
  return {{"keys", keys_json(curve.keys)}, {"columns", std::move(columns)}};
}

Json metrics_json(const MetricRow& row) {
  Json values = Json::object();
  for (const auto& [name, value] : row.values) {
    values[name] = value_json(value);
    if (std::isinf(value.value)) values[name]["infinite"] = true;
  }
  return {{"keys", keys_json(row.keys)}, {"values", std::move(values)}};
}

std::string shown(Value v) {
  if (std::isinf(v.value)) return "not reached";
  if (std::isnan(v.value)) return "-";
  if (!std::isfinite(v.error)) return fmt::format("{:.4g}", v.value);
  return v.error <= 1e-9 * std::abs(v.value) ? fmt::format("{:.6g}", v.value) : format_value(v);
}

// Metrics that tables show together, with their heads ("": hidden) and scale (1e6 gives
// microseconds). JSON and CSV contain all metrics under their names, in seconds.
struct MetricColumn {
  std::string_view metric, head;
  double scale = 1;
};
struct MetricBlock {
  const char* title;
  std::vector<MetricColumn> columns;
  bool of_all_temperatures = false;  // the values are equal at all temperatures
};

const std::vector<MetricBlock> kBlocks = {
    {"Time of a sweep, a cluster update and a cycle; the mean |correlation| after the last step:",
     {{"sweep_seconds", "sweep, us", 1e6},
      {"cluster_seconds", "cluster, us", 1e6},
      {"exchange_seconds", "Houdayer, us", 1e6},
      {"cycle_seconds", "cycle, us", 1e6},
      {"correlation_end", "|correlation|"},
      {"steps_end", "after steps"},
      {"seconds_end", ""}}},
    {"Steps, and microseconds, until the mean |correlation| stays below 1/e, 1/10 and 1/30:",
     {{"steps_to_1/e", "1/e"},
      {"steps_to_1/10", "1/10"},
      {"steps_to_1/30", "1/30"},
      {"seconds_to_1/e", "1/e, us", 1e6},
      {"seconds_to_1/10", "1/10, us", 1e6},
      {"seconds_to_1/30", "1/30, us", 1e6}}},
    {"Autocorrelation times tau_int in steps, and in microseconds (a cycle M:W has M + W steps):",
     {{"tau_e_steps", "e"},
      {"tau_abs_m_steps", "|m|"},
      {"tau_m2_steps", "m^2"},
      {"tau_q2_steps", "q^2"},
      {"tau_e_seconds", "e, us", 1e6},
      {"tau_abs_m_seconds", "|m|, us", 1e6},
      {"tau_m2_seconds", "m^2, us", 1e6},
      {"tau_q2_seconds", "q^2, us", 1e6}}},
    {"Steps and microseconds until both starts agree, until they last differ, and until the "
     "energy\nof the random start is within 5 % of the ordered one:",
     {{"equilibrium_steps", "agree, steps"},
      {"equilibrium_seconds", "us", 1e6},
      {"apart_until_steps", "differ, steps"},
      {"apart_until_seconds", "us", 1e6},
      {"steps_to_5%", "5 %, steps"},
      {"seconds_to_5%", "us", 1e6}}},
    {"Energy from the random and the ordered start after the last step; time of the first and "
     "last:",
     {{"energy_hot", "e random"},
      {"energy_cold", "e ordered"},
      {"steps_end", "after steps"},
      {"energy_at_100", "random at 100"},
      {"first_step_seconds", "first, us", 1e6},
      {"last_step_seconds", "last, us", 1e6},
      {"seconds_end", ""}}},
    {"Density of the sizes of grown clusters = amplitude x size^-exponent, fitted between the "
     "sizes from\nand to; fit_q: probability of a worse fit:",
     {{"exponent", "exponent"},
      {"amplitude", "amplitude"},
      {"fit_q", "fit_q"},
      {"fit_from", "from"},
      {"fit_to", "to"}}},
    {"Mean size of a cluster over N; <m^2>; fractions of the clusters with more than N/2 and with "
     "less\nthan N/100 sites:",
     {{"cluster_fraction", "<C>/N"},
      {"m2", "m^2"},
      {"share_large", "> N/2"},
      {"share_small", "< N/100"}}}};

// With replica exchange there are many temperatures. Everything else is in JSON and CSV.
const std::vector<MetricBlock> kExchangeBlocks = {
    {"Time of a sweep, a cluster update, an exchange and a cycle, means over the temperatures; "
     "round trips\nof a replica from the first to the last temperature and back in 1000 cycles:",
     {{"sweep_seconds", "sweep, us", 1e6},
      {"cluster_seconds", "cluster, us", 1e6},
      {"exchange_seconds", "exchange, us", 1e6},
      {"cycle_seconds", "cycle, us", 1e6},
      {"trips_per_1000_cycles", "round trips"}},
     true},
    {"Autocorrelation times tau_int in cycles; cycles between independent measurements (2 tau_int "
     "of the\nslowest); exchanges accepted with the next temperature:",
     {{"tau_e_cycles", "tau(e)"},
      {"tau_abs_m_cycles", "tau(|m|)"},
      {"tau_m2_cycles", "tau(m^2)"},
      {"tau_q2_cycles", "tau(q^2)"},
      {"independent_cycles", "independent"},
      {"exchange_accepted", "accepted"}}}};

// Rows of equal length; the first row holds the heads.
using TextRows = std::vector<std::vector<std::string>>;

const Value* find(const MetricRow& row, std::string_view name) {
  for (const auto& [metric, value] : row.values) {
    if (metric == name) return &value;
  }
  return nullptr;
}

// Name of the lower bound of an unknown tau: "tau_e_steps" -> "tau_e_above_steps"; "" of metrics
// without a unit.
std::string bound_name(std::string_view metric) {
  const auto unit = metric.rfind('_');
  if (unit == std::string_view::npos) return "";
  return fmt::format("{}_above{}", metric.substr(0, unit), metric.substr(unit));
}

// Keys of a row in a block.
CurveKeys block_keys(const MetricRow& row, const MetricBlock& block) {
  CurveKeys keys = row.keys;
  if (block.of_all_temperatures) {
    std::erase_if(keys, [](const auto& key) { return key.first == "temperature"; });
  }
  return keys;
}

TextRows block_cells(const CurveSet& set, const MetricBlock& block) {
  std::vector<const MetricRow*> rows;
  for (const MetricRow& row : set.metrics) {
    const bool shown_before = std::ranges::any_of(rows, [&](const MetricRow* other) {
      return block_keys(*other, block) == block_keys(row, block);
    });
    if (find(row, block.columns.front().metric) != nullptr && !shown_before) rows.push_back(&row);
  }
  if (rows.empty()) return {};
  TextRows cells{{}};
  for (const auto& [name, value] : block_keys(*rows.front(), block)) {
    cells.front().push_back(name == "temperature" ? "T" : name);
  }
  for (const MetricRow* row : rows) {
    auto& line = cells.emplace_back();
    for (const auto& [name, value] : block_keys(*row, block)) line.push_back(value);
  }
  for (const MetricColumn& column : block.columns) {
    const bool known = std::ranges::any_of(
        rows, [&](const MetricRow* row) { return find(*row, column.metric) != nullptr; });
    if (column.head.empty() || !known) continue;
    cells.front().emplace_back(column.head);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const Value* bound = find(*rows[k], bound_name(column.metric));
      const Value* value = bound != nullptr ? bound : find(*rows[k], column.metric);
      if (value == nullptr) {
        cells[k + 1].emplace_back("-");
        continue;
      }
      const Value scaled{value->value * column.scale, value->error * column.scale};
      cells[k + 1].push_back(fmt::format("{}{}", bound == nullptr ? "" : "> ", shown(scaled)));
    }
  }
  return cells;
}

// Splits a wide table into several, one below the other, each with the first `keys` columns.
std::string wrapped_table(const TextRows& cells, std::size_t keys) {
  constexpr std::size_t most = 100;  // characters in a line
  const auto width = [&](std::size_t column) {
    std::size_t widest = 0;
    for (const auto& row : cells) widest = std::max(widest, row[column].size());
    return widest + 2;
  };
  std::size_t key_width = 0;
  for (std::size_t k = 0; k < keys; ++k) key_width += width(k);
  std::string text;
  for (std::size_t begin = keys, end = keys; begin < cells.front().size(); begin = end) {
    std::size_t all = key_width;
    do {
      all += width(end++);
    } while (end < cells.front().size() && all + width(end) <= most);
    TextRows part;
    for (const auto& row : cells) {
      auto& line = part.emplace_back(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(keys));
      line.insert(line.end(), row.begin() + static_cast<std::ptrdiff_t>(begin),
                  row.begin() + static_cast<std::ptrdiff_t>(end));
    }
    if (!text.empty()) text += "\n";
    text += aligned_table(part);
  }
  return text;
}

}  // namespace

void Curve::add(const std::string& name, const Eigen::ArrayXd& values) {
  columns.emplace_back(name, std::vector<double>(values.begin(), values.end()));
}

void Curve::add(const std::string& name, const std::vector<double>& values) {
  columns.emplace_back(name, values);
}

CurveTable& CurveSet::table(const std::string& name) {
  for (auto& table : tables) {
    if (table.name == name) return table;
  }
  return tables.emplace_back(CurveTable{name, {}});
}

Json curves_json(const CurveSet& set) {
  Json json;
  json["format"] = "rewise curves";
  json["format_version"] = 1;
  json["version"] = build_info().version;
  json["kind"] = set.kind;
  json["about"] = set.about;
  json["tables"] = Json::object();
  for (const auto& table : set.tables) {
    Json curves = Json::array();
    for (const auto& curve : table.curves) curves.push_back(curve_json(curve));
    json["tables"][table.name] = std::move(curves);
  }
  json["metrics"] = Json::array();
  for (const auto& row : set.metrics) json["metrics"].push_back(metrics_json(row));
  json["notes"] = set.notes;
  return json;
}

std::string curves_csv(const CurveTable& table) {
  std::string text;
  if (table.curves.empty()) return text;
  for (const auto& [name, value] : table.curves.front().keys) text += name + ",";
  for (const auto& [name, values] : table.curves.front().columns) text += name + ",";
  text.back() = '\n';
  for (const auto& curve : table.curves) {
    std::string keys;
    for (const auto& [name, value] : curve.keys) keys += value + ",";
    for (std::size_t i = 0; i < curve.columns.front().second.size(); ++i) {
      text += keys;
      for (const auto& [name, values] : curve.columns) {
        text += std::isfinite(values[i]) ? fmt::format("{},", values[i]) : ",";
      }
      text.back() = '\n';
    }
  }
  return text;
}

std::string metrics_table(const CurveSet& set) {
  if (set.metrics.empty()) return "";
  const MetricRow& first = set.metrics.front();
  const bool exchange = find(first, "exchange_accepted") != nullptr;
  std::string text;
  for (const MetricBlock& block : exchange ? kExchangeBlocks : kBlocks) {
    const TextRows cells = block_cells(set, block);
    if (cells.empty()) continue;
    text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", block.title,
                        wrapped_table(cells, block_keys(first, block).size()));
  }
  return text;
}

}  // namespace rewise
