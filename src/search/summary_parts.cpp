#include "src/search/summary_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "src/base/table.hpp"
#include "src/settings/parse.hpp"
#include "src/study/build_info.hpp"

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
  if (config.clusters.empty()) return "auto";
  return one_or_list(config.clusters, [](ClusterUpdate c) { return Json(to_string(c)); });
}

std::string cell(Value v) {
  const auto text = [](double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; };
  return fmt::format(",{},{}", text(v.value), text(v.error));
}

bool has_overlaps(const StudyConfig& config) {
  return !config.model.is_ferromagnet() && config.model.q == 2;
}

bool has_staggered(const StudyConfig& config) {
  return measures_staggered(config.staggered, config.model, nullptr, "sampling.staggered");
}

bool may_have_field(const StudyConfig& config) {
  return config.model.interactions.may_have_field();
}

// Names of the curves in summary.csv: `first` come before the columns of the plan (rule, schedule,
// ..), `last` after them. New columns are appended, so that old ones keep their positions.
struct CsvCurves {
  std::vector<std::string> first{
      "energy",        "abs_magnetisation", "m2",  "binder", "scaled_m2",
      "specific_heat", "susceptibility",    "tau", "m4",     "cluster_fraction"};
  std::vector<std::string> last;

  explicit CsvCurves(const StudyConfig& config) {
    for (const Observable& o : observables()) last.push_back(fmt::format("{}_plain", o.name));
    for (const Observable& o : observables()) {
      if (std::ranges::find(first, o.name) == first.end()) last.emplace_back(o.name);
    }
    if (has_overlaps(config)) {
      for (const OverlapObservable& o : overlap_observables()) last.emplace_back(o.name);
    }
    if (has_staggered(config)) {
      for (const Observable& o : staggered_observables()) last.emplace_back(o.name);
    }
    if (has_overlaps(config)) last.emplace_back("overlap_tau");
    if (config.exchange) last.emplace_back("exchange_accepted");
    if (may_have_field(config)) {
      for (const Observable& o : field_observables()) last.emplace_back(o.name);
    }
  }
};

}  // namespace

Json progress_json(const TargetProgress& target) {
  return {{"asked", target.requested},
          {"error", number_json(target.reached)},
          {"reached", target.done},
          {"stopped", target.stopped.empty() ? Json(nullptr) : Json(target.stopped)},
          {"rounds", target.rounds}};
}

void add_growth(const SizeBefore& before, const SizeData& now, Json& target) {
  target["graphs_before"] = before.graphs;
  target["graphs_added"] = now.samples.graphs.size() - before.graphs;
  target["measurements_before"] = before.measurements;
  target["measurements_added"] = now.plan.measure - before.measurements;
}

Cells tc_cells(double p, std::string symbol, const std::optional<TwoErrors>& tc) {
  const auto total = tc ? std::optional(tc->total()) : std::nullopt;
  const TwoErrors number = tc.value_or(TwoErrors{});
  const auto known = [&](double x) { return tc ? number_json(x) : Json(nullptr); };
  return {{"p", "p", p},
          {"tc", std::move(symbol), known(number.value.value), printed(total)},
          {"error", "", known(number.value.error)},
          {"systematic", "", known(number.systematic)},
          {"total_error", "", known(number.total().error)},
          {"relative_error", "rel. error",
           total ? Json(number_text(total->error / total->value)) : Json(), relative_error(total)}};
}

Cells tc_row(double p, std::string symbol, const Extrapolation& tc, bool accepted,
             const std::vector<SizeData>& sizes, TcStatus status,
             const std::vector<std::string>& reasons, const Cells& own) {
  const auto known = [&](const auto& x) { return accepted ? plain_json(x) : Json(nullptr); };
  const LinearFit fit = accepted ? tc.fits[tc.chosen].fit : LinearFit{};
  std::string first, last, between = "-", graphs = "-";
  if (!sizes.empty()) {
    first = size_text(sizes.front());
    last = size_text(sizes.back());
    between = fmt::format("{}..{}", first, last);
    graphs = fmt::format("{}..{}", sizes.front().samples.graphs.size(),
                         sizes.back().samples.graphs.size());
  }
  Cells row = tc_cells(p, std::move(symbol),
                       accepted ? std::optional(TwoErrors{tc.value, tc.systematic}) : std::nullopt);
  row.insert(row.end(), own.begin(), own.end());
  const std::string chi2 = accepted ? fmt::format("{:.1f}/{}", fit.chi2, fit.dof) : "-";
  const Cells rest{{"chi2", "chi2/dof", known(fit.chi2), chi2},
                   {"dof", "", known(fit.dof)},
                   {"smallest", "", first},
                   {"largest", "", last},
                   text_cell("sizes", between),
                   text_cell("graphs", graphs),
                   {"status", "", to_string(status)},
                   {"reasons", "", fmt::format("{}", fmt::join(reasons, "; "))}};
  row.insert(row.end(), rest.begin(), rest.end());
  return row;
}

Json printed_json(Value v) {
  Json json = value_json(v);
  if (std::isfinite(v.value)) json["text"] = format_value(v);
  return json;
}

Json printed_json(const std::optional<Value>& v) { return v ? printed_json(*v) : Json(nullptr); }

Json printed_json(const TwoErrors& v) {
  const Value total = v.total();
  Json json = printed_json(total);
  json["error"] = number_json(v.value.error);
  json["systematic"] = number_json(v.systematic);
  json["total_error"] = number_json(total.error);
  return json;
}

