// Device code of the tests: compiled by nvcc, called from tests that g++ compiles.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cuda/std/span>

#include "src/cuda/launch.hpp"
#include "src/random/philox.hpp"

namespace rewise::test {

struct PhiloxInput {
  std::uint32_t counter[4], key[2];
};

struct Address {
  std::uint64_t seed, item;
  std::uint32_t replica, call, step;
};

// out[i] = philox4x32(in[i]), with the 7 rounds of rewise and with the usual 10 rounds of
// Random123.
void queue_philox7(cuda::std::span<const PhiloxInput> in, cuda::std::span<Words4> out,
                   cudaStream_t stream);
void queue_philox10(cuda::std::span<const PhiloxInput> in, cuda::std::span<Words4> out,
                    cudaStream_t stream);
// out[i] = random_words of the address in[i], with Stream::bond.
void queue_random_words(cuda::std::span<const Address> in, cuda::std::span<Words4> out,
                        cudaStream_t stream);
// out[i] = uniform_below(in[i], below).
void queue_uniform_below(cuda::std::span<const std::uint64_t> in, std::uint32_t below,
                         cuda::std::span<std::uint32_t> out, cudaStream_t stream);
// out[i] = i + start, with the given launch shape.
void queue_count_up(std::uint32_t start, cuda::std::span<std::uint32_t> out,
                    const LaunchShape& shape, cudaStream_t stream);

}  // namespace rewise::test
