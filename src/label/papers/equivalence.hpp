// Label equivalence on the whole lattice: labels that a bond joins are noted as equal, chains of
// equal labels are resolved, again and again until no bond joins two labels. Iterations grow slowly
// with the size of components (8.6 at L = 4096 and Tc: Komura & Okabe 2013).
#pragma once

#include <span>

#include "src/label/configuration.hpp"

namespace rewise {

// Hawick, Leist & Playne 2010: scanning notes the smaller label in an array of references,
// analysis resolves it, labelling takes the labels from it. `reference` is work space. [sites]
void label_by_equivalence(const BondConfiguration& configuration, std::span<Site> label,
                          std::span<Site> reference);

// Kalentev et al. 2011: two kernels; the label array itself holds the references.
void label_by_kalentev(const BondConfiguration& configuration, std::span<Site> label);

}  // namespace rewise
