#include "experiments/study/summary_parts.hpp"

#include <fmt/format.h>

#include <cmath>

#include "experiments/console/build_info.hpp"
#include "experiments/console/options.hpp"

namespace rewise {
namespace {

template <class T, class F>
Json one_or_list(const std::vector<T>& values, const F& form) {
  if (values.size() == 1) return form(values.front());
  Json list = Json::array();
  for (const T& value : values) list.push_back(form(value));
  return list;
}

Json schedule_json(const StudyConfig& config) {
  if (config.schedules.empty()) return "auto";
  return one_or_list(config.schedules, [](const Schedule& s) { return Json(to_string(s)); });
}

std::string cell(Value v) {
  const auto text = [](double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; };
  return fmt::format(",{},{}", text(v.value), text(v.error));
}

// ",energy_plain,energy_plain_error" and so on.
std::string plain_columns() {
  std::string out;
  for (const CurveObservable& o : curve_observables()) {
    out += fmt::format(",{}_plain,{}_plain_error", o.name, o.name);
  }
  return out;
}

}  // namespace

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

Json size_json(const SizeData& size, const SizeCurves& curves, const HotCold& hot_cold,
               std::uint32_t replicas) {
  Json json;
  json["extents"] = size.extents;
  json["sites"] = static_cast<std::uint64_t>(size.samples.sites);
  json["graphs"] = size.samples.graphs.size();
  json["replicas"] = replicas;
  json["schedule"] = to_string(size.plan.schedule);
  json["cluster"] = to_string(size.plan.cluster);
  json["warm_up"] = size.plan.warm_up.cycles;
  json["equilibrate"] = size.plan.equilibrate;
  json["discarded"] = size.plan.discard;
  json["measurements"] = size.plan.measure;
  json["every"] = size.plan.every;
  json["temperatures"] = curves.temperatures;
  json["energy"] = curve_json(curves.energy);
  json["abs_magnetisation"] = curve_json(curves.abs_magnetisation);
  json["m2"] = curve_json(curves.m2);
  json["m4"] = curve_json(curves.m4);
  json["specific_heat"] = curve_json(curves.specific_heat);
  json["susceptibility"] = curve_json(curves.susceptibility);
  json["binder"] = curve_json(curves.binder);
  json["scaled_m2"] = curve_json(curves.scaled_m2);
  json["cluster_fraction"] = curve_json(curves.cluster_fraction);
  json["tau"] = curve_json(curves.tau);
  json["controls"] = curves.controls;
  for (std::size_t k = 0; k < curve_observables().size(); ++k) {
    json[std::string(curve_observables()[k].name) + "_plain"] = curve_json(curves.plain[k]);
  }
  json["hot_cold"] = {{"agree", hot_cold.agree},
                      {"worst_z", number_json(hot_cold.worst_z)},
                      {"observable", hot_cold.observable},
                      {"checks", hot_cold.checks},
                      {"level", hot_cold.level}};
  return json;
}

Json summary_head(const StudyConfig& config, const std::string& kind, double seconds) {
  Json json;
  json["format"] = "rewise summary";
  json["format_version"] = 1;
  json["kind"] = kind;
  json["name"] = config.name;
  json["version"] = build_info().version;
  json["revision"] = build_info().revision;
  json["seed"] = config.seed;
  json["seconds"] = seconds;
  json["lattice"] = {
      {"dim", one_or_list(config.dims(), [](int dim) { return Json(dim); })},
      {"rule", one_or_list(config.rules, [](Rule rule) { return Json(to_string(rule)); })}};
  json["model"] = to_string(config.model);
  json["q"] = config.q;
  json["sampling"] = {
      {"engine", config.engine},
      {"schedule", schedule_json(config)},
      {"cluster", cluster_text(config)},
      {"replicas", config.replicas},
      {"target_error", config.target_error ? Json(*config.target_error) : Json(nullptr)}};
  if (!config.target_observables.empty()) {
    json["sampling"]["target_observables"] = config.target_observables;
  }
  return json;
}

std::string csv_header() {
  return "p,dim,extents,sites,graphs,replicas,measurements,temperature,energy,energy_error,"
         "abs_magnetisation,abs_magnetisation_error,m2,m2_error,binder,binder_error,scaled_m2,"
         "scaled_m2_error,specific_heat,specific_heat_error,susceptibility,susceptibility_error,"
         "tau,tau_error,m4,m4_error,cluster_fraction,cluster_fraction_error,rule,schedule,"
         "equilibrate,every,cluster" +
         plain_columns() + "\n";
}

std::string csv_rows(const StudyConfig& config, double p, Rule rule, const SizeData& size,
                     const SizeCurves& c) {
  std::string out;
  for (std::size_t t = 0; t < c.temperatures.size(); ++t) {
    out += fmt::format("{},{},{},{},{},{},{},{}", p, size.extents.size(),
                       extents_text(size.extents), size.samples.sites, size.samples.graphs.size(),
                       config.replicas, size.plan.measure, c.temperatures[t]);
    for (const auto* curve :
         {&c.energy, &c.abs_magnetisation, &c.m2, &c.binder, &c.scaled_m2, &c.specific_heat,
          &c.susceptibility, &c.tau, &c.m4, &c.cluster_fraction}) {
      out += cell((*curve)[t]);
    }
    out += fmt::format(",{},{},{},{},{}", to_string(rule), to_string(size.plan.schedule),
                       size.plan.equilibrate, size.plan.every, to_string(size.plan.cluster));
    for (const auto& curve : c.plain) out += cell(curve[t]);
    out += '\n';
  }
  return out;
}

}  // namespace rewise
