// Tc of a rewired lattice without finite-size scaling: the tree condition (analysis/README.md,
// "The tree condition"). Ising; rules rewire, add and swap.
//
// In the infinite network, shortcuts are bridges between distant regions of the bare lattice (the
// lattice without its shortcuts, graphs/bare.hpp). R ends of bonds were moved to random sites (r
// per site); D ends stayed in place while the other end of their bond was moved (rho per site). The
// matrix K transfers correlations from one shortcut to the next. At Tc its spectral radius is 1:
//
//   K = tanh(beta) | r (p/2) X_MM + X_MD           r (1 - p/2) X_MM       |   r = d p, R ends
//                  | (r (p/2) X_MD + X_DD) / rho   r (1 - p/2) X_MD / rho |   rho = r (1 - p/2), D
//   rewire: lambda(T) = the largest eigenvalue of K;   add: lambda = tanh(beta) 2 d p X_MM
//   swap:   lambda = 2 S X_DD / (d a^2); S and a belong to rings of shortcuts (SwapRings)
//
// where, averaged over states and over bare lattices, with n_x the number of D ends at site x,
//   X_MM = <M^2>/N,  X_MD = <M D>/N,  X_DD = (<D^2> - sum_x n_x)/N,  M = sum s_x, D = sum n_x s_x.
//
// With couplings J of shortcuts (those of the lattice are 1) two orders compete. The ferromagnet:
// as above, with the mean of tanh(beta J) in place of tanh(beta). The spin glass: with the mean of
// tanh(beta J)^2 and with squared correlations, X_MM = sum_{x,y} <s_x s_y>^2 / N, and so on. The
// transition is the one at the higher temperature.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "analysis/series/control_variate.hpp"
#include "analysis/series/jackknife.hpp"

namespace rewise {

enum class TreeOrder { ferromagnet, spin_glass };

// J of shortcuts: strength, or -strength with probability `negative`, or gaussian with mean 0 and
// standard deviation `strength`.
struct ShortcutCouplings {
  double strength = 1, negative = 0;
  bool gaussian = false;

  double mean_tanh(double beta) const;         // of tanh(beta J)
  double mean_tanh_square(double beta) const;  // of tanh(beta J)^2
};

enum class TreeNetwork { rewire, add, swap };

struct TreeRule {
  int dim = 2;
  double p = 0;
  TreeNetwork network = TreeNetwork::rewire;
  TreeOrder order = TreeOrder::ferromagnet;
  ShortcutCouplings shortcuts = {};
  double removed = 0;  // swap: fraction of bonds that the simulated bare lattices lack

