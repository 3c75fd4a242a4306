#include "src/search/tc/tree_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "src/search/summary_parts.hpp"
#include "src/search/tc/tree_criterion.hpp"

namespace rewise {
namespace {

// The point of one order, or nullptr if the study does not search for this order.
const TreePoint* point_of(const TreePoint& point, TreeOrder order) {
  if (point.order == order) return &point;
  for (const TreePoint& other : point.other) {
    if (other.order == order) return &other;
  }
  return nullptr;
}

// The transition temperature of one order. It is valid even if it is unknown which order sets in at
// the higher temperature.
std::optional<Value> tc_of(const TreePoint& point, TreeOrder order) {
  const TreePoint* found = point_of(point, order);
  if (found == nullptr || !found->root.ok || found->edge == 0) return std::nullopt;
  return found->tc().total();
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
  const bool known = point.accepted();
  Json json;
  json["order"] = to_string(point.order);
  json["status"] = to_string(point.status());
  json["reasons"] = tree_reasons(point);
  json["tc"] = known ? printed_json(point.tc()) : Json(nullptr);
  json["tc_exact"] = plain_json(point.exact);
  if (!point.why_not_applicable.empty()) return json;
  json["form"] = point.form == TreeForm::whole ? "whole" : "small-p";
  json["edge"] = point.edge;
  json["graphs"] = point.graphs;
  json["equilibrate"] = point.equilibrate;
  json["measurements"] = point.measure;
  json["rounds"] = point.rounds;
  json["correlation_length"] = number_json(point.length);
  json["slope"] = number_json(point.root.slope);
  json["target"] = {{"asked", point.requested},
                    {"error", number_json(point.reached)},
                    {"reached", known && point.stopped.empty()},
                    {"stopped", point.stopped.empty() ? Json(nullptr) : Json(point.stopped)}};
  json["lambda"] = lambda_json(point);
  for (const TreePoint& other : point.other) json["other_order"] = tree_json(other);
  return json;
}

std::string notes_of(const TreePoint& tree, const std::optional<MethodDifference>& difference) {
  std::string out;
  for (const std::string& reason : tree_reasons(tree)) {
    out += fmt::format("p = {}: no tree condition{}: {}\n", tree.p,
                       tree.order == TreeOrder::spin_glass ? " of the spin glass" : "", reason);
  }
  for (const TreePoint& other : tree.other) out += notes_of(other, {});
  if (difference && !difference->agree) {
    out += fmt::format(
        "p = {}: crossings and tree condition DIFFER by {:.1f} standard errors: no joint value\n",
        tree.p, std::abs(difference->z));
  }
  if (!tree.stopped.empty()) {
    out += fmt::format("p = {}: target of the tree condition MISSED: {}\n", tree.p, tree.stopped);
  }
  if (const auto tc = tree.accepted_tc(); tc && tree.exact) {
    out += fmt::format("the {}\n", beside_exact(fmt::format("Tc({})", tree.p), *tree.exact, *tc, 7,
                                                "that of the tree condition"));
  }
  return out;
}

}  // namespace

std::vector<std::string> tree_reasons(const TreePoint& point) {
  std::vector<std::string> reasons = point.reasons;
  if (!point.why_not_applicable.empty()) reasons.push_back(point.why_not_applicable);
  return reasons;
}

void add_tree(const TreeResult& result, Json& summary) {
  summary["method"] = to_string(result.alone ? TcMethodWord::tree : TcMethodWord::both);
  if (!result.why_none.empty()) {
    summary["tree_refused"] = result.why_none;
    return;
  }
  for (std::size_t k = 0; k < result.points.size(); ++k) {
    Json& point = summary["points"][k];
    const BestTc& best = result.best[k];
    point["tree"] = tree_json(result.points[k]);
    if (result.alone) {
      point["status"] = point["tree"]["status"];
      point["reasons"] = point["tree"]["reasons"];
    }
    point["comparison"] = nullptr;
    if (best.difference) {
      point["comparison"] = {{"difference", value_json(best.difference->value)},
                             {"z", number_json(best.difference->z)},
                             {"agree", best.difference->agree}};
    }
    point["best"] = printed_json(best.tc);
    if (best.tc) point["best"]["method"] = best.method;
    point["best_shift"] = printed_json(best.shift);
    if (best.amplitude) point["amplitude"] = printed_json(best.amplitude);
  }
  Json& best = summary["best"];
  best["tc0"] = printed_json(result.tc0);
  best["local_exponents"] = local_exponents_json(result.shift, result.local);
  if (result.shift.p.size() > 0) best["one_over_gamma"] = result.one_over_gamma;
}

Cells tree_cells(const TreeResult& result, const TcResult& crossings, std::size_t k) {
  const TreePoint& tree = result.points[k];
  const BestTc& best = result.best[k];
  const auto tc = tree.accepted_tc();
  const auto known = [&tc](double x) { return tc ? number_json(x) : Json(nullptr); };
  const auto unless_alone = [&result](const char* head) { return result.alone ? "" : head; };
  const bool both = best.difference.has_value();
  const double z = both ? best.difference->z : 0;
  // True if there was a last step.
  const bool lattices = tree.why_not_applicable.empty() && tree.edge > 0;
  Cells cells{text_cell(unless_alone("crossings"), printed(crossings.points[k].accepted_tc())),
              {"tree_tc", result.alone ? "Tc" : "tree", known(tree.root.tc.value), printed(tc)},
              {"tree_error", "", known(tree.root.tc.error)},
              {"tree_systematic", "", known(tree.systematic)},
              {"tree_total_error", "", known(tree.tc().total().error)},
              {"tree_status", "", to_string(tree.status())},
              {"difference_z", unless_alone("z"), both ? plain_json(z) : Json(nullptr),
               both ? fmt::format("{:+.1f}", z) : "-"},
              value_cell("best", unless_alone("both"), best.tc),
              {"best_method", "", best.method},
              text_cell("rel. error", relative_error(best.tc)),
              value_cell("best_shift", "Tc - Tc(0)", best.shift),
              text_cell("L", lattices ? fmt::format("{}", tree.edge) : "-"),
              text_cell("L/xi", lattices ? fmt::format("{:.1f}", tree.edge / tree.length) : "-"),
              text_cell("bare lattices", lattices ? fmt::format("{}", tree.graphs) : "-")};
  if (!result.orders) return cells;
  const Json order = tc ? Json(to_string(tree.order)) : Json(nullptr);
  cells.push_back({"transition", "transition", order, tc ? order.get<std::string>() : "-"});
  cells.push_back(value_cell("tc_ferromagnet", "ferromagnet", tc_of(tree, TreeOrder::ferromagnet)));
  cells.push_back(value_cell("tc_spin_glass", "spin glass", tc_of(tree, TreeOrder::spin_glass)));
  return cells;
}

std::string tree_text(const StudyConfig& config, const TreeResult& result,
                      const TcResult& crossings) {
  if (!result.why_none.empty()) return fmt::format("\nNo tree condition: {}.\n", result.why_none);
  std::vector<Cells> rows;
  std::string notes;
  for (std::size_t k = 0; k < result.points.size(); ++k) {
    rows.push_back(tree_cells(result, crossings, k));
    rows.back().insert(rows.back().begin(), {"p", "p", result.points[k].p});
    notes += notes_of(result.points[k], result.best[k].difference);
  }
  std::string out = fmt::format("\n{}: Tc by {}the tree condition, {}D, rule {}{}\n\n{}\n{}",
                                config.name, result.alone ? "" : "crossings and by ", config.dim(),
                                rule_text(to_string(config.rule())), model_title(config.model),
                                cells_table(rows), notes);
  if (result.local.p.size() > 0) {
    const bool glass = result.points.front().order == TreeOrder::spin_glass;
    out += fmt::format("\nTc(p) - Tc(0) grows locally as p^x ({} = {:.4f}):\n",
                       glass ? "1/((4 - d - 2 eta) nu)" : "1/gamma", result.one_over_gamma) +
           local_exponents_table(result.shift, result.local);
  }
  if (!result.alone) out += "\nz: the difference of both methods in standard errors.";
  if (result.orders) {
    out +=
        "\ntransition: the order at the higher temperature. The lower temperature is not a second\n"
        "transition.";
  }
  out +=
      "\nThe tree condition (analysis/README.md) needs no extrapolation over sizes: Tc is where "
      "lambda = 1\non bare lattices with L sites along an edge and correlation length xi.\n";
  return out;
}

}  // namespace rewise
