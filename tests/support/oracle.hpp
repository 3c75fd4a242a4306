// Exact thermal averages by enumeration, computed only from an edge list.
//
// Ising: all 2^N states, N <= 24, in Gray-code order. One spin changes per state, so the energy is
// updated by one masked popcount. One spin is fixed; the other half of the states follows by
// symmetry. The result is the density of states g(E, M), which gives every average at every beta.
// 24 sites take less than 0.1 s.
// Potts: all q^N states with the first spin fixed, q^(N-1) <= 2^25.
// Fortuin-Kasteleyn: all 2^B bond sets, B <= 20, give the averages of cluster sizes that the
// improved estimators must reproduce.
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
  // <sum n_c^2> / N^2 of Swendsen-Wang clusters, which equals <C>/N of Wolff clusters. It is
  // computed from the numbers N_a of sites in state a: (q <sum_a N_a^2> / N^2 - 1) / (q - 1). This
  // is <|v|^2>. The order parameter v is the mean over sites of unit vectors in q - 1 dimensions;
  // the angle between the vectors of two states has the cosine -1/(q - 1). Ising: m2.
  double cluster = 0;
  double cluster_quartic = 0;  // <|v|^4>. Ising: m4
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
  std::vector<double> squares_;       // [bonds + 1]: sum over states of q sum_a N_a^2 - N^2
  std::vector<double> quartics_;      // likewise, of (q sum_a N_a^2 - N^2)^2
};

// Averages over the Fortuin-Kasteleyn measure with cluster sizes n_c. A bond is active with
// probability 1 - exp(-coupling) (Ising: q = 2, coupling = 2 beta; Potts: coupling = beta).
struct ClusterAverages {
  double square = 0;   // <sum n_c^2> / N^2; Ising: <m^2>; also <C>/N of Wolff's update
  double quartic = 0;  // <(q + 1) (sum n_c^2)^2 - 2 sum n_c^4> / ((q - 1) N^4); Ising: <m^4>
};
ClusterAverages fortuin_kasteleyn(const EdgeList& list, std::uint32_t q, double coupling);

// The probability, in equilibrium, of the states that checkerboard Metropolis never reaches from
// the ordered state. Moves with s h <= 0 are always accepted; all others may be accepted or
// rejected. If the probability is not 0, the update is not ergodic; if it is not small, averages
// are wrong. At most 20 sites.
double metropolis_unreached(const EdgeList& list, const std::vector<std::uint8_t>& colours,
                            double beta);

}  // namespace rewise::oracle
