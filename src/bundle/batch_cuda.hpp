// Small kernels around the updates: the step counter on the device, from which captured cycles take
// their step numbers, and the words of one bundle apart from those that lie beside it.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace rewise::bundle {

void launch_set_step(std::uint32_t* step, std::uint32_t value, cudaStream_t stream);
void launch_add_steps(std::uint32_t* step, std::uint32_t steps, cudaStream_t stream);

// `packed`: at the bundle's first word, vec apart; `apart`: [words].
void launch_take_bundle(const std::uint32_t* packed, std::uint32_t words, int vec,
                        std::uint32_t* apart, cudaStream_t stream);
void launch_put_bundle(std::uint32_t* packed, std::uint32_t words, int vec,
                       const std::uint32_t* apart, cudaStream_t stream);

}  // namespace rewise::bundle
