// Compression as zlib's format has it (RFC 1950), by libdeflate where that was found at build time,
// else by zlib.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rewise {

// Nothing where it would not be smaller.
std::vector<std::byte> deflated(std::span<const std::byte> bytes, int level);

std::string deflate_library();  // "libdeflate 1.14"

}  // namespace rewise
