// Whole blocks of draws (rules.hpp).
#pragma once

#include <cstdint>

#include "src/bytespin/rules.hpp"

namespace rewise::bytespin {

// Random words of `blocks` blocks of draws, starting at block `first`, in order. [64 blocks]
void draw_words(const DrawKey& key, Stream stream, std::uint64_t first, std::uint64_t blocks,
                std::uint32_t* words);

// Bit s of mask k is set if draw 64 (first + k) + s is below the threshold. [blocks]
void draw_masks(const DrawKey& key, Stream stream, Threshold threshold, std::uint64_t first,
                std::uint64_t blocks, std::uint64_t* masks);

}  // namespace rewise::bytespin
