// Consolidation of tiles (Weigel 2011, section II.3). On entry label[site] is the smallest site
// that it is joined with inside its tile, on return that of its component.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/label/configuration.hpp"

namespace rewise {

// Label relaxation, section II.3.1: the roots at both ends of every bond between tiles are listed
// once, then take the smaller of their labels, pass by pass, until no label changes; returns the
// number of passes. `roots` is work space.
std::uint64_t relax_tiles(const BondConfiguration& configuration, std::uint32_t edge,
                          std::span<Site> label, std::vector<SitePair>& roots);

// Hierarchical sewing, section II.3.2: on level n the seams between tiles of edge 2^n B are
// inserted into balanced trees of labels; bonds around the lattice and extra bonds come last.
// `size` is work space. [sites]
void sew_tiles(const BondConfiguration& configuration, std::uint32_t edge, std::span<Site> label,
               std::span<std::uint32_t> size);

}  // namespace rewise
