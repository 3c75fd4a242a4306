#include "src/single/draws.hpp"

namespace rewise::single {

void draw_words(const DrawKey& key, Stream stream, std::uint64_t first, std::uint64_t blocks,
                std::uint32_t* words) {
  for (std::uint64_t block = 0; block < blocks; ++block) {
    for (std::uint32_t lane = 0; lane < kCallsPerBlock; ++lane) {
      const Words4 x = random_words(key.seed, stream, (first + block) * kCallsPerBlock + lane,
                                    key.who, 0, key.step);
      for (std::uint32_t w = 0; w < 4; ++w) words[64 * block + 16 * w + lane] = x.w[w];
    }
  }
}

void draw_masks(const DrawKey& key, Stream stream, Threshold threshold, std::uint64_t first,
                std::uint64_t blocks, std::uint64_t* masks) {
  std::uint32_t words[kSlotsPerBlock];
  for (std::uint64_t block = 0; block < blocks; ++block) {
    draw_words(key, stream, first + block, 1, words);
    std::uint64_t mask = 0;
    for (std::uint32_t s = 0; s < kSlotsPerBlock; ++s) {
      mask |= std::uint64_t{happens(words[s], threshold)} << s;
    }
    masks[block] = mask;
  }
}

}  // namespace rewise::single
