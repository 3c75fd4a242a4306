// Words that the warps of a block share in shared memory, and a replica's plane of spins there or
// in global memory: relaxed atomic reads and writes, and a flip that says who did it. Addresses in
// shared memory are 32 bits, which saves the instructions that tell memories apart.
#pragma once

#include <cstdint>
#include <cuda/atomic>

namespace rewise::bundle::device {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
// Relaxed atomic access to a word in shared memory.
__device__ __forceinline__ std::uint32_t peek_at(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];" : "=r"(value) : "r"(address));
  return value;
}
__device__ __forceinline__ std::uint32_t peek(const std::uint32_t& word) {
  return peek_at(shared_address(&word));
}
__device__ __forceinline__ void poke(std::uint32_t& word, std::uint32_t value) {
  asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" ::"r"(shared_address(&word)), "r"(value));
}

// A replica's spins, a bit per site, in shared memory or not.
template <bool kShared>
class Plane;

template <>
class Plane<true> {
 public:
  __device__ __forceinline__ explicit Plane(std::uint32_t* words) : base_(shared_address(words)) {}

  __device__ __forceinline__ std::uint32_t load(std::uint32_t site) const {
    return peek_at(base_ + (site >> 3 & ~3u));
  }
  // Sets (up) or clears the site's bit where `wanted`; whether it was this thread that changed it.
  __device__ __forceinline__ bool flip(bool wanted, bool up, std::uint32_t site) const {
    const std::uint32_t one = 1u << site % 32;
    std::uint32_t old = up ? one : 0;
    asm volatile(
        "{ .reg .pred set, clear;\n"
        "setp.ne.u32 set, %3, 0;\n"
        "setp.ne.u32 clear, %4, 0;\n"
        "@set atom.shared.or.b32 %0, [%1], %2;\n"
        "@clear atom.shared.and.b32 %0, [%1], %5; }"
        : "+r"(old)
        : "r"(base_ + (site >> 3 & ~3u)), "r"(one), "r"(wanted && up ? 1 : 0),
          "r"(wanted && !up ? 1 : 0), "r"(~one)
        : "memory");
    return ((old & one) == 0) == up;
  }

 private:
  std::uint32_t base_;
};

template <>
class Plane<false> {
 public:
  __device__ __forceinline__ explicit Plane(std::uint32_t* words) : words_(words) {}

  __device__ __forceinline__ std::uint32_t load(std::uint32_t site) const {
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_block> word(words_[site / 32]);
    return word.load(cuda::memory_order_relaxed);
  }
  __device__ __forceinline__ bool flip(bool wanted, bool up, std::uint32_t site) const {
    const std::uint32_t one = 1u << site % 32;
    if (!wanted) return false;
    return up ? (atomicOr(words_ + site / 32, one) & one) == 0
              : (atomicAnd(words_ + site / 32, ~one) & one) != 0;
  }

 private:
  std::uint32_t* words_;
};

}  // namespace rewise::bundle::device
