#include "src/search/tree_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "analysis/scaling/exponents.hpp"
#include "src/base/table.hpp"
#include "src/search/known_tc.hpp"
#include "src/search/summary_parts.hpp"

namespace rewise {
namespace {

// Beyond this many standard errors of their difference both values are not the same number.
constexpr double kDiffer = 3;

double gamma_of(int dim) { return dim == 2 ? 1.75 : dim == 3 ? 1.237075 : 1; }

Value value_of(const Json& json) {
  const auto number = [](const Json& x) {
    return x.is_null() ? std::numeric_limits<double>::quiet_NaN() : x.get<double>();
  };
  return {number(json["value"]),
          number(json.contains("total_error") ? json["total_error"] : json["error"])};
}

std::string text_of(const Json& json) {
  return json.is_null() ? "-" : format_value(value_of(json));
}

Json lambda_json(const TreePoint& point) {
  Json list = Json::array();
  for (const TreeLambda& l : point.lambda) {
    list.push_back({{"temperature", l.temperature},
                    {"lambda", l.lambda.value},
                    {"error", number_json(l.lambda.error)},
                    {"edge", l.edge}});
  }
  return list;
}

Json tree_json(const TreePoint& point) {
  Json json;
  json["status"] = point.accepted() ? "ok" : point.none.empty() ? "not-found" : "does-not-apply";
  json["reasons"] = point.reasons;
  if (!point.none.empty()) json["reasons"].push_back(point.none);
  const bool known = point.accepted();
  json["tc"] = known ? printed_json(point.total()) : Json(nullptr);
  if (known) {
    json["tc"]["error"] = number_json(point.root.tc.error);
    json["tc"]["systematic"] = number_json(point.systematic);
    json["tc"]["total_error"] = number_json(point.total().error);
  }
  json["tc_exact"] = point.exact ? Json(*point.exact) : Json(nullptr);
  if (!point.none.empty()) return json;
  json["form"] = point.form == TreeForm::whole ? "whole" : "small-p";
  json["edge"] = point.edge;
  json["graphs"] = point.graphs;
  json["equilibrate"] = point.equilibrate;
  json["measurements"] = point.measure;
  json["rounds"] = point.rounds;
  json["correlation_length"] = number_json(point.length);
  json["slope"] = number_json(point.root.slope);
  json["target"] = {{"asked", point.asked},
                    {"error", number_json(point.reached)},
                    {"reached", known && point.stopped.empty()},
                    {"stopped", point.stopped.empty() ? Json(nullptr) : Json(point.stopped)}};
  json["lambda"] = lambda_json(point);
  return json;
}

// Of two values with independent errors.
void compare_methods(Json& point) {
  const Json &crossings = point["tc"], &tree = point["tree"]["tc"];
  point["comparison"] = nullptr;
  point["best"] = nullptr;
  const auto take = [&](const Value& value, const char* method) {
    point["best"] = printed_json(value);
    point["best"]["method"] = method;
  };
  if (!crossings.is_null() && !tree.is_null()) {
    const Value a = value_of(crossings), b = value_of(tree);
    const double error = std::hypot(a.error, b.error), z = (b.value - a.value) / error;
    point["comparison"] = {{"difference", value_json({b.value - a.value, error})},
                           {"z", number_json(z)},
                           {"agree", std::abs(z) <= kDiffer}};
    if (std::abs(z) > kDiffer) return;
    const double wa = 1 / (a.error * a.error), wb = 1 / (b.error * b.error);
    take({(wa * a.value + wb * b.value) / (wa + wb), 1 / std::sqrt(wa + wb)}, "both");
  } else if (!tree.is_null()) {
    take(value_of(tree), "tree");
  } else if (!crossings.is_null()) {
    take(value_of(crossings), "crossings");
  }
}

// Shifts, local exponents and shift / p^(1/gamma) from the best values.
void add_shifts(const StudyConfig& config, Json& summary) {
  const auto tc0 = regular_tc_value(config.dim());
  Json best;
  best["tc0"] = tc0 ? printed_json(*tc0) : Json(nullptr);
  best["local_exponents"] = Json::array();
  std::vector<double> p;
  std::vector<Value> tc;
  std::vector<Json*> points;
  for (Json& point : summary["points"]) {
    point["best_shift"] = nullptr;
    if (point["best"].is_null() || point["p"] == 0 || !tc0) continue;
    p.push_back(point["p"]);
    tc.push_back(value_of(point["best"]));
    points.push_back(&point);
  }
  if (!p.empty()) {
    const Shifts shift = shifts(p, tc, *tc0);
    const double power = 1 / gamma_of(config.dim());
    for (std::size_t k = 0; k < p.size(); ++k) {
      const Value value = shift[static_cast<Eigen::Index>(k)];
      const double scale = std::pow(p[k], -power);
      (*points[k])["best_shift"] = printed_json(value);
      (*points[k])["amplitude"] = printed_json({value.value * scale, value.error * scale});
    }
    best["one_over_gamma"] = power;
    if (p.size() > 1) {
      const LocalExponents local = local_exponents(shift);
      for (Eigen::Index k = 0; k < local.p.size(); ++k) {
        best["local_exponents"].push_back({{"p_low", shift.p(k)},
                                           {"p_high", shift.p(k + 1)},
                                           {"p", local.p(k)},
                                           {"exponent", printed_json(local.exponent[k])}});
      }
    }
  }
  summary["best"] = std::move(best);
}

std::vector<std::string> row_of(const Json& point) {
  const Json& tree = point["tree"];
  std::vector<std::string> row{fmt::format("{}", point["p"].get<double>()), text_of(point["tc"]),
                               text_of(tree["tc"])};
  const Json& compared = point["comparison"];
  row.push_back(compared.is_null() ? "-" : fmt::format("{:+.1f}", compared["z"].get<double>()));
  const Json& best = point["best"];
  row.push_back(text_of(best));
  row.push_back(
      best.is_null() ? "-" : fmt::format("{:.1e}", value_of(best).error / value_of(best).value));
  row.push_back(text_of(point["best_shift"]));
  if (!tree.contains("edge") || tree["edge"] == 0) {
    row.insert(row.end(), {"-", "-", "-"});
    return row;
  }
  const double length = tree["correlation_length"].is_null()
                            ? std::numeric_limits<double>::quiet_NaN()
                            : tree["correlation_length"].get<double>();
  row.push_back(fmt::format("{}", tree["edge"].get<int>()));
  row.push_back(fmt::format("{:.1f}", tree["edge"].get<int>() / length));
  row.push_back(fmt::format("{}", tree["graphs"].get<int>()));
  return row;
}

std::string notes_of(const Json& point) {
  std::string out;
  const std::string p = fmt::format("p = {}", point["p"].get<double>());
  const Json& tree = point["tree"];
  for (const Json& reason : tree["reasons"]) {
    out += fmt::format("{}: no tree condition: {}\n", p, reason.get<std::string>());
  }
  if (!point["comparison"].is_null() && !point["comparison"]["agree"].get<bool>()) {
    out += fmt::format(
        "{}: crossings and tree condition DIFFER by {:.1f} standard errors: no value of both\n", p,
        std::abs(point["comparison"]["z"].get<double>()));
  }
  if (tree.contains("target") && tree["target"]["stopped"].is_string()) {
    out += fmt::format("{}: the tree condition's target is MISSED: {}\n", p,
                       tree["target"]["stopped"].get<std::string>());
  }
  if (!tree["tc_exact"].is_null() && !tree["tc"].is_null()) {
    const Value tc = value_of(tree["tc"]);
    out += fmt::format(
        "Tc({}) is known: {:.7f}; the tree condition's lies {:+.1f} standard errors "
        "from it\n",
        point["p"].get<double>(), tree["tc_exact"].get<double>(),
        (tc.value - tree["tc_exact"].get<double>()) / tc.error);
  }
  return out;
}

}  // namespace

void add_tree(const StudyConfig& config, const std::vector<TreePoint>& points,
              const std::string& refusal, Json& summary) {
  summary["method"] = to_string(config.method.value_or(TcMethod::both));
  if (!refusal.empty()) {
    summary["tree_refused"] = refusal;
    return;
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    Json& point = summary["points"][i];
    point["tree"] = tree_json(points[i]);
    if (config.method == TcMethod::tree) {  // the point's result is the tree condition's
      point["status"] = point["tree"]["status"];
      point["reasons"] = point["tree"]["reasons"];
    }
    compare_methods(point);
  }
  add_shifts(config, summary);
}

std::string tree_headline(const Json& summary) {
  if (!summary.contains("best")) {
    return summary.contains("tree_refused")
               ? fmt::format("\nNo tree condition: {}.\n",
                             summary["tree_refused"].get<std::string>())
               : "";
  }
  const bool alone = summary["method"] == to_string(TcMethod::tree);
  std::string out = fmt::format(
      "\n{}: Tc by {}the tree condition, {}D, rule {}\n\n", summary["name"].get<std::string>(),
      alone ? "" : "crossings and by ", summary["lattice"]["dim"].get<int>(),
      summary["lattice"]["rule"].get<std::string>());
  std::vector<std::vector<std::string>> rows{{"p", "crossings", alone ? "Tc" : "tree", "z", "both",
                                              "rel. error", "Tc - Tc(0)", "L", "L/xi",
                                              "bare lattices"}};
  for (const Json& point : summary["points"]) rows.push_back(row_of(point));
  for (auto& row : rows) {
    if (!alone) break;
    row.erase(row.begin() + 3, row.begin() + 5);
    row.erase(row.begin() + 1);
  }
  out += aligned_table(rows) + "\n";
  for (const Json& point : summary["points"]) out += notes_of(point);
  const Json& local = summary["best"]["local_exponents"];
  if (!local.empty()) {
    rows.clear();
    for (const Json& law : local) {
      rows.push_back(
          {fmt::format("p = {}..{}", law["p_low"].get<double>(), law["p_high"].get<double>()),
           "x = " + text_of(law["exponent"])});
    }
    out += fmt::format("\nTc(p) - Tc(0) grows locally as p^x (1/gamma = {:.4f}):\n",
                       summary["best"]["one_over_gamma"].get<double>()) +
           aligned_table(rows);
  }
  if (!alone) out += "\nz: the difference in standard errors.";
  out +=
      "\nThe tree condition (analysis/README.md) needs no sizes: Tc is where lambda = 1 on bare\n"
      "lattices, of L sites along an edge, correlation length xi.\n";
  return out;
}

std::string tree_csv_header() {
  return ",tree_tc,tree_error,tree_systematic,tree_total_error,tree_status,difference_z,best,"
         "best_error,best_method,best_shift,best_shift_error";
}

std::string tree_csv(const Json& point) {
  const auto cell = [](const Json& json, const char* key) -> std::string {
    if (!json.is_object() || !json.contains(key) || json[key].is_null()) return "";
    return json[key].is_string() ? json[key].get<std::string>() : json[key].dump();
  };
  const Json& tree = point["tree"];
  std::vector<std::string> cells;
  for (const char* key : {"value", "error", "systematic", "total_error"}) {
    cells.push_back(cell(tree["tc"], key));
  }
  cells.push_back(cell(tree, "status"));
  cells.push_back(cell(point["comparison"], "z"));
  for (const char* key : {"value", "error", "method"}) cells.push_back(cell(point["best"], key));
  for (const char* key : {"value", "error"}) cells.push_back(cell(point["best_shift"], key));
  return fmt::format(",{}", fmt::join(cells, ","));
}

}  // namespace rewise
