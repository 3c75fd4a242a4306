#include "src/search/tc/tree_criterion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analysis/scaling/regular_lattice.hpp"
#include "analysis/series/statistics.hpp"
#include "src/search/couplings.hpp"
#include "src/settings/engines.hpp"

namespace rewise {
namespace {

// Number of graphs of the last pilots with removed bonds (rules rewire and swap). It allows five of
// the eight control variates. Without any, bare lattices differ so much that the last step would be
// planned far too large. Other pilots have kFewPilots graphs, or kHugePilots if lattices have more
// than kHuge sites or a few lattices are enough.
constexpr std::uint32_t kTreePilotGraphs = 24, kFewPilots = 8, kHugePilots = 4;
constexpr double kHuge = 1u << 21;
constexpr int kTreePilotTemperatures = 6;
constexpr std::uint64_t kPilotMeasure = 20, kMaxMeasure = 240;  // updates
constexpr double kPilotRatio = 8, kHugeRatio = 4;               // L / xi of the last pilots
constexpr double kTreeError = 1e-4;  // relative error of Tc without a target_error
constexpr double kWide = 0.25;       // half the range of ln lambda of the last pilots
constexpr double kNarrow = 0.0075;   // the same for the last step, unless curvature limits it
constexpr double kErrors = 4;        // minimum half range in units of the error, to determine the
                                     // slope
constexpr double kCurvatureShare = 0.2;  // part of the error that unknown curvature may contribute
constexpr double kUnknownCurvature = 0.5;  // of ln lambda in u, if the pilots do not determine it
constexpr std::uint32_t kGraphs = 64;  // approximate number in the last step; determines the size
constexpr std::uint32_t kMinBareLattices = 8;  // minimum; twice as many for small lattices
// Thermal variance of ln lambda at its root, relative to that of ln X_MM at one T: for a cubic
// polynomial through six temperatures, and for a straight line through two.
constexpr double kPilotVarianceRatio = 0.4, kLastVarianceRatio = 0.5;
constexpr double kMinDisorder = 0.03;  // minimum part of the pilots' variance, which is uncertain
constexpr double kMaxBareSites = 1u << 22;  // per lattice, unless xi requires more
constexpr int kMaxPilots = 24, kMaxRounds = 10, kMaxTreeMoves = 4;
constexpr double kSmallP = 1e-3;      // largest p of the small-p form
constexpr double kSmallPError = 0.3;  // relative error of its lambda, divided by p
// Rule swap: relative error of lambda due to the different surroundings of removed bonds, divided
// by U_2; times p/0.1 for smaller p (analysis/README.md, "Rule swap").
constexpr double kSwapError = 0.01;
constexpr double kRemovedShare = 0.1;  // part of the error that a wrong removed fraction may cause
constexpr double kStartsDiffer = 4;    // standard errors; 1 of 16 000 checks in equilibrium

std::uint32_t even_edge(double edge) {
  return 2 * static_cast<std::uint32_t>(std::ceil(std::max(edge, 4.0) / 2 - 1e-9));
}

// Smallest useful edge: about 2^12 sites, in one dimension 2^14.
std::uint32_t least_edge(int dim) {
  constexpr std::uint32_t edges[] = {0, 16384, 64, 16, 8};
  return edges[dim];
}

// Fraction of a lattice's tiles (EngineFactory::tile_length) on a device that is filled.
double filled_tiles(int dim, std::uint32_t edge) {
  double part = 1;
  for (int k = 0; k < dim && dim > 1; ++k) {
    const std::uint32_t length = factory(kDefaultEngine).tile_length(dim, k);
    part *= static_cast<double>(edge) / ((edge + length - 1) / length * length);
  }
  return part;
}

// The edge near `edge`, and at least `least`, with the best filled tiles.
std::uint32_t tiled_edge(int dim, std::uint32_t least, std::uint32_t edge) {
  std::uint32_t best = std::max(least, edge);
  for (std::uint32_t e = std::max(least, even_edge(0.85 * edge)); e <= 1.15 * edge; e += 2) {
    if (filled_tiles(dim, e) > filled_tiles(dim, best)) best = e;
  }
  return best;
}

// Updates after which X_MM of an ordered start has decreased to its mean, with a margin. On regular
// lattices with 8 correlation lengths, the decrease takes 9, 12 and 17 updates for xi = 20, 50 and
// 100 in two dimensions, 13 and 25 for xi = 10 and 20 in three, 4 and 18 for xi = 1.2 and 5 in
// four. Random starts take less than half of that. in_equilibrium() tests the result.
std::uint64_t equilibration(int dim, double length) {
  constexpr double per_length[] = {0, 0, 0, 1.8, 5};
  const double xi = std::max(length, 1.0);
  return 4 + static_cast<std::uint64_t>(
                 std::ceil(std::max(8 * std::pow(xi, 0.35), per_length[dim] * xi)));
}

// Error of ln lambda half way between two temperatures at a distance `width` in u.
double curvature_error(double width) { return kUnknownCurvature / 8 * width * width; }

double rounded(double temperature) {
  return std::strtod(fmt::format("{:.9g}", temperature).c_str(), nullptr);
}

double reference_of(const TreeRule& rule, double t) {
  return std::max(bare_reference(rule), 1e-3 * t);
}

// Temperature with lambda near 1, from amplitudes of the regular lattice: only a starting value.
double likely_temperature(const TreeRule& rule) {
  if (rule.dim == 1) return chain_tc(rule);
  const double reference = bare_reference(rule);
  const double tc = regular_lattice(rule.dim).tc().value;
  double low = reference > 0 ? 1e-6 : 0.1, high = 40;  // of T - T_b
  for (int step = 0; step < 200; ++step) {
    const double above = std::sqrt(low * high), t = reference + above, beta = 1 / t;
    // Approximates X_MM by that of the regular lattice at the same relative distance to its
    // transition.
    const double mm = regular_mm(rule.dim, tc * t / reference_of(rule, t), rule.order);
    BareAverages x{mm, 0, 0, std::tanh(beta)};
    if (rule.is_glass()) {  // estimated contribution of the removed bond of a tree, squared
      const double rho = rule.dim * rule.p * (1 - rule.p / 2);
      const double off = std::pow(rho == 0 ? 0 : 0.5 * (1 + std::exp(-2 * beta)), 2);
      x.md = rho * off * mm;
      x.dd = rho * off * x.md;
    }
    if (rule.network == TreeNetwork::swap) {  // likewise, with the sites of the other removed bonds
      const double beside = 1 - 1.0 / (2 * rule.dim), off = 0.5 * (1 + std::exp(-2 * beta));
      x.dd = rule.dim * rule.dim * rule.removed * rule.removed * off * off * (mm - 1 + beside);
    }
    const TreeForm form =
        rule.is_glass() || rule.network == TreeNetwork::swap ? TreeForm::whole : TreeForm::small_p;
    (tree_eigenvalue(rule, beta, x, form) > 1 ? low : high) = above;
  }
  return reference + std::sqrt(low * high);
}

// <M^2>/N at that temperature: approximately the inverse of the other factors of lambda.
double likely_size(const TreeRule& rule, double t) {
  if (!rule.is_glass()) return 1 / (rule.shortcuts.mean_tanh(1 / t) * 2 * rule.dim * rule.p);
  const double scale =
      rule.dim == 1 ? 1 : regular_lattice(rule.dim).tc().value / reference_of(rule, t);
  return regular_mm(rule.dim, scale * t);
}

void fail(TreeSearchState& search, const std::string& reason) {
  search.data.reasons.push_back(reason);
  search.done = true;
}

void keep_lambda(TreeSearchState& search, const TreeRoot& root) {
  auto& kept = search.data.lambda;
  for (std::size_t t = 0; t < root.lambda.size(); ++t) {
    const double at = search.temperatures[t];
    std::erase_if(kept, [&](const TreeLambda& l) { return l.temperature == at; });
    kept.push_back({at, root.lambda[t], search.edge});
  }
  std::sort(kept.begin(), kept.end(),
            [](const TreeLambda& a, const TreeLambda& b) { return a.temperature < b.temperature; });
}

// Whether the range is narrow, so that these may be the last pilots.
bool near_root(const TreeSearchState& search) { return search.pilots > 0 && search.narrow; }

// L / xi that is sufficient for the last pilots.
double pilot_ratio(const TreeSearchState& search, double length) {
  return std::pow(kPilotRatio * length, search.rule.dim) > kHuge ? kHugeRatio : kPilotRatio;
}

// Whether a few lattices are enough. Sums over pairs of clusters vary more between updates than
// sums over clusters do, so that differences between large lattices matter less.
bool averages_itself(const TreeSearchState& search) {
  constexpr double large = 1u << 17;
  return search.rule.is_glass() && search.sites() > large;
}

// Rule swap: fraction of bonds that bare lattices lack, at a temperature where their bonds have the
// mean <s s'> = `bond`.
double removed_at(const TreeRule& rule, double temperature, double bond) {
  const double g = across_removed_bond(rule, 1 / temperature, bond);
  return rounded(swap_rings(rule, 1 / temperature, g).removed);
}

// Relative change of Tc if bare lattices had the removed fraction of the root.
double removed_shift(const TreeRule& rule, const TreeRoot& root) {
  if (rule.network != TreeNetwork::swap) return 0;
  const double wrong = removed_at(rule, root.tc.value, root.bond) - rule.removed;
  return std::abs(wrong) * tc_per_removed(rule) / root.tc.value;
}

double swap_error(const TreeRule& rule, const TreeRoot& root) {
  if (rule.network != TreeNetwork::swap) return 0;
  const double beta = 1 / root.tc.value, g = across_removed_bond(rule, beta, root.bond);
  const double coupling = swap_ring(rule.shortcuts.mean_tanh(beta), g, 2).coupling;
  return kSwapError * std::abs(coupling) * std::min(1.0, rule.p / 0.1);
}

void set_removed(TreeSearchState& search, double temperature, double bond) {
  if (search.rule.network == TreeNetwork::swap) {
    search.rule.removed = removed_at(search.rule, temperature, bond);
  }
}

// Sets temperatures over [low, high] in u.
void lay_pilots(TreeSearchState& search) {
  search.temperatures.clear();
  for (int k = 0; k < kTreePilotTemperatures; ++k) {
    const double u = search.low + (search.high - search.low) * k / (kTreePilotTemperatures - 1);
    search.temperatures.push_back(rounded(tree_temperature(search.rule, u)));
  }
  search.measure = kPilotMeasure;
  search.graphs = search.sites() > kHuge || averages_itself(search)      ? kHugePilots
                  : search.rule.has_removed_bonds() && near_root(search) ? kTreePilotGraphs
                                                                         : kFewPilots;
  search.rows.clear();
  search.fit = {3, false, 0};
}

// Number of control variates that the graphs allow. For small p, only the number of removed bonds:
// pairs of them are too rare (at p = 0.001, eight controls give four times the variance of one).
Eigen::Index controls_of(const TreeSearchState& search) {
  const Eigen::Index all = !search.rule.has_removed_bonds()        ? 0
                           : search.data.form == TreeForm::small_p ? 1
                                                                   : kBareCounts;
  return std::clamp<Eigen::Index>(static_cast<Eigen::Index>(search.rows.size()) / 4 - 1, 0, all);
}

// Includes control variates, the most important first.
TreeTable table_of(const TreeSearchState& search) {
  TreeTable table;
  table.temperature = search.temperatures;
  const auto graphs = static_cast<Eigen::Index>(search.rows.size());
  const auto count = static_cast<Eigen::Index>(search.temperatures.size());
  const Eigen::Index used = controls_of(search);
  for (auto* x : {&table.mm, &table.md, &table.dd, &table.bond, &table.size}) {
    x->resize(graphs, count);
  }
  table.controls.x.resize(graphs, used);
  table.controls.mu = control_counts(mean_bare_counts(search.graph_spec())).head(used);
  for (Eigen::Index g = 0; g < graphs; ++g) {
    const TreeRow& row = search.rows[static_cast<std::size_t>(g)];
    table.mm.row(g) = row.mm.transpose();
    table.md.row(g) = row.md.transpose();
    table.dd.row(g) = row.dd.transpose();
    table.bond.row(g) = row.bond.transpose();
    table.size.row(g) = row.size.transpose();
    table.controls.x.row(g) = row.counts.head(used).transpose();
  }
  return table;
}

// Checks that hot and cold starts agree. If not, drops the rows, extends the equilibration and
// returns false. The error comes from the replicas: the differences of 4 or 8 lattices alone would
// determine it so poorly that excesses of ten percent remain unnoticed.
bool in_equilibrium(TreeSearchState& search) {
  double difference = 0, variance = 0;
  for (const TreeRow& row : search.rows) {
    difference += row.hot_less_cold.value;
    variance += row.hot_less_cold.error * row.hot_less_cold.error;
  }
  if (std::abs(difference) <= kStartsDiffer * std::sqrt(variance)) return true;
  search.rows.clear();
  search.equilibrate *= 2;
  if (search.equilibrate < 5000) return false;
  fail(search, "hot and cold starts differ after 5000 updates");
  return false;
}

// Bare lattices run on the default engine.
bool is_too_large(double sites) {
  return sites >= static_cast<double>(traits(kDefaultEngine).sites_below);
}

std::string too_large() {
  return "the correlation length of the bare lattice requires more sites than the multispin "
         "engine supports (2^31)";
}

// Interpolates ln lambda linearly in u between the two temperatures around lambda = 1.
double root_between(const TreeSearchState& search, const TreeRoot& root) {
  for (std::size_t t = 0; t + 1 < root.lambda.size(); ++t) {
    const double a = std::log(root.lambda[t].value), b = std::log(root.lambda[t + 1].value);
    if (a >= 0 && b < 0) {
      const double ua = tree_coordinate(search.rule, search.temperatures[t]),
                   ub = tree_coordinate(search.rule, search.temperatures[t + 1]);
      return ua + (ub - ua) * a / (a - b);
    }
  }
  return 0.5 * (search.low + search.high);
}

// The pilots' temperature nearest to u.
Eigen::Index nearest(const TreeSearchState& search, double u) {
  std::size_t near = 0;
  for (std::size_t t = 1; t < search.temperatures.size(); ++t) {
    if (std::abs(tree_coordinate(search.rule, search.temperatures[t]) - u) <
        std::abs(tree_coordinate(search.rule, search.temperatures[near]) - u)) {
      near = t;
    }
  }
  return static_cast<Eigen::Index>(near);
}

// Whether the root is farther from the centre of the window than the width of the window.
bool off_centre(const TreeSearchState& search, const TreeRoot& root) {
  const double u0 = tree_coordinate(search.rule, search.temperatures[0]),
               u1 = tree_coordinate(search.rule, search.temperatures[1]);
  const double u = tree_coordinate(search.rule, root.tc.value);
  return std::abs(u - 0.5 * (u0 + u1)) > u1 - u0;
}

// Sets two temperatures beside the root. `missed`: possible finite-size error of ln lambda on the
// lattices that gave `root`.
void lay_last(TreeSearchState& search, const TreeRoot& root, double missed) {
  // Derivative of ln lambda in u.
  const double t = root.tc.value, h = 1e-6;
  const double per_u =
      root.slope * h /
      (tree_coordinate(search.rule, t * (1 + h)) - tree_coordinate(search.rule, t));
  const double wanted = search.data.requested * std::abs(root.slope),
               straight = std::sqrt(kCurvatureShare * wanted / curvature_error(1)) / 2;
  const double in_u = 1 / std::abs(per_u);
  const double half = std::max({std::min(std::max(kNarrow, kErrors * wanted) * in_u, straight),
                                2 * root.lambda_error.error * in_u, missed * in_u});
  const double u = tree_coordinate(search.rule, t);
  search.temperatures = {rounded(tree_temperature(search.rule, u - half)),
                         rounded(tree_temperature(search.rule, u + half))};
  search.rows.clear();
  search.fit = {1, true, std::clamp(search.pilot.curvature, -1.0, 1.0)};
}

// Plans size, temperatures and number of graphs of the last step from the pilots.
void begin_last(TreeSearchState& search) {
  const TreeRoot& pilot = search.pilot;
  const double wanted =
      search.data.requested * std::abs(pilot.slope);  // requested error of ln lambda
  const double ratio =
      std::clamp(std::log((search.rule.is_glass() ? 480 : 40) / wanted), 8.0, 20.0);
  search.data.length = bare_correlation_length(search.rule.dim, pilot.size);
  // Divides the variance of ln lambda of one lattice, times its sites, into the part that further
  // updates reduce (update_variance, for one update) and the rest (lattice_variance).
  double thermal = 0;
  for (const TreeRow& row : search.rows) {
    thermal += row.thermal / static_cast<double>(search.rows.size());
  }
  const double all =
      std::pow(pilot.lambda_error.error, 2) * static_cast<double>(search.rows.size());
  const double pilot_variance = std::min(kPilotVarianceRatio * thermal, (1 - kMinDisorder) * all);
  // A low estimate (one standard deviation below, without the noise of fitted control variates),
  // since lattices can be added later but not removed.
  const auto graphs_of_pilots = static_cast<double>(search.rows.size());
  const double unfitted = graphs_of_pilots - static_cast<double>(controls_of(search));
  const double low = all * unfitted / graphs_of_pilots * (1 - std::sqrt(2 / unfitted));
  const double update_variance = kLastVarianceRatio / kPilotVarianceRatio * pilot_variance *
                                 kPilotMeasure * search.sites(),
               lattice_variance =
                   std::max(low - pilot_variance, kMinDisorder * all) * search.sites();
  search.equilibrate =
      std::max(search.equilibrate, equilibration(search.rule.dim, search.data.length));
  const auto measure = [](double updates) {
    return static_cast<std::uint64_t>(
        std::clamp(std::round(updates), double{kPilotMeasure}, double{kMaxMeasure}));
  };
  const auto sites_for = [&](std::uint64_t updates) {
    return (update_variance / static_cast<double>(updates) + lattice_variance) / (wanted * wanted);
  };
  // Minimises the work for the error: (equilibrate + m) (update_variance / m + lattice_variance).
  search.measure = measure(
      std::sqrt(static_cast<double>(search.equilibrate) * update_variance / lattice_variance));
  const double dim = search.rule.dim, pilot_edge = search.edge;
  const double by_error =
      std::pow(std::min(sites_for(search.measure) / kGraphs, kMaxBareSites), 1 / dim);
  search.edge = tiled_edge(
      search.rule.dim, std::max(least_edge(search.rule.dim), even_edge(ratio * search.data.length)),
      even_edge(by_error));
  if (is_too_large(search.sites())) return fail(search, too_large());
  const bool many = search.sites() < kHuge && !averages_itself(search);
  const double least = many ? 2 * kMinBareLattices : kMinBareLattices;
  const double room = least * search.sites() * wanted * wanted - lattice_variance;
  if (room > 0) search.measure = std::min(search.measure, measure(1.5 * update_variance / room));
  search.last = true;
  const double graphs = std::ceil(0.7 * sites_for(search.measure) / search.sites());
  search.graphs = static_cast<std::uint32_t>(std::clamp(graphs, least, double{kGraphs}));
  if (search.rule.has_removed_bonds() && search.sites() < kMaxBareSites &&
      !averages_itself(search)) {
    search.graphs = std::max(search.graphs, kTreePilotGraphs);
  }
  set_removed(search, pilot.tc.value, pilot.bond);
  const double missed = tree_finite_size(pilot_edge / search.data.length, search.rule.order);
  lay_last(search, pilot, std::min(0.5 * missed, 0.1));
}

// Moves and narrows the range, enlarges the lattice, or starts the last step.
void decide_pilot(TreeSearchState& search, const TreeRoot& root, const TreeTable& table) {
  if (++search.pilots > kMaxPilots)
    return fail(search, "the pilots found no temperature with lambda = 1");
  for (std::size_t t = 0; t < root.lambda.size(); ++t) {
    const double size = table.size.col(static_cast<Eigen::Index>(t)).mean();
    const bool large = search.edge >= 4 * bare_correlation_length(search.rule.dim, size);
    if (large && root.lambda[t].value + 4 * root.lambda[t].error < 1) {
      search.data.upper_bound = std::min(search.data.upper_bound, search.temperatures[t]);
    }
  }
  const double first = root.lambda.empty() ? std::nan("") : root.lambda.front().value;
  const double end = root.lambda.empty() ? std::nan("") : root.lambda.back().value;
  const double width = search.high - search.low;
  const double length_low = bare_correlation_length(search.rule.dim, table.size.col(0).mean());
  const auto grow = [&](double length) {
    const double wanted = std::min(1.1 * pilot_ratio(search, length) * length, 8.0 * search.edge);
    if (is_too_large(std::pow(wanted, search.rule.dim))) return false;
    search.edge = std::max(search.edge, even_edge(wanted));
    search.equilibrate = std::max(search.equilibrate, equilibration(search.rule.dim, length));
    return true;
  };
  if (!(first > 1)) {  // the root lies below the range
    if (search.edge < 4 * length_low) {
      if (!grow(length_low)) return fail(search, too_large());
    } else {
      search.high = search.low + 0.2 * width;
      search.low = search.high - width;
    }
    return lay_pilots(search);
  }
  if (!(end < 1)) {  // the root lies above the range
    search.low = search.high - 0.2 * width;
    search.high = search.low + width;
    return lay_pilots(search);
  }
  const double u = root_between(search, root);
  const double slope = (std::log(end) - std::log(first)) / width;
  const Eigen::Index near = nearest(search, u);
  search.data.length = bare_correlation_length(search.rule.dim, table.size.col(near).mean());
  const bool small =
      search.edge < 0.9 * pilot_ratio(search, search.data.length) * search.data.length;
  const double half = std::max(kWide / -slope, 1e-9);
  if (small && !grow(search.data.length)) return fail(search, too_large());
  if (small || width > 2.6 * half || !root.ok) {
    set_removed(search, search.temperatures[static_cast<std::size_t>(near)],
                table.bond.col(near).mean());
    search.low = u - half;
    search.high = u + half;
    search.narrow = true;
    return lay_pilots(search);
  }
  keep_lambda(search, root);
  search.pilot = root;
  search.data.root = root;
  begin_last(search);
}

void decide_last(TreeSearchState& search, const TreeRoot& root) {
  TreePoint& point = search.data;
  ++point.rounds;
  const double shift = root.ok ? removed_shift(search.rule, root) : 0;
  if (!root.ok || off_centre(search, root) || shift > kRemovedShare * point.requested) {
    point.edge = 0;
    if (++search.moves > kMaxTreeMoves)
      return fail(search, "the temperature window does not converge to the root");
    if (!root.ok) {
      search.pilots = 0;
      search.last = false;
      const double u = tree_coordinate(search.rule, search.pilot.tc.value);
      search.low = u - 0.4;
      search.high = u + 0.4;
      return lay_pilots(search);
    }
    set_removed(search, root.tc.value, root.bond);
    return lay_last(search, root, 0);
  }
  point.root = root;
  point.edge = search.edge;
  point.graphs = search.graphs;
  point.equilibrate = search.equilibrate;
  point.measure = search.measure;
  point.length = bare_correlation_length(search.rule.dim, root.size);
  const double slope = std::abs(root.slope);
  const double size = tree_finite_size(search.edge / point.length, search.rule.order);
  const double u0 = tree_coordinate(search.rule, search.temperatures[0]),
               u1 = tree_coordinate(search.rule, search.temperatures[1]);
  const double curvature = curvature_error(u1 - u0);
  const double form = point.form == TreeForm::small_p ? kSmallPError * point.p : 0;
  const double removed_error = slope * shift;
  point.systematic =
      root.tc.value / slope *
      std::sqrt(size * size + curvature * curvature + form * form +
                std::pow(swap_error(search.rule, root), 2) + removed_error * removed_error);
  point.reached = point.tc().total().error / root.tc.value;
  if (point.reached <= point.requested) {
    keep_lambda(search, root);
    search.done = true;
    return;
  }
  const double statistical = root.tc.error / root.tc.value,
               left_out = point.systematic / root.tc.value;
  const double room = point.requested * point.requested - left_out * left_out;
  // With more graphs, fitted control variates add less noise.
  const double unfitted = search.graphs - static_cast<double>(controls_of(search));
  const double needed = room > 0 ? unfitted * statistical * statistical / room * 1.2 + 1 : 1e18;
  if (needed > static_cast<double>(search.most_graphs)) {
    point.stopped = room > 0 ? fmt::format("more than most_graphs = {} bare lattices are needed",
                                           search.most_graphs)
                             : "the systematic error of the fit is larger than the target";
  } else if (point.rounds >= kMaxRounds) {
    point.stopped = "the target was not reached in the last round";
  } else {
    // Errors of few graphs are uncertain, so their number grows at most by a factor of two or four.
    const double most = (search.graphs < kGraphs ? 2.0 : 4.0) * search.graphs;
    search.graphs =
        static_cast<std::uint32_t>(std::clamp(std::ceil(needed), search.graphs + 1.0, most));
    return;
  }
  keep_lambda(search, root);
  search.done = true;
}

}  // namespace

std::string why_no_tree(const StudyConfig& config) {
  if (config.model.kind != ModelKind::ising) return "it requires Ising spins";
  const Interactions& interactions = config.model.interactions;
  if (interactions.has_field()) return "it requires spins without a field";
  const bool uniform =
      interactions.couplings == CouplingKind::ferromagnet ||
      (interactions.couplings == CouplingKind::antiferromagnet && !interactions.on_shortcuts);
  if (!uniform && !interactions.on_shortcuts) {
    return fmt::format("it requires lattice bonds with J = 1 (give on = \"shortcuts\")");
  }
  if (interactions.shortcut_strength == 0) return "shortcuts have J = 0";
  if (base_rule(config.rule()) == Rule::swap) {
    if (config.dim() == 1) return "rule swap in one dimension keeps two bonds per site: Tc = 0";
    const ShortcutCouplings shortcuts = shortcut_couplings(config);
    if (tree_orders(shortcuts) != std::vector{TreeOrder::ferromagnet}) {
      return "rule swap makes rings of shortcuts, for which it requires the same J > 0 on all of "
             "them";
    }
  }
  return "";
}

std::vector<TreeOrder> tree_orders(const ShortcutCouplings& couplings) {
  std::vector<TreeOrder> orders;
  if (couplings.mean_tanh(1) > 0) orders.push_back(TreeOrder::ferromagnet);
  if (some_negative(couplings)) orders.push_back(TreeOrder::spin_glass);
  return orders;
}

std::string_view to_string(TreeOrder order) {
  return order == TreeOrder::spin_glass ? "spin-glass" : "ferromagnet";
}

GraphSpec TreeSearchState::graph_spec() const {
  GraphSpec spec;
  spec.extents.assign(static_cast<std::size_t>(rule.dim), edge);
  spec.p = rule.network == TreeNetwork::swap ? rule.removed : rule.p;
  spec.rule = network;
  spec.bare = true;
  return spec;
}

Eigen::VectorXd control_counts(const BareCounts& counts) {
  Eigen::VectorXd vector(kBareCounts);
  vector << counts.removed, counts.removed_pairs, counts.d_ends, counts.d_pairs, counts.d_removed,
      counts.removed_beside_removed, counts.d_beside_removed, counts.d_beside_d;
  return vector;
}

TreeSearchState open_tree(const StudyConfig& config, double p, TreeOrder order) {
  TreeSearchState search;
  search.data.p = p;
  search.data.requested = config.target_error.value_or(kTreeError);
  search.data.order = order;
  const Rule base = base_rule(config.rule());
  search.rule = {config.dim(),
                 p,
                 base == Rule::rewire ? TreeNetwork::rewire
                 : base == Rule::swap ? TreeNetwork::swap
                                      : TreeNetwork::add,
                 order,
                 shortcut_couplings(config),
                 p};
  search.network = config.rule();
  search.most_graphs = config.most_graphs;
  if (p == 0) {
    search.data.why_not_applicable = "there are no shortcuts (use method = \"crossings\")";
    search.done = true;
    return search;
  }
  const TreeRule& rule = search.rule;
  if (rule.dim == 1) search.data.exact = chain_tc(rule);
  const bool small_p = rule.has_removed_bonds() && rule.p <= kSmallP && !rule.is_glass();
  search.data.form = small_p ? TreeForm::small_p : TreeForm::whole;
  const double t = likely_temperature(rule), u = tree_coordinate(rule, t);
  set_removed(search, t, std::tanh(1 / t));
  const double half = rule.dim == 1 ? 0.15 : 0.5;
  search.low = u - half;
  search.high = u + half;
  // As large as the correlation length requires, up to a moderate size.
  const double length = bare_correlation_length(rule.dim, std::max(1.0, likely_size(rule, t)));
  const double moderate = std::pow(static_cast<double>(1u << 16), 1.0 / rule.dim);
  search.edge = std::max(least_edge(rule.dim), even_edge(std::min(kPilotRatio * length, moderate)));
  search.equilibrate = equilibration(rule.dim, length);
  lay_pilots(search);
  return search;
}

void decide_tree(TreeSearchState& search) {
  if (!in_equilibrium(search)) return;
  const TreeTable table = table_of(search);
  const TreeRoot root = tree_root(search.rule, table, search.data.form, search.fit);
  if (search.last) return decide_last(search, root);
  decide_pilot(search, root, table);
}

}  // namespace rewise
