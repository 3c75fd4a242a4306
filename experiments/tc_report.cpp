#include "experiments/tc_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "experiments/build_info.hpp"
#include "experiments/options.hpp"

namespace rewise {
namespace {

Json number_json(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json printed_json(Value v) {
  Json json = value_json(v);
  if (std::isfinite(v.value)) json["text"] = format_value(v);
  return json;
}

Json curve_json(const std::vector<Value>& values) {
  Json value = Json::array(), error = Json::array();
  for (const auto& v : values) {
    value.push_back(number_json(v.value));
    error.push_back(number_json(v.error));
  }
  return {{"value", value}, {"error", error}};
}

Json size_json(const SizeData& size, const SizeResult& result, std::uint32_t replicas) {
  Json json;
  json["extents"] = size.extents;
  json["sites"] = static_cast<std::uint64_t>(size.samples.sites);
  json["graphs"] = size.samples.graphs.size();
  json["replicas"] = replicas;
  json["schedule"] = to_string(size.plan.schedule);
  json["equilibrate"] = size.plan.equilibrate;
  json["measurements"] = size.plan.measure;
  json["every"] = size.plan.every;
  const SizeCurves& curves = result.simulated;
  json["temperatures"] = curves.temperatures;
  json["energy"] = curve_json(curves.energy);
  json["abs_magnetisation"] = curve_json(curves.abs_magnetisation);
  json["m2"] = curve_json(curves.m2);
  json["specific_heat"] = curve_json(curves.specific_heat);
  json["susceptibility"] = curve_json(curves.susceptibility);
  json["binder"] = curve_json(curves.binder);
  json["scaled_m2"] = curve_json(curves.scaled_m2);
  json["tau"] = curve_json(curves.tau);
  json["fine"]["temperatures"] = result.fine.temperatures;
  json["fine"]["binder"] = curve_json(result.fine.binder);
  if (!result.fine.scaled_m2.empty()) {
    json["fine"]["scaled_m2"] = curve_json(result.fine.scaled_m2);
  }
  json["hot_cold"] = {{"agree", result.hot_cold.agree},
                      {"worst_z", result.hot_cold.worst_z},
                      {"checks", result.hot_cold.checks},
                      {"level", kAgreementLevel}};
  return json;
}

std::string_view quantity(int observable) { return observable == 0 ? "binder" : "scaled_m2"; }

const std::vector<std::uint32_t>& extents_of(const PointData& point, double sites) {
  const auto found = std::find_if(point.sizes.begin(), point.sizes.end(),
                                  [&](const SizeData& s) { return s.samples.sites == sites; });
  return found->extents;
}

Json crossings_json(const PointData& point, const PointResult& result) {
  constexpr std::string_view status[] = {"found", "none", "unstable"};
  std::vector<std::size_t> used;
  if (result.tc.ok) used = result.tc.fits[result.tc.chosen].used;
  Json list = Json::array();
  for (std::size_t i = 0; i < result.crossings.size(); ++i) {
    const Crossing& c = result.crossings[i];
    const bool known = c.status != CrossingStatus::none;
    Json json;
    json["quantity"] = quantity(c.observable);
    json["extents"] = {extents_of(point, c.smaller), extents_of(point, c.larger)};
    json["sites"] = {c.smaller, c.larger};
    json["status"] = status[static_cast<std::size_t>(c.status)];
    json["temperature"] = known ? printed_json(estimate(c.temperature)) : Json(nullptr);
    json["height"] = known ? printed_json(estimate(c.height)) : Json(nullptr);
    json["shift"] = crossing_shift(c.smaller, c.larger, result.exponents);
    json["height_shift"] = crossing_height_shift(c.smaller, c.larger, result.exponents);
    json["used"] = std::find(used.begin(), used.end(), i) != used.end();
    list.push_back(std::move(json));
  }
  return list;
}

Json tc_json(const PointResult& result) {
  if (!result.tc.ok) return nullptr;
  const CrossingFit& chosen = result.tc.fits[result.tc.chosen];
  Json json = printed_json(result.tc.value);
  json["systematic"] = result.tc.systematic;
  json["method"] = result.p > 0 ? "mean-field" : "regular";
  json["form"] = chosen.form == SizeForm::shifted ? "shifted" : "constant";
  json["chi2"] = chosen.fit.chi2;
  json["dof"] = chosen.fit.dof;
  json["q"] = chosen.fit.q;
  json["fit"] = Json::array();
  if (chosen.form == SizeForm::constant) return json;
  std::vector<int> observables;
  for (const auto i : chosen.used) observables.push_back(result.crossings[i].observable);
  std::sort(observables.begin(), observables.end());
  observables.erase(std::unique(observables.begin(), observables.end()), observables.end());
  for (std::size_t k = 0; k < observables.size(); ++k) {
    json["fit"].push_back(
        {{"quantity", quantity(observables[k])},
         {"amplitude", value_json(chosen.fit.parameter(static_cast<Eigen::Index>(k) + 1))}});
  }
  return json;
}

Json point_json(const StudyConfig& config, const PointData& point, const PointResult& result) {
  Json json;
  json["p"] = point.p;
  json["sizes"] = Json::array();
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    json["sizes"].push_back(size_json(point.sizes[k], result.sizes[k], config.replicas));
  }
  json["crossings"] = crossings_json(point, result);
  json["tc"] = tc_json(result);
  json["binder_limit"] = result.binder.ok ? printed_json(result.binder.value) : Json(nullptr);
  if (result.binder.ok) json["binder_limit"]["systematic"] = result.binder.systematic;
  json["binder_expected"] = result.binder_expected ? Json(*result.binder_expected) : Json(nullptr);
  json["tc_exact"] = result.exact ? Json(*result.exact) : Json(nullptr);
  json["shift"] = result.shift ? printed_json(*result.shift) : Json(nullptr);
  json["warnings"] = result.warnings;
  return json;
}

Json exponents_json(const TcResult& result) {
  Json list = Json::array();
  for (Eigen::Index k = 0; k < result.local.p.size(); ++k) {
    list.push_back({{"p_low", result.shift.p(k)},
                    {"p_high", result.shift.p(k + 1)},
                    {"p", result.local.p(k)},
                    {"exponent", printed_json(result.local.exponent[k])}});
  }
  return list;
}

Json power_laws_json(const TcResult& result) {
  Json list = Json::array();
  for (const auto& law : result.power_laws) {
    if (!law.ok) continue;
    list.push_back({{"p_first", law.p_first},
                    {"p_last", law.p_last},
                    {"amplitude", printed_json(law.amplitude)},
                    {"exponent", printed_json(law.exponent)},
                    {"chi2", number_json(law.chi2)},
                    {"dof", law.dof},
                    {"q", number_json(law.q)}});
  }
  return list;
}

std::string cell(Value v) {
  const auto text = [](double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; };
  return fmt::format(",{},{}", text(v.value), text(v.error));
}

// Value and, where there is one, systematic error of {"value", "error", "systematic"}.
std::string total_text(const Json& json) {
  if (json.is_null()) return "-";
  const double error = json["error"].is_null() ? std::nan("") : json["error"].get<double>();
  return format_value({json["value"], std::hypot(error, json.value("systematic", 0.0))});
}

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t k = 0; k < row.size(); ++k) {
      std::size_t width = 0;
      for (const auto& other : rows) width = std::max(width, other[k].size());
      line += fmt::format("  {:<{}}", row[k], width);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace

Json tc_summary(const StudyConfig& config, const std::vector<PointData>& points,
                const TcResult& result, double seconds) {
  Json json;
  json["format"] = "rewise summary";
  json["format_version"] = 1;
  json["kind"] = "tc";
  json["name"] = config.name;
  json["version"] = build_info().version;
  json["revision"] = build_info().revision;
  json["seed"] = config.seed;
  json["seconds"] = seconds;
  json["lattice"] = {{"dim", config.dim()}, {"rule", to_string(config.rule)}};
  json["model"] = "ising";
  json["sampling"] = {{"engine", config.engine},
                      {"schedule", config.schedule ? to_string(*config.schedule) : "auto"},
                      {"replicas", config.replicas},
                      {"target_error", config.target_error}};
  json["points"] = Json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    json["points"].push_back(point_json(config, points[i], result.points[i]));
  }
  if (result.tc0_source.empty()) {
    json["tc0"] = nullptr;
  } else {
    json["tc0"] = printed_json(result.tc0);
    json["tc0"]["source"] = result.tc0_source;
  }
  json["local_exponents"] = exponents_json(result);
  json["power_laws"] = power_laws_json(result);
  json["warnings"] = Json::array();
  return json;
}

std::string tc_csv(const StudyConfig& config, const std::vector<PointData>& points,
                   const TcResult& result) {
  std::string out =
      "p,dim,extents,sites,graphs,replicas,measurements,temperature,energy,energy_error,"
      "abs_magnetisation,abs_magnetisation_error,m2,m2_error,binder,binder_error,scaled_m2,"
      "scaled_m2_error,specific_heat,specific_heat_error,susceptibility,susceptibility_error,tau,"
      "tau_error\n";
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t k = 0; k < points[i].sizes.size(); ++k) {
      const SizeData& size = points[i].sizes[k];
      const SizeCurves& c = result.points[i].sizes[k].simulated;
      for (std::size_t t = 0; t < c.temperatures.size(); ++t) {
        out +=
            fmt::format("{},{},{},{},{},{},{},{}", points[i].p, config.dim(),
                        extents_text(size.extents), size.samples.sites, size.samples.graphs.size(),
                        config.replicas, size.plan.measure, c.temperatures[t]);
        for (const auto* curve : {&c.energy, &c.abs_magnetisation, &c.m2, &c.binder, &c.scaled_m2,
                                  &c.specific_heat, &c.susceptibility, &c.tau}) {
          out += cell((*curve)[t]);
        }
        out += "\n";
      }
    }
  }
  return out;
}

