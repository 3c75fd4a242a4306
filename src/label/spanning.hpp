// Directions in which a cluster reaches across the whole lattice.
#pragma once

#include <array>
#include <span>

#include "src/label/configuration.hpp"

namespace rewise {

// For periodic lattices: whether a cluster wraps around direction k, that is, whether a closed path
// in it winds around k, with any winding in the other directions (Newman & Ziff, PRE 64, 016706
// (2001); a diagonal path winds around both). Requires that there are no extra bonds.
//
// Method (Machta et al., PRE 54, 1332 (1996)): the lattice is labelled without its closing bonds.
// Each closing bond then joins two clusters with a relative winding of one. If they are already
// joined with another relative winding, the cluster wraps. Cost: one labelling, plus the surface.
std::array<bool, kMaxDim> wrapped_directions(BondConfiguration configuration);

// For open boundaries: whether a component connects the first and last plane of direction k.
std::array<bool, kMaxDim> spanned_directions(const Lattice& lattice, std::span<const Site> label);

}  // namespace rewise
