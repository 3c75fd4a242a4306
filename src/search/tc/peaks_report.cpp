#include "src/search/tc/peaks_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "src/results/cells.hpp"
#include "src/search/known_tc.hpp"
#include "src/search/summary_parts.hpp"
#include "src/search/tc/peaks_analysis.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

std::string_view order_text(Order order) {
  constexpr std::string_view names[] = {"first", "second", "undecided"};
  return names[static_cast<std::size_t>(order)];
}

// At most 200 points, from the range with significant density.
Json histogram_json(const SizePeaks& size, const EnergyGrid& grid) {
  const double least = 1e-3 * size.histogram.maxCoeff();
  Eigen::Index from = 0, to = size.histogram.size() - 1;
  while (from < to && size.histogram[from] < least) ++from;
  while (to > from && size.histogram[to] < least) --to;
  const Eigen::Index step = std::max<Eigen::Index>(1, (to - from) / 200);
  Json energy = Json::array(), density = Json::array(), error = Json::array();
  for (Eigen::Index k = from; k <= to; k += step) {
    energy.push_back(grid.energy[k]);
    density.push_back(number_json(size.histogram[k]));
    error.push_back(number_json(size.histogram_error[k]));
  }
  return {{"temperature", printed_json(estimate(size.heat_temperature))},
          {"energy", energy},
          {"density", density},
          {"error", error}};
}

Json peak_json(const Peak& peak) {
  return {{"inside", peak.inside},
          {"temperature", printed_json(estimate(peak.temperature))},
          {"height", printed_json(estimate(peak.height))}};
}

Json peaks_size_json(const StudyConfig& config, const PeaksResult& point, std::size_t k) {
  const SizePeaks& peaks = point.peaks[k];
  Json json = size_json(point.sizes[k], point.averages[k], config.replicas);
  const Eigen::ArrayXd& grid = point.heat[k].temperature;
  json["fine"] = {{"temperatures", std::vector<double>(grid.begin(), grid.end())},
                  {"specific_heat", curve_json(point.heat[k].values())},
                  {"susceptibility", curve_json(point.susceptibility[k].values())}};
  json["peaks"] = {{"used", is_used(peaks)},
                   {"specific_heat", peak_json(peaks.heat)},
                   {"susceptibility", peak_json(peaks.susceptibility)},
                   {"weights", printed_json(estimate(peaks.weights_temperature))},
                   {"chi_of_graphs", printed_json(estimate(peaks.chi_temperature))},
                   {"heat_of_graphs", printed_json(estimate(peaks.heat_temperature))},
                   {"latent_squared", printed_json(estimate(peaks.latent_squared))},
                   {"two", peaks.two_peaks},
                   {"ordered", nullptr},
                   {"disordered", nullptr},
                   {"barrier", printed_json(estimate(peaks.barrier))}};
  if (peaks.two_peaks) {
    json["peaks"]["ordered"] = printed_json(estimate(peaks.ordered));
    json["peaks"]["disordered"] = printed_json(estimate(peaks.disordered));
  }
  json["histogram"] = histogram_json(peaks, *point.sizes[k].samples.energies);
  return json;
}

// Without "total_error".
Json both_errors(const TwoErrors& v) {
  Json json = printed_json(v);
  json.erase("total_error");
  return json;
}

Json fit_json(const MeetingFit& fit, bool used) {
  return {{"quantity", fit.quantity},
          {"first", fit.first},
          {"limit", both_errors({fit.limit, fit.systematic})},
          {"slope", number_json(fit.slope)},
          {"chi2", number_json(fit.chi2)},
          {"dof", fit.dof},
          {"q", number_json(fit.q)},
          {"ok", fit.ok},
          {"used", used}};
}

TwoErrors latent_heat(const PottsTransition& found) {
  return {found.latent_heat, found.latent_systematic};
}

// The exact order if known, with the measured one beside it.
Json order_json(const PeaksResult& point) {
  const PottsTransition& found = point.transition;
  Json json{{"verdict", order_text(point.exact_order.value_or(found.order))},
            {"source", point.exact_order ? "exact" : "measured"},
            {"measured", order_text(found.order)},
            {"reason", found.order_reason},
            {"latent_exact", plain_json(point.exact_latent)},
            {"latent_heat", nullptr},
            {"latent_below", nullptr}};
  if (found.order == Order::first) {
    json["latent_heat"] = both_errors(latent_heat(found));
  } else {
    json["latent_below"] = number_json(found.latent_below);
  }
  return json;
}

