#include "analysis/scaling/peaks.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "src/base/constants.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

using Eigen::Index;

constexpr Index kTemperatures = 61;  // temperatures at which C of a graph is computed
constexpr double kEmpty = 1e-3;      // a valley below this fraction of the peak contains no samples
constexpr double kMinBarrier = 0.1;  // between two peaks
constexpr double kSure = 3, kSeen = 2;  // standard errors
constexpr std::size_t kMinSizes = 3;
// A transition is called second order only if a latent heat above this is excluded. For comparison,
// q = 5 on the square lattice has 0.053, which is hard to distinguish from 0.
constexpr double kSmallHeat = 0.05;
constexpr double kMinQ = 0.01;  // of an acceptable fit

// The largest of y[from..to], with the vertex of the parabola through that point and its
// neighbours.
struct Maximum {
  Index at = 0;
  double shift = 0, height = 0;  // of the vertex from `at`, in points; 0 unless inside
  bool inside = false;           // false: the first or the last point of y
};

Maximum maximum_of(const Eigen::ArrayXd& y, Index from, Index to) {
  Maximum top;
  top.height = y.segment(from, to - from + 1).maxCoeff(&top.at);
  top.at += from;
  top.inside = top.at > 0 && top.at + 1 < y.size();
  if (!top.inside) return top;
  const double a = y[top.at - 1], b = y[top.at], c = y[top.at + 1];
  const double curvature = a - 2 * b + c;
  if (!(curvature < 0)) return top;
  top.shift = 0.5 * (a - c) / curvature;
  top.height = b - 0.25 * (a - c) * top.shift;
  return top;
}

// The probabilities of the energy levels at `beta`, [level].
Eigen::ArrayXd weights_at(const EnergyLevels& levels, double beta) {
  Eigen::ArrayXd log_weight = levels.log_density - beta * levels.energy;
  const Eigen::ArrayXd weight = (log_weight - log_weight.maxCoeff()).exp();
  return weight / weight.sum();
}

struct EnergyMoments {
  double mean, variance;
};
EnergyMoments energy_at(const EnergyLevels& levels, double beta) {
  const Eigen::ArrayXd weight = weights_at(levels, beta);
  const double mean = (weight * levels.energy).sum();
  return {mean, (weight * (levels.energy - mean).square()).sum()};
}

enum Number : Index { kHeatT, kWeightsT, kChiT, kLatent, kNumbers };

// The temperature and height of the maximum of f(T). Sets `outside` if it lies at the edge of the
// window.
template <class F>
std::pair<double, double> highest(const F& f, double low, double high, bool& outside) {
  const double step = (high - low) / (kTemperatures - 1);
  Eigen::ArrayXd values(kTemperatures);
  for (Index k = 0; k < kTemperatures; ++k) values[k] = f(low + step * static_cast<double>(k));
  const Maximum top = maximum_of(values, 0, kTemperatures - 1);
  outside = outside || !top.inside;
  return {low + step * static_cast<double>(top.at) + top.shift * step, top.height};
}

// The four quantities of a graph, in the order of `Number`. Temperatures outside the window are
// moved to its edge, and `outside` is set.
Eigen::ArrayXd numbers_of(const EnergyLevels& levels,
                          const std::function<Moments(double)>& moments_at, double sites,
                          double low, double high, double states, bool& outside) {
  const auto heat = [&](double t) { return energy_at(levels, 1 / t).variance / (sites * t * t); };
  const auto chi = [&](double t) { return susceptibility(moments_at(1 / t), sites, t); };
  const auto [at, height] = highest(heat, low, high, outside);
  // ln(W_below / (q W_above)), where W_below and W_above are the weights of the energies below and
  // above the cut.
  const double cut = energy_at(levels, 1 / at).mean;
  const auto excess = [&](double t) {
    const Eigen::ArrayXd weight = weights_at(levels, 1 / t);
    const double below = (levels.energy < cut).select(weight, 0.0).sum();
    return std::log(below / (1 - below) / states);
  };
  double colder = low, hotter = at;
  if (!(excess(colder) > 0)) {
    outside = true;
    hotter = colder;
  }
  for (int i = 0; i < 50 && hotter > colder; ++i) {
    const double middle = 0.5 * (colder + hotter);
    (excess(middle) > 0 ? colder : hotter) = middle;
  }
  Eigen::ArrayXd result(Index{kNumbers});
  result << at, 0.5 * (colder + hotter), highest(chi, low, high, outside).first,
      4 * at * at * height / sites;
  return result;
}

