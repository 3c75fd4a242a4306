// Known critical temperatures, the default temperatures of `bench` and `tune`.
#pragma once

#include <cstdint>
#include <optional>

#include "graphs/graph.hpp"

namespace rewise {

// Tc(p) of Ising spins for rules `rewire`, `add` and `swap` in two to four dimensions, with a
// relative error of at most 5e-4: interpolated results of the tree condition
// (experiments/results/tc-table.csv). Below the smallest p of the table, the shift scales as
// p^(1/gamma) (Hastings 2003). Rounded to 1e-4. Empty for other rules and dimensions.
std::optional<double> near_tc(int dim, Rule rule, double p);

// Exact Tc of Potts spins with q states on the square lattice at p = 0: 1 / ln(1 + sqrt q). Empty
// elsewhere, where it is unknown.
std::optional<double> potts_tc(int dim, double p, std::uint32_t q);
// An estimate of Tc(p): potts_tc at p = 0 times the ratio Tc(p)/Tc(0) of Ising spins under rule
// `rewire`. Its error is below 1% for q = 3, p = 0.01.
std::optional<double> near_potts_tc(int dim, double p, std::uint32_t q);
// Latent heat, the jump of the energy per site at Tc of the square lattice. With 2 cosh x = sqrt q
// it is 2 (1 + 1/sqrt q) tanh(x/2) prod_n tanh^2(n x) (Baxter, J. Phys. C 6, L445 (1973)); 0 for
// q <= 4.
double square_latent_heat(std::uint32_t q);

}  // namespace rewise
