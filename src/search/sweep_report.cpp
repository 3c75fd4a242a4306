#include "src/search/sweep_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "src/base/count_text.hpp"
#include "src/base/table.hpp"
#include "src/results/cells.hpp"
#include "src/results/run_check.hpp"
#include "src/search/glass_tc.hpp"
#include "src/search/summary_parts.hpp"
#include "src/search/tune_trial.hpp"

namespace rewise {
namespace {

// Text of a value; "-" if it is unknown, and no error if only the error is unknown.
std::string curve_text(Value v) {
  return std::isfinite(v.error)   ? printed(v)
         : std::isfinite(v.value) ? fmt::format("{:.6g}", v.value)
                                  : "-";
}

// "> 26" for a lower bound.
std::string tau_text(Value v) {
  const bool bound = std::isfinite(v.value) && !std::isfinite(v.error);
  return bound ? "> " + two_digits(v.value) : curve_text(v);
}

// "1:4", or "swendsen-wang/1:4". tau is in cycles of this schedule.
std::string schedule_of(const SizeData& size) { return to_string(size.plan); }

// Imported graphs have names, but neither p nor extents.
bool is_own(const SweepPoint& point) { return point.rule == Rule::imported; }

std::string place_of(const SweepPoint& point) {
  return fmt::format("p = {}{}{}", point.p, point.label.empty() ? "" : ", ", point.label);
}

// The first `most` rows as a table by table(rows), and the number of the other rows.
template <class Row, class Table>
std::string first_rows(std::vector<Row> rows, std::size_t most, const Table& table) {
  const std::size_t more = rows.size() > most ? rows.size() - most : 0;
  rows.resize(rows.size() - more);
  return table(rows) + (more > 0 ? fmt::format("  .. and {} more in summary.json\n", more) : "");
}

// The tables of a sweep, each narrow enough for a terminal. summary.csv has all columns.
enum class SweepTable { thermal, in_field, staggered, overlaps };

// One temperature of one size as a row.
struct SweepRow {
  const SweepPoint* point;
  std::size_t size, temperature;  // indices
};

// The cells that identify a size of a point.
Cells size_cells(const SweepPoint& point, std::size_t k, bool labels) {
  const SizeData& size = point.sizes[k];
  Cells cells;
  if (labels) cells.push_back(text_cell("variant", point.label));
  if (is_own(point)) {
    cells.push_back(text_cell("graph", size.name));
    cells.push_back({"", "sites", static_cast<std::uint64_t>(size.samples.sites)});
  } else {
    cells.push_back({"", "p", point.p});
    cells.push_back(text_cell("size", size_text(size)));
  }
  return cells;
}

Cells sweep_cells(const SweepRow& row, SweepTable table, bool labels, bool schedules) {
  const SweepPoint& point = *row.point;
  const SizeData& size = point.sizes[row.size];
  const SizeCurves& curves = point.curves[row.size];
  const std::size_t t = row.temperature;
  Cells cells = size_cells(point, row.size, labels);
  const auto add = [&](const auto& observable) {
    if (observable.symbol.empty()) return;
    cells.push_back(
        text_cell(std::string(observable.symbol), curve_text(curves.at(observable.name, t))));
  };
  cells.push_back({"", "T", curves.temperatures[t]});
  switch (table) {
    case SweepTable::thermal:
      for (const Observable& o : observables()) {
        if (o.name != "m2") add(o);
      }
      cells.push_back(text_cell("tau", tau_text(curves.at("tau", t))));
      if (schedules) cells.push_back(text_cell("schedule", schedule_of(size)));
      break;
    case SweepTable::in_field:
    case SweepTable::staggered:
      for (const Observable& o :
           table == SweepTable::in_field ? field_observables() : staggered_observables()) {
        add(o);
      }
      break;
    case SweepTable::overlaps:
      for (const OverlapObservable& o : overlap_observables()) add(o);
      cells.push_back(text_cell("tau(q^2)", tau_text(curves.at("overlap_tau", t))));
      break;
  }
  return cells;
}

// A row per size with replica exchange; "" without it.
std::string exchange_text(const std::vector<SweepPoint>& points, bool labels, std::size_t most) {
  std::vector<Cells> rows;
  for (const SweepPoint& point : points) {
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      const auto exchange = exchange_means(point.sizes[k]);
      if (!exchange) continue;
      const auto [least, largest] =
          std::minmax_element(exchange->accepted.begin(), exchange->accepted.end() - 1,
                              [](Value a, Value b) { return a.value < b.value; });
      const auto at = static_cast<std::size_t>(least - exchange->accepted.begin());
      const std::vector<double>& t = point.curves[k].temperatures;
      Cells row = size_cells(point, k, labels);
      row.push_back(
          text_cell("accepted", fmt::format("{:.2f} to {:.2f}", least->value, largest->value)));
      row.push_back(text_cell("least between", fmt::format("T = {} and {}", t[at], t[at + 1])));
      row.push_back(
          text_cell("round trips", fmt::format("{:.2g}", exchange->trips_per_1000.value)));
      rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) return "";
  return "\nReplica exchange: fraction of accepted exchanges between neighbouring temperatures (it "
         "should\nbe 0.2 or more), and round trips between the first and the last temperature per "
         "replica and\n1000 cycles:\n\n" +
         first_rows(std::move(rows), most, cells_table);
}

std::string_view crossing_symbol(const Crossing& crossing) {
  return crossing_observables()[static_cast<std::size_t>(crossing.observable)].symbol;
}

Json target_json(const SweepTarget& target, const SizeData& size) {
  Json json = progress_json(target);
  json["observable"] = target.observable;
  json["temperature"] = target.temperature;
  json["thermal"] = target.thermal;
  json["graphs_before"] = target.graphs_before;
  json["graphs_added"] = size.samples.graphs.size() - target.graphs_before;
  json["measurements_before"] = target.measurements_before;
  json["measurements_added"] = size.plan.measure - target.measurements_before;
  return json;
}

// Number of sizes that reached the target; for at most `most` of the other sizes: where the error
// is largest, and why the target is missed.
std::string target_text(const StudyConfig& config, const std::vector<SweepPoint>& points,
                        std::size_t most) {
  if (!config.target_error) return "";
  std::size_t all = 0;
  std::vector<std::vector<std::string>> rows;
  for (const SweepPoint& point : points) {
    all += point.targets.size();
    for (std::size_t k = 0; k < point.targets.size(); ++k) {
      const SweepTarget& target = point.targets[k];
      if (target.done) continue;
      rows.push_back({place_of(point), size_text(point.sizes[k]),
                      std::isfinite(target.reached)
                          ? fmt::format("{:.1e} ({} at T = {})", target.reached, target.observable,
                                        target.temperature)
                          : "-",
                      target.stopped.empty() ? "not yet" : "MISSED: " + target.stopped});
    }
  }
  std::string out = fmt::format("\nTarget: a relative error of {} for {}: reached by {} of {}.\n",
                                *config.target_error, fmt::join(config.target_observables, ", "),
                                all - rows.size(), count_text(all, "size"));
  return out + first_rows(std::move(rows), most, aligned_table);
}

Json crossings_json(const SweepPoint& point) {
  Json json = Json::array();
  for (const Crossing& crossing : point.crossings) {
    Json one;
    one["sites"] = {crossing.smaller, crossing.larger};
    one["observable"] = crossing_observables()[static_cast<std::size_t>(crossing.observable)].name;
    one["found"] = crossing.status == CrossingStatus::found;
    const auto value_of = [&](const Jackknifed& number) {
      const Value v = one["found"] ? estimate(number) : Value{std::nan(""), std::nan("")};
      return Json{{"value", number_json(v.value)}, {"error", number_json(v.error)}};
    };
    one["temperature"] = value_of(crossing.temperature);
    one["height"] = value_of(crossing.height);
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::string overlap_crossings_text(const std::vector<SweepPoint>& points, bool glass,
                                   std::size_t most) {
  std::vector<Cells> rows;
  for (const SweepPoint& point : points) {
    for (const Crossing& crossing : point.crossings) {
      const bool found = crossing.status == CrossingStatus::found;
      rows.push_back(
          {{"", "p", point.p},
           text_cell("sites", fmt::format("{:.0f}, {:.0f}", crossing.smaller, crossing.larger)),
           text_cell("crossing of", std::string(crossing_symbol(crossing))),
           text_cell("T", found ? curve_text(estimate(crossing.temperature))
                          : crossing.status == CrossingStatus::none
                              ? "none at these temperatures"
                              : "not stable (too few graphs)"),
           text_cell("height", found ? curve_text(estimate(crossing.height)) : "-")});
    }
  }
  if (rows.empty()) return "";
  return fmt::format(
             "\nCrossings of the overlaps of consecutive sizes, which tend to {} as the sizes "
             "grow:\n\n",
             glass ? "T_SG" : "T_SG or, with magnetic order, to its Tc") +
         first_rows(std::move(rows), most, cells_table);
}

std::string sweep_warnings(const std::vector<SweepPoint>& points) {
  std::string text;
  for (const SweepPoint& point : points) {
    for (const std::string& warning : point.warnings) {
      text += fmt::format("warning: {}: {}\n",
                          is_own(point) ? point.sizes.front().name : place_of(point), warning);
    }
  }
  return text;
}

Json sweep_summary(const StudyConfig& config, const std::vector<SweepPoint>& points) {
  Json json = summary_head(config, "sweep");
  json["points"] = Json::array();
  for (const SweepPoint& point : points) {
    Json added;
    added["p"] = point.p;
    added["dim"] = point.dim;
    added["rule"] = to_string(point.rule);
    added["schedule"] = point.schedule ? to_string(*point.schedule) : "auto";
    added["label"] = point.label;
    added["sizes"] = Json::array();
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      added["sizes"].push_back(
          size_json(point.sizes[k], point.curves[k], point.hot_cold[k], config.replicas));
      added["sizes"].back()["target"] =
          point.targets.empty() ? Json(nullptr) : target_json(point.targets[k], point.sizes[k]);
    }
    if (!point.crossings.empty()) added["overlap_crossings"] = crossings_json(point);
    added["warnings"] = point.warnings;
    json["points"].push_back(std::move(added));
  }
  json["warnings"] = Json::array();
  return json;
}

std::string sweep_csv(const StudyConfig& config, const std::vector<SweepPoint>& points) {
  std::string out = csv_header(config);
  for (const SweepPoint& point : points) {
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      out += csv_rows(config, point.p, point.rule, point.sizes[k], point.curves[k]);
    }
  }
  return out;
}

std::string sweep_text(const StudyConfig& config, const std::vector<SweepPoint>& points,
                       std::size_t most) {
  const bool own = !points.empty() && is_own(points.front());
  bool labels = false, controls = false, staggered = false, overlaps = false, rejected = false;
  bool in_field = false, passed = true;
  std::set<std::string> schedules;  // tau is in cycles of these schedules
  std::vector<SweepRow> rows;
  for (const SweepPoint& point : points) {
    labels = labels || (!own && !point.label.empty());
    passed = passed && point.warnings.empty();
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      schedules.insert(schedule_of(point.sizes[k]));
      const SizeCurves& curves = point.curves[k];
      controls = controls || !curves.controls.empty();
      const HotColdTest& starts = point.hot_cold[k];
      passed = passed && starts.checks > 0 && starts.agree && curves.rejected.empty();
      rejected = rejected || (point.sizes[k].samples.graphs.size() > 1 && !curves.rejected.empty());
      in_field = in_field || curves.has("magnetisation");
      staggered = staggered || curves.has("staggered_m2");
      overlaps = overlaps ||
                 (curves.has("overlap_m2") && config.model.interactions.has_negative_or_random());
      for (std::size_t t = 0; t < curves.temperatures.size(); ++t) rows.push_back({&point, k, t});
    }
  }
  const std::size_t more = rows.size() > most ? rows.size() - most : 0;
  rows.resize(rows.size() - more);
  const auto table = [&](SweepTable kind) {
    std::vector<Cells> cells;
    for (const SweepRow& row : rows) {
      cells.push_back(sweep_cells(row, kind, labels, schedules.size() > 1));
    }
    return cells_table(cells) +
           (more > 0 ? fmt::format("  .. and {} rows more in summary.csv\n", more) : "");
  };
  std::string out =
      fmt::format("\n{}: thermal averages{}\n\n", config.name, model_title(config.model));
  out += table(SweepTable::thermal);
  if (in_field) {
    out += "\nMagnetisation m with its sign (|m| and chi above are without it), and dm/dh:\n\n" +
           table(SweepTable::in_field);
  }
  if (staggered) out += "\nStaggered magnetisation:\n\n" + table(SweepTable::staggered);
  if (overlaps) out += "\nOverlaps of two replicas:\n\n" + table(SweepTable::overlaps);
  out += exchange_text(points, labels, most);
  const bool glass = overlap_crossings_of(config) == OverlapCrossings::glass;
  out += overlap_crossings_text(points, glass, most);
  out += target_text(config, points, most);
  out +=
      "\n2.3772(4) means 2.3772 +- 0.0004: one standard error, by jackknife over graphs "
      "(over\nreplicas if there is one graph). tau is tau_int of m^2 in cycles of the schedule: "
      "every/2\nwithout correlations, less if measurements alternate. J = k_B = 1.\n"
      "<m^2>, <C>/N and more: summary.csv and summary.json. 'rewise help U' explains U, and so "
      "on.\n";
  if (out.find("> ") != std::string::npos) {
    out +=
        "\"> x\": the series of some graphs are too short to determine tau, which is longer than x "
        "there:\nraise measure.\n";
    passed = false;
  }
  if (staggered) out += "tau is tau_int of m_s^2 where that is longer.\n";
  if (in_field) out += "tau is tau_int of m where that is longer.\n";
  if (controls) {
    out +=
        "Control variates correct averages over graphs where they lower the error (F test);\n"
        "without them: energy_plain and so on in summary.csv.\n";
  }
  if (rejected) {
    out +=
        "A row has no values (-) if some of its graphs are not in equilibrium. Averages over the "
        "others\nwould be biased: graphs that are slow differ from those that are fast.\n";
  }
  if (passed && !rows.empty()) {
    out += "\nAll checks passed: hot and cold starts agree in every row, and no tau is unknown.\n";
  }
  return out + sweep_warnings(points);
}

}  // namespace rewise
