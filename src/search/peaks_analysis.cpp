#include "src/search/peaks_analysis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "analysis/scaling/extrapolation.hpp"
#include "src/results/cells.hpp"
#include "src/results/task_results.hpp"
#include "src/search/known_tc.hpp"
#include "src/search/summary_parts.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr double kMinShortcuts = 5;  // p N of the largest size

JackknifeCurve fine_curve(int sample, const SizeSamples& samples, const MomentFunction& f) {
  return curve_over_graphs(sample, fine_grid_table(samples), f, controls(samples));
}

// Exact results for the square lattice without shortcuts (Baxter, J. Phys. C 6, L445 (1973);
// Duminil-Copin, Sidoravicius & Tassion, Commun. Math. Phys. 349, 47 (2017)).
void take_exact(const StudyConfig& config, PeaksResult& point) {
  if (point.p != 0) return;
  point.exact = potts_tc(config.dim(), 0, config.model.q);
  if (!point.exact) return;
  point.exact_latent = square_latent_heat(config.model.q);
  point.exact_order = config.model.q > 4 ? Order::first : Order::second;
}

bool is_used(const SizePeaks& size) { return size.usable && size.outside <= kMaxOutside; }

// A rewired lattice with few shortcuts behaves like the regular one, and the temperatures of its
// peaks converge to the regular transition: q = 3, p = 0.01, up to 16 x 16 sites.
std::string lack_of_shortcuts(const StudyConfig& config, const PeaksResult& point) {
  double largest = 0;
  for (const SizePeaks& size : point.peaks) {
    if (is_used(size)) largest = std::max(largest, size.sites);
  }
  if (point.p == 0 || point.p * largest >= kMinShortcuts) return "";
  const double edge = std::pow(kMinShortcuts / point.p, 1.0 / config.dim());
  return fmt::format(
      "the largest size in use has p N = {:.2g}: with so few shortcuts it still behaves as the "
      "regular lattice; sizes with p N >= {:.0f} are needed (L >= {:.0f})",
      point.p * largest, kMinShortcuts, 2 * std::ceil(edge / 2));
}

Value total(const PottsTransition& found) {
  return {found.temperature.value, std::hypot(found.temperature.error, found.systematic)};
}

PeaksResult analyse(const StudyConfig& config, TcData&& data) {
  PeaksResult point;
  point.p = data.p;
  point.sizes = std::move(data.sizes);
  point.warnings = std::move(data.warnings);
  take_exact(config, point);
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    const SizeData& size = point.sizes[k];
    const auto sample = static_cast<int>(k);
    point.simulated.push_back(simulated_curves(size));
    point.hot_cold.push_back(compare_halves(size));
    std::ranges::move(equilibrium_warnings(config, size), std::back_inserter(point.warnings));
    point.heat.push_back(fine_curve(sample, size.samples, specific_heat));
    point.susceptibility.push_back(fine_curve(sample, size.samples, susceptibility));
    std::vector<GraphPeaks> graphs;
    for (const GraphSample& graph : size.samples.graphs) graphs.push_back(graph.peaks);
    point.peaks.push_back(peaks_of_size(sample, point.heat[k], point.susceptibility[k], graphs,
                                        *size.samples.energies, controls(size.samples)));
    if (!point.hot_cold[k].agree) {
      point.peaks[k].usable = false;
      point.warnings.push_back(fmt::format(
          "{}: not in equilibrium, and left out: replicas that started hot and cold differ in {} "
          "by {:.1f} standard errors; {} (at a first-order transition, large sizes do not change "
          "between the coexisting phases)",
          extents_text(size.extents), point.hot_cold[k].observable,
          std::abs(point.hot_cold[k].worst_z), equilibrium_cure(config)));
    }
    if (point.peaks[k].outside > kMaxOutside) {
      point.warnings.push_back(fmt::format(
          "{}: left out: {:.0f}% of the graphs have their transition outside the window",
          extents_text(size.extents), 100 * point.peaks[k].outside));
    }
  }
  const bool few = std::any_of(point.sizes.begin(), point.sizes.end(), [](const SizeData& size) {
    return size.samples.graphs.size() < kMinGraphs;
  });
  point.transition = find_transition(few ? std::vector<SizePeaks>{} : point.peaks);
  if (few) {
    point.status = "too-few-graphs";
    point.transition.order_reason = "too few graphs";
    point.transition.reasons = {
        fmt::format("fewer than {} graphs of a size do not determine the spread for an error; "
                    "raise lattice.graphs",
                    kMinGraphs)};
  } else if (const std::string lack = lack_of_shortcuts(config, point);
             point.transition.found && !lack.empty()) {
    point.status = "not-converged";
    point.transition.found = false;
    point.transition.reasons = {lack};
  } else if (!point.transition.found) {
    const bool rests = std::all_of(point.peaks.begin(), point.peaks.end(),
                                   [](const SizePeaks& size) { return size.usable; });
    point.status = rests ? "not-converged" : "not-equilibrated";
  } else if (point.transition.fits[point.transition.chosen].dof == 0) {
    point.warnings.emplace_back(
        "only two sizes can be used, which do not test the extrapolation; its error is taken from "
        "other studies; add a size that reaches equilibrium");
  }
  return point;
}

void add_shifts(const StudyConfig& config, std::vector<PeaksResult>& points) {
  std::optional<Value> zero;
  for (const PeaksResult& point : points) {
    if (point.p == 0 && point.transition.found) zero = total(point.transition);
  }
  if (const auto exact = potts_tc(config.dim(), 0, config.model.q)) zero = Value{*exact, 0};
  if (!zero) return;
  for (PeaksResult& point : points) {
    if (point.p == 0 || !point.transition.found) continue;
    const Value here = total(point.transition);
    point.shift = Value{here.value - zero->value, std::hypot(here.error, zero->error)};
  }
}

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
  Json json = size_json(point.sizes[k], point.simulated[k], point.hot_cold[k], config.replicas);
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