Eigen::ArrayXd smoothed_histogram(const EnergyLevels& levels, double sites, double temperature,
                                  const EnergyGrid& grid) {
  const Eigen::ArrayXd weight = weights_at(levels, 1 / temperature);
  Eigen::ArrayXd density = Eigen::ArrayXd::Zero(grid.energy.size());
  const double first = grid.energy[0], step = grid.energy[1] - first;
  const auto reach = static_cast<Index>(std::ceil(4 * grid.width / step));
  const double height = 1 / (std::sqrt(2 * M_PI) * grid.width);
  for (Index b = 0; b < levels.energy.size(); ++b) {
    if (weight[b] < 1e-12) continue;
    const double e = levels.energy[b] / sites;
    const auto near = static_cast<Index>(std::lround((e - first) / step));
    const Index from = std::max<Index>(near - reach, 0),
                to = std::min<Index>(near + reach, density.size() - 1);
    for (Index k = from; k <= to; ++k) {
      const double d = (grid.energy[k] - e) / grid.width;
      density[k] += weight[b] * height * std::exp(-0.5 * d * d);
    }
  }
  return density;
}

// Two maxima and the lowest point between them.
struct Valley {
  Index left = 0, bottom = 0, right = 0;
};

Index climb(const Eigen::ArrayXd& p, Index k) {
  while (true) {
    const Index before = std::max<Index>(k - 1, 0), after = std::min<Index>(k + 1, p.size() - 1);
    const Index higher = p[before] > p[after] ? before : after;
    if (!(p[higher] > p[k])) return k;
    k = higher;
  }
}

Valley between(const Eigen::ArrayXd& p, Index left, Index right) {
  Index lowest = 0;
  p.segment(left, right - left + 1).minCoeff(&lowest);
  return {left, left + lowest, right};
}

double depth(const Eigen::ArrayXd& p, const Valley& v) {
  const double peak = std::min(p[v.left], p[v.right]);
  return std::log(peak / std::max(p[v.bottom], kEmpty * peak));
}

std::optional<Valley> deepest_valley(const Eigen::ArrayXd& p) {
  constexpr double least = 0.02;  // relative to the highest peak; below this is noise
  std::vector<Index> maxima;
  for (Index k = 1; k + 1 < p.size(); ++k) {
    if (p[k] > p[k - 1] && p[k] >= p[k + 1] && p[k] > least * p.maxCoeff()) maxima.push_back(k);
  }
  std::optional<Valley> best;
  for (std::size_t i = 0; i < maxima.size(); ++i) {
    for (std::size_t j = i + 1; j < maxima.size(); ++j) {
      const Valley v = between(p, maxima[i], maxima[j]);
      if (!best || depth(p, v) > depth(p, *best)) best = v;
    }
  }
  return best;
}

// Refines a peak by a parabola through ln p, over twice the smoothing width on either side.
double position(const Eigen::ArrayXd& p, Index top, const EnergyGrid& grid) {
  const double step = grid.energy[1] - grid.energy[0];
  const auto reach = std::max<Index>(1, std::lround(2 * grid.width / step));
  const Index from = std::max<Index>(top - reach, 0),
              to = std::min<Index>(top + reach, p.size() - 1);
  Eigen::MatrixXd design(to - from + 1, 3);
  Eigen::VectorXd y(to - from + 1);
  for (Index k = from; k <= to; ++k) {
    const double x = static_cast<double>(k - top);
    design.row(k - from) << 1, x, x * x;
    y[k - from] = std::log(std::max(p[k], 1e-300));
  }
  const Eigen::Vector3d a = (design.transpose() * design).ldlt().solve(design.transpose() * y);
  const double shift = a[2] < 0 ? std::clamp(-0.5 * a[1] / a[2], -1.0 * static_cast<double>(reach),
                                             1.0 * static_cast<double>(reach))
                                : 0.0;
  return grid.energy[top] + shift * step;
}

