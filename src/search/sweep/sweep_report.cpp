#include "src/search/sweep/sweep_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "src/base/count_text.hpp"
#include "src/base/table.hpp"
#include "src/results/cells.hpp"
#include "src/results/run_check.hpp"
#include "src/search/resamples.hpp"
#include "src/search/summary_parts.hpp"

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
bool is_own(const SweepResult& point) { return point.rule == Rule::imported; }

std::string place_of(const SweepResult& point) {
  return fmt::format("p = {}{}{}", point.p, point.label.empty() ? "" : ", ", point.label);
}

constexpr std::size_t kMaxRows = 60;  // of a table

// Removes the rows beyond kMaxRows and returns their number.
template <class Row>
std::size_t limit_rows(std::vector<Row>& rows) {
  const std::size_t more = rows.size() > kMaxRows ? rows.size() - kMaxRows : 0;
  rows.resize(rows.size() - more);
  return more;
}

// The first rows as a table by table(rows), and the number of the other rows.
template <class Row, class Table>
std::string first_rows(std::vector<Row> rows, const Table& table) {
  const std::size_t more = limit_rows(rows);
  return table(rows) + (more > 0 ? fmt::format("  .. and {} more in summary.json\n", more) : "");
}

// The tables of a sweep, each narrow enough for a terminal. summary.csv has all columns.
enum class SweepTable { thermal, in_field, staggered, overlaps };

// One temperature of one size as a row.
struct SweepRow {
  const SweepResult* point;
  std::size_t size, temperature;  // indices
};

