#include "src/search/tune/tune_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "src/base/count_text.hpp"
#include "src/base/table.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

Json candidate_json(const Updates& candidate) {
  return {{"schedule", to_string(candidate.schedule)}, {"cluster", to_string(candidate.cluster)}};
}

Json row_json(const TuneResult& result, const TuneRow& row) {
  const TrialFigures& f = row.figures;
  Json json = candidate_json(row.candidate);
  json["rank"] = row.rank;
  json["dropped"] = row.record.dropped ? Json(row.record.turns) : Json(nullptr);
  json["rate"] = value_json(f.rate);
  json["worth"] = value_json(f.worth);
  json["seconds_per_cycle"] = value_json(f.seconds);
  json["seconds_per_cycle_measured"] = value_json(f.seconds_measured);
  if (result.exchange()) {
    json["tau"] = {{"q2", value_json(f.tau_q2)}};
    json["slowest_temperature"] =
        std::isfinite(f.tau_q2.value) ? Json(result.spec.temperatures[f.slowest]) : Json(nullptr);
  } else {
    json["tau"] = {{"energy", value_json(f.tau_energy)},
                   {"abs_magnetisation", value_json(f.tau_abs_m)},
                   {"m2", value_json(f.tau_m2)},
                   {"binder", value_json(f.tau_binder)},
                   {"configuration", value_json(f.tau_configuration)}};
    json["variance_left"] = {{"m2", f.m2_left}, {"binder", f.binder_left}};
  }
  json["tau_is_lower_bound"] = !f.tau_known;
  json["worth_is_upper_bound"] = !f.worth_known;
  json["every"] = f.every;
  json["samples"] = f.samples;
  json["seconds"] = row.record.seconds;
  return json;
}

// About three digits: 1.23(5), or 1.23 if the error is unknown.
std::string shown(Value v) {
  if (!std::isfinite(v.value)) return "-";
  if (!std::isfinite(v.error) || v.error <= 0) return fmt::format("{:.3g}", v.value);
  return format_value(v);
}

// The series does not resolve times below half of its spacing, so tau is shown as an upper bound.
std::string shown_tau(Value tau, const TrialFigures& f) {
  if (f.every > 1 && tau.value < 0.6 * static_cast<double>(f.every)) {
    return fmt::format("< {:.2g}", tau.value + std::max(tau.error, 0.0));
  }
  return shown(tau);
}

std::string verdict(const TuneResult& result, std::size_t index) {
  const TuneRow& row = result.rows[index];
  if (index == result.winner) return "best";
  if (row.record.dropped && row.record.turns == 0) return "left out: one cycle takes too long";
  if (row.record.dropped) return "dropped after " + count_text(row.record.turns, "turn");
  const bool tied = std::find(result.tied.begin(), result.tied.end(), index) != result.tied.end();
  if (!std::isfinite(row.figures.worth.value)) return "not measured";
  return tied ? "as good, within errors" : "";
}

std::vector<std::size_t> by_rank(const TuneResult& result) {
  std::vector<std::size_t> order(result.rows.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    order[static_cast<std::size_t>(result.rows[k].rank - 1)] = k;
  }
  return order;
}

std::string worth_over_best(const TuneResult& result, const TuneRow& row) {
  const double ratio = row.figures.worth.value / result.best().figures.worth.value;
  return std::isfinite(ratio) ? fmt::format("{:.3f}", ratio) : "-";
}

// The observables with respect to which schedules are compared.
const char* measured(const TuneResult& result) { return result.exchange() ? "q^2" : "m^2 and U"; }

std::string temperatures_text(const TuneResult& result) {
  const std::vector<double>& all = result.spec.temperatures;
  if (!result.exchange()) return number_text(all.front());
  return fmt::format("{} .. {} (replica exchange{}, {} temperatures)", number_text(all.front()),
                     number_text(all.back()),
                     result.spec.schedule.houdayer ? ", Houdayer moves" : "", all.size());
}

std::vector<std::string> row_text(const TuneResult& result, const TuneRow& row) {
  const TrialFigures& f = row.figures;
  const auto us = [](Value v) { return shown({1e6 * v.value, 1e6 * v.error}); };
  const auto bound = [&](bool known, const char* sign, const std::string& text) {
    return (known || f.samples < 4 ? "" : sign) + text;
  };
  std::vector<std::string> line{to_string(row.candidate), us(f.seconds), us(f.seconds_measured)};
  if (result.exchange()) {
    const bool seen = std::isfinite(f.tau_q2.value);
    line.push_back(bound(f.tau_known, "> ", shown_tau(f.tau_q2, f)));
    line.push_back(seen ? number_text(result.spec.temperatures[f.slowest]) : "-");
  } else {
    line.insert(line.end(),
                {shown_tau(f.tau_energy, f), shown_tau(f.tau_abs_m, f),
                 bound(f.tau_known, "> ", shown_tau(f.tau_m2, f)), shown_tau(f.tau_binder, f),
                 shown_tau(f.tau_configuration, f), bound(f.tau_known, "< ", shown(f.rate))});
  }
  line.push_back(bound(f.worth_known, "< ", shown(f.worth)));
  return line;
}

}  // namespace

