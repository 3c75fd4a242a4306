#include "experiments/commands/bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "src/base/error.hpp"
#include "src/base/table.hpp"
#include "src/study/build_info.hpp"
#include "src/study/parse.hpp"

namespace rewise {
namespace {

std::string shown(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.2g}%", 100 * *share) : "-";
}

std::string update_text(const BenchRow& row) {
  std::string text = row.update == "mix" ? "mix " + row.schedule : row.update;
  if (!row.method.empty()) text += fmt::format(" ({})", row.method);
  return row.q == 0 ? text : fmt::format("{}, q = {}", text, row.q);
}

// "1024", or "1024 x 64 graphs"
std::string replicas_text(const BenchRow& row) {
  return row.graphs == 1 ? fmt::format("{}", row.replicas)
                         : fmt::format("{} x {} graphs", row.replicas, row.graphs);
}

// "multispin wolff, cuda:0, 1024x1024, p = 0.01, T = 2.4342, 1024 replicas"
std::string row_text(const BenchRow& row) {
  return fmt::format("{} {}, {}, {}, p = {}, T = {:.6g}, {} replicas", row.engine, update_text(row),
                     row.device, extents_text(row.extents), number_text(row.p), row.temperature,
                     replicas_text(row));
}

Json number_json(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json steps_json(const std::optional<ClusterSteps>& steps) {
  if (!steps) return nullptr;
  return {{"activate", steps->activate},
          {"label", steps->label},
          {"merge", steps->merge},
          {"flip", steps->flip}};
}

// The steps of every row that has them, or nothing.
std::string steps_table(const std::vector<BenchRow>& all) {
  std::vector<std::vector<std::string>> rows{
      {"update", "device", "size", "p", "activate", "label", "merge", "flip"}};
  for (const BenchRow& row : all) {
    if (!row.steps) continue;
    rows.push_back(
        {update_text(row), row.device, extents_text(row.extents), number_text(row.p),
         fmt::format("{:.3g}", row.steps->activate), fmt::format("{:.3g}", row.steps->label),
         fmt::format("{:.3g}", row.steps->merge), fmt::format("{:.3g}", row.steps->flip)});
  }
  if (rows.size() == 1) return "";
  return "\nSteps of updates that label, ns per site:\n" + aligned_table(rows);
}

Json row_json(const BenchRow& row) {
  Json json;
  json["engine"] = row.engine;
  json["model"] = row.q == 0 ? "ising" : "potts";
  json["q"] = row.q == 0 ? 2 : row.q;
  json["update"] = row.update;
  json["method"] = row.method;
  json["device"] = row.device;
  json["extents"] = row.extents;
  json["p"] = row.p;
  json["temperature"] = row.temperature;
  json["replicas"] = row.replicas;
  json["graphs"] = row.graphs;
  json["schedule"] = row.schedule;
  json["flips_per_ns"] = number_json(row.flips_per_ns);
  json["spread"] = number_json(row.spread);
  json["us_per_update"] = number_json(row.us_per_update);
  json["cluster_fraction"] = number_json(row.cluster_fraction);
  json["bytes_per_update"] = number_json(row.bytes_per_update);
  json["copy_share"] = number_json(row.copy_share);
  json["integer_share"] = number_json(row.integer_share);
  json["measure_per_sweep"] = number_json(row.measure_per_sweep);
  json["over_cpu"] = number_json(row.over_cpu);
  json["steps_ns"] = steps_json(row.steps);
  return json;
}

BenchRow row_of(const Json& json) {
  BenchRow row;
  row.engine = json.at("engine").get<std::string>();
  // Runs that were saved before Potts could be timed do not say.
  if (json.value("model", "ising") == "potts") row.q = json.at("q").get<std::uint32_t>();
  row.update = json.at("update").get<std::string>();
  row.method = json.at("method").get<std::string>();
  row.device = json.at("device").get<std::string>();
  row.extents = json.at("extents").get<std::vector<std::uint32_t>>();
  row.p = json.at("p").get<double>();
  row.temperature = json.at("temperature").get<double>();
  row.replicas = json.at("replicas").get<std::uint32_t>();
  row.graphs = json.at("graphs").get<std::uint32_t>();
  row.schedule = json.at("schedule").get<std::string>();
  row.flips_per_ns = json.at("flips_per_ns").get<double>();
  row.us_per_update = json.at("us_per_update").get<double>();
  return row;
}

// What makes two rows the same, replicas apart.
auto identity(const BenchRow& row) {
  return std::tuple(row.engine, row.q, row.update, row.method, row.device, row.extents, row.p,
                    row.temperature, row.graphs,
                    row.update == "mix" ? row.schedule : std::string());
}

// The row of `rows` that is the same as `row`; nothing where replicas leave a doubt.
const BenchRow* partner(const BenchRow& row, const std::vector<BenchRow>& rows) {
  const BenchRow* found = nullptr;
  std::size_t alike = 0;
  for (const BenchRow& other : rows) {
    if (identity(other) != identity(row)) continue;
    if (other.replicas == row.replicas) return &other;
    found = &other;
    ++alike;
  }
  return alike == 1 ? found : nullptr;
}

}  // namespace

std::string bench_table(const BenchResult& result) {
  std::vector<std::vector<std::string>> rows{{"engine", "update", "device", "size", "p", "T",
                                              "replicas", "flips/ns", "+-", "us/update", "<C>/N",
                                              "MB", "of copy", "of int", "measure", "x cpu"}};
  for (const BenchRow& row : result.rows) {
    std::optional<double> megabytes;
    if (row.bytes_per_update) megabytes = 1e-6 * *row.bytes_per_update;
    rows.push_back({row.engine, update_text(row), row.device, extents_text(row.extents),
                    number_text(row.p), fmt::format("{:.6g}", row.temperature), replicas_text(row),
                    fmt::format("{:.3g}", row.flips_per_ns), percent(row.spread),
                    fmt::format("{:.3g}", row.us_per_update), shown(row.cluster_fraction, "{:.2g}"),
                    shown(megabytes, "{:.3g}"), percent(row.copy_share), percent(row.integer_share),
                    shown(row.measure_per_sweep, "{:.2f}"), shown(row.over_cpu, "{:.3g}")});
  }
  std::string out = aligned_table(rows) + "\n";
  for (const DeviceLimits& limits : result.devices) {
    out += fmt::format("{}: {}; copies {:.4g} GB/s", limits.device, limits.title,
                       1e-9 * limits.copy_rate);
    if (limits.integer_rate > 0) {
      out += fmt::format(", begins {:.3g} integer instructions/ns ({})", 1e-9 * limits.integer_rate,
                         limits.integer_rate_from);
    }
    out += "\n";
  }
  return out +
         "\nflips/ns: sites of all replicas that local updates attempted, Wolff flipped, "
         "few-cluster\n"
         "found or Swendsen-Wang visited, per ns; median, and half of the range. us/update: one "
         "sweep,\n"
         "cluster update or cycle of a mix, of one replica. MB: the least that a sweep or update "
         "of\n"
         "all replicas must move; of copy: that per second over the device's copy rate; of int: "
         "the\n"
         "least instructions over what it can begin. measure: a measurement over a sweep. x cpu:\n"
         "flips/ns over those of the CPU's row.\n" +
         steps_table(result.rows);
}

Json bench_json(const BenchResult& result) {
  const BuildInfo& build = build_info();
  Json json;
  json["version"] = build.version;
  json["revision"] = build.revision;
  json["host"] = host_name();
  json["time"] = utc_time();
  json["devices"] = Json::array();
  for (const DeviceLimits& limits : result.devices) {
    json["devices"].push_back(
        {{"device", limits.device},
         {"title", limits.title},
         {"copy_bytes_per_second", limits.copy_rate},
         {"integer_per_second",
          limits.integer_rate > 0 ? Json(limits.integer_rate) : Json(nullptr)},
         {"integer_from", limits.integer_rate_from}});
  }
  json["rows"] = Json::array();
  for (const BenchRow& row : result.rows) json["rows"].push_back(row_json(row));
  return json;
}

std::vector<BenchRow> bench_rows(const std::string& text, const std::string& origin) {
  try {
    std::vector<BenchRow> rows;
    const Json saved = Json::parse(text);
    for (const Json& json : saved.at("rows")) rows.push_back(row_of(json));
    return rows;
  } catch (const nlohmann::json::exception&) {
    throw Error(ExitCode::data, fmt::format("{}: not what 'rewise bench --json' writes", origin));
  }
}

BenchComparison compare_runs(const std::vector<BenchRow>& now, const std::vector<BenchRow>& then) {
  BenchComparison comparison;
  for (const BenchRow& row : now) {
    const BenchRow* other = partner(row, then);
    // Both must choose each other, so that no saved row is used twice.
    if (other != nullptr && partner(*other, now) == &row) {
      comparison.pairs.push_back({row, *other});
    } else {
      comparison.only_now.push_back(row);
    }
  }
  for (const BenchRow& row : then) {
    const BenchRow* other = partner(row, now);
    if (other == nullptr || partner(*other, then) != &row) comparison.only_then.push_back(row);
  }
  return comparison;
}

std::string comparison_table(const BenchComparison& comparison, const std::string& file) {
  std::vector<std::vector<std::string>> rows{
      {"engine", "update", "device", "size", "p", "T", "replicas", "now", file, "ratio"}};
  for (const auto& pair : comparison.pairs) {
    const BenchRow& row = pair.now;
    const bool same = row.replicas == pair.then.replicas;
    rows.push_back(
        {row.engine, update_text(row), row.device, extents_text(row.extents), number_text(row.p),
         fmt::format("{:.6g}", row.temperature),
         same ? replicas_text(row) : fmt::format("{}, {}", row.replicas, pair.then.replicas),
         fmt::format("{:.3g}", row.flips_per_ns), fmt::format("{:.3g}", pair.then.flips_per_ns),
         fmt::format("{:.2f}", pair.ratio())});
  }
  std::string out = "\nflips/ns of this run over those of " + file + "\n" + aligned_table(rows);
  for (const BenchRow& row : comparison.only_now) {
    out += fmt::format("only in this run: {}\n", row_text(row));
  }
  for (const BenchRow& row : comparison.only_then) {
    out += fmt::format("only in {}: {}\n", file, row_text(row));
  }
  return out;
}

Json comparison_json(const BenchComparison& comparison, const std::string& file) {
  Json json;
  json["file"] = file;
  json["rows"] = Json::array();
  for (const auto& pair : comparison.pairs) {
    Json row = row_json(pair.now);
    Json short_row;
    for (const char* key : {"engine", "model", "q", "update", "method", "device", "extents", "p",
                            "temperature", "replicas", "schedule"}) {
      short_row[key] = row[key];
    }
    short_row["now"] = pair.now.flips_per_ns;
    short_row["then"] = pair.then.flips_per_ns;
    short_row["ratio"] = pair.ratio();
    json["rows"].push_back(std::move(short_row));
  }
  json["only_in_this_run"] = Json::array();
  json["only_in_file"] = Json::array();
  for (const BenchRow& row : comparison.only_now) {
    json["only_in_this_run"].push_back(row_text(row));
  }
  for (const BenchRow& row : comparison.only_then) json["only_in_file"].push_back(row_text(row));
  return json;
}

}  // namespace rewise
