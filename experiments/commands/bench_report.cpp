#include "experiments/commands/bench_report.hpp"

#include <fmt/format.h>

#include "src/results/cells.hpp"
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

Cell number_cell(std::string name, std::string head, const std::optional<double>& value,
                 fmt::format_string<const double&> format) {
  return {std::move(name), std::move(head), plain_json(value),
          value ? fmt::format(format, *value) : "-"};
}

Cells row_cells(const BenchRow& row) {
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
          {"schedule", "", row.schedule},
          number_cell("flips_per_ns", "updates/ns", row.flips_per_ns, "{:.3g}"),
          {"spread", "+-", plain_json(row.spread), fmt::format("{:.2g}%", 100 * row.spread)},
          number_cell("us_per_update", "us/update", row.us_per_update, "{:.3g}"),
          number_cell("cluster_fraction", "<C>/N", row.cluster_fraction, "{:.2g}"),
          number_cell("measure_per_sweep", "measure", row.measure_per_sweep, "{:.2f}"),
          number_cell("over_cpu", "x cpu", row.over_cpu, "{:.3g}")};
}

}  // namespace

std::string bench_table(const BenchResult& result) {
  std::vector<Cells> rows;
  for (const BenchRow& row : result.rows) rows.push_back(row_cells(row));
  std::string out = cells_table(rows) + "\n";
  for (const auto& [name, title] : result.devices) out += fmt::format("{}: {}\n", name, title);
  return out +
         "\nupdates/ns: sites of all replicas that local updates attempted, Wolff flipped, "
         "few-cluster\n"
         "found or Swendsen-Wang visited, per ns; median, and half of the range. us/update: one "
         "sweep,\n"
         "cluster update or cycle of a mix, of one replica. measure: a measurement over a sweep.\n"
         "x cpu: updates/ns relative to the row of the CPU.\n";
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

}  // namespace rewise