std::string model_title(const Model& model) {
  return model == Model{} ? "" : ", " + to_string(model);
}

std::string beside_exact(std::string_view quantity, double exact, Value found, int decimals,
                         std::string_view which) {
  return fmt::format("exact {} is {:.{}f}; {} differs by {:+.1f} standard errors", quantity, exact,
                     decimals, which, (found.value - exact) / found.error);
}

std::string relative_error(const std::optional<Value>& v) {
  return v ? fmt::format("{:.1e}", v->error / v->value) : "-";
}

Json local_exponents_json(const Shifts& shift, const LocalExponents& local) {
  Json list = Json::array();
  for (Eigen::Index k = 0; k < local.p.size(); ++k) {
    list.push_back({{"p_low", shift.p(k)},
                    {"p_high", shift.p(k + 1)},
                    {"p", local.p(k)},
                    {"exponent", printed_json(local.exponent[k])}});
  }
  return list;
}

std::string local_exponents_table(const Shifts& shift, const LocalExponents& local) {
  std::vector<std::vector<std::string>> rows;
  for (Eigen::Index k = 0; k < local.p.size(); ++k) {
    rows.push_back({fmt::format("p = {}..{}", shift.p(k), shift.p(k + 1)),
                    "x = " + printed(local.exponent[k])});
  }
  return aligned_table(rows);
}

Json curve_json(const std::vector<Value>& values) {
  Json value = Json::array(), error = Json::array();
  for (const auto& v : values) {
    value.push_back(number_json(v.value));
    error.push_back(number_json(v.error));
  }
  return {{"value", value}, {"error", error}};
}

Json size_json(const SizeData& size, const SizeAverages& averages, std::uint32_t replicas) {
  const auto& [curves, hot_cold] = averages;
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
  for (const auto& [name, values] : curves.values) json[name] = curve_json(values);
  if (const auto exchange = exchange_means(size)) {
    json["exchange"] = {{"round_trips", exchange->round_trips},
                        {"trips_per_1000_cycles", value_json(exchange->trips_per_1000)}};
  }
  json["controls"] = curves.controls;
  json["hot_cold"] = {
      {"agree", hot_cold.agree},           {"worst_z", number_json(hot_cold.worst_z)},
      {"observable", hot_cold.observable}, {"checks", hot_cold.checks},
      {"level", hot_cold.level},           {"refused", curves.rejected}};
  return json;
}

Json summary_head(const StudyConfig& config, const std::string& kind) {
  Json json;
  json["format"] = "rewise summary";
  json["format_version"] = 1;
  json["kind"] = kind;
  json["name"] = config.name;
  json["version"] = build_info().version;
  json["revision"] = build_info().revision;
  json["seed"] = config.seed;
  json["seconds"] = 0.0;
  json["lattice"] = {
      {"dim", one_or_list(config.dims(), [](int dim) { return Json(dim); })},
      {"rule", one_or_list(config.rules, [](Rule rule) { return Json(to_string(rule)); })}};
  json["observables"] = Json::array();
  const auto describe = [&json](const auto& all) {
    for (const auto& o : all) {
      json["observables"].push_back({{"name", o.name}, {"label", o.label}});
    }
  };
  describe(observables());
  if (has_overlaps(config)) describe(overlap_observables());
  if (has_staggered(config)) describe(staggered_observables());
  if (may_have_field(config)) describe(field_observables());
  json["model"] = to_string(config.model.kind);
  json["q"] = config.model.q;
  json["sampling"] = {{"engine", to_string(config.engine)},
                      {"schedule", schedule_json(config)},
                      {"cluster", cluster_json(config)},
                      {"replicas", config.replicas},
                      {"target_error", plain_json(config.target_error)}};
  if (!config.target_observables.empty()) {
    json["sampling"]["target_observables"] = config.target_observables;
  }
  return json;
}

std::string csv_header(const StudyConfig& config) {
  const CsvCurves curves(config);
  std::string out = "p,dim,extents,sites,graphs,replicas,measurements,temperature";
  for (const auto& name : curves.first) out += fmt::format(",{0},{0}_error", name);
  out += ",rule,schedule,equilibrate,every,cluster";
  for (const auto& name : curves.last) out += fmt::format(",{0},{0}_error", name);
  return out + "\n";
}

std::string csv_rows(const StudyConfig& config, const StudyPoint& point,
                     const std::vector<SizeAverages>& averages) {
  const CsvCurves curves(config);
  std::string out;
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    const SizeData& size = point.sizes[k];
    const SizeCurves& c = averages[k].curves;
    for (std::size_t t = 0; t < c.temperatures.size(); ++t) {
      out += fmt::format("{},{},{},{},{},{},{},{}", point.p, size.extents.size(),
                         csv_text(size_text(size)), size.samples.sites, size.samples.graphs.size(),
                         config.replicas, size.plan.measure, c.temperatures[t]);
      for (const auto& name : curves.first) out += cell(c.at(name, t));
      out += fmt::format(",{},{},{},{},{}", to_string(point.rule), to_string(size.plan.schedule),
                         size.plan.equilibrate, size.plan.every, to_string(size.plan.cluster));
      for (const auto& name : curves.last) out += cell(c.at(name, t));
      out += '\n';
    }
  }
  return out;
}

}  // namespace rewise
