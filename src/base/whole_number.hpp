// Whole numbers that a user types.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rewise {

// A whole number of 64 bits, written "10000", "1e4" or "2.5e3"; nothing for any other text, so for
// "1.5", "-1", " 1" and "1e30".
std::optional<std::uint64_t> whole_number(std::string_view text);

}  // namespace rewise