  bool has_removed_bonds() const { return network != TreeNetwork::add; }
  bool is_glass() const { return order == TreeOrder::spin_glass; }
};

// Averages on bare lattices.
struct BareAverages {
  double mm = 0, md = 0, dd = 0;  // X_MM, X_MD, X_DD of the order
  double bond = 0;                // <s_i s_j> of a bond
};

// Rule swap. Bonds that exchanged ends form rings: an exchange of two bonds joins the regions
// around them twice, and a bond that is exchanged again adds its region to the ring. A fraction
//   phi_k = k (1 - p) (p/2)^(k-1) + (k - 1) (p/2)^k,   k = 2, 3, ..., sum p,
// of all bonds is in rings of k regions. Seen from one region, the others transmit a field, and an
// effective coupling between the two ends of the removed bond. With t = tanh(beta J) of shortcuts
// and g = <s s'> of these ends without the ring,
//   tanh(coupling) = U_k = t^k g^(k-1),   field: S_k = t (1 - (t g)^(k-1)) / (1 - t g).
// To simulate the weak couplings U_k, the bond itself (J = 1) is kept with a probability that has
// the same effect; the bare lattice lacks a fraction a of its bonds. S = sum_k phi_k S_k/(1 + U_k
// g). Derivation and neglected terms: analysis/README.md, "Rule swap".
struct SwapRing {
  double coupling = 0, field = 0;  // U_k, S_k
};
SwapRing swap_ring(double t, double g, int regions);
// Probability of keeping a bond with J = 1 in place of a coupling with tanh = u.
double kept_for_coupling(double beta, double g, double u);

struct SwapRings {
  double field = 0;    // S
  double removed = 0;  // a
};
SwapRings swap_rings(const TreeRule& rule, double beta, double g);
double ring_share(double p, int regions);  // phi_k
// g from the mean of <s s'> over the bonds of the bare lattice: removed bonds have the same
// surroundings as these. Corrects for the variance of g, whose estimate is accurate to about a
// third.
double across_removed_bond(const TreeRule& rule, double beta, double bond);
// -dTc/da, approximated by that of the bare lattice's own transition temperature.
double tc_per_removed(const TreeRule& rule);

// small_p: to first order in p (the relative error of lambda is of order p). The averages around a
// removed bond are obtained from every bond of the lattice by reweighting, which avoids the noise
// of few D ends:
//   lambda = tanh(beta) d p X_MM (p/2 + (2 - p) f),  f = 1 / (e^beta (cosh beta - e sinh beta))
// with e the mean of s_i s_j over bonds; for swap, lambda = 2 d S f^2 X_MM.
enum class TreeForm { whole, small_p };

// The largest eigenvalue lambda.
double tree_eigenvalue(const TreeRule& rule, double beta, const BareAverages& x,
                       TreeForm form = TreeForm::whole);

// Exact averages in one dimension, where removed bonds cut the chain.
BareAverages bare_chain(const TreeRule& rule, double beta);
// The temperature at which lambda of the chain is 1, exactly; p > 0.
double chain_tc(const TreeRule& rule);

// Correlation length of a bare lattice from its X_MM, by the amplitudes of the regular lattice
// (regular_lattice.hpp). This is precise enough to choose the size of a bare lattice.
double bare_correlation_length(int dim, double mm);
// Rough X_MM of the regular lattice at T: the leading power with the same amplitudes, or, for the
// spin glass, the sum of squared correlations.
double regular_mm(int dim, double temperature, TreeOrder order = TreeOrder::ferromagnet);

// Upper bound 4 exp(-ratio) of the relative finite-size effect on lambda, for a lattice of L =
// `ratio` correlation lengths. (In one dimension the effect is exactly 2 exp(-ratio).) Spin glass:
// `ratio` times as large, because <s_x s_y>^2 contains the product of the two paths around the
// lattice.
double tree_finite_size(double ratio, TreeOrder order = TreeOrder::ferromagnet);

// A temperature T_b near and below the bare lattice's own transition.
double bare_reference(const TreeRule& rule);
// u(T), in which ln lambda is nearly straight, and back: lambda is close to a power of T - T_b, and
// u = ln(T - T_b); in one dimension it is close to exp(2/T), and u = -1/T.
double tree_coordinate(const TreeRule& rule, double temperature);
double tree_temperature(const TreeRule& rule, double coordinate);

// Averages on bare lattices at all temperatures, [graph, T]. Each row belongs to one bare lattice.
struct TreeTable {
  std::vector<double> temperature;  // [T] ascending, above bare_reference
  Eigen::ArrayXXd mm, md, dd, bond;
  Eigen::ArrayXXd size;      // <M^2>/N, which gives the correlation length; the ferromagnet's mm
  ControlVariates controls;  // over the graphs
};

struct TreeRoot {
  bool ok = false;            // false: no root near these temperatures, or too few graphs
  Value tc;                   // jackknife over bare lattices, 68% interval of Student's t
  double slope = 0;           // d ln lambda / d ln T at Tc
  double curvature = 0;       // second derivative of ln lambda in u
  double size = 0;            // <M^2>/N at Tc
  double bond = 0;            // <s_i s_j> of a bond at Tc
  Value lambda_error;         // of ln lambda at Tc: 0 with its error
  std::vector<Value> lambda;  // [T] lambda with its error
  // Jackknife samples behind the errors, one bare lattice left out at a time (sample 0), widened
  // to the interval of Student's t.
  std::vector<double> temperature;  // [T]
  Jackknifed tc_samples;
  std::vector<Jackknifed> lambda_samples;  // [T]
};

// Fits ln lambda by a polynomial in u(T) and finds its zero. The polynomial has degree `order`. If
// the second derivative is known (`curvature`), only a straight line is fitted in addition to it.
struct TreeFit {
  int order = 2;
  bool curvature_known = false;
  double curvature = 0;
};
TreeRoot tree_root(const TreeRule& rule, const TreeTable& table, TreeForm form, const TreeFit& fit);

}  // namespace rewise
