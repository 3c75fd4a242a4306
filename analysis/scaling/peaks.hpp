// Transitions of Potts models by what physicists look at where U does not cross: peaks of C and
// chi, the histogram of the energy where two phases weigh the same, and what becomes of them with
// size.
//
// Of one graph of N sites with q states, from its density of states (multi_histogram.hpp):
//
//   T_C      where its C is largest. Of two phases with energies e_o < e_d, C is largest where both
//            weigh the same, and N (e_d - e_o)^2 / (4 T^2) + O(1) there (Challa, Landau & Binder,
//            Phys. Rev. B 34, 1841 (1986)): 4 T^2 C / N tends to the square of the latent heat,
//            with corrections in 1/N, or to 0 where the transition is of second order.
//   T_q      where the energies below <e> at T_C weigh q times as much as those above: each of q
//            ordered phases weighs as much as the disordered one at a transition of first order, up
//            to corrections that are exponentially small in L (Borgs & Janke, Phys. Rev. Lett. 68,
//            1738 (1992)).
//
// Every graph has its own transition temperature; averages of histograms are over graphs each at
// its own T_C, since at one common temperature some would be ordered and some not, whatever the
// order of the transition. All numbers of a graph are without the bias of short series to first
// order (by leaving out blocks of its replicas). Errors: jackknife over graphs.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "analysis/scaling/curves.hpp"
#include "analysis/series/multi_histogram.hpp"

namespace rewise {

// Energies per site at which histograms of all graphs of a size are tabulated.
struct EnergyGrid {
  Eigen::ArrayXd energy;  // [K], ascending, evenly spaced
  double width = 0;       // of the Gaussian that smooths them: a quarter of a usual phase's
  double states = 2;      // q
};
// Of `sites` sites with `bonds_per_site` bonds each around a temperature.
EnergyGrid energy_grid(double sites, double bonds_per_site, double temperature, double states);

// One graph.
struct GraphPeaks {
  double heat_temperature = 0, heat_height = 0;  // T_C and C there
  double weights_temperature = 0;                // T_q
  double latent_squared = 0;                     // 4 T_C^2 C / N
  Eigen::ArrayXd histogram;                      // [K], density of the energy per site at T_C
  bool outside = false;  // a temperature lies beyond the window and was moved to its edge
};
// Between the histogram's temperatures; needs blocks.
GraphPeaks peaks_of_graph(const MultiHistogram& graph, const EnergyGrid& grid);

// The maximum of a curve that is known on a grid, by a parabola through the highest point and its
// neighbours.
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
  Jackknifed heat_temperature, weights_temperature, latent_squared;  // means of the graphs' own
  Eigen::ArrayXd histogram, histogram_error;                         // [K], mean over graphs
  // Of the two highest maxima with the deepest valley between them.
  bool two_peaks = false;          // the valley is 3 errors and 10% deep
  Jackknifed ordered, disordered;  // energies
  Jackknifed barrier;  // ln of the lower peak over the valley, 0 where there is one peak
};
SizePeaks peaks_of_size(int sample, const JackknifeCurve& heat,
                        const JackknifeCurve& susceptibility, const std::vector<GraphPeaks>& graphs,
                        const EnergyGrid& grid);

// y(N) = limit + amplitude N^-exponent over the sizes from `first` on.
struct SizeFit {
  std::string quantity;  // "specific_heat", "susceptibility", "weights": a temperature; or "latent"
  double exponent = 1;
  std::size_t first = 0;  // of the sizes given
  Value limit, amplitude;
  double chi2 = 0;
  int dof = 0;
  double q = 0;
  bool ok = false;  // Q >= 0.01 with a degree of freedom left
};
// With as many of the largest sizes as fit, three at least. Values without error are left out.
SizeFit fit_sizes(const std::string& quantity, const std::vector<double>& sites,
                  const std::vector<Value>& values, double exponent);

// Of a size whose numbers may be used.
inline constexpr double kMostOutside = 0.05;

enum class Order { first, second, undecided };

struct PottsTransition {
  Order order = Order::undecided;
  Value latent_heat{0, 0};       // e_d - e_o as N grows; first order alone
  double latent_systematic = 0;  // its distance to that between the peaks of the histogram
  double latent_below = 0;       // unless first: at 2 standard errors, by the form 1/N
  std::string order_reason;      // in words

  bool found = false;
  Value temperature;       // statistical error
  double systematic = 0;   // how far the other quantities and exponents lie off beyond their errors
  std::size_t chosen = 0;  // in fits
  std::vector<SizeFit> fits;         // of temperatures
  std::vector<std::string> reasons;  // why there is no temperature
};
// `exponent`: how peaks of a second order transition shift, N^-exponent.
PottsTransition find_transition(const std::vector<SizePeaks>& sizes, double exponent);

}  // namespace rewise
