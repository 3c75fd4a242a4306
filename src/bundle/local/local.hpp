// Local updates of a bundle: Metropolis (Metropolis et al. 1953) and Glauber (heat bath, 1963),
// colour by colour, every site of a colour once. A site with D disagreeing of k neighbours flips
// when its binary fraction is below the threshold of s h = k - 2 D (digits.hpp); Hawick, Leist &
// Playne 2010 section 5 for the split of unmodified and modified cells.
//
// Cells of a lattice whose neighbour list is modified are first updated into a side array (they
// read other colours only), then the regular kernel runs over whole rows, then the side array is
// written over what it left in the modified cells. Cost on one AVX-512 core: about 100 ns per 16
// sites.
#pragma once

#include <cstdint>
#include <span>

#include "src/bundle/layout.hpp"
#include "src/bundle/local/digits.hpp"

namespace rewise::bundle {

// New words of the modified cells [first, last) of a group, written to fresh[first..last). `first`
// and `last` are multiples of kGuard.
void update_modified(const ModifiedGroup& group, const LocalTables& tables, const Address& at,
                     const std::uint32_t* spins, std::uint32_t first, std::uint32_t last,
                     std::uint32_t* fresh);

// Updates rows [first, last) of a colour as if no cell were modified; with layout.by_table, [first,
// last) are vectors of kGuard words instead.
void update_regular(const Layout& layout, const LocalTables& tables, const Address& at, int colour,
                    std::uint32_t first, std::uint32_t last, std::uint32_t* spins);

}  // namespace rewise::bundle
