// Parses integers typed by a user.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rewise {

// Returns a 64-bit unsigned integer written as "10000", "1e4" or "2.5e3", and nullopt for any other
// text, such as "1.5", "-1", " 1" or "1e30".
std::optional<std::uint64_t> whole_number(std::string_view text);

}  // namespace rewise