Json fit_json(const MeetingFit& fit, bool used) {
  Json json{{"quantity", fit.quantity},
            {"first", fit.first},
            {"limit", printed_json({fit.limit.value, std::hypot(fit.limit.error, fit.systematic)})},
            {"slope", number_json(fit.slope)},
            {"chi2", number_json(fit.chi2)},
            {"dof", fit.dof},
            {"q", number_json(fit.q)},
            {"ok", fit.ok},
            {"used", used}};
  json["limit"]["error"] = number_json(fit.limit.error);
  json["limit"]["systematic"] = number_json(fit.systematic);
  return json;
}

// The latent heat, with both errors added in quadrature.
Value latent_heat(const PottsTransition& found) {
  return {found.latent_heat.value, std::hypot(found.latent_heat.error, found.latent_systematic)};
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
    json["latent_heat"] = printed_json(latent_heat(found));
    json["latent_heat"]["error"] = number_json(found.latent_heat.error);
    json["latent_heat"]["systematic"] = found.latent_systematic;
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
  json["status"] = point.status;
  json["candidate"] = nullptr;
  json["tc"] = nullptr;
  if (found.found) {
    const MeetingFit& fit = found.fits[found.chosen];
    json["tc"] = printed_json(found.temperature, found.systematic);
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
  if (found.order == Order::first) return printed(latent_heat(found));
  return std::isfinite(found.latent_below) ? fmt::format("< {:.2g}", found.latent_below) : "-";
}

// The row of one p in tc.csv and in the table of transitions.
Cells point_cells(const PeaksResult& point) {
  const PottsTransition& found = point.transition;
  const auto tc = found.found ? std::optional(total(found)) : std::nullopt;
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
  return {{"p", "p", point.p},
          {"tc", "T", known(found.temperature.value), printed(tc)},
          {"error", "", known(found.temperature.error)},
          {"systematic", "", known(found.systematic)},
          {"total_error", "", tc ? number_json(tc->error) : Json(nullptr)},
          {"relative_error", "rel. error",
           tc ? Json(number_text(tc->error / tc->value)) : Json(nullptr), relative_error(tc)},
          value_cell("shift", "T - T(0)", point.shift),
          {"order", "order", measured, order + (point.exact_order ? " (exact)" : "")},
          {"exact_order", "", point.exact_order ? Json(order) : Json(nullptr)},
          {"latent_heat", "latent heat",
           first ? number_json(found.latent_heat.value) : Json(nullptr), latent_text(point)},
          {"latent_heat_error", "", first ? number_json(latent_heat(found).error) : Json(nullptr)},
          {"latent_heat_below", "", first ? Json(nullptr) : number_json(found.latent_below)},
          {"chi2", "chi2/dof", known(fit.chi2), chi2},
          {"dof", "", tc ? Json(fit.dof) : Json(nullptr)},
          text_cell("from", from),
          {"status", "", point.status},
          {"reasons", "", fmt::format("{}", fmt::join(found.reasons, "; "))}};
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

}  // namespace

std::vector<PeaksResult> peaks_of(const StudyConfig& config, std::vector<TcData> data) {
  std::vector<PeaksResult> points;
  for (TcData& one : data) points.push_back(analyse(config, std::move(one)));
  add_shifts(config, points);
  return points;
}

Json peaks_summary(const StudyConfig& config, const std::vector<PeaksResult>& points) {
  Json json = summary_head(config, "tc");
  json["method"] = "peaks";
  json["points"] = Json::array();
  for (const PeaksResult& point : points) json["points"].push_back(point_json(config, point));
  const auto exact = potts_tc(config.dim(), 0, config.model.q);
  json["tc0"] = nullptr;
  if (exact) {
    json["tc0"] = printed_json({*exact, 0});
    json["tc0"]["source"] = "exact";
  } else if (!points.empty() && points.front().p == 0 && points.front().transition.found) {
    json["tc0"] = printed_json(total(points.front().transition));
    json["tc0"]["source"] = "measured";
  }
  json["local_exponents"] = Json::array();
  json["power_laws"] = Json::array();
  json["warnings"] = Json::array();
  return json;
}

std::string peaks_csv(const StudyConfig& config, const std::vector<PeaksResult>& points) {
  std::string out = csv_header(config);
  for (const PeaksResult& point : points) {
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      out += csv_rows(config, point.p, config.rule, point.sizes[k], point.simulated[k]);
    }
  }
  return out;
}

std::string peaks_points_csv(const std::vector<PeaksResult>& points) {
  std::vector<Cells> rows;
  for (const PeaksResult& point : points) rows.push_back(point_cells(point));
  return cells_csv(rows);
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
      const Value tc = total(found);
      words += fmt::format(
          "p = {}: the exact T is {:.6f}; this result differs by {:+.1f} standard "
          "errors\n",
          point.p, *point.exact, (tc.value - *point.exact) / tc.error);
    }
    for (const std::string& reason : found.reasons) {
      words += fmt::format("p = {}: no T ({}): {}\n", point.p, point.status, reason);
    }
    for (const std::string& warning : point.warnings) {
      words += fmt::format("warning: p = {}: {}\n", point.p, warning);
    }
  }
  return fmt::format("\n{}: transitions of the Potts model with {} states, {}D, rule {}\n\n",
                     config.name, config.model.q, config.dim(), rule_text(to_string(config.rule))) +
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

}  // namespace rewise
