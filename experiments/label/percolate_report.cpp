#include "experiments/label/percolate_report.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "experiments/console/build_info.hpp"
#include "experiments/console/options.hpp"
#include "experiments/console/table.hpp"

namespace rewise {
namespace {

struct Quantity {
  const char* name;  // in JSON and CSV
  const char* title;
  Value PercolationPoint::*value;
  bool wrapping;
};
constexpr std::array<Quantity, 7> kQuantities{{
    {"wraps_one", "R(one)", &PercolationPoint::one, true},
    {"wraps_either", "R(either)", &PercolationPoint::either, true},
    {"wraps_all", "R(all)", &PercolationPoint::all, true},
    {"largest_share", "s_max/N", &PercolationPoint::largest, false},
    {"largest_ratio", "<s_max>^2/<s_max^2>", &PercolationPoint::largest_ratio, false},
    {"mean_size", "mean size", &PercolationPoint::mean_size, false},
    {"clusters_per_site", "clusters/N", &PercolationPoint::clusters, false},
}};

const char* kind_text(const PercolationRun& run) {
  return run.spec.kind == PercolationKind::bond ? "bond" : "site";
}

const char* status_text(CrossingStatus status) {
  return status == CrossingStatus::found  ? "found"
         : status == CrossingStatus::none ? "none"
                                          : "unstable";
}

bool is_square(const PercolationRun& run) {
  if (run.rewired()) return false;
  for (const GraphSpec& size : run.spec.sizes) {
    if (size.extents.size() != 2 || size.extents[0] != size.extents[1]) return false;
  }
  return true;
}

// A number by itself where samples leave no error (they all agree).
std::string shown(Value v) { return v.error == 0 ? number_text(v.value) : format_value(v); }

}  // namespace

Json percolation_json(const PercolationRun& run) {
  const PercolationSpec& spec = run.spec;
  const GraphSpec& graph = spec.sizes.front();
  Json json;
  json["format"] = "rewise percolation";
  json["format_version"] = 1;
  json["version"] = build_info().version;
  json["kind"] = kind_text(run);
  json["dim"] = graph.extents.size();
  json["p"] = graph.p;
  json["rule"] = to_string(graph.rule);
  json["graph_seed"] = graph.seed;
  json["graphs"] = run.rewired() ? spec.blocks : 1;
  json["samples"] = std::uint64_t{spec.blocks} * spec.samples;
  json["seed"] = spec.seed;
  json["seconds"] = run.seconds;
  json["sizes"] = Json::array();
  for (const PercolationCurves& curves : run.curves) {
    Json size;
    size["extents"] = curves.extents;
    size["points"] = Json::array();
    for (std::size_t k = 0; k < spec.occupation.size(); ++k) {
      Json point;
      point["occupied"] = spec.occupation[k];
      for (const Quantity& q : kQuantities) {
        const bool known = !q.wrapping || !run.rewired();
        point[q.name] = known ? value_json(curves.points[k].*q.value) : Json(nullptr);
      }
      size["points"].push_back(std::move(point));
    }
    json["sizes"].push_back(std::move(size));
  }
  json["crossing_of"] = run.rewired() ? "largest_ratio" : "wraps_either";
  json["crossings"] = Json::array();
  for (const PercolationCrossing& c : run.crossings) {
    const bool found = c.status == CrossingStatus::found;
    json["crossings"].push_back({{"smaller", run.curves[c.smaller].extents},
                                 {"larger", run.curves[c.larger].extents},
                                 {"status", status_text(c.status)},
                                 {"occupied", found ? value_json(c.occupation) : Json(nullptr)},
                                 {"height", found ? value_json(c.height) : Json(nullptr)}});
  }
  const auto known = known_percolation(spec.kind, static_cast<int>(graph.extents.size()));
  json["known_threshold"] = known && !run.rewired() ? Json(known->threshold) : Json(nullptr);
  json["known_height"] = is_square(run) ? Json(kWrapsEither) : Json(nullptr);
  return json;
}

std::string percolation_csv(const PercolationRun& run) {
  std::string text = "extents,occupied";
  for (const Quantity& q : kQuantities) text += fmt::format(",{0},{0}_error", q.name);
  text += "\n";
  const auto number = [](double x) { return std::isfinite(x) ? number_text(x) : std::string(); };
  for (const PercolationCurves& curves : run.curves) {
    for (std::size_t k = 0; k < run.spec.occupation.size(); ++k) {
      text += fmt::format("{},{}", extents_text(curves.extents), number(run.spec.occupation[k]));
      for (const Quantity& q : kQuantities) {
        const Value v = curves.points[k].*q.value;
        const bool known = !q.wrapping || !run.rewired();
        text += known ? fmt::format(",{},{}", number(v.value), number(v.error)) : ",,";
      }
      text += "\n";
    }
  }
  return text;
}

std::string percolation_table(const PercolationRun& run) {
  const PercolationSpec& spec = run.spec;
  const GraphSpec& graph = spec.sizes.front();
  std::string out = fmt::format("{} percolation, {}D, ", kind_text(run), graph.extents.size());
  out += run.rewired() ? fmt::format("p = {}, {}, {} graphs per size", number_text(graph.p),
                                     to_string(graph.rule), spec.blocks)
                       : "periodic";
  out += fmt::format("; {} samples per point\n\n", std::uint64_t{spec.blocks} * spec.samples);
  std::vector<std::vector<std::string>> rows{{"size", "occupied"}};
  for (const Quantity& q : kQuantities) {
    if (!q.wrapping || !run.rewired()) rows[0].push_back(q.title);
  }
  for (const PercolationCurves& curves : run.curves) {
    for (std::size_t k = 0; k < spec.occupation.size(); ++k) {
      rows.push_back({extents_text(curves.extents), number_text(spec.occupation[k])});
      for (const Quantity& q : kQuantities) {
        if (!q.wrapping || !run.rewired()) rows.back().push_back(shown(curves.points[k].*q.value));
      }
    }
  }
  out += aligned_table(rows);
  const char* of = run.rewired() ? "<s_max>^2/<s_max^2>" : "R(either)";
  if (!run.crossings.empty()) out += fmt::format("\nCrossings of {}:\n", of);
  if (run.crossings.empty() && run.curves.size() > 1) {
    out += "\nCrossings of two sizes need four --occupied or more.\n";
  }
  for (const PercolationCrossing& c : run.crossings) {
    const std::string pair = fmt::format("  {} and {}", extents_text(run.curves[c.smaller].extents),
                                         extents_text(run.curves[c.larger].extents));
    out += c.status == CrossingStatus::found
               ? fmt::format("{}: occupied {}, height {}\n", pair, format_value(c.occupation),
                             format_value(c.height))
               : fmt::format("{}: {}\n", pair,
                             c.status == CrossingStatus::none
                                 ? "none in the range of --occupied"
                                 : "not certain (more samples, or a wider --occupied)");
  }
  const auto known = known_percolation(spec.kind, static_cast<int>(graph.extents.size()));
  if (known && !run.rewired()) {
    out += fmt::format("Known: p_c = {:.9g}", known->threshold);
    if (is_square(run)) {
      out += fmt::format("; there R(either) = {:.6f}, R(all) = {:.6f}, R(one) = {:.6f}",
                         kWrapsEither, kWrapsBoth, kWrapsOne);
    }
    out += "\n";
  }
  out += run.rewired()
             ? "\n"
             : "\nR: a cluster wraps around one given direction (mean over them), either, "
               "all.\n";
  out +=
      "s_max: the largest cluster, of N sites; mean size: that of a random occupied site's\n"
      "cluster, the largest left out (it counts as 0).\n";
  return out + fmt::format("{:.3g} s\n", run.seconds);
}

}  // namespace rewise
