#include "analysis/scaling/tree_condition.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "analysis/scaling/regular_lattice.hpp"
#include "analysis/series/distributions.hpp"
#include "src/base/constants.hpp"

namespace rewise {
namespace {

// Probability that neither end of a lattice bond is rewired, so that the bond remains in the bare
// lattice. For swap this is a lower bound, since some exchanged bonds are kept.
double bond_stays(const TreeRule& rule) {
  switch (rule.network) {
    case TreeNetwork::rewire:
      return (1 - rule.p / 2) * (1 - rule.p / 2);
    case TreeNetwork::swap:
      return 1 - rule.p;
    default:
      return 1;
  }
}

// The mean of tanh(beta J) over shortcuts; for the spin glass, the mean of tanh(beta J)^2.
double transmission(const TreeRule& rule, double beta) {
  return rule.is_glass() ? rule.shortcuts.mean_tanh_square(beta) : rule.shortcuts.mean_tanh(beta);
}

// The mean of f(x) over normal deviates x. The trapezoidal rule converges exponentially.
template <class F>
double normal_mean(const F& f) {
  constexpr double h = 1.0 / 256, most = 9;
  double sum = 0, weights = 0;
  for (double x = -most; x <= most; x += h) {
    const double weight = std::exp(-0.5 * x * x);
    sum += weight * f(x);
    weights += weight;
  }
  return sum / weights;
}

// Polynomial coefficients in u, after a known second derivative was subtracted.
Eigen::VectorXd fit_polynomial(const Eigen::ArrayXd& u, const Eigen::ArrayXd& y, int order) {
  Eigen::MatrixXd design(u.size(), order + 1);
  for (int k = 0; k <= order; ++k) design.col(k) = u.pow(k).matrix();
  return design.colPivHouseholderQr().solve(y.matrix());
}

double polynomial(const Eigen::VectorXd& c, double u) {
  double sum = 0;
  for (Eigen::Index k = c.size(); k-- > 0;) sum = sum * u + c(k);
  return sum;
}

// The zero of a falling polynomial, by Newton's method from 0. NaN if the curve does not fall, or
// if the zero is farther than `most` from 0.
double falling_zero(const Eigen::VectorXd& c, double most) {
  double u = 0;
  for (int step = 0; step < 60; ++step) {
    const double h = 1e-6;
    const double slope = (polynomial(c, u + h) - polynomial(c, u - h)) / (2 * h);
    if (!(slope < 0)) return kNaN;
    const double move = -polynomial(c, u) / slope;
    u += std::clamp(move, -most, most);
    if (!(std::abs(u) <= most)) return kNaN;
    if (std::abs(move) < 1e-14) break;
  }
  return u;
}

// ln lambda at each temperature, Tc and derivatives, from the means over graphs.
class Curve {
 public:
  Curve(const TreeRule& rule, const std::vector<double>& temperature, TreeForm form,
        const TreeFit& fit)
      : rule_(rule), temperature_(temperature), form_(form), fit_(fit) {
    const auto count = static_cast<Eigen::Index>(temperature.size());
    u_.resize(count);
    for (Eigen::Index t = 0; t < count; ++t) {
      u_(t) = tree_coordinate(rule, temperature[static_cast<std::size_t>(t)]);
    }
    centre_ = u_.mean();
    u_ -= centre_;
  }

  // means: mm at all temperatures, then likewise md, dd, bond and size (columns of TreeTable).
  // Returns Tc, slope, curvature, size and bond at Tc, then lambda at every temperature.
  Eigen::VectorXd operator()(const Eigen::VectorXd& means) const {
    const Eigen::Index count = u_.size();
    Eigen::VectorXd out = Eigen::VectorXd::Constant(5 + count, kNaN);
    Eigen::ArrayXd y(count), size(count), bond(count);
    for (Eigen::Index t = 0; t < count; ++t) {
      const double beta = 1 / temperature_[static_cast<std::size_t>(t)];
      const double lambda = tree_eigenvalue(
          rule_, beta, {means(t), means(count + t), means(2 * count + t), means(3 * count + t)},
          form_);
      out(5 + t) = lambda;
      y(t) = std::log(lambda);
      size(t) = std::log(means(4 * count + t));
      bond(t) = means(3 * count + t);
    }
    if (!y.allFinite() || !size.allFinite()) return out;
    Eigen::VectorXd c;
    if (fit_.curvature_known) {
      c = Eigen::VectorXd::Zero(3);
      c.head(2) = fit_polynomial(u_, y - 0.5 * fit_.curvature * u_.square(), 1);
      c(2) = 0.5 * fit_.curvature;
    } else {
      c = fit_polynomial(u_, y, fit_.order);
    }
    const double width = u_.maxCoeff() - u_.minCoeff();
    const double root = falling_zero(c, std::max(width, 1e-6));
    if (std::isnan(root)) return out;
    const double h = 1e-6;
    out(0) = tree_temperature(rule_, root + centre_);
    const double stretch = tree_coordinate(rule_, out(0) * (1 + h)) - (root + centre_);  // du
    out(1) = (polynomial(c, root + h) - polynomial(c, root - h)) / (2 * h) * stretch / h;
    const double far = 1e-3;
    out(2) = (polynomial(c, root + far) - 2 * polynomial(c, root) + polynomial(c, root - far)) /
             (far * far);
    out(3) = std::exp(polynomial(fit_polynomial(u_, size, 1), root));
    out(4) = polynomial(fit_polynomial(u_, bond, 1), root);
    return out;
  }