Json tune_json(const TuneResult& result) {
  Json json;
  json["graph"] = graph_json(result.graph);
  if (result.exchange()) {
    json["exchange"] = true;
    if (result.spec.schedule.houdayer) json["houdayer"] = true;
    json["temperatures"] = result.spec.temperatures;
  } else {
    json["temperature"] = result.spec.temperatures.front();
  }
  if (result.spec.model.is_potts()) {
    json["model"] = "potts";
    json["q"] = result.spec.model.q;
  }
  const auto interactions = result.spec.model.interactions.words();
  if (!interactions.empty()) json["interactions"] = interactions;  // keys of [model]
  json["engine"] = to_string(result.spec.engine);
  json["device"] = result.device;
  json["threads"] = result.threads;
  json["local"] = to_string(result.spec.local);
  json["replicas"] = result.spec.replicas;
  json["seconds"] = result.seconds;
  json["budget"] = result.budget;
  json["equilibration"] = {{"schedule", to_string(result.equilibrated_by)},
                           {"cycles", result.equilibration}};
  json["warnings"] = result.warnings;
  json["winner"] = candidate_json(result.best().candidate);
  json["tied"] = Json::array();
  for (const std::size_t k : result.tied) {
    json["tied"].push_back(candidate_json(result.rows[k].candidate));
  }
  json["candidates"] = Json::array();
  for (const TuneRow& row : result.rows) json["candidates"].push_back(row_json(result, row));
  return json;
}

Json tune_json(const std::vector<TuneResult>& results) {
  Json json{{"format", "rewise tune"}, {"format_version", 1}, {"settings", Json::array()}};
  for (const TuneResult& result : results) json["settings"].push_back(tune_json(result));
  return json;
}

std::string winner_text(const TuneResult& result) {
  const TuneRow& best = result.best();
  std::string text =
      fmt::format("{}, with {} independent measurements of {} per second",
                  to_string(best.candidate), shown(best.figures.worth), measured(result));
  const Updates usual{
      {1, result.exchange() ? 0u : 1u, result.exchange(), result.spec.schedule.houdayer},
      ClusterUpdate::wolff};
  const auto plain = std::find_if(result.rows.begin(), result.rows.end(),
                                  [&](const TuneRow& row) { return row.candidate == usual; });
  if (plain != result.rows.end() && &*plain != &best && plain->figures.worth.value > 0) {
    const double ratio = best.figures.worth.value / plain->figures.worth.value;
    text += ratio < 1.05 ? fmt::format(", about as many as {}", to_string(usual))
                         : fmt::format(", {:.2g} times as many as {}", ratio, to_string(usual));
  }
  if (!result.tied.empty()) {
    std::vector<std::string> tied;
    for (const std::size_t k : result.tied) tied.push_back(to_string(result.rows[k].candidate));
    text += fmt::format(" (within errors as good: {})", fmt::join(tied, ", "));
  }
  return text;
}

std::string tune_table(const TuneResult& result) {
  const std::string model = result.spec.model == Model{} ? "" : to_string(result.spec.model) + "; ";
  std::string out = fmt::format(
      "{}\n{}T = {}; {} engine, {}, {}, {}, {}; {:.3g} s\n\n", graph_title(result.graph), model,
      temperatures_text(result), to_string(result.spec.engine), result.device,
      count_text(result.threads, "thread"), count_text(result.spec.replicas, "replica"),
      to_string(result.spec.local), result.seconds);
  std::vector<std::string> head{"schedule", "us/cycle", "measured",  "tau(e)",     "tau(|m|)",
                                "tau(m^2)", "tau(U)",   "tau(conf)", "per second", "worth"};
  if (result.exchange()) head = {"schedule", "us/cycle", "measured", "tau(q^2)", "at T", "worth"};
  head.insert(head.end(), {"of best", ""});
  std::vector<std::vector<std::string>> rows{std::move(head)};
  for (const std::size_t k : by_rank(result)) {
    const TuneRow& row = result.rows[k];
    rows.push_back(row_text(result, row));
    rows.back().push_back(worth_over_best(result, row));
    rows.back().push_back(verdict(result, k));
  }
  out += aligned_table(rows);
  for (const std::string& warning : result.warnings) out += "warning: " + warning + "\n";
  return out + fmt::format("\nbest: {}\n", winner_text(result));
}

std::string tune_legend(bool exchange) {
  const std::string about =
      exchange ? "tau(q^2): autocorrelation time of the squared overlap in cycles, 0.5 without\n"
                 "correlations, at the temperature \"at T\" where it is longest.\n"
               : "tau: autocorrelation times in cycles, 0.5 without correlations; conf: of the "
                 "spins.\n"
                 "per second: 1 / (2 tau(m^2) times the duration of a cycle).\n";
  return fmt::format(
      "us/cycle: microseconds of a cycle per replica. measured: with a measurement per cycle.\n"
      "{}worth: independent measurements of {} per second. of best: relative to the best.\n"
      "Longer explanations: rewise tune --help\n",
      about, exchange ? "q^2" : "m^2 and U");
}

std::string scan_table(const std::vector<TuneResult>& results) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> head{"p", "T", "best"};
  for (const TuneRow& row : results.front().rows) head.push_back(to_string(row.candidate));
  rows.push_back(std::move(head));
  for (const TuneResult& result : results) {
    std::vector<std::string> line{number_text(result.graph.p), temperatures_text(result),
                                  to_string(result.best().candidate)};
    for (const TuneRow& row : result.rows) {
      const double ratio = row.figures.worth.value / result.best().figures.worth.value;
      line.push_back(!std::isfinite(ratio) ? "-" : fmt::format("{:.2g}", ratio));
    }
    rows.push_back(std::move(line));
  }
  return fmt::format(
             "Independent measurements of {} per second, relative to the best schedule:\n\n",
             measured(results.front())) +
         aligned_table(rows);
}

}  // namespace rewise
