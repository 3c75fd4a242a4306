#include "experiments/curves/curve_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/console/build_info.hpp"
#include "experiments/console/table.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

Json number_json(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

double json_number(const Json& json) {
  return json.is_number() ? json.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

Json keys_json(const CurveKeys& keys) {
  Json json = Json::object();
  for (const auto& [name, value] : keys) json[name] = value;
  return json;
}

CurveKeys json_keys(const Json& json) {
  CurveKeys keys;
  for (const auto& [name, value] : json.items()) keys.emplace_back(name, value.get<std::string>());
  return keys;
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

bool has_keys(const CurveKeys& all, const CurveKeys& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& key) {
    return std::find(all.begin(), all.end(), key) != all.end();
  });
}

}  // namespace

void Curve::add(const std::string& name, const Eigen::ArrayXd& values) {
  columns.emplace_back(name, std::vector<double>(values.begin(), values.end()));
}

void Curve::add(const std::string& name, const std::vector<double>& values) {
  columns.emplace_back(name, values);
}

void Curve::append(const std::string& name, double value) {
  for (auto& [column, values] : columns) {
    if (column == name) return values.push_back(value);
  }
  columns.push_back({name, {value}});
}

void Curve::append(const std::string& name, Value value) {
  append(name, value.value);
  append(name + "_error", value.error);
}

Curve& CurveTable::curve(const CurveKeys& keys) {
  for (Curve& curve : curves) {
    if (curve.keys == keys) return curve;
  }
  return curves.emplace_back(Curve{keys, {}});
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

CurveSet curves_from_json(const Json& json) {
  CurveSet set;
  set.kind = json.at("kind").get<std::string>();
  set.about = json.at("about");
  for (const auto& [name, curves] : json.at("tables").items()) {
    CurveTable& table = set.table(name);
    for (const auto& entry : curves) {
      Curve& curve = table.curves.emplace_back(Curve{json_keys(entry.at("keys")), {}});
      for (const auto& [column, list] : entry.at("columns").items()) {
        std::vector<double> values;
        for (const auto& x : list) values.push_back(json_number(x));
        curve.add(column, values);
      }
    }
  }
  for (const auto& entry : json.at("metrics")) {
    MetricRow& row = set.metrics.emplace_back(MetricRow{json_keys(entry.at("keys")), {}});
    for (const auto& [name, value] : entry.at("values").items()) {
      const double x = value.contains("infinite") ? std::numeric_limits<double>::infinity()
                                                  : json_number(value.at("value"));
      row.add(name, {x, json_number(value.at("error"))});
    }
  }
  set.notes = json.at("notes").get<std::vector<std::string>>();
  return set;
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

// Rows of other keys or metrics than those before begin a table of their own.
std::string metrics_table(const CurveSet& set) {
  std::string text;
  std::vector<std::vector<std::string>> rows;
  for (const auto& metric : set.metrics) {
    std::vector<std::string> heads, row;
    for (const auto& [name, value] : metric.keys) {
      heads.push_back(name);
      row.push_back(value);
    }
    for (const auto& [name, value] : metric.values) {
      heads.push_back(name);
      row.push_back(shown(value));
    }
    if (rows.empty() || rows.front() != heads) {
      if (!rows.empty()) text += aligned_table(rows) + "\n";
      rows = {heads};
    }
    rows.push_back(std::move(row));
  }
  return rows.empty() ? text : text + aligned_table(rows);
}

Value find_metric(const CurveSet& set, const CurveKeys& keys, const std::string& metric,
                  const std::string& origin) {
  const Value* found = nullptr;
  int rows = 0;
  for (const auto& row : set.metrics) {
    if (!has_keys(row.keys, keys)) continue;
    for (const auto& [name, value] : row.values) {
      if (name != metric) continue;
      found = &value;
      ++rows;
    }
  }
  if (rows != 1) {
    throw Error(ExitCode::usage, fmt::format("{}: {} rows have these keys and '{}' (one must)",
                                             origin, rows, metric));
  }
  return *found;
}

}  // namespace rewise
