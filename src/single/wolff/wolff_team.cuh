// Blocks that serve one system together (wolff_persistent.cu): their barrier, and the spins' bits.
#pragma once

#include <cstdint>
#include <cuda/atomic>

namespace rewise::single::device {

// Waits for all blocks of a team, as grid.sync() of cooperative groups does for all of a grid.
class TeamBarrier {
 public:
  __device__ TeamBarrier(unsigned& arrived, unsigned blocks) : arrived_(arrived), blocks_(blocks) {}

  __device__ __forceinline__ void wait() {
    __syncthreads();
    if (blocks_ == 1) return;
    if (threadIdx.x == 0) {
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> word(arrived_);
      target_ += blocks_;
      word.fetch_add(1, cuda::memory_order_release);
      while (static_cast<int>(word.load(cuda::memory_order_acquire) - target_) < 0) continue;
    }
    __syncthreads();
  }

 private:
  unsigned& arrived_;
  const unsigned blocks_;
  unsigned target_ = 0;
};

// 32 spins in 32 bytes as bits, and back.
__device__ __forceinline__ std::uint32_t packed(const std::uint8_t* spins, std::uint64_t word) {
  const auto* const from = reinterpret_cast<const uint4*>(spins + 32 * word);
  const uint4 low = from[0], high = from[1];
  const std::uint32_t bytes[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  std::uint32_t bits = 0;
#pragma unroll
  for (unsigned k = 0; k < 8; ++k) {
    bits |= ((bytes[k] & 0x01010101u) * 0x01020408u >> 24 & 15u) << 4 * k;
  }
  return bits;
}
__device__ __forceinline__ void unpack(std::uint32_t bits, std::uint8_t* spins,
                                       std::uint64_t word) {
  std::uint32_t bytes[8];
#pragma unroll
  for (unsigned k = 0; k < 8; ++k) bytes[k] = (bits >> 4 * k & 15u) * 0x00204081u & 0x01010101u;
  auto* const to = reinterpret_cast<uint4*>(spins + 32 * word);
  to[0] = make_uint4(bytes[0], bytes[1], bytes[2], bytes[3]);
  to[1] = make_uint4(bytes[4], bytes[5], bytes[6], bytes[7]);
}

}  // namespace rewise::single::device
