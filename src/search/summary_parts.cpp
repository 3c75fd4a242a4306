#include "src/search/summary_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/study/build_info.hpp"
#include "src/study/parse.hpp"

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

Json cluster_json(const StudyConfig& config) {
  if (config.clusters.empty()) return cluster_text(config);
  return one_or_list(config.clusters, [](ClusterUpdate c) { return Json(to_string(c)); });
}

std::string cell(Value v) {
  const auto text = [](double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; };
  return fmt::format(",{},{}", text(v.value), text(v.error));
}

// ",energy_plain,energy_plain_error" and so on.
std::string plain_columns() {
  std::string out;
  for (const Observable& o : observables()) {
    out += fmt::format(",{}_plain,{}_plain_error", o.name, o.name);
  }
  return out;
}

// The observables whose columns stand before those of the plan; newer ones stand at the end.
constexpr std::array<std::string_view, 7> kFirstColumns{
    "energy", "abs_magnetisation", "m2", "binder", "scaled_m2", "specific_heat", "susceptibility"};

bool is_last_column(const Observable& o) {
  return o.name != "m4" &&
         std::find(kFirstColumns.begin(), kFirstColumns.end(), o.name) == kFirstColumns.end();
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
  if (size.extents.empty()) {
    json["graph"] = size.name;
    json["graph_hash"] = size.hash;
  }
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
  for (std::size_t k = 0; k < observables().size(); ++k) {
    const std::string name(observables()[k].name);
    json[name] = curve_json(curves.observables[k]);
    json[name + "_plain"] = curve_json(curves.plain[k]);
  }
  json["cluster_fraction"] = curve_json(curves.cluster_fraction);
  json["tau"] = curve_json(curves.tau);
  json["controls"] = curves.controls;
  json["hot_cold"] = {
      {"agree", hot_cold.agree},           {"worst_z", number_json(hot_cold.worst_z)},
      {"observable", hot_cold.observable}, {"checks", hot_cold.checks},
      {"level", hot_cold.level},           {"refused", curves.refused}};
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
  json["observables"] = Json::array();
  for (const Observable& o : observables()) {
    json["observables"].push_back({{"name", o.name}, {"label", o.label}});
  }
  json["model"] = to_string(config.model);
  json["q"] = config.q;
  json["sampling"] = {
      {"engine", to_string(config.engine)},
      {"schedule", schedule_json(config)},
      {"cluster", cluster_json(config)},
      {"replicas", config.replicas},
      {"target_error", config.target_error ? Json(*config.target_error) : Json(nullptr)}};
  if (!config.target_observables.empty()) {
    json["sampling"]["target_observables"] = config.target_observables;
  }
  return json;
}

std::string csv_header() {
  std::string out = "p,dim,extents,sites,graphs,replicas,measurements,temperature";
  for (const auto name : kFirstColumns) out += fmt::format(",{},{}_error", name, name);
  out +=
      ",tau,tau_error,m4,m4_error,cluster_fraction,cluster_fraction_error,rule,schedule,"
      "equilibrate,every,cluster" +
      plain_columns();
  for (const Observable& o : observables()) {
    if (is_last_column(o)) out += fmt::format(",{},{}_error", o.name, o.name);
  }
  return out + "\n";
}

// In quotes where a text of its own would end the column (RFC 4180).
std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv_rows(const StudyConfig& config, double p, Rule rule, const SizeData& size,
                     const SizeCurves& c) {
  std::string out;
  for (std::size_t t = 0; t < c.temperatures.size(); ++t) {
    out += fmt::format("{},{},{},{},{},{},{},{}", p, size.extents.size(), csv_text(size_text(size)),
                       size.samples.sites, size.samples.graphs.size(), config.replicas,
                       size.plan.measure, c.temperatures[t]);
    for (const auto name : kFirstColumns) out += cell(c.of(name)[t]);
    for (const auto* curve : {&c.tau, &c.of("m4"), &c.cluster_fraction}) out += cell((*curve)[t]);
    out += fmt::format(",{},{},{},{},{}", to_string(rule), to_string(size.plan.schedule),
                       size.plan.equilibrate, size.plan.every, to_string(size.plan.cluster));
    for (const auto& curve : c.plain) out += cell(curve[t]);
    for (const Observable& o : observables()) {
      if (is_last_column(o)) out += cell(c.of(o.name)[t]);
    }
    out += '\n';
  }
  return out;
}

}  // namespace rewise
