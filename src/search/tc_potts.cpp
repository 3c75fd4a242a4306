#include "src/search/tc_potts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "analysis/scaling/extrapolation.hpp"
#include "src/base/error.hpp"
#include "src/search/known_tc.hpp"
#include "src/search/summary_parts.hpp"
#include "src/search/tc_tasks.hpp"
#include "src/search/tc_window.hpp"
#include "src/study/parse.hpp"
#include "src/study/record.hpp"
#include "src/study/task_results.hpp"

namespace rewise {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint32_t kPottsScanGraphs = 4;
constexpr int kMostPottsMoves = 8;  // of a window
constexpr Eigen::Index kPottsFinePoints = 61;
constexpr std::uint64_t kMeasure = 100;  // where "auto": a histogram needs more than averages do
constexpr double kLeastShortcuts = 5;    // p N of the largest size
constexpr double kHalfWidths = 3;        // of the peak of C, on either side of a narrowed window

double bonds_per_site(const StudyConfig& config, double p) {
  return config.dim() * (base_rule(config.rule) == Rule::add ? 1 + 2 * p : 1);
}

double rounded(double value) { return std::strtod(fmt::format("{:.2g}", value).c_str(), nullptr); }

JackknifeCurve fine_curve(int sample, const SizeSamples& samples, const MomentFunction& f) {
  return curve_over_graphs(sample, fine_table(samples), f, controls(samples));
}

// Where everything lies that a window must hold.
struct Look {
  double low = 0, high = 0;  // of the peaks of C and chi and the mean of equal weights
  double half_width = kNan;  // of the peak of C, at half its height; NaN: it does not fall so far
  double outside = 0;        // share of graphs whose temperatures lie beyond
};

Look look_at(const SizeSamples& samples) {
  const JackknifeCurve heat = fine_curve(0, samples, specific_heat),
                       chi = fine_curve(0, samples, susceptibility);
  const double of_heat = find_peak(heat).temperature.value,
               of_chi = find_peak(chi).temperature.value;
  Look look;
  double weights = 0;
  for (const GraphSample& graph : samples.graphs) {
    weights += graph.peaks.weights_temperature / static_cast<double>(samples.graphs.size());
    look.outside += graph.peaks.outside ? 1.0 / static_cast<double>(samples.graphs.size()) : 0.0;
  }
  look.low = std::min({of_heat, of_chi, weights});
  look.high = std::max({of_heat, of_chi, weights});
  Eigen::Index top = 0;
  const double half = heat.value.maxCoeff(&top) / 2;
  for (Eigen::Index k = 0; k < heat.value.size(); ++k) {
    if (heat.value[k] >= half) continue;
    const double distance = std::abs(heat.temperature[k] - of_heat);
    if (!(distance >= look.half_width)) look.half_width = distance;
  }
  return look;
}

class PeakSearch {
 public:
  PeakSearch(Study& study, const StopToken& stop, Progress& progress)
      : tasks_(study, stop, progress), config_(study.config()) {
    for (std::size_t i = 0; i < tasks_.points.size(); ++i) all_.push_back(i);
  }

  std::vector<PointData> run() {
    if (config_.temperatures.empty()) scan();
    for (std::size_t k = 0; k < config_.sizes.size(); ++k) grow(k);
    std::vector<PointData> data;
    for (auto& point : tasks_.points) data.push_back(std::move(point.data));
    return data;
  }

 private:
  using Who = std::vector<std::size_t>;  // numbers of points

