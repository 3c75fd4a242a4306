// Compression in zlib's format (RFC 1950), by libdeflate if it was found at build time, else by
// zlib.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rewise {

// Nothing if the compressed data would not be smaller.
std::vector<std::byte> deflated(std::span<const std::byte> bytes, int level);

std::string deflate_library();  // "libdeflate 1.14"

}  // namespace rewise
