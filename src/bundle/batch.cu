#include "src/bundle/batch_cuda.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

__global__ void set_step(std::uint32_t* step, std::uint32_t value) { *step = value; }
__global__ void add_steps(std::uint32_t* step, std::uint32_t steps) { *step += steps; }

__global__ void take_bundle(const std::uint32_t* packed, std::uint32_t words, int vec,
                            std::uint32_t* apart) {
  const std::uint32_t slot = blockIdx.x * blockDim.x + threadIdx.x;
  if (slot < words) apart[slot] = packed[std::size_t{slot} * static_cast<unsigned>(vec)];
}
__global__ void put_bundle(std::uint32_t* packed, std::uint32_t words, int vec,
                           const std::uint32_t* apart) {
  const std::uint32_t slot = blockIdx.x * blockDim.x + threadIdx.x;
  if (slot < words) packed[std::size_t{slot} * static_cast<unsigned>(vec)] = apart[slot];
}

}  // namespace

void launch_set_step(std::uint32_t* step, std::uint32_t value, cudaStream_t stream) {
  launch(set_step, LaunchShape{1, 1}, stream, step, value);
}

void launch_add_steps(std::uint32_t* step, std::uint32_t steps, cudaStream_t stream) {
  launch(add_steps, LaunchShape{1, 1}, stream, step, steps);
}

void launch_take_bundle(const std::uint32_t* packed, std::uint32_t words, int vec,
                        std::uint32_t* apart, cudaStream_t stream) {
  launch(take_bundle, cover(words), stream, packed, words, vec, apart);
}

void launch_put_bundle(std::uint32_t* packed, std::uint32_t words, int vec,
                       const std::uint32_t* apart, cudaStream_t stream) {
  launch(put_bundle, cover(words), stream, packed, words, vec, apart);
}

}  // namespace rewise::bundle
