// Draws of whole blocks of slots (rules.hpp) at once.
#pragma once

#include <cstdint>

#include "src/bytespin/rules.hpp"

namespace rewise::bytespin {

// Words of `blocks` blocks of slots from block `first` on, in slot order. [64 blocks]
void draw_words(const DrawKey& key, Stream stream, std::uint64_t first, std::uint64_t blocks,
                std::uint32_t* words);

// Bit s of mask k: the draw of slot 64 (first + k) + s is below the threshold. [blocks]
void draw_masks(const DrawKey& key, Stream stream, Threshold threshold, std::uint64_t first,
                std::uint64_t blocks, std::uint64_t* masks);

}  // namespace rewise::bytespin
