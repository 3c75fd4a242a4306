#include "src/search/tree_criterion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analysis/series/statistics.hpp"
#include "src/search/known_tc.hpp"
#include "src/study/engines.hpp"

namespace rewise {
namespace {

// Number of graphs of the last pilots of rule `rewire`. It allows all control variates; without
// them bare lattices differ so much that the last step would be planned far too large. Other pilots
// have kFewPilots graphs, or kHugePilots if lattices have more than kHuge sites or a few lattices
// are enough.
constexpr std::uint32_t kTreePilotGraphs = 24, kFewPilots = 8, kHugePilots = 4;
constexpr double kHuge = 1u << 21;
constexpr int kTreePilotTemperatures = 6;
constexpr std::uint64_t kPilotMeasure = 20, kLeastMeasure = 60, kMostMeasure = 240;
constexpr double kPilotRatio = 8, kHugeRatio = 4;  // L / xi of the last pilots
constexpr double kWide = 0.25;                     // half the range of ln lambda of the last pilots
constexpr double kNarrow = 0.0075;    // the same for the last step, unless it adds errors
constexpr double kErrors = 4;         // minimum of that in units of the error; fixes the slope
constexpr double kOfCurvature = 0.2;  // part of the error that unknown curvature may contribute
constexpr double kUnknownCurvature = 0.5;  // of ln lambda in u, if the pilots do not determine it
constexpr std::uint32_t kGraphs = 64;  // approximate number in the last step; determines the size
constexpr std::uint32_t kLeastGraphs = 8;  // minimum; twice as many for small lattices
// Thermal variance of ln lambda at its root, relative to that of ln X_MM at one T: for a cubic
// polynomial through six temperatures, and for a straight line through two.
constexpr double kOfPilots = 0.4, kOfLast = 0.5;
constexpr double kLeastDisorder = 0.1;   // minimum part of the pilots' variance, which is uncertain
constexpr double kMostSites = 1u << 22;  // per lattice, unless xi requires more
constexpr double kLimitSites = 2147483584.0;  // of the multispin engine
constexpr int kMostPilots = 24, kMostRounds = 10, kMostTreeMoves = 4;
constexpr double kSmallP = 1e-3;      // largest p of the small-p form
constexpr double kSmallPError = 0.3;  // relative error of its lambda, divided by p
// Rule swap: relative error of lambda due to the different surroundings of removed bonds, divided
// by U_2; times p/0.1 for smaller p (analysis/README.md, "Rule swap").
constexpr double kSwapError = 0.01;
constexpr double kOfRemoved = 0.1;  // part of the error that a wrong removed fraction may cause
constexpr double kLevel = 1e-5;     // level of the check of equilibrium

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
    const std::uint32_t length = factory(TaskSpec{}.engine).tile_length(dim, k);
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

// The relative difference between hot and cold starts decreases with the number of updates. xi =
// 1.5 (3D, p = 0.1): 1.0 at the start, 0.01 after one update, below 0.005 after two. xi = 9 (2D, p
// = 0.01): 1.9, 1.2, 0.4, 0.1, 0.05. xi = 25 (2D, p = 0.001): after four updates by a factor of 0.4
// to 0.6 per update.
std::uint64_t equilibration(double length) {
  return 4 + static_cast<std::uint64_t>(std::ceil(8 * std::pow(std::max(length, 1.0), 0.35)));
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
  const double tc = regular_tc_value(rule.dim)->value;
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
      rule.dim == 1 ? 1 : regular_tc_value(rule.dim)->value / reference_of(rule, t);
  return regular_mm(rule.dim, scale * t);
}

void fail(TreeWork& work, const std::string& reason) {
  work.data.reasons.push_back(reason);
  work.done = true;
}

void keep_lambda(TreeWork& work, const TreeRoot& root) {
  auto& kept = work.data.lambda;
  for (std::size_t t = 0; t < root.lambda.size(); ++t) {
    const double at = work.temperatures[t];
    std::erase_if(kept, [&](const TreeLambda& l) { return l.temperature == at; });
    kept.push_back({at, root.lambda[t], work.edge});
  }
  std::sort(kept.begin(), kept.end(),
            [](const TreeLambda& a, const TreeLambda& b) { return a.temperature < b.temperature; });
}

// Whether the range is narrow, so that these may be the last pilots.
bool near_root(const TreeWork& work) { return work.pilots > 0 && work.narrow; }

// L / xi that is sufficient for the last pilots.
double pilot_ratio(const TreeWork& work, double length) {
  return std::pow(kPilotRatio * length, work.rule.dim) > kHuge ? kHugeRatio : kPilotRatio;
}

// Whether a few lattices are enough. Sums over pairs of clusters vary more between updates than
// sums over clusters do, so that differences between large lattices matter less.
bool averages_itself(const TreeWork& work) {
  constexpr double large = 1u << 17;
  return work.rule.is_glass() && work.sites() > large;
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

void set_removed(TreeWork& work, double temperature, double bond) {
  if (work.rule.network == TreeNetwork::swap) {
    work.rule.removed = removed_at(work.rule, temperature, bond);
  }
}

// Sets temperatures over [low, high] in u.
void lay_pilots(TreeWork& work) {
  work.temperatures.clear();
  for (int k = 0; k < kTreePilotTemperatures; ++k) {
    const double u = work.low + (work.high - work.low) * k / (kTreePilotTemperatures - 1);
    work.temperatures.push_back(rounded(tree_temperature(work.rule, u)));
  }
  work.measure = kPilotMeasure;
  work.graphs = work.sites() > kHuge || averages_itself(work)      ? kHugePilots
                : work.rule.has_removed_bonds() && near_root(work) ? kTreePilotGraphs
                                                                   : kFewPilots;
  work.rows.clear();
  work.fit = {3, false, 0};
}

// Number of control variates that the graphs allow. For small p, only the number of removed bonds:
// pairs of them are too rare (at p = 0.001, eight controls give four times the variance of one).
Eigen::Index controls_of(const TreeWork& work) {
  const Eigen::Index all = !work.rule.has_removed_bonds()        ? 0
                           : work.data.form == TreeForm::small_p ? 1
                                                                 : kBareCounts;
  return std::clamp<Eigen::Index>(static_cast<Eigen::Index>(work.rows.size()) / 4 - 1, 0, all);
}

// Includes control variates, the most important first.
TreeTable table_of(const TreeWork& work) {
  TreeTable table;
  table.temperature = work.temperatures;
  const auto graphs = static_cast<Eigen::Index>(work.rows.size());
  const auto count = static_cast<Eigen::Index>(work.temperatures.size());
  const Eigen::Index used = controls_of(work);
  for (auto* x : {&table.mm, &table.md, &table.dd, &table.bond, &table.size}) {
    x->resize(graphs, count);
  }
  table.controls.x.resize(graphs, used);
  table.controls.mu = control_counts(mean_bare_counts(work.graph_spec())).head(used);
  for (Eigen::Index g = 0; g < graphs; ++g) {
    const TreeRow& row = work.rows[static_cast<std::size_t>(g)];
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
// returns false.
bool in_equilibrium(TreeWork& work) {
  std::vector<double> differences;
  for (const TreeRow& row : work.rows) differences.push_back(row.hot_less_cold);
  if (compare_to_zero(differences, kLevel).agree) return true;
  work.rows.clear();
  work.equilibrate *= 2;
  if (work.equilibrate < 5000) return false;
  fail(work, "hot and cold starts differ after 5000 updates");
  return false;
}

std::string too_large() {
  return "the correlation length of the bare lattice requires more sites than the multispin "
         "engine supports (2^31)";
}

// Interpolates ln lambda linearly in u between the two temperatures around lambda = 1.
double root_between(const TreeWork& work, const TreeRoot& root) {
  for (std::size_t t = 0; t + 1 < root.lambda.size(); ++t) {
    const double a = std::log(root.lambda[t].value), b = std::log(root.lambda[t + 1].value);
    if (a >= 0 && b < 0) {
      const double ua = tree_coordinate(work.rule, work.temperatures[t]),
                   ub = tree_coordinate(work.rule, work.temperatures[t + 1]);
      return ua + (ub - ua) * a / (a - b);
    }
  }
  return 0.5 * (work.low + work.high);
}

// The pilots' temperature nearest to u.
Eigen::Index nearest(const TreeWork& work, double u) {
  std::size_t near = 0;
  for (std::size_t t = 1; t < work.temperatures.size(); ++t) {
    if (std::abs(tree_coordinate(work.rule, work.temperatures[t]) - u) <
        std::abs(tree_coordinate(work.rule, work.temperatures[near]) - u)) {
      near = t;
    }
  }
  return static_cast<Eigen::Index>(near);
}

// Whether the root is farther from the centre of the window than the width of the window.
bool off_centre(const TreeWork& work, const TreeRoot& root) {
  const double u0 = tree_coordinate(work.rule, work.temperatures[0]),
               u1 = tree_coordinate(work.rule, work.temperatures[1]);
  const double u = tree_coordinate(work.rule, root.tc.value);
  return std::abs(u - 0.5 * (u0 + u1)) > u1 - u0;
}

// `missed`: possible error of ln lambda at the origin of `root`.
void lay_last(TreeWork& work, const TreeRoot& root, double missed) {
  // Derivative of ln lambda in u.
  const double t = root.tc.value, h = 1e-6;
  const double per_u =
      root.slope * h / (tree_coordinate(work.rule, t * (1 + h)) - tree_coordinate(work.rule, t));
  const double wanted = work.data.asked * std::abs(root.slope),
               straight = std::sqrt(kOfCurvature * wanted / curvature_error(1)) / 2;
  const double in_u = 1 / std::abs(per_u);
  const double half = std::max({std::min(std::max(kNarrow, kErrors * wanted) * in_u, straight),
                                2 * root.lambda_error.error * in_u, missed * in_u});
  const double u = tree_coordinate(work.rule, t);
  work.temperatures = {rounded(tree_temperature(work.rule, u - half)),
                       rounded(tree_temperature(work.rule, u + half))};
  work.rows.clear();
  work.fit = {1, true, std::clamp(work.pilot.curvature, -1.0, 1.0)};
}

// Plans size, temperatures and number of graphs of the last step from the pilots.
void begin_last(TreeWork& work) {
  const TreeRoot& pilot = work.pilot;
  const double wanted = work.data.asked * std::abs(pilot.slope);  // requested error of ln lambda
  const double ratio = std::clamp(std::log((work.rule.is_glass() ? 480 : 40) / wanted), 8.0, 20.0);
  work.data.length = bare_correlation_length(work.rule.dim, pilot.size);
  // Variance of ln lambda per lattice, times its sites: the part that updates average out (per
  // update), and the rest.
  double thermal = 0;
  for (const TreeRow& row : work.rows) {
    thermal += row.thermal / static_cast<double>(work.rows.size());
  }
  const double all = std::pow(pilot.lambda_error.error, 2) * static_cast<double>(work.rows.size());
  const double of_pilots = std::min(kOfPilots * thermal, (1 - kLeastDisorder) * all);
  // A low estimate (one standard deviation below, without the noise of fitted control variates),
  // since lattices can be added later but not removed.
  const auto graphs_of_pilots = static_cast<double>(work.rows.size());
  const double unfitted = graphs_of_pilots - static_cast<double>(controls_of(work));
  const double low = all * unfitted / graphs_of_pilots * (1 - std::sqrt(2 / unfitted));
  const double of_update = kOfLast / kOfPilots * of_pilots * kPilotMeasure * work.sites(),
               of_lattice = std::max(low - of_pilots, kLeastDisorder * all) * work.sites();
  work.equilibrate = std::max(work.equilibrate, equilibration(work.data.length));
  const auto measure = [&work](double updates) {
    const auto least = static_cast<double>(averages_itself(work) ? kPilotMeasure : kLeastMeasure);
    return static_cast<std::uint64_t>(std::clamp(std::round(updates), least, double{kMostMeasure}));
  };
  const auto sites_for = [&](std::uint64_t updates) {
    return (of_update / static_cast<double>(updates) + of_lattice) / (wanted * wanted);
  };
  // Minimises the work for the error: (equilibrate + m) (of_update / m + of_lattice).
  work.measure = measure(std::sqrt(static_cast<double>(work.equilibrate) * of_update / of_lattice));
  const double dim = work.rule.dim, pilot_edge = work.edge;
  const double by_error =
      std::pow(std::min(sites_for(work.measure) / kGraphs, kMostSites), 1 / dim);
  work.edge = tiled_edge(work.rule.dim,
                         std::max(least_edge(work.rule.dim), even_edge(ratio * work.data.length)),
                         even_edge(by_error));
  if (work.sites() >= kLimitSites) return fail(work, too_large());
  const bool many = work.sites() < kHuge && !averages_itself(work);
  const double least = many ? 2 * kLeastGraphs : kLeastGraphs;
  const double room = least * work.sites() * wanted * wanted - of_lattice;
  if (room > 0) work.measure = std::min(work.measure, measure(1.5 * of_update / room));
  work.last = true;
  const double graphs = std::ceil(0.7 * sites_for(work.measure) / work.sites());
  work.graphs = static_cast<std::uint32_t>(std::clamp(graphs, least, double{kGraphs}));
  if (work.rule.has_removed_bonds() && work.sites() < kMostSites && !averages_itself(work)) {
    work.graphs = std::max(work.graphs, 24u);
  }
  set_removed(work, pilot.tc.value, pilot.bond);
  const double missed = tree_finite_size(pilot_edge / work.data.length, work.rule.order);
  lay_last(work, pilot, std::min(0.5 * missed, 0.1));
}

// Moves and narrows the range, enlarges the lattice, or starts the last step.
void decide_pilot(TreeWork& work, const TreeRoot& root, const TreeTable& table) {
  if (++work.pilots > kMostPilots)
    return fail(work, "the pilots found no temperature with lambda = 1");
  for (std::size_t t = 0; t < root.lambda.size(); ++t) {
    const double size = table.size.col(static_cast<Eigen::Index>(t)).mean();
    const bool large = work.edge >= 4 * bare_correlation_length(work.rule.dim, size);
    if (large && root.lambda[t].value + 4 * root.lambda[t].error < 1) {
      work.data.below = std::min(work.data.below, work.temperatures[t]);
    }
  }
  const double first = root.lambda.empty() ? std::nan("") : root.lambda.front().value;
  const double end = root.lambda.empty() ? std::nan("") : root.lambda.back().value;
  const double width = work.high - work.low;
  const double length_low = bare_correlation_length(work.rule.dim, table.size.col(0).mean());
  const auto grow = [&](double length) {
    const double wanted = std::min(1.1 * pilot_ratio(work, length) * length, 8.0 * work.edge);
    if (std::pow(wanted, work.rule.dim) >= kLimitSites) return false;
    work.edge = std::max(work.edge, even_edge(wanted));
    work.equilibrate = std::max(work.equilibrate, equilibration(length));
    return true;
  };
  if (!(first > 1)) {  // the root lies below the range
    if (work.edge < 4 * length_low) {
      if (!grow(length_low)) return fail(work, too_large());
    } else {
      work.high = work.low + 0.2 * width;
      work.low = work.high - width;
    }
    return lay_pilots(work);
  }
  if (!(end < 1)) {  // the root lies above the range
    work.low = work.high - 0.2 * width;
    work.high = work.low + width;
    return lay_pilots(work);
  }
  const double u = root_between(work, root);
  const double slope = (std::log(end) - std::log(first)) / width;
  const Eigen::Index near = nearest(work, u);
  work.data.length = bare_correlation_length(work.rule.dim, table.size.col(near).mean());
  const bool small = work.edge < 0.9 * pilot_ratio(work, work.data.length) * work.data.length;
  const double half = std::max(kWide / -slope, 1e-9);
  if (small && !grow(work.data.length)) return fail(work, too_large());
  if (small || width > 2.6 * half || !root.ok) {
    set_removed(work, work.temperatures[static_cast<std::size_t>(near)],
                table.bond.col(near).mean());
    work.low = u - half;
    work.high = u + half;
    work.narrow = true;
    return lay_pilots(work);
  }
  keep_lambda(work, root);
  work.pilot = root;
  work.data.root = root;
  begin_last(work);
}

void decide_last(TreeWork& work, const TreeRoot& root) {
  TreePoint& point = work.data;
  ++point.rounds;
  const double shift = root.ok ? removed_shift(work.rule, root) : 0;
  if (!root.ok || off_centre(work, root) || shift > kOfRemoved * point.asked) {
    point.edge = 0;
    if (++work.moves > kMostTreeMoves)
      return fail(work, "the temperature window does not converge to the root");
    if (!root.ok) {
      work.pilots = 0;
      work.last = false;
      const double u = tree_coordinate(work.rule, work.pilot.tc.value);
      work.low = u - 0.4;
      work.high = u + 0.4;
      return lay_pilots(work);
    }
    set_removed(work, root.tc.value, root.bond);
    return lay_last(work, root, 0);
  }
  point.root = root;
  point.edge = work.edge;
  point.graphs = work.graphs;
  point.equilibrate = work.equilibrate;
  point.measure = work.measure;
  point.length = bare_correlation_length(work.rule.dim, root.size);
  const double slope = std::abs(root.slope);
  const double size = tree_finite_size(work.edge / point.length, work.rule.order);
  const double u0 = tree_coordinate(work.rule, work.temperatures[0]),
               u1 = tree_coordinate(work.rule, work.temperatures[1]);
  const double curvature = curvature_error(u1 - u0);
  const double form = point.form == TreeForm::small_p ? kSmallPError * point.p : 0;
  const double of_removed = slope * shift;
  point.systematic = root.tc.value / slope *
                     std::sqrt(size * size + curvature * curvature + form * form +
                               std::pow(swap_error(work.rule, root), 2) + of_removed * of_removed);
  point.reached = point.total().error / root.tc.value;
  if (point.reached <= point.asked) {
    keep_lambda(work, root);
    work.done = true;
    return;
  }
  const double statistical = root.tc.error / root.tc.value,
               left_out = point.systematic / root.tc.value;
  const double room = point.asked * point.asked - left_out * left_out;
  // With more graphs, fitted control variates add less noise.
  const double unfitted = work.graphs - static_cast<double>(controls_of(work));
  const double needed = room > 0 ? unfitted * statistical * statistical / room * 1.2 + 1 : 1e18;
  if (needed > static_cast<double>(work.most_graphs)) {
    point.stopped = room > 0 ? fmt::format("more than most_graphs = {} bare lattices are needed",
                                           work.most_graphs)
                             : "the systematic error of the fit is larger than the target";
  } else if (point.rounds >= kMostRounds) {
    point.stopped = "the target was not reached in the last round";
  } else {
    // Errors of few graphs are uncertain, so their number grows at most by a factor of two or four.
    const double most = (work.graphs < kGraphs ? 2.0 : 4.0) * work.graphs;
    work.graphs =
        static_cast<std::uint32_t>(std::clamp(std::ceil(needed), work.graphs + 1.0, most));
    return;
  }
  keep_lambda(work, root);
  work.done = true;
}

}  // namespace

GraphSpec TreeWork::graph_spec() const {
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

TreeWork open_tree(const StudyConfig& config, double p, TreeOrder order) {
  TreeWork work;
  work.data.p = p;
  work.data.asked = config.target_error.value_or(kTreeError);
  work.data.order = order;
  const Rule base = base_rule(config.rule);
  work.rule = {config.dim(),
               p,
               base == Rule::rewire ? TreeNetwork::rewire
               : base == Rule::swap ? TreeNetwork::swap
                                    : TreeNetwork::add,
               order,
               shortcut_couplings(config),
               p};
  work.network = config.rule;
  work.most_graphs = config.most_graphs;
  if (p == 0) {
    work.data.none = "p = 0: there are no shortcuts";
    work.done = true;
    return work;
  }
  const TreeRule& rule = work.rule;
  if (rule.dim == 1) work.data.exact = chain_tc(rule);
  const bool small_p = rule.has_removed_bonds() && rule.p <= kSmallP && !rule.is_glass();
  work.data.form = small_p ? TreeForm::small_p : TreeForm::whole;
  const double t = likely_temperature(rule), u = tree_coordinate(rule, t);
  set_removed(work, t, std::tanh(1 / t));
  const double half = rule.dim == 1 ? 0.15 : 0.5;
  work.low = u - half;
  work.high = u + half;
  // As large as the correlation length requires, up to a moderate size.
  const double length = bare_correlation_length(rule.dim, std::max(1.0, likely_size(rule, t)));
  const double moderate = std::pow(static_cast<double>(1u << 16), 1.0 / rule.dim);
  work.edge = std::max(least_edge(rule.dim), even_edge(std::min(kPilotRatio * length, moderate)));
  work.equilibrate = equilibration(length);
  lay_pilots(work);
  return work;
}

void decide_tree(TreeWork& work) {
  if (!in_equilibrium(work)) return;
  const TreeTable table = table_of(work);
  const TreeRoot root = tree_root(work.rule, table, work.data.form, work.fit);
  if (work.last) return decide_last(work, root);
  decide_pilot(work, root, table);
}

Value TreePoint::total() const { return {root.tc.value, std::hypot(root.tc.error, systematic)}; }

}  // namespace rewise