  void scan() {
    tasks_.stage("coarse scan");
    const double sites = site_count(tasks_.extents(0));
    std::vector<StudyTask> list;
    for (TcPoint& point : tasks_.points) {
      SizePlan plan = tasks_.first_plan(point, 0);
      plan.temperatures = scan_temperatures(scan_range(config_, point.data.p), sites);
      plan.equilibrate = 200;
      plan.measure = 100;
      plan.every = 2;
      for (std::uint32_t g = 0; g < kPottsScanGraphs; ++g) {
        list.push_back(tasks_.task_of(point, 0, g, plan, "scan"));
      }
    }
    tasks_.expect(seconds_of(list), tasks_.seconds_from(0, all_));
    std::vector<GraphSample> samples(list.size());
    tasks_.run(list, [&](std::size_t index, TaskData&& data) {
      samples[index] = reduce(list[index].spec, std::move(data), {});
    });
    for (std::size_t i = 0; i < tasks_.points.size(); ++i) {
      const auto& temperatures = list[i * kPottsScanGraphs].spec.temperatures;
      double highest = -1;
      for (std::size_t t = 0; t < temperatures.size(); ++t) {
        double heat = 0;
        for (std::uint32_t g = 0; g < kPottsScanGraphs; ++g) {
          const Moments m = samples[i * kPottsScanGraphs + g]
                                .simulated.row(static_cast<Eigen::Index>(t))
                                .transpose();
          heat += specific_heat(m, sites, temperatures[t]);
        }
        if (heat <= highest) continue;
        highest = heat;
        tasks_.points[i].centre = temperatures[t];
      }
    }
  }

  void grow(std::size_t k) {
    tasks_.stage(extents_text(tasks_.extents(k)));
    tasks_.expect_size(all_, k);
    for (const auto i : all_) open_size(i, k);
    choose_plan(k);
    const std::uint32_t graphs = tasks_.first_graphs(k);
    fill(k, std::min(graphs, kPilotGraphs), all_);
    if (config_.temperatures.empty()) settle(k);
    fill(k, graphs, all_);
  }

  void fill(std::size_t k, std::uint32_t graphs, const Who& who) {
    tasks_.fill(tasks_.cells(who, k, graphs));
  }

  void open_size(std::size_t i, std::size_t k) {
    TcPoint& point = tasks_.points[i];
    SizeData size = tasks_.new_size(point, k);
    if (config_.temperatures.empty()) {
      const double usual = half_window(config_, point.centre, point.data.p, size.samples.sites);
      const double before =
          k == 0 ? usual
                 : point.half_width *
                       std::sqrt(point.data.sizes.back().samples.sites / size.samples.sites);
      point.half_width = rounded(std::min(usual, before));
    }
    point.data.sizes.push_back(std::move(size));
    place_window(point, k);
    // At the middle of the first window, whatever becomes of it.
    tasks_.tune(i, k, config_.measure.value_or(kMeasure));
  }

  void place_window(TcPoint& point, std::size_t k) {
    SizeData& size = point.data.sizes[k];
    size.plan.temperatures = config_.temperatures.empty()
                                 ? window_temperatures(point.centre, point.half_width)
                                 : config_.temperatures;
    const double low = size.plan.temperatures.front(), high = size.plan.temperatures.back();
    size.samples.grid = temperature_grid(low, high, kPottsFinePoints);
    size.samples.energies = energy_grid(size.samples.sites, bonds_per_site(config_, point.data.p),
                                        0.5 * (low + high), config_.model.q);
    size.samples.graphs.clear();
  }

  // Equilibration, cycles per measurement, measurements.
  void choose_plan(std::size_t k) {
    tasks_.find_times(tasks_.cells(all_, k, tasks_.first_graphs(k)), tasks_.seconds_from(k, all_),
                      400, TaskRunner::At::middle);
    for (TcPoint& point : tasks_.points) {
      SizePlan& plan = point.data.sizes[k].plan;
      if (config_.measure) continue;
      // A histogram wants many measurements, though they remember each other: in as many cycles as
      // few that do not would take (phases that coexist remember each other for long).
      if (!config_.every) plan.every = (plan.every * plan.measure + kMeasure - 1) / kMeasure;
      plan.measure = kMeasure;
    }
    tasks_.expect(tasks_.seconds_of_size(k, all_), tasks_.seconds_from(k + 1, all_));
  }

