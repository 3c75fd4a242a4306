#include "experiments/tc_report.hpp"

#include <fmt/format.h>

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

}  // namespace rewise
