// Compression to the zlib format (RFC 1950), by libdeflate if it was found at build time, else by
// zlib.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rewise {

// Returns the compressed data, or an empty vector if they would not be smaller. `level`: 1
// (fastest) to 9.
std::vector<std::byte> deflated(std::span<const std::byte> bytes, int level);

std::string deflate_library();  // "libdeflate 1.14"

}  // namespace rewise
