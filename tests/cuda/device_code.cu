#include "tests/cuda/device_code.hpp"

namespace rewise::test {
namespace {

__device__ std::uint64_t first_item() {
  return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::uint64_t stride() { return static_cast<std::uint64_t>(gridDim.x) * blockDim.x; }

template <int R>
__global__ void philox_kernel(cuda::std::span<const PhiloxInput> in, cuda::std::span<Words4> out) {
  for (std::uint64_t i = first_item(); i < in.size(); i += stride()) {
    const PhiloxInput& x = in[i];
    out[i] =
        philox4x32<R>(x.counter[0], x.counter[1], x.counter[2], x.counter[3], x.key[0], x.key[1]);
  }
}

__global__ void random_words_kernel(cuda::std::span<const Address> in,
                                    cuda::std::span<Words4> out) {
  for (std::uint64_t i = first_item(); i < in.size(); i += stride()) {
    const Address& a = in[i];
    out[i] = random_words(a.seed, Stream::bond, a.item, a.replica, a.call, a.step);
  }
}

__global__ void uniform_below_kernel(cuda::std::span<const std::uint64_t> in, std::uint32_t below,
                                     cuda::std::span<std::uint32_t> out) {
  for (std::uint64_t i = first_item(); i < in.size(); i += stride()) {
    out[i] = uniform_below(in[i], below);
  }
}

__global__ void count_up_kernel(std::uint32_t start, cuda::std::span<std::uint32_t> out) {
  for (std::uint64_t i = first_item(); i < out.size(); i += stride()) {
    out[i] = start + static_cast<std::uint32_t>(i);
  }
}

}  // namespace

void queue_philox7(cuda::std::span<const PhiloxInput> in, cuda::std::span<Words4> out,
                   cudaStream_t stream) {
  launch(philox_kernel<kPhiloxRounds>, cover(in.size()), stream, in, out);
}

void queue_philox10(cuda::std::span<const PhiloxInput> in, cuda::std::span<Words4> out,
                    cudaStream_t stream) {
  launch(philox_kernel<10>, cover(in.size()), stream, in, out);
}

void queue_random_words(cuda::std::span<const Address> in, cuda::std::span<Words4> out,
                        cudaStream_t stream) {
  launch(random_words_kernel, cover(in.size()), stream, in, out);
}

void queue_uniform_below(cuda::std::span<const std::uint64_t> in, std::uint32_t below,
                         cuda::std::span<std::uint32_t> out, cudaStream_t stream) {
  launch(uniform_below_kernel, cover(in.size()), stream, in, below, out);
}

void queue_count_up(std::uint32_t start, cuda::std::span<std::uint32_t> out,
                    const LaunchShape& shape, cudaStream_t stream) {
  launch(count_up_kernel, shape, stream, start, out);
}

}  // namespace rewise::test
