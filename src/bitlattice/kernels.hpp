// Kernels of the bitlattice engine: one thread per group of 128 sites of one colour (decide.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/bitlattice/rewired/modified.hpp"

namespace rewise::bitlattice {

// The first configuration of some rows of a system: hot or cold. spins: [2][colour_words].
void launch_start(const Layout& layout, Rows rows, std::uint64_t seed, std::uint32_t who, bool hot,
                  std::uint32_t* spins, cudaStream_t stream);

// One colour of some rows of one system. regular: the bits of all rows, [2][colour_words], that are
// updated, where the lattice is rewired.
void launch_update(const Layout& layout, Rows rows, const Draws& draws, LocalUpdate rule,
                   int colour, std::uint32_t* spins, cudaStream_t stream,
                   const std::uint32_t* regular = nullptr);
// And its modified cells, all of them.
void launch_modified(const Layout& layout, const ModifiedCells& cells, const ModifiedUpdate& update,
                     std::uint32_t* spins, cudaStream_t stream);

// Adds the bonds between unequal spins that end at (regular) sites of colour 0 in some rows of a
// system to sums[0], the rows' sites that are up to sums[1].
void launch_count(const Layout& layout, Rows rows, const std::uint32_t* spins,
                  unsigned long long* sums, cudaStream_t stream,
                  const std::uint32_t* regular = nullptr);
// Adds the bonds of cells between unequal spins.
void launch_count_modified(const Layout& layout, const ModifiedCells& cells,
                           const std::uint32_t* spins, unsigned long long* sum,
                           cudaStream_t stream);

}  // namespace rewise::bitlattice