void find_two_peaks(int sample, const Eigen::ArrayXXd& rows, const EnergyGrid& grid,
                    SizePeaks& result) {
  const Index graphs = rows.rows();
  const auto number = [&](double value) {
    Jackknifed n;
    n.value = value;
    n.left_out[sample] = Eigen::ArrayXd::Constant(graphs, kNaN);
    return n;
  };
  result.ordered = result.disordered = number(kNaN);
  result.barrier = number(0);
  result.barrier.left_out[sample].setZero();
  const auto valley = deepest_valley(result.histogram);
  if (!valley || graphs < 2) return;
  result.ordered.value = position(result.histogram, valley->left, grid);
  result.disordered.value = position(result.histogram, valley->right, grid);
  result.barrier.value = depth(result.histogram, *valley);
  const Eigen::ArrayXXd left_out = leave_one_out_means(rows);
  for (Index g = 0; g < graphs; ++g) {
    const Eigen::ArrayXd p = left_out.row(g).transpose();
    const Index left = climb(p, valley->left), right = climb(p, valley->right);
    result.ordered.left_out[sample][g] = position(p, left, grid);
    result.disordered.left_out[sample][g] = position(p, right, grid);
    result.barrier.left_out[sample][g] = left < right ? depth(p, between(p, left, right)) : 0;
  }
  const Value barrier = estimate(result.barrier);
  result.two_peaks = barrier.value > kMinBarrier && barrier.value > kSure * barrier.error;
}

struct SizeSeries {
  std::vector<double> sites;
  std::vector<Value> values;
};

SizeSeries size_series(const std::vector<const SizePeaks*>& sizes,
                       const std::function<std::optional<Value>(const SizePeaks&)>& number) {
  SizeSeries result;
  for (const SizePeaks* size : sizes) {
    if (const auto value = number(*size)) {
      result.sites.push_back(size->sites);
      result.values.push_back(*value);
    }
  }
  return result;
}

// The limit of values = limit + amplitude N^-exponent through the two largest sizes.
Value limit_of_two(const SizeSeries& sizes, double exponent) {
  const std::size_t k = sizes.sites.size();
  const double x = std::pow(sizes.sites[k - 2], -exponent),
               y = std::pow(sizes.sites[k - 1], -exponent);
  const Value a = sizes.values[k - 2], b = sizes.values[k - 1];
  return {(x * b.value - y * a.value) / (x - y), std::hypot(x * b.error, y * a.error) / (x - y)};
}

// First order: two separate peaks remain, the valley deepens, and the jump of the energy does not
// vanish even if it falls as slowly as N^-1/4.
void find_order(const std::vector<const SizePeaks*>& sizes, PottsTransition& result) {
  const auto latent = size_series(
      sizes, [](const SizePeaks& s) -> std::optional<Value> { return estimate(s.latent_squared); });
  const SizeFit fast = fit_sizes("latent", latent.sites, latent.values, 1),
                slow = fit_sizes("latent", latent.sites, latent.values, 0.5);
  // If a quantity falls more slowly than 1/N, its limit lies below that of a fit in 1/N.
  const double stretch = std::sqrt(std::max(1.0, fast.chi2 / std::max(1, fast.dof)));
  const double most = std::sqrt(std::max(fast.limit.value + 2 * stretch * fast.limit.error, 0.0));
  result.latent_below = fast.dof > 0 ? most : kNaN;
  const SizePeaks &last = *sizes[sizes.size() - 1], &before = *sizes[sizes.size() - 2],
                  &two_before = *sizes[sizes.size() - 3];
  const Value deep = estimate(last.barrier),
              shallow = estimate((two_before.two_peaks ? two_before : before).barrier);
  const bool apart = last.two_peaks && before.two_peaks;
  const bool deepens = deep.value - shallow.value > kSeen * std::hypot(deep.error, shallow.error) ||
                       deep.value > -0.9 * std::log(kEmpty);
  // The fit in N^-1/2 gives a lower bound of the squared jump, even if it does not describe the
  // three largest sizes. If the jump first falls and then stays, neither form describes it; in this
  // case only the two largest sizes are used.
  const bool fitted = fast.ok || slow.ok;
  const Value two_size_limit = limit_of_two(latent, 0.5);
  const Value& largest_size = latent.values.back();
  const Value lowest = fitted                                      ? slow.limit
                       : two_size_limit.value < largest_size.value ? two_size_limit
                                                                   : largest_size;
  const bool stays = (!fitted || slow.dof > 0) && lowest.value > kSure * lowest.error;
  if (apart && deepens && stays) {
    result.order = Order::first;
    const Value squared = fast.ok ? fast.limit : fitted ? slow.limit : limit_of_two(latent, 1);
    const double heat = std::sqrt(squared.value);
    result.latent_heat = {heat, squared.error / (2 * heat)};
    const auto distance = size_series(sizes, [](const SizePeaks& s) -> std::optional<Value> {
      if (!s.two_peaks) return std::nullopt;
      return estimate(
          derive({s.ordered, s.disordered}, [](const Eigen::VectorXd& x) { return x[1] - x[0]; }));
    });
    const SizeFit apart_by = fit_sizes("distance", distance.sites, distance.values, 1);
    const double other = apart_by.dof > 0 ? apart_by.limit.value : distance.values.back().value;
    const double off = other - heat,
                 noise = std::hypot(result.latent_heat.error, apart_by.dof > 0
                                                                  ? apart_by.limit.error
                                                                  : distance.values.back().error);
    result.latent_systematic = std::sqrt(std::max(off * off - noise * noise, 0.0));
    if (!fitted) {  // the law is not known
      const double other_law = std::sqrt(std::max(two_size_limit.value, 0.0));
      result.latent_systematic = std::max(result.latent_systematic, std::abs(heat - other_law));
    }
    result.order_reason = fmt::format(
        "the energy has two separate peaks; the valley between them deepens from {:.2f} to {:.2f} "
        "(logarithms), and the jump does not vanish with size",
        shallow.value, deep.value);
    return;
  }
  const bool vanishes = fitted && slow.dof > 0 && slow.limit.value <= kSeen * slow.limit.error;
  if (!last.two_peaks && vanishes && most < kSmallHeat) {
    result.order = Order::second;
    result.order_reason = fmt::format(
        "the energy has one peak at {:.0f} sites, whose width vanishes with size: a latent heat, "
        "if any, is below {:.2g}",
        last.sites, most);
    return;
  }
  result.order = Order::undecided;
  if (!last.two_peaks) {
    result.order_reason =
        fmt::format("the energy has one peak; a latent heat, if any, is below {:.2g}", most);
  } else {
    result.order_reason =
        apart && !deepens ? "the energy has two peaks, but the valley between them does not deepen"
                          : "the energy has two peaks, whose distance may vanish at larger sizes";
  }
  result.order_reason += ": larger sizes are needed";
}

