// Exact thermal averages by enumeration, from nothing but an edge list.
//
// Ising: all 2^N states, N <= 24, in Gray-code order (one spin changes per state, so the energy is
// updated by one masked popcount; one spin is held up and symmetry supplies the rest). Gives the
// density of states g(E, M), from which every average at every beta follows. 24 sites: < 0.1 s.
// Potts: all q^N states with the first spin held, q^(N-1) <= 2^25.
// Fortuin-Kasteleyn: all 2^B bond sets, B <= 20; the averages of cluster sizes that the improved
// estimators must reproduce.
// Definitions of e, C, chi and U as in analysis/README.md: H = -sum s_i s_j or -sum delta(s_i,
// s_j).
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/edge_list.hpp"

namespace rewise::oracle {

struct Averages {
  double energy = 0;         // per site
  double specific_heat = 0;  // N (<e^2> - <e>^2) / T^2
  double abs_m = 0, m2 = 0, m4 = 0;
  double binder = 0;          // 1 - m4 / (3 m2^2)
  double susceptibility = 0;  // N (m2 - abs_m^2) / T
  // <sum n_c^2> / N^2 over Swendsen-Wang clusters, <C>/N of Wolff's, from the correlation of spins:
  // (q <sum over states N_a^2> / N^2 - 1) / (q - 1), the square of the order parameter as a vector
  // that sums (q - 1)-dimensional spins with angles of equal cosine -1/(q - 1). Ising: m2.
  double cluster = 0;
  double cluster_quartic = 0;  // the square of that square, averaged. Ising: m4
};

class IsingStates {
 public:
  explicit IsingStates(const EdgeList& list);
  Averages at(double beta) const;
  // Number of states with this energy E = -(sum of s_i s_j) and magnetisation M.
  std::uint64_t count(int energy, int magnetisation) const;

 private:
  std::uint32_t sites_, bonds_;
  std::vector<std::uint64_t> count_;  // [bonds + 1][sites + 1]: broken bonds, up spins
};

// |m| is the order parameter (q N_max / N - 1) / (q - 1).
class PottsStates {
 public:
  PottsStates(const EdgeList& list, std::uint32_t q);
  Averages at(double beta) const;

 private:
  std::uint32_t sites_, bonds_, q_;
  std::vector<std::uint64_t> count_;  // [bonds + 1][sites + 1]: satisfied bonds, N_max
  std::vector<double> squares_;       // [bonds + 1]: sum over states of (q sum_a N_a^2 - N^2)
  std::vector<double> quartics_;      // and of its square
};

// Averages over the Fortuin-Kasteleyn measure, n_c the cluster sizes; a bond is there with
// 1 - exp(-coupling) (Ising: q = 2, coupling = 2 beta; Potts: coupling = beta).
struct ClusterAverages {
  double square = 0;   // <sum n_c^2> / N^2; Ising: <m^2>; also <C>/N of Wolff's update
  double quartic = 0;  // <(q + 1) (sum n_c^2)^2 - 2 sum n_c^4> / ((q - 1) N^4); Ising: <m^4>
};
ClusterAverages fortuin_kasteleyn(const EdgeList& list, std::uint32_t q, double coupling);

// The Boltzmann weight of the states that checkerboard Metropolis never visits from the ordered
// state: moves with s h <= 0 are always taken, all others may or may not be. Where it is not 0 the
// update is not ergodic, strictly; where it is not small, it is wrong. At most 20 sites.
double metropolis_unreached(const EdgeList& list, const std::vector<std::uint8_t>& colours,
                            double beta);

}  // namespace rewise::oracle