// The cells that identify a size of a point.
Cells size_cells(const SweepResult& point, std::size_t k, bool labels) {
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
  const SweepResult& point = *row.point;
  const SizeData& size = point.sizes[row.size];
  const SizeCurves& curves = point.averages[row.size].curves;
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
std::string exchange_text(const std::vector<SweepResult>& points, bool labels) {
  std::vector<Cells> rows;
  for (const SweepResult& point : points) {
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      const auto exchange = exchange_means(point.sizes[k]);
      if (!exchange) continue;
      const auto [least, largest] =
          std::minmax_element(exchange->accepted.begin(), exchange->accepted.end() - 1,
                              [](Value a, Value b) { return a.value < b.value; });
      const auto at = static_cast<std::size_t>(least - exchange->accepted.begin());
      const std::vector<double>& t = point.averages[k].curves.temperatures;
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
         first_rows(std::move(rows), cells_table);
}

Json target_json(const SizeProgress& target, const SizeData& size) {
  Json json = progress_json(target);
  json["observable"] = target.observable;
  json["temperature"] = target.temperature;
  json["thermal"] = target.thermal;
  add_growth(target.before, size, json);
  return json;
}

// Number of sizes that reached the target; for the others, where the error is largest, and why the
// target is missed.
std::string target_text(const StudyConfig& config, const std::vector<SweepResult>& points) {
  if (!config.target_error) return "";
  std::size_t all = 0;
  std::vector<std::vector<std::string>> rows;
  for (const SweepResult& point : points) {
    all += point.size_targets.size();
    for (std::size_t k = 0; k < point.size_targets.size(); ++k) {
      const SizeProgress& target = point.size_targets[k];
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
  return out + first_rows(std::move(rows), aligned_table);
}

// tc names two of these keys differently (../tc/crossings_report.cpp): "quantity" for "observable",
// and "status" with three words for "found". The names are part of the format of summary.json.
Json crossings_json(const SweepResult& point) {
  Json json = Json::array();
  for (const Crossing& crossing : point.crossings) {
    Json one;
    one["sites"] = {crossing.smaller, crossing.larger};
    one["observable"] = crossing_name(crossing.observable);
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

std::string overlap_crossings_text(const std::vector<SweepResult>& points, bool glass) {
  std::vector<Cells> rows;
  for (const SweepResult& point : points) {
    for (const Crossing& crossing : point.crossings) {
      const bool found = crossing.status == CrossingStatus::found;
      rows.push_back(
          {{"", "p", point.p},
           text_cell("sites", fmt::format("{:.0f}, {:.0f}", crossing.smaller, crossing.larger)),
           text_cell("crossing of", std::string(crossing_symbol(crossing.observable))),
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
         first_rows(std::move(rows), cells_table);
}

std::string sweep_warnings(const std::vector<SweepResult>& points) {
  std::string text;
  for (const SweepResult& point : points) {
    for (const std::string& warning : point.warnings) {
      text += fmt::format("warning: {}: {}\n",
                          is_own(point) ? point.sizes.front().name : place_of(point), warning);
    }
  }
  return text;
}

namespace {

Json sweep_summary(const StudyConfig& config, const std::vector<SweepResult>& points) {
  Json json = summary_head(config, "sweep");
  json["points"] = Json::array();
  for (const SweepResult& point : points) {
    Json added;
    added["p"] = point.p;
    added["dim"] = point.dim;
    added["rule"] = to_string(point.rule);
    added["schedule"] = point.schedule ? to_string(*point.schedule) : "auto";
    added["label"] = point.label;
    added["sizes"] = Json::array();
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      added["sizes"].push_back(size_json(point.sizes[k], point.averages[k], config.replicas));
      added["sizes"].back()["target"] = point.size_targets.empty()
                                            ? Json(nullptr)
                                            : target_json(point.size_targets[k], point.sizes[k]);
    }
    if (!point.crossings.empty()) added["overlap_crossings"] = crossings_json(point);
    added["warnings"] = point.warnings;
    json["points"].push_back(std::move(added));
  }
  json["warnings"] = Json::array();
  return json;
}

// What the points have, which decides on the tables and notes of the text.
struct SweepContents {
  bool labels = false, controls = false, staggered = false, overlaps = false, rejected = false;
  bool in_field = false, passed = true;
  std::set<std::string> schedules;  // tau is in cycles of these schedules
  std::vector<SweepRow> rows;
};

SweepContents contents_of(const StudyConfig& config, const std::vector<SweepResult>& points) {
  SweepContents all;
  const bool own = !points.empty() && is_own(points.front());
  for (const SweepResult& point : points) {
    all.labels = all.labels || (!own && !point.label.empty());
    all.passed = all.passed && point.warnings.empty();
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      all.schedules.insert(schedule_of(point.sizes[k]));
      const auto& [curves, starts] = point.averages[k];
      all.controls = all.controls || !curves.controls.empty();
      all.passed = all.passed && starts.checks > 0 && starts.agree && curves.rejected.empty();
      all.rejected =
          all.rejected || (point.sizes[k].samples.graphs.size() > 1 && !curves.rejected.empty());
      all.in_field = all.in_field || curves.has("magnetisation");
      all.staggered = all.staggered || curves.has("staggered_m2");
      all.overlaps = all.overlaps || (curves.has("overlap_m2") &&
                                      config.model.interactions.has_negative_or_random());
      for (std::size_t t = 0; t < curves.temperatures.size(); ++t) {
        all.rows.push_back({&point, k, t});
      }
    }
  }
  return all;
}

// One row per point, size and temperature.
std::string sweep_tables(const StudyConfig& config, SweepContents& all) {
  const std::size_t more = limit_rows(all.rows);
  const auto table = [&](SweepTable kind) {
    std::vector<Cells> cells;
    for (const SweepRow& row : all.rows) {
      cells.push_back(sweep_cells(row, kind, all.labels, all.schedules.size() > 1));
    }
    return cells_table(cells) +
           (more > 0 ? fmt::format("  .. and {} rows more in summary.csv\n", more) : "");
  };
  std::string out =
      fmt::format("\n{}: thermal averages{}\n\n", config.name, model_title(config.model));
  out += table(SweepTable::thermal);
  if (all.in_field) {
    out += "\nMagnetisation m with its sign (|m| and chi above are without it), and dm/dh:\n\n" +
           table(SweepTable::in_field);
  }
  if (all.staggered) out += "\nStaggered magnetisation:\n\n" + table(SweepTable::staggered);
  if (all.overlaps) out += "\nOverlaps of two replicas:\n\n" + table(SweepTable::overlaps);
  return out;
}

// Ends in a newline.
std::string sweep_text(const StudyConfig& config, const std::vector<SweepResult>& points) {
  SweepContents all = contents_of(config, points);
  const bool empty = all.rows.empty();
  std::string out = sweep_tables(config, all);
  out += exchange_text(points, all.labels);
  const bool glass = overlap_crossings_of(config) == OverlapCrossings::glass;
  out += overlap_crossings_text(points, glass);
  out += target_text(config, points);
  out += fmt::format("\n{}", kErrorLegend);
  out +=
      ": one standard error, by jackknife over graphs (over\nreplicas if there is one graph). tau "
      "is tau_int of m^2 in cycles of the schedule: "
      "every/2\nwithout correlations, less if measurements alternate. J = k_B = 1.\n"
      "<m^2>, <C>/N and more: summary.csv and summary.json. 'rewise help U' explains U, and so "
      "on.\n";
  if (out.find("> ") != std::string::npos) {
    out +=
        "\"> x\": the series of some graphs are too short to determine tau, which is longer than x "
        "there:\nraise measure.\n";
    all.passed = false;
  }
  if (all.staggered) out += "tau is tau_int of m_s^2 where that is longer.\n";
  if (all.in_field) out += "tau is tau_int of m where that is longer.\n";
  if (all.controls) {
    out +=
        "Control variates correct averages over graphs where they lower the error (F test);\n"
        "without them: energy_plain and so on in summary.csv.\n";
  }
  if (all.rejected) {
    out +=
        "A row has no values (-) if some of its graphs are not in equilibrium. Averages over the "
        "others\nwould be biased: graphs that are slow differ from those that are fast.\n";
  }
  if (all.passed && !empty) {
    out += "\nAll checks passed: hot and cold starts agree in every row, and no tau is unknown.\n";
  }
  return out + sweep_warnings(points);
}

}  // namespace

StudyOutcome sweep_files(const StudyConfig& config, const std::vector<SweepResult>& points) {
  std::vector<const StudyPoint*> all;
  StudyOutcome files{sweep_summary(config, points), "", csv_header(config)};
  for (const SweepResult& point : points) {
    all.push_back(&point);
    files.csv += csv_rows(config, point, point.averages);
  }
  files.resamples = resamples_of(config, "sweep", all);
  return files;
}

StudyOutcome sweep_outcome(const StudyConfig& config, std::vector<SweepPoint> data) {
  const std::vector<SweepResult> points = analyse_sweep(config, std::move(data));
  StudyOutcome outcome = sweep_files(config, points);
  outcome.text = sweep_text(config, points);
  return outcome;
}

}  // namespace rewise
