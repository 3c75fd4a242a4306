#include "src/bytespin/draws.hpp"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bytespin/draws.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "src/bytespin/draws-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

void draw_words(const bytespin::DrawKey& key, Stream stream, std::uint64_t first,
                std::uint64_t blocks, std::uint32_t* words) {
  BlockDraws draws(key, stream);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    draws.words(first + block, words + bytespin::kDrawsPerBlock * block);
  }
}

void draw_masks(const bytespin::DrawKey& key, Stream stream, Threshold threshold,
                std::uint64_t first, std::uint64_t blocks, std::uint64_t* masks) {
  BlockDraws draws(key, stream);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    masks[block] = draws.mask(first + block, threshold);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise {
HWY_EXPORT(draw_words);
HWY_EXPORT(draw_masks);
}  // namespace rewise

namespace rewise::bytespin {

void draw_words(const DrawKey& key, Stream stream, std::uint64_t first, std::uint64_t blocks,
                std::uint32_t* words) {
  HWY_DYNAMIC_DISPATCH(draw_words)(key, stream, first, blocks, words);
}

void draw_masks(const DrawKey& key, Stream stream, Threshold threshold, std::uint64_t first,
                std::uint64_t blocks, std::uint64_t* masks) {
  HWY_DYNAMIC_DISPATCH(draw_masks)(key, stream, threshold, first, blocks, masks);
}

}  // namespace rewise::bytespin
#endif
