// Kernels of the packed engine: one thread per group of 128 sites of one colour (decide.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/packed/rules.hpp"

namespace rewise::packed {

// The first configuration of a system: hot or cold. spins: [2][colour_words].
void launch_start(const Layout& layout, std::uint64_t seed, std::uint32_t who, bool hot,
                  std::uint32_t* spins, cudaStream_t stream);

// One sweep of one system: both colours, in order.
void launch_sweep(const Layout& layout, const Draws& draws, LocalUpdate rule, std::uint32_t* spins,
                  cudaStream_t stream);

// Adds a system's bonds between unequal spins to sums[0], its sites that are up to sums[1].
void launch_count(const Layout& layout, const std::uint32_t* spins, unsigned long long* sums,
                  cudaStream_t stream);

}  // namespace rewise::packed
