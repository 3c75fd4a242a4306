// Multi-histogram reweighting: combines the samples of one graph at several temperatures into its
// moments at any temperature between them.
//
// Ferrenberg & Swendsen, Phys. Rev. Lett. 63, 1195 (1989); the free energies f_k = -ln Z(beta_k)
// minimise the convex function of Shirts & Chodera, J. Chem. Phys. 129, 124105 (2008),
//   A(f) = sum_b n_b ln sum_k N_k exp(f_k - beta_k E_b) - sum_k N_k f_k,
// by Newton steps from a thermodynamic-integration start. Energies are integers, so samples of
// equal energy share a bin b without loss of information. (If the range of energies has more than
// 2^26 levels, bins are wider by a power of two.)
// Cost: one pass over the samples, then O(bins x temperatures) per Newton step and per beta.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/series/moments.hpp"

namespace rewise {

// Weighted sums over a set of samples; sets can be subtracted.
struct HistogramSums {
  Eigen::ArrayXd samples;   // [temperature], N_k / g_k
  Eigen::ArrayXd count;     // [bin]
  Eigen::ArrayXXd moments;  // [bin, 4]: sums of |m|, m^2, m^4, m
};

// The density of states estimated from samples, at the energies that occur in them.
struct EnergyLevels {
  Eigen::ArrayXd energy;       // [level], ascending, of the whole graph
  Eigen::ArrayXd log_density;  // [level], up to a constant: a state's weight is exp(-beta energy)
};

class MultiHistogram {
 public:
  // The series of one temperature. `inefficiency` = g_k = 2 tau_int (for example of the energy), at
  // least 1: samples count as N_k/g_k when temperatures are weighted against each other. Use 1 if
  // all tau are similar.
  struct Input {
    double beta;
    IntSeriesRef bond_sums;           // [time, replica]
    IntSeriesRef magnetisation_sums;  // [time, replica]
    double inefficiency = 1;
  };

  // `blocks`: number of equal parts of the samples that can be left out one by one, for a jackknife
  // within one graph. Replica r of every temperature belongs to block r*blocks/replicas. If there
  // are fewer replicas than blocks, each replica is cut into blocks/replicas (rounded down)
  // time blocks. 0: no blocks, which is cheaper.
  MultiHistogram(std::span<const Input> inputs, const SampleUnits& units, Eigen::Index blocks = 0);

  // Thermal averages at beta; kEnergyPair etc. are plain squares of averages (with_squares()).
  // Reliable only between temperatures whose energies overlap.
  Moments moments(double beta) const { return moments(all_, beta); }

  // The same without one block, with free energies solved again.
  Moments moments_without(Eigen::Index block, double beta) const;

  // Thermal averages at beta without the bias of short series to first order, by leaving out each
  // block once. The pairs are corrected too, so that C and chi have no such bias. Needs blocks.
  Moments unbiased_moments(double beta) const;

  EnergyLevels levels() const { return levels(all_); }
  EnergyLevels levels_without(Eigen::Index block) const;

  Eigen::Index blocks() const { return static_cast<Eigen::Index>(without_.size()); }
  Eigen::Index bins() const { return energy_.size(); }
  double sites() const { return sites_; }
  double least_beta() const { return beta_.minCoeff(); }
  double greatest_beta() const { return beta_.maxCoeff(); }
  bool converged() const { return converged_; }

 private:
  // A set of samples and its derived quantities.
  struct State {
    HistogramSums sums;
    Eigen::ArrayXd free_energy;    // [temperature]
    Eigen::ArrayXd log_reference;  // [bin], ln sum_k N_k exp(f_k - beta_k E)
  };

  void solve(State& state);
  Eigen::ArrayXd weights(const State& state, double beta) const;  // [bin], of one sample
  Moments moments(const State& state, double beta) const;
  EnergyLevels levels(const State& state) const;

  double sites_;
  Eigen::ArrayXd beta_;    // [temperature]
  Eigen::ArrayXd energy_;  // [bin], ascending
  State all_;
  std::vector<State> without_;  // [block], all samples but those of the block
  bool converged_ = true;
};

}  // namespace rewise