  // Moves and narrows windows until the peaks are well inside of one that both phases reach over.
  void settle(std::size_t k) {
    for (int move = 0; move <= kMostPottsMoves; ++move) {
      Who moved;
      for (const auto i : all_) {
        TcPoint& point = tasks_.points[i];
        SizeData& size = point.data.sizes[k];
        const Look look = look_at(size.samples);
        const double middle = 0.5 * (look.low + look.high), reach = 0.5 * (look.high - look.low);
        double half = point.half_width;
        const double most = half_window(config_, point.centre, point.data.p, size.samples.sites);
        const bool off = std::abs(middle - point.centre) + reach > kInside * half;
        if (off || look.outside > kMostOutside) {
          half = rounded(std::min(std::max(most, half), std::max(half, 1.5 * reach / kInside)));
          if (!off) half = rounded(std::min(std::max(most, half), 1.5 * half));
        } else if (const double wanted =
                       std::max(kHalfWidths * look.half_width, 1.5 * reach / kInside);
                   wanted < 0.6 * half) {
          half = rounded(wanted);
        }
        const bool stays = !off && half == point.half_width;
        if (stays) {
          point.centre = middle;
        } else if (move == kMostPottsMoves) {
          point.data.warnings.push_back(
              fmt::format("{}: no window was found with the peaks well inside",
                          extents_text(tasks_.extents(k))));
        } else {
          point.centre +=
              std::clamp(middle - point.centre, -1.2 * point.half_width, 1.2 * point.half_width);
          point.half_width = half;
          place_window(point, k);
          moved.push_back(i);
        }
      }
      if (moved.empty()) return;
      const std::uint32_t pilots = std::min(tasks_.first_graphs(k), kPilotGraphs);
      tasks_.expect_more(tasks_.seconds_to_fill(tasks_.cells(moved, k, pilots)));
      fill(k, pilots, moved);
    }
  }

  TcTasks tasks_;
  const StudyConfig& config_;
  Who all_;
};

// What is known of the square lattice without shortcuts (Baxter, J. Phys. C 6, L445 (1973);
// Duminil-Copin, Sidoravicius & Tassion, Commun. Math. Phys. 349, 47 (2017)).
void take_exact(const StudyConfig& config, PottsPoint& point) {
  if (point.p != 0) return;
  point.exact = potts_tc(config.dim(), 0, config.model.q);
  if (!point.exact) return;
  point.exact_latent = square_latent_heat(config.model.q);
  point.exact_order = config.model.q > 4 ? Order::first : Order::second;
}

// A rewired lattice with few shortcuts still behaves as the regular one, and the temperatures of
// its peaks meet at that one's transition: q = 3, p = 0.01, up to 16 x 16 sites.
std::string lack_of_shortcuts(const StudyConfig& config, const PottsPoint& point) {
  double largest = 0;
  for (const SizePeaks& size : point.peaks) {
    if (size.usable && size.outside <= kMostOutside) largest = std::max(largest, size.sites);
  }
  if (point.p == 0 || point.p * largest >= kLeastShortcuts) return "";
  const double edge = std::pow(kLeastShortcuts / point.p, 1.0 / config.dim());
  return fmt::format(
      "the largest size in use has p N = {:.2g}: with so few shortcuts it still behaves as the "
      "regular lattice; sizes with p N >= {:.0f} are needed (L >= {:.0f})",
      point.p * largest, kLeastShortcuts, 2 * std::ceil(edge / 2));
}

Value total(const PottsTransition& found) {
  return {found.temperature.value, std::hypot(found.temperature.error, found.systematic)};
}

PottsPoint analyse(const StudyConfig& config, PointData&& data) {
  PottsPoint point;
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
                                        *size.samples.energies));
    if (!point.hot_cold[k].agree) {
      point.peaks[k].usable = false;
      point.warnings.push_back(fmt::format(
          "{}: replicas that started hot and cold differ in {} by {:.1f} standard errors: not in "
          "equilibrium, and left out; {} (of coexisting phases neither is left at a large size)",
          extents_text(size.extents), point.hot_cold[k].observable,
          std::abs(point.hot_cold[k].worst_z), equilibrium_cure(config)));
    }
    if (point.peaks[k].outside > kMostOutside) {
      point.warnings.push_back(fmt::format(
          "{}: {:.0f}% of the graphs have their transition beyond the window, and the size is left "
          "out",
          extents_text(size.extents), 100 * point.peaks[k].outside));
    }
  }
  const bool few = std::any_of(point.sizes.begin(), point.sizes.end(), [](const SizeData& size) {
    return size.samples.graphs.size() < kLeastGraphs;
  });
  point.transition = find_transition(few ? std::vector<SizePeaks>{} : point.peaks);
  if (few) {
    point.status = "too-few-graphs";
    point.transition.order_reason = "too few graphs";
    point.transition.reasons = {
        fmt::format("fewer than {} graphs of a size: their spread is not known well enough for an "
                    "error; raise lattice.graphs",
                    kLeastGraphs)};
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
        "two sizes can be used: they do not test the extrapolation, whose error rests on what "
        "other studies found; add a size that reaches equilibrium");
  }
  return point;
}