double whole_error(const MeetingFit& fit) { return std::hypot(fit.limit.error, fit.systematic); }

void find_temperature(const std::vector<const SizePeaks*>& sizes, PottsTransition& result) {
  std::vector<Jackknifed> weights, chi, heat;
  for (const SizePeaks* size : sizes) {
    weights.push_back(size->weights_temperature);
    chi.push_back(size->chi_temperature);
    heat.push_back(size->heat_temperature);
  }
  // T_chi lies nearer to the limit than T_C and needs less extrapolation.
  result.fits = {extrapolate_to_meeting("susceptibility", chi, weights),
                 extrapolate_to_meeting("specific_heat", heat, weights)};
  const auto holds = std::ranges::find_if(result.fits, &MeetingFit::ok);
  result.found = holds != result.fits.end();
  if (!result.found) {
    result.reasons.emplace_back(
        "the temperature of the peak and that of equal weights do not extrapolate to a common "
        "limit over the three largest sizes: larger sizes or more graphs are needed");
    return;
  }
  result.chosen = static_cast<std::size_t>(holds - result.fits.begin());
  result.temperature = holds->limit;
  double spread = 0;
  for (const MeetingFit& fit : result.fits) {
    if (!fit.ok) continue;
    const double off = fit.limit.value - holds->limit.value;
    const double noise = std::hypot(whole_error(fit), whole_error(*holds));
    spread = std::max(spread, std::sqrt(std::max(off * off - noise * noise, 0.0)));
  }
  result.systematic = std::hypot(holds->systematic, spread);
}

}  // namespace

EnergyGrid energy_grid(double sites, double bonds_per_site, double temperature, double states) {
  EnergyGrid grid;
  grid.states = states;
  grid.width = 0.4 * temperature / std::sqrt(sites);
  const double low = -bonds_per_site - 4 * grid.width, high = 4 * grid.width;
  const auto points = static_cast<Index>(std::ceil((high - low) / (0.5 * grid.width))) + 1;
  grid.energy = Eigen::ArrayXd::LinSpaced(points, low, high);
  return grid;
}

