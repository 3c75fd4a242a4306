#include "experiments/commands/bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "src/base/error.hpp"
#include "src/results/record.hpp"
#include "src/settings/parse.hpp"
#include "src/study/build_info.hpp"

namespace rewise {
namespace {

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

// The columns that identify a measurement.
Cells identity_cells(const BenchRow& row) {
  return {{"engine", "engine", row.engine},
          {"model", "", row.q == 0 ? "ising" : "potts"},
          {"q", "", row.q == 0 ? 2 : row.q},
          {"update", "update", row.update, update_text(row)},
          {"method", "", row.method},
          {"device", "device", row.device},
          {"extents", "size", row.extents, extents_text(row.extents)},
          {"p", "p", row.p},
          {"temperature", "T", row.temperature, fmt::format("{:.6g}", row.temperature)},
          {"replicas", "replicas", row.replicas, replicas_text(row)},
          {"graphs", "", row.graphs},
          {"schedule", "", row.schedule}};
}

Cell number_cell(std::string name, std::string head, const std::optional<double>& value,
                 fmt::format_string<const double&> format) {
  return {std::move(name), std::move(head), plain_json(value),
          value ? fmt::format(format, *value) : "-"};
}

Cells row_cells(const BenchRow& row) {
  Cells cells = identity_cells(row);
  const Cells more{
      number_cell("flips_per_ns", "flips/ns", row.flips_per_ns, "{:.3g}"),
      {"spread", "+-", plain_json(row.spread), fmt::format("{:.2g}%", 100 * row.spread)},
      number_cell("us_per_update", "us/update", row.us_per_update, "{:.3g}"),
      number_cell("cluster_fraction", "<C>/N", row.cluster_fraction, "{:.2g}"),
      number_cell("measure_per_sweep", "measure", row.measure_per_sweep, "{:.2f}"),
      number_cell("over_cpu", "x cpu", row.over_cpu, "{:.3g}")};
  cells.insert(cells.end(), more.begin(), more.end());
  return cells;
}

BenchRow row_of(const Json& json) {
  BenchRow row;
  row.engine = json.at("engine").get<std::string>();
  // Files of old versions, which timed Ising only, have no model.
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

// Rows with equal identities differ in the number of replicas only.
auto identity(const BenchRow& row) {
  return std::tuple(row.engine, row.q, row.update, row.method, row.device, row.extents, row.p,
                    row.temperature, row.graphs,
                    row.update == "mix" ? row.schedule : std::string());
}

// The row of `rows` with the identity of `row` and the same number of replicas. If there is none:
// the only row with this identity, or null if there are several.
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
  std::vector<Cells> rows;
  for (const BenchRow& row : result.rows) rows.push_back(row_cells(row));
  std::string out = cells_table(rows) + "\n";
  for (const auto& [name, title] : result.devices) out += fmt::format("{}: {}\n", name, title);
  return out +
         "\nflips/ns: sites of all replicas that local updates attempted, Wolff flipped, "
         "few-cluster\n"
         "found or Swendsen-Wang visited, per ns; median, and half of the range. us/update: one "
         "sweep,\n"
         "cluster update or cycle of a mix, of one replica. measure: a measurement over a sweep.\n"
         "x cpu: flips/ns relative to the row of the CPU.\n";
}

Json bench_json(const BenchResult& result) {
  const BuildInfo& build = build_info();
  Json json;
  json["version"] = build.version;
  json["revision"] = build.revision;
  json["host"] = host_name();
  json["time"] = utc_time();
  json["devices"] = Json::array();
  for (const auto& [name, title] : result.devices) {
    json["devices"].push_back({{"device", name}, {"title", title}});
  }
  json["rows"] = Json::array();
  for (const BenchRow& row : result.rows) json["rows"].push_back(cells_json(row_cells(row)));
  return json;
}

std::vector<BenchRow> bench_rows(const std::string& text, const std::string& origin) {
  try {
    std::vector<BenchRow> rows;
    const Json saved = Json::parse(text);
    for (const Json& json : saved.at("rows")) rows.push_back(row_of(json));
    return rows;
  } catch (const nlohmann::json::exception&) {
    throw Error(ExitCode::data,
                fmt::format("{}: is not an output of 'rewise bench --json'", origin));
  }
}

BenchComparison compare_runs(const std::vector<BenchRow>& now, const std::vector<BenchRow>& then) {
  BenchComparison comparison;
  for (const BenchRow& row : now) {
    const BenchRow* other = partner(row, then);
    // The choice must be mutual, so that no saved row is used twice.
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

namespace {

Cells pair_cells(const BenchComparison::Pair& pair, const std::string& file) {
  const BenchRow &now = pair.now, &then = pair.then;
  Cells cells = identity_cells(now);
  std::erase_if(cells, [](const Cell& cell) { return cell.name == "graphs"; });
  const auto replicas = std::ranges::find(cells, "replicas", &Cell::name);
  if (now.replicas != then.replicas) {
    replicas->text = fmt::format("{}, {}", now.replicas, then.replicas);
  }
  cells.push_back(number_cell("now", "now", now.flips_per_ns, "{:.3g}"));
  cells.push_back(number_cell("then", file, then.flips_per_ns, "{:.3g}"));
  cells.push_back(number_cell("ratio", "ratio", pair.ratio(), "{:.2f}"));
  return cells;
}

}  // namespace

std::string comparison_table(const BenchComparison& comparison, const std::string& file) {
  std::vector<Cells> rows;
  for (const auto& pair : comparison.pairs) rows.push_back(pair_cells(pair, file));
  std::string out = "\nflips/ns of this run relative to " + file + "\n" + cells_table(rows);
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
    json["rows"].push_back(cells_json(pair_cells(pair, file)));
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
