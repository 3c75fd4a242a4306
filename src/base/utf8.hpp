// UTF-8 in texts that may be anything, such as file names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rewise {

// The code point that begins at text[at]; `at` moves behind it. Nothing, and `at` moves by one
// byte, if the bytes there are not UTF-8 (overlong forms and surrogates are not).
std::optional<std::uint32_t> next_code_point(std::string_view text, std::size_t& at);

// The text with U+FFFD in place of each byte that is not UTF-8, for JSON, HDF5 and Python.
std::string valid_utf8(std::string_view text);

}  // namespace rewise