GraphPeaks peaks_of_graph(const MultiHistogram& graph, const EnergyGrid& grid) {
  const Index blocks = graph.blocks();
  if (blocks < 2) throw Error(ExitCode::internal, "peaks_of_graph: two blocks or more are needed");
  const double low = 1 / graph.greatest_beta(), high = 1 / graph.least_beta();
  const EnergyLevels levels = graph.levels();
  GraphPeaks peaks;
  Eigen::ArrayXd numbers = numbers_of(
      levels, [&](double beta) { return graph.moments(beta); }, graph.sites(), low, high,
      grid.states, peaks.outside);
  peaks.histogram = smoothed_histogram(levels, graph.sites(), numbers[kHeatT], grid);
  Eigen::ArrayXd left_out = Eigen::ArrayXd::Zero(Index{kNumbers});
  for (Index b = 0; b < blocks; ++b) {
    bool out = false;
    left_out += numbers_of(
        graph.levels_without(b), [&](double beta) { return graph.moments_without(b, beta); },
        graph.sites(), low, high, grid.states, out);
  }
  const auto n = static_cast<double>(blocks);
  numbers += (n - 1) * (numbers - left_out / n);
  peaks.heat_temperature = numbers[kHeatT];
  peaks.weights_temperature = numbers[kWeightsT];
  peaks.chi_temperature = numbers[kChiT];
  peaks.latent_squared = numbers[kLatent];
  return peaks;
}

Peak find_peak(const JackknifeCurve& curve) {
  Peak peak;
  const Index points = curve.value.size(), members = curve.left_out.rows();
  const double step = curve.temperature[1] - curve.temperature[0];
  const Maximum top = maximum_of(curve.value, 0, points - 1);
  peak.inside = top.inside;
  peak.temperature.value = curve.temperature[top.at] + top.shift * step;
  peak.height.value = top.height;
  Eigen::ArrayXd temperatures(members), heights(members);
  const Index from = std::max<Index>(top.at - points / 4, 0),
              to = std::min<Index>(top.at + points / 4, points - 1);
  for (Index g = 0; g < members; ++g) {
    const Maximum left = maximum_of(curve.left_out.row(g).transpose(), from, to);
    temperatures[g] = curve.temperature[left.at] + left.shift * step;
    heights[g] = left.height;
  }
  peak.temperature.left_out[curve.sample] = temperatures;
  peak.height.left_out[curve.sample] = heights;
  return peak;
}

SizePeaks peaks_of_size(int sample, const JackknifeCurve& heat,
                        const JackknifeCurve& susceptibility, const std::vector<GraphPeaks>& graphs,
                        const EnergyGrid& grid, const ControlVariates& controls) {
  SizePeaks result;
  result.sites = heat.sites;
  result.heat = find_peak(heat);
  result.susceptibility = find_peak(susceptibility);
  const auto count = static_cast<Index>(graphs.size());
  Eigen::ArrayXXd rows(count, grid.energy.size()), numbers(count, 4);
  std::size_t outside = 0;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const GraphPeaks& graph = graphs[g];
    const auto row = static_cast<Index>(g);
    rows.row(row) = graph.histogram.transpose();
    numbers.row(row) << graph.heat_temperature, graph.weights_temperature, graph.chi_temperature,
        graph.latent_squared;
    outside += graph.outside;
  }
  const auto means = jackknife_controlled(sample, numbers, controls,
                                          [](const Eigen::VectorXd& mean) { return mean; });
  result.heat_temperature = means[0];
  result.weights_temperature = means[1];
  result.chi_temperature = means[2];
  result.latent_squared = means[3];
  result.outside = static_cast<double>(outside) / static_cast<double>(graphs.size());
  result.histogram = rows.colwise().mean().transpose();
  const auto n = static_cast<double>(count);
  result.histogram_error =
      ((rows.rowwise() - result.histogram.transpose()).square().colwise().sum() / (n * (n - 1)))
          .sqrt()
          .transpose();
  find_two_peaks(sample, rows, grid, result);
  return result;
}

SizeFit fit_sizes(const std::string& quantity, const std::vector<double>& sites,
                  const std::vector<Value>& values, double exponent) {
  SizeFit result;
  result.quantity = quantity;
  result.exponent = exponent;
  for (std::size_t first = 0; first + kMinSizes <= sites.size(); ++first) {
    const auto count = static_cast<Index>(sites.size() - first);
    Eigen::MatrixXd design(count, 2), covariance = Eigen::MatrixXd::Zero(count, count);
    Eigen::VectorXd y(count);
    for (Index k = 0; k < count; ++k) {
      const std::size_t at = first + static_cast<std::size_t>(k);
      design.row(k) << 1, std::pow(sites[at], -exponent);
      y[k] = values[at].value;
      covariance(k, k) = values[at].error * values[at].error;
    }
    if (!y.allFinite() || !covariance.allFinite()) return result;
    const LinearFit fit = fit_linear(design, y, covariance);
    if (!fit.ok) return result;
    result.first = first;
    result.limit = fit.parameter(0);
    result.amplitude = fit.parameter(1);
    static_cast<FitQuality&>(result) = fit;
    result.ok = fit.q >= kMinQ;
    if (result.ok) break;
  }
  return result;
}

