// One block of draws (rules.hpp) with vectors (Highway; included once per instruction
// set). A vector has at most 16 lanes, so 1 to 16 vectors make the 16 calls of a block.
#if defined(RW_DRAWS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_DRAWS_INL_HPP_
#undef RW_DRAWS_INL_HPP_
#else
#define RW_DRAWS_INL_HPP_
#endif

#include <hwy/highway.h>

#include "src/bytespin/rules.hpp"
#include "src/random/philox-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

class BlockDraws {
 public:
  HWY_INLINE BlockDraws(const bytespin::DrawKey& key, Stream stream)
      : table_(key.seed, stream, key.replica, key.step), stream_(stream) {}

  // The 64 draws of a block in order.
  HWY_INLINE void words(std::uint64_t block, std::uint32_t* out) {
    const D32 d;
    for (std::size_t lane = 0; lane < bytespin::kCallsPerBlock; lane += hn::Lanes(d)) {
      const Vec4 x = calls(block, lane);
      hn::StoreU(x.w0, d, out + lane);
      hn::StoreU(x.w1, d, out + 16 + lane);
      hn::StoreU(x.w2, d, out + 32 + lane);
      hn::StoreU(x.w3, d, out + 48 + lane);
    }
  }

  // Bit s is set if draw s of the block is below the threshold.
  HWY_INLINE std::uint64_t mask(std::uint64_t block, Threshold threshold) {
    if (threshold == kCertain) return ~std::uint64_t{0};
    const D32 d;
    const V32 t = hn::Set(d, static_cast<std::uint32_t>(threshold));
    std::uint64_t bits = 0;
    for (std::size_t lane = 0; lane < bytespin::kCallsPerBlock; lane += hn::Lanes(d)) {
      const Vec4 x = calls(block, lane);
      bits |= (mask_bits(hn::Lt(x.w0, t)) | mask_bits(hn::Lt(x.w1, t)) << 16 |
               mask_bits(hn::Lt(x.w2, t)) << 32 | mask_bits(hn::Lt(x.w3, t)) << 48)
              << lane;
    }
    return bits;
  }

 private:
  HWY_INLINE Vec4 calls(std::uint64_t block, std::size_t lane) {
    const D32 d;
    const std::uint64_t item = block * bytespin::kCallsPerBlock + lane;
    table_.stream = stream_word(stream_, item);
    return SharedItems(table_, hn::Iota(d, static_cast<std::uint32_t>(item))).call(table_, 0);
  }

  static HWY_INLINE std::uint64_t mask_bits(M32 mask) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    return mask.raw;
#else
    const D32 d;
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, mask, bytes);
    return bytes[0] | std::uint64_t{bytes[1]} << 8;
#endif
  }

  CallTable table_;
  Stream stream_;
};

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();
#endif
