// Transitions of Potts models, where U need not cross: from the peaks of C and chi and from the
// histogram of the energy at equal weight of both phases, as functions of size.
//
// Temperatures of one graph of N sites with q states, from its density of states
// (multi_histogram.hpp):
//
//   T_C      the maximum of C. If two phases with energies e_o < e_d coexist, C is largest where
//            both have the same weight, and there C = N (e_d - e_o)^2 / (4 T^2) + O(1) (Challa,
//            Landau & Binder, Phys. Rev. B 34, 1841 (1986)). So 4 T^2 C / N tends to the square of
//            the latent heat, with corrections in 1/N, or to 0 if the transition is of second
//            order.
//   T_q      the temperature where the energies below <e> at T_C have q times the weight of those
//            above: at a transition of first order each of the q ordered phases has the weight of
//            the disordered one, up to corrections that are exponentially small in L (Borgs &
//            Janke, Phys. Rev. Lett. 68, 1738 (1992)).
//   T_chi    the maximum of chi = N (<m^2> - <|m|>^2)/T.
//
// T_q < T_C < T_chi are three points of one rounded transition, and their distance is its width.
// All three have the same limit for large N (extrapolate_to_meeting).
//
// Every graph has its own transition temperature. Histograms are averaged over graphs, each at its
// own T_C: at one common temperature some graphs would be ordered and some not, whatever the order
// of the transition. All numbers of a graph are corrected for the bias of short series to first
// order (by leaving out blocks of its replicas). Errors: jackknife over graphs.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "analysis/scaling/curves.hpp"
#include "analysis/scaling/linear_fit.hpp"
#include "analysis/series/control_variate.hpp"
#include "analysis/series/multi_histogram.hpp"

namespace rewise {

// Energies per site at which histograms of all graphs of a size are tabulated.
struct EnergyGrid {
  Eigen::ArrayXd energy;  // [K], ascending, evenly spaced
  double width = 0;       // of the smoothing Gaussian: a quarter of the width of a typical phase
  double states = 2;      // q
};
// For `sites` sites with `bonds_per_site` bonds each, around a temperature.
EnergyGrid energy_grid(double sites, double bonds_per_site, double temperature, double states);

// One graph.
struct GraphPeaks {
  double heat_temperature = 0;     // T_C
  double weights_temperature = 0;  // T_q
  double chi_temperature = 0;      // T_chi
  double latent_squared = 0;       // 4 T_C^2 C / N
  Eigen::ArrayXd histogram;        // [K], density of the energy per site at T_C
  bool outside = false;            // a temperature lies beyond the window and was moved to its edge
};
// Searches between the temperatures of the histogram. Needs blocks.
GraphPeaks peaks_of_graph(const MultiHistogram& graph, const EnergyGrid& grid);

// The maximum of a curve on a grid, by a parabola through the highest point and its neighbours.
struct Peak {
  bool inside = false;  // false: the highest point is the first or the last; the rest is that point
  Jackknifed temperature, height;
};
Peak find_peak(const JackknifeCurve& curve);

// All graphs of one size at one p.
struct SizePeaks {
  double sites = 0;
  bool usable = true;         // in equilibrium
  double outside = 0;         // share of graphs whose temperatures lie beyond the window
  Peak heat, susceptibility;  // of the averages over graphs
  // Means over the graphs' own values, with control variates where they help.
  Jackknifed heat_temperature, weights_temperature, chi_temperature, latent_squared;
  Eigen::ArrayXd histogram, histogram_error;  // [K], mean over graphs
  // The two highest maxima with the deepest valley between them.
  bool two_peaks = false;          // the valley is 3 errors and 10% deep
  Jackknifed ordered, disordered;  // energies
  Jackknifed barrier;              // ln of the lower peak over the valley, 0 if there is one peak
};
SizePeaks peaks_of_size(int sample, const JackknifeCurve& heat,
                        const JackknifeCurve& susceptibility, const std::vector<GraphPeaks>& graphs,
                        const EnergyGrid& grid, const ControlVariates& controls);

// y(N) = limit + amplitude N^-exponent over the sizes from `first` on.
// Ok: Q >= 0.01 with a degree of freedom left.
struct SizeFit : FitQuality {
  std::string quantity;  // "latent", "distance"
  double exponent = 1;
  std::size_t first = 0;  // first of the given sizes that is used
  Value limit, amplitude;
};
// Uses as many of the largest sizes as the form describes, but at least three. Not ok if a value or
// an error is not finite.
SizeFit fit_sizes(const std::string& quantity, const std::vector<double>& sites,
                  const std::vector<Value>& values, double exponent);

// T_X(N) = limit + slope w(N), with the width w = T_X - T_q of the rounded transition as the
// abscissa, over the sizes from `first` on; X: C or chi.
// Ok: Q >= 0.01; a fit of only two sizes cannot be tested.
struct MeetingFit : FitQuality {
  std::string quantity;  // "specific_heat", "susceptibility"
  std::size_t first = 0;
  Value limit;            // statistical error
  double systematic = 0;  // from the neglected terms
  double slope = 0;
};
// The common limit of T_X and T_q for growing size. Both are rounded by the same law, so they lie
// on a straight line as functions of their difference, the width. The exponent of that law is not
// needed: it is N^-1 if two phases coexist, N^-(1/nu d) at a transition of second order, N^-1/2 in
// mean field without a barrier, and between these values in a crossover.
//
// Other corrections bend the line; on rewired lattices mainly the small number of shortcuts of
// small sizes. The next terms, w^2 and w^3, have normal priors of mean 0. At the smallest size that
// is used, their standard deviations are kSecondTerm and kThirdTerm times its width (Bayesian fits
// of neglected terms: Lepage et al., Nucl. Phys. B Proc. Suppl. 106, 12 (2002)). This lowers the
// weight of small sizes and is part of the error. The fit uses as many of the largest sizes as
// agree with it: three or more, or two if there are no more. The error grows by sqrt(chi2/dof) if
// that exceeds 1.
// `upper`, `lower`: T_X and T_q of each size, ascending in sites.
MeetingFit extrapolate_to_meeting(const std::string& quantity, const std::vector<Jackknifed>& upper,
                                  const std::vector<Jackknifed>& lower);
// Measured for q = 3, 4, 10 at p = 0, 0.03, 0.1 with three to five sizes of 64 to 4096 sites and 16
// graphs each: the limits deviate from those of long runs by 0.98 errors (root mean square). Terms
// of 0.4 and 0.16 give 1.06; terms of 1 and 1 give 0.93.
inline constexpr double kSecondTerm = 0.7, kThirdTerm = 0.5;

// A size is used only if at most this share of its graphs lies outside the window.
inline constexpr double kMaxOutside = 0.05;

enum class Order { first, second, undecided };

struct PottsTransition {
  Order order = Order::undecided;
  Value latent_heat{0, 0};       // limit of e_d - e_o for large N; only for first order
  double latent_systematic = 0;  // its difference from the jump between the peaks of the histogram
  double latent_below = 0;   // upper bound (2 standard errors, form 1/N) unless the order is first
  std::string order_reason;  // in words

  bool found = false;
  Value temperature;  // statistical error
  // From the neglected terms, and from the difference between the two fits beyond their noise.
  double systematic = 0;
  std::size_t chosen = 0;            // index in fits
  std::vector<MeetingFit> fits;      // of T_chi and of T_C
  std::vector<std::string> reasons;  // why there is no temperature
};
PottsTransition find_transition(const std::vector<SizePeaks>& sizes);

}  // namespace rewise