MeetingFit extrapolate_to_meeting(const std::string& quantity, const std::vector<Jackknifed>& upper,
                                  const std::vector<Jackknifed>& lower) {
  MeetingFit result;
  result.quantity = quantity;
  result.q = 0;
  const auto all = static_cast<Index>(upper.size());
  if (all < 2) return result;
  Eigen::VectorXd temperature(all), width(all);
  Eigen::ArrayXd t_variance(all), width_variance(all), covariance(all);
  for (Index k = 0; k < all; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const Estimates two = estimates({upper[at], lower[at]});
    temperature[k] = two.value[0];
    width[k] = two.value[0] - two.value[1];
    t_variance[k] = two.covariance(0, 0);
    covariance[k] = two.covariance(0, 0) - two.covariance(0, 1);
    width_variance[k] = covariance[k] + two.covariance(1, 1) - two.covariance(0, 1);
  }
  if (!temperature.allFinite() || !width.allFinite() || !width_variance.allFinite()) return result;
  const Index least = std::min<Index>(all, kMinSizes);
  for (Index first = 0; first + least <= all && !result.ok; ++first) {
    const Index count = all - first;
    const Eigen::VectorXd w = width.tail(count), t = temperature.tail(count);
    if (!(w.minCoeff() > 0)) return result;
    Eigen::MatrixXd design(count, 2);
    design << Eigen::VectorXd::Ones(count), w;
    const Eigen::VectorXd relative = w / w[0];
    const Eigen::VectorXd second = kSecondTerm * w[0] * relative.array().square(),
                          third = kThirdTerm * w[0] * relative.array().cube();
    const Eigen::MatrixXd neglected = second * second.transpose() + third * third.transpose();
    LinearFit fit;
    Eigen::MatrixXd noise;
    double slope = 0;
    for (int i = 0; i < 30; ++i) {  // the noise is that of T - slope w, so it depends on the slope
      const Eigen::ArrayXd variance = t_variance.tail(count) - 2 * slope * covariance.tail(count) +
                                      slope * slope * width_variance.tail(count);
      noise = variance.matrix().asDiagonal();
      fit = fit_linear(design, t, noise + neglected);
      if (!fit.ok) return result;
      const double change = fit.parameters[1] - slope;
      slope += 0.5 * change;
      if (std::abs(change) < 1e-9) break;
    }
    const double stretch = std::sqrt(std::max(1.0, fit.chi2 / std::max(1, fit.dof)));
    const Eigen::RowVectorXd gain = fit.gain.row(0);
    result.first = static_cast<std::size_t>(first);
    result.limit = {fit.parameters[0], stretch * std::sqrt(gain.dot(noise * gain.transpose()))};
    result.systematic = stretch * std::sqrt(gain.dot(neglected * gain.transpose()));
    result.slope = fit.parameters[1];
    static_cast<FitQuality&>(result) = fit;
    result.ok = fit.q >= kMinQ;
  }
  return result;
}

PottsTransition find_transition(const std::vector<SizePeaks>& all) {
  PottsTransition result;
  result.latent_below = kNaN;
  std::vector<const SizePeaks*> sizes;
  for (const SizePeaks& size : all) {
    if (size.usable && size.outside <= kMaxOutside) sizes.push_back(&size);
  }
  if (sizes.size() < 2) {
    result.order_reason = "fewer than two sizes can be used";
    result.reasons.push_back(fmt::format(
        "only {} of {} sizes can be used, but two are needed (the others are not in equilibrium, "
        "or their temperature windows are too narrow)",
        sizes.size(), all.size()));
    return result;
  }
  if (sizes.size() >= kMinSizes) {
    find_order(sizes, result);
  } else {
    result.order_reason = "fewer than three sizes can be used";
  }
  find_temperature(sizes, result);
  return result;
}

}  // namespace rewise
