// The rules of the models, once for every engine: with which probability a single-site move is
// accepted, and with which a bond between equal spins is drawn (J = 1, k_B = 1).
//   Ising  H = -sum_bonds s_i s_j
//   Potts  H = -sum_bonds delta(s_i, s_j)
#pragma once

#include <cmath>
#include <string_view>

namespace rewise {

enum class ModelKind { ising, potts };
enum class LocalUpdate { metropolis, glauber };
inline constexpr std::string_view kLocalUpdates[] = {"metropolis", "glauber"};

// The energy of a bond between unequal spins above that of one between equal spins.
constexpr int bond_energy(ModelKind model) { return model == ModelKind::ising ? 2 : 1; }

// The move by which a site has `lost` fewer equal neighbours than before raises the energy E by
// bond_energy() * lost. Ising: lost is s h, h the sum of the neighbouring spins.
//   Metropolis et al. 1953: min(1, exp(-beta E))
//   Glauber 1963: 1 / (1 + exp(beta E)), of two states the heat bath, which does not depend on the
//   old one. Of more states the heat bath is drawn by heat_bath_weight() instead.
inline double acceptance(ModelKind model, LocalUpdate rule, double beta, int lost) {
  const double cost = beta * (bond_energy(model) * lost);
  if (rule == LocalUpdate::glauber) return 1.0 / (1.0 + std::exp(cost));
  return lost <= 0 ? 1.0 : std::exp(-cost);
}

// Whether moves that do not raise the energy are certain, so that they need no draw. Of the other
// rules acceptance(-E) is 1 - acceptance(E).
constexpr bool certain_downhill(LocalUpdate rule) { return rule == LocalUpdate::metropolis; }

// Potts: the weight of a state that has `fewer` equal neighbours than the most frequent one.
inline double heat_bath_weight(double beta, int fewer) { return std::exp(-beta * fewer); }

// Fortuin-Kasteleyn: 1 - exp(-2 beta) between equal spins, Potts 1 - exp(-beta).
inline double bond_probability(ModelKind model, double beta) {
  return -std::expm1(-bond_energy(model) * beta);
}

}  // namespace rewise
