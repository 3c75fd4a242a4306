// UTF-8 in texts that may contain any bytes, such as file names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rewise {

// Decodes the code point at text[at] and advances `at`. If the bytes are not valid UTF-8 (overlong
// forms and surrogates are invalid), returns nullopt and advances `at` by one byte.
std::optional<std::uint32_t> next_code_point(std::string_view text, std::size_t& at);

// The text with U+FFFD in place of each byte that is not UTF-8, for JSON, HDF5 and Python.
std::string valid_utf8(std::string_view text);

}  // namespace rewise