void add_shifts(const StudyConfig& config, std::vector<PottsPoint>& points) {
  std::optional<Value> zero;
  for (const PottsPoint& point : points) {
    if (point.p == 0 && point.transition.found) zero = total(point.transition);
  }
  if (const auto exact = potts_tc(config.dim(), 0, config.model.q)) zero = Value{*exact, 0};
  if (!zero) return;
  for (PottsPoint& point : points) {
    if (point.p == 0 || !point.transition.found) continue;
    const Value here = total(point.transition);
    point.shift = Value{here.value - zero->value, std::hypot(here.error, zero->error)};
  }
}

std::string_view order_text(Order order) {
  constexpr std::string_view names[] = {"first", "second", "undecided"};
  return names[static_cast<std::size_t>(order)];
}

// At most 200 points, where the density is worth showing.
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

Json peaks_size_json(const StudyConfig& config, const PottsPoint& point, std::size_t k) {
  const SizePeaks& peaks = point.peaks[k];
  Json json = size_json(point.sizes[k], point.simulated[k], point.hot_cold[k], config.replicas);
  const Eigen::ArrayXd& grid = point.heat[k].temperature;
  json["fine"] = {{"temperatures", std::vector<double>(grid.begin(), grid.end())},
                  {"specific_heat", curve_json(point.heat[k].values())},
                  {"susceptibility", curve_json(point.susceptibility[k].values())}};
  json["peaks"] = {{"used", peaks.usable && peaks.outside <= kMostOutside},
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

// With both errors.
Value latent_heat(const PottsTransition& found) {
  return {found.latent_heat.value, std::hypot(found.latent_heat.error, found.latent_systematic)};
}

// The exact verdict where there is one; what the sizes say stands beside it.
Json order_json(const PottsPoint& point) {
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

Json point_json(const StudyConfig& config, const PottsPoint& point) {
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
std::string order_words(const PottsPoint& point) {
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

std::string latent_text(const PottsPoint& point) {
  const PottsTransition& found = point.transition;
  if (found.order == Order::first) return printed(latent_heat(found));
  return std::isfinite(found.latent_below) ? fmt::format("< {:.2g}", found.latent_below) : "-";
}

// One p in the table of transitions.
Cells point_cells(const PottsPoint& point) {
  const PottsTransition& found = point.transition;
  const auto tc = found.found ? std::optional(total(found)) : std::nullopt;
  std::string from = "-", chi2 = "-";
  if (tc) {
    const MeetingFit& fit = found.fits[found.chosen];
    from = fmt::format("{} and weights, {} sizes", fit.quantity == "specific_heat" ? "C" : "chi",
                       fit.dof + 2);
    if (fit.dof > 0) chi2 = fmt::format("{:.1f}/{}", fit.chi2, fit.dof);
  }
  return {
      {"", "p", point.p},
      text_cell("T", printed(tc)),
      text_cell("rel. error", relative_error(tc)),
      text_cell("T - T(0)", printed(point.shift)),
      text_cell("order", fmt::format("{}{}", order_text(point.exact_order.value_or(found.order)),
                                     point.exact_order ? " (exact)" : "")),
      text_cell("latent heat", latent_text(point)),
      text_cell("chi2/dof", chi2),
      text_cell("from", from)};
}

Cells size_cells(double p, const SizeData& size, const SizePeaks& peaks) {
  const auto text = [](const Jackknifed& x) { return printed(estimate(x)); };
  const auto of_two = [&](const Jackknifed& x) { return peaks.two_peaks ? text(x) : "-"; };
  return {{"", "p", p},
          text_cell("size", size_text(size)),
          {"", "graphs", size.samples.graphs.size()},
          text_cell("T(C max)", text(peaks.heat.temperature)),
          text_cell("C max", text(peaks.heat.height)),
          text_cell("T(chi max)", text(peaks.susceptibility.temperature)),
          text_cell("chi max", text(peaks.susceptibility.height)),
          text_cell("T(weights)", text(peaks.weights_temperature)),
          text_cell("e ordered", of_two(peaks.ordered)),
          text_cell("e disordered", of_two(peaks.disordered)),
          text_cell("valley", of_two(peaks.barrier))};
}

}  // namespace

bool by_peaks(const StudyConfig& config) {
  const bool plain_square = config.dim() == 2 && config.p == std::vector<double>{0};
  return config.model.q > 2 && !(config.model.q <= 4 && plain_square);
}

void check_peaks_config(const StudyConfig& config, const std::string& file) {
  const auto unfit = [&](const std::string& what) {
    throw Error(ExitCode::usage, file + ": " + what);
  };
  if (config.sizes.size() < 3) {
    unfit(
        fmt::format("lattice.sizes: {}; tc with {} states needs three sizes or more, over which "
                    "peaks are extrapolated",
                    config.sizes.size(), config.model.q));
  }
  if (config.target_error) {
    unfit(fmt::format("sampling.target_error: tc with {} states goes by peaks and takes none",
                      config.model.q));
  }
  if (config.method) {
    unfit(fmt::format("sampling.method: tc with {} states goes by peaks and takes none",
                      config.model.q));
  }
  if (config.dim() == 1 && config.p.front() == 0) {
    unfit("lattice.p: 0 in one dimension, where nothing orders; give p > 0");
  }
}

std::vector<PottsPoint> search_peaks(Study& study, const StopToken& stop, Progress& progress) {
  std::vector<PottsPoint> points;
  for (PointData& data : PeakSearch(study, stop, progress).run()) {
    points.push_back(analyse(study.config(), std::move(data)));
  }
  add_shifts(study.config(), points);
  return points;
}

Json peaks_summary(const StudyConfig& config, const std::vector<PottsPoint>& points) {
  Json json = summary_head(config, "tc");
  json["method"] = "peaks";
  json["points"] = Json::array();
  for (const PottsPoint& point : points) json["points"].push_back(point_json(config, point));
  const auto exact = potts_tc(config.dim(), 0, config.model.q);
  json["tc0"] = nullptr;
  if (exact) {
    json["tc0"] = printed_json({*exact, 0});
    json["tc0"]["source"] = "exact";
  } else if (points.front().p == 0 && points.front().transition.found) {
    json["tc0"] = printed_json(total(points.front().transition));
    json["tc0"]["source"] = "measured";
  }
  json["local_exponents"] = Json::array();
  json["power_laws"] = Json::array();
  json["warnings"] = Json::array();
  return json;
}

std::string peaks_csv(const StudyConfig& config, const std::vector<PottsPoint>& points) {
  std::string out = csv_header();
  for (const PottsPoint& point : points) {
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      out += csv_rows(config, point.p, config.rule, point.sizes[k], point.simulated[k]);
    }
  }
  return out;
}

std::string peaks_text(const StudyConfig& config, const std::vector<PottsPoint>& points) {
  std::vector<Cells> rows, sizes;
  std::string words;
  for (const PottsPoint& point : points) {
    const PottsTransition& found = point.transition;
    rows.push_back(point_cells(point));
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      sizes.push_back(size_cells(point.p, point.sizes[k], point.peaks[k]));
    }
    words += fmt::format("p = {}: {}\n", point.p, order_words(point));
    if (point.exact && found.found) {
      const Value tc = total(found);
      words +=
          fmt::format("p = {}: T is known: {:.6f}; ours lies {:+.1f} standard errors from it\n",
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
                     config.name, config.model.q, config.dim(), to_string(config.rule)) +
         cells_table(rows) + "\n" + cells_table(sizes) +
         "\nT: where the temperatures of the largest chi and of equal weights of a graph's phases "
         "meet "
         "as sizes\ngrow. T(weights): the energies of the ordered phases weigh q times those of "
         "the "
         "disordered one.\nC and chi by reweighting. Energies and valley (logarithm of its depth) "
         "from "
         "the histogram where each\ngraph's C is largest; - where there is one peak. 2.3772(4) "
         "means "
         "2.3772 +- 0.0004, by jackknife over\ngraphs, with what the extrapolation leaves open. "
         "J = k_B = 1.\n\n" +
         words;
}

}  // namespace rewise
