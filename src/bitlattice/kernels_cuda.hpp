// Kernels of the bitlattice engine: one thread per group of 128 sites of one colour (decide.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/bitlattice/rules.hpp"

namespace rewise::bitlattice {

// Initialises some rows of a replica, ordered or random. spins: [2][colour_words].
void launch_start(const Layout& layout, Rows rows, std::uint64_t seed, std::uint32_t replica,
                  bool hot, std::uint32_t* spins, cudaStream_t stream);

// Updates one colour of some rows of one replica.
void launch_update(const Layout& layout, Rows rows, const Draws& draws, LocalUpdate rule,
                   int colour, std::uint32_t* spins, cudaStream_t stream);

// Adds the bonds between unequal spins that end at sites of colour 0 in some rows of a replica to
// sums[0], and the sites of these rows that point up to sums[1].
void launch_count(const Layout& layout, Rows rows, const std::uint32_t* spins,
                  unsigned long long* sums, cudaStream_t stream);

}  // namespace rewise::bitlattice