Json point_json(const StudyConfig& config, const PeaksResult& point) {
  const PottsTransition& found = point.transition;
  Json json;
  json["p"] = point.p;
  json["sizes"] = Json::array();
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    json["sizes"].push_back(peaks_size_json(config, point, k));
  }
  json["crossings"] = Json::array();
  json["status"] = to_string(point.status);
  json["candidate"] = nullptr;
  json["tc"] = nullptr;
  if (found.found) {
    const MeetingFit& fit = found.fits[found.chosen];
    json["tc"] = printed_json(temperature_of(found));
    json["tc"]["method"] = "peaks";
    json["tc"]["form"] = "meeting";
    json["tc"]["quantity"] = fit.quantity;
    json["tc"]["chi2"] = fit.chi2;
    json["tc"]["dof"] = fit.dof;
    json["tc"]["q"] = fit.q;
    json["tc"]["fit"] = Json::array();
  }
  json["reasons"] = found.reasons;
  json["extrapolations"] = Json::array();
  for (std::size_t i = 0; i < found.fits.size(); ++i) {
    json["extrapolations"].push_back(fit_json(found.fits[i], found.found && i == found.chosen));
  }
  json["order"] = order_json(point);
  json["binder_limit"] = nullptr;
  json["binder_expected"] = nullptr;
  json["tc_exact"] = plain_json(point.exact);
  json["shift"] = printed_json(point.shift);
  json["target"] = nullptr;
  json["warnings"] = point.warnings;
  return json;
}

// "first order (exact, square lattice: latent heat 0.696); from these sizes: order undecided: .."
std::string order_words(const PeaksResult& point) {
  const Order found = point.transition.order;
  const std::string by_sizes = fmt::format(
      "{}: {}",
      found == Order::undecided ? "order undecided" : fmt::format("{} order", order_text(found)),
      point.transition.order_reason);
  if (!point.exact_order) return by_sizes;
  const double latent = point.exact_latent.value_or(0);
  return fmt::format("{} order (exact, square lattice{}); from these sizes: {}",
                     order_text(*point.exact_order),
                     latent > 0 ? fmt::format(": latent heat {:.4g}", latent) : "", by_sizes);
}

std::string latent_text(const PeaksResult& point) {
  const PottsTransition& found = point.transition;
  if (found.order == Order::first) return printed(latent_heat(found).total());
  return std::isfinite(found.latent_below) ? fmt::format("< {:.2g}", found.latent_below) : "-";
}

// The row of one p in tc.csv and in the table of transitions.
Cells point_cells(const PeaksResult& point) {
  const PottsTransition& found = point.transition;
  const auto tc = found.found ? std::optional(temperature_of(found)) : std::nullopt;
  const auto known = [&tc](double x) { return tc ? number_json(x) : Json(nullptr); };
  const MeetingFit fit = tc ? found.fits[found.chosen] : MeetingFit{};
  const std::string from =
      tc ? fmt::format("{} and weights, {} sizes", fit.quantity == "specific_heat" ? "C" : "chi",
                       fit.dof + 2)
         : "-";
  const std::string chi2 = tc && fit.dof > 0 ? fmt::format("{:.1f}/{}", fit.chi2, fit.dof) : "-";
  const std::string measured(order_text(found.order));
  const std::string order(order_text(point.exact_order.value_or(found.order)));
  const bool first = found.order == Order::first;
  Cells row = tc_cells(point.p, "T", tc);
  const Cells own{
      value_cell("shift", "T - T(0)", point.shift),
      {"order", "order", measured, order + (point.exact_order ? " (exact)" : "")},
      {"exact_order", "", point.exact_order ? Json(order) : Json(nullptr)},
      {"latent_heat", "latent heat", first ? number_json(found.latent_heat.value) : Json(nullptr),
       latent_text(point)},
      {"latent_heat_error", "",
       first ? number_json(latent_heat(found).total().error) : Json(nullptr)},
      {"latent_heat_below", "", first ? Json(nullptr) : number_json(found.latent_below)},
      {"chi2", "chi2/dof", known(fit.chi2), chi2},
      {"dof", "", tc ? Json(fit.dof) : Json(nullptr)},
      text_cell("from", from),
      {"status", "", to_string(point.status)},
      {"reasons", "", fmt::format("{}", fmt::join(found.reasons, "; "))}};
  row.insert(row.end(), own.begin(), own.end());
  return row;
}