std::string tc_headline(const Json& summary) {
  const auto& points = summary["points"];
  std::string out = fmt::format(
      "\n{}: critical temperatures, {}D, rule {}\n\n", summary["name"].get<std::string>(),
      summary["lattice"]["dim"].get<int>(), summary["lattice"]["rule"].get<std::string>());
  std::vector<std::vector<std::string>> rows{{"p", "Tc", "rel. error", "Tc - Tc(0)", "U at Tc",
                                              "(theory)", "chi2/dof", "sizes", "graphs"}};
  for (const auto& point : points) {
    const auto& tc = point["tc"];
    const auto& sizes = point["sizes"];
    std::vector<std::string> row{fmt::format("{}", point["p"].get<double>()), total_text(tc)};
    if (tc.is_null()) {
      row.insert(row.end(), {"-", "-", "-", "-", "-"});
    } else {
      const double error = tc["error"].is_null() ? std::nan("") : tc["error"].get<double>();
      row.push_back(fmt::format(
          "{:.1e}", std::hypot(error, tc["systematic"].get<double>()) / tc["value"].get<double>()));
      row.push_back(total_text(point["shift"]));
      row.push_back(total_text(point["binder_limit"]));
      row.push_back(point["binder_expected"].is_null()
                        ? "-"
                        : fmt::format("{:.4f}", point["binder_expected"].get<double>()));
      row.push_back(fmt::format("{:.1f}/{}", tc["chi2"].get<double>(), tc["dof"].get<int>()));
    }
    row.push_back(fmt::format("{}..{}",
                              fmt::join(sizes.front()["extents"].get<std::vector<int>>(), "x"),
                              fmt::join(sizes.back()["extents"].get<std::vector<int>>(), "x")));
    row.push_back(fmt::format("{}", sizes.back()["graphs"].get<int>()));
    rows.push_back(std::move(row));
  }
  out += aligned(rows);
  for (const auto& point : points) {
    if (point["tc_exact"].is_null() || point["tc"].is_null()) continue;
    const auto& tc = point["tc"];
    const double error =
        std::hypot(tc["error"].is_null() ? std::nan("") : tc["error"].get<double>(),
                   tc["systematic"].get<double>());
    const double exact = point["tc_exact"];
    out +=
        fmt::format("\nTc({}) is known: {:.6f}; ours lies {:+.1f} standard errors from it.\n",
                    point["p"].get<double>(), exact, (tc["value"].get<double>() - exact) / error);
  }
  if (!summary["local_exponents"].empty()) {
    out += "\nTc(p) - Tc(0) grows locally as p^x:\n";
    std::vector<std::vector<std::string>> laws;
    for (const auto& law : summary["local_exponents"]) {
      laws.push_back(
          {fmt::format("p = {}..{}", law["p_low"].get<double>(), law["p_high"].get<double>()),
           "x = " + total_text(law["exponent"])});
    }
    out += aligned(laws);
  }
  out +=
      "\n2.3772(4) means 2.3772 +- 0.0004: one standard error, by jackknife over graphs, with the\n"
      "spread of the extrapolations over sizes added. J = k_B = 1.\n";
  for (const auto& point : points) {
    for (const auto& warning : point["warnings"]) {
      out += fmt::format("warning: p = {}: {}\n", point["p"].get<double>(),
                         warning.get<std::string>());
    }
  }
  return out;
}

}  // namespace rewise