 private:
  const TreeRule& rule_;
  const std::vector<double>& temperature_;
  TreeForm form_;
  TreeFit fit_;
  Eigen::ArrayXd u_;
  double centre_ = 0;
};

}  // namespace

double ShortcutCouplings::mean_tanh(double beta) const {
  return gaussian ? 0 : (1 - 2 * negative) * std::tanh(beta * strength);
}

double ShortcutCouplings::mean_tanh_square(double beta) const {
  const auto square = [&](double x) { return std::pow(std::tanh(beta * strength * x), 2); };
  return gaussian ? normal_mean(square) : square(1);
}

double tree_eigenvalue(const TreeRule& rule, double beta, const BareAverages& x, TreeForm form) {
  const double t = transmission(rule, beta), r = rule.dim * rule.p, q = rule.p / 2;
  if (rule.network == TreeNetwork::add) return t * 2 * r * x.mm;
  // f = <s_i M> / X_MM at a site i of a removed bond, by reweighting lattices that have this bond
  const double f = std::exp(-beta) / (std::cosh(beta) - x.bond * std::sinh(beta));
  if (rule.network == TreeNetwork::swap) {
    const double field = swap_rings(rule, beta, across_removed_bond(rule, beta, x.bond)).field;
    if (form == TreeForm::small_p) return 2 * rule.dim * field * f * f * x.mm;
    return 2 * field * x.dd / (rule.dim * rule.removed * rule.removed);
  }
  if (form == TreeForm::small_p) {
    return t * r * x.mm * (q + 2 * (1 - q) * f);
  }
  const double rho = r * (1 - q);
  const double rr = r * q * x.mm + x.md, rd = r * (1 - q) * x.mm;
  const double dr = (r * q * x.md + x.dd) / rho, dd = r * (1 - q) * x.md / rho;
  return t * (0.5 * (rr + dd) + std::sqrt(0.25 * (rr - dd) * (rr - dd) + rd * dr));
}

double ring_share(double p, int regions) {
  const double k = regions, h = p / 2;
  return std::pow(h, k - 1) * (k * (1 - p) + (k - 1) * h);
}

SwapRing swap_ring(double t, double g, int regions) {
  const double around = std::pow(t * g, regions - 1);
  return {t * around, t * (1 - around) / (1 - t * g)};
}

// A coupling u between two sites changes averages by an amount proportional to u/(1 + u g).
double kept_for_coupling(double beta, double g, double u) {
  const double t = std::tanh(beta);
  return std::clamp(u * (1 + t * g) / (t * (1 + u * g)), 0.0, 1.0);
}

SwapRings swap_rings(const TreeRule& rule, double beta, double g) {
  constexpr int most = 64;  // regions; the shares fall as 2^-k or faster
  const double t = transmission(rule, beta);
  SwapRings rings;
  for (int k = 2; k < most; ++k) {
    const SwapRing ring = swap_ring(t, g, k);
    const double share = ring_share(rule.p, k);
    rings.field += share * ring.field / (1 + ring.coupling * g);
    rings.removed += share * (1 - kept_for_coupling(beta, g, ring.coupling));
  }
  return rings;
}

double across_removed_bond(const TreeRule& rule, double beta, double bond) {
  // Standard deviation of g due to one of the neighbouring bonds being removed, in units of g
  constexpr double neighbour_effect[] = {0, 0, 0.3, 0.2, 0.15};
  const double t = std::tanh(beta);
  // Too few bonds to measure `bond`. The shortest ways around a removed bond have three bonds.
  if (const double kept = 1 - rule.removed; kept < 0.01)
    return 2 * (rule.dim - 1) * std::pow(kept * t, 3);
  const auto without = [t](double e) { return (e - t) / (1 - t * e); };
  const double g = without(bond), neighbours = 2 * (2 * rule.dim - 1);
  const double spread = neighbour_effect[rule.dim] * g;
  const double variance = neighbours * rule.removed * (1 - rule.removed) * spread * spread;
  // A bond with J = 1 has <s s'> = (g + t)/(1 + t g), which is concave in g.
  return without(bond + t * (1 - t * t) / std::pow(1 + t * g, 3) * variance);
}

double tc_per_removed(const TreeRule& rule) {
  const RegularLattice& lattice = regular_lattice(rule.dim);
  return lattice.tc().value * lattice.dilution;
}

BareAverages bare_chain(const TreeRule& rule, double beta) {
  const double t = std::tanh(beta), u = (rule.is_glass() ? t * t : t) * bond_stays(rule);
  const double rho = rule.network == TreeNetwork::rewire ? rule.p * (1 - rule.p / 2) : 0;
  return {(1 + u) / (1 - u), rho / (1 - u), rho * rho / (2 * (1 - u)), t};
}

double chain_tc(const TreeRule& rule) {
  double low = 1e-3, high = 100;  // in beta; lambda rises with it
  for (int step = 0; step < 200; ++step) {
    const double beta = 0.5 * (low + high);
    (tree_eigenvalue(rule, beta, bare_chain(rule, beta)) < 1 ? low : high) = beta;
  }
  return 2 / (low + high);
}

double bare_correlation_length(int dim, double mm) {
  if (dim == 1) return 0.5 * std::max(mm, 1.0);
  const RegularLattice& lattice = regular_lattice(dim);
  return lattice.correlation_length *
         std::pow(mm / lattice.susceptibility, lattice.nu / lattice.gamma);
}

double regular_mm(int dim, double temperature, TreeOrder order) {
  const bool glass = order == TreeOrder::spin_glass;
  if (dim == 1) return std::exp(2 / temperature) / (glass ? 2 : 1);
  const RegularLattice& lattice = regular_lattice(dim);
  const double above = 1 - lattice.tc().value / temperature;
  if (glass) return std::max(1.0, lattice.squares * std::pow(above, -lattice.squares_exponent));
  return lattice.susceptibility * std::pow(above, -lattice.gamma);
}

double tree_finite_size(double ratio, TreeOrder order) {
  return 4 * std::exp(-ratio) * (order == TreeOrder::spin_glass ? std::max(ratio, 1.0) : 1);
}

double bare_reference(const TreeRule& rule) {
  const RegularLattice& lattice = regular_lattice(rule.dim);
  return lattice.tc().value * std::max(0.0, 1 - lattice.dilution * (1 - bond_stays(rule)));
}

double tree_coordinate(const TreeRule& rule, double temperature) {
  return rule.dim == 1 ? -1 / temperature : std::log(temperature - bare_reference(rule));
}

double tree_temperature(const TreeRule& rule, double coordinate) {
  return rule.dim == 1 ? -1 / coordinate : bare_reference(rule) + std::exp(coordinate);
}

TreeRoot tree_root(const TreeRule& rule, const TreeTable& table, TreeForm form,
                   const TreeFit& fit) {
  TreeRoot root;
  const auto count = static_cast<Eigen::Index>(table.temperature.size());
  Eigen::ArrayXXd rows(table.mm.rows(), 5 * count);
  rows << table.mm, table.md, table.dd, table.bond, table.size;
  const Curve curve(rule, table.temperature, form, fit);
  if (rows.rows() < 2 || count < (fit.curvature_known ? 2 : fit.order + 1)) return root;
  auto all = jackknife_controlled(0, rows, table.controls, curve);
  const double widening = student_one_sigma(static_cast<double>(rows.rows()) - 1);
  for (Jackknifed& number : all) {
    Eigen::ArrayXd& values = number.left_out[0];
    const double mean = values.mean();
    values = mean + widening * (values - mean);
  }
  for (Eigen::Index t = 0; t < count; ++t) {
    root.lambda_samples.push_back(all[static_cast<std::size_t>(5 + t)]);
    root.lambda.push_back(estimate(root.lambda_samples.back()));
  }
  root.temperature = table.temperature;
  root.tc_samples = all[0];
  root.tc = estimate(all[0]);
  root.slope = all[1].value;
  root.curvature = all[2].value;
  root.size = all[3].value;
  root.bond = all[4].value;
  root.lambda_error = {0, root.tc.error / root.tc.value * std::abs(root.slope)};
  root.ok = std::isfinite(root.tc.value) && std::isfinite(root.tc.error);
  return root;
}

}  // namespace rewise