// A size that is left out has no values, nor has a curve whose maximum is at an end of the window.
Cells size_cells(double p, const SizeData& size, const SizePeaks& peaks) {
  const auto text = [&](const Jackknifed& x, bool found = true) {
    return found && is_used(peaks) ? printed(estimate(x)) : "-";
  };
  const Peak &heat = peaks.heat, &chi = peaks.susceptibility;
  return {{"", "p", p},
          text_cell("size", size_text(size)),
          {"", "graphs", size.samples.graphs.size()},
          text_cell("T(C max)", text(heat.temperature, heat.inside)),
          text_cell("C max", text(heat.height, heat.inside)),
          text_cell("T(chi max)", text(chi.temperature, chi.inside)),
          text_cell("chi max", text(chi.height, chi.inside)),
          text_cell("T(weights)", text(peaks.weights_temperature)),
          text_cell("e ordered", text(peaks.ordered, peaks.two_peaks)),
          text_cell("e disordered", text(peaks.disordered, peaks.two_peaks)),
          text_cell("valley", text(peaks.barrier, peaks.two_peaks))};
}

Json peaks_summary(const StudyConfig& config, const std::vector<PeaksResult>& points) {
  Json json = summary_head(config, "tc");
  json["method"] = "peaks";
  json["points"] = Json::array();
  for (const PeaksResult& point : points) json["points"].push_back(point_json(config, point));
  const auto exact = potts_tc(config.dim(), 0, config.model.q);
  json["tc0"] = nullptr;
  if (exact) {
    json["tc0"] = printed_json(Value{*exact, 0});
    json["tc0"]["source"] = "exact";
  } else if (!points.empty() && points.front().p == 0 && points.front().transition.found) {
    json["tc0"] = printed_json(temperature_of(points.front().transition).total());
    json["tc0"]["source"] = "measured";
  }
  json["local_exponents"] = Json::array();
  json["power_laws"] = Json::array();
  json["warnings"] = Json::array();
  return json;
}

std::string peaks_text(const StudyConfig& config, const std::vector<PeaksResult>& points) {
  std::vector<Cells> rows, sizes;
  std::string words;
  for (const PeaksResult& point : points) {
    const PottsTransition& found = point.transition;
    rows.push_back(point_cells(point));
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      sizes.push_back(size_cells(point.p, point.sizes[k], point.peaks[k]));
    }
    words += fmt::format("p = {}: {}\n", point.p, order_words(point));
    if (point.exact && found.found) {
      words += fmt::format("p = {}: the {}\n", point.p,
                           beside_exact("T", *point.exact, temperature_of(found).total()));
    }
    for (const std::string& reason : found.reasons) {
      words += fmt::format("p = {}: no T ({}): {}\n", point.p, to_string(point.status), reason);
    }
    for (const std::string& warning : point.warnings) {
      words += fmt::format("warning: p = {}: {}\n", point.p, warning);
    }
  }
  return fmt::format("\n{}: transitions of the Potts model with {} states, {}D, rule {}\n\n",
                     config.name, config.model.q, config.dim(),
                     rule_text(to_string(config.rule()))) +
         cells_table(rows) + "\n" + cells_table(sizes) +
         "\nT: common limit, as sizes grow, of the temperature of the largest chi and the "
         "temperature of equal\nweights. T(weights): at equal weights, the ordered phases have q "
         "times the weight of the disordered\none. C and chi by reweighting. Energies and valley "
         "(logarithm of its depth): from the histogram at\nthe temperature where C of each graph "
         "is largest; - if it has one peak. A size that is left out has no values. 2.3772(4) "
         "means\n2.3772 +- 0.0004, by jackknife over graphs, including what the extrapolation "
         "neglects. J = k_B = 1.\n\n" +
         words;
}

}  // namespace

StudyOutcome peaks_outcome(const StudyConfig& config, std::vector<WindowPoint> data) {
  const std::vector<PeaksResult> points = analyse_peaks(config, std::move(data));
  std::string csv = csv_header(config);
  std::vector<Cells> rows;
  for (const PeaksResult& point : points) {
    csv += csv_rows(config, point, point.averages);
    rows.push_back(point_cells(point));
  }
  return {peaks_summary(config, points), peaks_text(config, points), csv, cells_csv(rows)};
}

}  // namespace rewise
