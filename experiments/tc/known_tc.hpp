// Temperatures near Tc(p), where `bench` times and `tune` tunes unless told otherwise.
#pragma once

#include <cstdint>
#include <optional>

namespace rewise {

// Tc(p) of the rule `rewire` for two and three dimensions: exact or published at p = 0, measured at
// 0.01 and 0.1 (in two dimensions at 1e-3, too); the tree approximation at other small p, and
// interpolated; towards p = 1, where the lattice is a random graph, that graph's Tc. Nothing in
// other dimensions.
std::optional<double> near_tc(int dim, double p);
// Potts with q states in two dimensions: the exact Tc at p = 0, times Ising's ratio Tc(p)/Tc(0)
// (q = 3, p = 0.01: within 1%).
std::optional<double> near_potts_tc(int dim, double p, std::uint32_t q);

}  // namespace rewise
